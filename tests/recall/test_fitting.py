"""Whatever a text costs, what is made of it fits, or is one character long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.recall.fitting import fit, relevant_hits
from recollect.values.hits import Fresh, Hit, Results, Snippet
from recollect.values.records import Entry, Kind, SessionFacts
from recollect.values.stored import Session, StoredEntry


@given(st.integers(1, 5_000), st.integers(1, 400), st.integers(0, 50), st.integers(1, 9))
def test_what_is_made_fits_its_budget_and_is_whole_where_the_whole_fits(
    chars: int, budget: int, around: int, each: int
) -> None:
    def cost(length: int) -> int:
        return around + (length * each) // 7

    made = fit(lambda length: length, chars, budget, cost)
    assert 1 <= made <= chars
    assert cost(made) <= budget or made == 1
    assert made == chars or cost(chars) > budget


def test_a_few_tries_are_enough_for_a_megabyte() -> None:
    tries: list[int] = []
    fit(lambda chars: tries.append(chars) or chars, 1 << 20, 500, lambda chars: 20 + chars // 4)
    assert len(tries) < 10


def kept(*scores: float) -> list[float]:
    stored = StoredEntry("3f2a", "a", "user", Entry(Kind.PROMPT, "x"), 0, 0)
    session = Session(SessionFacts("claude", "a"), "here", 1)
    hits = [Hit(stored, session, score, Snippet((), (False, False))) for score in scores]
    return [hit.score for hit in relevant_hits(Results(hits, -1, Fresh(1, 1, 1, 0)))]


def test_what_has_little_to_do_with_the_question_is_left_out_but_for_the_best_few() -> None:
    assert kept(*[0.9] * 20) == [0.9] * 20
    assert kept(*[0.9] * 10, 0.25, 0.1) == [0.9] * 10 + [0.25]
    assert 2 <= len(kept(*[0.05] * 20)) <= 4
    assert kept() == []


def test_what_just_fits_is_not_cut() -> None:
    assert fit(lambda chars: chars, 100, 100, lambda chars: chars) == 100
    assert fit(lambda chars: chars, 101, 100, lambda chars: chars) == 100
