"""Long output is read in a pager, and never lost to one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.terminals import on_terminal

from recollect.cli.pager import PAGED, fits, pager_words
from recollect.cli.parser import build_parser


@pytest.fixture
def pager(tmp_path: Path) -> Path:
    """A pager that notes what it was given and shows its input."""
    program = tmp_path / "bin" / "less"
    program.parent.mkdir()
    noted = tmp_path / "noted"
    program.write_text(
        f'#!/bin/sh\necho "$# $* LESS=$LESS SECURE=$LESSSECURE at $(pwd)" > {noted}\nexec cat\n'
    )
    program.chmod(0o700)
    return program


def noted(pager: Path) -> str:
    path = pager.parent.parent / "noted"
    return path.read_text() if path.exists() else ""


@pytest.mark.on_disk("another process looks at the store")
class TestOnATerminal:
    def test_what_is_longer_than_the_screen_goes_through_the_pager(self, filled: Any, pager: Path) -> None:
        plain = on_terminal(["sessions", "--all"], height=5)
        assert plain.count("\n") > 5
        assert on_terminal(["sessions", "--all"], height=5, RECOLLECT_PAGER=str(pager)) == plain
        assert noted(pager) == "0  LESS=FRX SECURE=1 at /\n"

    @pytest.mark.parametrize("more", [["--no-pager"], ["--json"], ["--limit", "1"]])
    def test_what_fits_or_is_not_to_be_paged_does_not(
        self, filled: Any, pager: Path, more: list[str]
    ) -> None:
        assert on_terminal(["sessions", "--all", *more], height=8, RECOLLECT_PAGER=str(pager))
        assert noted(pager) == ""

    def test_an_entry_opens_at_its_place(self, filled: Any, pager: Path) -> None:
        near = filled("show", "a1b2", "--json").json["entries"]
        middle = [each for each in near if each["kind"] == "answer"][-1]
        shown = on_terminal(["show", middle["id"], "--around", "9"], height=4, RECOLLECT_PAGER=str(pager))
        opened = int(noted(pager).partition("+")[2].partition(" ")[0])
        assert ">>" in shown.splitlines()[opened - 1]

    @pytest.mark.parametrize("broken", ["/nowhere/at/all", "false", "sh -c 'exit 3'", "'", "./less", "cat"])
    def test_a_broken_pager_costs_nothing(self, filled: Any, broken: str) -> None:
        plain = on_terminal(["sessions"], height=3)
        assert on_terminal(["sessions"], height=3, RECOLLECT_PAGER=broken) == plain

    def test_leaving_early_is_no_error(self, filled: Any) -> None:
        shown = on_terminal(["sessions", "--quiet"], height=3, RECOLLECT_PAGER="head -n 1")
        assert shown.startswith("\x1b[1mid")
        assert shown.count("\n") == 1

    def test_an_error_is_told_after_what_was_said_before(self, filled: Any, pager: Path) -> None:
        shown = on_terminal(["show", "nothing-like-it"], height=2, RECOLLECT_PAGER=str(pager))
        assert "nothing-like-it" in shown
        assert noted(pager) == ""


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"RECOLLECT_PAGER": "", "PAGER": "less"}, []),
        ({"RECOLLECT_PAGER": "less -S", "PAGER": "more"}, ["less", "-S"]),
        ({"PAGER": "less"}, ["less"]),
        ({"PAGER": ""}, ["less"]),
        ({}, ["less"]),
        ({"PAGER": "cat"}, []),
        ({"PAGER": "bin/less"}, []),
        ({"PAGER": "no-such-program"}, []),
        ({"PAGER": "less; rm -rf ."}, []),
    ],
)
def test_the_pager_is_a_program_by_its_whole_path(
    pager: Path, environ: dict[str, str], words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pager.parent.parent)
    found = pager_words({"PATH": os.pathsep.join([".", "bin", str(pager.parent)]), **environ})
    assert found == [str(pager), *words[1:]] if words else found == []


@pytest.mark.parametrize(
    ("text", "height", "whole"),
    [
        ("a\n" * 4, 5, True),
        ("a\n" * 5, 5, False),
        ("x" * 21 + "\n", 3, False),
        ("\x1b[1m" + "x" * 10, 2, True),
    ],
)
def test_what_fits_leaves_room_for_the_prompt(text: str, height: int, whole: bool) -> None:
    assert fits(text, 10, height) is whole


def test_only_commands_are_paged() -> None:
    (commands,) = (
        action for action in build_parser()._actions if action.choices and not action.option_strings
    )
    assert set(commands.choices or ()) >= PAGED
