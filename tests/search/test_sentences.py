"""Sentences: what a text says, without its marks."""

from __future__ import annotations

import pytest

from recollect.search.sentences import READ_CHARS, is_narration, quote, sentences


def texts(text: str, *, code: bool = False) -> list[str]:
    return [each.text for each in sentences(text, code=code)]


def test_sentences_lose_the_marks_of_lists_and_headings() -> None:
    assert texts("## Cause\n- One. Two!\n3. Three\n\n***\n") == ["Cause", "One.", "Two!", "Three"]


def test_japanese_sentences_end_without_a_blank() -> None:
    assert texts("原因は古い鍵。直しました。") == ["原因は古い鍵。", "直しました。"]


def test_tables_are_left_out_and_code_unless_it_is_asked_for() -> None:
    text = "Run:\n```sh\nmake tides\n~~~\n```\n| a | b |\n~~~\nmake lamp\n~~~\nDone."
    assert texts(text) == ["Run:", "Done."]
    assert texts(text, code=True) == ["Run:", "make tides", "make lamp", "Done."]


def test_of_a_long_text_only_the_beginning_is_read() -> None:
    assert len(texts("word. " * READ_CHARS)) <= READ_CHARS // 6 + 1


@pytest.mark.parametrize(
    "text", ["Let me look.", "Now I'll run it.", "Good, let's go.", "Checking the lamp."]
)
def test_what_only_says_what_comes_next_is_narration(text: str) -> None:
    assert is_narration(text)
    assert not is_narration(f"The lamp is dark: {text}")


def test_a_quote_goes_on_in_its_line_and_behind_a_colon_as_long_as_it_is_short() -> None:
    said = sentences("One. Two.\nThree:\n- four\n- five\n- " + "x" * 310)
    assert quote(said, 0) == "One. Two."
    assert quote(said, 2) == "Three: four five"
