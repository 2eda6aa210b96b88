"""`Memory.graph`: what hangs together with what, as code and people say it and as logs show it.

    memory.graph.relate("harbor", "installs with", "uv", weight=0.9)
    memory.graph.neighbours("harbor")

What is said is kept as a note is: one append to the journal for each call, durable when it returns. What logs
mention together is in the same graph, marked as derived; nobody has to say it, and nobody can take it back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.agents.memory.graph_records import (
    decoded,
    entity_id,
    entity_of,
    entity_record,
    relation_id,
    relation_of,
    relation_record,
)
from recollect.agents.memory.records import delete_record, line_of
from recollect.memory.collector import without_collector
from recollect.memory.note_lines import checked_metadata
from recollect.search.saved_sessions import own_sessions
from recollect.values.errors import NotFound, UsageError
from recollect.values.graph import (
    BOTH,
    DERIVED,
    SAVED,
    SESSION,
    Activated,
    GraphEntity,
    GraphNeighbour,
    GraphPath,
    GraphRelation,
    NewEntity,
    NewRelation,
    Subgraph,
    checked_aliases,
    checked_depth,
    checked_direction,
    checked_entity_name,
    checked_ids,
    checked_origin,
    checked_type,
    checked_weight,
    folded,
)
from recollect.values.notes import checked_name, milliseconds

if TYPE_CHECKING:
    import datetime

    from recollect.memory import Memory
    from recollect.search.graph.graph import Graph
    from recollect.store.contract import View
    from recollect.values.graph import Time

LISTED = 50  # neighbours, unless more are asked for
PATH_DEPTH = 6
STEPS, DECAY = 2, 0.5  # of activation
EXPORTED_THINGS = 1_000  # of what logs mention, the most mentioned: all of it would be no picture

_UNCHANGED: Any = object()


class GraphReader:
    """A graph to be asked: as it is, or as it was at a time."""

    def __init__(self, memory: Memory, at_ms: int | None = None) -> None:
        self._memory, self._at_ms = memory, at_ms
        self._last: tuple[View, Graph] | None = None

    def entity(self, name: str) -> GraphEntity:
        """What is known of an entity, by its name or an alias, in any case; NotFound for none."""
        with self._asked() as graph:
            return graph.entity(graph.find(name))

    def entities(self, *, type: str = "") -> list[GraphEntity]:
        """All entities that anybody named, of a type if asked, by name."""
        with self._asked() as graph:
            found = [graph.entity(key) for key in sorted(graph.saved)]
        return [each for each in found if not type or folded(each.type) == folded(type)]

    def relations(self, *, source: str = "", relation: str = "", target: str = "") -> list[GraphRelation]:
        """All relations that anybody stated, or those from a source, called so, to a target; oldest first."""
        with self._asked() as graph:
            saved = graph.saved
            ends = saved.key(source) if source else "", saved.key(target) if target else ""
            return [
                each
                for each in saved.relations
                if ends[0] in ("", saved.key(each.source))
                and ends[1] in ("", saved.key(each.target))
                and folded(relation) in ("", folded(each.relation))
            ]

    def neighbours(
        self,
        name: str,
        *,
        relation: str = "",
        depth: int = 1,
        direction: str = BOTH,
        origin: str = "",
        limit: int = LISTED,
    ) -> list[GraphNeighbour]:
        """What an entity is related to, at most so many relations away; all of it with a limit of 0.

        What was said comes first, the strongest first, then what logs mention together with it; `origin` asks
        for one of the two. Only a relation that was said has a direction: from the entity out, or in to it.
        """
        checked_depth(depth), checked_direction(direction), checked_origin(origin)
        with self._asked() as graph:
            return graph.neighbours(
                name, relation=relation, depth=depth, direction=direction, origin=origin, limit=limit
            )

    def path(
        self,
        source: str,
        target: str,
        *,
        max_depth: int = PATH_DEPTH,
        direction: str = BOTH,
        origin: str = "",
    ) -> GraphPath:
        """A shortest way from one entity to another; an empty one where there is none that short."""
        checked_depth(max_depth), checked_direction(direction), checked_origin(origin)
        with self._asked() as graph:
            return graph.path(source, target, max_depth=max_depth, direction=direction, origin=origin)

    def subgraph(self, names: str | Iterable[str], depth: int = 1, *, origin: str = "") -> Subgraph:
        """Everything at most so many relations away from some entities, and all relations between that."""
        checked_depth(depth), checked_origin(origin)
        with self._asked() as graph:
            return graph.subgraph([names] if isinstance(names, str) else names, depth, origin=origin)

    def activate(
        self, names: str | Iterable[str], *, steps: int = STEPS, decay: float = DECAY, limit: int = 20
    ) -> list[Activated]:
        """What comes to mind with some entities, the most first; these themselves have an activation of 1.

        At each step an entity hands on the share `decay` of what reached it, over its relations by their
        weights.
        """
        checked_depth(steps)
        if not 0 < decay <= 1:
            raise UsageError(f"a decay is above 0 and at most 1, not {decay}")
        with self._asked() as graph:
            wanted = [names] if isinstance(names, str) else names
            return graph.activate(wanted, steps=steps, decay=decay, limit=limit)

    def whole(self, *, origin: str = "", things: int = EXPORTED_THINGS) -> Subgraph:
        """All that was said, and the most mentioned things of the logs with what they are closest to."""
        checked_origin(origin)
        with self._asked() as graph:
            keys = [] if origin == DERIVED else sorted(graph.saved)
            if origin != SAVED:
                most = graph.mentioned.most(things)
                keys += [graph.saved.key(graph.mentioned.key(number)) for number in most]
            return graph.among(keys, origin=origin)

    def export(self, form: str, *, origin: str = "", things: int = EXPORTED_THINGS) -> bytes:
        """The whole graph as a file: `graphml` or `json`."""
        from recollect.export.graph import FORMS

        if form not in FORMS:
            raise UsageError(f"a graph is not written as {form!r}", hint=f"one of {', '.join(FORMS)}")
        return FORMS[form](self.whole(origin=origin, things=things))

    @contextlib.contextmanager
    def _asked(self) -> Iterator[Graph]:
        from recollect.search.graph.graph import Graph

        self._memory._fold_if_free()
        with self._memory.view() as view:
            if self._last is None or self._last[0] is not view:
                self._last = view, (made := Graph(view, self._at_ms))
                with without_collector():
                    made.saved  # noqa: B018 - a hundred thousand objects that stay
            yield self._last[1]


class MemoryGraph(GraphReader):
    """The graph of a memory: all that can be asked of it, and what is said of it."""

    def at(self, time: float | datetime.datetime) -> GraphReader:
        """The graph as of a time, to be read: what was said by then and held then, of what is still said."""
        return GraphReader(self._memory, milliseconds(time, 0))

    def relate(
        self,
        source: str,
        relation: str,
        target: str,
        *,
        weight: float = 1.0,
        time: Time = None,
        until: Time = None,
        evidence: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        author: str = "",
    ) -> str:
        """Say that one entity is related to another; returns the relation's id. It is durable then.

        The same relation again takes the earlier one's place. It holds from `time`, or from when it was first
        said, up to `until`; one that began at another `time` is another relation. `evidence`: ids of entries
        or notes, NotFound for one that is not there. Entities need not be added before.
        """
        given = NewRelation(source, relation, target, weight, time, until, evidence, metadata, author)
        return self.add_batch(relations=[given])[0]

    def add_entity(
        self,
        name: str,
        type: str = "",
        aliases: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        *,
        author: str = "",
    ) -> str:
        """Say what an entity is and what else it is called; returns its id. Said again, the last word counts.

        UsageError where another entity has one of the aliases.
        """
        return self.add_batch(entities=[NewEntity(name, type, aliases, metadata, author)])[0]

    def add_batch(
        self, entities: Iterable[NewEntity] = (), relations: Iterable[NewRelation] = ()
    ) -> list[str]:
        """Say much with one write, all of it or nothing; returns the ids, of entities first."""
        now_ms = self._memory._moment_ms()
        described = [_entity(each, now_ms) for each in entities]
        related = [_relation(each, now_ms) for each in relations]
        if described:
            self._refuse_taken(described)
        if any(each.evidence for each in related):
            related = self._with_evidence(related)
        lines = {each.id: line_of(entity_record(each)) for each in described}
        lines |= {each.id: line_of(relation_record(each)) for each in related}
        self._append(lines.values())
        return [each.id for each in described] + [each.id for each in related]

    def update(
        self,
        id: str,
        *,
        weight: float = _UNCHANGED,
        until: Time = _UNCHANGED,
        evidence: Sequence[str] = _UNCHANGED,
        metadata: Mapping[str, Any] | None = _UNCHANGED,
        author: str = _UNCHANGED,
    ) -> GraphRelation:
        """Change what is given of a relation, and nothing else; NotFound where there is none of this id."""
        with self._asked() as graph:
            known = graph.saved.stated.get(id)
        if not isinstance(known, GraphRelation):
            raise _no_such(id)
        given = {
            "weight": weight,
            "until": until,
            "evidence": evidence,
            "metadata": metadata,
            "author": author,
        }
        changes = {name: value for name, value in given.items() if value is not _UNCHANGED}
        new = NewRelation(known.source, known.relation, known.target, **_said(known) | changes)
        made = _relation(new, self._memory._moment_ms())
        (made,) = self._with_evidence([made]) if "evidence" in changes else (made,)
        self._append([line_of(relation_record(made))])
        return relation_of(relation_record(made), known.from_ms) or made

    def unrelate(self, source: str, relation: str, target: str, *, author: str = "") -> int:
        """Take back that one entity is related to another, whenever it was; NotFound where nobody said so."""
        found = self.relations(source=source, relation=relation, target=target)
        if not (source and relation and target and found):
            raise NotFound(
                f"nobody said that {source[:80]!r} {relation[:80]!r} {target[:80]!r}",
                hint=f"recollect graph {source[:80]!r}",
            )
        return self.delete([each.id for each in found], author=author)

    def delete(self, ids: str | Iterable[str], *, author: str = "") -> int:
        """Take back what was said of entities or relations, by their ids; NotFound for one that is not there.

        Relations of an entity stay. `compact` gives back the room.
        """
        wanted = list(dict.fromkeys([ids] if isinstance(ids, str) else ids))
        checked_name(author, "an author")
        with self._asked() as graph:
            for each in wanted:
                if each not in graph.saved.stated:
                    raise _no_such(each)
        now_ms = self._memory._moment_ms()
        self._append([line_of(delete_record(each, now_ms, author)) for each in wanted])
        return len(wanted)

    def undo(self, id: str, *, author: str = "") -> GraphEntity | GraphRelation | None:
        """Let a statement be what it was before it was last said, changed or taken back.

        None where there was none before: then it is taken back. NotFound for an id that never was one's; what
        `compact` dropped is gone.
        """
        checked_name(author, "an author")
        with self._memory._notes_view() as view:
            mine = {row for row, name in own_sessions(view).items() if name == SESSION}
            lines = [line for line, row in view.record_lines([id])[0] if row in mine]
            told = [decoded(each.data) for each in view.lines_at(lines[-2:])]
        if not told:
            raise _no_such(id)
        before, now_ms = told[0] if len(told) > 1 else {}, self._memory._moment_ms()
        stated = entity_of(before) or relation_of(before)
        said = dict(before) | {"time_ms": now_ms} if stated else delete_record(id, now_ms, author)
        self._append([line_of(said)])
        with self._asked() as graph:
            return graph.saved.stated.get(id)

    # -- underneath ------------------------------------------------------------------------

    def _append(self, lines: Iterable[bytes]) -> None:
        if made := list(lines):
            self._memory._append_lines({SESSION: made})

    def _refuse_taken(self, described: Sequence[GraphEntity]) -> None:
        """Raise where a name or an alias means another entity: nobody could tell them apart."""
        with self._asked() as graph:
            every = graph.saved.described | {folded(each.name): each for each in described}
        meant = dict.fromkeys(every, "")
        for key, entity in every.items():
            for alias in map(folded, entity.aliases):
                if meant.setdefault(alias, key) != key:
                    other = every[meant[alias] or alias].name
                    raise UsageError(
                        f"{alias!r} would mean both {entity.name!r} and {other!r}",
                        hint="an alias means one entity",
                    )

    def _with_evidence(self, relations: Iterable[GraphRelation]) -> list[GraphRelation]:
        """The same with the ids that entries go by, and those of notes as they are."""
        made = []
        with self._memory._notes_view() as view:
            mine = own_sessions(view)
            for each in relations:
                found = (_evidence(view, mine, id_) for id_ in each.evidence)
                made.append(replace(each, evidence=tuple(dict.fromkeys(found))))
        return made


def _entity(given: NewEntity, now_ms: int) -> GraphEntity:
    """An entity as it is kept; UsageError for what cannot be."""
    name = checked_entity_name(given.name)
    return GraphEntity(
        name,
        checked_type(given.type),
        checked_aliases(given.aliases, name),
        checked_metadata(given.metadata),
        id=entity_id(name),
        author=checked_name(given.author, "an author"),
        time_ms=now_ms,
    )


def _relation(given: NewRelation, now_ms: int) -> GraphRelation:
    """A relation as it is kept; UsageError for what cannot be."""
    source, target = checked_entity_name(given.source), checked_entity_name(given.target)
    relation = checked_entity_name(given.relation, "a relation")
    if folded(source) == folded(target):
        raise UsageError(f"{source!r} cannot be related to itself", hint="name two entities")
    from_ms, until_ms = milliseconds(given.time, 0), milliseconds(given.until, 0)
    if from_ms and 0 < until_ms <= from_ms:
        raise UsageError("a relation ends after it began", hint="`until` is later than `time`")
    return GraphRelation(
        source,
        relation,
        target,
        checked_weight(given.weight),
        from_ms,
        until_ms,
        checked_ids(given.evidence),
        checked_metadata(given.metadata),
        id=relation_id(source, relation, target, from_ms),
        author=checked_name(given.author, "an author"),
        time_ms=now_ms,
    )


def _said(known: GraphRelation) -> dict[str, Any]:
    """What a relation was said with, as it would be said again; its id tells whether since when was."""
    is_dated = known.id == relation_id(known.source, known.relation, known.target, known.from_ms)
    return {
        "weight": known.weight,
        "time": known.from_ms / 1000 if is_dated else None,
        "until": known.until_ms / 1000 if known.until_ms else None,
        "evidence": known.evidence,
        "metadata": known.metadata,
        "author": known.author,
    }


def _evidence(view: View, mine: Mapping[int, str], id_: str) -> str:
    """The id of an entry, whole; or of a note."""
    (lines,) = view.record_lines([id_])
    if any(row in mine for _, row in lines):
        return id_
    try:
        return view.find_entry(id_).id
    except NotFound as error:
        raise NotFound(f"no entry or note {id_[:80]!r} is there to show it", hint=error.hint) from error


def _no_such(id_: str) -> NotFound:
    return NotFound(
        f"the graph has no entity or relation of id {id_[:80]!r}", hint="recollect graph NAME --json"
    )
