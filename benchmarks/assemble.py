"""The marks of assembly, measured: `python -m benchmarks.assemble [--corpus DIR]`.

    tasks      hand-written descriptions over hand-written conversations: how many of the entries that are
               needed are in, and of the unwanted ones, beside the top hits of one hybrid search that fit
               the same budget by the same count of tokens; tasks kept aside from tuning apart
    speed      assemblies of 60,000 tokens out of 300,000 entries, warm (the store of `benchmarks.search`)
    estimate   tokens as we count them beside what the logs say models gave out

Without a corpus only the tasks are measured.
Exit status: 0 all marks met, 1 some missed, 2 some rows could not be measured.
"""

from __future__ import annotations

import datetime
import importlib
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import product, report
from benchmarks.assemble_tasks import TASKS, Task
from benchmarks.measure import machine, spread
from benchmarks.report import Row
from benchmarks.search_lab import Effort as SearchEffort
from benchmarks.search_lab import SearchLab, Stocked

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.search.run import Search
    from recollect.store.contract import View

ABOVE_POINTS_MIN = 15.0
SECONDS_MAX = 1.5
BUDGET_TOKENS = 60_000
MARKED_SIZE = 300_000
NOW = datetime.datetime(2026, 3, 12)  # the talks end two days before
HITS = 200  # of the one search, more than fit any budget
QUESTIONS_EACH = 3  # of a description
TOLD_TOKENS_MIN = 200  # of a session, for its estimate to say something


@dataclass(frozen=True)
class Effort:
    """How much of everything is measured."""

    entries: int = MARKED_SIZE
    assemblies: int = 40

    @classmethod
    def quick(cls) -> Effort:
        """Does it run at all."""
        return cls(entries=10_000, assemblies=6)


@dataclass(frozen=True)
class Lab:
    """Where rows are measured; `search` has the real logs."""

    effort: Effort
    scratch: Path
    search: SearchLab | None

    @property
    def stocked(self) -> Stocked:
        if self.search is None:
            raise RuntimeError("give the unpacked corpus: --corpus DIR, or RECOLLECT_CORPUS")
        return self.search.stocked(self.effort.entries)


# -- rows ------------------------------------------------------------------------------------------


def tasks(lab: Lab) -> Iterator[Row]:
    """Needed and unwanted entries that are in, ours and those of one search."""
    logs = lab.scratch / "logs"
    # Tests are no part of what mypy checks; by name it does not follow.
    ids: dict[str, str] = importlib.import_module("tests.recall.assemble.corpus").write(logs)
    with _memory(lab.scratch / "talks.h5", lab.scratch / "cache", create=True) as memory:
        memory.ingest([logs])
        memory.index()
        with memory.indexes.asking(meaning=True) as search:
            judged = [_judged(search, task, ids) for task in TASKS]
    yield _rates("all tasks", judged, marked=True)
    yield _rates("those tuned on", [each for each in judged if not each.task.aside])
    yield _rates("those kept aside", [each for each in judged if each.task.aside])


def speed(lab: Lab) -> Iterator[Row]:
    """A warm process assembles; then the same as a conversation."""
    from recollect.recall.assemble.run import assemble, compose

    stocked = lab.stocked
    seconds, composing, told = [], [], []
    with _memory(stocked.store, stocked.home / "cache" / "recollect") as memory:
        memory.index()
        with memory.indexes.asking(meaning=True) as search:
            for number, description in enumerate(_descriptions(stocked, lab.effort.assemblies)):
                began = time.perf_counter()
                made = assemble(search, description, budget_tokens=BUDGET_TOKENS)
                assembled = time.perf_counter()
                compose(search.view, made)
                if number >= lab.effort.assemblies // 4:  # the first ones warm it up
                    seconds.append(assembled - began)
                    composing.append(time.perf_counter() - assembled)
                    told.append(made.tokens)
    spent, entries = spread(seconds), stocked.facts["entries"]
    yield Row(
        what=f"assembly of {BUDGET_TOKENS:,} tokens, {entries:,} entries, p50 / p95",
        ours=f"{spent['p50_ms']:.0f} / {spent['p95_ms']:.0f} ms",
        mark=f"p95 <= {SECONDS_MAX * 1e3:,.0f} ms",
        met=spent["p95_ms"] <= SECONDS_MAX * 1e3 if lab.effort.entries >= MARKED_SIZE else None,
        detail={**spent, "tokens_p50": statistics.median(told)},
    )
    spent = spread(composing)
    yield Row(
        what="  composed into a conversation",
        ours=f"{spent['p50_ms']:.0f} / {spent['p95_ms']:.0f} ms",
        mark="",
        met=None,
        detail=spent,
    )


def estimate(lab: Lab) -> Iterator[Row]:
    """What answers and calls take by our count, over the output tokens that the logs tell."""
    stocked = lab.stocked
    with _memory(stocked.store, stocked.home / "cache" / "recollect") as memory, memory.view() as view:
        given, told = _given_out(view), _counted(view)
        agents = [session.facts.agent for session in view.sessions()]
    for agent in ("claude", "codex"):
        rows = [
            row
            for row in sorted(told)
            if agents[row] == agent and min(told[row], given.get(row, 0)) >= TOLD_TOKENS_MIN
        ]
        if rows:
            all_ = sum(told[row] for row in rows) / sum(given[row] for row in rows)
            middle = statistics.median(told[row] / given[row] for row in rows)
            ours = f"{all_:.2f}x, median session {middle:.2f}x"
            yield Row(f"our count of {agent}'s output ({len(rows)} sessions)", ours, "", None)


ROWS: dict[str, Callable[[Lab], Iterator[Row]]] = {"tasks": tasks, "speed": speed, "estimate": estimate}


# -- tasks -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judged:
    """How many of a task's needed and unwanted entries are in."""

    task: Task
    ours: tuple[int, int]
    one_search: tuple[int, int]


def _judged(search: Search, task: Task, ids: dict[str, str]) -> Judged:
    from recollect.recall.assemble.run import assemble

    made = assemble(search, task.description, budget_tokens=task.budget_tokens, now=NOW)
    assert made.tokens <= task.budget_tokens
    return Judged(task, _found(task, ids, set(made.ids)), _found(task, ids, _top_hits(search, task)))


def _top_hits(search: Search, task: Task) -> set[str]:
    """The best hits that fit, whole; one that does not fit is passed over."""
    from recollect.recall.assemble.weigh import weight
    from recollect.search.run import Request

    taken, room = set(), task.budget_tokens
    for hit in search.run(Request(task.description, limit=HITS, plain=True, now=NOW)).hits:
        entry = hit.stored.entry
        price = weight(entry.kind, entry.tool, entry.text)
        if price <= room:
            taken.add(hit.id)
            room -= price
    return taken


def _found(task: Task, ids: dict[str, str], taken: set[str]) -> tuple[int, int]:
    needed, unwanted = (sum(ids[each] in taken for each in names) for names in (task.need, task.unwanted))
    return needed, unwanted


def _rates(what: str, judged: Sequence[Judged], *, marked: bool = False) -> Row:
    needed = sum(len(each.task.need) for each in judged)
    unwanted = sum(len(each.task.unwanted) for each in judged)
    ours, theirs = (
        (100 * sum(n for n, _ in pairs) / needed, 100 * sum(n for _, n in pairs) / unwanted)
        for pairs in ([each.ours for each in judged], [each.one_search for each in judged])
    )
    above = ours[0] - theirs[0]
    return Row(
        what=f"{what} ({len(judged)}): needed in / unwanted in",
        ours=f"{ours[0]:.1f}% / {ours[1]:.1f}%, {above:+.1f} points",
        peer=f"one hybrid search: {theirs[0]:.1f}% / {theirs[1]:.1f}%",
        mark=f">= +{ABOVE_POINTS_MIN:.0f} points" if marked else "",
        met=above >= ABOVE_POINTS_MIN if marked else None,
        detail={each.task.description: [*each.ours, *each.one_search] for each in judged},
    )


# -- real logs -------------------------------------------------------------------------------------


def _descriptions(stocked: Stocked, count: int) -> list[str]:
    """What people could ask for: some questions about the store in one breath."""
    asked = [product.plain_words(each) for each in stocked.questions()]
    starts = range(0, len(asked) - QUESTIONS_EACH, QUESTIONS_EACH)
    return [", ".join(asked[at : at + QUESTIONS_EACH]) for at in starts][:count]


def _given_out(view: View) -> Counter[int]:
    """Output tokens by session, without those of hidden thinking where the log tells them apart."""
    usage, given = view.usage(), Counter[int]()
    for row, output, hidden in zip(
        usage.session.tolist(), usage.output.tolist(), usage.reasoning.tolist(), strict=True
    ):
        given[row] += output - hidden
    return given


def _counted(view: View) -> dict[int, int]:
    """Our count by session; of Claude only where nothing was thought, as thoughts are not logged."""
    from recollect.recall.assemble.weigh import weight
    from recollect.values.records import HIDDEN, Kind

    told, thinking = Counter[int](), set()
    sessions = view.session_rows()
    for each in view.entry_range(0, view.info().rows_end):
        entry, row = each.entry, each.session_row
        if entry.kind in (Kind.ANSWER, Kind.CALL) and not entry.flags & HIDDEN:
            told[row] += weight(entry.kind, entry.tool, entry.text)
        elif entry.kind == Kind.THOUGHT and sessions[row].facts.agent == "claude":
            thinking.add(row)
    return {row: count for row, count in told.items() if row not in thinking}


@contextmanager
def _memory(store: Path, cache: Path, *, create: bool = False) -> Iterator[Memory]:
    from recollect.config import Config
    from recollect.memory import Memory

    with Memory.open(store, create=create, config=Config(store, "here", cache=cache)) as memory:
        yield memory


# -- command line ----------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    arguments = report.corpus_parser("assemble", "Measure the marks of assembly.", ROWS).parse_args(argv)
    effort = Effort.quick() if arguments.quick else Effort()
    names = arguments.only or (list(ROWS) if arguments.corpus else ["tasks"])
    arguments.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="scratch-", dir=arguments.keep) as folder:
        scratch, stores = Path(folder), SearchEffort(sizes=(effort.entries,))
        kept = arguments.keep.resolve()
        logs = SearchLab(arguments.corpus.resolve(), kept, scratch, stores) if arguments.corpus else None
        conditions = machine(scratch)
        rows = list(report.measured(ROWS, Lab(effort, scratch, logs), names))
    print(report.table([row for _, row in rows]))
    report.write(arguments.json, "recollect.benchmarks.assemble", rows, conditions, asdict(effort))
    return report.status(rows)


if __name__ == "__main__":
    sys.exit(main())
