"""A snippet shows the words that were found, and never anything that is not in the text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.search.snippet import Highlighter, highlighter, readable
from recollect.search.text.fields import cjk_query
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
    best = shown(text, "clock", "skew", "token")
    assert best.startswith("[skew] filler")
    assert "[clock] [skew] of [tokens]" in best
    assert len(best) < 520


def test_the_second_window_is_the_one_that_adds_most_to_the_first() -> None:
    gap = "filler " * 200
    text = f"clock {gap} clock skew {gap} skew {gap} token drift {gap}"
    best = Highlighter(["clock", "skew", "token"], stems).snippet(Entry(Kind.ANSWER, text), 60)
    assert [part for part, marked in best.parts if marked] == ["clock", "skew", "token"]
    assert best.text.count(" ... ") == 1
    assert best.cut == (True, True)


def test_windows_that_meet_are_one() -> None:
    text = "filler " * 20 + "clock " + "filler " * 14 + "skew " + "filler " * 60
    best = Highlighter(["clock", "skew"], stems).snippet(Entry(Kind.ANSWER, text), 140)
    assert " ... " not in best.text
    assert re.sub(r"\s+", " ", best.text.strip()) in re.sub(r"\s+", " ", text)


def test_of_a_question_only_what_says_something_is_looked_for_and_japanese_by_pairs() -> None:
    def analyze(field: str, text: str) -> list[str]:
        return cjk_query(text) if field == "cjk" else stems(text)

    made = highlighter(["why", "is", "the", "lamp", "dark?"], analyze).snippet(
        Entry(Kind.ANSWER, "the lamp is dark")
    )
    assert [part for part, marked in made.parts if marked] == ["lamp", "dark"]
    made = highlighter(["配色はいつなくした"], analyze).snippet(Entry(Kind.ANSWER, "夜の配色はなくした"))
    assert [part for part, marked in made.parts if marked] == ["配色"]
    made = highlighter(["the"], analyze).snippet(Entry(Kind.ANSWER, "of the sea"))
    assert [part for part, marked in made.parts if marked] == ["the"]


def test_what_was_cut_off_is_said() -> None:
    text = "hay " * 100 + "needle" + " hay" * 100
    snippet = Highlighter(["needle"], stems).snippet(Entry(Kind.ANSWER, text))
    assert snippet.cut == (True, True)
    assert Highlighter(["a"], stems).snippet(Entry(Kind.ANSWER, "a b")).cut == (False, False)


def test_a_call_is_shown_as_its_arguments() -> None:
    assert shown('{"command": "pwd\\n-P", "n": 3}', "pwd", kind=Kind.CALL) == "command: [pwd] -P n: 3"
    assert readable(Entry(Kind.CALL, "{broken")) == "{broken"
    assert readable(Entry(Kind.CALL, '["pwd"]')) == '["pwd"]'
    assert readable(Entry(Kind.RESULT, '{"n": 3}')) == '{"n": 3}'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see [token.py](/home/ada/harbor/src/token.py#L7).", "see harbor/src/token.py#L7."),
        ("[a.cs](C:\\work\\app\\lib\\a.cs) [b](file:///x/y/z/b.md)", "app\\lib\\a.cs y/z/b.md"),
        ("[a](/a.py)", "a.py"),
        ("[docs](https://example.org/a/b/c/d)", "[docs](https://example.org/a/b/c/d)"),
        ("list[0](/home/ada/two words/x)", "list[0](/home/ada/two words/x)"),
    ],
)
def test_of_a_link_to_a_file_the_end_of_its_path_is_shown(text: str, shown: str) -> None:
    assert Highlighter(["nothing"], lambda word: [word]).snippet(Entry(Kind.ANSWER, text)).text == shown


def test_what_is_found_otherwise_is_marked_instead() -> None:
    text = "hay " * 500 + "EADDRINUSE: address already in use" + " hay" * 500
    marks = [(2000, 2010, "EADDR")]
    snippet = Highlighter([], stems, lambda text: marks).snippet(Entry(Kind.RESULT, text))
    assert ("EADDRINUSE", True) in snippet.parts
    assert (
        Highlighter(["hay"], stems, lambda text: []).snippet(Entry(Kind.RESULT, text)).text.startswith("hay")
    )


def test_chinese_is_marked_where_it_stands() -> None:
    assert shown("检查令牌过期的时间", "令牌") == "检查[令牌]过期的时间"
    assert shown("令牌令牌", "令牌") == "[令牌][令牌]"


@given(text=st.text(max_size=600), words=st.lists(st.text(min_size=1, max_size=8), max_size=4))
def test_a_snippet_is_a_piece_of_the_text(text: str, words: list[str]) -> None:
    snippet = Highlighter(words, stems).snippet(Entry(Kind.ANSWER, text), 80)
    assert re.sub(r"\s+", "", snippet.text) in re.sub(r"\s+", "", text)


def test_a_snippet_begins_a_little_before_its_first_match_and_with_a_whole_word() -> None:
    shown_ = shown("straw " * 200 + "needle" + " straw" * 200, "needle")
    before = shown_.partition("[needle]")[0]
    assert 20 <= len(before) <= 60
    assert set(before.split()) == {"straw"}
    assert before.startswith("straw")


def test_a_snippet_ends_with_a_whole_word_and_is_as_long_as_was_asked() -> None:
    text = "needle " + "straw " * 200
    for width in range(100, 112):
        snippet = Highlighter(["needle"], stems).snippet(Entry(Kind.ANSWER, text), width)
        assert snippet.text.split()[-1] == "straw"
        assert width - 20 <= len(snippet.text) <= width


def test_a_text_without_blanks_is_cut_anywhere() -> None:
    snippet = Highlighter(["needle"], stems).snippet(Entry(Kind.ANSWER, "needle " + "x" * 500), 100)
    assert len(snippet.text) == 100


def test_a_match_near_the_beginning_is_shown_from_the_beginning() -> None:
    snippet = Highlighter(["needle"], stems).snippet(Entry(Kind.ANSWER, "a few words, a needle" + " x" * 500))
    assert snippet.text.startswith("a few words")
    assert snippet.cut == (False, True)


def test_of_windows_with_as_many_words_the_earliest_is_shown() -> None:
    far = " straw" * 100
    assert "early" in shown(f"{far} early clock skew {far} late clock skew {far}", "clock", "skew")
    assert "late" in shown(f"{far} early clock clock clock {far} late clock skew {far}", "clock", "skew")


def test_words_count_for_a_window_only_as_far_as_it_reaches() -> None:
    """Two words that no window of this width can show together are no better than one."""
    text = "first clock" + " straw" * 33 + " skew" + " straw" * 100 + " second clock skew"
    assert "second" in shown(text, "clock", "skew", width=200)


def test_a_word_is_marked_whole_and_only_where_it_begins() -> None:
    assert shown("tokenizer tokens retoken to token", "token") == "tokenizer [tokens] retoken to [token]"
    assert shown("xtoken", "token") == shown("a xtoken", "token").removeprefix("a ") == "xtoken"
    assert shown("token", "token") == "[token]"


def test_what_is_written_with_signs_is_marked_as_it_is_written() -> None:
    assert shown("see src/auth.py and oath", "src/auth.py") == "see [src/auth.py] and oath"
    assert shown("a-b a-b-c", "a-b", "a-b-c") == "[a-b] [a-b-c]"
    assert shown("C++ and d", "c++") == "[C++] and d"


def test_what_lies_far_behind_is_looked_for_where_nothing_is_nearer() -> None:
    far = "straw " * 3_000 + "needle" + " straw" * 100
    assert "[needle]" in shown(far, "needle")
    assert "[needle]" not in shown("needle " + far, "needle").partition("[needle]")[2]
    assert "[needle]" not in shown("straw " * 200_000 + "needle", "needle")


def test_blanks_between_words_are_one_space() -> None:
    assert shown("a\n\n  needle\t\tb", "needle") == "a [needle] b"


def test_a_word_of_which_the_index_makes_nothing_is_marked_too() -> None:
    snippet = Highlighter(["the"], lambda word: []).snippet(Entry(Kind.ANSWER, "of the theory"))
    assert snippet.parts == (("of ", False), ("the", True), (" theory", False))


def test_nothing_is_marked_where_nothing_was_asked() -> None:
    assert shown("a needle", "") == shown("a needle") == "a needle"


def test_a_letter_whose_small_form_is_two_moves_no_mark() -> None:
    assert shown("İİİ needle", "needle") == "İİİ [needle]"


def test_words_of_one_stem_are_marked_though_they_end_otherwise() -> None:
    def stemmed(word: str) -> list[str]:
        return ["happi" if word in ("happy", "happiness") else word]

    snippet = Highlighter(["happiness"], stemmed).snippet(Entry(Kind.ANSWER, "so happy"))
    assert snippet.parts == (("so ", False), ("happy", True))


def test_a_cut_is_said_exactly_where_something_is_left_out() -> None:
    signs = "".join(map(chr, range(0x3100, 0x3200)))
    for before in range(30, 60):
        for behind in range(80, 120):
            text = f"{signs[:before]} needle {signs[100 : 100 + behind]}"
            snippet = Highlighter(["needle"], stems).snippet(Entry(Kind.ANSWER, text), 140)
            at = text.index(snippet.text)
            assert snippet.cut == (at > 0, at + len(snippet.text) < len(text))


def test_a_text_just_as_wide_as_was_asked_is_shown_whole() -> None:
    text = "needle " + "straw " * 10 + "end"
    assert shown(text, width=len(text)) == text
    assert shown(text, width=len(text) - 1) == text.removesuffix(" end")


def test_long_words_are_cut_rather_than_most_of_the_room_left_empty() -> None:
    for long in ("x" * 30 + " ", "x" * 30 + "\n"):
        text = long * 20 + "needle " + long * 20
        for width in range(120, 150):
            snippet = Highlighter(["needle"], stems).snippet(Entry(Kind.ANSWER, text), width)
            assert width - 20 <= len(snippet.text) <= width
            assert len(snippet.text.partition("needle")[0]) > 20


def test_lines_end_a_snippet_as_blanks_do() -> None:
    for width in range(100, 110):
        words = shown("straw\n" * 50 + "needle\n" + "straw\n" * 50, "needle", width=width).split()
        assert set(words) == {"straw", "[needle]"}


def test_what_is_marked_beyond_the_window_is_marked_within_it() -> None:
    text = "x" * 40 + "y" * 30 + "clockskew" + "z" * 500
    marks = [(0, 40, "x"), (70, 75, "clock"), (75, 79, "skew"), (79, 579, "z")]
    snippet = Highlighter([], stems, lambda text: marks).snippet(Entry(Kind.RESULT, text), 60)
    assert snippet.parts[0] == ("x" * 10, True)
    assert snippet.parts[-1] == ("z" * 11, True)
    assert snippet.text in text


def test_more_of_a_text_is_read_only_where_its_beginning_has_no_word() -> None:
    def at(chars: int) -> str:
        return shown("first clock " + "straw " * (chars // 6) + "clock skew", "clock", "skew")

    assert "[clock] [skew]" in at(8_000)
    assert "first [clock]" in at(15_000)
    assert "[needle]" in shown("straw " * 60_000 + "needle", "needle")
    assert "[needle]" not in shown("straw " * 100_000 + "needle", "needle")


def test_a_text_full_of_one_word_is_shown_from_near_its_beginning() -> None:
    assert "[skew]" in shown("clock " * 150 + "skew", "clock", "skew")
    assert "[skew]" not in shown("clock " * 350 + "skew", "clock", "skew")
