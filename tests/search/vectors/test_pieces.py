"""What of an entry is embedded: all of a text of usual length, in pieces that overlap, each once."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.search.vectors.pieces import OVERLAP_CHARS, PIECE_CHARS, PIECES_MAX, pieces_of
from recollect.values.records import Entry, Flag, Kind

WORDS = st.lists(st.sampled_from(["alpha", "beta", "gamma.", "delta\n", "ε", "x" * 40]), max_size=1500)


def pieces(text: str) -> list[str]:
    return pieces_of(Entry(Kind.ANSWER, text))


@pytest.mark.parametrize("kind", Kind)
def test_only_what_was_said_and_done_is_embedded(kind: Kind) -> None:
    said = {Kind.PROMPT, Kind.ANSWER, Kind.THOUGHT, Kind.CALL, Kind.RESULT, Kind.SUMMARY, Kind.NOTE}
    assert pieces_of(Entry(kind, "ship it")) == (["ship it"] if kind in said else [])


def test_copies_and_our_own_words_are_not() -> None:
    assert pieces_of(Entry(Kind.ANSWER, "said", Flag.COPY)) == []
    assert pieces_of(Entry(Kind.ANSWER, "said", Flag.INJECTED | Flag.ERROR)) == []
    assert pieces_of(Entry(Kind.RESULT, "said", Flag.ERROR | Flag.SIDECHAIN)) == ["said"]


@pytest.mark.parametrize("text", ["", " ", "\n\t \u2003"])
def test_nothing_is_no_piece(text: str) -> None:
    assert pieces(text) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5 passed\nin 0.1s", "5 passed in   0.1s"),
        ("at 2026-11-15T10:00:00.123 done", "at 2025-01-02T23:59:59.9 done"),
        ("object at 0x7ffe12ab", "object at 0x0044ffee"),
        ("session 3f2a0000-aaaa-bbbb", "session 1111cccc-0000-ffff"),
        ("pid 1700000001", "pid 1700000002"),
        ("from 127.0.0.1:8080", "from 10.20.0.31:9999"),
    ],
)
def test_texts_that_differ_in_what_says_nothing_are_one_piece(one: str, other: str) -> None:
    assert pieces(one) == pieces(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("HTTP 404", "HTTP 500"),
        ("E1234", "E1235"),
        ("python 3.11", "python 3.12"),
        ("line 17", "line 18"),
        ("Yes", "yes"),
        ("2.5.0-beta", "2.5.0-alpha"),
        ("port 65535", "port 65534"),
    ],
)
def test_texts_that_differ_in_what_counts_are_not(one: str, other: str) -> None:
    assert pieces(one) != pieces(other)


def test_a_text_of_one_piece_is_not_cut() -> None:
    assert pieces("a " * (PIECE_CHARS // 2)) == [("a " * (PIECE_CHARS // 2)).strip()]


def test_lines_are_cut_between_and_overlap() -> None:
    lines = [f"line {n:03} says something of its own" for n in range(100)]
    found = pieces("\n".join(lines))
    assert 3 <= len(found) <= PIECES_MAX
    for before, after in itertools.pairwise(found):
        assert after.startswith("line ")
        assert before.endswith("own")
        start = after.split(" says")[0]
        assert start in before, "the next piece begins inside the one before"
        assert len(before) - before.index(start) <= OVERLAP_CHARS


def test_of_a_huge_text_the_beginning_and_the_end_are_embedded() -> None:
    text = "begins here " + "word " * 1_000_000 + " ends here"
    found = pieces(text)
    assert len(found) <= PIECES_MAX
    assert found[0].startswith("begins here")
    assert found[-1].endswith("ends here")


@given(WORDS, st.sampled_from([" ", "", "\n"]))
def test_pieces_are_bounded_and_cover_every_word(words: list[str], joint: str) -> None:
    text = joint.join(words)
    found = pieces(text)
    assert len(found) <= PIECES_MAX
    assert all(0 < len(piece) <= PIECE_CHARS for piece in found)
    assert len(set(found)) == len(found)
    if joint and len(text) < PIECE_CHARS * (PIECES_MAX - 1) // 2:
        assert set(text.split()) == {word for piece in found for word in piece.split()}


@given(st.text())
def test_any_text_gives_pieces_that_stay_themselves(text: str) -> None:
    for piece in pieces(text):
        assert pieces(piece) == [piece] or len(piece) > PIECE_CHARS
