"""Cursor's conversations. The fixtures are invented, their shapes from public readers: no client was run."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from tests.support import DATA
from tests.support.databases import CURSOR_CHAT, fixture_folder, make_database
from tests.support.memories import open_memory

from recollect.agents.cursor.agent import AGENT as CURSOR
from recollect.agents.cursor.tools import edited
from recollect.config import Config
from recollect.memory import Memory
from recollect.setup.agents import commands_of
from recollect.testing.agents import AgentContract, head_with
from recollect.values.records import Flag, Kind, Relation, SessionFacts
from recollect.values.stored import StoredEntry

TRANSCRIPT = "transcript-7a400000-0000-4000-8000-00000000beef"
SENT = "transcript-5b400000-0000-4000-8000-0000000000aa"
TEXT = "transcript-0c400000-0000-4000-8000-0000000000bb"


def _row(table: str, key: str, **row: object) -> dict[str, object]:
    return {"table": table, "key": key, "version": 1, "row": row}


class TestCursor(AgentContract):
    agent = CURSOR
    fixtures = fixture_folder("cursor")
    envelopes = (
        _row("cursorDiskKV", "bubbleId:a:b", value='{"type":"soothsayer"}'),
        _row("cursorDiskKV", "composerData:a", value='{"conversation":[{"type":"soothsayer"}]}'),
        _row("cursorDiskKV", "soothsayer:a", value="{}"),
        _row("blobs", "b1", data='{"role":"soothsayer","content":""}'),
        _row("blobs", "b1", data='{"role":"user","content":[{"type":"soothsayer"}]}'),
        _row("ItemTable/tab", "t1", value='{"bubbles":[{"type":"soothsayer"}]}'),
        _row("soothsayer", "k"),
        {"role": "soothsayer", "message": {"content": []}},
        {"role": "user", "message": {"content": [{"type": "soothsayer"}]}},
        {"type": "soothsayer"},
        {"soothsayer": 1},
    )


@pytest.mark.parametrize(
    ("path", "records", "session"),
    [
        ("/x/talk.jsonl", [{"role": "user", "message": {"content": []}}], "transcript-talk"),
        ("/x/talk.jsonl", [{"role": "user", "message": {"content": []}, "uuid": "u"}], None),
        ("/x/talk.jsonl", [{"type": "turn_ended"}], None),
        ("/p/agent-transcripts/a.jsonl", [{"type": "turn_ended"}], "transcript-a"),
        ("/p/agent-transcripts/a/subagents/b.jsonl", [{"type": "error"}], "transcript-b"),
        ("/p/agent-tools/a.txt", [], None),
        ("/x/meta.json", [{"schemaVersion": 1}], None),
        ("/c/chats/1d/a/meta.json", [{"schemaVersion": 1}], "a"),
        ("/c/chats/1d/a/store.db", ["SQLite format 3"], None),
        ("/c/state.vscdb", ["SQLite format 3"], None),
    ],
)
def test_a_file_is_known_by_its_place_and_its_first_record(
    path: str, records: list[Any], session: str | None
) -> None:
    found = CURSOR.recognise(PurePosixPath(path), head_with(*records))
    assert (None if found is None else found.session) == session


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
    ("IMAGE", ""),
    ("THOUGHT", "Look at the clock first."),
    ("ANSWER", "Let me look at its clock."),
    ("CALL", '{"command":"cat clock.txt","cwd":""}'),
    ("RESULT", "12:00\n"),
    ("CALL", '{"command":"make crane"}'),
    ("RESULT", "no rule to make crane\n"),
    ("CALL", '{"command":"rm clock.txt"}'),
    ("RESULT", '{"output":"","rejected":true}'),
    ("CALL", '{"file_path":"/code/harbor/src/crane.py","old_string":"noon","new_string":"never"}'),
    ("RESULT", '{"beforeContentId":"composer.content.aa","afterContentId":"composer.content.bb"}'),
    ("CALL", '{"targetFile":"oil.md"}'),
    ("RESULT", "File not found"),
    ("CALL", '{"description":"ask the crane","prompt":"When was it oiled?"}'),
    ("RESULT", '{"agentId":"crane-0002"}'),
    ("PROMPT", "Then wind the clock.\nToday."),
    ("CALL", '{"command":"wind clock"}'),
]


def test_it_is_told_of_our_server_where_editor_and_command_line_look(folder: Path) -> None:
    commands = commands_of("cursor", Config(folder / "m.h5", "here", cache=folder / "cache"))
    settings = CURSOR.settings(commands, home=folder, environ={"CURSOR_CONFIG_DIR": "/x"}, folder=folder)
    [change] = settings.changes(hooks=True, mcp=True, project=False)
    assert change.path == folder / ".cursor" / "mcp.json"
    told = json.loads(change.after)["mcpServers"]["recollect"]
    assert [told["command"], *told["args"]] == list(commands.mcp)


# -- the editor ------------------------------------------------------------------------------------


def test_a_conversation_of_the_editor_is_told_in_its_own_order(folder: Path) -> None:
    path = make_database(folder / "state.vscdb", "cursor/harbor.sql")
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([path])
        entries = shown(memory, "pier-0001")
        pier, crane = (facts_of(memory, id_) for id_ in ("pier-0001", "crane-0002"))
        sent = shown(memory, "crane-0002")
        assert memory.check() == []
    assert report.unknown_types == {}
    assert told(entries) == PIER
    failed = [e.entry for e in entries if e.entry.flags & Flag.ERROR]
    assert [(entry.kind.name, entry.tool, entry.text) for entry in failed] == [
        ("RESULT", "run_terminal_command_v2", "no rule to make crane\n"),
        ("RESULT", "run_terminal_command_v2", '{"output":"","rejected":true}'),
        ("RESULT", "read_file_v2", "File not found"),
        ("EVENT", "", "The model is overloaded"),
    ]
    assert [e.entry.kind for e in entries if e.entry.flags & Flag.BOUNDARY] == [Kind.EVENT]
    assert {e.entry.model for e in entries if e.entry.kind is Kind.ANSWER} == {"tide-1"}
    assert (pier.title, pier.cwd, pier.branch) == ("Crane stops at noon", "/code/harbor", "main")
    assert (pier.model, pier.started_ms, pier.ended_ms) == ("tide-1", 1772442000000, 1772442013000)
    assert (crane.parent, crane.relation) == ("pier-0001", Relation.SUBAGENT)
    assert (crane.title, crane.cwd, crane.model) == ("Ask the crane", "/code/harbor", "tide-mini")
    assert told(sent) == [("CONTEXT", "When was it oiled?"), ("ANSWER", "In May — says the log.")]


def test_older_conversations_and_what_is_left_of_one_are_told(folder: Path) -> None:
    path = make_database(folder / "state.vscdb", "cursor/harbor.sql")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([path])
        ids = [session.facts.id for session in memory.sessions()]
        quay, buoy = (shown(memory, id_) for id_ in ("quay-0003", "buoy-0004"))
        assert facts_of(memory, "quay-0003").title == "Paint for the quay"
        assert facts_of(memory, "buoy-0004").cwd == "/code/harbor"
    assert sorted(ids) == ["buoy-0004", "crane-0002", "pier-0001", "quay-0003"], "an empty tab is none"
    assert told(quay) == [("PROMPT", "Which paint is on the quay?"), ("ANSWER", "Tar, says the ledger.")]
    assert {e.entry.time_ms for e in quay} == {1730000000000}
    assert told(buoy) == [("PROMPT", "Where did the buoy go?"), ("ANSWER", "South, with the tide.")]


def test_the_chats_of_a_window_are_a_session_each(folder: Path) -> None:
    path = make_database(folder / "state.vscdb", "cursor/tabs.sql")
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([path])
        nets, knots = (shown(memory, id_) for id_ in ("tab-0001", "tab-0002"))
        assert facts_of(memory, "tab-0001").title == "Nets and knots"
        again = memory.ingest([path])
    assert report.unknown_types == {}
    assert told(nets) == [("PROMPT", "Who mends the nets?"), ("ANSWER", "Ada does.")]
    assert told(knots) == [("PROMPT", "And the knots?")]
    assert (again.lines, again.changed) == (0, 0)


def test_the_folder_is_that_of_the_workspace_where_nothing_else_tells_it(folder: Path) -> None:
    place = folder / "Cursor" / "User"
    path = make_database(place / "globalStorage" / "state.vscdb", "cursor/harbor.sql")
    noted = place / "workspaceStorage" / "ws1" / "workspace.json"
    noted.parent.mkdir(parents=True)
    noted.write_text('{"folder":"file:///code/old%20harbor"}')
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([path])
        assert facts_of(memory, "pier-0001").cwd == "/code/old harbor"


def test_what_an_answer_cost_is_counted_once(folder: Path) -> None:
    path = make_database(folder / "state.vscdb", "cursor/harbor.sql")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([path])
        with memory.view() as view:
            usage = view.usage()
    assert [column.tolist() for column in (usage.input, usage.output)] == [[1034], [49]]


# -- the command line ------------------------------------------------------------------------------


def test_a_chat_of_the_command_line_is_told_in_the_order_of_its_last_tree(folder: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([fixture_folder("cursor") / "cursor" / "chats"])
        entries = shown(memory, CURSOR_CHAT)
        facts = facts_of(memory, CURSOR_CHAT)
        assert memory.check() == []
    assert report.unknown_types == {}
    assert told(entries) == [
        ("SUMMARY", "What was said: the log tells high water."),
        ("CONTEXT", "You are an agent in a terminal."),
        ("CONTEXT", "<user_info>\nOS: harbor\n</user_info>"),
        ("CONTEXT", "<timestamp>Monday</timestamp>"),
        ("PROMPT", "Read the log of the pier."),
        ("IMAGE", ""),
        ("THOUGHT", "The log first."),
        ("ANSWER", "I look."),
        ("CALL", '{"path":"/code/harbor/log.md"}'),
        ("CALL", '{"command":"tide"}'),
        ("RESULT", "high water at six"),
        ("RESULT", "Exit code: 127\n\ntide: not found"),
        ("THOUGHT", ""),
        ("ANSWER", "High water is at six."),
    ]
    results = [e.entry for e in entries if e.entry.kind is Kind.RESULT]
    assert [entry.tool for entry in results if entry.flags & Flag.ERROR] == ["Shell"]
    assert (facts.title, facts.cwd, facts.model) == ("The log of the pier", "/code/harbor", "tide-1")
    assert (facts.started_ms, facts.ended_ms) == (1772442000000, 1772442060000)


# -- transcripts -----------------------------------------------------------------------------------


def test_a_transcript_is_the_conversation_where_nothing_else_has_it(folder: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([DATA / "cursor" / "projects"])
        entries, sent = shown(memory, TRANSCRIPT), shown(memory, SENT)
        listed = {session.facts.id for session in memory.sessions()}
        facts, under = facts_of(memory, TRANSCRIPT), facts_of(memory, SENT)
        found = [hit.snippet.text for hit in memory.search("gulls").hits]
    assert report.unknown_types == {}
    assert told(entries) == [
        ("CONTEXT", "<user_info>\nOS: harbor\n</user_info>"),
        ("PROMPT", "Count the gulls."),
        ("ANSWER", "I count."),
        ("CALL", '{"command":"gulls --count"}'),
        ("CALL", '{"path":"/code/harbor/gulls.md","old_string":"ten","new_string":"twelve"}'),
        ("ANSWER", "Twelve gulls."),
        ("PROMPT", "And the terns?"),
    ]
    assert [e.entry.text for e in entries if e.entry.flags & Flag.ERROR] == [
        "Provider Error: upstream timeout",
        "error",
    ]
    assert not any(e.entry.flags & Flag.COPY for e in (*entries, *sent))
    assert (facts.title, facts.project) == ("Count the gulls.", "code-harbor")
    assert (under.relation, under.parent) == (Relation.SUBAGENT, TRANSCRIPT.removeprefix("transcript-"))
    assert {TRANSCRIPT, SENT, TEXT} <= listed
    assert found


def test_a_transcript_that_is_mere_text_is_told_as_far_as_its_marks_tell(folder: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([DATA / "cursor" / "projects"])
        entries = shown(memory, TEXT)
    assert told(entries) == [
        ("PROMPT", "Where is the key of the shed?"),
        ("THOUGHT", "On a hook, most likely."),
        ("ANSWER", "Let me look."),
        ("CALL", '{"pattern":"key","path":"/code/harbor"}'),
        ("RESULT", "shed.md: on the hook"),
        ("ANSWER", "On the hook behind the door."),
    ]


def test_a_transcript_of_a_conversation_that_is_there_is_a_copy_of_it(folder: Path) -> None:
    """Whichever comes first."""
    path = make_database(folder / "state.vscdb", "cursor/harbor.sql")
    copy = folder / "agent-transcripts" / "pier-0001.jsonl"
    copy.parent.mkdir()
    copy.write_text('{"role":"user","message":{"content":"Why does the crane stop at noon?"}}\n')
    for order in ([path, copy], [copy, path]):
        with open_memory(folder / f"{order[0].name}.h5") as memory:
            for each in order:
                memory.ingest([each])
            found = {hit.session.facts.id for hit in memory.search("why does the crane stop at noon").hits}
            entries = shown(memory, "transcript-pier-0001")
            listed = [session.facts.id for session in memory.sessions() if not session.copied]
        assert "pier-0001" in found
        assert "transcript-pier-0001" not in {*found, *listed}
        assert all(e.entry.flags & Flag.COPY for e in entries)


def test_what_becomes_of_a_file_is_known_of_every_form_of_call() -> None:
    for given, change in (
        ({"path": "a", "old_string": "x", "new_string": "y"}, ("a", "x", "y", False)),
        ({"path": "a", "contents": "all"}, ("a", "", "all", True)),
        ({"relativeWorkspacePath": "a", "streamingContent": "all"}, ("a", "", "all", True)),
    ):
        [found] = edited(json.dumps(given))
        assert (found.path, found.old, found.new, found.is_whole) == change
    for nothing in ("", "[]", '{"path":"a"}', '{"path":', '{"path":7,"contents":"x"}'):
        assert edited(nothing) == []


def test_blame_and_how_know_its_calls(folder: Path) -> None:
    path = make_database(folder / "state.vscdb", "cursor/harbor.sql")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([path])
        touched = memory.blame("src/crane.py")
        ran = memory.how("crane")
        met = memory.fix("no rule to make crane")
    assert [(each.session.facts.id, each.changes) for each in touched] == [("pier-0001", 1)]
    assert [(each.path, each.old, each.new) for each in touched[0].edits] == [
        ("/code/harbor/src/crane.py", "noon", "never")
    ]
    assert [(each.worked, each.failed) for each in ran if each.text == "make crane"] == [(0, 1)]
    assert [each.times for each in met] == [1]
