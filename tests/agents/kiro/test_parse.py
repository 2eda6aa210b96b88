"""Kiro's sessions. The fixtures are invented, their shapes from public test data: no client was run."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import DATA
from tests.support.databases import fixture_folder, make_database, written
from tests.support.memories import open_memory, sources_of

from recollect.agents.kiro import database as kept_rows
from recollect.agents.kiro.agent import AGENT as KIRO
from recollect.memory import Memory
from recollect.testing.agents import JSON, AgentContract, assert_resumes, assert_well_formed, mutated
from recollect.values.records import Flag, Framing, Kind, Relation, SourceFile

FOLDER = DATA / "kiro"
SESSION = "0b5376f2-7e2f-4981-bcbc-671955866000"
NETS, QUAY = "0b400000-0000-4000-8000-00000000a012", "0a400000-0000-4000-8000-00000000a011"


class TestKiro(AgentContract):
    agent = KIRO
    fixtures = fixture_folder("kiro")
    envelopes = (
        {"kind": "soothsayer"},
        {"kind": "Prompt", "data": {"content": [{"kind": "soothsayer"}]}},
        {"soothsayer": 1},
        {"table": "soothsayer", "key": "x", "version": 1, "row": {}},
        {"table": "conversations/turn", "key": "x", "version": 1, "row": {"value": '{"soothsayer":1}'}},
        {
            "table": "conversations/turn",
            "key": "x",
            "version": 1,
            "row": {"value": '{"user":{"content":{"soothsayer":{}}},"assistant":{}}'},
        },
    )


def test_a_session_is_told_in_order_and_its_document_says_the_rest(folder: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([FOLDER / "sessions"])
        with memory.view() as view:
            facts = view.find_session(SESSION).facts
            entries = [each.entry for each in view.entries(view.find_session(SESSION))]
    assert report.unknown_types == {}
    assert [(entry.kind.name, entry.text) for entry in entries if entry.kind is not Kind.EVENT] == [
        ("PROMPT", "Who mends the nets?"),
        ("IMAGE", ""),
        ("THOUGHT", "Ask the list."),
        ("ANSWER", "I look."),
        ("CALL", '{"command":"cat nets"}'),
        ("CALL", '{"path":"nets.md"}'),
        ("CALL", '{"command":"mend"}'),
        ("RESULT", "Ada\n"),
        ("RESULT", "no such file"),
        ("RESULT", "no needle"),
        ("ANSWER", "Ada does."),
    ]
    results = [entry for entry in entries if entry.kind is Kind.RESULT]
    assert [entry.tool for entry in results if entry.flags & Flag.ERROR] == ["fs_read", "shell"]
    assert [entry.call for entry in results] == [e.call for e in entries if e.kind is Kind.CALL]
    assert (facts.title, facts.cwd, facts.model) == ("Nets", "/code/harbor", "tide-1")
    assert facts.parent == "98cb06e6-28da-4ba8-8ebe-be6bf1684000"
    assert facts.relation is Relation.SUBAGENT
    assert entries[0].time_ms == 1780841667000


# -- its database ----------------------------------------------------------------------------------


def told(memory: Memory, session: str) -> list[tuple[str, str]]:
    with memory.view() as view:
        entries = [each.entry for each in view.entries(view.find_session(session))]
    return [(entry.kind.name, entry.text) for entry in entries if entry.kind is not Kind.EVENT]


TALK = [
    ("CONTEXT", "The tide is low."),
    ("PROMPT", "Who mends the nets of the harbor?"),
    ("IMAGE", ""),
    ("ANSWER", "I look."),
    ("CALL", '{"command":"cat nets"}'),
    ("CALL", '{"path":"nets.md"}'),
    ("RESULT", "no such file"),
    ("RESULT", "Ada mends\nthem."),
    ("CALL", '{"command":"create","path":"/code/harbor/nets.md","file_text":"Ada"}'),
    ("RESULT", "Tool use was cancelled by the user"),
    ("PROMPT", "Leave the file alone."),
    ("ANSWER", "Ada does."),
]


@pytest.fixture
def database(folder: Path) -> Path:
    return make_database(folder / "kiro-cli" / "data.sqlite3", "kiro/harbor.sql")


def test_conversations_of_the_database_are_told_turn_by_turn(folder: Path, database: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([database])
        with memory.view() as view:
            nets, quay = (view.find_session(id_).facts for id_ in (NETS, QUAY))
            entries = [each.entry for each in view.entries(view.find_session(NETS))]
        assert told(memory, NETS) == TALK
        assert told(memory, QUAY) == [
            ("PROMPT", "Which paint is on the quay?"),
            ("ANSWER", "Tar, says the ledger."),
        ]
        assert memory.check() == []
        kept = b"".join(sources_of(memory).values())
    assert report.unknown_types == {"conversations_v2": 1}, "one that is half a value"
    failed = [entry.tool for entry in entries if entry.flags & Flag.ERROR]
    assert failed == ["execute_bash", "fs_write"]
    assert (nets.title, nets.cwd, nets.model) == (
        "Who mends the nets of the harbor?",
        "/code/harbor",
        "tide-2",
    )
    assert (nets.started_ms, nets.ended_ms) == (1779012000000, 1779012060000)
    assert quay.cwd == "/code/quay"
    for never in (b"token-that-nobody-reads", b"not-read"):
        assert never not in kept


def test_of_a_turn_more_only_that_is_new_and_what_is_dropped_stays(folder: Path, database: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([database])
        assert memory.ingest([database]).lines == 0
        with written(database) as client:
            asked = "SELECT value FROM conversations_v2 WHERE conversation_id = ?"
            whole = json.loads(client.execute(asked, (NETS,)).fetchone()[0])
            answer = {"Response": {"message_id": "m-4", "content": "In June."}}
            user = {"content": {"Prompt": {"prompt": "Since when?"}}}
            whole["history"] = [*whole["history"], {"user": user, "assistant": answer}]
            put = (
                "UPDATE conversations_v2 SET value = ?, updated_at = updated_at + 1 WHERE conversation_id = ?"
            )
            client.execute(put, (_as_before(client, asked, whole), NETS))
        report = memory.ingest([database])
        assert report.lines == 1
        more = [("PROMPT", "Since when?"), ("ANSWER", "In June.")]
        assert told(memory, NETS) == [*TALK, *more]
        with written(database) as client:
            (value,) = client.execute(asked, (NETS,)).fetchone()
            first, second = value.index('{"user":{"additional'), value.index(' {"user":{"content":{"ToolUse')
            client.execute(put, (value[:first] + value[second:], NETS))
        memory.ingest([database])
        assert told(memory, NETS) == [*TALK, *more]


def _as_before(client: sqlite3.Connection, asked: str, whole: dict[str, Any]) -> str:
    """The value with one more turn, everything else of it byte for byte as it was."""
    (value,) = client.execute(asked, (NETS,)).fetchone()
    turn = json.dumps(whole["history"][-1])
    return str(value).replace('"request_metadata":null}]', f'"request_metadata":null}},{turn}]')


def test_another_database_of_its_name_holds_nothing(folder: Path) -> None:
    path = folder / "kiro-cli" / "data.sqlite3"
    path.parent.mkdir()
    with written(path) as client:
        client.execute("CREATE TABLE other (a, b)")
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([path])
        assert (report.failed, memory.sessions()) == ({}, [])


def fixture_turns() -> list[object]:
    """Every turn of the fixtures."""
    with sqlite3.connect(":memory:") as client:
        client.executescript((FOLDER / "harbor.sql").read_text())
        values = [value for (value,) in client.execute("SELECT value FROM conversations_v2 ORDER BY rowid")]
        values += [value for (value,) in client.execute("SELECT value FROM conversations")]
    client.close()
    return [turn for value in values if value.endswith("}") for turn in json.loads(value)["history"]]


TURNS = fixture_turns()
ROWS = SourceFile("kiro", "/x/data.sqlite3#a", framing=Framing.ROWS, session="a")


@given(data=st.data())
def test_a_turn_with_anything_in_it_parses(data: st.DataObject) -> None:
    parser = KIRO.parser(ROWS, {})
    for n, turn in enumerate(data.draw(st.lists(st.sampled_from(TURNS), min_size=1, max_size=4))):
        value = json.dumps(mutated(data, turn))
        row = {"table": "conversations/turn", "key": f"a {n}", "version": 1, "row": {"value": value}}
        assert_well_formed(parser.parse(row))
    assert_resumes(KIRO, ROWS, parser.state())


@given(value=JSON.map(json.dumps) | st.text(max_size=40) | st.binary(max_size=40) | st.none())
def test_any_value_is_kept_in_all_its_pieces(value: object) -> None:
    with sqlite3.connect(":memory:") as client:
        client.execute("CREATE TABLE conversations_v2 (key, conversation_id, value, created_at, updated_at)")
        told = json.dumps({"conversation_id": "a", "history": [value] * 3}) if type(value) is str else value
        client.execute("INSERT INTO conversations_v2 VALUES ('/x', 'a', ?, 1, 2)", (told,))
        [(session, _)] = kept_rows.sessions(client)
        rows = [kept_rows.row(client, table, key) for table, key, _ in kept_rows.rows(client, session)]
    client.close()
    data = told.encode() if isinstance(told, str) else told or b""
    pieces = "".join(row["value"] for row in rows if row).encode("utf-8", "surrogateescape")
    assert sorted(pieces) == sorted(data)
