"""What is built or measured inside one of our own processes: run as a child, answers in JSON on stdout.

python -m benchmarks.search_worker logs CORPUS TARGET COPY FILES_JSON
python -m benchmarks.search_worker subject STORE FOLDER QUESTIONS VECTORS
python -m benchmarks.search_worker warm STORE FOLDER MODE ROUNDS
python -m benchmarks.search_worker grouped STORE FOLDER ROUNDS
python -m benchmarks.search_worker index-alone STORE FOLDER ROUNDS
python -m benchmarks.search_worker nearest FOLDER SCRATCH ROUNDS
python -m benchmarks.search_worker reindex STORE SCRATCH
python -m benchmarks.search_worker embed STORE ENTRIES
"""

from __future__ import annotations

import json
import os
import random
import re
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import corpus, product, words
from benchmarks.measure import spread, weight_of
from benchmarks.search_lab import K
from benchmarks.search_subject import Subject, recall, tenth_best, timed_queries

SEED = 3
PIECE_CHARS = 600  # shorter than the product's, so that there are as many vectors as entries
PIECES_MAX = 24  # of one text, so that a few huge outputs are not most of the vectors
_IDENTIFIER = re.compile(r"\b(?:[a-z]+(?:_[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+|[a-z_]+(?:\.[a-z_]+){1,3})\b")
_ERROR = re.compile(r"^.*?\b(\w*(?:Error|Exception|error|failed|denied)\b[^\n]{10,120})", re.MULTILINE)
_PLAIN = re.compile(r"[A-Za-z][A-Za-z'-]+")


def logs(root: Path, target: Path, copy: int, files: Sequence[str]) -> dict[str, object]:
    """Write these logs as another person's: copy 0 is the logs themselves."""
    if copy == 0:
        for name in files:
            place = target / "c0" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes((root / name).read_bytes())
        return {"bytes": weight_of(target)}
    known = _vocabulary(root, target.with_name("vocabulary"))
    changed = words.wording(known, copy)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(partial(_retold, root, target, copy, changed), files, chunksize=4))
    return {"bytes": weight_of(target), "words": len(known)}


def subject(store: Path, folder: Path, questions: int, vectors: int) -> dict[str, object]:
    """Fill the folder that everyone is asked about."""
    from recollect.search.embed.static import StaticEmbedder

    made = Subject(folder)
    with product.memory(store) as opened, opened.view() as view:
        count, size = made.write_texts(filter(None, map(product.indexed_text, product.entries(view))))
        asked = _questions(product.entries(view), questions * 2)
        filters = _filters(opened.sessions())
    (folder / "questions.json").write_text(json.dumps(asked))
    (folder / "filters.json").write_text(json.dumps(filters))
    embedder = StaticEmbedder.load()
    matrix = _embedded(embedder, cut_pieces(made.texts()), vectors)
    np.save(folder / "vectors.npy", matrix)
    asking = np.stack([embedder.encode_query(question) for question in asked])
    np.save(folder / "question_vectors.npy", asking)
    np.save(folder / "exact.npy", tenth_best(matrix, asking[questions:]))
    return {"texts": count, "text_bytes": size, "vectors": len(matrix), "dims": matrix.shape[1]}


def warm(store: Path, folder: Path, mode: str, rounds: int) -> dict[str, object]:
    """Questions to one open memory: `text`, `vector`, or `hybrid` with filters, as a person sees the hits."""
    warm_up, timed = Subject(folder).questions()
    filters = json.loads((folder / "filters.json").read_text()) if mode == "hybrid" else [""]
    with product.memory(store) as opened:
        start = time.perf_counter()
        product.search(opened, timed[0], mode)
        first = time.perf_counter() - start

        def ask(question: tuple[int, str]) -> int:
            number, text = question
            return product.search(opened, text, mode, filters[number % len(filters)])

        seconds, found = timed_queries(ask, list(enumerate(warm_up)), list(enumerate(timed)), rounds)
        if missing := product.unindexed(opened):
            raise RuntimeError(f"{missing:,} entries are not indexed: what was measured is another store")
    if found.count(0) * 2 > len(found):
        raise RuntimeError(f"{found.count(0)} of {len(found)} questions found nothing: no measurement")
    return {"first_ms": first * 1e3, "warm": spread(seconds), "without_hits": found.count(0)}


def grouped(store: Path, folder: Path, rounds: int) -> dict[str, object]:
    """The same questions with and without sessions told beside the hits, by turns."""
    warm_up, timed = Subject(folder).questions()
    with product.memory(store) as opened:

        def ask(question: str, by_session: bool) -> float:
            start = time.perf_counter()
            product.search(opened, question, "hybrid", by_session=by_session)
            return time.perf_counter() - start

        for question in warm_up:
            ask(question, True)
        taken: dict[bool, list[list[float]]] = {False: [], True: []}
        for turn in range(rounds):
            # All questions one way, then the other: what was just asked is still in memory.
            for by_session in (turn % 2 == 0, turn % 2 == 1):
                taken[by_session].append([ask(each, by_session) for each in timed])
    flat, told = (
        [statistics.median(each) for each in zip(*taken[way], strict=True)] for way in (False, True)
    )
    return {"flat": spread(flat), "grouped": spread(told), "ratio": sum(told) / sum(flat)}


def index_alone(store: Path, folder: Path, rounds: int) -> dict[str, object]:
    """The text index by itself: a question's words to the rows of the best entries."""
    warm_up, timed = Subject(folder).questions()
    with product.text_asker(store, K) as ask:
        seconds, found = timed_queries(ask, warm_up, timed, rounds)
    return {"warm": spread(seconds), "without_hits": sum(not rows for rows in found)}


def nearest(folder: Path, scratch: Path, rounds: int) -> dict[str, object]:
    """Our own search over the vectors that the peers have, by the strategy we would choose."""
    made = Subject(folder)
    start = time.perf_counter()
    name, ask = product.nearest_asker(made.vectors(), scratch, K)
    built = time.perf_counter() - start
    seconds, found = timed_queries(ask, *made.question_vectors(), rounds)
    answer = {"strategy": name, "build_s": built, "warm": spread(seconds), "recall": recall(made, found)}
    return answer | {"vectors": len(made.vectors()), "disk_bytes": weight_of(scratch)}


def reindex(store: Path, scratch: Path) -> dict[str, object]:
    """A text index made from nothing."""
    start, cpu = time.perf_counter(), _cpu_seconds()
    rows = product.reindex(store, scratch)
    seconds, cpu = time.perf_counter() - start, _cpu_seconds() - cpu
    return {"rows": rows, "seconds": seconds, "cpu_seconds": cpu, "index_bytes": weight_of(scratch)}


def embed(store: Path, count: int) -> dict[str, object]:
    """The default embedder's entries per second of processor time, cut as the product does it."""
    from recollect.search.embed.static import StaticEmbedder

    embedder = StaticEmbedder.load()
    with product.memory(store) as opened, opened.view() as view:
        chosen = _even(product.embedded_entries(view), count)
    cpu = time.process_time()
    pieces = product.distinct_pieces(chosen)
    for at in range(0, len(pieces), 256):
        embedder.encode(pieces[at : at + 256])
    cpu = time.process_time() - cpu
    counts = {"entries": len(chosen), "pieces": len(pieces), "chars": sum(map(len, pieces))}
    return counts | {"cpu_seconds": cpu}


def main(argv: list[str]) -> None:
    match argv:
        case ["logs", root, target, copy, files]:
            answer = logs(Path(root), Path(target), int(copy), json.loads(Path(files).read_text()))
        case ["subject", store, folder, questions, vectors]:
            answer = subject(Path(store), Path(folder), int(questions), int(vectors))
        case ["warm", store, folder, mode, rounds]:
            answer = warm(Path(store), Path(folder), mode, int(rounds))
        case ["grouped", store, folder, rounds]:
            answer = grouped(Path(store), Path(folder), int(rounds))
        case ["index-alone", store, folder, rounds]:
            answer = index_alone(Path(store), Path(folder), int(rounds))
        case ["nearest", folder, scratch, rounds]:
            answer = nearest(Path(folder), Path(scratch), int(rounds))
        case ["reindex", store, scratch]:
            answer = reindex(Path(store), Path(scratch))
        case ["embed", store, count]:
            answer = embed(Path(store), int(count))
        case _:
            raise SystemExit(__doc__)
    json.dump(answer, sys.stdout)


def _vocabulary(root: Path, known: Path) -> list[bytes]:
    """The words of the whole corpus: found once, for all copies alike."""
    if not known.exists():
        known.write_bytes(b"\n".join(words.vocabulary(corpus.tree_of(root, "claude", "codex").files)))
    return known.read_bytes().split(b"\n")


def _retold(root: Path, target: Path, copy: int, changed: dict[bytes, bytes], name: str) -> None:
    data = words.reworded((root / name).read_bytes(), changed)
    place = target / f"c{copy}" / corpus.renamed(name, copy)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(corpus.Template(data).filled(copy))


def _questions(entries: Iterator[Any], count: int) -> list[str]:
    """What people ask a memory: half words of prompts, a quarter identifiers, a quarter error messages."""
    from recollect.values.records import Flag, Kind

    found: dict[str, list[str]] = {"prompt": [], "identifier": [], "error": []}
    chosen = random.Random(SEED)
    for entry in entries:
        text = product.indexed_text(entry)[:4000]
        if entry.kind == Kind.PROMPT and len(said := _PLAIN.findall(text)) >= 3:
            start = chosen.randrange(len(said) - 2)
            found["prompt"].append(" ".join(said[start : start + chosen.randint(2, 6)]))
        elif entry.kind in (Kind.CALL, Kind.ANSWER) and (names := _IDENTIFIER.findall(text)):
            found["identifier"].append(chosen.choice(names))
        elif entry.flags & Flag.ERROR and (line := _ERROR.search(text)):
            found["error"].append(line[1][:100])
    asked: list[str] = []
    for kind, share in (("prompt", 2), ("identifier", 4), ("error", 4)):
        distinct = sorted(set(found[kind]))
        asked += chosen.sample(distinct, min(count // share, len(distinct)))
    # A small store may have too few errors: then some are asked twice rather than fewer.
    asked += chosen.choices(asked, k=count - len(asked))
    chosen.shuffle(asked)
    return asked


def _filters(sessions: Sequence[Any]) -> list[str]:
    """What people add to a question, taken in turn: nothing, a project, a tool, a kind, a time, no errors."""
    busiest = sorted(sessions, key=lambda session: -session.entries)[:20]
    projects = list(dict.fromkeys(session.facts.project for session in busiest if session.facts.project))
    middle = sorted(session.facts.started_ms for session in sessions)[len(sessions) // 2]
    day = time.strftime("%Y-%m-%d", time.gmtime(middle / 1000))
    named = [f'project:"{name}"' for name in projects[:3]]
    return ["", *named, "tool:Bash", "kind:answer", f"after:{day}", f"before:{day}", "-is:error", "-test"]


def cut_pieces(texts: Iterator[str]) -> Iterator[str]:
    """Pieces of texts, each once: the product, too, embeds what is the same only once."""
    seen: set[int] = set()
    for text in texts:
        for at in range(0, min(len(text), PIECES_MAX * PIECE_CHARS), PIECE_CHARS):
            piece = text[at : at + PIECE_CHARS]
            if (key := hash(piece)) not in seen:
                seen.add(key)
                yield piece


def _embedded(embedder: Any, pieces: Iterator[str], count: int) -> np.ndarray[Any, Any]:
    """Vectors of the first pieces that have words."""
    matrix = np.zeros((count, embedder.dims), dtype=np.float16)
    filled = 0
    while filled < count and (batch := list(islice(pieces, 2000))):
        rows = embedder.encode(batch)
        rows = rows[np.abs(rows).max(axis=1) > 0][: count - filled]
        matrix[filled : filled + len(rows)] = rows
        filled += len(rows)
    return matrix[:filled]


def _even(entries: Iterator[Any], count: int) -> list[Any]:
    """A sample without preference."""
    kept: list[Any] = []
    chosen = random.Random(SEED)
    for number, entry in enumerate(entries):
        if number < count:
            kept.append(entry)
        elif (place := chosen.randrange(number + 1)) < count:
            kept[place] = entry
    return kept


def _cpu_seconds() -> float:
    """Of this process, its threads and its finished children."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


if __name__ == "__main__":
    main(sys.argv[1:])
