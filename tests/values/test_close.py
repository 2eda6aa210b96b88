"""What is nearly a name is known, and what is not is none."""

from __future__ import annotations

from recollect.values.close import did_you_mean, near_ids, near_names


def test_names_with_a_letter_wrong_missing_or_swapped_are_near() -> None:
    names = ["search", "show", "status"]
    for slip in ("serach", "seach", "saerch", "SEARCH", "searchh"):
        assert near_names(slip, names) == ["search"]
    assert near_names("moon", names) == []
    assert near_names("", names) == []


def test_a_part_between_slashes_is_enough_and_a_name_is_told_once() -> None:
    names = ["github.com/ada/harbor", "github.com/ada/lamp"]
    assert near_names("harbr", names) == ["github.com/ada/harbor"]
    assert near_names("github.com/ada/harbr", names)[0] == "github.com/ada/harbor"


def test_ids_are_compared_by_their_beginnings() -> None:
    ids = ["3f2a9c01-1111", "90ab12cd-2222"]
    assert near_ids("3f2b9c01", ids) == ["3f2a9c01-1111"]
    assert near_ids("3f2b", ids) == ["3f2a9c01-1111"]
    assert near_ids("3f2", ids) == []
    assert near_ids("zzzz", ids) == []


def test_a_question_names_all_of_them_and_is_not_asked_for_none() -> None:
    assert did_you_mean(["a", "b"]) == "did you mean a or b?"
    assert did_you_mean([]) == ""
