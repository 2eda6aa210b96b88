"""Blame names the sessions that read or changed a file, and what was asked of them."""

from __future__ import annotations

from pathlib import Path

from tests.support.claude_talk import Talk
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
