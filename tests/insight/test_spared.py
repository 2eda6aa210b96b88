"""A rule that fails costs what it would have told of one session or entry: never the rest, nor silently."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from tests.support.claude_talk import Talk, remembered

from recollect.cli import main
from recollect.insight.digest import session as digesting
from recollect.insight.entities import extract
from recollect.insight.spared import spared
from recollect.memory import Memory
from recollect.values.errors import DerivedDamaged
from recollect.values.reports import LeftOut


@pytest.fixture
def _failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules that fail where a log has the word."""
    title_of, mentions_of = digesting.title_of, extract.mentions_of

    def title(facts: Any, made: Any, *rest: Any) -> str:
        if any("boom" in each.asked for each in made):
            raise ZeroDivisionError("boom")
        return title_of(facts, made, *rest)

    def mentions(entry: Any, *rest: Any) -> Any:
        if "boom" in entry.text:
            raise ZeroDivisionError("boom")
        return mentions_of(entry, *rest)

    monkeypatch.setattr(digesting, "title_of", title)
    monkeypatch.setattr(extract, "mentions_of", mentions)


def talks() -> list[Talk]:
    made = [Talk(number, "/home/ada/harbor") for number in (1, 2)]
    for talk, word in zip(made, ("src/pier.py", "src/boom.py"), strict=True):
        talk.user(f"Mend {word}")
        talk.assistant("Mended src/quay.py.")
    return made


@pytest.mark.usefixtures("_failing")
def test_the_rest_is_understood_and_what_is_left_out_is_counted(folder: Path) -> None:
    with remembered(folder, *talks()) as memory:
        with warnings.catch_warnings(record=True) as met:
            warnings.simplefilter("always", LeftOut)
            memory.index()
        told = sorted(str(each.message) for each in met)
        assert [each.partition(" ")[0] for each in told] == ["entry", "session"]
        assert "session 00000002 is left out: ZeroDivisionError at test_spared.py:" in told[1]
        with warnings.catch_warnings(record=True) as again:
            warnings.simplefilter("always", LeftOut)
            memory.index()
            assert known(memory) == {"src/pier.py": 1, "src/quay.py": 2}
            titles = {each.id[:8]: digest.title for each, digest in digests(memory)}
            assert not again
        assert titles["00000001"] == "Mend src/pier.py"
        assert set(titles) == {"00000001", "00000002"}


def known(memory: Memory) -> dict[str, int]:
    return {each.name: each.mentions for each in memory.entities("file").entities}


def digests(memory: Memory) -> list[Any]:
    return [(session.facts, memory.digest(session.facts.id)[1]) for session in memory.sessions()]


@pytest.mark.usefixtures("_failing")
def test_a_failing_rule_is_an_error_where_warnings_are(folder: Path) -> None:
    """As in every test of this suite."""
    with remembered(folder, *talks()) as memory, pytest.raises(LeftOut):
        memory.index()


@pytest.mark.usefixtures("_failing")
def test_the_command_says_how_much_was_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with remembered(folder, *talks()) as memory:
        store = memory.name
    with warnings.catch_warnings():
        warnings.simplefilter("always", LeftOut)
        assert main(["--store", store, "index"]) == 0
    assert "2 parts of the logs could not be understood" in capsys.readouterr().err


def test_damage_of_a_store_is_no_rules_failure() -> None:
    def damaged() -> int:
        raise DerivedDamaged("digests", "x")

    with pytest.raises(DerivedDamaged):
        spared("x", damaged, int)
