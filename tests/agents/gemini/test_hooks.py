"""What Gemini CLI tells a hook, and which of its files are followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.agents.gemini import hooks

CHATS = "/h/.gemini/tmp/harbor/chats"


@pytest.mark.parametrize(
    ("told", "known"),
    [
        ("BeforeAgent", "UserPromptSubmit"),
        ("AfterAgent", "Stop"),
        ("PreCompress", "PreCompact"),
        ("SessionStart", "SessionStart"),
        ("SessionEnd", "SessionEnd"),
        (["BeforeAgent"], ""),
    ],
)
def test_an_event_has_the_name_that_others_have_for_it(told: object, known: str) -> None:
    payload = {"hook_event_name": told, "transcript_path": "/x"}
    assert hooks.heard(payload, "/h", {}) == {"hook_event_name": known, "transcript_path": "/x"}


def test_only_a_log_is_followed_and_a_subagents_belongs_to_its_session() -> None:
    chat = f"{CHATS}/session-2026-06-01T09-00-bbbb2222.jsonl"
    assert hooks.place(chat) == (1, 1, "", "")
    assert hooks.place(f"{CHATS}/bbbb2222-0/scout.jsonl") == (2, 1, "scout", "bbbb2222-0")
    assert hooks.transcript_of(chat) == chat
    for other in (f"{CHATS}/session-1.json", "/h/.gemini/tmp/harbor/logs.jsonl", f"{CHATS}/notes.jsonl"):
        assert hooks.place(other) is None
        assert hooks.transcript_of(other) == ""


def test_the_chats_of_subagents_lie_in_the_folder_of_their_session(tmp_path: Path) -> None:
    chats = tmp_path / "chats"
    mine, others = chats / "bbbb2222-0000", chats / "cccc3333-0000"
    for folder in (mine, others):
        folder.mkdir(parents=True)
        (folder / "scout.jsonl").touch()
        (folder / "notes.txt").touch()
    chat = chats / "session-2026-06-01T09-00-bbbb2222.jsonl"
    assert list(hooks.beside(str(chat))) == [str(mine / "scout.jsonl")]
    assert list(hooks.beside("/nowhere/session-x.jsonl")) == []
