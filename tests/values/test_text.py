"""Text for people: safe by character class, short, even."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.values.text import (
    age,
    ascii_json,
    cells,
    dollars,
    ellipsis,
    many,
    moment,
    one_line,
    printable,
    short,
    size,
)

# Every character there is, halves of surrogate pairs too.
ANY = st.text(st.characters(exclude_categories=()))


@given(ANY)
def test_nothing_printable_can_act_on_a_terminal(text: str) -> None:
    for character in printable(text):
        assert character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


def test_every_single_character_is_decided_by_its_class() -> None:
    for code in range(0x110000):
        character = chr(code)
        hostile = (
            unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") and character not in "\n\t"
        )
        assert (printable(character) != character) == hostile


@given(ANY)
def test_printable_twice_is_printable_once(text: str) -> None:
    assert printable(printable(text)) == printable(text)


@given(st.text(st.characters(categories=["L", "N", "P", "S"])))
def test_ordinary_text_stays(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b", "\\x9b"),
        ("a\rb", "a\\rb"),
        ("a\r\nb", "a\nb"),
        ("\u202e", "\\u202e"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("\x7f", "\\x7f"),
        ("a\tb\n", "a\tb\n"),
        ("", ""),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(ANY, st.integers(4, 60))
def test_one_line_is_one_line_and_fits(text: str, width: int) -> None:
    line = one_line(text, width)
    assert "\n" not in line
    assert "\t" not in line
    assert cells(line) <= width


@given(ANY, st.integers(1, 30))
def test_an_ellipsis_says_that_something_is_missing(text: str, width: int) -> None:
    whole = printable(text)
    cut = ellipsis(whole, width)
    assert cut == whole or (cut.endswith("…") and cells(cut) <= width)


def test_a_megabyte_field_costs_its_beginning_only() -> None:
    assert one_line("word " * 1_000_000, 10) == "word word…"


@given(
    st.recursive(ANY | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(ANY, inner))
)
def test_json_is_printable_ascii_and_says_the_same(value: object) -> None:
    text = ascii_json(value)
    assert all(" " <= each <= "~" for each in text)
    assert json.loads(text) == value


def test_wide_characters_take_two_cells() -> None:
    assert cells("日本") == 4
    assert ellipsis("日本語", 5) == "日本…"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "now"),
        (59, "now"),
        (60, "1 min"),
        (7200, "2 h"),
        (86400 * 3, "3 d"),
        (86400 * 70, "2 mo"),
        (86400 * 800, "2 y"),
        (-500, "now"),
    ],
)
def test_ages(seconds: int, told: str) -> None:
    now_ms = 1_800_000_000_000
    assert age(now_ms - seconds * 1000, now_ms=now_ms) == told


def test_unknown_and_impossible_times_are_empty() -> None:
    assert age(0, now_ms=1) == moment(0) == moment(-5) == moment(2**62) == ""


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (99_940, "99.9 kB"),
        (999_600, "1.0 MB"),
        (123_456_789, "123 MB"),
        (5 * 10**15, "5000 TB"),
    ],
)
def test_sizes(count: int, told: str) -> None:
    assert size(count) == told


def test_numbers() -> None:
    assert [short(n) for n in (0, 999, 1000, 12_345, 4_500_000)] == ["0", "999", "1.0k", "12.3k", "4.5M"]
    assert [many(n, "entry", "entries") for n in (1, 2000)] == ["1 entry", "2,000 entries"]


@pytest.mark.parametrize(
    ("microdollars", "told"),
    [
        (0, "$0.00"),
        (1, "<$0.0001"),
        (100, "$0.0001"),
        (9_999, "$0.0099"),
        (10_000, "$0.01"),
        (14_999, "$0.01"),
        (15_000, "$0.02"),
        (1_234_567_890, "$1,234.57"),
    ],
)
def test_money(microdollars: int, told: str) -> None:
    assert dollars(microdollars) == told


def test_what_is_known_by_its_end_is_cut_in_front() -> None:
    assert ellipsis("forge.example/ada/harbor", 12, front=True) == "…/ada/harbor"
    assert ellipsis("forge.example/ada/harbor", 16, front=True) == "…/ada/harbor"
    assert ellipsis("a-project-without-folders", 9, front=True) == "…-folders"
    assert ellipsis("harbor", 6, front=True) == "harbor"
