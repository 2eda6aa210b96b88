"""What an entry takes of a budget, and how much of it is told.

A token is 3.5 bytes of text (`text.tokens`), and each entry costs a little more for the message and the
block around it. Prompts, summaries and what a tool gave back are cut when they are long, to a window
around what was looked for; of an error to its end, which says what went wrong. Calls, answers
and thoughts are never cut: half a patch or half a conclusion is worse than none.
"""

from __future__ import annotations

import json
from typing import Any

from recollect.recall.excerpt import window_around
from recollect.recall.fitting import fit
from recollect.search.snippet import Highlighter
from recollect.values.assembly import Window
from recollect.values.conversation import Block, Conversation
from recollect.values.records import Entry, Flag, Kind
from recollect.values.text import tokens

ENTRY_TOKENS = 6  # of a message and a block around a text
TOOL_TOKENS = 16  # more for a call or its result: ids, names
IMAGE_TOKENS = 1_600
MARK_CHARS = 80  # of the line that says what was cut

RESULT_SHARE, RESULT_TOKENS_MIN, RESULT_TOKENS_MAX = 0.08, 90, 1_200  # of the budget, for one result
SAID_FACTOR = 3  # a prompt or a summary may be so much longer

CUT_KINDS = (Kind.RESULT, Kind.PROMPT, Kind.SUMMARY, Kind.NOTE)


class Scale:
    """Weighs entries for one budget."""

    def __init__(self, budget_tokens: int, highlighter: Highlighter) -> None:
        room = int(budget_tokens * RESULT_SHARE)
        self._result_tokens = min(max(room, RESULT_TOKENS_MIN), RESULT_TOKENS_MAX)
        self._highlighter = highlighter

    def window(self, entry: Entry) -> Window | None:
        """The part of an entry that is told; None for all of it."""
        if entry.kind not in CUT_KINDS:
            return None
        most = self._result_tokens * (1 if entry.kind == Kind.RESULT else SAID_FACTOR)
        if tokens(entry.text) <= most + MARK_CHARS // 2:
            return None
        return _fitted(entry, most, self._highlighter)

    def tokens(self, entry: Entry, window: Window | None) -> int:
        """What an entry takes, with what stands around it."""
        return weight(entry.kind, entry.tool, told(entry.text, window))


def weight(kind: Kind, tool: str, text: str) -> int:
    """What a text takes as an entry of some kind."""
    if kind == Kind.CALL:
        given = text if text.startswith("{") else json.dumps({"input": text}, ensure_ascii=False)
        return ENTRY_TOKENS + TOOL_TOKENS + tokens(tool) + tokens(given)
    return ENTRY_TOKENS + tokens(text) + (TOOL_TOKENS if kind == Kind.RESULT else 0)


def tokens_of(conversation: Conversation) -> int:
    """What a conversation takes, counted from what is in it."""
    return sum(_block_tokens(block) for message in conversation.messages for block in message.blocks)


def _block_tokens(block: Block) -> int:
    body = block.body
    if block.type == "tool_use":
        return weight(Kind.CALL, str(body.get("name")), _json(body.get("input")))
    if block.type == "tool_result":
        content = body.get("content")
        parts = content if type(content) is list else [{"text": content}]
        told = "\n".join(str(part.get("text") or "") for part in parts if type(part) is dict)
        return weight(Kind.RESULT, "", told)
    if block.type in ("image", "document"):
        return IMAGE_TOKENS
    return weight(Kind.ANSWER, "", str(body.get("text") or body.get("thinking") or ""))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def told(text: str, window: Window | None) -> str:
    """The part of a text that is kept, and a line that says what is not."""
    if window is None:
        return text
    start, stop = window
    before = f"[... {start:,} characters left out]\n" if start else ""
    after = f"\n[... {len(text) - stop:,} characters left out]" if stop < len(text) else ""
    return f"{before}{text[start:stop]}{after}"


def _fitted(entry: Entry, most: int, highlighter: Highlighter) -> Window:
    """A window of at most so many tokens, its marks included."""
    return fit(
        lambda chars: _window(entry, chars, highlighter),
        most * 7 // 2 - MARK_CHARS,
        most,
        lambda window: tokens(told(entry.text, window)),
    )


def _window(entry: Entry, chars: int, highlighter: Highlighter) -> Window:
    if entry.flags & Flag.ERROR:
        end = len(entry.text.rstrip())
        return max(end - chars, 0), end
    start, stop = window_around(entry, chars, highlighter)
    return start, min(stop, start + chars)
