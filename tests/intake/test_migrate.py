"""Memories of other programs come in whole, once, and without a byte of them being changed."""

from __future__ import annotations

import json
import sqlite3
import struct
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.databases import written
from tests.support.foreign_memories import (
    FOREIGN,
    chunks_database,
    foreign_database,
    migrated_notes,
    row_again,
    rows_in,
)
from tests.support.memories import content, memory_at, scratch

from recollect.memory import Memory
from recollect.values.errors import SourceError, UsageError
from recollect.values.migration import MigrationReport
from recollect.values.notes import Note

TIME = 1_700_000_000.25


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with memory_at(tmp_path) as opened:
        yield opened


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def chunk(id_: int, text: Any = "", **given: Any) -> tuple[Any, ...]:
    row = {
        "embedding": floats(id_, 1, 2, 3),
        "channel": "api",
        "time": TIME + id_,
        "session": "s-1",
        "tags": "tag1,tag2",
        "deleted": 0,
    } | given
    return (id_, text or f"chunk {id_}", *row.values())


def counts(report: MigrationReport, table: str) -> dict[str, int]:
    names = ("rows", "added", "updated", "unchanged", "deleted", "gone", "skipped", "refused")
    return {name: value for name in names if (value := getattr(report.tables[table], name))}


# -- what is known -------------------------------------------------------------------------------


def test_every_table_and_column_of_a_memory_of_chunks_comes_in(memory: Memory, tmp_path: Path) -> None:
    database = chunks_database(
        tmp_path / "old.db",
        [chunk(1), chunk(2, channel="slack", tags=" a , b ,a"), chunk(3, deleted=1)],
        "INSERT INTO sessions VALUES ('s-1', 0, 2, 'discord', 1700000000.5, 'about tokens');"
        "INSERT INTO entities VALUES (1, 'Ada', 'person', 0), (2, 'Harbor', 'project', -1);"
        "INSERT INTO relations VALUES (1, 2, 'works on', 0.5, 1700000001), (1, 2, 'works on', 0.7, NULL);",
    )
    report = memory.migrate(database)
    assert report.schema == "memory chunks"
    assert counts(report, "memory_chunks") == {"rows": 3, "added": 2, "deleted": 1}
    assert counts(report, "relations") == {"rows": 2, "added": 2}
    first, second = migrated_notes(memory, "memory_chunks")
    assert (first.text, first.session, first.channel, first.tags) == (
        "chunk 1", "old/s-1", "api", ("tag1", "tag2"),
    )  # fmt: skip
    assert (first.time_ms, first.vector) == (1_700_000_001_250, floats(1, 1, 2, 3))
    assert (second.channel, second.tags) == ("slack", ("a", "b"))
    assert memory.summary("old/s-1") == "about tokens"
    (session,) = [each for each in memory.sessions() if each.facts.id == "old/s-1"]
    assert session.facts.ended_ms == 1_700_000_003_250, (
        "what was deleted counts, the day of the migration not"
    )
    graph = [note.text for note in memory.notes(session="old/graph")]
    assert graph == ["Ada", "Harbor", "Ada works on Harbor", "Ada works on Harbor"]
    assert [hit.snippet.text for hit in memory.search("tag:relation Harbor").hits]
    assert memory.graph.entity("ada").type == "person"
    relations = memory.graph.relations(source="Ada", target="Harbor")
    assert sorted((each.relation, each.weight) for each in relations) == [
        ("works on", 0.5),
        ("works on", 0.7),
    ]
    for note, row in zip((first, second), rows_in(database, "memory_chunks"), strict=False):
        assert row_again(note, text="chunk", vector="embedding") == row


@pytest.mark.parametrize("name", FOREIGN)
def test_every_column_of_every_known_program_is_in_the_notes(
    name: str, memory: Memory, tmp_path: Path
) -> None:
    database = foreign_database(tmp_path / f"{name}.db", name)
    report = memory.migrate(database)
    assert not report.refused
    read = [table for table, each in report.tables.items() if not each.left]
    said = {
        "user_prompts": {"text": "prompt_text"},
        "memories": {"text": "content", "metadata": "metadata"},
        "memory_graph": {"metadata": "metadata"},
        "documents": {"text": "document", "vector": "embedding", "metadata": "metadata_json"},
        "entities": {"text": "name", "metadata": "properties"},
    }
    compared = 0
    for table in read:
        rows = rows_in(database, table)
        if table == "sdk_sessions":
            continue  # said of sessions: below
        living = [row for row in rows if not row.get("deleted_at")]
        notes = sorted(migrated_notes(memory, table), key=lambda note: note.metadata["migrated"]["key"])
        again = [row_again(note, **said.get(table, {})) for note in notes]
        assert len(again) == len(living) == report.tables[table].added
        for row in living:
            compared += len(row)
            assert any(_same(row, told) for told in again), (table, row)
    assert compared > 10


def _same(row: dict[str, Any], told: dict[str, Any]) -> bool:
    """Column by column, a column of JSON by what it says."""
    return row.keys() == told.keys() and all(
        value == told[name] or (isinstance(told[name], dict) and json.loads(value) == told[name])
        for name, value in row.items()
    )


def test_claude_mem_s_rows_are_in_the_sessions_of_their_agents(memory: Memory, tmp_path: Path) -> None:
    memory.migrate(foreign_database(tmp_path / "claude-mem.db", "claude_mem"))
    session = "claude-mem/11111111-aaaa-4aaa-8aaa-000000000001"
    told = [(note.role, note.tags[:2], note.project, note.channel) for note in memory.notes(session=session)]
    assert told == [
        ("user", (), "harbor", "claude"),
        ("note", ("observation", "bugfix"), "harbor", "claude"),
        ("note", ("observation", "decision"), "harbor", "claude"),
        ("note", ("summary",), "harbor", "claude"),
    ]
    assert memory.summary(session) == "Fix the hourly logout"
    (facts,) = [each.facts for each in memory.sessions() if each.facts.id == session]
    assert (facts.project, facts.started_ms, facts.ended_ms) == ("harbor", 1772546400000, 1772548200000)
    (tool,) = migrated_notes(memory, "tool_uses")
    assert tool.role == "tool"
    assert tool.text.splitlines()[1] == 'tool input: {"command":"make test"}'


def test_vectors_of_sqlite_vec_and_of_chroma_s_queue_are_taken(memory: Memory, tmp_path: Path) -> None:
    memory.migrate(foreign_database(tmp_path / "a.db", "memory_service"))
    wanted = (np.arange(24, dtype="<f4") / 8).reshape(3, 8)
    found = sorted(note.vector for note in migrated_notes(memory, "memories"))
    assert found == sorted(row.tobytes() for row in wanted)
    memory.migrate(foreign_database(tmp_path / "b.db", "chroma"))
    queue = {row["id"]: row["vector"] for row in rows_in(tmp_path / "b.db", "embeddings_queue")}
    notes = list(migrated_notes(memory, "embeddings"))
    assert {note.metadata["migrated"]["key"].split("/")[1]: note.vector for note in notes} == queue
    drawer = next(note for note in notes if note.text.startswith("This team"))
    assert (drawer.session, drawer.project, drawer.tags) == ("b/harbor", "harbor", ("tools", "facts"))
    assert (drawer.author, drawer.metadata["importance"]) == ("mempalace", 3.5)


def test_what_a_knowledge_graph_says_holds_for_as_long_as_it_says(memory: Memory, tmp_path: Path) -> None:
    report = memory.migrate(foreign_database(tmp_path / "kg.db", "mempalace_graph"))
    assert (report.tables["entities"].graph, report.tables["triples"].graph) == (3, 2)
    assert memory.graph.entity("Ada").metadata == {"role": "lead"}
    (works,) = memory.graph.relations(source="ada")
    assert (works.relation, works.target, works.weight) == ("works_on", "Harbor", 0.9)
    then, now = (memory.graph.at(datetime(year, 6, 1, tzinfo=UTC)) for year in (2025, 2026))
    assert [each.target for each in then.relations(source="Harbor")] == ["pip"]
    assert now.relations(source="Harbor") == []


def test_what_the_graph_refuses_is_told_and_kept_as_a_note(memory: Memory, tmp_path: Path) -> None:
    database = chunks_database(
        tmp_path / "old.db",
        (),
        "INSERT INTO entities VALUES (1, 'Ada', 'person', 0), (2, '', 'person', 0);"
        "INSERT INTO relations VALUES (1, 1, 'is', 1, 1), (1, 2, 'knows', 1, 1), (1, 9, 'met', 1, 1);",
    )
    report = memory.migrate(database)
    assert memory.graph.entity("Ada").type == "person"
    assert (report.tables["entities"].graph, report.tables["relations"].graph) == (1, 0)
    assert sum(report.aside.values()) == 3, "an end that is not there is no name"
    assert [note.text for note in memory.notes(tag="relation")] == ["Ada is Ada", "Ada knows ", "Ada met 9"]


def test_what_is_not_read_is_named_with_a_reason(memory: Memory, tmp_path: Path) -> None:
    database = foreign_database(tmp_path / "a.db", "memory_service")
    with written(database) as connection:
        connection.executescript(
            "CREATE TABLE extra (x); INSERT INTO extra VALUES (1); CREATE VIEW seen AS SELECT * FROM extra;"
            "ALTER TABLE memories ADD COLUMN mood TEXT; UPDATE memories SET mood = 'bright' WHERE id = 1;"
        )
    report = memory.migrate(database)
    assert (report.tables["extra"].rows, report.tables["extra"].left) == (1, "not known")
    assert report.tables["seen"].left == "a view"
    field = report.tables["memories"].fields["mood"]
    assert (field.to, field.filled) == ("metadata", 1)
    rows = [note.metadata["migrated"]["row"]["mood"] for note in migrated_notes(memory, "memories")]
    assert sorted(rows, key=str) == [None, None, "bright"]


def test_a_database_of_another_kind_is_named_by_its_tables(memory: Memory, tmp_path: Path) -> None:
    with written(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE recipes (x)")
    with pytest.raises(SourceError, match="recipes"):
        memory.migrate(tmp_path / "other.db")
    (tmp_path / "text.db").write_text("not a database" * 100)
    with pytest.raises(SourceError):
        memory.migrate(tmp_path / "text.db")
    with pytest.raises(SourceError, match="no such file"):
        memory.migrate(tmp_path / "nothing.db")
    assert memory.count() == 0


# -- again ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FOREIGN)
def test_a_second_run_adds_nothing(name: str, memory: Memory, tmp_path: Path) -> None:
    database = foreign_database(tmp_path / "old.db", name)
    memory.migrate(database)
    before = content(memory)
    report = memory.migrate(database)
    assert report.total("added") == report.total("updated") == report.total("deleted") == 0
    assert report.total("unchanged") > 2
    assert content(memory) == before


def test_a_row_that_changed_takes_its_note_s_place(memory: Memory, tmp_path: Path) -> None:
    database = chunks_database(
        tmp_path / "old.db", [chunk(1), chunk(2)], "INSERT INTO sessions VALUES ('s-1',0,0,'','','first');"
    )
    memory.migrate(database)
    with written(database) as connection:
        connection.execute("UPDATE memory_chunks SET chunk = 'other words' WHERE id = 1")
        connection.execute("UPDATE sessions SET summary = 'second'")
        connection.execute("INSERT INTO memory_chunks VALUES (?,?,?,?,?,?,?,?)", chunk(3))
    report = memory.migrate(database)
    assert counts(report, "memory_chunks") == {"rows": 3, "added": 1, "updated": 1, "unchanged": 1}
    assert counts(report, "sessions") == {"rows": 1, "updated": 1}
    assert [note.text for note in memory.notes()] == ["other words", "chunk 2", "chunk 3"]
    assert memory.summary("old/s-1") == "second"
    with written(database) as connection:
        connection.execute("UPDATE memory_chunks SET deleted = 1 WHERE id = 2")
    assert counts(memory.migrate(database), "memory_chunks") == {"rows": 3, "unchanged": 2, "deleted": 1}
    assert [note.text for note in memory.notes()] == ["other words", "chunk 3"]


def test_what_was_edited_or_deleted_here_stays_so(memory: Memory, tmp_path: Path) -> None:
    database = chunks_database(tmp_path / "old.db", [chunk(1), chunk(2)])
    memory.migrate(database)
    first, second = memory.notes()
    memory.update(first.id, session=first.session, text="my own words")
    memory.delete(second.id, session=second.session)
    report = memory.migrate(database)
    assert counts(report, "memory_chunks") == {"rows": 2, "unchanged": 1, "gone": 1}
    assert [note.text for note in memory.notes()] == ["my own words"]


def test_databases_of_one_name_do_not_overwrite_each_other_unless_told_to(
    memory: Memory, tmp_path: Path
) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        chunks_database(tmp_path / folder / "memory.db", [chunk(1, f"of {folder}")])
        memory.migrate(tmp_path / folder / "memory.db")
    assert sorted(note.text for note in memory.notes()) == ["of a", "of b"]
    memory.migrate(tmp_path / "a" / "memory.db", name="agent")
    assert memory.migrate(tmp_path / "b" / "memory.db", name="agent").total("updated") == 1
    assert [note.text for note in memory.notes(session="agent/s-1")] == ["of b"]


def test_one_that_was_stopped_goes_on(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = chunks_database(tmp_path / "old.db", [chunk(n, session=f"s-{n % 3}") for n in range(30)])
    monkeypatch.setattr("recollect.memory.migrating.BATCH_ROWS", 7)

    def stop(what: str, done: int, total: int) -> None:
        if done >= 14:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.migrate(database, progress=stop)
    assert memory.count() == 14
    assert counts(memory.migrate(database), "memory_chunks") == {"rows": 30, "added": 16, "unchanged": 14}
    assert sorted(note.text for note in memory.notes()) == sorted(f"chunk {n}" for n in range(30))


# -- options -------------------------------------------------------------------------------------


def test_the_options_of_a_memory_of_chunks(memory: Memory, tmp_path: Path) -> None:
    database = chunks_database(
        tmp_path / "old.db", [chunk(1, embedding=floats(1.0001, 2, 3, 4)), chunk(2, deleted=1)]
    )
    report = memory.migrate(
        database, project="harbor", author="agent-7", embedder="toy", dims=2, skip_deleted=True, half=True
    )
    assert counts(report, "memory_chunks") == {"rows": 2, "added": 1, "skipped": 1}
    (note,) = memory.notes()
    assert (note.project, note.author) == ("harbor", "agent-7")
    assert note.metadata["migrated"]["embedder"] == "toy"
    assert note.vector == np.array([1.0001, 2], "<f2").astype("<f4").tobytes()
    with pytest.raises(UsageError, match="name"):
        memory.migrate(database, name="a\nb")


def test_a_dry_run_reports_the_same_and_changes_nothing(memory: Memory, tmp_path: Path) -> None:
    database = chunks_database(
        tmp_path / "old.db", [chunk(1), chunk(2)], "INSERT INTO sessions VALUES ('s-1',0,0,'',1.0,'x');"
    )
    before = content(memory)
    planned = memory.migrate(database, dry_run=True)
    assert content(memory) == before
    assert memory.migrate(database) == planned


def test_vectors_of_another_size_are_kept_as_artifacts(memory: Memory, tmp_path: Path) -> None:
    memory.save("mine", vector=[1.0, 2.0])
    odd = {1: floats(1, 2), 2: floats(1, 2, 3), 3: b"abc", 4: floats(float("nan"), 1), 5: "words"}
    rows = [chunk(n, embedding=value) for n, value in odd.items()]
    report = memory.migrate(chunks_database(tmp_path / "old.db", rows))
    notes = {note.text: note for note in migrated_notes(memory, "memory_chunks")}
    assert notes["chunk 1"].vector == odd[1]
    for n in (2, 3, 4):
        note = notes[f"chunk {n}"]
        assert not note.vector
        assert memory.artifact(note.id, "vector", session=note.session) == odd[n]
    assert notes["chunk 5"].metadata["migrated"]["row"]["embedding"] == "words"
    assert sum(report.aside.values()) == 4


# -- strangers -----------------------------------------------------------------------------------


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("mode", ["delete", "wal", "left behind"])
def test_the_source_is_not_changed_by_a_byte(mode: str, memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    database = chunks_database(folder / "old.db", [chunk(1)])
    connection = sqlite3.connect(database, isolation_level=None)
    if mode != "delete":
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("INSERT INTO memory_chunks VALUES (?,?,?,?,?,?,?,?)", chunk(2))
        assert (folder / "old.db-wal").stat().st_size
    if mode == "left behind":
        kept = {path.name: path.read_bytes() for path in folder.iterdir()}
        connection.close()
        for name, data in kept.items():
            (folder / name).write_bytes(data)
        (folder / "old.db-shm").unlink()
    before = snapshot(folder)
    report = memory.migrate(database)
    assert {name: each for name, each in snapshot(folder).items() if "-shm" not in name} == {
        name: each for name, each in before.items() if "-shm" not in name
    }
    assert report.total("added") == (1 if mode == "delete" else 2)
    connection.close()


def test_views_triggers_and_virtual_tables_are_not_run(memory: Memory, tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x"
    database = chunks_database(
        tmp_path / "old.db",
        [chunk(1)],
        f"DROP TABLE entities; CREATE VIEW entities AS {endless} AS id, 'n' AS name, 't' AS type FROM n;"
        "CREATE TRIGGER t AFTER INSERT ON memory_chunks BEGIN DELETE FROM sessions; END;"
        "CREATE VIRTUAL TABLE words USING fts5(a);",
    )
    report = memory.migrate(database)
    assert report.tables["entities"].left == "a view"
    assert report.total("added") == 1
    with written(tmp_path / "view.db") as connection:
        connection.execute(f"CREATE VIEW memory_chunks AS {endless} AS id, 'a' AS chunk FROM n")
    with pytest.raises(SourceError, match="no memory that is known"):
        memory.migrate(tmp_path / "view.db")


def test_columns_that_functions_make_are_named_and_not_run(memory: Memory, tmp_path: Path) -> None:
    with written(tmp_path / "old.db") as connection:
        connection.executescript(
            "CREATE TABLE memory_chunks (id INTEGER PRIMARY KEY, chunk TEXT);"
            "INSERT INTO memory_chunks (id, chunk) VALUES (1, 'safe');"
            "ALTER TABLE memory_chunks ADD COLUMN boom TEXT"
            " GENERATED ALWAYS AS (json_extract('not json', chunk)) VIRTUAL;"
        )
    report = memory.migrate(tmp_path / "old.db")
    assert report.tables["memory_chunks"].fields["boom"].to == "made of others"
    assert [note.text for note in memory.notes()] == ["safe"]


def test_rows_that_cannot_be_taken_are_listed(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.intake.migrate.tables.CELL_BYTES_MAX", 100_000)
    monkeypatch.setattr("recollect.intake.migrate.make.TEXT_BYTES_MAX", 50_000)
    rows = [
        chunk(1, b"\xff\xfe"),
        chunk(2, "x" * 60_000),
        chunk(3, "y" * 200_000),
        chunk(4),
        chunk(5, embedding=b"z" * 200_000),
        chunk(6),
    ]
    report = memory.migrate(chunks_database(tmp_path / "old.db", rows))
    assert [(each.key, each.reason.split()[0]) for each in report.refused] == [
        ("1", "it"), ("2", "its"), ("row 3", "string"), ("row 5", "string"),
    ]  # fmt: skip
    assert counts(report, "memory_chunks") == {"rows": 6, "added": 2, "refused": 4}
    assert [note.text for note in memory.notes()] == ["chunk 4", "chunk 6"]


def test_tables_without_numbers_and_with_columns_that_pose_as_them_are_read(
    memory: Memory, tmp_path: Path
) -> None:
    with written(tmp_path / "a.db") as connection:
        connection.executescript(
            "CREATE TABLE memory_chunks (id TEXT PRIMARY KEY, chunk TEXT) WITHOUT ROWID;"
            "INSERT INTO memory_chunks VALUES ('a', 'one'), ('b', 'two');"
        )
    with written(tmp_path / "b.db") as connection:
        connection.executescript(
            'CREATE TABLE memory_chunks (id, chunk, rowid, "_rowid_", oid);'
            "INSERT INTO memory_chunks"
            " VALUES (1, 'three', 0, 0, 0), (1, 'four', 0, 0, 0), (1, 'five', 0, 0, 0);"
        )
    memory.migrate(tmp_path / "a.db")
    memory.migrate(tmp_path / "b.db")
    assert sorted(note.text for note in memory.notes()) == ["five", "four", "one", "three", "two"]
    assert memory.migrate(tmp_path / "b.db").total("unchanged") == 3


def test_a_row_too_long_for_metadata_is_kept_as_artifacts(memory: Memory, tmp_path: Path) -> None:
    long = "long " * 200_000
    database = chunks_database(tmp_path / "old.db", [chunk(1)])
    with written(database) as connection:
        connection.execute("ALTER TABLE memory_chunks ADD COLUMN more")
        connection.execute("UPDATE memory_chunks SET more = ?", (long,))
    memory.migrate(database)
    (note,) = memory.notes()
    assert json.loads(memory.artifact(note.id, "more", session=note.session)) == long


CELL = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    st.binary(max_size=40),
    st.just("a\0b"),
)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(rows=st.lists(st.tuples(CELL, CELL, CELL, CELL, CELL, CELL, CELL), max_size=6))
def test_whatever_the_cells_hold_each_is_kept_or_its_row_is_listed(rows: list[tuple[Any, ...]]) -> None:
    with scratch() as folder:
        with written(folder / "old.db") as connection:
            connection.execute(
                "CREATE TABLE memory_chunks (id, chunk, embedding,"
                " source_channel, timestamp, session_id, tags)"
            )
            connection.executemany("INSERT INTO memory_chunks VALUES (?,?,?,?,?,?,?)", rows)
        with memory_at(folder) as memory:
            report = memory.migrate(folder / "old.db")
            again = memory.migrate(folder / "old.db")
            notes = list(migrated_notes(memory, "memory_chunks"))
            told = [_whole(memory, note) for note in notes]
    assert again.total("added") == again.total("updated") == 0
    assert len(notes) + report.total("refused") == len(rows)
    kept = [row for row in rows if not _is_refused(row)]
    assert sorted(map(repr, map(tuple, (each.values() for each in told)))) == sorted(map(repr, kept))


def _whole(memory: Memory, note: Note) -> dict[str, Any]:
    row = row_again(note, vector="embedding")
    row = {"chunk": note.text, **row}
    if any(each.name == "vector" for each in note.artifacts):
        row["embedding"] = memory.artifact(note.id, "vector", session=note.session)
    names = ("id", "chunk", "embedding", "source_channel", "timestamp", "session_id", "tags")
    return {name: row[name] for name in names}


def _is_refused(row: tuple[Any, ...]) -> bool:
    text = row[1]
    if isinstance(text, bytes):
        try:
            text.decode()
        except UnicodeDecodeError:
            return True
    return text is None


@pytest.mark.full
def test_a_hundred_thousand_rows_come_in_and_each_field_is_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    count, dims = 100_000, 64
    vectors = np.random.default_rng(7).random((count, dims), dtype="f4")
    rows = (
        chunk(n, f"chunk {n} of the harbor", embedding=vectors[n].tobytes(), session=f"s-{n // 250}")
        for n in range(count)
    )
    database = chunks_database(tmp_path / "old.db", rows)
    with memory_at(tmp_path) as memory:
        began, worked = time.monotonic(), time.process_time()
        report = memory.migrate(database)
        memory.checkpoint()
        took, work = time.monotonic() - began, time.process_time() - worked
        assert counts(report, "memory_chunks") == {"rows": count, "added": count}
        again = {note.metadata["migrated"]["row"]["id"]: note for note in memory.notes()}
        fields = 0
        for row in rows_in(database, "memory_chunks"):
            assert row_again(again[row["id"]], text="chunk", vector="embedding") == row
            fields += len(row)
    with capsys.disabled():
        print(f"\n{count:,} rows in {took:.1f} s ({work:.1f} s of work); {fields:,} fields compared")
