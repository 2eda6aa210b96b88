"""OpenCode's sessions as rows, files and documents. The fixtures are invented; their shapes are real."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.support import DATA, corpus
from tests.support.databases import fixture_folder, make_database, written
from tests.support.memories import open_memory, sources_of

from recollect.agents.opencode.agent import AGENT as OPENCODE
from recollect.memory import Memory
from recollect.testing.agents import AgentContract
from recollect.values.records import Flag, Kind, Relation, SessionFacts
from recollect.values.stored import StoredEntry

FOLDER = DATA / "opencode"


class TestOpenCode(AgentContract):
    agent = OPENCODE
    fixtures = fixture_folder()
    envelopes = (
        {"table": "part", "key": "x", "version": 1, "row": {"data": '{"type":"soothsayer"}'}},
        {"table": "message", "key": "x", "version": 1, "row": {"data": '{"role":"soothsayer"}'}},
        {"table": "session_message", "key": "x", "version": 1, "row": {"type": "soothsayer", "data": "{}"}},
        {"table": "soothsayer", "key": "x", "version": 1, "row": {}},
        {"soothsayer": 1},
    )


def shown(memory: Memory, session: str) -> list[StoredEntry]:
    with memory.view() as view:
        return list(view.entries(view.find_session(session)))


def facts_of(memory: Memory, session: str) -> SessionFacts:
    with memory.view() as view:
        return view.find_session(session).facts


def told(entries: list[StoredEntry]) -> list[tuple[str, str]]:
    """What is not mere bookkeeping."""
    return [(e.entry.kind.name, e.entry.text) for e in entries if e.entry.kind is not Kind.EVENT]


PIER = [
    ("PROMPT", "Why does the crane stop at noon?"),
    ("CONTEXT", "Called the Read tool with the following input: {}"),
    ("IMAGE", ""),
    ("CONTEXT", "src/crane.py"),
    ("THOUGHT", "Look at the clock first."),
    ("ANSWER", "Let me look at its clock."),
    ("CALL", '{"command":"cat clock.txt","description":"Shows the clock"}'),
    ("RESULT", "12:00\n"),
    ("CALL", '{"command":"make crane"}'),
    ("RESULT", "no rule to make crane\n"),
    ("CALL", '{"filePath":"/code/harbor/src/crane.py","oldString":"noon","newString":"never"}'),
    ("RESULT", "The user rejected permission to use this specific tool call."),
    ("CALL", '{"description":"ask the crane","prompt":"When was it oiled?","subagent_type":"general"}'),
    ("RESULT", "In May."),
    ("CALL", '{"filePath":"/code/harbor/oil.md"}'),
    ("CONTEXT", "/review the oil"),
    ("SUMMARY", "The crane stops at noon by its clock."),
]


# -- a database ------------------------------------------------------------------------------------


def test_a_session_of_a_database_is_told_in_order(folder: Path) -> None:
    make_database(folder / "opencode" / "opencode.db")
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([folder / "opencode"])
        entries = shown(memory, "ses_pier")
        pier, crane = (facts_of(memory, id_) for id_ in ("ses_pier", "ses_crane"))
        assert memory.check() == []
    assert report.unknown_types == {}
    assert told(entries) == PIER
    assert [e.entry.tool for e in entries if e.entry.flags & Flag.ERROR and e.entry.tool] == ["bash", "edit"]
    assert [e.entry.text for e in entries if e.entry.flags & Flag.ERROR and not e.entry.tool] == [
        "MessageAbortedError: The operation was aborted.",
        "APIError: overloaded",
    ]
    calls = [e.entry.call for e in entries if e.entry.kind is Kind.CALL]
    assert len(set(calls)) == len(calls), "two calls that the client gave one id are two"
    assert (pier.title, pier.cwd, pier.slug) == ("Why the crane stops", "/code/harbor", "neon-pier")
    assert (pier.model, pier.version) == ("tide-1", "1.18.33")
    assert (crane.parent, crane.relation) == ("ses_pier", Relation.SUBAGENT)
    assert crane.title == "When was it oiled?"


def test_what_steps_cost_is_counted_once(folder: Path) -> None:
    make_database(folder / "opencode" / "opencode.db")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder / "opencode"])
        with memory.view() as view:
            usage = view.usage()
    columns = (usage.input, usage.output, usage.cache_read, usage.cache_write_5m, usage.reasoning)
    assert [column.tolist() for column in columns] == [[1034], [56], [200], [10], [7]]


def test_nothing_of_accounts_is_read(folder: Path) -> None:
    make_database(folder / "opencode" / "opencode.db")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder / "opencode"])
        with memory.view() as view:
            lines = b"".join(line.data for source in view.sources() for line in view.lines(source))
    assert b"crane" in lines
    assert b"token-that-nobody-reads" not in lines


def test_a_part_that_goes_on_takes_the_place_of_what_it_was(folder: Path) -> None:
    path = make_database(folder / "opencode" / "opencode.db")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([path])
        with written(path) as client:
            data = {"type": "tool", "tool": "read", "callID": "call_5"}
            data["state"] = {
                "status": "completed",
                "input": {"filePath": "/code/harbor/oil.md"},
                "output": "May",
            }
            client.execute(
                "UPDATE part SET data = ?, time_updated = 1790000009100 WHERE id = 'prt_20'",
                (json.dumps(data),),
            )
            client.execute("UPDATE event_sequence SET seq = 42 WHERE aggregate_id = 'ses_pier'")
        report = memory.ingest([path])
        entries = shown(memory, "ses_pier")
        assert memory.check() == []
    assert report.lines == 1
    at = PIER.index(("CALL", '{"filePath":"/code/harbor/oil.md"}'))
    assert told(entries) == [*PIER[: at + 1], ("RESULT", "May"), *PIER[at + 1 :]]


# -- files and documents ---------------------------------------------------------------------------


def test_the_older_storage_is_one_session(folder: Path) -> None:
    shutil.copytree(FOLDER / "storage", folder / "storage")
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([folder / "storage"])
        session = facts_of(memory, "ses_quay")
        entries = shown(memory, "ses_quay")
        with memory.view() as view:
            assert view.usage().output.tolist() == [5]
    assert report.unknown_types == {}
    assert told(entries) == [("PROMPT", "Which paint is on the quay?"), ("ANSWER", "Tar, says the ledger.")]
    assert session.title == "Paint for the quay"
    assert session.cwd == "/code/harbor"


def test_an_exported_session_is_cut_into_its_messages(folder: Path) -> None:
    shutil.copy(FOLDER / "exported.json", folder / "s.json")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder / "s.json"])
        entries = shown(memory, "ses_buoy")
        session = facts_of(memory, "ses_buoy")
        assert sources_of(memory) == {str(folder / "s.json"): (folder / "s.json").read_bytes()}
    assert told(entries) == [
        ("PROMPT", "Where did the buoy go?"),
        ("CALL", '{"pattern":"buoy"}'),
        ("RESULT", "log.md: south"),
        ("ANSWER", "South, with the tide — says the log."),
    ]
    assert session.title == "A buoy adrift"


def test_a_session_that_was_moved_into_the_database_is_shown_once(folder: Path) -> None:
    """OpenCode 1.2 copied what it had into a database and left the files."""
    shutil.copytree(FOLDER / "storage", folder / "opencode" / "storage")
    path = make_database(folder / "opencode" / "opencode.db")
    with written(path) as client:
        client.execute(
            "INSERT INTO session VALUES ('ses_quay', 'global', NULL, 'q', '/code/harbor',"
            " 'Paint for the quay', '1.2.0', 0, 0, 1760000000000, 1760000005000)"
        )
        for id_ in ("msg_q1", "msg_q2"):
            told_ = json.loads((FOLDER / f"storage/message/ses_quay/{id_}.json").read_text())
            data = json.dumps({k: v for k, v in told_.items() if k not in ("id", "sessionID")})
            client.execute("INSERT INTO message VALUES (?, 'ses_quay', ?, 0, ?)", (id_, 1760000000100, data))
        for id_, parent in (("prt_q1", "msg_q1"), ("prt_q2", "msg_q2"), ("prt_q3", "msg_q2")):
            told_ = json.loads((FOLDER / f"storage/part/{parent}/{id_}.json").read_text())
            data = json.dumps({k: v for k, v in told_.items() if k not in ("id", "sessionID", "messageID")})
            row = (id_, parent, "ses_quay", 1760000000200, 1760000000200, data)
            client.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder / "opencode"])
        entries = shown(memory, "ses_quay")
        with memory.view() as view:
            assert sorted(view.usage().output.tolist()) == [5, 56]
    assert told(entries) == [("PROMPT", "Which paint is on the quay?"), ("ANSWER", "Tar, says the ledger.")]


def test_every_document_of_the_corpus_is_known(folder: Path) -> None:
    logs = corpus("opencode")
    if logs is None:
        pytest.skip("there is no folder of real logs here")
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([logs])
        sessions = memory.sessions()
    assert report.sources == report.changed > 0
    assert report.unknown_types == {}
    assert report.bad == 0
    assert len(sessions) == report.sources
    assert all(session.facts.cwd and session.facts.title for session in sessions)
