"""A regular expression is asked for as long as there is time, and not longer, whatever it does."""

from __future__ import annotations

import time

import pytest

from recollect.search.patterns import MARKS_MAX, TEXT_CHARS_HERE, Patterns

LONG = " hay" * (TEXT_CHARS_HERE // 4 + 1)  # looked at by another process
GENEROUS_SECONDS = 120.0


@pytest.fixture
def deadline() -> float:
    return time.monotonic() + GENEROUS_SECONDS


@pytest.fixture(params=["", LONG], ids=["here", "apart"])
def hay(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_long_text_is_answered_for_like_a_short_one(hay: str, deadline: float) -> None:
    text = hay + " EADDRINUSE \ud800 EADDR"
    patterns = Patterns([(r"EADDR\w+", True), ("straw", False), ("x*", True)])
    assert patterns.fit(text, deadline)
    assert patterns.marks(text, deadline) == [(len(hay) + 1, len(hay) + 11, r"EADDR\w+")]
    assert not patterns.fit(text + " straw", deadline)
    assert not patterns.fit(hay, deadline)
    assert len(Patterns([("e", True)]).marks("e" * 1000, deadline)) == MARKS_MAX
    patterns.close()


def test_what_looks_at_no_clock_is_ended_and_the_next_question_is_answered(deadline: float) -> None:
    """This string takes minutes to be made ready, and nothing is looked at meanwhile."""
    endless = "b" + "a" * 9_000
    before = time.monotonic()
    patterns = Patterns([(endless, True)])
    with pytest.raises(TimeoutError):
        patterns.fit(LONG, before + 0.5)
    assert patterns.marks(LONG, time.monotonic() + 0.1) == []
    assert time.monotonic() < before + 60, "a hang, not a measure of speed"
    patterns = Patterns([("hay", True)])
    assert patterns.fit(LONG, deadline)
    patterns.close()


@pytest.mark.parametrize("text", ["a" * 5_000 + "!", "a" * (TEXT_CHARS_HERE + 1)], ids=["here", "apart"])
def test_a_bomb_goes_off_in_time(text: str) -> None:
    patterns = Patterns([(r"(a|aa)+$x|(\w+\s?)+\d", True)])
    with pytest.raises(TimeoutError):
        patterns.fit(text, time.monotonic() + 0.2)
    assert patterns.marks(text, time.monotonic() + 0.1) == []
    patterns.close()


def test_when_the_time_is_up_nothing_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.search.patterns._start", pytest.fail)
    for text in ("hay", LONG):
        with pytest.raises(TimeoutError):
            Patterns([("hay", True)]).fit(text, time.monotonic())
        assert Patterns([("hay", True)]).marks(text, time.monotonic()) == []
