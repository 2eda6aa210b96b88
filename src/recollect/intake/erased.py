"""What was erased stays erased: the records of it in a store, and what an ingest asks them."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.agents.decode import BadLine, decode
from recollect.agents.erasures import (
    ERASURES,
    cleared_of,
    clearing,
    erasure_of,
    forgetting,
    forgotten_of,
    noted_of,
    record_of,
    reopening,
    uncleared_of,
)
from recollect.agents.saved import erasures_file
from recollect.intake.notes import note
from recollect.light.sources import is_conversation
from recollect.values.erasures import NOTHING_ERASED, Erased, Erasure
from recollect.values.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from recollect.store.contract import View, Writer


def erased(view: View) -> Erased:
    """All that was erased and not taken back; an imported source has no say."""
    found = {each.id: each for each in erasures(view)}
    return Erased(found.values()) if found else NOTHING_ERASED


def erasures(view: View) -> list[Erasure]:
    """The erasings that hold, in the order in which they were noted."""
    return _held(_lines(view))


def _held(lines: Iterable[bytes]) -> list[Erasure]:
    found: dict[str, Erasure] = {}
    for record in sorted(_records(lines), key=noted_of):  # those of several hosts are in several sources
        erasure = erasure_of(record)
        if erasure is not None:
            found[erasure.id] = erasure
        elif (told := found.get(cleared_of(record) or uncleared_of(record))) is not None:
            found[told.id] = replace(told, is_cleared=bool(cleared_of(record)))
        else:
            found.pop(forgotten_of(record), None)
    return list(found.values())


def _records(lines: Iterable[bytes]) -> Iterator[Any]:
    for data in lines:
        with contextlib.suppress(BadLine):
            yield decode(data)[0]


def erased_in(views: Iterable[View]) -> Erased:
    """What was erased in any of several stores of one person, and not taken back since in another."""
    return Erased(_held({data for view in views for data in _lines(view)}))


def note_erasure(writer: Writer, host: str, erasure: Erasure) -> None:
    """Remember an erasing; the caller commits."""
    note(writer, erasures_file(), host, record_of(erasure))


def note_cleared(writer: Writer, host: str, erasure: Erasure, *, now_ms: int) -> None:
    """Remember that nothing made of the erased rows is left; the caller commits."""
    note(writer, erasures_file(), host, clearing(erasure.id, _next_ms(writer, now_ms)))


def note_uncleared(writer: Writer, host: str, erasure: Erasure, *, now_ms: int) -> None:
    """Remember that something made of the erased rows may be left here; the caller commits.

    An erasure of another store says with its lines that what was made there is cleared, and of nothing else.
    """
    note(writer, erasures_file(), host, reopening(erasure.id, _next_ms(writer, now_ms)))


def forget_erasure(writer: Writer, host: str, id_: str, *, now_ms: int) -> Erasure:
    """Take back that something was erased: what the agents' logs still have is then taken again."""
    found = [each for each in erasures(writer.view()) if each.id.startswith(id_)]
    if len(found) != 1 or not id_:
        raise NotFound(
            f"{len(found)} erasures' ids start with {id_!r}", hint="`recollect erase --list` lists them"
        )
    note(writer, erasures_file(), host, forgetting(found[0].id, _next_ms(writer, now_ms)))
    return found[0]


def _next_ms(writer: Writer, now_ms: int) -> int:
    """A moment behind all that was noted, by whichever clock."""
    return max([now_ms, *(noted_of(record)[0] + 1 for record in _records(_lines(writer.view())))])


def _lines(view: View) -> Iterator[bytes]:
    clues = view.session_clues()
    notes = {at for at, clue in enumerate(clues.clues) if not is_conversation(clue.agent)}
    if not notes:
        return
    for row, at in zip(clues.rows.tolist(), clues.at.tolist(), strict=True):
        if at not in notes:
            continue
        session = view.session_rows()[row]
        for source in view.sources(session) if session.facts.id == ERASURES else ():
            if not source.imported and not source.superseded:
                yield from (line.data for line in view.lines(source))
