"""ChatGPT's exports. The fixtures are invented, their shape from public descriptions: none was asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support import DATA
from tests.support.memories import open_memory, sources_of

from recollect.agents.chatgpt.agent import AGENT as CHATGPT
from recollect.agents.chatgpt.export import identity
from recollect.agents.head import Head
from recollect.testing.agents import AgentContract, head_of
from recollect.values.records import Entry, Flag, Kind, SourceFile

FOLDER = DATA / "chatgpt"
TIDES, BOAT, ERROR = (f"6800000{end}-0000-4000-8000-000000000000" for end in "abc")


class TestChatgpt(AgentContract):
    agent = CHATGPT
    fixtures = FOLDER
    envelopes = (
        {"message": {"author": {"role": "soothsayer"}}},
        {"message": {"author": {"role": "user"}, "content": {"content_type": "soothsayer"}}},
    )


def told(folder: Path, session: str, path: Path = FOLDER / "conversations.json") -> list[Entry]:
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([path])
        assert report.unknown_types == {}
        with memory.view() as view:
            return [each.entry for each in view.entries(view.find_session(session))]


def test_a_conversation_is_told_in_order(folder: Path) -> None:
    entries = told(folder, TIDES)
    assert [(entry.kind.name, entry.tool, entry.text) for entry in entries] == [
        ("CONTEXT", "", "I keep a harbor.\nAnswer briefly."),
        ("PROMPT", "", "When is the next high tide in the harbor?"),
        ("IMAGE", "", ""),
        ("CONTEXT", "", "tides.csv"),
        ("THOUGHT", "", "Reading the table\nThe table has a column for noon."),
        ("EVENT", "", "Thought for 4 seconds"),
        ("CALL", "python", '{"code":"print(tides[\'noon\'])"}'),
        ("RESULT", "python", "KeyError: 'noon'"),
        ("CALL", "python", '{"code":"print(tides.max())"}'),
        ("RESULT", "python", "14:20"),
        ("IMAGE", "python", ""),
        ("CALL", "web.run", '{"search_query":[{"q":"tides harbor"}]}'),
        ("RESULT", "web.run", ""),
        ("RESULT", "web.run", "Tides\nhttps://example.invalid/tides\nHigh water at 14:20."),
        ("ANSWER", "", "High tide is at 14:20, as the table and the page say."),
    ]
    calls = [entry.call for entry in entries if entry.call]
    assert [calls.index(call) for call in calls] == [0, 0, 2, 2, 2, 5, 5, 5]
    assert [entry.text for entry in entries if entry.flags & Flag.ERROR] == ["KeyError: 'noon'"]
    assert entries[1].time_ms == 1_772_442_002_000


def test_only_the_branch_that_goes_on_is_shown(folder: Path) -> None:
    assert [(entry.kind.name, entry.text) for entry in told(folder, BOAT)] == [
        ("PROMPT", "Name my red boat."),
        ("ANSWER", "Call it Poppy."),
        ("PROMPT", "Poppy it is. Write a plate for it."),
        ("CALL", '{"name":"plate","type":"document","content":"POPPY"}'),
        ("RESULT", "Successfully created text document"),
        ("ANSWER", "The plate says POPPY."),
    ]


def test_messages_that_stand_in_any_order_are_told_in_theirs(folder: Path) -> None:
    talk = json.loads((FOLDER / "conversations.json").read_bytes())[0]
    talk["mapping"] = dict(reversed(talk["mapping"].items()))
    (folder / "turned.json").write_text(json.dumps(talk))
    kinds = [entry.kind for entry in told(folder, TIDES, folder / "turned.json")]
    (folder / "other").mkdir()
    assert kinds == [entry.kind for entry in told(folder / "other", TIDES)]


def test_one_that_does_not_say_where_it_goes_on_shows_all(folder: Path) -> None:
    talk = json.loads((FOLDER / "conversations.json").read_bytes())[1]
    del talk["current_node"]
    (folder / "talk.json").write_text(json.dumps(talk))
    texts = [entry.text for entry in told(folder, BOAT, folder / "talk.json")]
    assert {"Call it Ember.", "Call it Poppy."} < set(texts)


def test_a_session_has_title_times_and_model_and_no_project(folder: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([FOLDER])
        with memory.view() as view:
            facts = view.find_session(TIDES).facts
            knots = view.find_session("6800000d-0000-4000-8000-000000000000").facts
            error = [each.entry for each in view.entries(view.find_session(ERROR))]
        kept = sources_of(memory)
    assert (facts.title, facts.model, facts.project, facts.cwd) == (
        "High tide in the harbor",
        "gpt-5-thinking",
        "",
        "",
    )
    assert (facts.started_ms, facts.ended_ms) == (1_772_442_000_000, 1_772_442_012_000)
    assert (knots.title, knots.model) == ("Knots for a mooring line", "gpt-4")
    assert [(each.kind, each.flags) for each in error] == [(Kind.EVENT, Flag.ERROR)]
    listed = [json.loads(kept[f"chatgpt:{id_}"]) for id_ in (TIDES, BOAT, ERROR)]
    assert listed == json.loads((FOLDER / "conversations.json").read_bytes())
    assert kept["chatgpt:6800000d-0000-4000-8000-000000000000"] == (FOLDER / "one.json").read_bytes().rstrip()


@pytest.mark.parametrize(
    "content",
    [
        b'[{"id":"1","title":"t","is_anonymous":true}]',
        b'{"title":"a map","mapping":{"a":"b"}}',
        b'{"deep":{"title":"t","mapping":{"a":{"message":1}}}}',
        b'[{"uuid":"1","chat_messages":[{"text":"the \\"mapping\\": {"}]}]',
    ],
)
def test_what_only_looks_like_an_export_is_none(content: bytes) -> None:
    assert CHATGPT.recognise(Path("conversations.json"), Head(lambda: content)) is None


def test_a_part_of_an_export_has_any_name() -> None:
    for name in ("conversations-017.json", "chats (2).JSON"):
        found = CHATGPT.recognise(Path(name), head_of(FOLDER / "conversations.json"))
        assert isinstance(found, SourceFile)


def test_what_says_no_id_is_no_conversation() -> None:
    assert identity({"mapping": {}}) is None
    assert identity({"id": "1", "mapping": []}) is None
    assert identity({"id": "1", "mapping": {}, "update_time": float("nan")}) == ("1", 0)
