"""Thrash is what led nowhere and was done all the same; work that gets on, and waiting, is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.insight.digest.told import FOLDER, Told

from recollect.insight.digest.thrash import ANSWERS, FAILURES, LOOKS_AGAIN, NOTHINGS, thrash
from recollect.values.records import Kind

LINES = "\n".join(f"{n}\tthe gauge of pier number {n} stands at the quay" for n in range(1, 60))


def told(made: Told) -> list[tuple[str, str, int]]:
    return [(each.kind, each.text, each.times) for each in thrash(made.exchanges)]


def looks(made: Told, times: int, path: str = "gauge.py") -> Told:
    for _ in range(times):
        made.calls("Read", LINES, file_path=f"{FOLDER}/{path}")
    return made


def test_a_file_that_is_looked_at_again_and_again_is_told_with_where_that_is() -> None:
    (found,) = thrash(looks(Told().asks("x"), 1 + LOOKS_AGAIN).exchanges)
    assert (found.kind, found.text, found.times) == ("looked again", f"{FOLDER}/gauge.py", LOOKS_AGAIN)
    assert (found.entry, found.last) == ("e3", f"e{1 + 2 * LOOKS_AGAIN}")


def test_a_part_of_what_was_shown_is_a_look_again_whatever_shows_it() -> None:
    made = Told().asks("x").runs("cat gauge.py", LINES)
    made.runs("sed -n '1,20p' gauge.py", "\n".join(LINES.splitlines()[:20]))
    made.runs("nl -ba gauge.py | sed -n '20,40p'", "\n".join(LINES.splitlines()[20:40]))
    made.runs("tail -n 15 gauge.py", "\n".join(LINES.splitlines()[-15:]))
    assert told(made) == [("looked again", "gauge.py", 3)]


def test_paging_through_a_file_is_none() -> None:
    made = Told().asks("x")
    for n in range(8):
        shown = "\n".join(f"line {n}.{each} of a long file" for each in range(50))
        made.runs(f"sed -n '{50 * n},{50 * n + 49}p' gauge.py", shown)
    assert told(made) == []


def test_a_look_at_what_was_changed_since_is_none() -> None:
    made = Told().asks("x")
    for _ in range(6):
        looks(made, 1).edits("gauge.py")
    assert told(made) == []


def test_files_of_one_name_in_other_folders_are_others() -> None:
    made = Told().asks("x")
    for folder in "abcdef":
        looks(made, 1, f"{folder}/gauge.py")
    assert told(made) == []


def test_what_a_new_prompt_asks_for_begins_anew() -> None:
    made = Told()
    for _ in range(6):
        looks(made.asks("again, please"), 1)
    assert told(made) == []


def test_the_same_answer_to_the_same_call_is_told_also_of_two_in_turn() -> None:
    made = Told().asks("x")
    for _ in range(ANSWERS):
        made.runs("make lamp", "lamp is dark").calls("Check", "pier is wet", pier=3)
    assert told(made) == [("same answer", "make lamp", ANSWERS), ("same answer", "Check pier : 3", ANSWERS)]


@pytest.mark.parametrize("command", ["sleep 5; make lamp", "gh run watch 3", "git status --short"])
def test_whoever_waits_may_ask_again(command: str) -> None:
    made = Told().asks("x")
    for _ in range(ANSWERS + 3):
        made.runs(command, "as it was")
    assert told(made) == []


def test_a_call_that_is_answered_otherwise_or_behind_a_change_gets_on() -> None:
    made = Told().asks("x")
    for n in range(ANSWERS + 2):
        made.runs("make lamp", f"lamp {n} burns").runs("make test", "ok").edits("lamp.py", new=f"{n}")
    assert told(made) == []


def test_the_same_error_of_the_same_work_is_told_over_prompts_until_it_works() -> None:
    made = Told()
    for n in range(FAILURES):
        made.asks("go on").edits("lamp.py", new=f"{n}")
        made.runs("make lamp", f"Error: no wick at line {n}", failed=True)
    assert told(made) == [("same failure", "Error: no wick at line 0", FAILURES)]
    made.runs("make lamp", "ok").runs("make lamp", "Error: no wick at line 9", failed=True)
    assert told(made) == [("same failure", "Error: no wick at line 0", FAILURES)]


def test_another_error_each_time_gets_on() -> None:
    made = Told().asks("x")
    for name in ("wick", "oil", "glass", "flame", "match"):
        made.runs("make lamp", f"Error: no {name} in the lamp", failed=True)
    assert told(made) == []


def test_searches_in_a_row_that_find_nothing_are_told() -> None:
    made = Told().asks("x")
    for n in range(NOTHINGS):
        made.calls("Grep", "No matches found", pattern=f"lantern.{n}", path="src")
    assert told(made) == [("found nothing", "Grep pattern : lantern.0 , path : src", NOTHINGS)]


def test_a_search_that_finds_something_ends_them() -> None:
    made = Told().asks("x")
    for n in range(NOTHINGS):
        made.calls("Grep", "No matches found" if n != 1 else "src/a.py:1: lantern", pattern=f"lantern.{n}")
    assert told(made) == []


def test_other_searches_and_changes_that_say_nothing_are_none() -> None:
    made = Told().asks("x")
    for name in ("lantern", "wick", "flame", "glass", "match"):
        made.calls("Grep", "No matches found", pattern=name).runs(f"touch {name}.py", "")
    assert told(made) == []


def test_what_was_called_before_the_first_answer_came_is_one_try() -> None:
    made = Told().asks("x")
    calls = [made.calls("Grep", None, pattern=f"lantern.{n}").entries[-1].entry.call for n in range(6)]
    for call in calls:
        made.add(Kind.RESULT, "No matches found", tool="Grep", call=call)
    assert told(made) == []


@given(
    st.lists(
        st.tuples(st.sampled_from(["Read", "Bash", "Grep", "Edit"]), st.text(max_size=40), st.booleans()),
        max_size=30,
    )
)
def test_any_calls_are_read_and_what_is_told_is_there(made: list[tuple[str, str, bool]]) -> None:
    session = Told().asks("x")
    for tool, text, failed in made:
        session.calls(tool, text, failed=failed, file_path=text, command=text, pattern=text)
    ids = {each.id for each in session.entries}
    for each in thrash(session.exchanges):
        assert {each.entry, each.last} <= ids
        assert "\n" not in each.text
