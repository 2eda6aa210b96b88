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
    change = {"file_path": "/home/ada/harbor/gauge.py", "old_string": "a"}
    talk.user("Look at it")
    talk.call("Read", "x", file_path="/home/ada/harbor/gauge.py")
    talk.user("Make it deeper")
    talk.call("Edit", "done", **change, new_string="deeper")
    talk.user("Make it wider")
    talk.assistant("I begin.")
    talk.call("Edit", "done", **change, new_string="wider")
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


PATH = "/home/ada/harbor/gauge.py"


def edited(number: int, *edits: tuple[str, str], failed: bool = False, path: str = PATH) -> Talk:
    """A session that asks for each of these changes of the gauge, and makes it."""
    talk = Talk(number, "/home/ada/harbor")
    for old, new in edits:
        talk.user(f"Make {new.split()[0]} of it")
        talk.call("Edit", "done", failed=failed, file_path=path, old_string=old, new_string=new)
    return talk


def brought(memory: Memory, words: str) -> list[tuple[str, str]]:
    found = memory.blame("gauge.py", words=words)
    return [(each.session.facts.id[6:8], each.edits[0].new) for each in found]


def test_words_lead_to_the_change_that_brought_them_and_to_what_asked_for_it(folder: Path) -> None:
    first = edited(1, ("a", "depth = 3"), ("depth = 3", "depth = 3\nskew = 30"), ("b", "c"))
    later = edited(2, ("skew = 30", "skew = 30\nwidth = 4"))
    with remembered(folder, first, later) as memory:
        (found,) = memory.blame("gauge.py", words="SKEW  = 30")
        assert found.session.facts.id[7] == "1"
        assert [(each.old, each.new) for each in found.edits] == [("depth = 3", "depth = 3\nskew = 30")]
        assert found.prompt is not None
        assert found.prompt.entry.text == "Make depth of it"
        assert (found.changes, found.looks) == (3, 0)
        assert memory.blame("gauge.py", words="never there") == []
        assert memory.blame("other.py", words="skew") == []


def test_words_in_another_order_are_found_where_they_stand_nowhere_as_given(folder: Path) -> None:
    with remembered(folder, edited(1, ("a", "skew is 30")), edited(2, ("b", "skew 30"))) as memory:
        assert brought(memory, "30 skew") == [("01", "skew is 30")]
        assert brought(memory, "skew 30") == [("02", "skew 30")]


def test_a_file_written_whole_brings_only_what_it_had_not(folder: Path) -> None:
    first, second, third = edited(1, ("a", "skew")), Talk(2, "/home/ada/harbor"), Talk(3, "/home/ada/harbor")
    for talk, content in ((second, "skew and more"), (third, "nothing")):
        talk.user("Write it anew")
        talk.call("Write", "done", file_path=PATH, content=content)
    with remembered(folder, first, second, third, edited(4, ("b", "skew again"))) as memory:
        assert brought(memory, "skew") == [("04", "skew again"), ("01", "skew")]


def test_words_that_were_taken_out_and_came_back_were_brought_twice(folder: Path) -> None:
    talks = edited(1, ("a", "skew")), edited(2, ("skew", "b")), edited(3, ("b", "skew now"))
    with remembered(folder, *talks) as memory:
        assert brought(memory, "skew") == [("03", "skew now"), ("01", "skew")]


def test_a_change_that_was_refused_is_none(folder: Path) -> None:
    with remembered(folder, edited(1, ("a", "skew"), failed=True), edited(2, ("a", "skew"))) as memory:
        assert brought(memory, "skew") == [("02", "skew")]
        assert [each.session.facts.id[7] for each in memory.blame("gauge.py")] == ["2"]


def test_the_same_change_counts_once(folder: Path) -> None:
    talks = edited(1, ("a", "skew"), ("a", "skew")), edited(2, ("skew", "b")), edited(3, ("a", "skew"))
    with remembered(folder, *talks) as memory:
        assert brought(memory, "skew") == [("01", "skew")]
        assert [each.changes for each in memory.blame("gauge.py")] == [1, 1, 1]


def test_files_of_one_name_are_told_apart(folder: Path) -> None:
    other = "/home/ada/harbor/old/gauge.py"
    talks = edited(1, ("a", "skew"), path=other), edited(2, ("b", "skew too"))
    with remembered(folder, *talks) as memory:
        assert brought(memory, "skew") == [("02", "skew too"), ("01", "skew")]
        (found,) = memory.blame(PATH, words="skew")
        assert found.edits[0].new == "skew too"


def test_a_patch_and_many_edits_tell_what_they_change(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("patch it")
    update = "*** Update File: gauge.py\n@@ def f\n kept\n-old\n+skew"
    talk.call("apply_patch", "ok", input=f"*** Begin Patch\n{update}\n*** Add File: b.py\n+b\n*** End Patch")
    many = [{"old_string": "x", "new_string": "y"}, {"old_string": "p", "new_string": "width"}]
    talk.call("MultiEdit", "ok", file_path=PATH, edits=many)
    with remembered(folder, talk) as memory:
        (found,) = memory.blame("gauge.py", words="skew")
        assert [(each.path, each.old, each.new) for each in found.edits] == [
            ("gauge.py", "kept\nold", "kept\nskew")
        ]
        (found,) = memory.blame("gauge.py", words="width")
        assert [(each.old, each.new) for each in found.edits] == [("x", "y"), ("p", "width")]


def test_each_file_of_a_patch_is_looked_at_alone(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("patch both")
    files = "*** Update File: a/gauge.py\n skew\n+more\n*** Update File: b/gauge.py\n-x\n+skew\n"
    talk.call("apply_patch", "ok", input=f"*** Begin Patch\n{files}*** End Patch")
    with remembered(folder, talk) as memory:
        assert len(memory.blame("gauge.py", words="skew")) == 1
        assert memory.blame("a/gauge.py", words="skew") == []
