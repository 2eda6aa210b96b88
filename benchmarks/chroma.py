"""What claude-mem gains: `python -m benchmarks.chroma`, ours beside chroma-mcp 0.2.6, in the same minute.

    answers      every call of `chroma_calls` put to both, with the same vectors: how many mean the same
    ranking      questions over 5,000 documents, with filters, both with the same vectors
    sync         5,000 documents in hundreds, as claude-mem sends them; theirs with our vectors, and its own
    memory       the most that either held while it did that and answered questions
    processes    100 starts and kills of ours, in every way: what is left running

`--record FILE` writes what chroma-mcp answers to the calls, which the tests compare ours with. Needs
chroma-mcp: see `chroma_servers.py`. Exit status: 0 all marks met, 1 some missed, 2 some not measured.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.chroma_calls import NEAR, calls, different, digest
from benchmarks.chroma_servers import Client, our_words, ours, peer_environment, shim_words, theirs
from benchmarks.measure import machine
from benchmarks.report import Row

COLLECTION = "cm__claude-mem"
BATCH = 100
TIMES_MIN = 10.0
MEMORY_SHARE_MAX = 0.25
_HOUSE = "harbor quay token expiry login session refresh clock skew deploy staging index vector journal"


Made = tuple[str, str, dict[str, Any]]  # id, text, metadata


@dataclass(frozen=True)
class Effort:
    """How much of everything is measured."""

    documents: int = 5_000
    model_documents: int = 1_000  # for chroma-mcp with its own model: some twenty a second
    questions: int = 40
    starts: int = 100

    @classmethod
    def quick(cls) -> Effort:
        """Does it run at all."""
        return cls(documents=300, model_documents=100, questions=5, starts=5)


class Lab:
    """Where rows are measured; what takes long is done once."""

    def __init__(self, effort: Effort, scratch: Path, peer: Path) -> None:
        self.effort, self.scratch, self._peer = effort, scratch, peer

    @cached_property
    def environment(self) -> Path:
        return peer_environment(self._peer)

    @cached_property
    def synced(self) -> dict[str, dict[str, Any]]:
        """Each server's run: seconds of every batch, answers to the questions, peak memory."""
        documents = list(made_documents(self.effort.documents))
        runs = {}
        with ours(self._folder("ours")) as client:
            runs["ours"] = _run(client, documents, self.effort)
        with theirs(self.environment, self._folder("theirs")) as client:
            runs["theirs"] = _run(client, documents, self.effort)
        return runs

    @cached_property
    def with_model(self) -> dict[str, Any]:
        documents = list(made_documents(self.effort.model_documents))
        with theirs(self.environment, self._folder("model"), model=True) as client:
            return _run(client, documents, self.effort)

    def _folder(self, name: str) -> Path:
        folder = self.scratch / name
        folder.mkdir()
        return folder


def made_documents(count: int) -> Iterator[Made]:
    """Documents as claude-mem makes them of observations: a narrative, then three facts."""
    drawn = random.Random(42)
    words = [*_HOUSE.split(), *(f"{drawn.choice(_HOUSE.split())}{number}" for number in range(2_000))]
    for number in range(count):
        observation, part = divmod(number, 4)
        kind = "narrative" if part == 0 else f"fact_{part - 1}"
        text = " ".join(drawn.choices(words, k=60 if part == 0 else 18))
        yield (
            f"obs_{observation}_{kind}",
            text,
            {
                "sqlite_id": observation,
                "doc_type": "observation",
                "memory_session_id": f"session-{observation // 20}",
                "project": f"project-{observation % 4}",
                "platform_source": "claude",
                "created_at_epoch": 1_772_546_400_000 + number,
                "type": "discovery",
                "title": text[:40],
                "field_type": "narrative" if part == 0 else "fact",
                **({"merged_into_project": "project-0"} if observation % 16 == 3 else {}),
            },
        )


def _run(client: Client, documents: Sequence[Made], effort: Effort) -> dict[str, Any]:
    _checked(client, "chroma_create_collection", collection_name=COLLECTION)
    batches = []
    for at in range(0, len(documents), BATCH):
        ids, texts, metadatas = zip(*documents[at : at + BATCH], strict=True)
        began = time.perf_counter()
        _checked(
            client,
            "chroma_add_documents",
            collection_name=COLLECTION,
            ids=list(ids),
            documents=list(texts),
            metadatas=list(metadatas),
        )
        batches.append(time.perf_counter() - began)
    answers, asked = [], []
    for question, where in questions(effort.questions):
        began = time.perf_counter()
        given = {"where": where} if where else {}
        text = _checked(
            client,
            "chroma_query_documents",
            collection_name=COLLECTION,
            query_texts=[question],
            n_results=100,
            include=["documents", "metadatas", "distances"],
            **given,
        )
        asked.append(time.perf_counter() - began)
        answers.append(json.loads(text))
    memory = {"peak_mb": client.memory_mb("VmHWM:"), "held_mb": client.memory_mb("VmRSS:")}
    return {"batches": batches, "answers": answers, "asked": asked, **memory}


def questions(count: int) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
    """What a person asks, with the filters that claude-mem sends."""
    drawn, words = random.Random(7), _HOUSE.split()
    project = {"$or": [{"project": "project-0"}, {"merged_into_project": "project-0"}]}
    wheres = (None, {"doc_type": "observation"}, project, {"$and": [project, {"platform_source": "claude"}]})
    for number in range(count):
        yield " ".join(drawn.choices(words, k=5)), wheres[number % len(wheres)]


def _checked(client: Client, tool: str, **arguments: Any) -> str:
    answer = client.call(tool, arguments)
    if answer.is_error:
        raise RuntimeError(f"{tool}: {answer.texts}")
    return answer.texts[0]


# -- rows ------------------------------------------------------------------------------------------


def answers(lab: Lab) -> Iterator[Row]:
    """Every call put to both."""
    wrong, total = [], 0
    with ours(lab._folder("calls")) as mine, theirs(lab.environment, lab._folder("calls-theirs")) as peer:
        for each in calls():
            total += 1
            if told := different(each, mine.call(*each), peer.call(*each)):
                wrong.append({"call": each, "told": told})
    yield Row(
        what="calls answered alike (every tool, operator and refusal)",
        ours=f"{total - len(wrong):,} of {total:,}",
        peer="chroma-mcp 0.2.6",
        mark="all",
        met=not wrong,
        detail={"different": wrong},
    )


def ranking(lab: Lab) -> Iterator[Row]:
    """The best hundred of both. Ours compares all documents, theirs walks a graph and may pass some over."""
    pairs = list(zip(lab.synced["ours"]["answers"], lab.synced["theirs"]["answers"], strict=True))
    worse = sum(
        mine > peer + NEAR
        for one, other in pairs
        for mine, peer in zip(one["distances"][0], other["distances"][0], strict=False)
    )
    few, many = (statistics.mean(_overlap(one, other, count) for one, other in pairs) for count in (10, 100))
    yield Row(
        what=f"{len(pairs)} questions over {lab.effort.documents:,}: ranks at which ours is farther",
        ours=f"{worse}",
        peer=f"in both: {few:.0%} of the best 10, {many:.0%} of 100",
        mark="0",
        met=worse == 0,
        detail={"overlap_10": few, "overlap_100": many},
    )


def _overlap(one: Mapping[str, Any], other: Mapping[str, Any], count: int) -> float:
    first, second = set(one["ids"][0][:count]), set(other["ids"][0][:count])
    return len(first & second) / max(len(second), 1)


def sync(lab: Lab) -> Iterator[Row]:
    """Documents a second, until the first question about them is answered."""
    mine = _rate(lab.synced["ours"])
    for name, run, marked in (
        ("our vectors, no model", lab.synced["theirs"], False),
        ("its own model", lab.with_model, True),
    ):
        peer = _rate(run)
        yield Row(
            what=f"sync of {len(run['batches']) * BATCH:,} in hundreds and a first question, a second",
            ours=f"{mine:,.0f} ({mine / peer:,.1f}x)",
            peer=f"{peer:,.0f} (chroma-mcp, {name})",
            mark=f">= {TIMES_MIN:.0f}x" if marked else "",
            met=mine >= TIMES_MIN * peer if marked else None,
            detail={"ours": mine, "peer": peer, "times": mine / peer},
        )
    batch = [statistics.median(lab.synced[each]["batches"]) * 1e3 for each in ("ours", "theirs")]
    asked = [statistics.median(lab.synced[each]["asked"]) * 1e3 for each in ("ours", "theirs")]
    for what, (ours_ms, peer_ms) in (("a batch of 100", batch), ("a question, 100 results", asked)):
        yield Row(
            what=f"{what}, among {lab.effort.documents:,}, p50",
            ours=f"{ours_ms:.1f} ms",
            peer=f"{peer_ms:.1f} ms (chroma-mcp, our vectors, no model)",
            mark="",
            met=None,
            detail={"ours_ms": ours_ms, "peer_ms": peer_ms},
        )


def memory(lab: Lab) -> Iterator[Row]:
    """The most that each held, and what it holds when the work is done."""
    mine = lab.synced["ours"]
    for name, run, marked in (
        ("its own model", lab.with_model, True),
        ("our vectors, no model", lab.synced["theirs"], False),
    ):
        share = mine["peak_mb"] / run["peak_mb"]
        yield Row(
            what="memory at its peak / when all is done",
            ours=f"{mine['peak_mb']:.0f} / {mine['held_mb']:.0f} MB ({share:.0%})",
            peer=f"{run['peak_mb']:.0f} / {run['held_mb']:.0f} MB (chroma-mcp, {name})",
            mark=f"<= {MEMORY_SHARE_MAX:.0%}" if marked else "",
            met=share <= MEMORY_SHARE_MAX if marked else None,
            detail={"ours_mb": mine["peak_mb"], "peer_mb": run["peak_mb"]},
        )


def processes(lab: Lab) -> Iterator[Row]:
    """Starts and kills: by the end of input, by the end of whoever started it, by a kill in the midst."""
    folder = lab._folder("kills")
    for number in range(lab.effort.starts):
        (_end_input, _kill_parent, _kill_midst)[number % 3](folder)
    left = _wait_for_end(folder)
    yield Row(
        what=f"processes left after {lab.effort.starts} starts and kills",
        ours=str(len(left)),
        peer="hundreds, as people report",
        mark="0",
        met=not left,
        detail={"left": left},
    )


def _end_input(folder: Path) -> None:
    with ours(folder) as client:
        client.call("chroma_list_collections", {})


def _kill_midst(folder: Path) -> None:
    client = Client(our_words(folder), dict(os.environ))
    ids = [f"{time.monotonic_ns()}-{number}" for number in range(BATCH)]
    given = {"collection_name": COLLECTION, "ids": ids, "documents": ids}
    client.put("tools/call", {"name": "chroma_add_documents", "arguments": given})
    client.process.kill()
    client.close()


def _kill_parent(folder: Path) -> None:
    """Whoever started it is killed, early or late; its input stays open, because another process holds it."""
    reading, writing = os.pipe()
    words = repr(shim_words(folder))
    program = f"import subprocess as s, time; s.Popen({words}, stdin={reading}); print(flush=True); "
    program += "time.sleep(600)"
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, pass_fds=[reading])
    assert parent.stdout is not None
    parent.stdout.readline()
    time.sleep(random.uniform(0.02, 0.6))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    os.close(reading)
    _wait_for_end(folder)  # before the pipe is closed: it must not need that
    os.close(writing)


def _wait_for_end(folder: Path) -> list[int]:
    """What still runs when there was time enough to end."""
    deadline = time.monotonic() + 20
    while (left := _running(folder)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def _running(folder: Path) -> list[int]:
    """The processes whose command line names a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            called = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in called and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


def _rate(run: Mapping[str, Any]) -> float:
    return float(len(run["batches"]) * BATCH / (sum(run["batches"]) + run["asked"][0]))


ROWS = {each.__name__: each for each in (answers, ranking, sync, memory, processes)}


# -- command line ----------------------------------------------------------------------------------


def record(lab: Lab, target: Path) -> None:
    """Write what chroma-mcp answers to every call."""
    with theirs(lab.environment, lab._folder("recorded")) as peer:
        told = [{"tool": each[0], **asdict(peer.call(*each))} for each in calls()]
    whole = {"server": "chroma-mcp 0.2.6, chromadb 1.5.9", "calls": digest(), "answers": told}
    target.write_text(json.dumps(whole, indent=0, ensure_ascii=True) + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chroma", description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=ROWS, metavar="NAME", help=f"of: {', '.join(ROWS)}")
    parser.add_argument("--quick", action="store_true", help="few of everything: does it run at all")
    parser.add_argument("--peer", type=Path, metavar="DIR", help="where chroma-mcp's environment is kept")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write chroma-mcp's answers, and end")
    parser.add_argument("--json", type=Path, default=report.RESULTS / "chroma.json", metavar="FILE")
    arguments = parser.parse_args(argv)
    effort = Effort.quick() if arguments.quick else Effort()
    peer = arguments.peer or Path(tempfile.gettempdir()) / "recollect-bench-chroma-mcp"
    with tempfile.TemporaryDirectory(prefix="recollect-chroma-") as scratch:
        lab = Lab(effort, Path(scratch), peer)
        if arguments.record:
            record(lab, arguments.record)
            return 0
        conditions = machine(Path(scratch))
        rows = list(report.measured(ROWS, lab, arguments.only or list(ROWS)))
    print(report.table([row for _, row in rows]))
    report.write(arguments.json, "recollect.benchmarks.chroma", rows, conditions, asdict(effort))
    return report.status(rows)


if __name__ == "__main__":
    sys.exit(main())
