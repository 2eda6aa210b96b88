"""The strategies of nearest-neighbour search, measured: `python -m benchmarks.vectors --corpus DIR`.

Vectors are those of real texts, as the embedder inside the wheel gives them. Beyond what the corpus has,
copies follow in which 5 to 35 % of a text's words are another's: a vector is a sum over words, so that is
a weighted sum of two. Queries are prompts and pieces of sentences. Recall is against the exact scan; a hit
that ties with the tenth counts as found.

Prints the table that `recollect.search.vectors.nearest.choose` rests on. Exit status: 0 marks met, 1 missed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.measure import machine, percentile, run, weight_of
from recollect.search.embed.contract import Vectors
from recollect.search.vectors import nearest
from recollect.search.vectors.scan import Matrix
from recollect.values.errors import UsageError
from recollect.values.vocabulary import STRATEGIES

RESULTS = Path(__file__).parent / "results" / "vectors.json"
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
MARK_ROWS = 300_000
QUERIES = 200
HITS = 10
FRESH_RUNS = 5
SEARCH_SECONDS_MAX = 30.0  # then what is slow has been asked often enough
PIECE_CHARS = 1500
PIECES_PER_ENTRY_MAX = 8
PROMPT_CHARS_MAX = 200
SEED = 20261115

HEAD = (
    *("rows", "strategy", "p50 ms", "p95 ms", "cpu ms", "recall@10"),
    *("build s", "load ms", "first ms", "MB", "mark"),
)


@dataclass(frozen=True)
class Figures:
    """One strategy over so many rows. `cpu_ms` and `first_ms` are processor time."""

    strategy: str
    rows: int
    p50_ms: float
    p95_ms: float
    cpu_ms: float
    recall: float
    build_s: float
    load_ms: float
    first_ms: float
    megabytes: float

    @property
    def met(self) -> bool | None:
        """Whether the marks are met; None where none is set."""
        if self.rows != MARK_ROWS or self.strategy != "fastscan":
            return None
        return self.p50_ms <= nearest.P50_MS_MAX and self.recall >= nearest.RECALL_MIN


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    if arguments.first is not None:
        return _first(*arguments.first)
    with tempfile.TemporaryDirectory(prefix="recollect-vectors-", dir=arguments.scratch) as name:
        scratch = Path(name)
        real, queries = _inputs(arguments, scratch)
        print(f"{len(real)} real vectors, {len(queries)} queries", file=sys.stderr)
        taken = [
            figures
            for size in sorted(arguments.sizes)
            for figures in measured(real, queries, size, arguments.only, scratch / str(size))
        ]
        conditions = machine(scratch)
    print(table(taken))
    report = {"machine": conditions, "real": len(real), "rows": [asdict(figures) for figures in taken]}
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if any(figures.met is False for figures in taken) else 0


def measured(
    real: Matrix, queries: Vectors, size: int, strategies: Sequence[str], scratch: Path
) -> Iterator[Figures]:
    """Every strategy over the same rows; one whose library or device is missing is left out."""
    scratch.mkdir()
    np.save(scratch / "vectors.npy", grown(real, size))
    np.save(scratch / "query.npy", queries[0])
    vectors = np.load(scratch / "vectors.npy", mmap_mode="r")
    truth = tenth_scores(vectors, queries)
    for name in strategies:
        print(f"{name} over {size} ...", file=sys.stderr, flush=True)
        try:
            yield (figures := _figures(name, vectors, queries, truth, scratch))
            print(figures, file=sys.stderr, flush=True)
        except UsageError as error:
            print(f"{name}: {error} ({error.hint})", file=sys.stderr)
    (scratch / "vectors.npy").unlink()


def grown(real: Matrix, size: int) -> Matrix:
    """So many rows: an even pick of the real ones, or all of them and mixtures of each with another."""
    random = np.random.default_rng(SEED)
    if size <= len(real):
        return real[np.sort(random.permutation(len(real))[:size])]
    parts, left = [real], size - len(real)
    while left > 0:
        own = random.permutation(len(real))[:left]
        other = random.integers(0, len(real), len(own))
        share = random.uniform(0.05, 0.35, (len(own), 1)).astype(np.float32)
        mixed = (1 - share) * real[own].astype(np.float32) + share * real[other].astype(np.float32)
        length = np.linalg.norm(mixed, axis=1, keepdims=True)
        parts.append((mixed / np.where(length > 0, length, 1)).astype(np.float16))
        left -= len(own)
    return np.concatenate(parts)


def tenth_scores(vectors: Matrix, queries: Vectors) -> Vectors:
    """Each query's tenth best score, all at once; BLAS, so it may differ from a scan's in the last bits."""
    best = np.full((len(queries), HITS), -np.inf, dtype=np.float32)
    for at in range(0, len(vectors), 16_384):
        found = queries @ vectors[at : at + 16_384].astype(np.float32).T
        best = -np.partition(-np.concatenate((best, found), axis=1), HITS - 1, axis=1)[:, :HITS]
    tenth: Vectors = best.min(axis=1)
    return tenth


def real_vectors(store: Path) -> tuple[Matrix, Vectors]:
    """The vectors of a store's distinct pieces of text, and of queries that people might ask of them."""
    from recollect.search.embed.static import StaticEmbedder

    texts, prompts = _texts(store)
    embedder = StaticEmbedder.load()
    blocks = range(0, len(texts), 4096)
    vectors = np.concatenate([embedder.encode(texts[at : at + 4096]).astype(np.float16) for at in blocks])
    queries = embedder.encode(_questions(texts, prompts))
    return vectors, queries[queries.any(axis=1)][:QUERIES]


def table(taken: Sequence[Figures]) -> str:
    """What was measured, what `choose` makes of each size, and the rows as `nearest.MEASURED` has them."""
    lines = [list(HEAD)]
    for row in taken:
        verdict = {None: "", True: "met", False: "MISSED"}[row.met]
        times = (f"{row.p50_ms:.2f}", f"{row.p95_ms:.2f}", f"{row.cpu_ms:.2f}", f"{row.recall:.3f}")
        costs = (f"{row.build_s:.1f}", f"{row.load_ms:.1f}", f"{row.first_ms:.0f}", f"{row.megabytes:.1f}")
        lines.append([f"{row.rows:,}", row.strategy, *times, *costs, verdict])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ["  ".join(map(str.rjust, line, widths)).rstrip() for line in lines]
    dims = nearest.MEASURED_DIMS
    for size in sorted({row.rows for row in taken}):
        text.append(f"chosen at {size:,}: {nearest.choose(size, dims)}")
    entries = [
        f'Measured("{row.strategy}", {row.rows:_}, {row.cpu_ms:.2f}, {row.first_ms:.0f}, {row.recall:.3f}),'
        for row in taken
    ]
    return "\n".join([*text, *entries])


def _figures(name: str, vectors: Matrix, queries: Vectors, truth: Vectors, scratch: Path) -> Figures:
    folder = scratch / name
    folder.mkdir()
    with _clock() as build:
        nearest.build(name, vectors, folder)
    loads = []
    for _ in range(FRESH_RUNS):
        with _clock() as load:
            index = nearest.load(name, vectors, folder)
        loads.append(load[0])
    index.search(queries[0], HITS)
    walls: list[float] = []
    cpus: list[float] = []
    found = 0
    for query, tenth in zip(queries, truth, strict=True):
        if sum(walls) > SEARCH_SECONDS_MAX:
            break
        with _clock() as wall:
            cpu = time.thread_time()
            _, scores = index.search(query, HITS)
            cpus.append(time.thread_time() - cpu)
        walls.append(wall[0])
        found += int((scores >= tenth - 1e-6).sum())
    return Figures(
        strategy=name,
        rows=len(vectors),
        p50_ms=statistics.median(walls) * 1e3,
        p95_ms=percentile(walls, 0.95) * 1e3,
        cpu_ms=statistics.median(cpus) * 1e3,
        recall=found / (HITS * len(walls)),
        build_s=build[0],
        load_ms=statistics.median(loads) * 1e3,
        first_ms=_first_ms(name, folder),
        megabytes=weight_of(folder) / 1e6,
    )


@contextmanager
def _clock() -> Iterator[list[float]]:
    """Seconds, once the block is left."""
    taken: list[float] = []
    start = time.perf_counter()
    yield taken
    taken.append(time.perf_counter() - start)


def _first_ms(name: str, folder: Path) -> float:
    """A new process that has imported numpy: processor time from there to its first hits."""
    argv = [sys.executable, "-m", "benchmarks.vectors", "--first", name, str(folder)]
    return statistics.median(float(run(argv).checked().stdout) for _ in range(FRESH_RUNS))


def _first(name: str, folder: str) -> int:
    """Print the processor time of a search that had nothing loaded but numpy, in milliseconds."""
    place = Path(folder)
    before = time.process_time()
    vectors = np.load(place.parent / "vectors.npy", mmap_mode="r")
    nearest.load(name, vectors, place).search(np.load(place.parent / "query.npy"), HITS)
    print((time.process_time() - before) * 1e3)
    return 0


def _inputs(arguments: argparse.Namespace, scratch: Path) -> tuple[Matrix, Vectors]:
    if arguments.vectors is not None:
        with np.load(arguments.vectors, allow_pickle=False) as data:
            return data["vectors"], data["queries"]
    store = arguments.store
    if store is None:
        from benchmarks import product

        store = scratch / "home" / "corpus.h5"
        product.ingest(store, arguments.corpus.resolve())
    vectors, queries = real_vectors(store)
    if arguments.save is not None:
        np.savez(arguments.save, vectors=vectors, queries=queries)
    return vectors, queries


def _texts(store: Path) -> tuple[list[str], list[str]]:
    """Distinct pieces of the store's entries, in order, and the short ones among its prompts."""
    from recollect import Memory
    from recollect.values.records import Kind

    pieces: dict[str, None] = {}
    prompts: dict[str, None] = {}
    with Memory.open(store) as memory, memory.view() as view:
        for session in view.sessions():
            for stored in view.entries(session):
                text = stored.entry.text
                if stored.entry.kind == Kind.PROMPT and len(text) <= PROMPT_CHARS_MAX:
                    prompts[text] = None
                for at in range(0, min(len(text), PIECES_PER_ENTRY_MAX * PIECE_CHARS), PIECE_CHARS):
                    pieces[text[at : at + PIECE_CHARS]] = None
    return list(pieces), list(prompts)


def _questions(texts: Sequence[str], prompts: Sequence[str]) -> list[str]:
    """Half prompts, half three to eight words out of the middle of something; more than are needed."""
    random = np.random.default_rng(SEED)
    asked = [prompts[number] for number in random.permutation(len(prompts))[: QUERIES // 2]]
    for number in random.integers(0, len(texts), 2 * QUERIES):
        words = texts[number].split()
        if len(words) > 8:
            start = int(random.integers(0, len(words) - 8))
            asked.append(" ".join(words[start : start + int(random.integers(3, 9))]))
    return asked


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.vectors", description="Measure the strategies."
    )
    corpus = os.environ.get("RECOLLECT_CORPUS")
    source = parser.add_mutually_exclusive_group(required=corpus is None and "--first" not in sys.argv)
    source.add_argument(
        "--corpus", type=Path, default=corpus and Path(corpus), metavar="DIR", help="real logs"
    )
    source.add_argument("--store", type=Path, metavar="FILE", help="a store that has them already")
    source.add_argument("--vectors", type=Path, metavar="NPZ", help="what --save wrote; needs no corpus")
    source.add_argument("--first", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--save", type=Path, metavar="NPZ", help="keep the real vectors and the queries")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=SIZES, metavar="N", help="rows (default: to a million)"
    )
    parser.add_argument("--only", nargs="+", choices=STRATEGIES, default=STRATEGIES, metavar="NAME")
    parser.add_argument("--scratch", type=Path, metavar="DIR", help="room for about a gigabyte")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="FILE", help=f"default: {RESULTS.name}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
