"""A shortest way through a graph, looked for from both ends: only what is near either of them is seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.search.graph.graph import Step

Steps = Callable[[str, bool], Iterable["Step"]]  # of a key; whether its company is looked at, too


class _Side:
    """What was reached from one end, layer by layer, and by which step first."""

    def __init__(self, start: str, steps: Steps) -> None:
        self.front = [start]
        self.came: dict[str, Step | None] = {start: None}
        self._steps = steps

    def widen(self, looked: int, looked_max: int) -> None:
        """One layer more; the company of the first few that are looked at counts."""
        reached: list[str] = []
        for number, key in enumerate(self.front, looked):
            for step in self._steps(key, number < looked_max):
                if step.other not in self.came:
                    self.came[step.other] = step
                    reached.append(step.other)
        self.front = reached

    def way_to(self, key: str) -> list[Step]:
        """The steps from this end to what was reached."""
        way: list[Step] = []
        while (step := self.came[key]) is not None:
            way.append(step)
            key = step.key
        way.reverse()
        return way


def shortest_way(
    start: str, end: str, depth: int, forth: Steps, back: Steps, looked_max: int
) -> tuple[list[Step], list[Step]] | None:
    """The steps from both ends to where they meet, `depth` together at most; None where there is no way.

    Of both sides every layer is whole before the next one is begun, so where they first meet is a shortest
    way. The side that has reached less goes on: the ends of a way may have very different company.
    """
    sides, looked = (_Side(start, forth), _Side(end, back)), 0
    if start == end:
        return [], []
    for _ in range(depth):
        near, far = sorted(sides, key=lambda side: len(side.front))
        widened = len(near.front)
        near.widen(looked, looked_max)
        looked += widened
        if not near.front:
            return None
        met = next((key for key in near.front if key in far.came), None)
        if met is not None:
            return sides[0].way_to(met), sides[1].way_to(met)
    return None
