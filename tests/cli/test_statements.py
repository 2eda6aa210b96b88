"""Statements with the ids of their entries: in 80 columns, however an id ends and whatever is said."""

from __future__ import annotations

import contextlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.cli.screen import Screen
from recollect.cli.statements import print_statements
from recollect.values.text import cells

IDS = st.one_of(
    st.just(""), st.builds("{:012x}".format, st.integers(0, 16**12 - 1)), st.just("0974f5718828.99")
)


@given(told=st.lists(st.tuples(st.sampled_from(("asked", "unsolved")), st.text(max_size=300), IDS)))
@pytest.mark.parametrize("label", [8, 9])
def test_no_line_is_longer_than_80_columns(label: int, told: list[tuple[str, str, str]]) -> None:
    lines = _printed(told, label)
    assert len(lines) == len(told)
    assert all(cells(line) <= 80 for line in lines)


def test_ids_stand_below_each_other_and_what_several_are_is_said_once() -> None:
    told = [
        ("asked", "short", "0974f5718828"),
        ("asked", "長い" * 40, "0974f5718828.12"),
        ("ran", "make", ""),
    ]
    first, second, third = _printed(told, 8)
    assert cells(first.partition("0974")[0]) == cells(second.partition("0974")[0])
    assert (first[:5], second[:8], third) == ("asked", " " * 8, "ran       make")


def _printed(told: list[tuple[str, str, str]], label: int) -> list[str]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        print_statements(told, Screen(json=False, color=False, quiet=True), label=label)
    return out.getvalue().splitlines()
