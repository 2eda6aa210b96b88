"""Which sessions are one piece of work, against labelled pairs of sessions; every second one was tuned on.

The logs are taken in as a whole, because what is rare in a project is known from all its sessions. Beside
ours stands the plain rule: the same id, parent or slug.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from benchmarks.insight_lab import HELD, TUNED, Lab, Label, drawn, memory_of
from benchmarks.report import Row
from recollect import Memory
from recollect.search.joining import joined
from recollect.search.ties import kept_ties
from recollect.values.history import JOINED
from recollect.values.records import Relation
from recollect.values.stored import Session

F1_LEAST = 0.80


def threads(lab: Lab) -> Iterator[Row]:
    """F1 of the pairs that count, then all threads of the logs."""
    every = enumerate(lab.rows("threads", lambda row: lab.half))
    halves = {row["id"]: (TUNED, HELD)[place % 2] for place, row in every}
    pairs = lab.rows("threads", lambda row: halves[row["id"]])
    with memory_of([lab.corpus / "claude", lab.corpus / "codex"]) as memory:
        ours, plain = (_found(memory, pairs, tied=tied) for tied in (True, False))
        yield drawn("threads, F1", pairs, lambda rows: _f1(rows, ours), F1_LEAST, [_f1(pairs, plain)])
        yield from _whole(memory)


def _whole(memory: Memory) -> Iterator[Row]:
    sessions, tied = _threads(memory, tied=True)
    main = [row for row, session in sessions.items() if session.facts.relation != Relation.SUBAGENT]
    counts = Counter(tied[row] for row in main)
    plain = Counter(_threads(memory, tied=False)[1][row] for row in main)
    yield _told("threads of all logs", len(counts), len(plain))
    several = [sum(n > 1 for n in each.values()) for each in (counts, plain)]
    yield _told("  of several sessions", *several)
    yield _told("  sessions of the largest", *(max(each.values()) for each in (counts, plain)))
    with memory.view() as view:
        guessed = [each for each in joined(sessions, kept_ties(view)).joints if each.confidence < 1]
    yield _told("  ties that are not certain, joined", sum(each.confidence >= JOINED for each in guessed))


def _told(what: str, ours: int, plain: int | None = None) -> Row:
    return Row(what=what, ours=f"{ours:,}", peer="" if plain is None else f"{plain:,}", mark="", met=None)


def _threads(memory: Memory, *, tied: bool) -> tuple[dict[int, Session], dict[int, int]]:
    with memory.view() as view:
        sessions = dict(view.session_rows().items())
        return sessions, (joined(sessions, kept_ties(view)) if tied else joined(sessions)).threads


def _found(memory: Memory, pairs: Sequence[Label], *, tied: bool) -> dict[str, bool]:
    """For each pair whether both are one thread; a session that is not there is of none."""
    sessions, numbers = _threads(memory, tied=tied)
    rows = {session.facts.id: row for row, session in sessions.items()}
    found = {}
    for pair in pairs:
        one, other = (numbers.get(rows.get(pair[side]["session"], -1)) for side in "ab")
        found[pair["id"]] = one is not None and one == other
    return found


def _f1(pairs: Sequence[Label], found: dict[str, bool]) -> float:
    same = [bool(pair["same"]) for pair in pairs]
    said = [found[pair["id"]] for pair in pairs]
    right = sum(one and other for one, other in zip(same, said, strict=True))
    return 2 * right / max(sum(same) + sum(said), 1)
