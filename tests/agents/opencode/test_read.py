"""OpenCode's sessions read back: as it goes on with them, at an entry, before a compaction, taken back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.support import DATA
from tests.support.databases import make_database, written
from tests.support.memories import open_memory

from recollect.export.read import conversation, messages_of
from recollect.memory import Memory
from recollect.values.conversation import Block, Conversation
from recollect.values.errors import NotFound
from recollect.values.records import HIDDEN

BEFORE = [
    ("user", "text", "Why does the crane stop at noon?"),
    ("user", "text", "Called the Read tool with the following input: {}"),
    ("user", "image", "AAAA"),
    ("assistant", "thinking", "Look at the clock first."),
    ("assistant", "text", "Let me look at its clock."),
    ("assistant", "tool_use", "bash"),
    ("assistant", "tool_use", "bash"),
    ("assistant", "tool_use", "edit"),
    ("assistant", "tool_use", "task"),
    ("user", "tool_result", "12:00\n"),
    ("user", "tool_result", "no rule to make crane\n"),
    ("user", "tool_result", "The user rejected permission to use this specific tool call."),
    ("user", "tool_result", "In May."),
]
SUMMARY = ("user", "text", "The crane stops at noon by its clock.")


def of(block: Block) -> str:
    body = block.body
    if block.type == "image":
        return str(body["source"]["data"])
    if block.type == "tool_result":
        return str(body["content"][0]["text"])
    return str(body.get("text") or body.get("thinking") or body.get("name"))


def told(made: Conversation) -> list[tuple[str, str, str]]:
    return [(each.role, block.type, of(block)) for each in made.messages for block in each.blocks]


def read(memory: Memory, session: str = "ses_pier", **how: object) -> Conversation:
    with memory.view() as view:
        return conversation(view, view.find_session(session), **how)  # type: ignore[arg-type]


@pytest.fixture
def own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The database where OpenCode has it, so that what it says is this person's own."""
    monkeypatch.setenv("HOME", str(folder))
    return make_database(folder / ".local/share/opencode/opencode.db")


def test_a_session_goes_on_behind_its_last_compaction(folder: Path, own: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([own])
        made = read(memory)
        assert told(made) == [SUMMARY]
        assert made.messages[0].note
        assert made.left_out["message before a compaction"] == 3
        before = read(memory, before_compaction=True)
        assert told(before)[: len(BEFORE)] == BEFORE
        with pytest.raises(NotFound, match="never compacted"):
            read(memory, "ses_crane", before_compaction=True)


def test_it_ends_at_the_entry_that_is_named(folder: Path, own: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([own])
        with memory.view() as view:
            entries = {each.entry.text: each.id for each in view.entries(view.find_session("ses_pier"))}
        at = BEFORE.index(("assistant", "text", "Let me look at its clock."))
        assert told(read(memory, until=entries["Let me look at its clock."])) == BEFORE[: at + 1]


def test_what_was_taken_back_is_left_out(folder: Path, own: Path) -> None:
    with written(own) as client:
        client.execute("ALTER TABLE session ADD COLUMN revert text")
        client.execute(
            "UPDATE session SET revert = ? WHERE id = 'ses_pier'", (json.dumps({"messageID": "msg_3"}),)
        )
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([own])
        made = read(memory)
        assert told(made) == BEFORE
        assert made.left_out["message that was taken back"] == 2


def test_each_entry_alone_is_the_message_it_is_of(folder: Path, own: Path) -> None:
    shutil.copy(DATA / "opencode/exported.json", own.parent / "s.json")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([own.parent])
        with memory.view() as view:
            for session, expected in (("ses_pier", BEFORE), ("ses_buoy", told(read(memory, "ses_buoy")))):
                shown = [e for e in view.entries(view.find_session(session)) if not e.entry.flags & HIDDEN]
                found = [message for each in shown for message in messages_of(view, [each.row])]
                parts = {(each.role, block.type, of(block)) for each in found for block in each.blocks}
                assert set(expected) <= parts


def test_a_document_and_the_older_storage_read_the_same_way(folder: Path) -> None:
    shutil.copy(DATA / "opencode/exported.json", folder / "s.json")
    shutil.copytree(DATA / "opencode/storage", folder / "storage")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder / "s.json", folder / "storage"])
        assert [each[::2] for each in told(read(memory, "ses_buoy"))] == [
            ("user", "Where did the buoy go?"),
            ("assistant", "grep"),
            ("assistant", "South, with the tide — says the log."),
            ("user", "log.md: south"),
        ]
        assert [each[::2] for each in told(read(memory, "ses_quay"))] == [
            ("user", "Which paint is on the quay?"),
            ("assistant", "Tar, says the ledger."),
        ]
