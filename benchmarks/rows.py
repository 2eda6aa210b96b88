"""The rows of the marks table: one function each, in the table's order, named as `--only` names them.

A row of the table can take several lines here. Whatever is compared is measured turn by turn in the
same minute, because the machine is shared; the figures to trust are the ratios.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import corpus, peers, product
from benchmarks.lab import Lab
from benchmarks.measure import interleaved, noise_of, spread, weight_of
from benchmarks.report import Row

ENTRIES_ASKED = 20
USAGE_ENTRIES_MIN = 300_000


def ingest(lab: Lab) -> Iterator[Row]:
    done = lab.whole
    figures = {
        "source_mb": done.source_bytes / 1e6,
        "folder_mb": done.tree.megabytes,
        "seconds": done.ran.seconds,
        "cpu_seconds": done.ran.cpu_seconds,
        "rss_mb": done.ran.rss_mb,
        "summary": done.summary,
    }
    yield Row(
        what=f"ingest, store only, {done.source_bytes / 1e6:.0f} MB",
        ours=f"{done.rate:.1f} MB/s",
        mark=">= 40 MB/s",
        met=done.rate >= 40,
        detail=figures,
    )
    sample = corpus.claude_sample(lab.logs, lab.folder("sample"), lab.effort.convert_bytes)
    times = [lab.ingested("sample-store", sample, sample.root).ran.seconds for _ in range(3)]
    ours = statistics.median(times)
    theirs = peers.hdf5_convert(sample.files, lab.folder("convert") / "sample.h5").seconds
    lines = sum(path.read_bytes().count(b"\n") for path in sample.files)
    yield Row(
        what=f"same, {sample.megabytes:.1f} MB sample, process start included",
        ours=f"{sample.megabytes / ours:.1f} MB/s, {theirs / ours:.0f}x",
        peer=f"agentic-conversations-hdf5 {sample.megabytes / theirs:.2f} MB/s",
        mark=">= 100x",
        met=theirs >= 100 * ours,
        detail={
            "sample_mb": sample.megabytes,
            "files": len(sample.files),
            "lines": lines,
            "our_seconds": times,
            "peer_seconds": theirs,
            "peer_lines_per_second": lines / theirs,
        },
    )


def agentsview(lab: Lab) -> Iterator[Row]:
    home = lab.folder("home")
    tree = corpus.agent_home(lab.logs, home)
    mine, theirs = [], []
    for one_shot in (False, True):
        mine.append(lab.ingested("home-store", tree, home / ".claude/projects", home / ".codex/sessions"))
        theirs.append(peers.agentsview_sync(home, one_shot=one_shot))
    if (covered := min(synced.source_files for synced in theirs)) < len(tree.files):
        raise RuntimeError(f"agentsview took {covered} of {len(tree.files)} files: no fair comparison")
    ours, peer = min(each.ran.seconds for each in mine), min(each.seconds for each in theirs)
    yield Row(
        what=f"same {len(tree.files)} files as agentsview, best of 2",
        ours=f"{tree.megabytes / ours:.1f} MB/s, {peer / ours:.1f}x",
        peer=f"agentsview {tree.megabytes / peer:.1f} MB/s",
        mark=">= 4x",
        met=peer >= 4 * ours,
        detail={
            "source_mb": tree.megabytes,
            "our_seconds": [each.ran.seconds for each in mine],
            "agentsview": [asdict(each) for each in theirs],
        },
    )
    disk, peer_disk = weight_of(mine[-1].store.parent), min(each.disk_bytes for each in theirs)
    yield Row(
        what="same files, disk",
        ours=f"{disk / 1e6:.1f} MB, {disk / peer_disk:.2f}",
        peer=f"agentsview {peer_disk / 1e6:.1f} MB ({peer_disk / tree.bytes_total:.2f} of source)",
        mark="<= 0.6",
        met=disk <= 0.6 * peer_disk,
        detail={"our_bytes": disk, "agentsview_bytes": peer_disk, "source_bytes": tree.bytes_total},
    )


def size(lab: Lab) -> Iterator[Row]:
    done = lab.whole
    product.checkpoint(done.store)
    weight, asked = weight_of(done.store.parent), 5
    returned = lab.returned_whole(done, asked)
    share = weight / done.source_bytes
    yield Row(
        what=f"store size; {returned} of {asked} sampled sessions export byte for byte",
        ours=f"{weight / 1e6:.1f} MB, {share:.3f}",
        peer=f"source {done.source_bytes / 1e6:.1f} MB",
        mark="<= 0.22",
        met=share <= 0.22 and returned == asked,
        detail={
            "bytes": weight,
            "source_bytes": done.source_bytes,
            "files": sorted(path.name for path in done.store.parent.iterdir()),
        },
    )


def append(lab: Lab) -> Iterator[Row]:
    folder = lab.folder("append")
    records = folder / "records"
    records.write_bytes(b"\n".join(lab.typical_records()))
    answer = lab.worker("append", folder, records, lab.effort.appends)
    for variant, title in (("kept_open", "durable single append"), ("as_a_hook", "open, append, close")):
        marked = variant == "kept_open"
        for which in ("p50_ms", "p95_ms"):
            ours, theirs = (answer[variant][side][which] for side in ("ours", "sqlite"))
            yield Row(
                what=f"{title}, {which[:3]}",
                ours=f"{ours:.3f} ms, {ours / theirs:.2f}x",
                peer=f"SQLite WAL FULL {theirs:.3f} ms",
                mark="<= SQLite" if marked else "(none)",
                met=ours <= theirs if marked else None,
                detail=answer[variant],
            )


def tail(lab: Lab) -> Iterator[Row]:
    grown = lab.grown
    small, large = (
        lab.worker("tail", store, grown.session, ENTRIES_ASKED, lab.effort.warm_calls)
        for store in (grown.small, grown.large)
    )
    if (got := min(small["entries"], large["entries"])) < ENTRIES_ASKED:
        raise RuntimeError(f"tail gave {got} entries instead of {ENTRIES_ASKED}")
    warm = small["warm"]["p50_ms"]
    yield Row(
        what=f"last {ENTRIES_ASKED} entries, warm p50",
        ours=f"{warm:.2f} ms",
        mark="<= 5 ms",
        met=warm <= 5,
        detail=small,
    )
    yield _same("same, store 30x larger", warm, large["warm"]["p50_ms"], noise=0.25, detail=large)
    fresh, far, bare = interleaved(
        lab.effort.fresh_rounds,
        lambda: product.tail_command(grown.small, grown.session, ENTRIES_ASKED).seconds,
        lambda: product.tail_command(grown.large, grown.session, ENTRIES_ASKED).seconds,
        lambda: peers.import_h5py(product.environment(lab.scratch)).seconds,
    )
    ours, theirs = statistics.median(fresh), statistics.median(bare)
    yield Row(
        what=f"last {ENTRIES_ASKED} entries, fresh process",
        ours=f"{ours * 1e3:.0f} ms, {ours / theirs:.2f}x",
        peer=f"import h5py {theirs * 1e3:.0f} ms",
        mark="<= 2x",
        met=ours <= 2 * theirs,
        detail={"ours": spread(fresh), "import_h5py": spread(bare)},
    )
    yield _same(
        "same, store 30x larger",
        ours * 1e3,
        statistics.median(far) * 1e3,
        noise=noise_of(fresh),
        detail=spread(far),
    )


def usage(lab: Lab) -> Iterator[Row]:
    store = lab.grown.large
    entries = product.entry_count(store)
    answer = lab.worker("usage", store, lab.effort.warm_calls)
    warm = answer["warm"]["p50_ms"]
    yield Row(
        what=f"token totals over {entries:,} entries, warm p50",
        ours=f"{warm:.2f} ms",
        mark=f"<= 10 ms at {USAGE_ENTRIES_MIN:,}",
        met=warm <= 10 if entries >= USAGE_ENTRIES_MIN else None,
        detail=answer | {"entries": entries},
    )


def sweep(lab: Lab) -> Iterator[Row]:
    done = lab.whole
    swept = [product.ingest(done.store, *lab.log_folders) for _ in range(3)]
    parsed = [product.parsed_bytes(summary) for _, summary in swept]
    sources = product.source_count(swept[0][1]) or len(done.tree.files)
    each = statistics.median(ran.seconds for ran, _ in swept) * 1e3 / sources
    yield Row(
        what="second sweep, bytes parsed",
        ours=str(parsed[0]),
        mark="0",
        met=parsed == [0, 0, 0],
        detail={"parsed_bytes": parsed, "summary": swept[0][1]},
    )
    yield Row(
        what=f"second sweep, per source ({sources:,}), process start included",
        ours=f"{each:.2f} ms",
        mark="<= 1 ms",
        met=each <= 1,
        detail={"seconds": [ran.seconds for ran, _ in swept], "sources": sources},
    )


def memory(lab: Lab) -> Iterator[Row]:
    bare = peers.import_h5py(product.environment(lab.scratch)).rss_mb
    whole = lab.whole.ran.rss_mb
    yield Row(
        what="peak memory, whole corpus",
        ours=f"{whole:.0f} MB",
        peer=f"import h5py {bare:.0f} MB",
        mark="<= 300 MB",
        met=whole <= 300,
        detail={"rss_mb": whole, "import_h5py_rss_mb": bare},
    )
    line = corpus.write_long_line(lab.folder("line"), lab.effort.long_line_bytes)
    peak = lab.ingested("line-store", line, line.root, keep=False).ran.rss_mb
    yield Row(
        what=f"peak memory, one line of {line.megabytes:.0f} MB",
        ours=f"{peak:.0f} MB",
        mark="<= 600 MB",
        met=peak <= 600,
        detail={"rss_mb": peak},
    )
    if lab.effort.long_file_bytes:
        short, long = (
            _file_peak(lab, each) for each in (lab.effort.short_file_bytes, lab.effort.long_file_bytes)
        )
        title = f"peak memory, one file of {lab.effort.long_file_bytes / 1e9:.0f} GB"
        yield _same(title, short, long, noise=0.10, detail={"short_mb": short, "long_mb": long}, unit="MB")


def growth(lab: Lab) -> Iterator[Row]:
    source = lab.session_of_2_mb()
    template = corpus.Template(source.read_bytes())
    copies = iter(range(1000, 2000))

    def adding_to(store: Path) -> Callable[[], float]:
        def add() -> float:
            copy, folder = next(copies), lab.folder("new")
            (folder / corpus.renamed(source.name, copy)).write_bytes(template.filled(copy))
            return product.ingest(store, folder)[0].seconds

        return add

    small, ten = interleaved(lab.effort.growth_rounds, adding_to(lab.grown.small), adding_to(lab.grown.ten))
    yield _same(
        f"ingest of one new session ({source.stat().st_size / 1e6:.1f} MB), store 10x larger",
        statistics.median(small) * 1e3,
        statistics.median(ten) * 1e3,
        noise=noise_of(small),
        detail={"small": spread(small), "ten": spread(ten)},
    )


ROWS: dict[str, Callable[[Lab], Iterator[Row]]] = {
    row.__name__: row for row in (ingest, agentsview, size, append, tail, usage, sweep, memory, growth)
}


def _same(
    what: str, before: float, after: float, *, noise: float, detail: dict[str, Any], unit: str = "ms"
) -> Row:
    """A row whose mark is that a figure stays what it was."""
    return Row(
        what=what,
        ours=f"{after:.2f} {unit}, {after / before:.2f}x",
        peer=f"before {before:.2f} {unit}",
        mark=f"same (<= {1 + noise:.2f}x)",
        met=after <= before * (1 + noise),
        detail={"noise": noise} | detail,
    )


def _file_peak(lab: Lab, bytes_total: int) -> float:
    """Peak memory of ingesting one session file of that length."""
    tree = corpus.write_long_file(lab.folder("file"), lab.session_of_2_mb(), bytes_total)
    return lab.ingested("file-store", tree, tree.root, keep=False).ran.rss_mb
