"""What a conversation is called: the one rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.values.records import SessionFacts
from recollect.values.titles import (
    TITLE_AGENT,
    TITLE_CUSTOM,
    TITLE_PROMPT,
    TITLE_STRANGER,
    bare_title,
    first_sentence,
    telling,
    title_line,
)


@given(st.text())
def test_a_title_is_one_short_line(text: str) -> None:
    for title in (title_line(text), bare_title(text), bare_title(title_line(text))):
        assert len(title) <= 800
        assert len(title.splitlines()) <= 1
        assert title == title.strip()
    assert len(title_line(text)) <= 200


@pytest.mark.parametrize(
    "text",
    [
        "", "y", "hi", "Hello!", "ok, go ahead", "continue", ".", "1", "test prompt", "please fix these",
        "can we fix this?", "Reacquaint with codebase", "reaquaint", "Warmup", "[Image #1]", "[Image #1] hi",
        "Unknown skill: deploy", "Caveat: The messages below were generated", "/clear",
        "こんにちわ", "作って", "そうなの？", "This session is being continued from a previous conversation",
    ],
)  # fmt: skip
def test_what_says_nothing_is_no_title(text: str) -> None:
    assert telling(text) == 0


@pytest.mark.parametrize(
    "text",
    [
        "Mend the leaking quay", "please fix these lint errors", "oauth-refresh-loop", "Yash shell support",
        "このサイトの改善案を洗い出して", "mainへのPRマージ準備",
        "修复登录页面", "로그인 오류 수정", "Größe der Anlegestelle",
        "[Image #1] the buoy overlaps the quay", "Implement the following plan: # Plan: Paint the buoy",
    ],
)  # fmt: skip
def test_what_names_a_subject_is_a_title(text: str) -> None:
    assert telling(text) == 2


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Implement the following plan:\n\n# Plan: Mend it\n\n## Context\nLately", "Mend it"),
        ("## User Input\n```text\nmend the quay", "mend the quay"),
        ("<system>mend the quay", "mend the quay"),
        ("[Image #1] [Image #2] mend it", "mend it"),
        ("https://forge.example/ada/harbor/issues/7#issuecomment-9 mend it", "harbor#7 mend it"),
        ("see https://forge.example/team/ada/harbor/-/merge_requests/12/diffs", "see harbor#12"),
        ("https://www.harbor.example/quay is down", "harbor.example/quay is down"),
        ("# ", "#"),
        ("Plan: ", "Plan:"),
        ("compare a < b > c", "compare a < b > c"),
    ],
)
def test_a_title_is_shown_without_what_is_wrapped_around_it(text: str, title: str) -> None:
    assert bare_title(text) == title


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Mended. It holds.", "Mended."),
        ("\n\nHere is what I found:\n- a", "Here is what I found"),
        ("v1.2 is out! Go.", "v1.2 is out!"),
        ("直しました。次は？", "直しました。"),
        ("", ""),
    ],
)
def test_an_answer_is_named_by_its_first_sentence(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


def test_of_two_titles_the_one_that_says_more_counts_and_then_the_better_founded() -> None:
    facts = SessionFacts("claude", "a", slug="calm-blue-whale")
    shown = [facts.headline]
    for title, rank in (
        ("y", TITLE_PROMPT),
        ("The quay leaks at low tide", TITLE_STRANGER),
        ("Mend the leaking quay", TITLE_PROMPT),
        ("Greeting", TITLE_AGENT),
        ("Quay", TITLE_AGENT),
        ("Paint the red buoy", TITLE_PROMPT),
        ("1", TITLE_CUSTOM),
    ):
        facts.titled(title, rank)
        shown.append(facts.headline)
    leaks, mend = "The quay leaks at low tide", "Mend the leaking quay"
    assert shown == ["", "", leaks, mend, mend, "Quay", "Quay", "1"]


def test_of_what_was_said_the_first_stays() -> None:
    facts = SessionFacts("claude", "a")
    for text in ("hi", "Mend the leaking quay", "Paint the red buoy"):
        facts.title_from(text, TITLE_PROMPT)
    assert facts.headline == "Mend the leaking quay"
