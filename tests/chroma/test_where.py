"""Filters choose what a plain reading of them chooses, and nothing that is no filter gets through."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples

from recollect.chroma.refusals import Refused
from recollect.chroma.where import chooser, normal_number

KEYS = st.sampled_from(("n", "s", "t", "l"))
NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.sampled_from((-2.7, -1.5, -0.0, 0.5, 1.0, 1.7, 2.5, 1e300, 2**53 + 1, 2.0**53, -(2**63), 2**70)),
)
SCALARS = st.one_of(st.booleans(), NUMBERS, st.sampled_from(("", "x", "X", "1", "true")))
LISTS = st.one_of(
    st.lists(st.booleans(), min_size=1, max_size=3),
    st.lists(st.integers(-2, 2), min_size=1, max_size=3),
    st.lists(st.sampled_from((0.0, 1.0, 2.5)), min_size=1, max_size=3),
    st.lists(st.sampled_from(("x", "y", "")), min_size=1, max_size=3),
)
METADATA = st.dictionaries(KEYS, st.one_of(SCALARS, LISTS), max_size=4)
OPERATIONS = st.one_of(
    st.tuples(st.sampled_from(("$eq", "$ne", "$contains", "$not_contains")), SCALARS),
    st.tuples(st.sampled_from(("$gt", "$gte", "$lt", "$lte")), NUMBERS),
    st.tuples(st.sampled_from(("$in", "$nin")), LISTS),
)
PLAIN = st.one_of(
    st.tuples(KEYS, SCALARS).map(lambda pair: {pair[0]: pair[1]}),
    st.tuples(KEYS, OPERATIONS).map(lambda pair: {pair[0]: {pair[1][0]: pair[1][1]}}),
)


def joined(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(parts, min_size=2, max_size=3)
    return st.tuples(st.sampled_from(("$and", "$or")), several).map(lambda pair: {pair[0]: pair[1]})


WHERE = st.recursive(PLAIN, joined, max_leaves=6)
TEXTS = st.text("abAB\n .", max_size=8)
WHERE_TEXT = st.recursive(
    st.tuples(
        st.sampled_from(("$contains", "$not_contains")), st.text("abAB\n .", min_size=1, max_size=3)
    ).map(lambda pair: {pair[0]: pair[1]}),
    joined,
    max_leaves=5,
)


# -- the plain reading: values by kind, as Chroma keeps a column for each ---------------------------


def column(value: Any) -> tuple[str, Any]:
    value = normal_number(value)
    return type(value).__name__, value


def as_column(kind: str, operand: Any) -> Any:
    """A number as a column of another kind has it."""
    operand = normal_number(operand)
    if kind == "float":
        return float(operand)
    if math.isinf(operand):
        return 2**63 - 1 if operand > 0 else -(2**63)
    return min(max(math.trunc(operand), -(2**63)), 2**63 - 1)


def plainly(where: dict[str, Any], metadata: dict[str, Any]) -> bool:
    ((key, value),) = where.items()
    if key == "$and":
        return all(plainly(each, metadata) for each in value)
    if key == "$or":
        return any(plainly(each, metadata) for each in value)
    ((operator, operand),) = value.items() if isinstance(value, dict) else [("$eq", value)]
    positive = {"$ne": "$eq", "$nin": "$in", "$not_contains": "$contains"}
    if operator in positive:
        return not plainly({key: {positive[operator]: operand}}, metadata)
    if key not in metadata:
        return False
    kind, kept = column(metadata[key])
    if operator == "$contains":
        return kind == "list" and column(operand) in [column(each) for each in kept]
    if operator == "$in":
        return any(plainly({key: {"$eq": each}}, metadata) for each in operand)
    wanted_kind, wanted = column(operand)
    if wanted_kind in ("int", "float") and kind in ("int", "float"):
        wanted_kind, wanted = kind, as_column(kind, operand)
    if wanted_kind != kind:
        return False
    compared = (kept > wanted) - (kept < wanted)
    return compared in {"$eq": (0,), "$gt": (1,), "$gte": (0, 1), "$lt": (-1,), "$lte": (-1, 0)}[operator]


def plainly_in(where: dict[str, Any], text: str) -> bool:
    ((operator, operand),) = where.items()
    if operator in ("$and", "$or"):
        found = [plainly_in(each, text) for each in operand]
        return all(found) if operator == "$and" else any(found)
    return (text.find(operand) >= 0) == (operator == "$contains")


# -- the promises ------------------------------------------------------------------------------------


@examples(400)
@given(where=WHERE, metadata=METADATA)
def test_a_filter_on_metadata_chooses_what_it_says(where: dict[str, Any], metadata: dict[str, Any]) -> None:
    kept = {
        key: [normal_number(each) for each in value] if isinstance(value, list) else normal_number(value)
        for key, value in metadata.items()
    }
    chooses = chooser(where, None)
    assert chooses is not None
    assert chooses("", kept) == plainly(where, metadata)


@examples(200)
@given(where=WHERE_TEXT, text=TEXTS, also=WHERE, metadata=METADATA)
def test_a_filter_on_texts_chooses_what_it_says(
    where: dict[str, Any], text: str, also: dict[str, Any], metadata: dict[str, Any]
) -> None:
    chooses, both = chooser(None, where), chooser(also, where)
    assert chooses is not None
    assert both is not None
    assert chooses(text, {}) == plainly_in(where, text)
    only = chooser(also, None)
    assert only is not None
    assert both(text, metadata) == (only(text, metadata) and plainly_in(where, text))


ANYTHING = st.recursive(
    st.one_of(st.none(), SCALARS, st.floats(), st.sampled_from(("$and", "$in", "$regex"))),
    lambda parts: st.one_of(
        st.lists(parts, max_size=3),
        st.dictionaries(
            st.one_of(
                KEYS, st.sampled_from(("$and", "$or", "$in", "$gt", "$contains", "$regex", "#document"))
            ),
            parts,
            max_size=2,
        ),
    ),
    max_leaves=8,
)


@examples(400)
@given(where=st.one_of(st.none(), ANYTHING), where_document=st.one_of(st.none(), ANYTHING), metadata=METADATA)
def test_whatever_comes_as_a_filter_is_one_or_is_refused(
    where: Any, where_document: Any, metadata: dict[str, Any]
) -> None:
    try:
        chooses = chooser(where, where_document)
    except Refused:
        return
    assert (chooses is None) == (where is None and where_document is None)
    if chooses is not None:
        assert chooses("a text", metadata) in (True, False)


@pytest.mark.parametrize(("kept", "found"), [(2, True), (3, False), (2.7, True), (2.0, False), (True, False)])
def test_the_fraction_of_an_operand_is_cut_off_where_a_whole_number_is_kept(kept: Any, found: bool) -> None:
    chooses = chooser({"n": 2.7}, None)
    assert chooses is not None
    assert chooses("", {"n": kept}) is found


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("end$", "the end", True),
        ("end$", "the end\n", False),
        ("(?m)end$", "the end\nand more", True),
        (r"\z", "", True),
        ("[$]", "5 $", True),
        (r"\$", "5 $", True),
        ("a|b$", "a c", True),
        (r"\p{Greek}", "alpha α", True),
    ],
)
def test_a_pattern_means_what_it_means_to_chroma(pattern: str, text: str, found: bool) -> None:
    chooses, without = chooser(None, {"$regex": pattern}), chooser(None, {"$not_regex": pattern})
    assert chooses is not None
    assert without is not None
    assert (chooses(text, {}), without(text, {})) == (found, not found)


@pytest.mark.parametrize("pattern", ["[", "(?=f)", "(?<!f)", r"(a)\1", r"\Z", "(?P=x)", "(?>a)", "*"])
def test_a_pattern_that_chroma_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(Refused, match="Regex syntax"):
        chooser(None, {"$regex": pattern})
