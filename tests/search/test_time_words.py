"""The time a question names, by rules: what is understood, what is left alone, and that nothing breaks it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.search import time_words as when
from recollect.search.time_words import is_of_present, window

NOW = datetime(2026, 11, 12, 15, 30, tzinfo=UTC)  # a Thursday


def days(text: str, now: datetime = NOW) -> tuple[str, str] | None:
    """First and last day of the window, both included."""
    found = window(text, now)
    if found is None:
        return None
    start, last = (datetime.fromtimestamp(ms / 1000, now.tzinfo) for ms in (found[0], found[1] - 1))
    return start.strftime("%Y-%m-%d"), last.strftime("%Y-%m-%d")


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("what did we decide yesterday?", "2026-11-11", "2026-11-11"),
        ("the error from this morning", "2026-11-12", "2026-11-12"),
        ("the day before yesterday", "2026-11-10", "2026-11-10"),
        ("what broke last night", "2026-11-11", "2026-11-11"),
        ("three days ago", "2026-11-08", "2026-11-10"),
        ("a couple of days ago", "2026-11-09", "2026-11-11"),
        ("a week ago", "2026-11-02", "2026-11-09"),
        ("Two weeks  ago we changed the schema", "2026-10-25", "2026-11-02"),
        ("10 weeks ago", "2026-08-13", "2026-09-24"),
        ("two hours ago", "2026-11-12", "2026-11-12"),
        ("in the past two weeks", "2026-10-25", "2026-11-12"),
        ("over the past month", "2026-10-04", "2026-11-12"),
        ("the last 30 days", "2026-10-04", "2026-11-12"),
        ("last week", "2026-11-02", "2026-11-12"),
        ("last weekend", "2026-11-06", "2026-11-12"),
        ("this week", "2026-11-09", "2026-11-12"),
        ("last month", "2026-10-01", "2026-11-12"),
        ("this year", "2026-01-01", "2026-12-31"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("on Monday", "2026-11-09", "2026-11-09"),
        ("on thursday", "2026-11-05", "2026-11-05"),
        ("last Friday", "2026-10-30", "2026-11-06"),
        ("2026-03-04", "2026-03-04", "2026-03-04"),
        ("on 2026/3/4", "2026-03-04", "2026-03-04"),
        ("March 4, 2026", "2026-03-03", "2026-03-05"),
        ("the 4th of march", "2026-03-03", "2026-03-05"),
        ("December 24th", "2025-12-23", "2025-12-25"),
        ("in May 2023", "2023-05-01", "2023-05-31"),
        ("sept 2025", "2025-09-01", "2025-09-30"),
        ("in May", "2026-05-01", "2026-05-31"),
        ("in December", "2025-12-01", "2025-12-31"),
        ("since August", "2026-08-01", "2026-11-12"),
        ("from July to October", "2026-07-01", "2026-10-31"),
        ("last summer", "2026-06-01", "2026-08-31"),
        ("during the winter of 2024", "2024-12-01", "2025-03-02"),
        ("in 2024", "2024-01-01", "2024-12-31"),
        ("between 2026-01-05 and 2026-01-09", "2026-01-05", "2026-01-09"),
    ],
)
def test_times_people_say(question: str, first: str, last: str) -> None:
    assert days(question) == (first, last)


@pytest.mark.parametrize(
    "question",
    [
        "how do I parse a date",
        "this may break in march",
        "may I march on",
        "the second deploy",
        "port 2024",
        "3.12.4",
        "what should we do this weekend",
        "in December 2026",
        "in 2031",
        "February 30",
        "2026-13-01",
        "99999 years ago",
        "in the year 0001",
        "last test",
        "sun exposure",
        "error 1999",
        "",
    ],
)
def test_what_names_no_time_that_has_been(question: str) -> None:
    assert window(question, NOW) is None


def test_days_are_those_of_the_asker() -> None:
    tokyo = NOW.astimezone(timezone(timedelta(hours=9)))  # already Friday there
    assert days("yesterday", tokyo) == ("2026-11-12", "2026-11-12")
    assert window("yesterday", tokyo) != window("yesterday", NOW)


def test_a_long_text_is_not_a_question() -> None:
    assert window("x " * when.QUESTION_CHARS_MAX + "yesterday", NOW) is None


_PIECES = [
    "last", "past", "this", "a", "few", "of", "12", "9999", "2023", "0", "week", "months", "years", "ago",
    "May", "31", "st", "February", ",", "-", "/", "on", "Friday", "summer", "in", "since", "yesterday",
    "\x00", "\u0661", "\ud800", "  ",
]  # fmt: skip


@given(st.lists(st.sampled_from(_PIECES)).map(" ".join) | st.text(), st.datetimes(timezones=st.just(UTC)))
def test_any_text_at_any_time_gives_a_window_that_has_begun_or_none(text: str, now: datetime) -> None:
    found = window(text, now)
    if found is not None:
        assert found[0] < found[1]
        assert found[0] <= now.timestamp() * 1000


@pytest.mark.parametrize(
    ("question", "present"),
    [
        ("which port does it use now?", True),
        ("What is the CURRENT schema", True),
        ("most  recent decision about caching", True),
        ("which model do we take these days", True),
        ("what did we know about it", False),
        ("is the recent build broken", False),
        ("currents in the harbour", False),
        ("the electric current limit", False),
        ("current timeout of the client", True),
        ("is Date.now() mocked", False),
        ("pull image:latest in ci", False),
        ("git branch --show-current", False),
        ("now-or-never crate", False),
        ("x" * 3000 + " now", False),
    ],
)
def test_whether_a_question_asks_what_counts_now(question: str, present: bool) -> None:
    assert is_of_present(question) == present
