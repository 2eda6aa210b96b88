"""How much trouble does the store survive? `python -m benchmarks.faults --hours N`.

Kills, power cuts, failing calls, crashes inside recoveries, processes that die, harmed indexes and hostile
files, chosen at random, for as long as it is told. Nothing that was acknowledged may be lost. Every loss is
printed at once with its round, and the folder that showed it is kept; the table at the end, or at Ctrl-C,
says how much was survived. Exit status: 0 nothing lost, 1 something was.

The same seed plays the same rounds; bytes in them differ a little, as every store has an id of its own.

The rounds themselves are `tests/faults/rounds.py`, in processes of their own: one that dies is a finding too.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[1]
ROUND_SECONDS_MAX = 900.0  # then it hangs, however busy the machine
TOLD_EVERY_SECONDS = 60.0
EXAMPLES = """examples:
  python -m benchmarks.faults --hours 0.02              does it run at all
  python -m benchmarks.faults --hours 1 --workers 4     an hour on four cores
  python -m benchmarks.faults --seed 7 --round 1234     one round again, alone
"""


@dataclass
class Tally:
    """What was survived and what was not."""

    rounds: int = 0
    survived: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, said: dict[str, Any], kind: str) -> None:
        self.rounds += 1
        self.kinds[kind] += 1
        self.survived.update(said["survived"])
        for each in said["wrong"]:
            self.lose(f"round {said['ended']} ({kind}): {each}")

    def lose(self, what: str) -> None:
        self.wrong.append(what)
        print(f"LOST {what}", flush=True)

    def line(self) -> str:
        counts = ", ".join(f"{count:,} {name}" for name, count in sorted(self.survived.items()))
        return f"{self.rounds:,} rounds: {counts or 'nothing yet'}; {len(self.wrong)} lost"

    def table(self, seconds: float, seed: int) -> str:
        rows = [(name, f"{count:,}") for name, count in sorted(self.survived.items())]
        rows += [("rounds", f"{self.rounds:,}"), ("lost or wrong", f"{len(self.wrong):,}")]
        wide = max(len(name) for name, _ in rows)
        lines = [f"{name.ljust(wide)}  {count:>12}" for name, count in rows]
        return "\n".join([f"seed {seed}, {seconds / 3600:.2f} hours", "-" * (wide + 14), *lines])


class Worker:
    """One process that plays rounds, begun again where it dies."""

    def __init__(self, seed: int, first: int, step: int, folder: Path, heard: queue.Queue[Any]) -> None:
        self._words, self._next, self._step = (seed, step), first, step
        self._folder, self._heard = folder, heard
        self.number, self.kind, self.begun = -1, "", time.monotonic()
        self._start()

    def _start(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        seed, step = self._words
        script = str(ROOT / "tests" / "faults" / "rounds.py")
        words = [sys.executable, script, str(seed), str(self._next), str(step), str(self._folder)]
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self._folder),
            "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))),
        }
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(
            words, env=environ, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )
        threading.Thread(target=self._listen, args=(self.child,), daemon=True).start()

    def _listen(self, child: subprocess.Popen[str]) -> None:
        assert child.stdout is not None
        assert child.stderr is not None
        errors: list[str] = []
        aside = threading.Thread(target=_drain, args=(child.stderr, errors), daemon=True)
        aside.start()
        for line in child.stdout:
            self._heard.put((self, json.loads(line)))
        aside.join()
        self._heard.put((self, {"died": child.wait(), "told": "".join(errors)[-3000:]}))

    def take(self, said: dict[str, Any], tally: Tally) -> None:
        if "begun" in said:
            self.number, self.kind, self.begun = said["begun"], said["kind"], time.monotonic()
            self._next = self.number + self._step
        elif "ended" in said:
            tally.add(said, self.kind)

    def die(self, said: dict[str, Any], tally: Tally) -> None:
        tally.lose(
            f"round {self.number} ({self.kind}): its process ended with {said['died']}: {said['told']}"
        )
        self._start()

    def stop(self) -> None:
        assert self.child.stdin is not None
        self.child.stdin.close()

    def kill(self) -> None:
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)


def _drain(stream: IO[str], into: list[str]) -> None:
    into.extend(stream)


def play(tally: Tally, workers: list[Worker], heard: queue.Queue[Any], until: float) -> None:
    """Listen until the time is up and every worker has ended its round."""
    alive, stopping, told = set(workers), False, time.monotonic()
    while alive:
        now = time.monotonic()
        if now >= until and not stopping:
            stopping = True
            for worker in alive:
                worker.stop()
        if now - told >= TOLD_EVERY_SECONDS:
            told = now
            print(f"{time.strftime('%H:%M:%S')} {tally.line()}", file=sys.stderr, flush=True)
        for worker in [each for each in alive if now - each.begun > ROUND_SECONDS_MAX]:
            tally.lose(f"{worker}: not over after {ROUND_SECONDS_MAX:.0f} s")
            worker.kill()
            worker.begun = now
        for worker, said in _heard(heard):
            if "died" not in said:
                worker.take(said, tally)
            elif stopping and said["died"] == 0:
                alive.discard(worker)
            elif stopping:
                tally.lose(
                    f"round {worker.number} ({worker.kind}): ended with {said['died']}: {said['told']}"
                )
                alive.discard(worker)
            else:
                worker.die(said, tally)


def _heard(heard: queue.Queue[Any]) -> Iterator[tuple[Worker, dict[str, Any]]]:
    try:
        yield heard.get(timeout=1.0)
        while True:
            yield heard.get_nowait()
    except queue.Empty:
        return


def one_round(seed: int, number: int, folder: Path) -> int:
    """Play one round and show all it says."""
    tally, heard = Tally(), queue.Queue[Any]()
    worker = Worker(seed, number, 1, folder, heard)
    while not tally.rounds:
        _, said = heard.get()
        if "died" in said:
            sys.exit(said["told"])
        worker.take(said, tally)
    worker.kill()
    print(tally.line())
    return 1 if tally.wrong else 0


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.faults",
        description="What the store survives, for hours.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--hours", type=float, default=1.0, metavar="N", help="how long (default: 1)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="which rounds (default: 1)")
    parser.add_argument("--workers", type=int, default=1, metavar="W", help="processes (default: 1)")
    parser.add_argument("--round", type=int, metavar="R", help="only this one, to look into it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was counted there too")
    given = parser.parse_args()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="recollect-faults-", dir=memory))
    try:
        if given.round is not None:
            sys.exit(one_round(given.seed, given.round, folder / "0"))
        sys.exit(run(given.seed, given.hours, given.workers, folder, given.json))
    finally:
        if not any(folder.glob("*/lost/*")):
            shutil.rmtree(folder, ignore_errors=True)


def run(seed: int, hours: float, count: int, folder: Path, target: Path | None) -> int:
    tally, heard, began = Tally(), queue.Queue[Any](), time.monotonic()
    workers = [Worker(seed, n, count, folder / str(n), heard) for n in range(count)]
    try:
        play(tally, workers, heard, began + hours * 3600)
    except KeyboardInterrupt:
        print("stopped by hand", file=sys.stderr)
    finally:
        for worker in workers:
            worker.kill()
    seconds = time.monotonic() - began
    print(tally.table(seconds, seed))
    if lost := sorted(folder.glob("*/lost/*")):
        print(f"what was found is kept: {' '.join(map(str, lost))}")
    if target is not None:
        figures = {"seed": seed, "seconds": seconds, "rounds": tally.rounds, "lost": tally.wrong}
        target.write_text(json.dumps(figures | {"survived": tally.survived, "kinds": tally.kinds}, indent=1))
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    main()
