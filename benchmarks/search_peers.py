"""The search engines we are compared with, each built and asked in a process of its own.

    python -m benchmarks.search_peers NAME SUBJECT SCRATCH ROUNDS

SUBJECT is a folder as `benchmarks.search_subject` says: the same texts, vectors and questions for everyone.
The answer is JSON on stdout: how long building took, its size on disk, the times of queries, recall@10.
This file imports nothing of Recollect, so that the peers' packages may live in an interpreter of their own.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import spread, weight_of
from benchmarks.search_lab import RECALL_MIN, K
from benchmarks.search_subject import Subject, recall, timed_queries

Ask = Callable[[Any], Sequence[int]]  # a question, or its vector, to the numbers of the best documents


def fts5(subject: Subject, scratch: Path, rounds: int) -> Iterator[dict[str, Any]]:
    """SQLite FTS5, Porter stemming, bm25 ranking; asked for any of the words, and for all of them."""
    apsw: Any = import_module("apsw")
    database = apsw.Connection(str(scratch / "fts5.db"))
    start = time.perf_counter()
    database.execute("PRAGMA journal_mode=OFF; PRAGMA cache_size=-400000; PRAGMA mmap_size=8000000000")
    database.execute("CREATE VIRTUAL TABLE t USING fts5(body, content='', tokenize='porter unicode61')")
    with database:
        database.executemany("INSERT INTO t(rowid, body) VALUES (?, ?)", enumerate(subject.texts()))
        database.execute("INSERT INTO t(t) VALUES ('optimize')")
    built = {"build_s": time.perf_counter() - start, "disk_bytes": weight_of(scratch)}
    for joint, title in ((" OR ", "SQLite FTS5"), (" ", "SQLite FTS5, all words")):

        def ask(question: str, joint: str = joint) -> list[int]:
            match = joint.join(f'"{word}"' for word in dict.fromkeys(_words(question)))
            asked = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?"
            return [row[0] for row in database.execute(asked, (match, K))]

        seconds, _ = timed_queries(ask, *subject.questions(), rounds)
        yield built | {"peer": title, "version": apsw.sqlite_lib_version(), "times": spread(seconds)}


def bm25s(subject: Subject, scratch: Path, rounds: int) -> Iterator[dict[str, Any]]:
    """bm25s with its Lucene variant, English stop words and Snowball stemming, in memory."""
    engine: Any = import_module("bm25s")
    stemmer: Any = import_module("Stemmer").Stemmer("english")
    tokenizer: Any = import_module("bm25s.tokenization").Tokenizer(stemmer=stemmer, stopwords="en")
    start = time.perf_counter()
    tokens = tokenizer.tokenize(list(subject.texts()), show_progress=False, return_as="tuple")
    index = engine.BM25()
    index.index(tokens, show_progress=False)
    del tokens
    built = {"build_s": time.perf_counter() - start}
    index.save(str(scratch / "bm25s"))

    def ask(question: str) -> list[int]:
        words = tokenizer.tokenize([question], update_vocab=False, show_progress=False)
        found = index.retrieve(words, k=K, show_progress=False, return_as="documents")
        return [int(number) for number in found[0]]

    seconds, _ = timed_queries(ask, *subject.questions(), rounds)
    built |= {"disk_bytes": weight_of(scratch)}
    yield built | {"peer": "bm25s", "version": version("bm25s"), "times": spread(seconds)}


def chroma(subject: Subject, scratch: Path, rounds: int) -> Iterator[dict[str, Any]]:
    """Chroma's HNSW on disk: as it comes, then with wider searches until recall is high enough."""
    client = chroma_client(scratch)
    start = time.perf_counter()
    collection = client.create_collection("vectors", embedding_function=None)
    vectors, step = subject.vectors(), client.get_max_batch_size()
    for at in range(0, len(vectors), step):
        part = vectors[at : at + step].astype(np.float32)
        collection.add(ids=[str(at + n) for n in range(len(part))], embeddings=part)
    built = {"build_s": time.perf_counter() - start, "disk_bytes": weight_of(scratch)}

    def wider() -> Iterator[tuple[str, Ask]]:
        for width in (100, 400, 1600, 6400):
            # A changed width counts from the next opening on.
            before = chroma_client(scratch).get_collection("vectors")
            before.modify(configuration={"hnsw": {"ef_search": width}})
            opened = chroma_client(scratch).get_collection("vectors", embedding_function=None)
            yield f"ef_search {width}", partial(_chroma_ask, opened)

    named = {"peer": "Chroma", "version": version("chromadb")}
    yield from _until_recall(subject, rounds, wider(), built | named)


def sqlite_vec(subject: Subject, scratch: Path, rounds: int) -> Iterator[dict[str, Any]]:
    """sqlite-vec: a full scan, so its recall is 1."""
    apsw: Any = import_module("apsw")
    extension: Any = import_module("sqlite_vec")
    database = apsw.Connection(str(scratch / "vec.db"))
    database.enable_load_extension(True)
    database.load_extension(extension.loadable_path())
    vectors = subject.vectors()
    start = time.perf_counter()
    database.execute("PRAGMA journal_mode=OFF; PRAGMA cache_size=-800000; PRAGMA mmap_size=8000000000")
    database.execute(f"CREATE VIRTUAL TABLE t USING vec0(v float[{vectors.shape[1]}])")
    with database:
        rows = ((n, vector.astype(np.float32).tobytes()) for n, vector in enumerate(vectors))
        database.executemany("INSERT INTO t(rowid, v) VALUES (?, ?)", rows)
    built = {"build_s": time.perf_counter() - start, "disk_bytes": weight_of(scratch)}

    def ask(vector: Any) -> list[int]:
        asked = "SELECT rowid FROM t WHERE v MATCH ? AND k = ? ORDER BY distance"
        return [row[0] for row in database.execute(asked, (vector.tobytes(), K))]

    named = {"peer": "sqlite-vec", "version": version("sqlite-vec")}
    yield from _until_recall(subject, rounds, [("exact", ask)], built | named)


def lancedb(subject: Subject, scratch: Path, rounds: int) -> Iterator[dict[str, Any]]:
    """LanceDB: its IVF_PQ index with re-ranking, wider until recall is high enough; then its exact scan."""
    lance: Any = import_module("lancedb")
    arrow: Any = import_module("pyarrow")
    vectors = subject.vectors().astype(np.float32)
    start = time.perf_counter()
    flat = arrow.FixedSizeListArray.from_arrays(arrow.array(vectors.ravel()), vectors.shape[1])
    data = arrow.table({"n": arrow.array(np.arange(len(vectors))), "vector": flat})
    opened = lance.connect(str(scratch / "lance")).create_table("vectors", data)
    del data, flat
    loaded = time.perf_counter() - start
    exact = {"build_s": loaded, "disk_bytes": weight_of(scratch)}
    named = {"peer": "LanceDB", "version": version("lancedb")}
    scan = _lance(opened, lambda query: query.bypass_vector_index())
    yield from _until_recall(subject, min(rounds, 1), [("exact", scan)], exact | named)
    opened.create_index("vector", config=import_module("lancedb.index").IvfPq(distance_type="dot"))
    built = {"build_s": time.perf_counter() - start, "disk_bytes": weight_of(scratch)}
    widths = ((20, 10), (60, 50), (200, 200), (600, 1000))
    asks = (
        (f"IVF_PQ, nprobes {probes}, refine {refine}", _lance(opened, _lance_width(probes, refine)))
        for probes, refine in widths
    )
    named = {"peer": "LanceDB", "version": version("lancedb")}
    yield from _until_recall(subject, rounds, asks, built | named)


PEERS = {each.__name__: each for each in (fts5, bm25s, chroma, sqlite_vec, lancedb)}


def main(argv: Sequence[str]) -> None:
    name, folder, scratch, rounds = argv
    answers = list(PEERS[name](Subject(Path(folder)), Path(scratch), int(rounds)))
    json.dump(answers, sys.stdout)


def _until_recall(
    subject: Subject, rounds: int, asks: Iterable[tuple[str, Ask]], named: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Each setting in turn, from the narrowest, up to the first whose recall is high enough."""
    for setting, ask in asks:
        seconds, found = timed_queries(ask, *subject.question_vectors(), rounds)
        share = recall(subject, found)
        yield named | {"setting": setting, "times": spread(seconds), "recall": share}
        if share >= RECALL_MIN:
            return


def chroma_client(scratch: Path) -> Any:
    """The client, opened afresh."""
    chromadb: Any = import_module("chromadb")
    chromadb.api.client.SharedSystemClient.clear_system_cache()
    settings = chromadb.config.Settings(anonymized_telemetry=False)
    return chromadb.PersistentClient(path=str(scratch / "chroma"), settings=settings)


def _chroma_ask(collection: Any, vector: Any) -> list[int]:
    found = collection.query(query_embeddings=[vector], n_results=K, include=[])
    return [int(name) for name in found["ids"][0]]


def _lance(opened: Any, widened: Callable[[Any], Any]) -> Ask:
    def ask(vector: Any) -> list[int]:
        query = widened(opened.search(vector).distance_type("dot").select(["n", "_distance"]).limit(K))
        return [int(number) for number in query.to_arrow()["n"].to_pylist()]

    return ask


def _lance_width(probes: int, refine: int) -> Callable[[Any], Any]:
    return lambda query: query.nprobes(probes).refine_factor(refine)


def _words(question: str) -> list[str]:
    return re.findall(r"\w+", question)


if __name__ == "__main__":
    main(sys.argv[1:])
