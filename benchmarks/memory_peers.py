"""The memories we are compared with, each behind `System`. Nothing of Recollect is imported here.

Every one keeps all of a note: id, session, text, time, tags, channel, metadata and, where it is given one,
the vector. What a peer has no place for goes into a text column of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory_subject import Note
from benchmarks.memory_systems import CANDIDATES, Synced, System, fuse, words_of
from benchmarks.search_peers import chroma_client
from benchmarks.search_subject import Array

_COLUMNS = "number INTEGER PRIMARY KEY, id TEXT, session TEXT, time INTEGER, tags TEXT, channel TEXT"
_INSERT = "INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


class SqlitePlain(System):
    """One table and nothing else: the least that SQLite must do for a durable note."""

    title = "SQLite, one table"
    durable = "WAL, synchronous=FULL"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        apsw: Any = import_module("apsw")
        self.version = apsw.sqlite_lib_version()
        self._database = apsw.Connection(str(folder / "memory.db"))
        self._database.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-400000")
        self._database.execute(f"CREATE TABLE notes ({_COLUMNS}, metadata TEXT, text TEXT)")
        self._database.execute("CREATE TABLE artifacts (name TEXT PRIMARY KEY, form TEXT, data BLOB)")

    def save(self, note: Note) -> None:
        self._database.execute(_INSERT, _row(note))

    def save_batch(self, notes: Sequence[Note]) -> None:
        with self._database:
            self._database.executemany(_INSERT, map(_row, notes))

    def last(self, session: str, count: int) -> list[str]:
        asked = "SELECT text FROM notes WHERE session = ? ORDER BY number DESC LIMIT ?"
        return [row[0] for row in self._database.execute(asked, (session, count))][::-1]

    def keep_artifact(self, name: str, array: Array) -> None:
        form = f"{array.dtype.str} {' '.join(map(str, array.shape))}"
        row = name, form, array.tobytes()
        self._database.execute("INSERT OR REPLACE INTO artifacts VALUES (?, ?, ?)", row)

    def artifact(self, name: str) -> Array:
        asked = self._database.execute("SELECT form, data FROM artifacts WHERE name = ?", (name,))
        form, data = next(asked)
        kind, *shape = form.split()
        return np.frombuffer(data, dtype=kind).reshape(tuple(map(int, shape)))

    def compact(self) -> None:
        self._database.execute("VACUUM")
        self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self._database.close()


class Sqlite(SqlitePlain):
    """The same with what it takes to find a note again: an index of sessions, FTS5, and sqlite-vec."""

    title = "SQLite, FTS5, sqlite-vec"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        extension: Any = import_module("sqlite_vec")
        self.version += f", sqlite-vec {version('sqlite-vec')}"
        self._database.enable_load_extension(True)
        self._database.load_extension(extension.loadable_path())
        self._database.execute("CREATE INDEX by_session ON notes (session, number)")
        body = "text, content='notes', content_rowid='number', tokenize='porter unicode61'"
        self._database.execute(f"CREATE VIRTUAL TABLE words USING fts5({body})")
        self._has_vectors = False

    def save(self, note: Note) -> None:
        self.save_batch([note])

    def save_batch(self, notes: Sequence[Note]) -> None:
        rows = [(note.number, note.vector.tobytes()) for note in notes if note.vector is not None]
        if rows and not self._has_vectors:
            form = f"v float[{len(rows[0][1]) // 4}] distance_metric=cosine"
            self._database.execute(f"CREATE VIRTUAL TABLE vectors USING vec0({form})")
            self._has_vectors = True
        with self._database:
            self._database.executemany(_INSERT, map(_row, notes))
            words = ((note.number, note.text) for note in notes)
            self._database.executemany("INSERT INTO words(rowid, text) VALUES (?, ?)", words)
            self._database.executemany("INSERT INTO vectors(rowid, v) VALUES (?, ?)", rows)

    def settings(self) -> Iterator[str]:
        self._database.execute("INSERT INTO words(words) VALUES ('optimize')")
        yield "exact"

    def nearest(self, vector: Array, count: int) -> list[int]:
        asked = "SELECT rowid FROM vectors WHERE v MATCH ? AND k = ? ORDER BY distance"
        return [row[0] for row in self._database.execute(asked, (vector.tobytes(), count))]

    def search(self, words: str, vector: Array, count: int) -> list[tuple[int, str]]:
        match = " OR ".join(f'"{word}"' for word in words_of(words))
        asked = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
        by_words = [row[0] for row in self._database.execute(asked, (match, CANDIDATES))]
        best = fuse(by_words, self.nearest(vector, CANDIDATES), count=count)
        one = "SELECT text FROM notes WHERE number = ?"
        return [(number, next(self._database.execute(one, (number,)))[0]) for number in best]


class Chroma(System):
    """A collection on disk. Its local search has no ranking by words, so two queries of it are fused.

    One by vectors alone, and one by vectors among the documents that contain a word of the question, which
    is what its documentation calls full-text search.
    """

    title = "Chroma"
    durable = "as it comes: SQLite, rollback journal, synchronous=FULL"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.version = version("chromadb")
        self._client = chroma_client(folder)
        self._batch_max = self._client.get_max_batch_size()
        self._notes = self._client.create_collection(
            "notes", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def save(self, note: Note) -> None:
        self.save_batch([note])

    def save_batch(self, notes: Sequence[Note]) -> None:
        self._notes.add(
            ids=[str(note.number) for note in notes],
            embeddings=np.stack([note.vector for note in notes if note.vector is not None]),
            documents=[note.text for note in notes],
            metadatas=[_metadata(note) for note in notes],
        )

    def load(self, notes: Sequence[Note]) -> None:
        for at in range(0, len(notes), self._batch_max):
            self.save_batch(notes[at : at + self._batch_max])

    def last(self, session: str, count: int) -> list[str]:
        # It cannot order what it finds: the session is read whole.
        found = self._notes.get(where={"session": session}, include=["documents", "metadatas"])
        order = sorted(range(len(found["ids"])), key=lambda n: found["metadatas"][n]["time"])[-count:]
        return [found["documents"][n] for n in order]

    def settings(self) -> Iterator[str]:
        for width in (100, 400, 1600):
            self.use(f"ef_search {width}")
            yield f"ef_search {width}"

    def use(self, setting: str) -> None:
        # A changed width counts from the next opening on.
        width = int(setting.split()[-1])
        self._notes.modify(configuration={"hnsw": {"ef_search": width}})
        self._client = chroma_client(self.folder)
        self._notes = self._client.get_collection("notes", embedding_function=None)

    def nearest(self, vector: Array, count: int) -> list[int]:
        found = self._notes.query(query_embeddings=[vector], n_results=count, include=[])
        return [int(name) for name in found["ids"][0]]

    def search(self, words: str, vector: Array, count: int) -> list[tuple[int, str]]:
        contains = [{"$contains": word} for word in words_of(words)]
        among = contains[0] if len(contains) == 1 else {"$or": contains}
        found = self._notes.query(
            query_embeddings=[vector], n_results=CANDIDATES, include=[], where_document=among
        )
        by_words = [int(name) for name in found["ids"][0]]
        best = fuse(by_words, self.nearest(vector, CANDIDATES), count=count)
        texts = self._notes.get(ids=[str(number) for number in best], include=["documents"])
        said = dict(zip(map(int, texts["ids"]), texts["documents"], strict=True))
        return [(number, said[number]) for number in best]

    def close(self) -> None:
        self._client.close()


class LanceDb(System):
    """A table with an index of words and, where that is faster, of vectors; its own hybrid query and RRF."""

    title = "LanceDB"
    durable = "its new files synced by us: it syncs none"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.version = version("lancedb")
        self._arrow: Any = import_module("pyarrow")
        self._folder = folder / "lance"
        self._database: Any = import_module("lancedb").connect(str(self._folder))
        self._synced = Synced(self._folder)
        self._table: Any = None
        self._widened: Callable[[Any], Any] = lambda query: query

    def save(self, note: Note) -> None:
        self.save_batch([note])

    def save_batch(self, notes: Sequence[Note]) -> None:
        self.load(notes)
        self._synced.sync()

    def load(self, notes: Sequence[Note]) -> None:
        rows = self._rows(notes)
        if self._table is None:
            self._table = self._database.create_table("notes", rows)
        else:
            self._table.add(rows)

    def last(self, session: str, count: int) -> list[str]:
        found = self._table.search().where(f"session = '{session}'").select(["number", "text"]).limit(None)
        rows = sorted(found.to_list(), key=lambda row: row["number"])[-count:]
        return [row["text"] for row in rows]

    def keep_artifact(self, name: str, array: Array) -> None:
        arrow = self._arrow
        shape = arrow.array([list(array.shape)], arrow.list_(arrow.int64()))
        row = {"name": [name], "shape": shape, "data": arrow.array([array.tobytes()], arrow.large_binary())}
        table = arrow.table(row)
        if "artifacts" in self._database.table_names():
            self._database.open_table("artifacts").add(table)
        else:
            self._database.create_table("artifacts", table)
        self._synced.sync()

    def artifact(self, name: str) -> Array:
        table = self._database.open_table("artifacts")
        row = table.search().where(f"name = '{name}'").limit(1).to_arrow()
        shape = row["shape"][0].as_py()
        return np.frombuffer(row["data"][0].as_buffer(), dtype=np.float32).reshape(shape)

    def settings(self) -> Iterator[str]:
        index: Any = import_module("lancedb.index")
        self._table.optimize()
        self._table.create_index("text", config=index.FTS())
        self._table.create_index("session", config=index.BTree())
        self.use("exact")
        yield "exact"
        self._table.create_index("vector", config=index.IvfPq(distance_type="cosine"))
        for width in ("20, 10", "60, 50", "200, 200"):
            setting = f"IVF_PQ, nprobes and refine {width}"
            self.use(setting)
            yield setting

    def use(self, setting: str) -> None:
        if setting == "exact":
            self._widened = lambda query: query.bypass_vector_index()
        else:
            probes, refine = map(int, setting.rsplit("refine ", 1)[1].split(", "))
            self._widened = lambda query: query.nprobes(probes).refine_factor(refine)

    def nearest(self, vector: Array, count: int) -> list[int]:
        query = self._table.search(vector).distance_type("cosine").limit(count)
        found = self._widened(query).select(["number", "_distance"]).to_arrow()
        return [int(number) for number in found["number"].to_pylist()]

    def search(self, words: str, vector: Array, count: int) -> list[tuple[int, str]]:
        query = self._table.search(query_type="hybrid").vector(vector).text(" ".join(words_of(words)))
        found = self._widened(query.distance_type("cosine")).limit(count).to_arrow()
        return list(zip(found["number"].to_pylist(), found["text"].to_pylist(), strict=True))

    def rest(self) -> None:
        # As its documentation has it: every add is a new version, and a table of many gets slow.
        self._table.optimize(cleanup_older_than=timedelta(0))

    def compact(self) -> None:
        self.rest()

    def close(self) -> None:
        self._table = None

    def _rows(self, notes: Sequence[Note]) -> Any:
        arrow = self._arrow
        columns = {
            "number": arrow.array([note.number for note in notes]),
            "id": [note.id for note in notes],
            "session": [note.session for note in notes],
            "time": [note.time_ms for note in notes],
            "tags": [",".join(note.tags) for note in notes],
            "channel": [note.channel for note in notes],
            "metadata": [note.said for note in notes],
            "text": [note.text for note in notes],
        }
        if notes[0].vector is not None:
            flat = np.concatenate([note.vector for note in notes if note.vector is not None])
            columns["vector"] = arrow.FixedSizeListArray.from_arrays(arrow.array(flat), len(notes[0].vector))
        return arrow.table(columns)


class Hdf5Writer(System):
    """agentic-conversations-hdf5: one session in one file, appended row by row or in blocks."""

    title = "agentic-conversations-hdf5"
    durable = "its flush, then fsync by us"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.version = version("agentic-conversations-hdf5")
        self._class: Any = import_module("agentic_conversations_hdf5.backends.hdf5").HDF5Session
        self._session: Any = None
        self._open(1)

    def save(self, note: Note) -> None:
        if self._session._batch_size != 1:
            self._open(1)
        self._append(note)
        self._sync()

    def save_batch(self, notes: Sequence[Note]) -> None:
        if self._session._batch_size != len(notes):
            self._open(len(notes))
        for note in notes:
            self._append(note)
        self._sync()

    def save_turns(self, turns: Sequence[tuple[Note, Array | None]]) -> None:
        if self._session._batch_size != len(turns):
            self._open(len(turns))
        for note, result in turns:
            self._append(note)
            if result is not None:
                self._session.append_tool_call(tool_use_id=note.id, name="run", result_data=result)
        self._sync()

    def last(self, session: str, count: int) -> list[str]:
        return [row["content"] for row in self._session.get_recent_context(count)]

    def keep_artifact(self, name: str, array: Array) -> None:
        self._session.store_artifact(name, array)
        self._sync()

    def artifact(self, name: str) -> Array:
        found: Array = self._session.get_artifact(name)
        return found

    def close(self) -> None:
        self._session.close()

    def _open(self, batch: int) -> None:
        """Its block size is set when it opens; it need flush only where we sync."""
        if self._session is not None:
            self._session.close()
        self._session = self._class(self.folder / "s.h5", "main", batch_size=batch, flush_every=0)

    def _append(self, note: Note) -> None:
        self._session.append_message(
            uuid=note.id,
            role="user",
            timestamp=note.time_ms / 1000,
            content_text=note.text,
            content_json=note.said,
            embedding=note.vector,
        )

    def _sync(self) -> None:
        file = self._session._f
        file.flush()
        os.fsync(file.id.get_vfd_handle())


PEERS: dict[str, type[System]] = {
    "sqlite": SqlitePlain,
    "sqlite_vec": Sqlite,
    "chroma": Chroma,
    "lancedb": LanceDb,
    "hdf5": Hdf5Writer,
}


def _row(note: Note) -> tuple[Any, ...]:
    return (
        note.number,
        note.id,
        note.session,
        note.time_ms,
        ",".join(note.tags),
        note.channel,
        note.said,
        note.text,
    )


def _metadata(note: Note) -> dict[str, Any]:
    tags = {"tags": ",".join(note.tags), "channel": note.channel, "said": note.said}
    return {"id": note.id, "session": note.session, "time": note.time_ms} | tags
