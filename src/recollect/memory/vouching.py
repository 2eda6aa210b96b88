"""Who speaks when an agent asks for something to be kept, and whether anyone but a tool ever said it.

A web page or a file that an agent reads may say "remember this". So before something is kept for an agent,
the conversation that asks is looked up: its own call of the tool stands at the end of its log. What its words
share with what tools returned there, and not with what the person said, is not kept.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from recollect.light.sources import MEMORY
from recollect.values.notes import Speaker
from recollect.values.records import UNSAID, Kind

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.values.stored import Session, StoredEntry

RECENT_MS = 30 * 60_000  # since when a conversation that asks was last heard of
SESSIONS_MAX = 6  # of them that are looked at
ENTRIES_READ = 1_000  # of each, the last
WORDS_TOGETHER = 5  # that are the same in both: shorter runs are chance
RETURNED_SHARE = 0.6  # of a text's runs, from which on a tool said it
_WORD = re.compile(r"\w+")


def speaker(memory: Memory, text: str, folder: str) -> Speaker:
    """The conversation that asks for a text to be kept; of those in this folder, where no call shows it."""
    told = [(each, memory.tail(each.facts.id, ENTRIES_READ)) for each in _recent(memory)]
    asking = [(session, entries) for session, entries in told if _asks(entries, text)]
    near = asking or [(session, entries) for session, entries in told if session.facts.cwd == folder]
    said = [each.entry.text for _, entries in near for each in entries if _is_said(each)]
    returned = [each.entry.text for _, entries in near for each in entries if each.entry.kind == Kind.RESULT]
    only_returned = is_only_returned(text, said, returned)
    if not asking:
        return Speaker(only_returned=only_returned)
    facts = asking[-1][0].facts
    return Speaker(facts.agent, facts.id, only_returned)


def is_only_returned(text: str, said: Iterable[str], returned: Iterable[str]) -> bool:
    """Whether most of a text is what tools returned, word for word, and not what a person said."""
    runs = _runs(text)
    if not runs:
        return False
    size = len(next(iter(runs)))
    unsaid = runs - {run for each in said for run in _runs(each, size)}
    found = unsaid & {run for each in returned for run in _runs(each, size)}
    return len(found) >= RETURNED_SHARE * len(runs)


def _runs(text: str, size: int = 0) -> set[tuple[str, ...]]:
    """Every so many words that stand together; of a short text all of them as one."""
    words = _WORD.findall(text.casefold())
    size = size or min(WORDS_TOGETHER, len(words))
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)} if size else set()


def _recent(memory: Memory) -> list[Session]:
    since_ms = time.time_ns() // 1_000_000 - RECENT_MS
    found = [
        each
        for each in memory.sessions()
        if not each.imported and each.facts.agent != MEMORY and each.facts.ended_ms >= since_ms
    ]
    return found[-SESSIONS_MAX:]


def _asks(entries: Iterable[StoredEntry], text: str) -> bool:
    """Whether a call in it has the text among its arguments."""
    wanted = _runs(text)
    return any(
        each.entry.kind == Kind.CALL and wanted <= _runs(each.entry.text, len(next(iter(wanted))))
        for each in entries
        if wanted
    )


def _is_said(stored: StoredEntry) -> bool:
    return stored.entry.kind == Kind.PROMPT and not stored.entry.flags & UNSAID
