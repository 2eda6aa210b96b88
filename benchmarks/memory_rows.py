"""The rows of the memory table: one function each, in the table's order, named as `--only` names them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.measure import NOISE_MIN, spread
from benchmarks.memory_lab import Crew, Lab
from benchmarks.report import Row
from benchmarks.search_lab import RECALL_MIN

TEXT_SYSTEMS = ("ours", "sqlite", "hdf5")
VECTOR_SYSTEMS = ("ours", "sqlite_vec", "chroma", "lancedb")
WARM_UP = 600  # SQLite's first checkpoint is behind it then (README, "Is it fair?")
BATCH = 100
BATCH_RATE_MIN = 20_000
CHROMA_TIMES_MIN = 50
FOUND_SLACK = 0.02


def save(lab: Lab) -> Iterator[Row]:
    size = min(lab.effort.sizes)
    for vectors, names in ((False, TEXT_SYSTEMS), (True, VECTOR_SYSTEMS)):
        with lab.crew(names, lab.subject(size)) as crew:
            crew.all_do("load", count=size, vectors=vectors)
            taken = _by_turns(lab, crew, vectors)
            ours = spread(taken["ours"]["seconds"])
            what = f"save into {size:,}, a durable write each, {_with(vectors)} vectors, p50 / p95"
            yield Row(what, _both(ours), "", None, crew.ours.hello["durable"], _detail(taken))
            for member in crew.peers:
                theirs = spread(taken[member.name]["seconds"])
                ratio = theirs["p50_ms"] / ours["p50_ms"]
                least = {"sqlite": 1, "sqlite_vec": 1, "chroma": CHROMA_TIMES_MIN}.get(member.name)
                yield Row(
                    what=f"  {member.title} ({member.hello['durable']})",
                    ours=f"{ratio:.2f}x as fast",
                    peer=_both(theirs),
                    mark="" if least is None else f">= {least}x",
                    met=None if least is None else ratio >= (least if least > 1 else 1 / (1 + NOISE_MIN)),
                )
            yield from _absent(crew)


def batch(lab: Lab) -> Iterator[Row]:
    for vectors, names in ((False, TEXT_SYSTEMS), (True, VECTOR_SYSTEMS)):
        with lab.crew(names, lab.subject(min(lab.effort.sizes))) as crew:
            crew.all_do("batch", count=2, size=BATCH, vectors=vectors)
            taken: dict[str, list[float]] = {name: [] for name in crew.members}
            for _ in range(lab.effort.rounds):
                done = crew.all_do("batch", count=lab.effort.batches, size=BATCH, vectors=vectors)
                for name, answer in done.items():
                    taken[name] += answer["seconds"]
                crew.all_do("rest")
            rates = {name: BATCH / statistics.median(taken[name]) for name in crew.members}
            ours = rates[crew.ours.name]
            yield Row(
                what=f"save_batch, {BATCH} notes a durable write, {_with(vectors)} vectors",
                ours=f"{ours:,.0f} notes/s",
                mark="" if vectors else f">= {BATCH_RATE_MIN:,}/s",
                met=None if vectors else ours >= BATCH_RATE_MIN,
                detail={name: spread(taken[name]) for name in crew.members},
            )
            for member in crew.peers:
                rate = rates[member.name]
                told = f"{rate:,.0f} notes/s"
                yield Row(f"  {member.title}", f"{ours / rate:.2f}x as fast", "", None, told)
            yield from _absent(crew)


def search(lab: Lab) -> Iterator[Row]:
    for size in lab.effort.sizes:
        with lab.crew(VECTOR_SYSTEMS, lab.subject(size)) as crew:
            loaded = crew.all_do("load", count=size, vectors=True)
            settled = crew.all_do("settle")
            yield from _asked(lab, crew, settled, "search", size)
            yield from _asked(lab, crew, settled, "nearest", size)
            yield from _last(lab, crew, size)
            yield from _sizes(crew, size, loaded, settled)
            yield from _absent(crew)


def artifact(lab: Lab) -> Iterator[Row]:
    with lab.crew(("ours", "sqlite", "lancedb", "hdf5"), lab.subject(min(lab.effort.sizes))) as crew:
        crew.all_do("save", count=1, vectors=False)
        crew.all_do("artifact", count=3)
        done = crew.all_do("artifact", count=lab.effort.batches * 3)
        both = {
            name: [sum(pair) for pair in zip(each["kept"]["seconds"], each["read"]["seconds"], strict=True)]
            for name, each in done.items()
        }
        ours = spread(both["ours"])
        lab.known["artifact"] = ours
        what = "artifact, 500 x 200 f4 kept durable and read again, p50 / p95"
        yield Row(what, _both(ours), "", None, "", done)
        for member in crew.peers:
            theirs = spread(both[member.name])
            ratio = theirs["p50_ms"] / ours["p50_ms"]
            yield Row(f"  {member.title}", f"{ratio:.2f}x as fast", "", None, _both(theirs))
        yield from _absent(crew)


def _by_turns(lab: Lab, crew: Crew, vectors: bool) -> dict[str, dict[str, Any]]:
    """Single saves of everyone, some of each in turn."""
    effort = lab.effort
    taken: dict[str, dict[str, Any]] = {name: {"seconds": [], "cpu": 0.0} for name in crew.members}
    crew.all_do("save", count=WARM_UP if effort.singles >= WARM_UP // 10 else effort.singles, vectors=vectors)
    for _ in range(effort.rounds):
        for name, answer in crew.all_do("save", count=effort.singles, vectors=vectors).items():
            taken[name]["seconds"] += answer["seconds"]
            taken[name]["cpu"] += answer["cpu"]
            taken[name]["undisturbed"] = answer["undisturbed"]
        crew.all_do("rest")
    return taken if crew.ours else {}


def _asked(lab: Lab, crew: Crew, settled: dict[str, dict[str, Any]], way: str, size: int) -> Iterator[Row]:
    """Everyone asked the same, by turns; the time of a question is the median of its rounds."""
    rounds = [crew.all_do("ask", way=way) for _ in range(lab.effort.asks)]
    times = {name: _medians([taken[name]["seconds"] for taken in rounds]) for name in crew.members}
    found = {name: float(rounds[0][name]["found"]) for name in crew.members}
    ours = spread(times[crew.ours.name])
    cpu = {name: rounds[0][name]["cpu"] / len(times[name]) * 1e3 for name in crew.members}
    detail = {name: spread(times[name]) | {"found": found[name], "cpu_ms": cpu[name]} for name in times}
    what = {"search": "hybrid search", "nearest": "nearest by own vectors"}[way]
    told = f"{what}, {size:,} notes, p50 / p95"
    yield Row(told, _answer(ours, settled["ours"], found["ours"]), "", None, "", detail)
    for member in crew.peers:
        theirs, their = spread(times[member.name]), settled[member.name]
        yield Row(
            what=f"  {member.title}, {their['setting']}",
            ours=f"{theirs['p50_ms'] / ours['p50_ms']:.2f}x as fast",
            peer=_answer(theirs, their, found[member.name]),
            **_judged(way, ours, theirs, (settled["ours"], their), (found["ours"], found[member.name])),
        )


def _judged(
    way: str,
    ours: dict[str, float],
    theirs: dict[str, float],
    settled: tuple[dict[str, Any], dict[str, Any]],
    found: tuple[float, float],
) -> dict[str, Any]:
    """The verdict on a peer, where its answers are as good as ours are; of hybrid search alone."""
    if way != "search":
        return {"mark": "", "met": None}
    if min(each["recall"] for each in settled) < RECALL_MIN or found[0] < found[1] - FOUND_SLACK:
        return {"mark": "recall differs", "met": None}
    return {"mark": "faster", "met": theirs["p50_ms"] > ours["p50_ms"]}


def _last(lab: Lab, crew: Crew, size: int) -> Iterator[Row]:
    session, count = f"n-{size // 400}", lab.effort.batches * 3  # a session from the middle
    for task, what in (("last", ""), ("after_save", ", right after a save")):
        taken = crew.all_do(task, session=session, count=count)
        times = {name: spread(answer["seconds"]) for name, answer in taken.items()}
        others = ", ".join(f"{member.title} {_both(times[member.name])}" for member in crew.peers)
        told = f"last 20 of a session{what}, {size:,} notes, p50 / p95"
        yield Row(told, _both(times["ours"]), "", None, others, times)


def _sizes(
    crew: Crew, size: int, loaded: dict[str, dict[str, Any]], settled: dict[str, dict[str, Any]]
) -> Iterator[Row]:
    weights = {name: answer["bytes"] for name, answer in crew.all_do("weigh").items()}
    others = ", ".join(f"{member.title} {weights[member.name] / 1e6:.0f} MB" for member in crew.peers)
    built = {name: loaded[name]["seconds"] + settled[name]["seconds"] for name in weights}
    detail = {"bytes": weights, "load_and_index_s": built}
    what = f"on disk, {size:,} notes, indexes too"
    yield Row(what, f"{weights['ours'] / 1e6:.0f} MB", "", None, others, detail)
    others = ", ".join(f"{member.title} {loaded[member.name]['seconds']:.1f} s" for member in crew.peers)
    yield Row(f"load of {size:,} notes", f"{loaded['ours']['seconds']:.1f} s", "", None, others, loaded)


def _absent(crew: Crew) -> Iterator[Row]:
    for name, why in crew.absent.items():
        yield Row(f"  {name} (not measured)", "", "", None, "", {"error": f"{name}: {why}"})


def _with(vectors: bool) -> str:
    return "with" if vectors else "no"


def _medians(rounds: Sequence[Sequence[float]]) -> list[float]:
    return [statistics.median(each) for each in zip(*rounds, strict=True)]


def _detail(taken: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        name: spread(each["seconds"])
        | {"cpu_ms": each["cpu"] / len(each["seconds"]) * 1e3, "undisturbed": each["undisturbed"]}
        for name, each in taken.items()
        if each["seconds"]
    }


def _both(times: dict[str, float]) -> str:
    return f"{times['p50_ms']:.3f} / {times['p95_ms']:.3f} ms"


def _answer(times: dict[str, float], settled: dict[str, Any], found: float) -> str:
    return f"{_both(times)}, recall {settled['recall']:.3f}, found {found:.2f}"
