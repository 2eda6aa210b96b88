"""Whatever a text costs, what is made of it fits, or is one character long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.recall.fitting import fit


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
