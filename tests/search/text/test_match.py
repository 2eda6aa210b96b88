"""A query as the text index is asked it: what it finds, and which match is worth more."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.claude_talk import Talk, remembered

from recollect.search.run import Request, Search

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@contextlib.contextmanager
def asking(folder: Path, *prompts: str) -> Iterator[Search]:
    """Every prompt is a session of its own, so that none lifts another."""
    talks = []
    for number, prompt in enumerate(prompts, 1):
        talks.append(Talk(number, f"/home/ada/p{number}"))
        talks[-1].user(prompt)
    with remembered(folder, *talks) as memory, memory.indexes.asking(meaning=False) as search:
        yield search


def found(search: Search, query: str) -> set[str]:
    results = search.run(Request(query, "text", 1_000, collapse=False))
    assert results.total == len(results.hits)
    return {hit.stored.entry.text for hit in results.hits}


def scores(search: Search, query: str) -> dict[str, float]:
    hits = search.run(Request(query, "text", 1_000, collapse=False)).hits
    return {hit.stored.entry.text: hit.parts["text"] for hit in hits}


def test_of_very_many_words_the_rarest_rank(folder: Path) -> None:
    words = [f"{a}{b}{a}x" for a in LETTERS for b in LETTERS[:6]][:130]
    talk = Talk(1, "/home/ada/p")
    for word in words:
        talk.user(word)
    for _ in range(3):
        talk.user(words[0])
    with remembered(folder, talk) as memory, memory.indexes.asking(meaning=False) as search:
        assert len(found(search, " ".join(words[:40]))) == 40
        many = found(search, " ".join(words))
        assert 50 <= len(many) <= 80
        assert words[0] not in many


def test_a_beginning_finds_what_goes_on_from_it(folder: Path) -> None:
    with asking(folder, "the token store", "a token ring", "tokenizer", "storage") as search:
        assert found(search, "sto*") == {"the token store", "storage"}
        assert found(search, "token-sto*") == {"the token store"}
        assert found(search, "toke*") == {"the token store", "a token ring", "tokenizer"}


def test_a_phrase_is_words_next_to_each_other_in_order(folder: Path) -> None:
    said = ["the clock skew of it", "skew of the clock", "clock without skew", "clock"]
    with asking(folder, *said) as search:
        assert found(search, '"clock skew"') == {said[0]}
        assert found(search, '"clock"') == set(said)
        assert found(search, 'clock -"clock skew"') == set(said[1:])
        assert found(search, '("clock skew" OR "skew of")') == set(said[:2])


def test_of_any_of_several_one_is_enough_and_of_all_none_may_miss(folder: Path) -> None:
    with asking(folder, "walrus", "lamp", "bread") as search:
        assert found(search, '("walrus" OR "lamp")') == {"walrus", "lamp"}
        assert found(search, "walrus OR lamp") == {"walrus", "lamp"}
        assert found(search, "walrus lamp") == {"walrus", "lamp"}, "words rank, one is enough"
        assert found(search, '"walrus" "lamp"') == set()
        assert found(search, "walrus kind:prompt") == {"walrus"}
        assert found(search, "walrus kind:answer") == set()
        assert found(search, "-walrus kind:prompt") == {"lamp", "bread"}


def ratio(folder: Path, query: str, one: str, other: str) -> float:
    with asking(folder, one, other, "nothing here", "nothing there", "nothing else at all") as search:
        by_text = scores(search, query)
        return by_text[one] / by_text[other]


def test_words_next_to_each_other_count_more_than_apart_and_not_twice_as_much(folder: Path) -> None:
    assert 1.3 < ratio(folder, "clock skew", "big clock skew here", "clock here big skew") < 1.65


def test_a_part_of_a_name_counts_less_than_the_word_itself(folder: Path) -> None:
    assert 0.15 < ratio(folder, "rabbit", "call getRabbitName once", "call the rabbit once") < 0.4


def test_a_name_as_it_is_written_counts_hardly_more_than_its_words(folder: Path) -> None:
    assert 1 <= ratio(folder, "token_store.py", "see token_store.py now", "see token store py now") < 1.2


def test_everyday_words_do_not_rank_beside_others_but_are_found_alone(folder: Path) -> None:
    with asking(folder, "where is the walrus", "where is the lamp") as search:
        assert found(search, "where is the walrus") == {"where is the walrus"}
        assert found(search, "where") == {"where is the walrus", "where is the lamp"}


@pytest.mark.parametrize(("words", "is_quoted"), [(3, False), (4, True), (30, True)])
def test_a_question_of_some_words_that_stands_there_word_for_word_is_a_quotation(
    folder: Path, words: int, is_quoted: bool
) -> None:
    sentence = " ".join(f"{a}orange{a}" for a in LETTERS)[: 8 * 30].split()[:words]
    sentence += [f"{a}apple" for a in LETTERS][: words - len(sentence)]
    text = " ".join(sentence)
    with asking(folder, f"so {text} it is", " ".join(reversed(sentence)), "nothing") as search:
        first, *_ = search.run(Request(text, "text")).hits
        assert first.stored.entry.text == f"so {text} it is"
        assert (first.parts.get("exact", 0) > 0) == is_quoted


def first(search: Search, query: str) -> str:
    return search.run(Request(query, limit=1)).hits[0].stored.entry.text


def test_a_name_in_one_piece_is_exact_however_it_is_written(folder: Path) -> None:
    prompts = [
        "parse the token of the store, parse the store token",
        "see parseTokenStore",
        "see parse_token_store",
    ]
    with asking(folder, *prompts) as search:
        assert first(search, "parseTokenStore") == prompts[1]
        assert first(search, "parse_token_store") == prompts[2]


def test_a_piece_of_code_is_looked_for_as_it_is_written(folder: Path) -> None:
    prompts = ["KeyError token: access to access_token is KeyError", "it said KeyError: 'access_token' again"]
    with asking(folder, *prompts) as search:
        assert first(search, "KeyError: 'access_token'") == prompts[1]


def test_who_has_all_the_words_comes_first(folder: Path) -> None:
    scattered = "walrus walrus"
    whole = "we saw " + "some thing or other and " * 6 + "a walrus, later the lamp, then the pier"
    with asking(folder, scattered, whole, "pier one", "pier two", "pier three") as search:
        assert first(search, "walrus lamp pier") == whole
        explained = search.run(Request("walrus lamp pier", limit=1)).hits[0].parts
        assert explained["complete"] > 0
        assert "complete" not in search.run(Request("walrus", limit=1)).hits[0].parts, "one word is no set"


@pytest.mark.parametrize(("query", "tool"), [("edit token.py", "Edit"), ("read src/token.py", "Read")])
def test_what_was_done_to_a_file_is_found_by_tool_and_name(folder: Path, query: str, tool: str) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("please edit and read token.py, the file src/token.py")
    talk.call("Read", "def token", file_path="/w/src/token.py")
    talk.call("Edit", "done", file_path="/w/src/token.py", old_string="a", new_string="b " * 300)
    talk.call("Edit", "done", file_path="/w/src/other.py", old_string="token", new_string="py edit")
    talk.assistant("I did edit and read token.py")
    with remembered(folder, talk) as memory, memory.indexes.asking(meaning=False) as search:
        (hit,) = search.run(Request(query, limit=1)).hits
    assert hit.stored.entry.tool == tool
    assert "/w/src/token.py" in hit.stored.entry.text
