"""From the lines of the graph's sources to what they come to.

There is a source for each machine. In a source the last word on an id counts; of several sources the latest
one, so that it does not matter which machine's came first. Where a store only went on since, what is new in
it is read and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from recollect.agents.fields import count_of, text_of
from recollect.agents.memory.graph_records import ENTITY, RELATION, decoded, entity_of, relation_of
from recollect.agents.memory.records import DELETE
from recollect.search.graph.saved import SavedGraph, Stated
from recollect.search.projects import by_name
from recollect.search.saved_sessions import own_sessions
from recollect.values.graph import SESSION, GraphRelation

if TYPE_CHECKING:
    from recollect.store.contract import View
    from recollect.values.stored import Source

_READ: Mapping[str, Callable[[Any, int], Stated | None]] = {ENTITY: entity_of, RELATION: relation_of}

Place = tuple[str, str]  # host and path of a source


@dataclass(frozen=True, slots=True)
class Word:
    """The last word of a source on an id: None where it was taken back."""

    time_ms: int
    stated: Stated | None

    def order(self) -> tuple[int, str]:
        """Of two words the later one counts; of two at one time, always the same."""
        return self.time_ms, repr(self.stated)


@dataclass(frozen=True, slots=True)
class Told:
    """What a source tells so far: so many lines, of which the last is this one."""

    lines: int = 0
    last: bytes = b""
    words: Mapping[str, Word] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Replayed:
    """What all sources come to, in a state of a store."""

    epoch: tuple[str, int]
    sources: Mapping[Place, Told]
    graph: SavedGraph


def replayed(view: View, before: Replayed | None) -> Replayed:
    """What a view's sources come to; `before`: what they came to in an earlier state."""
    info = view.info()
    epoch = info.id, info.epoch
    known: Mapping[Place, Told] = before.sources if before is not None and before.epoch == epoch else {}
    sources: dict[Place, Told] = {}
    news: set[str] = set()
    for source in graph_sources(view):
        place = source.host, source.file.path
        sources[place], ids = _went_on(view, source, known.get(place, Told()))
        news |= ids
    if before is None or not known or known.keys() - sources.keys():
        everything = {id_ for each in sources.values() for id_ in each.words}
        graph = SavedGraph(each for id_ in everything if (each := _latest(sources, id_)) is not None)
        return Replayed(epoch, sources, graph)
    return Replayed(epoch, sources, before.graph.changed({id_: _latest(sources, id_) for id_ in news}))


def saved_graph(view: View) -> SavedGraph:
    """What is said of the graph in a view; worked out on from what was in the state before."""
    return by_name(view).worked_on(replayed).graph


def graph_sources(view: View) -> list[Source]:
    """What the graph is in: sources of this person's own, one for each machine."""
    sessions = view.session_rows()
    held = (sessions[row] for row, name in own_sessions(view).items() if name == SESSION)
    found = (source for each in held for source in view.sources(each))
    return [source for source in found if not source.superseded]


def _went_on(view: View, source: Source, known: Told) -> tuple[Told, set[str]]:
    """What a source tells now, and the ids on which there is another word than before."""
    rows = view.line_rows(source)
    if known.lines and (
        known.lines > len(rows) or view.lines_at([int(rows[known.lines - 1])])[0].data != known.last
    ):
        fresh, changed = _went_on(view, source, Told())
        return fresh, changed | known.words.keys()
    if known.lines == len(rows):
        return known, set()
    lines = (
        [line.data for line in view.lines(source)]
        if not known.lines
        else [line.data for line in view.lines_at(rows[known.lines :].tolist())]
    )
    words = dict(known.words)
    changed = _replay(lines, words)
    return Told(len(rows), lines[-1], words), changed


def _replay(lines: Iterable[bytes], words: dict[str, Word]) -> set[str]:
    """Take lines into account; returns the ids that they are about."""
    changed: set[str] = set()
    for line in lines:
        record = decoded(line)
        id_, kind = text_of(record.get("id")), text_of(record.get("type"))
        word = _word(kind, record, words.get(id_)) if id_ else None
        if word is not None:
            words[id_] = word
            changed.add(id_)
    return changed


def _word(kind: str, record: Mapping[str, Any], before: Word | None) -> Word | None:
    """What a record says; None for nothing. What holds since it was said does so since it was first said."""
    time_ms = count_of(record.get("time_ms"))
    if kind == DELETE:
        return Word(time_ms, None)
    known = before.stated if before is not None else None
    first_ms = 0 if known is None else known.from_ms if isinstance(known, GraphRelation) else known.time_ms
    stated = _READ[kind](record, first_ms) if kind in _READ else None
    return Word(time_ms, stated) if stated is not None else None


def _latest(sources: Mapping[Place, Told], id_: str) -> Stated | None:
    """What all sources together say of an id."""
    words = [each.words[id_] for each in sources.values() if id_ in each.words]
    return words[0].stated if len(words) == 1 else max(words, key=Word.order).stated
