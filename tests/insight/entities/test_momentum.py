"""What is spoken of more or less than before is told from what only seems so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.insight.entities import momentum
from recollect.insight.entities.momentum import (
    MENTIONS_LEAST,
    STATES,
    UNUSUAL_DAYS,
    WINDOWS_BEFORE,
    Window,
    moves,
    unusual,
)
from recollect.store.contract import Array

LAST = 1000
WEEK = Window(LAST, 7)
STEADY = [60] * 400  # every day, so that there is always something to compare with


def planted(*series: Sequence[int]) -> tuple[Array, Array, int]:
    """Mentions of things, each given as its counts by day, the last of them being `LAST`."""
    things, days = list[int](), list[int]()
    for number, counts in enumerate(series):
        for back, count in enumerate(reversed(counts)):
            things += [number] * count
            days += [LAST - back] * count
    return np.array(things, np.uint32), np.array(days, np.uint16), len(series)


def states(*series: Sequence[int], window: Window = WEEK) -> list[str]:
    return [STATES[state] for state in moves(*planted(*series), window).state]


@pytest.mark.parametrize(
    ("told", "counts"),
    [
        ("new", [2] * 5),
        ("", [2, 2]),  # too little to say anything
        ("returned", [4] + [0] * 60 + [2] * 5),
        ("rising", [1] * 60 + [9] * 7),
        ("", [4] * 60 + [5] * 7),  # a little more is none
        ("fading", [9] * 60 + [1] * 7),
        ("fading", [9] * 60 + [0] * 7),
        ("", [200] + [0] * 20),  # one day of the past does not fade
        ("", [1, 0, 0, 0, 0, 0, 1] * 8 + [0] * 7),  # nor what was seldom
        ("", [5] * 100),
    ],
)
def test_each_way_to_move_is_known_by_its_curve(told: str, counts: list[int]) -> None:
    assert states(STEADY, counts) == ["", told]


def test_in_a_busy_week_not_everything_rises_and_in_a_quiet_one_not_all_fades() -> None:
    for now in (1, 20):
        assert states(*([4] * 60 + [now] * 7 for _ in range(5))) == [""] * 5
    assert states(*([4] * 60 + [20] * 7 for _ in range(9)), [4] * 60 + [4] * 7)[-1] == "fading"


def test_what_lies_behind_the_window_is_not_seen_and_an_unknown_day_is_none() -> None:
    things, days, total = planted(STEADY, [1] * 60 + [9] * 7)
    earlier = Window(LAST - 7, 7)
    assert not moves(things, days, total, earlier).state.any()
    assert moves(things, np.zeros_like(days), total, WEEK).now.sum() == 0


def test_where_there_is_no_past_nothing_is_new() -> None:
    assert states([9] * 7) == [""]


@pytest.mark.parametrize(
    ("is_odd", "counts"),
    [
        (True, [2, 3, 2, 1, 2, 3, 2, 2, 4, 2] + [0] * 5 + [30, 0]),
        (True, [2, 0, 0, 3, 0, 1] * 5 + [40] * 2),  # silent days say nothing of how loud a day is
        (False, [2, 3, 2, 1, 2, 3, 2, 2, 4, 2] + [0] * 5 + [6, 0]),
        (False, [2] * (UNUSUAL_DAYS - 1) + [0] * 7 + [60]),  # too few days to know what is usual
        (False, [2, 40, 3, 38, 2, 41, 3, 39, 2, 40] + [0] * 5 + [41, 0]),  # it has always been wild
        (False, [40] * 30 + [66]),  # far out, but not twice as often
        (False, [1] * 30 + [MENTIONS_LEAST - 1]),
    ],
)
def test_a_day_is_unusual_against_the_days_of_the_thing_itself(is_odd: bool, counts: list[int]) -> None:
    found = unusual(*planted(STEADY, counts), WEEK)
    assert found.thing.tolist() == ([1] if is_odd else [])


def test_a_few_wild_days_of_the_past_hide_nothing() -> None:
    """A mean and its deviation would be drawn up by them."""
    wild = [2] * 30 + [500, 2, 2, 400, 2, 2, 300] + [2] * 10 + [30]
    found = unusual(*planted(wild), WEEK)
    assert (found.day.tolist(), found.count.tolist(), found.median.tolist()) == ([LAST], [30], [2.0])
    assert found.score[0] == pytest.approx(28 / np.sqrt(2))


def test_many_things_are_counted_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    odd, faded = [2] * 20 + [30], [9] * 60 + [0] * 7
    for cells in (1, 50, 1 << 22):
        monkeypatch.setattr(momentum, "_CELLS", cells)
        found = unusual(*planted(STEADY, odd, STEADY, odd, odd), WEEK)
        assert (found.thing.tolist(), found.count.tolist()) == ([1, 3, 4], [30] * 3)
        assert states(STEADY, faded, STEADY, faded) == ["", "fading", "", "fading"]


mentions = st.lists(
    st.tuples(st.integers(0, 5), st.one_of(st.integers(0, 80), st.integers(60, 80))), max_size=300
)


@settings(max_examples=200, deadline=None)
@given(mentions, st.integers(1, 20), st.integers(40, 90), st.integers(1, 40))
def test_however_much_is_counted_at_a_time_it_is_what_counting_one_by_one_gives(
    said: list[tuple[int, int]], days: int, last: int, cells: int
) -> None:
    window, total = Window(last, days), 6
    things = np.array([thing for thing, _ in said], np.uint32)
    on = np.array([day for _, day in said], np.uint16)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(momentum, "_CELLS", cells)
        found, odd = moves(things, on, total, window), unusual(things, on, total, window)
    for thing in range(total):
        own = [day for each, day in said if each == thing and day]
        now = sum(window.first <= day <= last for day in own)
        before = [day for day in own if window.before <= day < window.first]
        state = STATES[found.state[thing]]
        assert found.now[thing] == now
        assert state not in ("new", "returned", "rising") or now >= MENTIONS_LEAST
        assert (state in ("new", "returned")) <= (not before)
        assert (state == "new") <= (min(own, default=0) >= window.first)
        assert (state == "fading") <= (len(set(before)) >= 3 and now < found.usual[thing])
        assert (state == "rising") <= (now > found.usual[thing])
        if thing in odd.thing:
            (at,) = np.flatnonzero(odd.thing == thing)
            past = [own.count(day) for day in sorted(set(own)) if day < window.first]
            assert len(past) >= UNUSUAL_DAYS
            assert odd.median[at] == np.median(past)
            assert (
                odd.count[at]
                == own.count(int(odd.day[at]))
                == max(own.count(day) for day in own if window.first <= day <= last)
            )
    assert window.before >= max(1, window.first - WINDOWS_BEFORE * days)
