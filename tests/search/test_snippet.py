"""A snippet shows the words that were found, and never anything that is not in the text."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from recollect.search.snippet import Highlighter, readable
from recollect.values.records import Entry, Kind


def stems(word: str) -> list[str]:
    return [part.lower().rstrip("s") for part in re.findall(r"\w+", word)]


def shown(text: str, *words: str, kind: Kind = Kind.ANSWER, width: int = 240) -> str:
    """The snippet with its matches in brackets."""
    snippet = Highlighter(words, stems).snippet(Entry(kind, text), width)
    return "".join(f"[{part}]" if marked else part for part, marked in snippet.parts)


def test_words_are_marked_by_their_stem_whatever_their_case() -> None:
    assert shown("Tokens expire. One token.", "token") == "[Tokens] expire. One [token]."


def test_the_window_with_the_most_words_is_shown() -> None:
    text = "skew " + "filler " * 200 + "the clock skew of tokens " + "filler " * 200
    assert "[clock] [skew] of [tokens]" in shown(text, "clock", "skew", "token")


def test_what_was_cut_off_is_said() -> None:
    text = "hay " * 100 + "needle" + " hay" * 100
    snippet = Highlighter(["needle"], stems).snippet(Entry(Kind.ANSWER, text))
    assert snippet.cut == (True, True)
    assert Highlighter(["a"], stems).snippet(Entry(Kind.ANSWER, "a b")).cut == (False, False)


def test_a_call_is_shown_as_its_arguments() -> None:
    assert shown('{"command": "pwd\\n-P", "n": 3}', "pwd", kind=Kind.CALL) == "command: [pwd] -P n: 3"
    assert readable(Entry(Kind.CALL, "{broken")) == "{broken"


def test_what_a_regular_expression_matched_is_marked() -> None:
    text = "hay " * 500 + "EADDRINUSE: address already in use" + " hay" * 500
    snippet = Highlighter([], stems, [r"EADDR\w+"]).snippet(Entry(Kind.RESULT, text))
    assert ("EADDRINUSE", True) in snippet.parts
    bomb = Highlighter([], stems, [r"(a+)+$"]).snippet(Entry(Kind.RESULT, "a" * 5000 + "!"))
    assert bomb.text.startswith("aaa")


def test_chinese_is_marked_where_it_stands() -> None:
    assert shown("检查令牌过期的时间", "令牌") == "检查[令牌]过期的时间"


@given(text=st.text(max_size=600), words=st.lists(st.text(min_size=1, max_size=8), max_size=4))
def test_a_snippet_is_a_piece_of_the_text(text: str, words: list[str]) -> None:
    snippet = Highlighter(words, stems).snippet(Entry(Kind.ANSWER, text), 80)
    assert re.sub(r"\s+", "", snippet.text) in re.sub(r"\s+", "", text)
