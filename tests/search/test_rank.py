"""Fusion: one order for the same candidates, on a scale that does not depend on what else was found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.search import weights
from recollect.search.rank import Candidates, Options, Ranking, neighbours, rank
from recollect.search.weights import COURSE
from recollect.values.records import Kind
from recollect.values.vocabulary import FUSIONS

DAY_MS = 86_400_000
NOW_MS = 20_000 * DAY_MS


UNSAID = {"exact": 0, "complete": 0, "turn": 0, "exchange": 0.0, "alike": 0.0, "spread": 0.0}


def candidates(*entries: dict[str, Any]) -> Candidates:
    """Columns of entries that are far from each other unless they say otherwise."""
    plain = {"kind": Kind.PROMPT, "time": NOW_MS, "text": 0.0, "dense": np.nan, "chars": 100, **UNSAID}
    full = [{"row": 100 * n, "session": n, **plain, **entry} for n, entry in enumerate(entries)]
    names = ("row", "session", "kind", "time", "text", "dense", "chars", *UNSAID)
    return Candidates(*(np.array([entry[name] for entry in full]) for name in names))


def rows(found: Candidates, ranking: Ranking) -> list[int]:
    return [int(found.rows[n]) for n in ranking.order]


@st.composite
def any_candidates(draw: st.DrawFn) -> Candidates:
    numbers = draw(st.lists(st.integers(0, 40), unique=True, max_size=25))
    score, cosine = st.floats(0, 30, width=32), st.floats(-1, 1, width=32) | st.just(float("nan"))
    entry = st.fixed_dictionaries(
        {
            "kind": st.sampled_from(Kind),
            "time": st.integers(0, NOW_MS),
            "text": score,
            "dense": cosine,
            "exact": st.integers(0, 1),
            "complete": st.integers(0, 1),
            "turn": st.integers(0, 9),
            "exchange": st.just(0.0) | st.floats(0, 1.5, width=32),
            "alike": st.floats(-1, 1, width=32),
            "spread": st.just(0.0) | st.floats(0, 1, width=32),
        }
    )
    return candidates(*({**draw(entry), "row": row, "session": row // 7} for row in numbers))


any_options = st.builds(
    Options,
    mode=st.sampled_from(["hybrid", "text", "vector"]),
    fusion=st.sampled_from(FUSIONS),
    text_max=st.sampled_from([0.0, 25.0]),
    window=st.none() | st.just((NOW_MS - 5 * DAY_MS, NOW_MS - DAY_MS)),
    now_ms=st.just(NOW_MS),
    recency=st.booleans(),
    present=st.booleans(),
    boosted_sessions=st.sampled_from([(), (1, 3)]),
)


@given(any_candidates(), any_options, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_how_candidates_are_listed(
    found: Candidates, options: Options, random: Any
) -> None:
    shuffled = list(range(len(found.rows)))
    random.shuffle(shuffled)
    columns = (getattr(found, name)[shuffled] for name in Candidates.__slots__)
    other = Candidates(*columns)
    one, two = rank(found, options), rank(other, options)
    assert rows(other, two) == rows(found, one)
    assert one.scores[shuffled].tolist() == two.scores.tolist()


@given(any_candidates(), any_options)
def test_every_candidate_is_ranked_by_a_finite_score_that_its_parts_explain(
    found: Candidates, options: Options
) -> None:
    ranking = rank(found, options)
    assert sorted(ranking.order) == list(range(len(found.rows)))
    assert np.isfinite(ranking.scores).all()
    assert (np.diff(ranking.scores[ranking.order]) < 1e-6).all()
    factors = {"kind", "course", "time", "recency", "project"}
    total = sum((v for n, v in ranking.parts.items() if n not in factors), np.zeros(len(found.rows)))
    for name in factors & set(ranking.parts):
        total = total * ranking.parts[name]
    np.testing.assert_allclose(total, ranking.scores)


@given(any_candidates())
def test_neighbours_are_the_rows_beside_the_best_each_once(found: Candidates) -> None:
    added = neighbours(found.rows)
    assert len(set(added)) == len(added)
    assert (added >= 0).all()
    assert all(np.abs(found.rows - row).min() <= weights.REACH for row in added)
    assert set(found.rows[: weights.NEIGHBOURS_OF]) <= set(added)


@given(any_candidates())
def test_reciprocal_ranks_see_the_order_of_scores_and_nothing_else(found: Candidates) -> None:
    bent = replace(found, text=np.square(found.text), dense=np.where(found.dense > 0, found.dense, -1.0))
    flat = replace(found, dense=bent.dense)
    assert rows(bent, rank(bent, Options(fusion="rrf"))) == rows(flat, rank(flat, Options(fusion="rrf")))


def test_of_equals_the_newest_comes_first() -> None:
    found = candidates({"text": 5.0}, {"text": 5.0}, {"text": 5.0})
    assert rows(found, rank(found, Options())) == [200, 100, 0]


def test_nothing_to_rank_gives_an_empty_ranking() -> None:
    assert len(rank(candidates(), Options()).order) == 0
    assert len(neighbours(candidates().rows)) == 0


def test_an_entry_that_holds_every_word_beats_one_that_only_means_the_same() -> None:
    tied = [{"text": 18.0, "dense": 0.3} for _ in range(weights.TIES)]
    found = candidates({"text": 0.0, "dense": 0.7}, *tied)
    ranking = rank(found, Options(text_max=20.0))
    assert ranking.explain["dense_share"] == weights.Weights().dense_max
    assert rows(found, ranking)[-1] == 0


def test_what_came_to_mind_lifts_the_more_the_more_of_it_did_and_never_above_all_words() -> None:
    found = candidates({"text": 20.0, "dense": 0.7}, {"spread": 0.5}, {"spread": 1.0}, {"text": 1.0})
    ranking = rank(found, Options(text_max=20.0))
    assert rows(found, ranking) == [0, 200, 100, 300]
    assert ranking.parts["spread"].tolist() == [0.0, 0.1, 0.2, 0.0]
    assert "spread" not in rank(candidates({"text": 1.0}), Options()).parts


def test_a_question_whose_words_are_hardly_found_is_decided_by_meaning() -> None:
    found = candidates({"text": 2.0, "dense": 0.3}, {"text": 0.0, "dense": 0.7})
    assert rows(found, rank(found, Options(text_max=20.0))) == [100, 0]
    assert rows(found, rank(found, Options(text_max=2.2))) == [0, 100]


def test_meaning_counts_more_where_the_best_by_words_score_alike() -> None:
    alike = candidates(*({"text": 10.0, "dense": 0.5} for _ in range(weights.TIES)))
    apart = candidates(*({"text": 10.0 / (n + 1), "dense": 0.5} for n in range(weights.TIES)))
    shares = [rank(each, Options()).explain["dense_share"] for each in (alike, apart)]
    assert shares[0] > weights.Weights().dense > shares[1]


def test_a_score_stays_the_same_when_others_are_found_too() -> None:
    one = {"text": 8.0, "dense": 0.6}
    alone = candidates(one)
    crowd = candidates(one, *({"text": 0.0, "dense": 0.2} for _ in range(20)))
    options = Options(text_max=20.0)
    assert rank(crowd, options).scores[0] == pytest.approx(rank(alone, options).scores[0])


def test_an_entry_without_a_vector_yet_is_judged_by_its_words_alone() -> None:
    found = candidates({"text": 12.0}, {"text": 3.0, "dense": 0.35}, {"text": 12.0, "dense": 0.26})
    assert rows(found, rank(found, Options(text_max=20.0))) == [0, 200, 100]
    assert rank(candidates({"text": 1.0}), Options()).explain["dense_share"] == 0.0


def test_modes_look_at_one_side_only() -> None:
    found = candidates({"text": 9.0, "dense": 0.1}, {"text": 1.0, "dense": 0.9})
    assert rows(found, rank(found, Options(mode="text"))) == [0, 100]
    assert rows(found, rank(found, Options(mode="vector"))) == [100, 0]


def beside(**entry: Any) -> float:
    """How much a good neighbour lifts an entry."""
    found = candidates({"row": 10, "session": 1, "text": 10.0}, {"row": 11, "session": 1, **entry})
    return float(rank(found, Options(text_max=20.0)).parts["neighbours"][1])


def test_an_entry_is_lifted_by_its_neighbour_and_a_short_one_more() -> None:
    assert beside(chars=50) > beside(chars=3_000) > 0
    assert beside(row=11 + weights.REACH) == beside(session=2) == 0


def test_an_entry_is_lifted_by_the_best_of_its_session() -> None:
    found = candidates(
        {"session": 1, "text": 5.0}, {"session": 1, "text": 9.0}, {"session": 2, "text": 5.0}, {"text": 8.0}
    )
    ranking = rank(found, Options(text_max=20.0))
    assert rows(found, ranking) == [100, 300, 0, 200]
    assert ranking.parts["session"][0] > ranking.parts["session"][2]


def test_what_was_told_in_the_time_asked_about_comes_first_then_what_was_told_soon_after() -> None:
    window = (NOW_MS - 30 * DAY_MS, NOW_MS - 28 * DAY_MS)
    times = [*(NOW_MS - ago * DAY_MS for ago in (0, 26, 29, 35)), 0]
    factors = rank(candidates(*({"time": each} for each in times)), Options(window=window)).parts["time"]
    assert factors[2] == 1 + weights.Weights().time
    assert factors[2] > factors[1] > factors[0] > factors[3] > factors[4] == 1


def test_recency_project_and_kind_are_factors_one_can_see() -> None:
    found = candidates({"time": NOW_MS - 100 * DAY_MS}, {"time": NOW_MS + DAY_MS}, {"kind": 99})
    parts = rank(found, Options(recency=True, now_ms=NOW_MS, boosted_sessions=(1,))).parts
    assert parts["recency"][:2].tolist() == pytest.approx([np.exp(-0.7), 1.0])
    assert parts["project"].tolist() == [1.0, 1 + weights.Weights().project, 1.0]
    assert parts["kind"].tolist() == [1.0, 1.0, min(weights.KINDS.values())]
    assert not {"recency", "project", "time"} & set(rank(found, Options()).parts)


# -- what outweighs what: each weight by a pair that it decides and one that it must not -------------


def is_first(one: dict[str, Any], other: dict[str, Any], *more: dict[str, Any], **options: Any) -> bool:
    """Whether the first of two entries is ranked above the second, whatever else was found."""
    found = candidates(one, other, *more)
    order = rank(found, Options(**{"text_max": 20.0, "now_ms": NOW_MS, **options})).order.tolist()
    return order.index(0) < order.index(1)


WINDOW = (NOW_MS - 30 * DAY_MS, NOW_MS - 28 * DAY_MS)
IN_TIME, OUT_OF_TIME = NOW_MS - 29 * DAY_MS, NOW_MS - 400 * DAY_MS


@pytest.mark.parametrize(("others_text", "is_above"), [(10.0, True), (14.0, False)])
def test_the_time_asked_about_outweighs_a_better_match_but_not_a_far_better_one(
    others_text: float, is_above: bool
) -> None:
    told = {"text": 8.0, "time": IN_TIME}
    assert is_first(told, {"text": others_text, "time": OUT_OF_TIME}, window=WINDOW) == is_above


@pytest.mark.parametrize(("others_text", "is_above"), [(15.0, True), (17.0, False)])
def test_the_boosted_project_outweighs_a_better_match_but_not_a_far_better_one(
    others_text: float, is_above: bool
) -> None:
    assert is_first({"text": 8.0}, {"text": others_text}, boosted_sessions=(0,)) == is_above


@pytest.mark.parametrize(("others_text", "is_above"), [(9.0, True), (10.0, False)])
def test_a_session_with_three_good_entries_outweighs_one_better_entry_alone(
    others_text: float, is_above: bool
) -> None:
    mates = [{"text": 8.0, "session": 0, "row": 1_000 + 100 * n} for n in range(2)]
    assert is_first({"text": 8.0}, {"text": others_text}, *mates) == is_above


@pytest.mark.parametrize(("others_text", "is_above"), [(12.0, True), (16.0, False)])
def test_a_weak_match_beside_a_strong_one_outweighs_a_fair_one_alone(
    others_text: float, is_above: bool
) -> None:
    strong = {"text": 16.0, "session": 0, "row": 1}
    assert is_first({"text": 4.0}, {"text": others_text}, strong) == is_above


@pytest.mark.parametrize(("others_dense", "is_above"), [(0.48, True), (0.6, False)])
def test_the_same_holds_by_meaning_and_there_it_counts_less(others_dense: float, is_above: bool) -> None:
    strong = {"dense": 1.0, "session": 0, "row": 1}
    assert is_first({"dense": 0.3}, {"dense": others_dense}, strong) == is_above


def test_who_is_long_leans_less_on_its_neighbours() -> None:
    tiny = beside(chars=0)
    assert beside(chars=600) > tiny * 2 / 3
    assert beside(chars=2_400) < tiny / 3


def test_a_quotation_outweighs_every_word_but_not_time_and_project_together() -> None:
    quoted = {"text": 20.0, "exact": 1, "time": OUT_OF_TIME}
    beside_it = [{"text": 20.0, "session": 1, "row": 101 + n, "time": IN_TIME} for n in range(2)]
    other = {"text": 20.0, "time": IN_TIME}
    assert is_first(quoted, other, *beside_it)
    assert not is_first(quoted, other, *beside_it, window=WINDOW, boosted_sessions=(1,))


def usual(*entries: dict[str, Any], tenth: float = 8.0) -> Candidates:
    """Entries among ten by words whose scores are as far apart as they usually are: 20 to 8."""
    others = [{"text": tenth, "dense": 0.2} for _ in range(weights.TIES)]
    return candidates(*entries, {"text": 20.0, "dense": 0.2}, *others)


@pytest.mark.parametrize(("words", "is_above"), [(0.0, False), (8.0, True)])
def test_all_the_words_outweigh_the_meaning_alone_but_not_the_meaning_with_some_of_them(
    words: float, is_above: bool
) -> None:
    found = usual({"text": words, "dense": 1.0}, {"text": 20.0, "dense": 0.2})
    order = rank(found, Options(text_max=20.0)).order.tolist()
    assert (order.index(0) < order.index(1)) == is_above


@pytest.mark.parametrize(
    ("tenth", "least", "most"), [(20.0, 0.55, 0.65), (8.0, 0.4, 0.5), (2.0, 0.25, 0.35), (0.0, 0.2, 0.3)]
)
def test_the_less_words_tell_hits_apart_the_more_meaning_counts_within_limits(
    tenth: float, least: float, most: float
) -> None:
    assert least <= rank(usual(tenth=tenth), Options(text_max=20.0)).explain["dense_share"] <= most


def test_ten_must_score_alike_before_words_are_taken_to_tell_nothing_apart() -> None:
    def share(alike: int) -> float:
        rest = [{"text": 1.0, "dense": 0.2} for _ in range(10)]
        found = candidates(*({"text": 20.0, "dense": 0.2} for _ in range(alike)), *rest)
        return rank(found, Options(text_max=20.0)).explain["dense_share"]

    assert share(10) > 2 * share(9)


def test_words_that_are_nowhere_leave_it_all_to_meaning() -> None:
    found = candidates({"dense": 0.4}, {"dense": 0.9})
    by_meaning = rank(found, Options(mode="vector"))
    assert rank(found, Options()).scores.tolist() == by_meaning.scores.tolist()


def test_a_likeness_that_any_two_texts_have_counts_nothing() -> None:
    parts = rank(candidates({"dense": 0.15}, {"dense": 0.3}, {"dense": 1.0}), Options()).parts["dense"]
    assert parts[0] == 0 < parts[1] < parts[2] == 1


def test_kinds_decide_between_equal_hits_and_not_between_unequal_ones() -> None:
    kinds = list(weights.KINDS)
    equal = candidates(*({"text": 8.0, "kind": kind} for kind in kinds))
    factors = rank(equal, Options(text_max=20.0)).parts["kind"]
    ranks = {
        kind: sorted(set(factors), reverse=True).index(factor)
        for kind, factor in zip(kinds, factors, strict=True)
    }
    assert [ranks[kind] for kind in (Kind.PROMPT, Kind.ANSWER, Kind.SUMMARY)] == [0, 1, 1]
    assert {ranks[kind] for kind in (Kind.THOUGHT, Kind.CALL, Kind.RESULT)} == {2}
    assert ranks[Kind.IMAGE] == 3
    assert {ranks[kind] for kind in (Kind.CONTEXT, Kind.EVENT, Kind.UNKNOWN)} == {4}
    for kind in kinds:
        assert not is_first({"text": 8.0}, {"text": 12.0, "kind": kind}), kind


def test_a_day_before_the_window_counts_little_and_days_after_it_still_something() -> None:
    def factor(time: float, window: tuple[int, int] = WINDOW) -> float:
        found = candidates({"time": time})
        return float(rank(found, Options(window=window)).parts["time"][0] - 1) / weights.Weights().time

    start, end = WINDOW
    assert factor(start - DAY_MS / 12) > 0.9
    assert factor(start - DAY_MS) < 0.5
    assert factor(end + 3 * DAY_MS) > 0.5 > factor(end + 7 * DAY_MS)
    assert factor(end + 30 * DAY_MS, (end - 60 * DAY_MS, end)) > 0.5  # the longer ago, the vaguer
    assert factor(end + 60 * DAY_MS, (end - 60 * DAY_MS, end)) < 0.5


def test_by_ranks_the_first_on_both_sides_scores_one_and_a_middling_place_on_both_beats_one_side_alone() -> (
    None
):
    def both(place: int) -> bool:
        filler = [{"text": 200.0 - n, "dense": 0.9 - n / 1000} for n in range(100)]
        one_side = {"text": 300.0, "dense": np.nan}
        middling = {"text": 200.5 - place, "dense": 0.9005 - place / 1000}
        return is_first(middling, one_side, *filler, fusion="rrf")

    assert both(40)
    assert not both(80)
    found = candidates({"text": 0.5, "dense": 0.9}, {"text": 0.25, "dense": 0.1})
    scores = rank(found, Options(fusion="rrf")).scores
    assert scores[0] == 1 > scores[1] > 0.9


def test_without_a_bound_the_best_by_words_is_the_bound() -> None:
    assert rank(candidates({"text": 5.0}, {"text": 2.5}), Options()).parts["text"].tolist() == [1.0, 0.5]


def test_differences_below_what_an_index_can_tell_are_none() -> None:
    found = candidates({"text": 5.0 + 1e-9}, {"text": 5.0})
    assert rows(found, rank(found, Options(text_max=20.0))) == [100, 0]


def test_lengths_and_quotations_may_be_left_out() -> None:
    found = candidates(
        {"text": 5.0, "chars": 0, "row": 10, "session": 1}, {"text": 4.0, "chars": 0, "row": 11}
    )
    bare = Candidates(found.rows, found.sessions, found.kinds, found.times, found.text, found.dense)
    assert rank(bare, Options()).scores.tolist() == rank(found, Options()).scores.tolist()


def test_the_rows_beside_the_best_are_two_on_either_side_of_the_first_of_them() -> None:
    assert neighbours(np.array([10])).tolist() == [8, 9, 10, 11, 12]
    assert 5 <= len(neighbours(np.arange(0, 10_000, 100))) // 5 <= 20


CLOSED = {"kind": Kind.ANSWER, "turn": 7, "session": 0}


def test_a_closing_answer_has_the_words_of_its_exchange_and_the_best_meaning_of_its_turn() -> None:
    closing = {**CLOSED, "text": 2.0, "dense": 0.3, "exchange": 0.8}
    others = [{**CLOSED, "kind": Kind.RESULT, "dense": 0.9}, {"text": 9.0, "dense": 0.3}]
    found = candidates(closing, *others)
    parts = rank(found, Options(text_max=20.0)).parts
    assert parts["text"][0] > 2 * parts["text"][2]
    assert parts["dense"][0] == parts["dense"][1] > parts["dense"][2]
    assert parts["neighbours"][0] == 0
    alone = rank(candidates(others[1], closing), Options(text_max=20.0))
    assert alone.parts["dense"][1] < parts["dense"][0], "of another turn"


@pytest.mark.parametrize("kind", COURSE)
def test_what_leads_to_a_closing_answer_counts_less_beside_it(kind: Kind) -> None:
    closing = {**CLOSED, "text": 1.0, "exchange": 0.1}
    step, stranger = {**CLOSED, "kind": kind, "text": 8.0}, {"kind": kind, "text": 8.0, "turn": 9}
    course = rank(candidates(closing, step, stranger), Options(text_max=20.0)).parts["course"]
    assert course[1] < course[0] == course[2] == 1
    assert "course" not in rank(candidates(step, stranger), Options(text_max=20.0)).parts


def test_what_a_person_said_counts_as_much_beside_what_came_of_it() -> None:
    said = {**CLOSED, "kind": Kind.PROMPT, "text": 8.0}
    found = candidates({**CLOSED, "text": 1.0, "exchange": 0.1}, said)
    assert rank(found, Options(text_max=20.0)).parts["course"].tolist() == [1, 1]


def test_meaning_counts_less_where_exchanges_are_asked() -> None:
    plain, asked = ({"text": 9.0, "dense": 0.5, "exchange": exchange} for exchange in (0.0, 0.4))
    shares = [rank(candidates(each), Options()).explain["dense_share"] for each in (plain, asked)]
    assert shares[1] < shares[0]


@pytest.mark.parametrize(("others_text", "is_above"), [(10.0, True), (16.0, False)])
def test_all_the_words_outweigh_a_better_match_but_not_a_far_better_one(
    others_text: float, is_above: bool
) -> None:
    assert is_first({"text": 8.0, "complete": 1}, {"text": others_text}) == is_above


def test_asked_what_counts_now_the_later_of_two_that_say_the_same_is_first() -> None:
    old = {"text": 9.0, "exchange": 0.5, "alike": 1.0, "time": NOW_MS - 40 * DAY_MS, "kind": Kind.ANSWER}
    new = {**old, "text": 8.0, "alike": 0.9, "time": NOW_MS}
    apart = {**new, "alike": 0.5, "text": 8.5}
    worse = {**new, "text": 2.0, "exchange": 0.1, "time": NOW_MS + DAY_MS}
    on_the_way = {**new, "exchange": 0.0, "time": NOW_MS + DAY_MS, "text": 8.0}
    to_come = {**new, "time": NOW_MS + 400 * DAY_MS, "text": 8.0}
    found = candidates(old, new, apart, worse, on_the_way, to_come)
    options = Options(text_max=10.0, mode="text", now_ms=NOW_MS)
    assert rows(found, rank(found, options))[0] == 0
    assert rows(found, rank(found, replace(options, present=True)))[0] == 100
    lifts = rank(found, replace(options, present=True)).parts["newer"].tolist()
    assert [lift > 0 for lift in lifts] == [False, True, False, False, False, False]
