"""Claude.ai's exports. The fixtures are invented, their shape from descriptions: none was asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support import DATA
from tests.support.memories import open_memory, sources_of

from recollect.agents.claudeai.agent import AGENT as CLAUDEAI
from recollect.agents.claudeai.export import identity
from recollect.agents.head import Head
from recollect.testing.agents import AgentContract
from recollect.values.records import Entry, Flag

FOLDER = DATA / "claudeai"
LAMP, DEPTH, RHYME, EMPTY, ROPES = (f"9000000{end}-0000-4000-8000-000000000000" for end in "abcde")


class TestClaudeai(AgentContract):
    agent = CLAUDEAI
    fixtures = FOLDER
    envelopes = ({"sender": "soothsayer"}, {"sender": "human", "content": [{"type": "soothsayer"}]})


def told(folder: Path, session: str, path: Path = FOLDER / "conversations.json") -> list[Entry]:
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([path])
        assert report.unknown_types == {}
        with memory.view() as view:
            return [each.entry for each in view.entries(view.find_session(session))]


def test_a_conversation_is_told_in_order(folder: Path) -> None:
    entries = told(folder, LAMP)
    assert [(entry.kind.name, entry.tool, entry.text) for entry in entries] == [
        ("PROMPT", "", "Why does the harbor lamp flicker?"),
        ("CONTEXT", "", "Lamp on circuit 3."),
        ("IMAGE", "", ""),
        ("CONTEXT", "", "plan.pdf"),
        ("THOUGHT", "", "Circuit 3 also feeds the crane."),
        ("ANSWER", "", "I look that up."),
        ("CALL", "web_search", '{"query":"lamp flicker crane"}'),
        (
            "RESULT",
            "web_search",
            "Flicker\nhttps://example.invalid/flicker\nLarge motors pull the voltage down.",
        ),
        ("CALL", "repl", '{"code":"volts()"}'),
        ("RESULT", "repl", "volts is not defined"),
        ("IMAGE", "repl", ""),
        ("ANSWER", "", "The crane pulls the voltage down."),
    ]
    calls = [entry.call for entry in entries if entry.call]
    assert [calls.index(call) for call in calls] == [0, 0, 2, 2, 2]
    assert [entry.tool for entry in entries if entry.flags & Flag.ERROR] == ["repl"]


def test_a_message_of_an_older_export_is_its_text(folder: Path) -> None:
    assert [(entry.kind.name, entry.text) for entry in told(folder, DEPTH)] == [
        ("PROMPT", "How deep is the harbor?"),
        ("ANSWER", "Nine metres at low water."),
    ]


def test_a_branch_is_left_only_where_it_is_said_which_goes_on(folder: Path) -> None:
    assert [entry.text for entry in told(folder, RHYME)] == ["Rhyme with pier.", "Clear.", "Clear is good."]
    talk = json.loads((FOLDER / "conversations.json").read_bytes())[2]
    del talk["current_leaf_message_uuid"]
    (folder / "other").mkdir()
    (folder / "talk.json").write_text(json.dumps(talk))
    all_of_it = ["Rhyme with pier.", "Beer.", "Clear.", "Clear is good."]
    assert [entry.text for entry in told(folder / "other", RHYME, folder / "talk.json")] == all_of_it


def test_a_session_has_title_and_times_and_no_project(folder: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([FOLDER])
        with memory.view() as view:
            lamp, depth, empty = (view.find_session(id_) for id_ in (LAMP, DEPTH, EMPTY))
        kept = sources_of(memory)
    assert (lamp.facts.title, lamp.facts.project, lamp.facts.cwd) == ("Flickering harbor lamp", "", "")
    assert (lamp.facts.started_ms, lamp.facts.ended_ms) == (1_772_445_600_000, 1_772_445_602_500)
    assert depth.facts.headline == "How deep is the harbor?"
    assert empty.entries == 0
    listed = b"[" + b",".join(kept[f"claudeai:{id_}"] for id_ in (LAMP, DEPTH, RHYME, EMPTY)) + b"]"
    assert listed == (FOLDER / "conversations.json").read_bytes()
    assert kept[f"claudeai:{ROPES}"] == (FOLDER / "one.json").read_bytes().rstrip()


@pytest.mark.parametrize(
    "content",
    [
        b'[{"uuid":"1","full_name":"Ada"}]',
        b'[{"uuid":"1","name":"Harbor","docs":[{"content":"\\"chat_messages\\": ["}]}]',
        b'{"chat_messages":[]}',
    ],
)
def test_what_lies_beside_the_conversations_is_none(content: bytes) -> None:
    assert CLAUDEAI.recognise(Path("conversations.json"), Head(lambda: content)) is None


def test_what_says_no_id_is_no_conversation() -> None:
    assert identity({"chat_messages": []}) is None
    assert identity({"uuid": "1", "chat_messages": {}}) is None
    assert identity({"uuid": "1", "chat_messages": [], "updated_at": "soon"}) == ("1", 0)
