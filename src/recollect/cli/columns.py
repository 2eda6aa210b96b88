"""How a table finds room on a terminal: which columns give way, how far, and which are left out.

Ids, times, counts and money are whole or not there. Titles are shortened first, then projects, then models;
where that is not enough, columns leave in the order that their command states, and at last those that were
shortened to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

GAP = 2

# What a column holds that may be shortened, in the order in which that happens.
BAR, TITLE, PATH, PROJECT, MODEL = 1, 2, 3, 4, 5
BY_ITS_END = (PATH, PROJECT)  # what is known by its end: that is kept
# The cells that are left of it before a column is left out; and when there is none to leave out.
_LEAST = {BAR: 8, TITLE: 24, PATH: 24, PROJECT: 16, MODEL: 12}
_LAST = 4


class Column(NamedTuple):
    """A table's column. `gives`: it is shortened as a TITLE, PATH, PROJECT or MODEL is, 0 for never.

    A BAR is drawn as long as there is room. `drops`: when it is left out, 1 before 2, 0 for never.
    """

    name: str
    right: bool = False
    gives: int = 0
    drops: int = 0


def fit(columns: Sequence[Column], widths: Sequence[int], room: int) -> dict[int, int]:
    """Which columns are shown, by number, and how wide each is."""
    kept = dict(enumerate(widths))
    while True:
        fitted = _shorten(columns, kept, room, _LEAST)
        drops = [(columns[number].drops, number) for number in kept if columns[number].drops]
        if _taken(fitted) <= room:
            return fitted
        if drops:
            del kept[min(drops)[1]]
            continue
        fitted = _shorten(columns, fitted, room, dict.fromkeys(_LEAST, _LAST))
        giving = [(columns[number].gives, number) for number in kept if columns[number].gives]
        if _taken(fitted) <= room or not giving:
            return fitted
        del kept[min(giving)[1]]


def _shorten(
    columns: Sequence[Column], widths: dict[int, int], room: int, least: dict[int, int]
) -> dict[int, int]:
    fitted, over = dict(widths), _taken(widths) - room
    for gives in sorted(least):
        for number in widths:
            if columns[number].gives == gives:
                cut = max(0, min(over, fitted[number] - least[gives]))
                fitted[number] -= cut
                over -= cut
    return fitted


def _taken(widths: dict[int, int]) -> int:
    return sum(widths.values()) + GAP * (len(widths) - 1)
