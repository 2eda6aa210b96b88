"""The marks of the hook, measured: `python -m benchmarks.hook --corpus DIR`.

Every call is a process, as an agent starts it: the shell line that stands in its settings, a payload on
stdin, on a real transcript that has grown by a line since the call before. The empty interpreter and the
hook of agentic-conversations-hdf5 take turns with ours, so that a busy minute hits all of them alike.
The clock stops when the hook ends. The job that tidies up after a session goes on without it, and is
waited for before the next call.
Exit status: 0 all marks met, 1 some missed, 2 some rows could not be measured.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import peers, report
from benchmarks.hook_lab import Desk, Effort, Lab, holding, peer_line, started
from benchmarks.measure import machine, percentile, spread
from benchmarks.report import Row

EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact", "SessionEnd")
PEER_EVENTS = ("UserPromptSubmit", "Stop")  # the two that its own setup registers
OVER_MS_MAX = 40.0
CROWD_SECONDS_MAX = 1.0
Taken = dict[str, tuple[list[float], list[float]]]  # wall and processor seconds of each line
EMPTY = shlex.join([sys.executable, "-c", "pass"])


# -- rows ------------------------------------------------------------------------------------------


def small(lab: Lab) -> Iterator[Row]:
    """Each event at an empty store, beside the peer where it has the event."""
    yield from _events(lab, lab.desk("small"), "empty store", peer=True)


def large(lab: Lab) -> Iterator[Row]:
    """Each event at a store of 300,000 entries."""
    desk = lab.desk("large", large=True)
    yield from _events(lab, desk, f"{lab.effort.entries:,} entries", peer=False)


def crowd(lab: Lab) -> Iterator[Row]:
    """Fifty at once while nothing can be written; then every line must be there once."""
    for name, lock, prefix in (
        ("the store locked", "WRITER", ""),
        ("the journal locked", "APPEND", ""),
        ("the store locked, the disk full", "WRITER", "ulimit -f 0; "),
    ):
        yield _crowd(lab, name, lock, prefix)


def _events(lab: Lab, desk: Desk, what: str, *, peer: bool) -> Iterator[Row]:
    warm = desk.session("warm", lab.effort.begun)
    desk.call(desk.line, desk.payload("SessionEnd", warm))  # whatever is made ready for later is ready
    desk.quiet()
    for event in EVENTS:
        session = desk.session(event, lab.effort.begun)
        lines = {"empty": EMPTY, "ours": desk.line}
        if peer and event in PEER_EVENTS:
            lines["peer"] = peer_line()
        yield _event_row(event, what, _turns(lab, desk, event, session, lines))
        if not desk.whole(session):
            raise RuntimeError(f"{event}: the store does not hold what the transcript does")


def _turns(lab: Lab, desk: Desk, event: str, session: str, lines: dict[str, str]) -> Taken:
    """What each line takes; the transcript grows before each turn, and the order turns round."""
    taken: Taken = {name: ([], []) for name in lines}
    for turn in range(-1, lab.effort.rounds):
        desk.grow(session)
        for name in list(lines)[:: 1 if turn % 2 else -1]:
            used = desk.call(lines[name], desk.payload(event, session))
            if turn >= 0:  # the first turn takes all that came before it
                for seconds, values in zip(used, taken[name], strict=True):
                    values.append(seconds)
            desk.quiet()
    return taken


def _event_row(event: str, what: str, taken: Taken) -> Row:
    wall = {name: values for name, (values, _) in taken.items()}
    over = (percentile(wall["ours"], 0.95) - percentile(wall["empty"], 0.95)) * 1e3
    beside = [f"python -c pass {_both(wall['empty'])}"]
    if "peer" in wall:
        beside.append(f"agentic-conversations-hdf5 {_both(wall['peer'])}")
    detail = {name: spread(values) for name, values in wall.items()}
    detail |= {f"{name} processor": spread(values) for name, (_, values) in taken.items()}
    return Row(
        f"{event}, {what}, p50 / p95",
        f"{_both(wall['ours'])} ms, {over:+.0f} at p95",
        f"at most {OVER_MS_MAX:.0f} ms over the empty interpreter",
        over <= OVER_MS_MAX,
        ", ".join(beside),
        detail,
    )


def _crowd(lab: Lab, name: str, lock: str, prefix: str) -> Row:
    desk = lab.desk("crowd")
    sessions = [desk.session(str(number), 20) for number in range(lab.effort.crowd_sessions)]
    locked = desk.store if lock == "WRITER" else desk.store.with_name(desk.store.name + "-wal")
    empty, _ = _at_once(lab, desk, EMPTY, sessions)  # what so many interpreters take that do nothing
    with holding(locked, lock, desk.environ):
        taken, failed = _at_once(lab, desk, prefix + desk.line, sessions)
    desk.quiet()
    for session in sessions:
        desk.call(desk.line, desk.payload("Stop", session))
    whole = sum(map(desk.whole, sessions))
    met = not failed and max(taken) <= CROWD_SECONDS_MAX and whole == len(sessions)
    return Row(
        f"{lab.effort.crowd} at once, {name}",
        f"slowest {max(taken):.2f} s, then {whole} of {len(sessions)} whole",
        f"all exit 0 within {CROWD_SECONDS_MAX:.0f} s, every line once",
        met,
        f"as many python -c pass: slowest {max(empty):.2f} s",
        {"failed": failed, "whole": whole, "ours": spread(taken), "empty": spread(empty)},
    )


def _at_once(lab: Lab, desk: Desk, line: str, sessions: Sequence[str]) -> tuple[list[float], int]:
    """Seconds of each of so many hooks started together, and how many failed or said anything on stderr."""
    begun: dict[int, tuple[subprocess.Popen[bytes], float]] = {}
    for number in range(lab.effort.crowd):
        session, event = sessions[number % len(sessions)], EVENTS[number % len(EVENTS)]
        start = time.perf_counter()
        process = started(line, desk.payload(event, session), desk.environ)
        begun[process.pid] = process, start
    taken, failed = [], 0
    while begun:
        pid, status = os.wait()  # whichever ends first
        process, start = begun.pop(pid)
        taken.append(time.perf_counter() - start)
        process.returncode = os.waitstatus_to_exitcode(status)
        _, said = process.communicate()
        failed += bool(process.returncode or said)
    return taken, failed


ROWS: dict[str, Callable[[Lab], Iterator[Row]]] = {"small": small, "large": large, "crowd": crowd}


def _both(values: Sequence[float]) -> str:
    return f"{percentile(values, 0.5) * 1e3:.0f} / {percentile(values, 0.95) * 1e3:.0f}"


# -- command line ----------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    arguments = report.corpus_parser("hook", "Measure the marks of the hook.", ROWS).parse_args(argv)
    if arguments.corpus is None:
        print("give the unpacked corpus: --corpus DIR, or RECOLLECT_CORPUS", file=sys.stderr)
        return 2
    effort = Effort.quick() if arguments.quick else Effort()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="scratch-", dir=arguments.keep) as scratch:
        lab = Lab(arguments.corpus.resolve(), arguments.keep.resolve(), Path(scratch), effort)
        conditions = machine(Path(scratch)) | {"versions": peers.versions()}
        rows = list(report.measured(ROWS, lab, arguments.only or list(ROWS)))
    print(report.table([row for _, row in rows]))
    print(f"load of the machine: {conditions['load_1m']} before, {machine(arguments.keep)['load_1m']} after")
    report.write(arguments.json, "recollect.benchmarks.hook", rows, conditions, asdict(effort))
    return report.status(rows)


if __name__ == "__main__":
    sys.exit(main())
