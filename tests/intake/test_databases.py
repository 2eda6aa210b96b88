"""Sources that are rows of a database: every version that was seen, while the client goes on writing."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.databases import make_database, written
from tests.support.memories import HOST, content, open_memory, scratch, sources_of

from recollect.agents.opencode.agent import AGENT as OPENCODE
from recollect.intake import databases, workers
from recollect.intake.at_risk import standing
from recollect.intake.databases import DatabaseChanged, OpenDatabase, line_of, new_lines, open_database
from recollect.intake.watch import _worth
from recollect.memory import Memory
from recollect.values.errors import SourceError
from recollect.values.records import Kind
from recollect.values.stored import StoredLine

NOTHING: dict[str, bytes] = {}


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def versions(memory: Memory, key: str) -> list[str]:
    """What is kept of a row, oldest first."""
    lines = [json.loads(line) for data in sources_of(memory).values() for line in data.splitlines()]
    rows = [line["row"] for line in lines if line["key"] == key]
    return ["gone" if row is None else str(row.get("data", row.get("title"))) for row in rows]


def prompts(memory: Memory, session: str = "ses_pier") -> list[str]:
    with memory.view() as view:
        shown = view.entries(view.find_session(session))
        return [each.entry.text for each in shown if each.entry.kind is Kind.PROMPT]


def say(client: sqlite3.Connection, text: str, *, version: int, part: str = "prt_01") -> None:
    data = json.dumps({"type": "text", "text": text})
    client.execute("UPDATE part SET data = ?, time_updated = ? WHERE id = ?", (data, version, part))
    client.execute("UPDATE event_sequence SET seq = seq + 1 WHERE aggregate_id = 'ses_pier'")


# -- versions --------------------------------------------------------------------------------------


def test_only_what_changed_is_read_again(folder: Path) -> None:
    path = make_database(folder / "opencode.db")
    with open_memory(folder / "m.h5") as memory:
        first = memory.ingest([path])
        assert memory.ingest([path]).unchanged == 1
        with written(path) as client:
            say(client, "Why at noon?", version=1790000009500)
        report = memory.ingest([path])
        assert (report.lines, report.taken) == (1, 1)
        assert 0 < report.bytes_parsed < first.bytes_parsed / 10
        assert prompts(memory) == ["Why at noon?"]
        assert len(versions(memory, "prt_01")) == 2
        assert memory.check() == []


def test_a_row_that_is_what_it_was_before_counts_again(folder: Path) -> None:
    path = make_database(folder / "opencode.db")
    with open_memory(folder / "m.h5") as memory:
        for version, text in enumerate(("one", "two", "one"), 1790000010000):
            with written(path) as client:
                say(client, text, version=version)
            memory.ingest([path])
        assert prompts(memory) == ["one"]
        assert [json.loads(each)["text"] for each in versions(memory, "prt_01")] == ["one", "two", "one"]


def test_a_second_change_in_the_same_millisecond_is_seen(folder: Path) -> None:
    path = make_database(folder / "opencode.db")
    with open_memory(folder / "m.h5") as memory:
        for text in ("one", "two"):
            with written(path) as client:
                say(client, text, version=1790000010000)
            memory.ingest([path])
        assert prompts(memory) == ["two"]


def test_a_row_that_is_gone_is_taken_back_and_kept(folder: Path) -> None:
    path = make_database(folder / "opencode.db")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([path])
        with written(path) as client:
            client.execute("DELETE FROM part WHERE id = 'prt_01'")
            client.execute("UPDATE event_sequence SET seq = seq + 1 WHERE aggregate_id = 'ses_pier'")
        memory.ingest([path])
        assert prompts(memory) == []
        assert versions(memory, "prt_01")[1:] == ["gone"]
        with written(path) as client:
            client.execute("UPDATE event_sequence SET seq = seq + 1 WHERE aggregate_id = 'ses_pier'")
        assert memory.ingest([path]).lines == 0, "gone once is gone"
        assert memory.check() == []


def test_a_session_that_its_client_deleted_is_kept(folder: Path) -> None:
    path = make_database(folder / "opencode.db")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([path])
        before = content(memory)
        with written(path) as client:
            for table in ("part", "message"):
                client.execute(f"DELETE FROM {table} WHERE session_id = 'ses_pier'")
            client.execute("DELETE FROM session WHERE id = 'ses_pier'")
        memory.ingest([path])
        assert content(memory) == before


def test_reparse_and_compact_give_the_same(folder: Path) -> None:
    path = make_database(folder / "opencode.db")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([path])
        with written(path) as client:
            say(client, "Why at noon?", version=1790000009500)
        memory.ingest([path])
        before, kept = content(memory), sources_of(memory)
        memory.reparse()
        assert content(memory) == before
        memory.compact()
        assert content(memory) == before
        assert sources_of(memory) == kept
        assert memory.ingest([path]).changed == 0


class Rows:
    """A database of one session and one table, of which everything can be arranged."""

    def __init__(self, before_rows: Any = lambda: None) -> None:
        self._before_rows = before_rows

    def sessions(self, connection: sqlite3.Connection, /) -> Iterator[tuple[str, tuple[int, int, int]]]:
        yield "s", (0, 0, 0)

    def rows(self, connection: sqlite3.Connection, session: str, /) -> Iterator[tuple[str, str, int]]:
        self._before_rows()
        for key, version in connection.execute("SELECT key, version FROM t ORDER BY rowid"):
            yield "t", key, version

    def row(self, connection: sqlite3.Connection, table: str, key: str, /) -> Mapping[str, Any] | None:
        one = connection.execute("SELECT * FROM t WHERE key = ?", (key,)).fetchone()
        return None if one is None else dict(one)


def make_table(path: Path) -> None:
    with written(path) as client:
        client.execute("CREATE TABLE t (key TEXT PRIMARY KEY, version INTEGER, value)")


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.none() | st.integers(0, 2) | st.text(max_size=3) | st.binary(max_size=3) | st.floats(),
            st.booleans(),
        ),
        max_size=12,
    )
)
def test_whatever_happens_the_last_version_of_each_row_is_the_last_that_was_seen(
    changes: list[tuple[str, Any, bool]],
) -> None:
    kept: list[StoredLine] = []
    with scratch() as folder:
        make_table(folder / "x.db")
        for now, (key, value, is_swept) in enumerate([*changes, ("a", None, True)]):
            with written(folder / "x.db") as client:
                if value is None:
                    client.execute("DELETE FROM t WHERE key = ?", (key,))
                else:
                    client.execute(
                        "INSERT INTO t VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET version = ?, value = ?",
                        (key, now // 2, value, now // 2, value),
                    )
            if is_swept:
                with open_database(str(folder / "x.db")) as opened:
                    batches = list(new_lines(Rows(), opened, "s", kept))
                    there = {
                        key: _line(opened, key) for (key,) in opened.connection.execute("SELECT key FROM t")
                    }
                news = [line for batch in batches for line in batch]
                kept += [StoredLine(line, 0, "") for line in news]
                last = {json.loads(line.data)["key"]: line.data for line in kept}
                shown = {key: line for key, line in last.items() if json.loads(line)["row"] is not None}
                assert shown == there
                assert len(set(news)) == len(news)


def _line(opened: OpenDatabase, key: str) -> bytes:
    row = Rows().row(opened.connection, "t", key)
    assert row is not None
    return line_of("t", key, row["version"], row)


# -- while others write ----------------------------------------------------------------------------


def test_a_running_client_is_read_with_its_log_and_never_hindered(folder: Path) -> None:
    path = make_database(folder / "data" / "opencode.db")
    with written(path) as client, open_memory(folder / "m.h5") as memory:
        client.execute("PRAGMA journal_mode = WAL")
        client.execute("PRAGMA busy_timeout = 0")
        say(client, "only in the log", version=1790000010000)
        assert path.with_name("opencode.db-wal").stat().st_size
        client.execute("BEGIN IMMEDIATE")
        say(client, "not committed", version=1790000011000)
        memory.ingest([folder / "data"])
        assert prompts(memory) == ["only in the log"]
        client.execute("COMMIT")
        with open_database(str(path)) as opened:
            say(client, "while it is read", version=1790000012000)
            told = opened.connection.execute("SELECT data FROM part WHERE id = 'prt_01'").fetchone()[0]
            assert "not committed" in told, "one moment"
        memory.ingest([folder / "data"])
        assert prompts(memory) == ["while it is read"]
        assert sorted(each.name for each in path.parent.iterdir()) == [
            "opencode.db",
            "opencode.db-shm",
            "opencode.db-wal",
        ]


def test_what_a_killed_client_left_is_read_and_left_as_it_is(folder: Path) -> None:
    path = make_database(folder / "data" / "opencode.db")
    with written(path) as client:
        client.execute("PRAGMA journal_mode = WAL")
        say(client, "only in the log", version=1790000010000)
        for name in ("opencode.db", "opencode.db-wal"):
            (folder / "left").mkdir(exist_ok=True)
            shutil.copy(path.with_name(name), folder / "left" / name)
    before = files_in(folder / "left")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder / "left"])
        assert prompts(memory) == ["only in the log"]
    assert files_in(folder / "left") == before


def test_a_write_that_was_cut_off_is_undone_in_a_copy(folder: Path) -> None:
    path = make_database(folder / "data" / "opencode.db")
    with written(path) as client:
        client.execute("PRAGMA cache_size = 1")  # so that pages reach the file before the commit
        client.execute("BEGIN IMMEDIATE")
        say(client, "half " * 4000, version=1790000010000)
        client.execute("CREATE TABLE more AS SELECT * FROM part, message")
        shutil.copytree(folder / "data", folder / "left")
        client.execute("ROLLBACK")
    assert (folder / "left" / "opencode.db-journal").stat().st_size
    before = files_in(folder / "left")
    with open_memory(folder / "m.h5") as memory:
        assert memory.ingest([folder / "left"]).failed == {}
        assert prompts(memory) == ["Why does the crane stop at noon?"]
    assert files_in(folder / "left") == before


def test_a_database_that_nobody_has_open_is_not_touched(folder: Path) -> None:
    path = make_database(folder / "data" / "opencode.db")
    with written(path) as client:
        client.execute("PRAGMA journal_mode = WAL")
    before = files_in(path.parent)
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([path.parent])
        assert prompts(memory)
    assert files_in(path.parent) == before


def test_no_batch_is_handed_on_that_may_be_of_two_moments(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_database(folder / "opencode.db")
    monkeypatch.setattr(databases, "BATCH_BYTES", 1)
    with open_database(str(path)) as opened:
        batches = new_lines(OPENCODE.database(), opened, "ses_pier", ())
        assert len(next(batches)) == 1
        os.utime(path)
        with pytest.raises(DatabaseChanged):
            next(batches)


def test_what_was_read_while_it_changed_is_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_database(folder / "opencode.db")
    database = OPENCODE.database()
    rows, times = database.rows, []

    def changing(connection: sqlite3.Connection, session: str) -> Any:
        times.append(session)
        if len(times) == 1:
            with written(path) as client:
                say(client, "changed meanwhile", version=1790000010000)
        return rows(connection, session)

    monkeypatch.setattr(database, "rows", changing)
    with open_memory(folder / "m.h5") as memory:
        assert memory.ingest([path]).failed == {}
        assert prompts(memory) == ["changed meanwhile"]
        assert len(versions(memory, "prt_01")) == 1, "what may be of two moments was not taken"
    assert times[:2] == ["ses_pier", "ses_pier"]


def test_one_that_never_rests_is_told_and_the_rest_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_database(folder / "a" / "opencode.db")
    make_database(folder / "b" / "opencode.db")
    database = OPENCODE.database()
    rows = database.rows

    def changing(connection: sqlite3.Connection, session: str) -> Any:
        os.utime(path)
        return rows(connection, session)

    monkeypatch.setattr(database, "rows", changing)
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([folder])
        assert "faster than it can be read" in report.failed[str(path)]
        assert prompts(memory), "the other one"


# -- what is none ----------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
def test_a_link_is_no_part_of_a_database(folder: Path, end: str) -> None:
    make_database(folder / "elsewhere" / "opencode.db")
    if end:
        make_database(folder / "data" / "opencode.db")
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data" / f"opencode.db{end}").symlink_to(folder / "elsewhere" / "opencode.db")
    with (
        pytest.raises(SourceError, match="not a regular file"),
        open_database(str(folder / "data/opencode.db")),
    ):
        pass


def test_what_is_damaged_or_something_else_is_told_and_the_rest_goes_on(folder: Path) -> None:
    damaged = make_database(folder / "damaged" / "opencode.db")
    damaged.write_bytes(damaged.read_bytes()[:5000] + b"\xff" * 3000)
    with written(folder / "opencode-other.db") as client:
        for name in ("session", "message", "part"):
            client.execute(f"CREATE TABLE {name} (other)")
    (folder / "strange").mkdir()
    with written(folder / "strange" / "opencode.db") as client:
        client.execute("CREATE TABLE sessions (id)")
    make_database(folder / "whole" / "opencode.db")
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([folder])
        assert sorted(report.failed) == [str(damaged), str(folder / "opencode-other.db")]
        assert prompts(memory)


def test_what_a_schema_says_is_not_run(folder: Path) -> None:
    """A view may stand where a table is expected; a function in it could do anything."""
    path = make_database(folder / "opencode.db")
    with written(path) as client:
        client.execute("ALTER TABLE part RENAME TO kept")
        client.execute(
            "CREATE VIEW part AS SELECT id, message_id, session_id, time_created, time_updated,"
            " load_extension('evil') AS data FROM kept"
        )
    with open_memory(folder / "m.h5") as memory:
        assert memory.ingest([path]).lines == 0
        assert memory.sessions() == []


def test_text_that_is_none_and_bytes_are_kept(folder: Path) -> None:
    make_table(folder / "x.db")
    with written(folder / "x.db") as client:
        client.execute("INSERT INTO t VALUES ('a', 1, CAST(x'68ff69' AS TEXT)), ('b', 2, x'00ff')")
    with open_database(str(folder / "x.db")) as opened:
        (lines,) = new_lines(Rows(), opened, "s", ())
    assert [json.loads(line)["row"]["value"] for line in lines] == ["h\udcffi", {"base64": "AP8="}]


# -- around it -------------------------------------------------------------------------------------


def test_a_large_ingest_reads_databases_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker has no store, and would read all of it every time."""
    path = make_database(folder / "opencode.db")
    monkeypatch.setattr(workers, "WORTH_BYTES", 1)
    monkeypatch.setattr(workers, "work", lambda *_: pytest.fail("a worker was asked"))
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([path])
        before = sources_of(memory)
        with written(path) as client:
            say(client, "Why at noon?", version=1790000009500)
        assert memory.ingest([path]).lines == 1
        assert sources_of(memory) != before


def test_a_change_of_the_log_is_one_of_the_database(folder: Path) -> None:
    (folder / "opencode.db").write_bytes(b"")
    (folder / "opencode.db-wal").write_bytes(b"")
    real = Path(os.path.realpath(folder))
    assert list(_worth([(2, str(real / "opencode.db-wal"))])) == [str(real / "opencode.db")]


def test_sessions_are_gone_when_their_database_is(folder: Path) -> None:
    path = make_database(folder / "opencode.db")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([path])
        with memory.view() as view:
            sources = view.sources()

        def gone() -> tuple[int, int]:
            now = standing(sources, host=HOST, home=folder, environ={}, now_ms=0)
            return now.gone, now.changed

        assert gone() == (0, 0)
        path.unlink()
        assert gone() == (2, 0)
