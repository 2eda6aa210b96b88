"""Errors of a turn, each with what led to the run that worked."""

from __future__ import annotations

from pathlib import Path

from tests.support.claude_talk import Talk, remembered

from recollect.recall.assemble.fixes import fixes, pairs_of, size_of
from recollect.values.stored import StoredEntry


def entries_of(folder: Path, talk: Talk) -> list[StoredEntry]:
    with remembered(folder, talk) as memory, memory.view() as view:
        return list(view.entry_range(0, view.info().rows_end))


def told(folder: Path, talk: Talk) -> list[list[str]]:
    """What each error is told with: answers and results by their text, calls by their file or command."""
    entries = entries_of(folder, talk)
    texts = {each.row: each.entry.text for each in entries}
    return [
        [texts[row] for row in rows if texts[row][0] != "{"] for rows in fixes(entries, pairs_of(entries))
    ]


def edit(talk: Talk, name: str) -> None:
    talk.call("Edit", name, file_path=f"/home/ada/harbor/{name}.py", old_string="x", new_string="y")


def test_an_error_is_told_with_what_was_changed_and_said_until_the_same_thing_worked(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.call("Bash", "all is well", command="git status")
    talk.call("Bash", "one failed", failed=True, command="pytest tests")
    talk.assistant("because of a")
    edit(talk, "a")
    talk.call("Read", "seen", file_path="/home/ada/harbor/b.py")
    talk.call("Bash", "another failed", failed=True, command="pytest tests")
    edit(talk, "b")
    talk.call("Bash", "a listing", command="ls")
    talk.call("Bash", "passed", command="pytest tests")
    edit(talk, "c")
    talk.assistant("done")
    assert told(folder, talk) == [["one failed", "because of a", "a", "another failed", "b", "passed"]]


def test_a_call_and_its_result_are_one(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.call("Bash", "failed", failed=True, command="pytest tests")
    talk.call("Bash", "passed", command="pytest tests")
    talk.assistant("done")
    entries = entries_of(folder, talk)
    (rows,) = fixes(entries, pairs_of(entries))
    assert rows == tuple(each.row for each in entries[:-1])
    assert pairs_of(entries)[entries[-1].row] == (entries[-1].row,)


def test_what_never_worked_again_is_told_with_the_next_steps_alone(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.call("Bash", "failed", failed=True, command="pytest tests")
    for n in range(9):
        talk.assistant(f"thought {n}")
    ((first, *steps),) = told(folder, talk)
    assert first == "failed"
    assert 2 <= len(steps) <= 4
    assert steps == [f"thought {n}" for n in range(len(steps))]


def test_two_errors_that_have_nothing_to_do_with_each_other_are_two(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.call("Bash", "tests failed", failed=True, command="pytest tests")
    talk.call("Bash", "tests passed", command="pytest tests")
    talk.call("Bash", "build failed", failed=True, command="make wheel")
    talk.call("Bash", "build passed", command="make wheel")
    assert told(folder, talk) == [["tests failed", "tests passed"], ["build failed", "build passed"]]


def test_a_run_that_failed_again_and_again_is_told_once_while_its_steps_are(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    for n in range(3):
        talk.call("Bash", f"failed {n}", failed=True, command="pytest tests")
    assert told(folder, talk) == [["failed 0", "failed 1", "failed 2"]]


def test_of_too_many_steps_the_later_failures_are_told_by_themselves(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.call("Bash", "failed 0", failed=True, command="pytest tests")
    for n in range(5):
        edit(talk, f"a{n}")
    talk.call("Bash", "failed 1", failed=True, command="pytest tests")
    assert [each[0] for each in told(folder, talk)] == ["failed 0", "failed 1"]


def test_what_worked_long_after_has_not_ended_the_error(folder: Path) -> None:
    def ended(changes: int) -> bool:
        talk = Talk(1, "/home/ada/harbor")
        talk.call("Bash", "failed", failed=True, command="pytest tests")
        for n in range(changes):
            edit(talk, f"a{n}")
        talk.call("Bash", "passed", command="pytest tests")
        return any("passed" in each for each in told(folder / str(changes), talk))

    assert ended(6)
    assert not ended(9)


def test_an_error_whose_call_is_lost_is_told_with_what_followed(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.call("Bash", "failed", failed=True, command="pytest tests")
    talk.call("Bash", "passed", command="pytest tests")
    talk.assistant("so it works")
    entries = entries_of(folder, talk)[1:]
    (rows,) = fixes(entries, pairs_of(entries))
    assert [each.entry.text for each in entries if each.row in rows] == ["failed", "so it works"]


def test_a_long_entry_takes_what_will_be_left_of_it(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("a" * 7)
    talk.user("word " * 10_000)
    entries = entries_of(folder, talk)
    short, long = (size_of([each.row], entries) for each in entries)
    assert 8 <= short <= 20
    assert 250 <= long <= 400
    assert size_of([each.row for each in entries], entries) == short + long
