"""What digests say of sessions filters too: how they ended, and of which classes their exchanges are."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.claude_talk import Talk, remembered

from recollect.memory import Memory
from recollect.search.query import Is, read
from recollect.search.run import Search
from recollect.values.digests import PATTERNS, Outcome
from recollect.values.hits import Results
from recollect.values.vocabulary import DIGEST_FIELDS

NOW = datetime.datetime(2026, 3, 10)


def talk(number: int, *, failed: bool) -> Talk:
    told = Talk(number, "/home/ada/harbor")
    told.user("Write pier.py so that the tide is told, and test it")
    told.call("Write", "written", file_path="/home/ada/harbor/pier.py", content="tide = 1\n")
    told.call("Bash", "1 failed" if failed else "3 passed", failed=failed, command="pytest -q")
    told.assistant("The tests still fail." if failed else "Done: the tide is told, and all tests pass.")
    return told


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with remembered(folder, talk(1, failed=True), talk(2, failed=False)) as opened:
        yield opened


def found(results: Results) -> set[str]:
    return {hit.stored.session[:8] for hit in results.hits}


def search(memory: Memory, query: str) -> Results:
    return memory.search(query, mode="text", limit=50, collapse=False)


def test_sessions_are_found_by_how_they_ended(memory: Memory) -> None:
    memory.index()
    assert found(search(memory, "outcome:failed")) == {"00000001"}
    assert found(search(memory, "tide outcome:success")) == {"00000002"}
    assert found(search(memory, "tide -outcome:success")) == {"00000001"}
    assert found(search(memory, "tide (outcome:success OR outcome:FAILED)")) == {"00000001", "00000002"}
    assert search(memory, "outcome:failed").notes == ()


def test_sessions_are_found_by_what_their_exchanges_were(memory: Memory) -> None:
    memory.index()
    both = {"00000001", "00000002"}
    assert found(search(memory, "pattern:code-writing")) == both
    assert found(search(memory, 'pattern:"Code Writing" pattern:testing outcome:success')) == {"00000002"}
    assert found(search(memory, "pattern:code-writing pattern:deployment")) == set()
    assert search(memory, "pattern:deployment").notes == ("nothing has pattern:deployment",)


def test_what_has_no_digest_yet_is_said_and_not_found(memory: Memory, folder: Path) -> None:
    none = search(memory, "tide outcome:failed")
    assert not none.hits
    assert none.notes[0].startswith("2 conversations without a digest yet")
    assert search(memory, "tide").notes == ()
    memory.index()
    talk(3, failed=True).write(folder / "logs")
    memory.ingest([folder / "logs"])
    some = search(memory, "outcome:failed")
    assert found(some) == {"00000001"}
    assert some.notes[0].startswith("1 conversation without a digest yet")
    assert search(memory, "-(tide -outcome:failed)").notes[0].startswith("1 conversation")


def test_what_no_digest_is_asked_for_reads_none(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.index()
    monkeypatch.delattr("recollect.search.session_filters.DigestRows")
    assert search(memory, "tide project:harbor").hits
    with pytest.raises(NameError):
        search(memory, "tide outcome:failed")


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("outcome:faild", "outcome: takes success, failed, abandoned, unknown; did you mean outcome:failed?"),
        ("pattern:recovery", "pattern: takes code-writing, error-recovery,"),
        ("patern:review", "there is no field patern; did you mean pattern:review?"),
        ("outcome:", "outcome: has no value, as in outcome:failed"),
    ],
)
def test_a_value_that_is_none_is_taken_as_text_and_said_to_be(query: str, told: str) -> None:
    (note,) = read(f"deploy {query}", NOW).notes
    assert told in note


def test_every_outcome_and_class_can_be_asked_for() -> None:
    for outcome in Outcome:
        assert read(f"outcome:{outcome}", NOW).node == Is("outcome", str(outcome))
    for name in PATTERNS:
        assert read(f'pattern:"{name}"', NOW).node == Is("pattern", name.replace(" ", "-"))
    assert [len(values) for values in DIGEST_FIELDS.values()] == [4, 11]


def test_all_values_are_completed_those_that_are_there_first(memory: Memory) -> None:
    memory.index()
    offered = memory.complete("outcome")
    assert {value for value, _ in offered[:2]} == {"failed", "success"}
    assert [count for _, count in offered] == [6, 6, 0, 0]
    assert memory.complete("pattern", "code") == [("code-writing", 12)]


def test_a_damaged_table_is_no_table(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    from recollect.search import digest_rows
    from recollect.values.errors import DerivedDamaged

    memory.index()

    def damaged(*_: object, **__: object) -> None:
        raise DerivedDamaged("digests", "rot")

    with memory.indexes.asking(meaning=False) as asked:
        assert isinstance(asked, Search)
        monkeypatch.setattr(type(asked.view), "derived", damaged, raising=False)
        assert digest_rows.DigestRows(asked.view).last_rows() == []
        assert asked.sessions.undigested() == 2
