"""What is spoken of, as commands tell it: docs/entities.md shows just this."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.support import ROOT
from tests.support.claude_talk import Talk

BROKEN = "src/dock.py:3: ValueError: no berth is free"


COMMANDS = (
    "entities --type file",
    "entities --trending",
    "entities --fading --days 10",
    "entities --unusual --project harbor",
    "entity src/dock.py",
    "entity 'valueerror no berth is free'",
)


def write_month(folder: Path) -> None:
    """The logs of a month's work in two projects."""
    for day in range(1, 32):
        talk, late = Talk(day - 1, "/home/ada/harbor" if day % 5 else "/home/ada/tides"), day > 24
        for _ in range(1 if late else 4):
            talk.user("src/pier.py asks SQLite")
        for _ in range(6 if late else 1):
            talk.user("src/dock.py asks PostgreSQL")
        if late:
            talk.user("`src/tide.py` is to be written")
        for _ in range(12 if day == 29 else 1):
            talk.call("Bash", BROKEN, failed=True, command="pytest -q tests/test_dock.py")
        if day == 29:
            path = "/home/ada/harbor/src/dock.py"
            talk.call("Edit", "ok", file_path=path, old_string="wait()", new_string="find_berth()")
            talk.call("Bash", "1 passed", command="pytest -q tests/test_dock.py")
            talk.user("Let's use PostgreSQL instead of SQLite in src/dock.py.")
        talk.write(folder)


@pytest.fixture
def march(recollect: Any, tmp_path: Path) -> Any:
    """Commands over a store of that month."""
    write_month(tmp_path / "logs")
    assert recollect("ingest", tmp_path / "logs", "--quiet").code == 0
    return recollect


def examples() -> dict[str, str]:
    """What the page shows, by the command."""
    page = (ROOT / "docs" / "entities.md").read_text("utf-8")
    blocks = re.findall(r"^```text\n\$ recollect (.*)\n([^`]*)```$", page, re.MULTILINE)
    return {command: shown.rstrip() for command, shown in blocks}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_shows_what_a_command_does(
    march: Any, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    words = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", command)]
    answer = march(*words, "--quiet")
    assert answer.code == 0
    shown = "\n".join(line.rstrip() for line in answer.out.rstrip().splitlines())
    assert examples().get(command) == shown


def test_days_go_with_what_moves_alone(march: Any) -> None:
    answer = march("entities", "--days", "3")
    assert answer.code == 2
    assert "--trending" in answer.err
    assert march("entities", "--trending", "--days", "0").code == 2
    assert march("entities", "--trending", "--fading").code == 2


def test_until_ends_the_days_earlier_and_a_project_has_its_own(march: Any) -> None:
    def days(*words: str) -> tuple[str, str]:
        told = march("entities", "--trending", *words, "--json").json
        return told["first_day"], told["last_day"]

    assert days() == ("2026-03-25", "2026-03-31")
    assert days("--until", "2026-03-20", "--days", "10") == ("2026-03-11", "2026-03-20")
    assert days("--project", "tides") == ("2026-03-24", "2026-03-30")
    assert march("entities", "--trending", "--project", "nobody", "--json").json["last_day"] is None


def test_names_are_offered_behind_an_at_sign(march: Any) -> None:
    offered = march("complete", "--words", "search", "-@doc").out.split()
    assert offered == ["-@src/dock.py", "-@tests/test_dock.py"] or offered == ["-@src/dock.py"]
    assert '"' not in march("complete", "--words", "search", "berth @src").out
