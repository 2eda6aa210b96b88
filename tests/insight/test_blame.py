"""Blame names the sessions that read or changed a file, and what was asked of them."""

from __future__ import annotations

from pathlib import Path

from tests.support.claude_talk import Talk, remembered
from tests.support.memories import open_memory

from recollect.memory import Memory


def test_sessions_come_newest_first_with_what_was_asked(memory: Memory) -> None:
    found = memory.blame("auth/token_store.py")
    assert [(t.session.facts.id[:8], t.changes, t.looks) for t in found] == [
        ("00000002", 1, 0),
        ("00000001", 0, 1),
    ]
    assert found[0].prompt is not None
    assert found[0].prompt.entry.text == "Make the token store honour clock skew"
    assert found[1].prompt is not None
    assert found[1].prompt.entry.text == "Where are tokens kept?"


def test_a_whole_path_means_one_file_and_a_name_every_one(memory: Memory) -> None:
    assert len(memory.blame("/home/ada/other/token_store.py")) == 1
    assert len(memory.blame("token_store.py")) == 3
    assert memory.blame("oken_store.py") == []


def test_a_patch_with_a_relative_path_is_in_its_sessions_folder(folder: Path) -> None:
    talk = Talk(4, "/home/ada/harbor")
    talk.user("patch it")
    talk.call("apply_patch", "ok", input="*** Begin Patch\n*** Update File: src/a.py\n@@\n*** End Patch")
    talk.write(folder / "logs")
    with open_memory(folder / "memory.h5") as memory:
        memory.ingest([folder / "logs"])
        assert len(memory.blame("/home/ada/harbor/src/a.py")) == 1
        assert memory.blame("/home/ada/other/src/a.py") == []


def test_of_a_session_the_last_change_is_told_and_what_asked_for_it(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    change = {"file_path": "/home/ada/harbor/gauge.py", "old_string": "a", "new_string": "b"}
    talk.user("Look at it")
    talk.call("Read", "x", file_path="/home/ada/harbor/gauge.py")
    talk.user("Make it deeper")
    talk.call("Edit", "done", **change)
    talk.user("Make it wider")
    talk.assistant("I begin.")
    talk.call("Edit", "done", **change)
    talk.user("Show it again")
    talk.call("Read", "x", file_path="/home/ada/harbor/gauge.py")
    with remembered(folder, talk) as memory:
        (found,) = memory.blame("gauge.py")
        assert (found.changes, found.looks) == (2, 2)
        assert found.prompt is not None
        assert found.prompt.entry.text == "Make it wider"
        assert found.last.entry.tool == "Edit"


def test_a_change_of_long_ago_is_older_than_a_look_of_today(folder: Path) -> None:
    talks = []
    for number, tool in ((1, "Write"), (2, "Read"), (3, "Write")):
        talk = Talk(number, "/home/ada/harbor")
        talk.user("go on")
        talk.call(tool, "done", file_path="/home/ada/harbor/gauge.py", content="x")
        talks.append(talk)
    with remembered(folder, *talks) as memory:
        assert [each.session.facts.id[7] for each in memory.blame("gauge.py")] == ["3", "2", "1"]
        assert [each.session.facts.id[7] for each in memory.blame("gauge.py", limit=2)] == ["3", "2"]


def test_a_file_that_nobody_asked_about_was_touched_all_the_same(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.call("Read", "x", file_path="/home/ada/harbor/gauge.py")
    with remembered(folder, talk) as memory:
        (found,) = memory.blame("gauge.py")
        assert found.prompt is None


def test_a_path_below_the_home_is_whole_and_so_is_one_with_a_drive(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("look")
    talk.call("Read", "x", file_path="~/notes/gauge.py")
    talk.call("Read", "x", file_path="C:\\work\\tide.py")
    talk.call("Read", "x", file_path="src/pier.py")
    with remembered(folder, talk) as memory:
        assert memory.blame("~/notes/gauge.py")
        assert memory.blame("/home/ada/harbor/src/pier.py")
        assert memory.blame("/home/ada/harbor/notes/gauge.py") == []
        assert memory.blame("work/tide.py")
        assert memory.blame("harbor/work/tide.py") == []
