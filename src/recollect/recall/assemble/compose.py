"""The fifth pass: an assembly as one conversation, each run of turns under a line that says where it is from.

    [from session 3f2a90c1, project harbor, 2026-03-01: Make the token store honour clock skew]

The lines are notes in the user's place. What was cut is cut here, in a copy of its block, and says so; every
other block is that of the log. Images inside a result are left out: nobody searched for them, and one
costs as much as a page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.agents.tags import safe
from recollect.export.neutral import neutral_entry
from recollect.export.read import messages_of
from recollect.recall.assemble.weigh import tokens_of, told
from recollect.recall.excerpt import NAME_CHARS, name_of
from recollect.values.assembly import Assembly, Piece, Window
from recollect.values.conversation import Block, Conversation, Message, said
from recollect.values.errors import NotFound, UsageError
from recollect.values.text import moment, one_line

if TYPE_CHECKING:
    from recollect.store.contract import View
    from recollect.values.stored import Session

ID_CHARS = 8
IMAGE_LEFT_OUT = "[image left out]"


def compose(view: View, assembly: Assembly, *, pinned: Collection[Piece] = ()) -> Conversation:
    """What was chosen, as a conversation that an agent can take for its own past.

    What is `pinned` makes room for nothing.
    """
    if not assembly.pieces:
        raise NotFound(
            "nothing in the memory fits this description", hint="use other words, or a larger --budget-tokens"
        )
    made = _composed(view, assembly)
    if tokens_of(made) <= assembly.budget_tokens:
        return made
    # A log may hold more than its entries show; what is worth least makes room for it.
    loose = [piece for piece in assembly.pieces if piece not in pinned]
    if not loose:
        raise UsageError(
            f"what is pinned takes {tokens_of(made):,} tokens, and the budget is {assembly.budget_tokens:,}",
            hint="unpin some of it, or give a larger --budget-tokens",
        )
    least = min(loose, key=lambda piece: (piece.score, piece.rows))
    kept = tuple(piece for piece in assembly.pieces if piece is not least)
    return compose(view, replace(assembly, pieces=kept), pinned=pinned)


def _composed(view: View, assembly: Assembly) -> Conversation:
    left_out: Counter[str] = Counter()
    messages: list[Message] = []
    for run in assembly.runs():
        messages += _run(view, run, left_out)
    newest = max(assembly.pieces, key=lambda piece: (piece.time_ms, piece.rows)).session
    known = newest.facts
    cwd, project, branch = map(safe if newest.imported else str, (known.cwd, known.project, known.branch))
    return Conversation(
        tuple(messages),
        title=one_line(assembly.description, NAME_CHARS),
        cwd=cwd,
        project=project,
        branch=branch,
        agents=tuple(sorted({piece.session.facts.agent for piece in assembly.pieces})),
        left_out=left_out,
    )


def separator(session: Session, time_ms: int) -> str:
    """The line over what is from one session. A title is a stranger's text: it stays on its line."""
    facts = session.facts
    named = ("project " + name_of(facts.project) if facts.project else "", moment(time_ms, "%Y-%m-%d"))
    place = ", ".join(filter(None, (f"[from session {name_of(facts.id)[:ID_CHARS]}", *named)))
    title = name_of(facts.headline)
    return f"{place}: {title}]" if title else f"{place}]"


def _run(view: View, run: Sequence[Piece], left_out: Counter[str]) -> Iterator[Message]:
    """One session's messages under their separator."""
    first, facts = run[0], run[0].session.facts
    yield said(
        separator(first.session, first.time_ms), agent=facts.agent, session=facts.id, time_ms=first.time_ms
    )
    rows = [row for piece in run for row in piece.rows]
    ids = {id_: row for piece in run for id_, row in zip(piece.ids, piece.rows, strict=True)}
    windows = dict(cut for piece in run for cut in piece.cuts)
    cut = map(neutral_entry, view.entries_at(list(windows)))
    texts = {each.row: each.entry.text for each in cut}
    for message in messages_of(view, rows):
        blocks = []
        for block in message.blocks:
            row = ids.get(block.entry, -1)
            blocks.append(_cut(block, texts[row], windows[row]) if row in windows else _lean(block, left_out))
        yield replace(message, blocks=tuple(blocks))


def _cut(block: Block, text: str, window: Window) -> Block:
    """A copy of a block with a part of its text."""
    key = "content" if block.type == "tool_result" else "text"
    return replace(block, body={**block.body, key: told(text, window)}, native=None)


def _lean(block: Block, left_out: Counter[str]) -> Block:
    """A result without its images."""
    content = block.body.get("content")
    if block.type != "tool_result" or type(content) is not list or not any(map(_is_image, content)):
        return block
    left_out["image in a result"] += sum(map(_is_image, content))
    parts = [{"type": "text", "text": IMAGE_LEFT_OUT} if _is_image(part) else part for part in content]
    return replace(block, body={**block.body, "content": parts}, native=None)


def _is_image(part: Any) -> bool:
    return type(part) is dict and part.get("type") == "image"
