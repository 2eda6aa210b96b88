"""One graph of what was said and of what logs mention together: who is near whom, and how to get there.

An entity is a key: its name as names are compared. What was said comes first, then what is mentioned
together, the stronger before the weaker, so that the same question has the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from recollect.search.graph.mentioned import DAY_MS, Close, Mentioned
from recollect.search.graph.replay import saved_graph
from recollect.search.graph.way import shortest_way
from recollect.search.mentions import Mentions
from recollect.search.projects import worked_out
from recollect.values.errors import NotFound
from recollect.values.graph import (
    BESIDE,
    BOTH,
    DERIVED,
    IN,
    OUT,
    SAVED,
    Activated,
    GraphEntity,
    GraphNeighbour,
    GraphPath,
    GraphRelation,
    Subgraph,
    folded,
)
from recollect.values.lazy import lazy

if TYPE_CHECKING:
    from recollect.search.graph.saved import SavedGraph
    from recollect.store.contract import View

LOOKED_MAX = 512  # things whose company is looked at in one question: further away everything is near
DERIVED_WEIGHT = 0.5  # of being mentioned together, beside a relation that somebody stated
_TURNED = {OUT: IN, IN: OUT, BOTH: BOTH}  # a direction, as the other end of a relation sees it


class Step(NamedTuple):
    """A relation from one entity to another; `close` of a derived one, `relation` of a saved one."""

    key: str
    other: str
    direction: str
    weight: float
    relation: GraphRelation | None = None
    close: Close | None = None


class Graph:
    """The graph of one view, as it is or as it was at a time."""

    def __init__(self, view: View, at_ms: int | None = None) -> None:
        self._view, self._at_ms = view, at_ms

    @lazy
    def saved(self) -> SavedGraph:
        now = saved_graph(self._view)
        return now if self._at_ms is None else now.at(self._at_ms)

    @lazy
    def mentioned(self) -> Mentioned:
        if self._at_ms is None:
            return worked_out(self._view, Mentioned)
        return Mentioned(self._view, self._at_ms // DAY_MS)

    # -- entities --------------------------------------------------------------------------------

    def find(self, name: str) -> str:
        """The key of what is called so, exactly but for case; NotFound for nothing."""
        key = self.saved.key(name)
        if not self.has(key):
            raise NotFound(f"the graph has nothing called {name[:80]!r}", hint=self._hint(name))
        return key

    def has(self, key: str) -> bool:
        return key in self.saved or self._number(key) >= 0

    def entity(self, key: str) -> GraphEntity:
        """What is known of an entity."""
        number = self._number(key)
        if key not in self.saved:
            return self.mentioned.entity(number)
        said = self.saved.entity(key)
        if number < 0:
            return said
        thing = self.mentioned.entity(number)
        return replace(said, type=said.type or thing.type, mentions=thing.mentions)

    def _number(self, key: str) -> int:
        """Its number among what is mentioned, by its name or else by one of its aliases."""
        number = self.mentioned.number(key)
        if number < 0 and (described := self.saved.described.get(key)) is not None:
            found = (self.mentioned.number(folded(alias)) for alias in described.aliases)
            number = next((each for each in found if each >= 0), -1)
        return number

    def _hint(self, name: str) -> str:
        from recollect.values.close import did_you_mean, near_names

        near = near_names(name, [self.saved.entity(key).name for key in self.saved])
        mentioned = "" if near else worked_out(self._view, Mentions).containing(name)
        asked = did_you_mean([*near, *([mentioned] if mentioned else [])])
        return asked or "recollect graph relate A RELATION B; `recollect entities` lists what logs mention"

    # -- near and far ----------------------------------------------------------------------------

    def neighbours(
        self,
        name: str,
        *,
        relation: str = "",
        depth: int = 1,
        direction: str = BOTH,
        origin: str = "",
        limit: int,
    ) -> list[GraphNeighbour]:
        """What is at most so many relations away, the nearest first, with each relation it is reached by."""
        wanted = self._wanted(relation, direction, origin)
        found: list[tuple[Step, int]] = []
        for steps, away in self._layers([self.find(name)], depth, wanted):
            found += ((step, away) for step in steps)
            if limit and len(found) >= limit:
                del found[limit:]
                break
        told = self._told(step for step, _ in found)
        return [
            GraphNeighbour(self.entity(step.other), relation, step.direction, away)
            for (step, away), relation in zip(found, told, strict=True)
        ]

    def path(
        self, source: str, target: str, *, max_depth: int, direction: str = BOTH, origin: str = ""
    ) -> GraphPath:
        """A shortest way from one entity to another; an empty one where there is none."""
        forth = self._wanted("", direction, origin)
        back = self._wanted("", _TURNED[direction], origin)
        start, end = self.find(source), self.find(target)
        found = shortest_way(
            start,
            end,
            max_depth,
            lambda key, company: self._steps(key, forth, company=company),
            lambda key, company: self._steps(key, back, company=company),
            LOOKED_MAX,
        )
        if found is None:
            return GraphPath()
        way = [*found[0], *map(self._turned, reversed(found[1]))]
        keys = [start, *(step.other for step in way)]
        return GraphPath(tuple(map(self.entity, keys)), tuple(self._told(way)))

    def subgraph(self, names: Iterable[str], depth: int, *, origin: str = "") -> Subgraph:
        """Everything at most so many relations away from some entities, and all relations between that."""
        starts = list(dict.fromkeys(map(self.find, names)))
        wanted, keys = self._wanted("", BOTH, origin), dict.fromkeys(starts)
        for steps, _ in self._layers(starts, depth, wanted):
            keys |= dict.fromkeys(step.other for step in steps)
        return self.among(keys, origin=origin)

    def among(self, keys: Iterable[str], *, origin: str = "") -> Subgraph:
        """Some entities, and the relations between them, each once."""
        inside = dict.fromkeys(keys)
        wanted, seen, steps = self._wanted("", BOTH, origin), set[object](), []
        for key in inside:
            for step in self._steps(key, wanted):
                name = step.relation.id if step.relation else frozenset((key, step.other))
                if step.other in inside and name not in seen:
                    seen.add(name)
                    steps.append(step)
        return Subgraph(tuple(map(self.entity, inside)), tuple(self._told(steps)))

    def activate(self, names: Iterable[str], *, steps: int, decay: float, limit: int) -> list[Activated]:
        """What comes to mind with some entities, the most first: these themselves with 1."""
        spread = self.spread(dict.fromkeys(map(self.find, names), 1.0), steps=steps, decay=decay)
        best = sorted(spread.items(), key=lambda each: (-each[1], each[0]))[: limit or None]
        return [Activated(self.entity(key), round(value, 6)) for key, value in best]

    def spread(self, seeds: dict[str, float], *, steps: int, decay: float) -> dict[str, float]:
        """Activation by key.

        At each step an entity hands on a share of what reached it, more of it over its stronger relations: so
        what is related to everything brings nothing to mind.
        """
        total, front = dict(seeds), dict(seeds)
        wanted = self._wanted("", BOTH, "")
        for _ in range(steps):
            reached: dict[str, float] = {}
            for key in sorted(front, key=lambda each: (-front[each], each))[:LOOKED_MAX]:
                value = front[key]
                ways = list(self._steps(key, wanted))
                weight = sum(step.weight for step in ways)
                for step in ways:
                    if weight > 0:
                        share = value * decay * step.weight / weight
                        reached[step.other] = reached.get(step.other, 0.0) + share
            front = {key: value for key, value in reached.items() if key not in seeds}
            for key, value in front.items():
                total[key] = total.get(key, 0.0) + value
        return total

    # -- steps -----------------------------------------------------------------------------------

    def _layers(
        self, starts: Sequence[str], depth: int, wanted: Callable[[Step], bool]
    ) -> Iterator[tuple[list[Step], int]]:
        """The steps to what is one, two, ... relations away, as far as there is any."""
        seen, front, looked = set(starts), list(starts), 0
        for away in range(1, depth + 1):
            steps: list[Step] = []
            for number, key in enumerate(front, looked):
                taken = self._steps(key, wanted, company=number < LOOKED_MAX)
                steps += (step for step in taken if step.other not in seen)
            if not steps:
                return
            yield steps, away
            looked += len(front)
            front = list(dict.fromkeys(step.other for step in steps))
            seen.update(front)

    def _steps(self, key: str, wanted: Callable[[Step], bool], *, company: bool = True) -> Iterator[Step]:
        """The relations of an entity: those that were said, the strongest first, then the derived ones."""
        for edge in self.saved.edges(key):
            said = Step(key, edge.other, OUT if edge.is_out else IN, edge.relation.weight, edge.relation)
            if wanted(said):
                yield said
        if company:
            yield from filter(wanted, self._company(key))

    def _company(self, key: str) -> Iterator[Step]:
        """What is mentioned together with it."""
        number = self._number(key)
        for close in self.mentioned.close_to(number) if number >= 0 else ():
            other = self.saved.key(self.mentioned.key(close.number))
            if other != key:
                yield Step(key, other, BOTH, DERIVED_WEIGHT * close.weight, close=close)

    def _turned(self, step: Step) -> Step:
        """A step as the entity at its other end sees it."""
        close = step.close and step.close._replace(number=self._number(step.key))
        return Step(step.other, step.key, _TURNED[step.direction], step.weight, step.relation, close)

    def _wanted(self, relation: str, direction: str, origin: str) -> Callable[[Step], bool]:
        """Which steps are taken. What is mentioned together has no direction."""
        called = folded(relation)

        def is_wanted(step: Step) -> bool:
            name, of = (step.relation.relation, SAVED) if step.relation else (BESIDE, DERIVED)
            return (
                (not called or folded(name) == called)
                and direction in (BOTH, step.direction)
                and origin in ("", of)
            )

        return is_wanted

    def _told(self, steps: Iterable[Step]) -> Iterator[GraphRelation]:
        """The relations that steps are, between the names that their entities go by."""
        for step in steps:
            name, other = self._name(step.key), self._name(step.other)
            if step.relation is not None:
                source, target = (other, name) if step.direction == IN else (name, other)
                yield replace(step.relation, source=source, target=target)
            elif step.close is not None:
                yield self.mentioned.relation(self._number(step.key), step.close, name, other)

    def _name(self, key: str) -> str:
        return self.saved.entity(key).name if key in self.saved else self.entity(key).name
