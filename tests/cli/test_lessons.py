"""`lessons` as a person reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.claude_talk import Talk


@pytest.fixture
def asked(recollect: Any, tmp_path: Path) -> Any:
    """A store in which the same program was missing three times."""
    for number in (1, 2, 3):
        talk = Talk(number, "/home/ada/harbor")
        talk.user(f"Test pier {number}")
        talk.call("Bash", "\x1b[31mbash: line 1: go: command not found", failed=True, command="go test")
        talk.call("Bash", "ok", command="/usr/local/bin/go test")
        talk.write(tmp_path / "logs")
    recollect("ingest", tmp_path / "logs")
    return recollect


def test_a_lesson_names_what_was_run_what_worked_and_a_line_to_write(asked: Any, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.md")}
    said = asked("lessons").out
    assert "recurring error  3 sessions, 3 times" in said
    assert "    ran     go test" in said
    assert "    CLAUDE.md: `go test` fails here with " in said
    assert "\x1b" not in said
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.md")} == before
    (told,) = asked("lessons", "--json").json["lessons"]
    assert (len(told["sessions"]), told["files"]) == (3, ["CLAUDE.md"])
    assert asked("show", told["entries"][0]).code == 0


def test_where_there_is_none_it_is_said(asked: Any) -> None:
    assert asked("lessons", "--min", "4").out == ""
    assert "in 4 conversations or more" in asked("lessons", "--min", "4").err
    assert "no project's name has 'nosuch'" in asked("lessons", "--project", "nosuch").err
