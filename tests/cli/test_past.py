"""`blame`, `why`, `how` and `fix` as a person reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.claude_talk import Talk
from tests.support.git_folder import GitFolder, needs_git

ERROR = "harbour.TideError: the gauge at pier nine is dry"


@pytest.fixture
def asked(recollect: Any, tmp_path: Path) -> Any:
    """A store in which an error was met, mended and explained."""
    talk = Talk(1, "/home/ada/harbor")
    talk.user("Let the tides run")
    talk.call("Bash", ERROR, failed=True, command="cd /w && make tides 2>&1")
    talk.assistant("Let me check the gauge.")
    talk.call(
        "Edit", "done", file_path="/w/gauge.py", old_string="dry = 1", new_string="dry = 1\n\x1b[31mfloat = 2"
    )
    talk.call("Bash", "12 tides", command="make tides | tail -3")
    talk.assistant("The gauge at pier nine was missing a float.")
    talk.write(tmp_path / "logs")
    recollect("ingest", tmp_path / "logs")
    return recollect


def test_fix_shows_what_worked_and_what_was_said_in_the_end(asked: Any) -> None:
    said = asked("fix", ERROR).out
    assert "then worked: make tides | tail -3" in said
    assert "told: The gauge at pier nine was missing a float." in said
    assert "Let me check" not in said
    steps = [line.split()[1:] for line in said.splitlines()[-1:]]
    assert steps == [["Edit", "/w/gauge.py"]]  # behind what ended it
    found = asked("fix", ERROR, "--json").json["found"][0]
    assert (found["told"], found["quote"]) == (True, "The gauge at pier nine was missing a float.")


def test_how_shows_a_command_once_with_its_variants(asked: Any) -> None:
    said = asked("how", "make tides").out.splitlines()
    assert said[0] == "make tides"
    assert "1 time worked, 1 failed" in said[1]
    (command,) = asked("how", "make tides", "--json").json["commands"]
    assert (command["command"], command["worked"], command["told"], command["variants"]) == (
        "make tides",
        1,
        0,
        1,
    )


def test_blame_with_words_shows_a_small_diff_and_the_prompt(asked: Any) -> None:
    said = asked("blame", "gauge.py", "float", "=", "2").out.splitlines()
    assert said[1:] == ["    Let the tides run", "     dry = 1", "    +\\x1b[31mfloat = 2"]
    whole = asked("blame", "gauge.py", "float = 2", "--json").json
    assert whole["words"] == "float = 2"
    assert whole["sessions"][0]["edits"][0]["old"] == "dry = 1"


def test_words_that_nobody_brought_are_told(asked: Any) -> None:
    assert "no change in the store brought these words" in asked("blame", "gauge.py", "anchor").err
    assert "names this file" in asked("blame", "anchor.py").err


def test_whatever_is_pasted_is_searched_for_and_a_note_tells_how_it_was_read(asked: Any) -> None:
    answer = asked("search", 'gauge (pier "nine projct:x', "--mode", "text")
    assert answer.code == 0
    assert answer.out
    assert "did you mean project:x?" in answer.err
    noted = asked("search", 'gauge (pier "nine projct:x', "--mode", "text", "--json").json["notes"]
    assert len(noted) == 3


def test_nothing_found_says_why(asked: Any) -> None:
    assert "no word of it occurs" in asked("search", "zyzzyva", "--mode", "text").err
    assert asked("search", "zyzzyva", "--mode", "text", "--json").json["notes"] == ["no word of it occurs"]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["serach", "x"], "search"),
        (["usage", "--by", "modle"], "model"),
        (["search", "x", "--limt", "3"], "--limit"),
        (["show", "00000101"], "00000001-0000-4000-8000-000000000000"),
        (["catalog", "--project", "harbr"], "harbor"),
    ],
)
def test_of_a_slip_it_is_asked_what_was_meant(asked: Any, words: list[str], meant: str) -> None:
    answer = asked(*words)
    assert answer.code in (2, 3)
    assert f"did you mean {meant}?" in answer.err


@pytest.mark.parametrize("command", ["sessions", "threads"])
def test_a_list_of_a_project_that_is_none_asks_which_was_meant(asked: Any, command: str) -> None:
    said = asked(command, "--project", "harbr").err
    assert "no project's name has 'harbr' in it; did you mean harbor?" in said
    assert "did you mean" not in asked(command, "--project", "arbo").err
    assert "no project's name has 'zyzzyva' in it\n" in asked(command, "--project", "zyzzyva").err


def test_what_is_near_to_nothing_asks_nothing(asked: Any) -> None:
    for words in (["zzz"], ["show", "99999999"], ["search", "x", "--zyzzyva"]):
        assert "did you mean" not in asked(*words).err


def test_a_step_is_one_line_and_of_a_long_path_its_end(recollect: Any, tmp_path: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("Let the tides run")
    talk.call("Bash", ERROR, failed=True, command="make tides")
    talk.call("Edit", "done", file_path="/home/ada/harbor/src/tides/gauge.py", old_string="a", new_string="b")
    talk.write(tmp_path / "logs")
    recollect("ingest", tmp_path / "logs")
    assert recollect("fix", ERROR).out.splitlines()[-1].split()[1:] == ["Edit", "…/src/tides/gauge.py"]


@pytest.fixture
def project(recollect: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitFolder:
    """A repository one stands in, a file of which was changed and committed by an agent."""
    work = GitFolder(tmp_path / "harbor")
    made = work.commit("gauge: a float of wood", gauge_py="dry = 1\n\nfloat_of_wood = 2\n")
    talk = Talk(1, str(work.folder))
    talk.user("Let the \x1b[31mtides run \u202e")
    talk.assistant("It needs a float because it sinks.")
    new = "dry = 1\n\nfloat_of_wood = 2"
    talk.call("Edit", "ok", file_path=str(work.folder / "gauge.py"), old_string="dry = 1", new_string=new)
    talk.call("Bash", f"[main {made[:7]}] gauge: a float of wood", command="git commit -am x")
    talk.write(tmp_path / "logs")
    recollect("ingest", tmp_path / "logs")
    monkeypatch.chdir(work.folder)
    return work


@needs_git
def test_why_shows_the_change_what_asked_for_it_and_the_reason(project: GitFolder, recollect: Any) -> None:
    said = recollect("why", "gauge.py:3").out
    assert said.splitlines()[0] == "float_of_wood = 2"
    assert "asked   Let the \\x1b[31mtides run \\u202e" in said
    assert "reason  It needs a float because it sinks." in said
    assert "    +float_of_wood = 2" in said
    told = recollect("why", "gauge.py:3", "--json").json
    assert (told["path"], told["line"], told["found_by"]) == ("gauge.py", 3, "edit")
    assert told["change"]["edits"][0]["old"] == "dry = 1"


@needs_git
def test_why_of_a_line_that_only_git_knows_shows_its_commit(project: GitFolder, recollect: Any) -> None:
    answer = recollect("why", "gauge.py:1")
    assert "gauge: a float of wood" in answer.out
    assert "recollect digest 00000001" in answer.out
    (project.folder / "gauge.py").write_text("nobody wrote this\n")
    answer = recollect("why", "gauge.py:1")
    assert "nothing is known of this line" in answer.err
    assert "git has no commit of it" in answer.err
    assert recollect("why", "gauge.py:1", "--json").json["found_by"] == ""
    assert recollect("why", "gauge.py:7").code == 3
    assert recollect("why", "gauge.py").code == 2
    (project.folder / ".git" / "HEAD").write_text("broken")
    assert "git is not there, or reads no repository" in recollect("why", "gauge.py:1").err


@needs_git
def test_blame_of_a_commit_shows_its_files_and_who_made_it(project: GitFolder, recollect: Any) -> None:
    said = recollect("blame", "--commit", "HEAD").out
    for part in (
        "gauge: a float of wood",
        "    gauge.py",
        "asked    Let the \\x1b[31mtides",
        "digest 00000001",
    ):
        assert part in said
    told = recollect("blame", "--commit", "HEAD", "--json").json
    assert told["schema"] == "recollect.blame-commit/1"
    assert told["commit"]["files"] == ["gauge.py"]
    assert len(told["sessions"]) == 1


def test_blame_of_a_commit_that_nobody_made_says_so(asked: Any) -> None:
    assert "no conversation in the store made this commit" in asked("blame", "--commit", "abcdef12").err
    assert asked("blame", "--commit", "no-such").code == 3
    assert asked("blame").code == 2
    assert asked("blame", "gauge.py", "--commit", "abcdef12").code == 2
