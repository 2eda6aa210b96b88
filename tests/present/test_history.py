"""A change is shown as a small diff, around what was asked for."""

from __future__ import annotations

from recollect.present.history import diff_lines
from recollect.values.history import Change


def test_a_change_shows_what_was_and_what_is() -> None:
    change = Change("a.py", "one\ntwo\nthree\nfour", "one\ntwo\n3\nfour")
    assert diff_lines(change) == [" two", "-three", "+3", " four"]


def test_a_long_change_shows_the_lines_that_bring_the_words() -> None:
    new = "\n".join(f"line {n}" for n in range(100))
    shown = diff_lines(Change("a.py", "", new), "Line 57", limit=6)
    assert (shown[0], shown[-1]) == ("...", "...")
    assert "+line 57" in shown
    assert len(shown) == 8


def test_what_is_at_an_end_is_cut_at_the_other_alone() -> None:
    new = "\n".join(f"line {n}" for n in range(100))
    assert diff_lines(Change("a.py", "", new), limit=3) == ["+line 0", "+line 1", "+line 2", "..."]
    assert diff_lines(Change("a.py", "", new), "99", limit=2) == ["...", "+line 98", "+line 99"]


def test_no_change_shows_nothing() -> None:
    assert diff_lines(Change("a.py", "same", "same")) == []
