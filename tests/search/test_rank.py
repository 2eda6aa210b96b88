"""Fusion: one order for the same candidates, on a scale that does not depend on what else was found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.search import rank as fuse
from recollect.search.rank import Candidates, Options, Ranking, neighbours, rank
from recollect.values.records import Kind
from recollect.values.vocabulary import FUSIONS

DAY_MS = 86_400_000
NOW_MS = 20_000 * DAY_MS


def candidates(*entries: dict[str, Any]) -> Candidates:
    """Columns of entries that are far from each other unless they say otherwise."""
    plain = {"kind": Kind.PROMPT, "time": NOW_MS, "text": 0.0, "dense": np.nan, "chars": 100, "exact": 0}
    full = [{"row": 100 * n, "session": n, **plain, **entry} for n, entry in enumerate(entries)]
    names = ("row", "session", "kind", "time", "text", "dense", "chars", "exact")
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
    factors = {"kind", "time", "recency", "project"}
    total = sum((v for n, v in ranking.parts.items() if n not in factors), np.zeros(len(found.rows)))
    for name in factors & set(ranking.parts):
        total = total * ranking.parts[name]
    np.testing.assert_allclose(total, ranking.scores)


@given(any_candidates())
def test_neighbours_are_the_rows_beside_the_best_each_once(found: Candidates) -> None:
    added = neighbours(found.rows)
    assert len(set(added)) == len(added)
    assert (added >= 0).all()
    assert all(np.abs(found.rows - row).min() <= fuse.REACH for row in added)
    assert set(found.rows[: fuse.NEIGHBOURS_OF]) <= set(added)


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
    tied = [{"text": 18.0, "dense": 0.3} for _ in range(fuse.TIES)]
    found = candidates({"text": 0.0, "dense": 0.7}, *tied)
    ranking = rank(found, Options(text_max=20.0))
    assert ranking.explain["dense_share"] == fuse.Weights().dense_max
    assert rows(found, ranking)[-1] == 0


def test_a_question_whose_words_are_hardly_found_is_decided_by_meaning() -> None:
    found = candidates({"text": 2.0, "dense": 0.3}, {"text": 0.0, "dense": 0.7})
    assert rows(found, rank(found, Options(text_max=20.0))) == [100, 0]
    assert rows(found, rank(found, Options(text_max=2.2))) == [0, 100]


def test_meaning_counts_more_where_the_best_by_words_score_alike() -> None:
    alike = candidates(*({"text": 10.0, "dense": 0.5} for _ in range(fuse.TIES)))
    apart = candidates(*({"text": 10.0 / (n + 1), "dense": 0.5} for n in range(fuse.TIES)))
    shares = [rank(each, Options()).explain["dense_share"] for each in (alike, apart)]
    assert shares[0] > fuse.Weights().dense > shares[1]


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
    assert beside(row=11 + fuse.REACH) == beside(session=2) == 0


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
    assert factors[2] == 1 + fuse.Weights().time
    assert factors[2] > factors[1] > factors[0] > factors[3] > factors[4] == 1


def test_recency_project_and_kind_are_factors_one_can_see() -> None:
    found = candidates({"time": NOW_MS - 100 * DAY_MS}, {"time": NOW_MS + DAY_MS}, {"kind": 99})
    parts = rank(found, Options(recency=True, now_ms=NOW_MS, boosted_sessions=(1,))).parts
    assert parts["recency"][:2].tolist() == pytest.approx([np.exp(-0.7), 1.0])
    assert parts["project"].tolist() == [1.0, 1 + fuse.Weights().project, 1.0]
    assert parts["kind"].tolist() == [1.0, 1.0, min(fuse.KINDS.values())]
    assert not {"recency", "project", "time"} & set(rank(found, Options()).parts)
