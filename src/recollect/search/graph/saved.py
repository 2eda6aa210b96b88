"""What code and people said of the graph: every entity and relation as it is now, and who is beside whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from recollect.values.graph import GraphEntity, GraphRelation, folded

Stated = GraphEntity | GraphRelation
Age = tuple[int, str]


class Edge(NamedTuple):
    """A relation as one of its two ends sees it; `is_out` where it is the source's."""

    other: str  # the key of the entity at the other end
    is_out: bool
    relation: GraphRelation


class SavedGraph:
    """Entities and relations by the key of a name: its aliases lead there too. What it says never changes."""

    def __init__(self, stated: Iterable[Stated]) -> None:
        self.stated = {each.id: each for each in stated}
        entities = [each for each in self.stated.values() if isinstance(each, GraphEntity)]
        self.described = {folded(each.name): each for each in sorted(entities, key=_age)}
        self._aliases = {folded(a): key for key, each in self.described.items() for a in each.aliases}
        self._keys: dict[str, str] = {}
        self._names: dict[str, tuple[Age, str]] = {}
        self._edges: dict[str, list[Edge]] = {}
        self._sorted: set[str] = set()  # whose edges are, which is done when they are asked for
        for each in self.stated.values():
            if isinstance(each, GraphRelation):
                self._link(each)

    @property
    def relations(self) -> list[GraphRelation]:
        """All of them, in the order in which they began to hold."""
        return sorted((each for each in self.stated.values() if isinstance(each, GraphRelation)), key=_age)

    def changed(self, news: Mapping[str, Stated | None]) -> SavedGraph:
        """The same with something else, or nothing any more, of some ids; most often only with more."""
        grown: dict[str, GraphRelation] = {}
        for id_, each in news.items():
            if not isinstance(each, GraphRelation) or not _is_same(each, self.stated.get(id_, each)):
                every = {**self.stated, **news}.values()
                return SavedGraph(each for each in every if each is not None)  # names may lead elsewhere now
            grown[id_] = each
        return self._grown(grown)

    def _grown(self, news: dict[str, GraphRelation]) -> SavedGraph:
        made = SavedGraph(())
        made.stated, made.described, made._aliases = {**self.stated, **news}, self.described, self._aliases
        made._keys, made._names = dict(self._keys), dict(self._names)
        made._edges, made._sorted = dict(self._edges), set(self._sorted)
        for key in {made.key(name) for each in news.values() for name in (each.source, each.target)}:
            made._edges[key] = [edge for edge in self._edges.get(key, ()) if edge.relation.id not in news]
            made._sorted.discard(key)
        for each in news.values():
            made._link(each)
        return made

    def at(self, time_ms: int) -> SavedGraph:
        """The same as it was at a time: what was not said yet, or did not hold, is not in it."""
        return SavedGraph(
            each
            for each in self.stated.values()
            if (each.holds_at(time_ms) if isinstance(each, GraphRelation) else each.time_ms <= time_ms)
        )

    def key(self, name: str) -> str:
        """What an entity of this name goes by: a name is itself, and then what it is an alias of."""
        key = self._keys.get(name)
        if key is None:
            key = folded(name)
            key = self._keys[name] = key if key in self.described else self._aliases.get(key, key)
        return key

    def __contains__(self, key: str) -> bool:
        return key in self.described or key in self._names

    def __iter__(self) -> Iterator[str]:
        """The keys of all entities."""
        return iter(dict.fromkeys([*self.described, *self._names]))

    def entity(self, key: str) -> GraphEntity:
        """What is said of an entity; of one that only relations name, its name as it was first written."""
        described = self.described.get(key)
        return described if described is not None else GraphEntity(self._names[key][1])

    def edges(self, key: str) -> Sequence[Edge]:
        """The relations of an entity, the strongest first."""
        if key not in self._sorted and key in self._edges:
            self._edges[key] = sorted(self._edges[key], key=_strength)
            self._sorted.add(key)
        return self._edges.get(key, ())

    def _link(self, relation: GraphRelation) -> None:
        source, target = self.key(relation.source), self.key(relation.target)
        for key, name in ((source, relation.source), (target, relation.target)):
            written = _age(relation), name
            self._names[key] = min(self._names.get(key, written), written)
        if source != target:  # which an alias may have come to mean
            self._edges.setdefault(source, []).append(Edge(target, True, relation))
            self._edges.setdefault(target, []).append(Edge(source, False, relation))


def _is_same(relation: GraphRelation, before: Stated) -> bool:
    """Whether two statements of one id are of the same entities, as they are written."""
    return isinstance(before, GraphRelation) and (relation.source, relation.target, relation.from_ms) == (
        before.source,
        before.target,
        before.from_ms,
    )


def _strength(edge: Edge) -> tuple[float, str, str]:
    return -edge.relation.weight, edge.other, edge.relation.id


def _age(stated: Stated) -> Age:
    return (stated.from_ms if isinstance(stated, GraphRelation) else stated.time_ms), stated.id
