"""A session in pieces that a model can read: what was asked and answered, what was run, what failed.

A piece ends where a person speaks, if it can. Long texts are cut: what is cut off cannot be cited. Secrets
are masked: it is shown to somebody else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from recollect.recall.excerpt import excerpt, has_text, session_line
from recollect.recall.fence import fenced
from recollect.redact import redact
from recollect.search.snippet import readable
from recollect.values.facts import Chunk
from recollect.values.records import HIDDEN, UNSAID, Flag, Kind
from recollect.values.stored import Session, StoredEntry

CHUNK_CHARS: Final = 24_000  # about 7,000 tokens
_SAID: Final = (Kind.PROMPT, Kind.ANSWER)
_CHARS: Final = {Kind.PROMPT: 3000, Kind.ANSWER: 3000, Kind.SUMMARY: 2000, Kind.CALL: 300, Kind.RESULT: 500}


def chunks_of(session: Session, entries: Iterable[StoredEntry], read: int, last: str) -> list[Chunk]:
    """What of a session nobody has read yet, in pieces; `read` entries were, up to the one called `last`."""
    every = list(entries)
    start = next((n + 1 for n, each in enumerate(every) if last and each.id == last), min(read, len(every)))
    parts = [([each for each in part if is_shown(each)], upto) for part, upto in _parts(every, start)]
    said = [(shown, upto) for shown, upto in parts if any(each.entry.kind in _SAID for each in shown)]
    if said:  # what follows with nothing said in it is read with the last
        said[-1] = (said[-1][0], len(every))
    return [
        Chunk(session, tuple(shown), _text(session, shown), upto, every[upto - 1].id) for shown, upto in said
    ]


def is_shown(stored: StoredEntry) -> bool:
    """Whether an entry is shown: said by one of the two, or run, or failed; nothing that a harness put in."""
    entry = stored.entry
    if entry.kind not in _CHARS or entry.flags & (HIDDEN | UNSAID) or not has_text(stored):
        return False
    return entry.kind != Kind.RESULT or bool(entry.flags & Flag.ERROR)


def window(stored: StoredEntry) -> tuple[int, int]:
    """How much of an entry's text is shown."""
    return 0, min(len(readable(stored.entry)), _CHARS[stored.entry.kind])


def _parts(every: Sequence[StoredEntry], start: int) -> Iterator[tuple[Sequence[StoredEntry], int]]:
    begin, size, turn = start, 0, start
    for n in range(start, len(every)):
        stored = every[n]
        if stored.entry.kind == Kind.PROMPT:
            turn = n
        length = window(stored)[1] + 80 if is_shown(stored) else 0
        if size and size + length > CHUNK_CHARS:
            end = turn if turn > begin else n
            yield every[begin:end], end
            begin = end
            size = sum(window(each)[1] + 80 for each in every[begin:n] if is_shown(each))
        size += length
    if begin < len(every):
        yield every[begin:], len(every)


def _text(session: Session, shown: Sequence[StoredEntry]) -> str:
    lines = [session_line(session), *(excerpt(each, window(each)) for each in shown)]
    return fenced(redact("\n".join(lines)).text, kind="session")
