"""`@name` finds what mentions a thing, by the name it has or the end of its path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.claude_talk import Talk, remembered

from recollect.memory import Memory
from recollect.search import mentions as tables
from recollect.search.mentions import Mentions
from recollect.values.errors import DerivedDamaged


def talks() -> list[Talk]:
    harbor, tides = Talk(1, "/home/ada/harbor"), Talk(2, "/home/ada/tides")
    harbor.user("Why does it fail?")
    harbor.call("Read", "1→class Pier: ...", file_path="/home/ada/harbor/src/dock.py")
    harbor.call("Bash", "ValueError: no berth is free", failed=True, command="cargo test --quiet src/dock.py")
    harbor.assistant("`Pier` in src/dock.py asks PostgreSQL for a berth.")
    tides.user("Use postgresql in lib/dock.py, too")
    tides.user("What a request costs, and what requests cost")
    tides.user("dock.py is to stay as it is")
    return [harbor, tides]


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with remembered(folder, *talks()) as opened:
        opened.index()
        yield opened


def texts(memory: Memory, query: str, **options: object) -> list[str]:
    found = memory.search(query, collapse=False, **options)  # type: ignore[arg-type]
    return [hit.stored.entry.text.partition("\n")[0][:24] for hit in found.hits]


def test_a_name_finds_what_mentions_the_thing_the_newest_first(memory: Memory) -> None:
    assert texts(memory, "@PostgreSQL") == ["Use postgresql in lib/do", "`Pier` in src/dock.py as"]
    assert memory.search("@PostgreSQL").total == 2
    assert texts(memory, "@postgresql") == texts(memory, "entity:PostgreSQL") == texts(memory, "@PostgreSQL")


def test_the_end_of_a_path_is_enough_and_a_bare_name_is_one_in_every_folder(memory: Memory) -> None:
    everywhere = texts(memory, "@dock.py")
    assert set(texts(memory, "@src/dock.py")) < set(everywhere)
    assert {"Use postgresql in lib/do", "dock.py is to stay as it"} < set(everywhere)
    assert texts(memory, "@lib/dock.py") == ["Use postgresql in lib/do"]
    assert texts(memory, "@ock.py") == []


def test_a_name_goes_together_with_words_filters_and_alternatives(memory: Memory) -> None:
    failed = texts(memory, "@src/dock.py is:error")
    assert failed == texts(memory, "is:error @src/dock.py")
    assert texts(memory, "@PostgreSQL -@lib/dock.py") == ["`Pier` in src/dock.py as"]
    assert texts(memory, "berth @PostgreSQL", mode="text") == ["`Pier` in src/dock.py as"]
    assert texts(memory, "berth @PostgreSQL")[0] == "`Pier` in src/dock.py as"
    assert set(texts(memory, "berth @PostgreSQL")) <= set(texts(memory, "@PostgreSQL"))
    assert set(texts(memory, "@lib/dock.py OR @Pier")) == set(texts(memory, "@lib/dock.py")) | set(
        texts(memory, "@Pier")
    )
    assert not set(texts(memory, "-(@lib/dock.py OR @Pier) kind:prompt")) & set(texts(memory, "@lib/dock.py"))


def test_the_sign_may_be_part_of_the_name(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.call("Bash", "added 1 package", command="npm install @pier/gauge")
    with remembered(folder, talk) as memory:
        memory.index()
        assert memory.entity("@pier/gauge").entity.type == "library"
        assert texts(memory, "@pier/gauge") == texts(memory, "@@pier/gauge") != []


def test_a_name_with_blanks_is_quoted(memory: Memory) -> None:
    (found,) = texts(memory, '@"cargo test" kind:call')
    assert "cargo test" in found
    assert texts(memory, 'entity:"cargo test" kind:call') == [found]


def test_what_a_name_stands_for_is_marked_in_the_hit(memory: Memory) -> None:
    (hit,) = memory.search("@PostgreSQL kind:answer").hits
    assert ("PostgreSQL", True) in hit.snippet.parts


def test_who_is_not_known_is_told_and_who_was_probably_meant(memory: Memory) -> None:
    found = memory.search("@PostgreSLQ")
    assert not found.hits
    assert found.notes == ("nothing has entity:PostgreSLQ; did you mean entity:PostgreSQL?",)


def test_names_are_completed_by_how_often_they_are_mentioned(memory: Memory) -> None:
    offered = memory.complete("entity", "dock")
    assert {name for name, _ in offered} == {"src/dock.py", "lib/dock.py", "dock.py"}
    assert offered[0][0] == "src/dock.py"
    assert memory.complete("entity", "POSTG") == [("PostgreSQL", 2)]
    assert len(memory.complete("entity", limit=3)) == 3
    assert memory.complete("entity", "nothing begins so") == []


def test_what_nobody_looked_at_yet_is_found_by_the_name_and_said_to_be_that(folder: Path) -> None:
    with remembered(folder, *talks()) as memory:
        found = memory.search("@PostgreSQL")
        assert {hit.stored.entry.text[:5] for hit in found.hits} == {"Use p", "`Pier"}
        (note,) = found.notes
        assert "was not looked at yet" in note
        assert "recollect index" in note
        assert memory.search("berth").notes == ()
        memory.index()
        assert memory.search("@PostgreSQL").notes == ()


def test_a_search_without_a_name_reads_no_table(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("read")

    for name in ("_things", "_columns", "_folded", "unread", "read_to"):
        monkeypatch.setattr(Mentions, name, property(never))
    assert memory.search("berth project:harbor -tool:Edit last:9y").hits
    with pytest.raises(AssertionError, match="read"):
        memory.search("@PostgreSQL")


def test_tables_that_point_nowhere_are_damaged(memory: Memory) -> None:
    with memory._store.writer() as writer:
        built = writer.view().info().rows_end
        writer.add_derived(tables.MENTIONS, {"entry": [0], "entity": [1 << 31], "day": [1]}, built_to=built)
        writer.commit()
    with pytest.raises(DerivedDamaged):
        memory.search("@PostgreSQL")
