"""One request, one answer: what is folded, what is counted, what takes part and what is said about it."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.support.claude_talk import Talk, remembered

from recollect.memory import Memory
from recollect.search.query import Is
from recollect.search.run import PATTERN_SECONDS, Request, Search
from recollect.values.errors import UsageError
from recollect.values.hits import Fresh, Hit, Results


def talk_of(number: int, *prompts: str) -> Talk:
    talk = Talk(number, f"/home/ada/p{number}")
    for prompt in prompts:
        talk.user(prompt)
    return talk


@contextlib.contextmanager
def asking(folder: Path, *talks: Talk, meaning: bool = True) -> Iterator[Search]:
    with remembered(folder, *talks) as memory:
        memory.index()
        with memory.indexes.asking(meaning) as search:
            yield search


def texts(results: Results) -> list[str]:
    return [hit.stored.entry.text for hit in results.hits]


def hit_of(results: Results, text: str) -> Hit:
    (hit,) = (hit for hit in results.hits if hit.stored.entry.text == text)
    return hit


APART = [
    f"{word} walrus" for word in ("amber", "birch", "cedar", "delta", "ember", "flint", "grove", "heath")
]


# -- pages and folding ------------------------------------------------------------------------------


def test_what_says_the_same_is_one_hit_in_whatever_session(folder: Path) -> None:
    with asking(folder, talk_of(1, "walrus 1 in the bay"), talk_of(2, "walrus 2 in the bay")) as search:
        (hit,) = search.run(Request("walrus", "text")).hits
        assert (hit.folded, len(hit.similar)) == (1, 1)
        assert hit.stored.entry.text == "walrus 2 in the bay", "of equals the newest leads"
        apart = search.run(Request("walrus", collapse=False)).hits
        assert [each.folded for each in apart] == [0, 0]


def test_what_stands_next_to_each_other_is_one_hit_and_what_is_apart_is_not(folder: Path) -> None:
    one, other = talk_of(1, "amber walrus", "birch walrus", "x", "cedar walrus"), talk_of(2, "delta walrus")
    with asking(folder, one, other) as search:
        results = search.run(Request("walrus", "text"))
        assert sorted(hit.folded for hit in results.hits) == [0, 0, 1]
        assert results.total == 4


def test_only_the_best_are_compared_with_each_other(folder: Path) -> None:
    with asking(folder, *(talk_of(n, *["walrus in the bay"] * 20) for n in range(1, 21))) as search:
        assert 200 <= len(search.run(Request("walrus", "text", 1_000)).hits) <= 300


def test_a_page_has_about_ten_hits_and_begins_with_the_best(folder: Path) -> None:
    talks = [
        talk_of(2 * n + m + 1, f"{text} {place}{n}x")
        for n, text in enumerate(APART)
        for m, place in enumerate("qm")
    ]
    with asking(folder, *talks) as search:
        page = search.run(Request("walrus", "text"))
        assert 5 <= len(page.hits) <= 15
        assert page.total == 16
        assert texts(search.run(Request("walrus", "text", 3))) == texts(page)[:3]
        assert texts(search.run(Request("walrus", "text", 3, 2))) == texts(page)[2:5]
        assert search.run(Request("walrus", "text", 0)).hits == []


# -- what takes part --------------------------------------------------------------------------------


def test_words_and_meaning_both_count_unless_one_of_them_is_asked_for(folder: Path) -> None:
    with asking(folder, talk_of(1, "walrus in the bay"), talk_of(2, "bread and cheese")) as search:
        hybrid, text, vector = (
            search.run(Request("walrus", mode)).hits[0] for mode in ("hybrid", "text", "vector")
        )
        assert hybrid.parts["text"] > 0 < hybrid.parts["dense"]
        assert text.parts["text"] > 0 == text.parts["dense"]
        assert vector.parts["text"] == 0 < vector.parts["dense"]


def test_without_vectors_words_do(folder: Path) -> None:
    with asking(folder, talk_of(1, "walrus in the bay"), meaning=False) as search:
        results = search.run(Request("walrus"))
        assert texts(results) == ["walrus in the bay"]
        assert results.notes == ()


def test_a_search_by_words_says_how_many_there_are_and_nothing_of_vectors(folder: Path) -> None:
    with asking(folder, talk_of(1, "walrus in the bay"), talk_of(2, "bread and cheese")) as search:
        results = search.run(Request("walrus", "text"))
        assert (results.total, results.notes) == (1, ())
        assert search.run(Request("walrus")).total == -1
        assert search.run(Request("walrus")).notes == ()
        assert search.run(Request("frobnitz", "text")).notes == ()


def test_what_is_found_by_meaning_alone_is_said_to_be(folder: Path) -> None:
    with asking(folder, talk_of(1, "walrus in the bay"), talk_of(2, "bread and cheese")) as search:
        (note,) = search.run(Request("marine mammals")).notes
        assert "nearest by meaning" in note
        assert search.run(Request("marine mammals kind:answer")).notes == ()


def test_filters_hold_for_what_is_found_by_meaning(folder: Path) -> None:
    talk = talk_of(1, "walrus in the bay")
    talk.assistant("a seal on the beach")
    with asking(folder, talk) as search:
        found = texts(search.run(Request("walrus (kind:answer OR kind:thought)", "vector")))
        assert found == ["a seal on the beach"]
        assert (
            len(texts(search.run(Request("walrus (kind:answer OR kind:prompt)", "vector", collapse=False))))
            == 2
        )


def test_nearness_is_of_what_was_pointed_at_by_weight_and_leaves_that_out(folder: Path) -> None:
    said = [
        "a walrus and a seal swim",
        "seals, whales and walruses",
        "bread with cheese",
        "cheese on toast, bread",
    ]
    with asking(folder, *(talk_of(n + 1, text) for n, text in enumerate(said))) as search:
        ids = {text: hit_of(search.run(Request(f'"{text}"', "text")), text).id for text in said}
        sea, bread = ids[said[0]], ids[said[2]]

        def first(*near: str, not_near: tuple[str, ...] = (), words: str = "") -> str:
            return texts(search.run(Request(words, "vector", near=near, not_near=not_near, collapse=False)))[
                0
            ]

        assert first(sea) == said[1]
        assert first(bread) == said[3]
        assert first(f"{sea}^5", bread) == said[1]
        assert first(sea, f"{bread}^5") == said[3]
        assert first(sea, words="bread toast cheese cheese") in said[1:]
        assert said[0] not in texts(search.run(Request("walrus", near=(sea,), collapse=False)))
        everything = Request("walrus cheese", "vector", collapse=False, not_near=(sea,))
        assert texts(search.run(everything))[0] in said[2:]


@pytest.mark.parametrize(
    ("weight", "fits"), [("0", 0), ("0.1", 1), ("999", 1), ("1500", 0), ("-1", 0), ("x", 0)]
)
def test_a_weight_is_a_number_within_limits(folder: Path, weight: str, fits: bool) -> None:
    with asking(folder, talk_of(1, "walrus in the bay"), talk_of(2, "bread and cheese")) as search:
        id_ = search.run(Request("walrus", "text")).hits[0].id
        with contextlib.nullcontext() if fits else pytest.raises(UsageError):
            search.run(Request("", near=(f"{id_}^{weight}",)))


# -- patterns and filters ---------------------------------------------------------------------------


def test_a_pattern_reads_until_there_are_enough_and_counts_only_what_it_read_all_of(folder: Path) -> None:
    with asking(folder, *(talk_of(n, f"walrus{n} in the bay") for n in range(1, 8))) as search:
        every = search.run(Request("/walrus[1-5]/", collapse=False))
        assert texts(every) == [f"walrus{n} in the bay" for n in (5, 4, 3, 2, 1)]
        assert (every.total, every.explain["read"], every.notes) == (5, 7, ())
        some = search.run(Request("/walrus[1-5]/", limit=2, collapse=False))
        assert texts(some) == texts(every)[:2]
        assert (some.total, some.explain["read"]) == (-1, 4)
        assert texts(search.run(Request("-/walrus[1-5]/", collapse=False))) == [
            "walrus7 in the bay",
            "walrus6 in the bay",
        ]
        assert ("walrus5", True) in every.hits[0].snippet.parts


class Clock:
    """A clock that stands still but for what is done with patterns."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, match: float, mark: float) -> None:
        self.now, self._costs = 1000.0, {"is_in": match, "spans_of": mark}
        self.asked: list[tuple[str, float]] = []
        for module in ("run", "patterns"):
            monkeypatch.setattr(f"recollect.search.{module}.time", self)
        for name in self._costs:
            monkeypatch.setattr(f"recollect.search.patterns.{name}", partial(self._ask, name))

    def monotonic(self) -> float:
        return self.now

    def _ask(self, name: str, pattern: str, text: str, seconds: float) -> object:
        self.asked.append((name, round(self.now - 1000.0, 3)))
        self.now += min(self._costs[name], seconds)
        if self._costs[name] > seconds:
            raise TimeoutError
        return True if name == "is_in" else [(0, 6)]


@pytest.mark.parametrize("query", ["/walrus/", "/walrus/ /bay/"])
def test_finding_and_marking_share_one_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    with asking(folder, *(talk_of(n, f"walrus{n} in the bay") for n in range(1, 8))) as search:
        clock = Clock(monkeypatch, match=0.3, mark=0.3)
        results = search.run(Request(query, collapse=False))
    asked = len(query.split())
    assert [name for name, _ in clock.asked] == ["is_in"] * 6 + ["spans_of"]
    assert clock.now <= 1000.0 + PATTERN_SECONDS
    assert (len(results.hits), results.explain["read"], results.total) == (5 // asked, 5 // asked, -1)
    assert results.notes[0].startswith(f"only the newest {5 // asked} of 7 entries were read in 2 s")


def test_a_hit_is_shown_also_where_no_time_was_left_to_mark_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with asking(folder, *(talk_of(n, f"walrus{n} in the bay") for n in range(1, 8))) as search:
        Clock(monkeypatch, match=0.01, mark=0.8)
        results = search.run(Request("/walrus/", collapse=False))
    marked = [any(is_mark for _, is_mark in hit.snippet.parts) for hit in results.hits]
    assert marked == [True] * 2 + [False] * 5
    assert texts(results) == [f"walrus{n} in the bay" for n in range(7, 0, -1)]


def test_filters_alone_give_the_newest_first(folder: Path) -> None:
    with asking(folder, *(talk_of(n, f"{text}") for n, text in enumerate(APART, 1))) as search:
        results = search.run(Request("kind:prompt", limit=3))
        assert texts(results) == APART[::-1][:3]
        assert results.total == len(APART)
        rows = search.rows(Is("kind", "prompt"), 2).tolist()
        assert [each.entry.text for each in search.view.entries_at(rows)] == APART[::-1][:2]


def test_nothing_asked_is_refused_and_plain_words_are_no_query(folder: Path) -> None:
    with asking(folder, talk_of(1, "walrus in the bay"), talk_of(2, "bread -walrus kind:answer")) as search:
        with pytest.raises(UsageError):
            search.run(Request("  "))
        assert (
            texts(search.run(Request("-walrus kind:answer", "text", plain=True)))[0]
            == "bread -walrus kind:answer"
        )


def test_indexing_takes_meaning_along_unless_told_not_to(folder: Path) -> None:
    with remembered(folder, talk_of(1, "walrus in the bay", "bread and cheese")) as memory:
        fresh = _after(memory, vectors=False)
        assert (fresh.text, fresh.vectors) == (2, 0)
        memory.indexes.catch_up()
        fresh = memory.indexes.fresh()
        assert (fresh.text, fresh.vectors, fresh.waiting) == (2, 2, 0)
        assert memory.indexes.search(Request("walrus")).fresh.waiting == 0
        memory.indexes.drop()
        memory.indexes.drop()
        assert memory.indexes.fresh().text == 0
        assert texts(memory.indexes.search(Request("walrus", "text"))) == ["walrus in the bay"]


def _after(memory: Memory, *, vectors: bool) -> Fresh:
    memory.indexes.drop()
    memory.indexes.catch_up(vectors=vectors)
    return memory.indexes.fresh()


def test_recency_counts_from_the_moment_of_the_question(folder: Path) -> None:
    with asking(folder, talk_of(1, "walrus in the bay")) as search:
        at_once, later = (
            search.run(Request("walrus", "text", recency=True, now=now)).hits[0].parts["recency"]
            for now in (datetime.datetime(2026, 3, 3), datetime.datetime(2026, 7, 1))
        )
        assert at_once > 0.95
        assert 0.2 < later < 0.7


def test_the_time_that_is_told_is_part_of_the_time_that_passed(folder: Path) -> None:
    with asking(folder, talk_of(1, "walrus in the bay")) as search:
        began = time.perf_counter()
        told = search.run(Request("walrus")).explain["ms"]
        passed = (time.perf_counter() - began) * 1000
        assert 0 <= told["find"] + told["show"] <= passed + 1
