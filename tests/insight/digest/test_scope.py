"""Branches are those that git says were worked on; pictures come with what was said or called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.insight.digest.told import Told

from recollect.insight.digest.scope import PICTURES_MAX, branches, pictures
from recollect.values.records import Entry, Kind
from recollect.values.stored import StoredEntry


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ("git switch -c feat/lamp", "Switched to a new branch 'feat/lamp'", ["feat/lamp"]),
        ("git checkout -q -b feat/lamp", "", ["feat/lamp"]),
        ("git checkout lamp.py", "Updated 1 path from the index", []),
        ("git checkout main", "Already on 'main'", ["main"]),
        ("git commit -m x", "[feat/lamp 50d8160] x\n 1 file changed", ["feat/lamp"]),
        ("git commit -m x", "[main (root-commit) 50d8160] x", ["main"]),
        ("git commit -m x", "[detached HEAD 50d8160] x", []),
        ("git push", "To host:lamp.git\n   1111111..2222222  main -> main", ["main"]),
        ("git push -u origin lamp", " * [new branch]      lamp -> lamp", ["lamp"]),
        ("git fetch", "   1111111..2222222  main -> origin/main", []),
        ("git worktree add ../w -b lamp", "Preparing worktree (new branch 'lamp')", ["lamp"]),
        ("cat notes.md", "Switched to branch 'lamp'", []),
    ],
)
def test_a_branch_is_one_that_git_says_was_worked_on(command: str, output: str, expected: list[str]) -> None:
    found = branches(Told().asks("x").runs(command, output).steps)
    assert [(each.text, each.entry) for each in found] == [(name, "e2") for name in expected]


def test_what_failed_or_was_refused_made_no_branch() -> None:
    assert branches(Told().asks("x").runs("git switch -c lamp", "fatal: exists", failed=True).steps) == []
    assert branches(Told().asks("x").refuses("Bash", command="git switch -c lamp").steps) == []


def picture(line: str, call: str = "") -> StoredEntry:
    return StoredEntry(line, "s", "user", Entry(Kind.IMAGE, "", 0, 1_000_000, "", call), 99)


def test_a_picture_comes_with_what_was_said_in_its_line_or_the_call_that_showed_it() -> None:
    told = Told().asks("The lamp is crooked").calls("Read", "", file_path="/shots/lamp.png")
    read = told.steps[0].call.entry.call
    shown = [picture("e0.1"), picture("e2.1", read), picture("e9")]
    found = pictures([*told.entries, *shown], told.steps)
    assert [(each.text, each.entry) for each in found] == [
        ("The lamp is crooked", "e0.1"),
        ("Read /shots/lamp.png", "e2.1"),
        ("", "e9"),
    ]


def test_of_many_pictures_the_last_ones_are_kept() -> None:
    found = pictures([picture(f"e{n}") for n in range(30)], [])
    assert [each.entry for each in found] == [f"e{n}" for n in range(30 - PICTURES_MAX, 30)]


@given(st.text(max_size=200))
def test_a_name_of_a_branch_carries_nothing_into_a_terminal(output: str) -> None:
    told = Told().asks("x").runs("git push", f"Switched to branch '{output}'\n[{output} 50d8160] x")
    for each in branches(told.steps):
        assert each.text.isprintable()
        assert not set(each.text) & set(" \n<>`'\"")
