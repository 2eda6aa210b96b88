"""The fourth pass: never above the budget, whatever there is to choose from."""

from __future__ import annotations

from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples

from recollect.insight.turns import Key
from recollect.recall.assemble.expand import FIXED, Exchange, Extra
from recollect.recall.assemble.select import Costs, Selection, select

FACETS = 3
shares = st.lists(st.floats(0, 1), min_size=FACETS, max_size=FACETS)
roles = st.sampled_from(["hit", FIXED])


@st.composite
def stores(draw: st.DrawFn) -> tuple[list[Exchange], Costs]:
    """Turns of some sessions, each with rows of its own, told at times that interleave."""
    sessions = draw(st.integers(1, 5))
    exchanges, rows, times = [], {}, {}
    for number in range(draw(st.integers(0, 14))):
        key = (draw(st.integers(0, sessions - 1)), number)
        own = [number * 10 + n for n in range(draw(st.integers(1, 9)))]
        rows |= {row: draw(st.integers(0, 400)) for row in own}
        times[key] = draw(st.integers(0, 6))
        core = draw(st.integers(0, len(own)))
        starts = draw(st.lists(st.integers(0, len(own) - 1), max_size=4))
        spans = [tuple(own[at : at + draw(st.integers(1, 4))]) for at in starts]
        extras = [Extra(span, tuple(draw(shares)), draw(roles)) for span in spans]
        exchanges.append(Exchange(key, draw(shares), [], tuple(own[:core]), tuple(draw(shares)), extras))
    separators = {session: draw(st.integers(0, 60)) for session in range(sessions)}
    same = draw(st.dictionaries(st.sampled_from(sorted(rows)), st.integers(0, 3))) if rows else {}
    return exchanges, Costs(rows, separators, times, list(range(sessions)), same)


def price(chosen: Selection, costs: Costs) -> int:
    """What a selection takes, counted from nothing: rows, and a separator wherever the session changes."""
    runs = [session for session, _ in groupby(key[0] for key in chosen.ordered(costs))]
    told = sum(costs.rows[row] for rows in chosen.rows.values() for row in rows)
    return told + sum(costs.separators[session] for session in runs)


@examples(400)
@given(stores(), st.integers(0, 3000))
def test_no_budget_is_ever_exceeded(store: tuple[list[Exchange], Costs], budget: int) -> None:
    exchanges, costs = store
    chosen = select(exchanges, costs, budget, FACETS)
    assert price(chosen, costs) <= chosen.tokens <= budget


@examples(150)
@given(stores(), st.integers(0, 3000))
def test_what_is_chosen_is_whole_and_the_same_again(store: tuple[list[Exchange], Costs], budget: int) -> None:
    exchanges, costs = store
    chosen = select(exchanges, costs, budget, FACETS)
    by_key = {each.key: each for each in exchanges}
    for key, rows in chosen.rows.items():
        exchange = by_key[key]
        assert set(exchange.core) <= rows
        joined = {row for extra in exchange.extras if set(extra.rows) <= rows for row in extra.rows}
        assert rows == set(exchange.core) | joined, "an extra comes with all its rows"
    assert select(exchanges, costs, budget, FACETS) == chosen


def one(key: Key, worth: float, row: int, *extras: Extra) -> Exchange:
    return Exchange(key, [worth], [], (row,), (worth,), list(extras))


def costs_of(*exchanges: Exchange, same: dict[int, int] | None = None) -> Costs:
    """A hundred tokens for each row, and separators for nothing."""
    rows = {row for each in exchanges for row in (*each.core, *(r for e in each.extras for r in e.rows))}
    sessions = {each.key[0] for each in exchanges}
    return Costs(
        dict.fromkeys(rows, 100),
        dict.fromkeys(sessions, 0),
        {each.key: each.key[1] for each in exchanges},
        list(range(max(sessions) + 1)),
        same or {},
    )


def test_the_better_one_is_taken() -> None:
    good, bad = one((0, 1), 0.9, 1), one((1, 2), 0.3, 2)
    assert list(select([bad, good], costs_of(good, bad), 100, 1).rows) == [(0, 1)]


def test_what_was_said_already_is_worth_nothing() -> None:
    first, again, other = one((0, 1), 0.9, 1), one((1, 2), 0.8, 2), one((2, 3), 0.2, 3)
    costs = costs_of(first, again, other, same={1: 7, 2: 7})
    assert set(select([first, again, other], costs, 200, 1).rows) == {(0, 1), (2, 3)}


def test_a_facet_with_less_to_say_still_has_its_share() -> None:
    loud = [Exchange((n, n), [0.5, 1.0, 0.0], [], (n,), (0.5, 1.0, 0.0)) for n in range(8)]
    quiet = Exchange((9, 99), [0.3, 0.0, 0.8], [], (99,), (0.3, 0.0, 0.8))
    chosen = select([*loud, quiet], costs_of(*loud, quiet), 500, 3)
    assert (9, 99) in chosen.rows


def test_threads_share_as_well() -> None:
    long = [one((0, n), 0.8, n) for n in range(8)]
    other = one((1, 99), 0.7, 99)
    assert (1, 99) in select([*long, other], costs_of(*long, other), 500, 1).rows


def test_details_leave_a_reserve_for_what_was_asked_and_came_of_it() -> None:
    details = [Extra((n,), (1.0,), "hit") for n in range(10, 20)]
    rich, plain = one((0, 1), 1.0, 1, *details), one((1, 2), 0.2, 2)
    assert (1, 2) in select([rich, plain], costs_of(rich, plain), 600, 1).rows


# -- what outweighs what: each number by a choice that it decides and one that it must not -------------


def is_taken(wanted: Exchange, *others: Exchange, budget: int, facets: int = 1, **sizes: int) -> bool:
    """Whether an exchange is chosen among others; sizes of rows by their number, as `r7=500`."""
    costs = costs_of(wanted, *others)
    rows = {**costs.rows, **{int(name[1:]): size for name, size in sizes.items()}}
    costs = Costs(rows, costs.separators, costs.times, costs.threads, costs.same)
    return wanted.key in select([*others, wanted], costs, budget, facets).rows


def test_what_is_long_must_be_better_but_not_in_proportion_to_its_length() -> None:
    tiny = one((1, 2), 0.5, 2)
    assert is_taken(one((0, 1), 0.9, 1), tiny, budget=600, r1=500)
    assert not is_taken(one((0, 1), 0.7, 1), tiny, budget=600, r1=550)


def test_a_thread_that_has_had_much_yields_to_a_worse_one_and_not_to_a_bad_one() -> None:
    long = [one((0, n), 0.8, n) for n in range(8)]
    assert is_taken(one((1, 99), 0.62, 99), *long, budget=500)
    assert not is_taken(one((1, 99), 0.5, 99), *long, budget=500)


def test_a_part_counts_as_much_as_the_whole() -> None:
    def of(key: Key, whole: float, part: float, row: int) -> Exchange:
        return Exchange(key, [whole, part], [], (row,), (whole, part))

    assert is_taken(of((0, 1), 0.4, 0.8, 1), of((1, 2), 0.6, 0.5, 2), budget=100, facets=2)
    assert not is_taken(of((0, 1), 0.4, 0.6, 1), of((1, 2), 0.6, 0.5, 2), budget=100, facets=2)


def test_a_part_that_has_had_its_share_counts_little_and_not_nothing() -> None:
    loud = [Exchange((n, n), [0.0, 1.0, 0.0], [], (n,), (0.0, 1.0, 0.0)) for n in range(8)]

    def is_heard(quiet: float) -> bool:
        other = Exchange((9, 99), [0.0, 0.0, quiet], [], (99,), (0.0, 0.0, quiet))
        return is_taken(other, *loud, budget=400, facets=3)

    assert is_heard(0.5)
    assert not is_heard(0.25)


def test_details_may_fill_more_than_half_of_a_budget_and_not_all_of_it() -> None:
    def cores(budget: int) -> int:
        details = [Extra((n,), (1.0,), "hit") for n in range(100, 140)]
        plain = [one((n, n), 0.05, n) for n in range(2, 40)]
        rich = one((0, 1), 1.0, 1, *details)
        return len(select([rich, *plain], costs_of(rich, *plain), budget, 1).rows)

    assert 2 <= cores(1000) <= 5


def test_a_separator_is_paid_where_the_session_changes_and_nowhere_else() -> None:
    first, between, last = one((0, 1), 0.9, 1), one((1, 2), 0.8, 2), one((0, 3), 0.9, 3)
    plain = costs_of(first, between, last)
    costs = Costs(plain.rows, {0: 10, 1: 20}, plain.times, plain.threads, plain.same)
    assert select([first, last], costs, 1000, 1).tokens == 210
    assert select([first, between, last], costs, 1000, 1).tokens == 300 + 10 + 20 + 10
    assert len(select([first, between, last], costs, 339, 1).rows) == 2
