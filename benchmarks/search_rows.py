"""The rows of the search table: one function each, in the table's order, named as `--only` names them.

Marks are judged at the largest size asked for, and say so when that is not the one they are made for.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import corpus, product
from benchmarks.lab import is_session
from benchmarks.measure import Ran, interleaved, run, spread
from benchmarks.report import Row
from benchmarks.search_lab import RECALL_MIN, TEXT_PEERS, VECTOR_PEERS, SearchLab, Stocked

MARKED_SIZE = 300_000


def text(lab: SearchLab) -> Iterator[Row]:
    for stocked in lab.sizes():
        ours = lab.worker(stocked.home, "warm", stocked.store, stocked.subject, "text", lab.effort.rounds)
        alone = lab.worker(stocked.home, "index-alone", stocked.store, stocked.subject, lab.effort.rounds)
        warm = alone["warm"]
        yield Row(
            what=f"text, {stocked.facts['entries']:,} entries, words to the best ten, p50 / p95",
            ours=_both(warm),
            peer=f"hits with snippets {_both(ours['warm'])}",
            mark="<= 3 / 15 ms",
            met=_judged(stocked, warm["p50_ms"] <= 3 and warm["p95_ms"] <= 15),
            detail={"search": ours, "index_alone": alone, "store": stocked.facts},
        )
        for name in TEXT_PEERS:
            for peer in lab.peer(name, stocked):
                yield _beside(f"text, {stocked.size:,}", warm, peer, p95=True)


def vector(lab: SearchLab) -> Iterator[Row]:
    for stocked in lab.sizes():
        scratch = lab.folder("nearest")
        ours = lab.worker(stocked.home, "nearest", stocked.subject, scratch, lab.effort.rounds)
        whole = lab.worker(stocked.home, "warm", stocked.store, stocked.subject, "vector", lab.effort.rounds)
        warm = ours["warm"]
        yield Row(
            what=f"vector, {ours['vectors']:,} x {stocked.facts['dims']}, p50 / p95, recall@10",
            ours=f"{_both(warm)}, {ours['recall']:.3f}, {ours['strategy']}",
            peer=f"hits with snippets {_both(whole['warm'])}",
            mark=f"<= 3 ms, >= {RECALL_MIN}",
            met=_judged(stocked, warm["p50_ms"] <= 3 and ours["recall"] >= RECALL_MIN),
            detail={"nearest": ours, "search": whole},
        )
        for name in VECTOR_PEERS:
            for peer in lab.peer(name, stocked):
                yield _beside(f"vector, {stocked.size:,}", warm, peer, p95=False)


def hybrid(lab: SearchLab) -> Iterator[Row]:
    for stocked in lab.sizes():
        ours = lab.worker(stocked.home, "warm", stocked.store, stocked.subject, "hybrid", lab.effort.rounds)
        warm = ours["warm"]
        yield Row(
            what=f"hybrid with filters and snippets, {stocked.facts['entries']:,} entries, p50 / p95",
            ours=_both(warm),
            mark="<= 10 / 40 ms",
            met=_judged(stocked, warm["p50_ms"] <= 10 and warm["p95_ms"] <= 40),
            detail=ours,
        )


def grouped(lab: SearchLab) -> Iterator[Row]:
    stocked = lab.largest
    ours = lab.worker(stocked.home, "grouped", stocked.store, stocked.subject, lab.effort.rounds)
    yield Row(
        what=f"hits by session beside hits alone, {stocked.facts['entries']:,} entries, by turns",
        ours=f"{ours['ratio']:.2f}x, {_both(ours['grouped'])}",
        peer=f"hits alone {_both(ours['flat'])}",
        mark="<= 1.2x",
        met=_judged(stocked, ours["ratio"] <= 1.2),
        detail=ours,
    )


def fresh(lab: SearchLab) -> Iterator[Row]:
    stocked = lab.largest
    asked = iter(map(product.plain_words, stocked.questions()))
    peaks: dict[str, list[float]] = {"text": [], "hybrid": [], "numpy": []}

    def command(mode: str) -> Callable[[], float]:
        return lambda: _weighed(peaks[mode], product.search_command(stocked.store, next(asked), mode))

    words, both, numpy = interleaved(
        lab.effort.fresh_rounds,
        command("text"),
        command("hybrid"),
        lambda: _weighed(peaks["numpy"], _import_numpy(stocked)),
    )
    for mode, seconds, limit in (("text", words, 0.35), ("hybrid", both, 0.8)):
        wall, peak = statistics.median(seconds), max(peaks[mode])
        yield Row(
            what=f"`recollect search --mode {mode}`, fresh process, {stocked.facts['entries']:,} entries",
            ours=f"{wall:.2f} s, {peak:.0f} MB",
            peer=f"import numpy {statistics.median(numpy):.2f} s, {max(peaks['numpy']):.0f} MB",
            mark=f"<= {limit} s, 400 MB",
            met=_judged(stocked, wall <= limit and peak <= 400),
            detail={"seconds": spread(seconds), "peak_mb": peaks[mode], "import_numpy": spread(numpy)},
        )


def index(lab: SearchLab) -> Iterator[Row]:
    stocked = lab.largest
    built = lab.worker(stocked.home, "reindex", stocked.store, lab.folder("reindex"))
    rate = stocked.facts["text_bytes"] / 1e6 / built["seconds"]
    share = built["index_bytes"] / stocked.facts["source_bytes"]
    yield Row(
        what=f"indexing {stocked.facts['text_bytes'] / 1e6:,.0f} MB of text, {os.cpu_count()} cores",
        ours=f"{rate:.1f} MB/s",
        peer=f"{stocked.facts['text_bytes'] / 1e6 / built['cpu_seconds']:.1f} MB per CPU-second",
        mark=">= 12 MB/s",
        met=_judged(stocked, rate >= 12),
        detail=built | {"text_bytes": stocked.facts["text_bytes"]},
    )
    yield Row(
        what="text index on disk",
        ours=f"{built['index_bytes'] / 1e6:.1f} MB, {share:.3f}",
        peer=f"source {stocked.facts['source_bytes'] / 1e6:,.0f} MB",
        mark="<= 0.15",
        met=_judged(stocked, share <= 0.15),
        detail={"index_bytes": built["index_bytes"], "source_bytes": stocked.facts["source_bytes"]},
    )


def embed(lab: SearchLab) -> Iterator[Row]:
    stocked = lab.largest
    taken = [
        lab.worker(stocked.home, "embed", stocked.store, lab.effort.embedded)
        for _ in range(min(lab.effort.rounds, 3))
    ]
    rate = max(each["entries"] / each["cpu_seconds"] for each in taken)
    loads = [product.embedder_load_seconds(stocked.home) for _ in range(lab.effort.fresh_rounds)]
    yield Row(
        what=f"default embedding, {taken[0]['entries']:,} entries, {taken[0]['pieces']:,} pieces",
        ours=f"{rate:,.0f} entries per CPU-second",
        mark=">= 5,000",
        met=rate >= 5000,
        detail={"runs": taken},
    )
    yield Row(
        what="loading the embedder in a fresh process, numpy's import included",
        ours=f"{statistics.median(loads):.2f} s",
        mark="<= 0.3 s",
        met=statistics.median(loads) <= 0.3,
        detail={"load": spread(loads)},
    )


def searchable(lab: SearchLab) -> Iterator[Row]:
    """A session nobody has seen: `recollect ingest`, then a search that must find it."""
    for size in sorted({min(lab.effort.sizes), max(lab.effort.sizes)}):
        stocked = lab.stocked(size)
        home = lab.folder("searchable")
        shutil.copytree(stocked.home, home, dirs_exist_ok=True, ignore=shutil.ignore_patterns("subject-*"))
        store = home / "store" / "memory.h5"
        rounds = [_round(store, lab, copy) for copy in range(100, 100 + lab.effort.new_sessions)]
        took, searched = (statistics.median(each[n] for each in rounds) for n in (0, 1))
        yield Row(
            what=f"`ingest` of a new session of {rounds[0][2] / 1e6:.1f} MB to found, {size:,} entries",
            ours=f"{took + searched:.2f} s",
            peer=f"ingest {took:.2f} s, search {searched:.2f} s",
            mark="<= 1 s",
            met=took + searched <= 1,
            detail={"rounds": rounds},
        )


ROWS: dict[str, Callable[[SearchLab], Iterator[Row]]] = {
    row.__name__: row for row in (text, vector, hybrid, grouped, fresh, index, embed, searchable)
}


def _both(times: dict[str, float]) -> str:
    return f"{times['p50_ms']:.2f} / {times['p95_ms']:.2f} ms"


def _ratio(theirs: float, ours: float) -> str:
    return f"{theirs / ours:.0f}x" if theirs >= 10 * ours else f"{theirs / ours:.2g}x"


def _judged(stocked: Stocked, met: bool) -> bool | None:
    """A mark is made for one size: a smaller store says nothing about it."""
    return met if stocked.size >= MARKED_SIZE else None


def _beside(what: str, ours: dict[str, float], peer: dict[str, Any], *, p95: bool) -> Row:
    """A peer's times beside ours. One that finds less is shown, and not judged."""
    times, share = peer["times"], peer.get("recall")
    setting = f", {peer['setting']}, recall {share:.3f}" if share is not None else ""
    fair = (share is None or share >= RECALL_MIN) and not peer["peer"].endswith("all words")
    faster = ours["p50_ms"] < times["p50_ms"] and (not p95 or ours["p95_ms"] < times["p95_ms"])
    return Row(
        what=f"{what}: beside {peer['peer']}{setting}",
        ours=f"{_ratio(times['p50_ms'], ours['p50_ms'])} / {_ratio(times['p95_ms'], ours['p95_ms'])} as fast",
        peer=f"{peer['peer']} {_both(times)}",
        mark="faster" if fair else "(other answers)",
        met=faster if fair else None,
        detail=peer,
    )


def _weighed(peaks: list[float], ran: Ran) -> float:
    peaks.append(ran.rss_mb)
    return ran.seconds


def _import_numpy(stocked: Stocked) -> Ran:
    return run([sys.executable, "-c", "import numpy"], env=product.environment(stocked.home)).checked()


def _round(store: Path, lab: SearchLab, copy: int) -> tuple[float, float, int]:
    """Seconds of the ingest, seconds of the search that found what it brought, bytes of the session."""
    source = _new_session(lab)
    marker = f"zq{copy}marker"
    data = corpus.Template(source.read_bytes()).filled(copy)
    folder = lab.folder("new")
    named = folder / corpus.renamed(source.name, copy)
    named.write_bytes(data + corpus.prompt_line(named.stem, marker))
    took = product.ingest(store, folder, index=True)[0].seconds
    ran = product.search_command(store, marker, "text")
    if not product.hit_ids(ran.stdout):
        raise RuntimeError("a search did not find the session that was just ingested")
    return took, ran.seconds, len(data)


def _new_session(lab: SearchLab) -> Path:
    """An everyday session: the Claude one nearest to half a megabyte."""
    sessions = filter(is_session, corpus.tree_of(lab.logs, "claude").files)
    return min(sessions, key=lambda path: abs(path.stat().st_size - 500_000))
