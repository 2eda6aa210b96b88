"""One rule says what cured an error, wherever it is asked."""

from __future__ import annotations

import json

import pytest

from recollect.insight.cure import Run, Work, runs_again, work_of
from recollect.values.records import Entry, Kind
from recollect.values.stored import StoredEntry


def shell(command: str) -> Entry:
    return Entry(Kind.CALL, json.dumps({"command": command}), tool="Bash")


def run(call: Entry, *, failed: bool = False, row: int = 1) -> Run:
    return Run(StoredEntry("id", "session", "user", call), row, failed)


def is_cured(tried: str, then: str) -> bool:
    return runs_again(work_of(shell(tried)), [run(shell(then))]).is_cured


@pytest.mark.parametrize(
    "then",
    ["pytest -q tests", "cd /w && pytest -q", "make lint && pytest -q", "X=1 pytest -q --lf; echo done"],
)
def test_a_later_run_of_the_same_work_that_does_not_fail_is_the_cure(then: str) -> None:
    assert is_cured("cd src && pytest -q tests/auth", then)


@pytest.mark.parametrize("then", ["pytest --version", "make test", "echo pytest -q", "", "ls"])
def test_other_work_cures_nothing(then: str) -> None:
    assert not is_cured("pytest -q tests/auth", then)


def test_half_of_the_work_is_not_all_of_it() -> None:
    assert not is_cured("git add . && git commit -m x", "git add .")
    assert is_cured("git add . && git commit -m x", "git add a.py && git commit -m y")


def test_behind_a_pipe_a_run_proves_nothing_unless_the_failure_came_through_one() -> None:
    assert not is_cured("pytest -q", "pytest -q | tail -3")
    assert is_cured("pytest -q | tail -3", "pytest -q | tail -5")


def test_a_tool_is_cured_on_the_same_file() -> None:
    def edit(path: str) -> Entry:
        return Entry(Kind.CALL, json.dumps({"file_path": path, "old_string": "a"}), tool="Edit")

    tried = work_of(edit("/w/a.py"))
    assert runs_again(tried, [run(edit("/w/a.py"))]).is_cured
    assert not runs_again(tried, [run(edit("/w/b.py"))]).is_cured


def test_every_run_up_to_the_cure_is_named_and_none_behind_it() -> None:
    later = [
        run(shell("pytest -q"), failed=True, row=1),
        run(shell("ls"), row=2),
        run(shell("pytest -q"), row=3),
        run(shell("pytest -q"), row=4),
    ]
    again = runs_again(work_of(shell("pytest -q")), later)
    assert [each.result_row for each in again.runs] == [1, 3]


def test_what_was_tried_by_nobody_is_cured_by_nothing() -> None:
    assert not runs_again(Work(), [run(shell("pytest -q"))]).runs
