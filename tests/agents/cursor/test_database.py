"""Cursor's databases as its client changes them, and others of their names."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import DATA
from tests.support.databases import make_database, written
from tests.support.memories import open_memory, sources_of

from recollect.agents.cursor import database
from recollect.agents.cursor.agent import AGENT as CURSOR
from recollect.agents.cursor.blobs import tree_in
from recollect.agents.cursor.rows import value_in
from recollect.intake.databases import line_of
from recollect.memory import Memory
from recollect.testing.agents import JSON, assert_resumes, assert_well_formed, mutated
from recollect.values.records import Framing, Kind, SourceFile

PIER = "pier-0001"


def said(memory: Memory, session: str = PIER) -> list[str]:
    """What is shown of the talk, oldest first."""
    with memory.view() as view:
        entries = [each.entry for each in view.entries(view.find_session(session))]
    return [entry.text for entry in entries if entry.kind in (Kind.PROMPT, Kind.ANSWER, Kind.RESULT)]


def kept(memory: Memory) -> bytes:
    return b"".join(sources_of(memory).values())


def put(client: sqlite3.Connection, bubble: str, **fields: object) -> None:
    """A bubble as the client writes one: a row of its key that is there already is another row then."""
    told = {"_v": 3, "bubbleId": bubble, "createdAt": "2026-03-02T09:01:00.000Z", **fields}
    client.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (f"bubbleId:{PIER}:{bubble}", json.dumps(told)))


def listed(client: sqlite3.Connection, *bubbles: str, without: str = "") -> None:
    """The conversation with these bubbles at its end."""
    key = f"composerData:{PIER}"
    (value,) = client.execute("SELECT value FROM cursorDiskKV WHERE key = ?", (key,)).fetchone()
    told = json.loads(value)
    headers = [each for each in told["fullConversationHeadersOnly"] if each["bubbleId"] != without]
    told["fullConversationHeadersOnly"] = [*headers, *({"bubbleId": each, "type": 2} for each in bubbles)]
    client.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (key, json.dumps(told)))


@pytest.fixture
def state(folder: Path) -> Path:
    return make_database(folder / "state.vscdb", "cursor/harbor.sql")


# -- what is new -----------------------------------------------------------------------------------


def test_of_one_new_bubble_only_what_is_new_is_read(
    folder: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    row = database.row

    def counted(connection: sqlite3.Connection, table: str, key: str) -> object:
        read.append(key)
        return row(connection, table, key)

    monkeypatch.setattr(database, "row", counted)
    with open_memory(folder / "m.h5") as memory:
        first = memory.ingest([state])
        assert first.lines == len(read)
        read.clear()
        assert memory.ingest([state]).unchanged == 1
        assert read == []
        with written(state) as client:
            put(client, "g1-new", type=2, text="Wound, and it runs.")
            listed(client, "g1-new")
        report = memory.ingest([state])
        assert said(memory)[-1] == "Wound, and it runs."
        assert memory.check() == []
    assert read == [f"composerData:{PIER}", f"bubbleId:{PIER}:g1-new"]
    assert report.lines == 2


def test_a_bubble_that_goes_on_takes_the_place_of_what_it_was(folder: Path, state: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([state])
        with written(state) as client:
            call = {"name": "run_terminal_command_v2", "toolCallId": "toolu_7", "status": "completed"}
            call |= {"params": '{"command":"wind clock"}', "result": '{"output":"wound","exitCode":0}'}
            put(client, "w0-runs", type=2, text="", toolFormerData=call)
        assert memory.ingest([state]).lines == 1
        assert said(memory)[-1] == "wound"
        with memory.view() as view:
            calls = [e.entry for e in view.entries(view.find_session(PIER)) if e.entry.kind is Kind.CALL]
    assert [entry.text for entry in calls].count('{"command":"wind clock"}') == 1


def test_a_change_under_the_same_number_is_seen(folder: Path, state: Path) -> None:
    """The last row, taken away and put back, is given its number again; any other is told by its length."""
    with open_memory(folder / "m.h5") as memory:
        rowids = []
        for text in ("Wound in May.", "Wound at six."):
            with written(state) as client:
                client.execute("DELETE FROM cursorDiskKV WHERE key LIKE '%w0-runs'")
                client.execute("DELETE FROM cursorDiskKV WHERE rowid >= 20 AND key NOT LIKE '%pier%'")
                put(client, "w0-runs", type=2, text=text)
                rowids += client.execute("SELECT max(rowid) FROM cursorDiskKV").fetchone()
                client.execute("UPDATE composerHeaders SET lastUpdatedAt = lastUpdatedAt + 1")
            memory.ingest([state])
            assert said(memory)[-1] == text
        assert len(set(rowids)) == 1
        with written(state) as client:
            client.execute(
                "UPDATE cursorDiskKV SET value = replace(value, 'its clock', 'the clock of it')"
                " WHERE key LIKE '%z3-answer'"
            )
            client.execute("UPDATE composerHeaders SET lastUpdatedAt = lastUpdatedAt + 1")
        memory.ingest([state])
        assert "Let me look at the clock of it." in said(memory)


def test_a_turn_that_was_made_anew_is_kept_and_shown_no_more(folder: Path, state: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([state])
        assert "It is the tide, I guess." not in said(memory), "it was left before it was first seen"
        assert "Let me look at its clock." in said(memory)
        with written(state) as client:
            listed(client, without="z3-answer")
        memory.ingest([state])
        assert "Let me look at its clock." not in said(memory)
        assert b"Let me look at its clock." in kept(memory)
        assert b"It is the tide, I guess." in kept(memory)
        with written(state) as client:
            listed(client, "z3-answer")
        memory.ingest([state])
        assert said(memory).count("Let me look at its clock.") == 1
        assert memory.check() == []


def test_a_bubble_that_is_seen_before_its_conversation_lists_it_is_shown_once(
    folder: Path, state: Path
) -> None:
    with open_memory(folder / "m.h5") as memory:
        with written(state) as client:
            put(client, "g1-new", type=2, text="Wound, and it runs.")
        memory.ingest([state])
        assert "Wound, and it runs." not in said(memory)
        with written(state) as client:
            listed(client, "g1-new")
        memory.ingest([state])
        assert said(memory).count("Wound, and it runs.") == 1


def test_a_conversation_that_is_deleted_stays_as_it_was(folder: Path, state: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([state])
        before = said(memory)
        with written(state) as client:
            client.execute("DELETE FROM cursorDiskKV WHERE key LIKE '%pier-0001%'")
        memory.ingest([state])
        assert said(memory) == before


def test_a_running_client_is_read_with_its_log(folder: Path, state: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        with written(state) as client:
            client.execute("PRAGMA journal_mode = WAL")
            client.execute("PRAGMA wal_autocheckpoint = 0")
            memory.ingest([state])
            put(client, "g1-new", type=2, text="Wound, and it runs.")
            listed(client, "g1-new")
            client.execute("BEGIN IMMEDIATE")
            put(client, "g2-later", type=2, text="Not said yet.")
            listed(client, "g2-later")
            report = memory.ingest([state])
            assert said(memory)[-1] == "Wound, and it runs."
            client.execute("COMMIT")
            assert (folder / "state.vscdb-wal").stat().st_size
            memory.ingest([state])
            assert said(memory)[-1] == "Not said yet."
        assert report.failed == {}
        assert memory.check() == []


def test_a_chat_that_goes_on_adds_its_messages_behind(folder: Path) -> None:
    path = make_database(folder / "chats" / "1d" / "c1" / "store.db", "cursor/chat.sql")
    message = json.dumps({"role": "assistant", "content": "Low water is at noon."}).encode()
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([path])
        with written(path) as client:
            (tree,) = client.execute("SELECT data FROM blobs WHERE id = ?", ("ff" * 32,)).fetchone()
            client.execute("INSERT INTO blobs VALUES (?, ?)", ("ab" * 32, message))
            client.execute(
                "INSERT INTO blobs VALUES (?, ?)", ("cd" * 32, b"\x0a\x20" + b"\xab" * 32 + tree[34:])
            )
            (value,) = client.execute("SELECT value FROM meta").fetchone()
            told = {**json.loads(bytes.fromhex(value)), "latestRootBlobId": "cd" * 32}
            client.execute("UPDATE meta SET value = ?", (json.dumps(told).encode().hex(),))
        report = memory.ingest([path])
        assert report.lines == 3, "the message, the tree, and what is known of the chat"
        assert said(memory, "ca700000")[-1] == "Low water is at noon."
        assert memory.check() == []


# -- what is not read ------------------------------------------------------------------------------


def test_nothing_but_conversations_is_read(folder: Path, state: Path) -> None:
    make_database(folder / "ws" / "state.vscdb", "cursor/tabs.sql")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder])
        lines = kept(memory)
    assert b"crane" in lines
    assert b"nets" in lines
    for never in (b"token-that-nobody-reads", b"cursorAuth", b"not-read", b"secret:"):
        assert never not in lines


@pytest.mark.parametrize(
    "schema",
    [
        "CREATE TABLE other (a, b)",
        "CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);"
        "INSERT INTO ItemTable VALUES ('telemetry.currentSessionDate', 'Mon'), ('chat.x', '{\"tabs\":[{}]}')",
        "CREATE TABLE ItemTable (key TEXT, value BLOB); CREATE TABLE cursorDiskKV (key TEXT, value BLOB);"
        "INSERT INTO ItemTable VALUES ('workbench.panel.aichat.view.aichat.chatdata', '{\"tabs\":7}')",
        "CREATE TABLE cursorDiskKV (key TEXT, value BLOB);"
        "INSERT INTO cursorDiskKV VALUES ('composerData:a', '['), ('composerData:', '{}'), (NULL, NULL)",
    ],
    ids=["another program's", "VS Code's", "no chat in it", "no conversation in it"],
)
def test_another_database_of_its_name_holds_nothing(folder: Path, schema: str) -> None:
    path = folder / "state.vscdb"
    with written(path) as client:
        client.executescript(schema)
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([path])
        assert memory.sessions() == []
    assert (report.failed, report.lines) == ({}, 0)


@pytest.mark.parametrize(
    "schema",
    [
        "CREATE TABLE blobs (id TEXT, data BLOB); CREATE TABLE meta (key TEXT, value TEXT)",
        "CREATE TABLE a (b)",
    ],
)
def test_a_store_of_another_program_holds_nothing(folder: Path, schema: str) -> None:
    path = folder / "chats" / "1d" / "c1" / "store.db"
    path.parent.mkdir(parents=True)
    with written(path) as client:
        client.executescript(schema)
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([path])
        assert memory.sessions() == []
    assert report.failed == {}


def test_values_that_are_something_else_are_kept_and_named(folder: Path) -> None:
    path = folder / "state.vscdb"
    with written(path) as client:
        client.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        client.executemany(
            "INSERT INTO cursorDiskKV VALUES (?, ?)",
            [
                ("composerData:a", b"\xff\xfe"),
                ("bubbleId:a:1", b"\xff\xfe"),
                ("bubbleId:a:2", '{"type":99,"message":"a tool said"}'),
                ("bubbleId:a:3", 7),
                ("bubbleId:a", '{"type":1,"text":"whose?"}'),
            ],
        )
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([path])
        assert memory.check() == []
    assert report.failed == {}
    assert report.unknown_types == {"bubble": 2, "bubble/99": 1}


def test_the_sql_of_the_fixtures_is_as_the_client_makes_its_tables() -> None:
    """Versions are rowids only where a row that is written again is another one."""
    told = (DATA / "cursor" / "harbor.sql").read_text()
    assert told.count("(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)") == 2


# -- whatever stands in them -----------------------------------------------------------------------

CELLS = st.none() | st.integers(-9, 9) | st.text(max_size=20) | st.binary(max_size=60) | JSON.map(json.dumps)
HEX = JSON.map(lambda value: json.dumps(value).encode().hex())
SOURCE = SourceFile("cursor", "/x/state.vscdb#a", framing=Framing.ROWS, session="a")


def fixture_values() -> list[tuple[str, str, object]]:
    """Table, key and decoded value of every row of the fixtures."""
    found: list[tuple[str, str, object]] = []
    for name in ("harbor", "tabs", "chat"):
        with sqlite3.connect(":memory:") as client:
            client.executescript((DATA / "cursor" / f"{name}.sql").read_text())
            for session, _ in list(database.sessions(client)):
                client.row_factory = sqlite3.Row
                for table, key, _ in list(database.rows(client, session)):
                    row = database.row(client, table, key) or {}
                    cell = row.get("value", row.get("data"))
                    found.append((table, key, value_in(str(cell).lstrip(", "))))
                client.row_factory = None
        client.close()
    return [each for each in found if isinstance(each[2], dict)]


VALUES = fixture_values()


@given(data=st.data())
def test_a_value_with_anything_in_it_parses(data: st.DataObject) -> None:
    """The contract changes columns; what a column holds is JSON once more."""
    parser = CURSOR.parser(SOURCE, {})
    for table, key, value in data.draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=4)):
        told = json.dumps(mutated(data, value))
        row = {"value": told, "data": told}
        assert_well_formed(parser.parse({"table": table, "key": key, "version": 1, "row": row}))
    assert_resumes(CURSOR, SOURCE, parser.state())


@given(data=st.binary(max_size=200))
def test_any_bytes_are_a_tree_or_none(data: bytes) -> None:
    listed, folder = tree_in(data)
    assert all(len(id_) == 64 for id_ in listed)
    assert isinstance(folder, str)


@given(
    state=st.lists(
        st.tuples(st.sampled_from(["composerData:", "bubbleId:", "messageRequestContext:"]), CELLS)
    ),
    tabs=CELLS | JSON.map(lambda value: json.dumps({"tabs": value})),
    meta=CELLS | HEX,
    blobs=st.lists(CELLS, max_size=4),
)
def test_any_cells_are_read(
    state: list[tuple[str, object]], tabs: object, meta: object, blobs: list[object]
) -> None:
    with sqlite3.connect(":memory:") as client:
        client.row_factory = sqlite3.Row
        client.executescript(
            "CREATE TABLE ItemTable (key TEXT, value BLOB); CREATE TABLE cursorDiskKV (key TEXT, value BLOB);"
            "CREATE TABLE meta (key TEXT, value TEXT); CREATE TABLE blobs (id TEXT, data BLOB)"
        )
        for n, (prefix, cell) in enumerate(state):
            client.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (f"{prefix}a:{n}"[: 60 - n], cell))
            client.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (f"{prefix}a", cell))
        client.execute(
            "INSERT INTO ItemTable VALUES ('workbench.panel.aichat.view.aichat.chatdata', ?)", (tabs,)
        )
        client.execute(
            "INSERT INTO meta VALUES ('0', ?), ('agentId', 'b'), ('latestRootBlobId', '1')", (meta,)
        )
        for n, cell in enumerate(blobs):
            client.execute("INSERT INTO blobs VALUES (?, ?)", (str(n), cell))
        for session, mark in list(database.sessions(client)):
            assert all(type(number) is int for number in mark)
            parser = CURSOR.parser(SOURCE, {})
            for table, key, version in list(database.rows(client, session)):
                line = line_of(table, key, version, database.row(client, table, key))
                assert_well_formed(parser.parse(json.loads(line)))
    client.close()
