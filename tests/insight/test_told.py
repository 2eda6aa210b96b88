"""What answers tell of an error is told from what they only say next."""

from __future__ import annotations

import re

import pytest

from recollect.insight.told import Listener
from recollect.search.sentences import QUOTE_CHARS
from recollect.values.records import Entry, Kind
from recollect.values.stored import StoredEntry

ERROR = "harbour.TideError: the gauge at pier nine is dry"


def stems(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def listener(error: str = ERROR, *files: str, asked: bool = False) -> Listener:
    return Listener(error, files, stems, lambda stem: 3.0, asked=asked)


def answers(*texts: str) -> list[StoredEntry]:
    return [StoredEntry(str(n), "s", "a", Entry(Kind.ANSWER, text), row=n) for n, text in enumerate(texts)]


def is_told(text: str, *files: str, asked: bool = False) -> bool:
    told = listener(ERROR, *files, asked=asked).best(answers(text), [0])
    assert told is not None
    return told.is_telling


@pytest.mark.parametrize(
    "text",
    [
        "The gauge at the pier was missing its float.",
        "Root cause: the gauge of pier nine had no water.",
        "Done.\n\n- **Fixed** the dry gauge by filling it\n- More",
        "The gauge doesn't report while pier nine is dry.",
    ],
)
def test_a_sentence_with_a_cause_and_the_words_of_the_error_tells_it(text: str) -> None:
    assert is_told(text)


@pytest.mark.parametrize(
    "text",
    [
        "Let me see why the gauge at pier nine is dry because it was fixed.",
        "Now I'll look: the gauge at pier nine was fixed.",
        "The gauge at pier nine is dry.",  # no cause
        "The root cause was a printer without paper.",  # of something else
        "Fixed the harbour.",  # one word alone
        "```\nFixed the gauge at pier nine\n```",
        "",
    ],
)
def test_what_comes_next_other_causes_and_code_tell_nothing(text: str) -> None:
    assert not is_told(text)


def test_a_file_that_was_changed_for_it_is_as_good_as_a_word_of_the_error() -> None:
    said = "The problem was the calibration of the gauge in gauge.toml."
    assert not is_told(
        said.replace("gauge in", "scale in").replace("gauge.toml", "that file"), "/w/gauge.toml"
    )
    assert is_told("Fixed the pier in gauge.toml, which lacked a float.", "/w/gauge.toml")


def test_who_came_with_an_error_is_answered_in_any_words() -> None:
    assert is_told("Fixed: it lacked a float.", asked=True)
    assert not is_told("Fixed: it lacked a float.")


def test_the_quote_begins_where_it_is_told_and_ends_before_the_next_step() -> None:
    text = (
        "All is well now.\n\nThe gauge at pier nine was missing a float. It has one. Let me commit.\n\nMore."
    )
    told = listener().best(answers(text), [0])
    assert told is not None
    assert told.quote == "The gauge at pier nine was missing a float. It has one."


def test_a_list_behind_a_colon_is_part_of_the_quote_and_a_long_one_is_cut() -> None:
    items = "\n".join(f"- item {n} {'x' * 40}" for n in range(20))
    told = listener().best(answers(f"Fixed the dry gauge at pier nine by:\n{items}"), [0])
    assert told is not None
    assert "item 0" in told.quote
    assert "item 1 " in told.quote
    assert len(told.quote) <= QUOTE_CHARS


def test_an_answer_that_tells_beats_the_closing_one_and_that_beats_one_that_says_as_much() -> None:
    telling = "The gauge at pier nine was missing a float."
    told = listener().best(answers(telling, "All tests pass."), [1])
    assert told is not None
    assert told.answer.row == 0
    told = listener().best(answers(telling, telling), [0])
    assert told is not None
    assert told.answer.row == 0
    told = listener().best(answers("Something.", "All tests pass.\nThe bug was in the lamp."), [1])
    assert told is not None
    assert (told.answer.row, told.quote, told.is_telling) == (1, "All tests pass.", False)


def test_an_error_of_common_words_alone_is_known_by_them() -> None:
    told = listener("Error: file not found").best(answers("The file was not found due to a typo."), [0])
    assert told is not None
    assert told.is_telling


def test_what_ended_an_error_is_quoted_before_what_only_says_it_again() -> None:
    told = listener().best(
        answers(f"The error is {ERROR}.\nThe fix: the gauge at pier nine has a float."), [0]
    )
    assert told is not None
    assert told.quote == "The fix: the gauge at pier nine has a float."
