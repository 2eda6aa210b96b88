"""What an entry takes of a budget, and how much of it is told."""

from __future__ import annotations

import json

import pytest

from recollect.recall.assemble.weigh import Scale, tokens_of, told, weight
from recollect.search.snippet import Highlighter
from recollect.values.conversation import Block, Conversation, Message
from recollect.values.records import Entry, Flag, Kind
from recollect.values.text import tokens

HIGHLIGHTER = Highlighter(["needle"], lambda word: [word.lower()])
LONG = "\n".join(f"line {n:05d} of a long log" for n in range(4_000))


def shown(entry: Entry, budget: int) -> str:
    return told(entry.text, Scale(budget, HIGHLIGHTER).window(entry))


@pytest.mark.parametrize(
    ("budget", "least", "most"), [(100, 60, 90), (5_000, 300, 400), (10**6, 1_000, 1_200)]
)
def test_a_result_takes_a_small_part_of_a_budget_within_limits(budget: int, least: int, most: int) -> None:
    assert least <= tokens(shown(Entry(Kind.RESULT, LONG), budget)) <= most


def test_what_a_person_said_may_be_a_few_times_longer_than_a_result() -> None:
    result = tokens(shown(Entry(Kind.RESULT, LONG), 5_000))
    for kind in (Kind.PROMPT, Kind.SUMMARY):
        assert 2 < tokens(shown(Entry(kind, LONG), 5_000)) / result < 4


@pytest.mark.parametrize("kind", [Kind.CALL, Kind.ANSWER, Kind.THOUGHT])
def test_half_a_patch_or_half_a_conclusion_is_never_told(kind: Kind) -> None:
    assert shown(Entry(kind, LONG), 1_000) == LONG


def test_what_is_hardly_too_long_is_not_cut() -> None:
    most = tokens(shown(Entry(Kind.RESULT, LONG), 5_000))
    text = "x" * int(3.5 * (most + 20))
    assert shown(Entry(Kind.RESULT, text), 5_000) == text
    assert shown(Entry(Kind.RESULT, text * 2), 5_000) != text * 2


def test_a_result_is_cut_around_what_was_looked_for_and_an_error_to_its_end() -> None:
    lines = LONG.splitlines()
    lines[2_000] = "here is the needle"
    text = "\n".join(lines)
    found = shown(Entry(Kind.RESULT, text), 5_000)
    assert "needle" in found
    assert found.startswith("[... ")
    assert found.endswith("characters left out]")
    failed = shown(Entry(Kind.RESULT, text, Flag.ERROR), 5_000)
    assert failed.startswith("[... ")
    assert failed.endswith(lines[-1])


def test_what_is_left_out_is_counted() -> None:
    assert told("0123456789", (2, 5)) == ("[... 2 characters left out]\n234\n[... 5 characters left out]")
    assert told("0123456789", (0, 10)) == told("0123456789", None) == "0123456789"


def test_a_call_and_its_result_take_more_than_a_text() -> None:
    text = '{"a": 1}'
    plain = weight(Kind.ANSWER, "", text)
    assert weight(Kind.RESULT, "", text) > plain + 8
    assert weight(Kind.CALL, "", text) == weight(Kind.RESULT, "", text)
    assert weight(Kind.CALL, "a long name of a tool", text) > weight(Kind.CALL, "", text)
    assert weight(Kind.CALL, "", "plain") > weight(Kind.RESULT, "", "plain"), "it is told as an object"
    assert 2 < plain - tokens(text) < 12


def test_a_conversation_takes_what_is_in_it() -> None:
    def taken(**body: object) -> int:
        return tokens_of(
            Conversation((Message("user", (Block(body, ""),), "claude", "s"),), "", "", "", "", ())
        )

    given = {"file_path": "/w/a.py"}
    assert taken(type="text", text="hello there") == weight(Kind.ANSWER, "", "hello there")
    assert taken(type="thinking", thinking="hello there") == weight(Kind.ANSWER, "", "hello there")
    assert taken(type="text") == weight(Kind.ANSWER, "", "")
    packed = json.dumps(given, separators=(",", ":"))
    assert taken(type="tool_use", name="Read", input=given) == weight(Kind.CALL, "Read", packed)
    for content in ("some text", [{"type": "text", "text": "some text"}]):
        assert taken(type="tool_result", content=content) == weight(Kind.RESULT, "", "some text")
    both = [{"text": "one"}, {"type": "image"}, {"text": "two"}]
    assert taken(type="tool_result", content=both) == weight(Kind.RESULT, "", "one\n\ntwo")
    assert 1_000 < taken(type="image", source={}) == taken(type="document", source={}) < 2_000
