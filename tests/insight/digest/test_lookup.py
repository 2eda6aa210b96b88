"""Conversations are found by what their digests say, and by nothing that is not in them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.claude_talk import Talk, remembered

from recollect.insight.digest.lookup import terms_of
from recollect.memory import Memory
from recollect.values.digests import DigestsFound
from recollect.values.errors import UsageError

NOW = datetime.datetime(2026, 3, 10, tzinfo=datetime.UTC)


def talk(number: int, asked: str, answer: str, *, folder: str = "harbor") -> Talk:
    told = Talk(number, f"/home/ada/{folder}")
    told.user(asked)
    told.call("Bash", "1 walrus was seen", command="ls bay > seen.txt")
    told.assistant(answer)
    return told


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    talks = (
        talk(1, "Mend the tide gauge", "Done. We still need to paint the buoy."),
        talk(2, "Paint the lighthouse", "The lighthouse is painted.", folder="quay"),
        talk(3, "灯台を赤く塗って", "塗りました。"),
    )
    with remembered(tmp_path, *talks) as opened:
        opened.index()
        yield opened


def found(memory: Memory, query: str) -> list[str]:
    return numbers(memory.search_digests(query, now=NOW))


def numbers(results: DigestsFound) -> list[str]:
    return [hit.session.facts.id[7] for hit in results.hits]


def test_words_of_a_digest_find_its_session_the_best_first(memory: Memory) -> None:
    assert found(memory, "gauges") == ["1"]
    assert found(memory, "painting a lighthouse") == ["2", "1"]
    assert found(memory, "灯台") == ["3"]
    assert found(memory, "zyzzyva") == []
    assert found(memory, "walrus") == []  # which only a tool said


def test_the_names_of_what_is_kept_are_no_words_of_it(memory: Memory) -> None:
    for name in ("title", "asked", "tests", "entry", "outcome", "runs"):
        assert found(memory, name) == [], name
    assert found(memory, "lighthouse -tests") == ["2"]


def test_without_words_the_newest_come_first(memory: Memory) -> None:
    assert found(memory, "") == ["3", "2", "1"]
    assert found(memory, "project:quay") == ["2"]
    assert numbers(memory.search_digests("", limit=2)) == ["3", "2"]
    assert memory.search_digests("", limit=2).total == 3


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("paint project:harbor", ["1"]),
        ('"the lighthouse"', ["2"]),
        ('paint -"the lighthouse"', ["1"]),
        ("paint -lighthouse", ["1"]),
        ("(gauge OR lighthouse)", ["1", "2"]),
        ("session:00000002 OR session:00000003", ["3", "2"]),
        ("on:2026-03-03", ["2"]),
        ("after:2026-03-03", ["3", "2"]),
        ("outcome:failed", []),
        ("is:imported paint", ["1", "2"]),
    ],
)
def test_filters_are_those_of_a_search(memory: Memory, query: str, numbers: list[str]) -> None:
    assert sorted(found(memory, query)) == sorted(numbers)


@pytest.mark.parametrize("query", ["tool:Bash paint", "/pai.t/", "is:error", "-kind:prompt"])
def test_what_is_asked_of_entries_is_refused_with_a_way_on(memory: Memory, query: str) -> None:
    with pytest.raises(UsageError) as raised:
        memory.search_digests(query)
    assert "recollect search" in str(raised.value)


def test_what_has_no_digest_yet_is_counted_and_not_found(memory: Memory, tmp_path: Path) -> None:
    talk(4, "Mend the gauge again", "Done.").write(tmp_path / "logs")
    memory.ingest([tmp_path / "logs"])
    results = memory.search_digests("gauge")
    assert (numbers(results), results.undigested) == (["1"], 1)
    memory.index()
    results = memory.search_digests("gauge")
    assert (sorted(numbers(results)), results.undigested) == (["1", "4"], 0)


def test_terms_are_stems_and_pairs_of_characters_without_words_that_say_nothing() -> None:
    assert terms_of("Why are the retries of the uploads failing?") == ["retr", "upload", "fail"]
    assert terms_of("塗装の色") == ["塗装", "装の", "の色"]
    assert terms_of("the of and") == []
