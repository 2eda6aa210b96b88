"""Running, timing, weighing: what every row is made with.

On Linux a child's peak memory starts at the peak of the process that started it, so the process that
measures must stay small. Everything that loads a store runs in a child.
"""

from __future__ import annotations

import math
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_RSS_UNIT = 1 if sys.platform == "darwin" else 1024
NOISE_MIN = 0.10


@dataclass(frozen=True)
class Ran:
    """One finished process."""

    argv: tuple[str, ...]
    seconds: float
    cpu_seconds: float
    rss_bytes: int
    status: int
    stdout: str
    stderr: str

    @property
    def rss_mb(self) -> float:
        return self.rss_bytes / 1e6

    def checked(self) -> Ran:
        """Itself, or an error that shows what the command said."""
        if self.status != 0:
            said = (self.stderr or self.stdout).strip()[-600:]
            raise RuntimeError(f"`{' '.join(self.argv[:6])} ...` ended with {self.status}: {said}")
        return self


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    weigh: bool = False,
    timeout_seconds: float = 1200.0,
) -> Ran:
    """Run a command to its end: wall time, processor time, peak memory, output.

    Peak memory is the largest single process as the kernel counts it; with `weigh`, helper
    processes that live at the same time are added up (sampled, shared pages counted once).
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=None if env is None else dict(env),
            cwd=cwd,
        )
        limit = threading.Timer(timeout_seconds, process.kill)
        limit.start()
        scale = _TreeScale(process.pid) if weigh else None
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        limit.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)  # Popen must not wait for it again.
        rss = max(usage.ru_maxrss * _RSS_UNIT, scale.stop() if scale else 0)
        out.seek(0)
        err.seek(0)
        return Ran(
            tuple(argv),
            seconds,
            usage.ru_utime + usage.ru_stime,
            rss,
            process.returncode,
            out.read().decode(errors="replace"),
            err.read().decode(errors="replace"),
        )


def interleaved(rounds: int, *subjects: Callable[[], float]) -> list[list[float]]:
    """Measure each subject `rounds` times, turn by turn, so that a busy minute hits all of them alike."""
    taken: list[list[float]] = [[] for _ in subjects]
    for turn in range(rounds):
        order = range(len(subjects)) if turn % 2 == 0 else reversed(range(len(subjects)))
        for index in order:
            taken[index].append(subjects[index]())
    return taken


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


def spread(values: Sequence[float]) -> dict[str, float]:
    """What a reader of the JSON wants to know of a list of seconds, in milliseconds."""
    return {
        "count": len(values),
        "p50_ms": statistics.median(values) * 1e3,
        "p95_ms": percentile(values, 0.95) * 1e3,
        "p99_ms": percentile(values, 0.99) * 1e3,
        "min_ms": min(values) * 1e3,
        "max_ms": max(values) * 1e3,
    }


def noise_of(values: Sequence[float]) -> float:
    """How far two medians of such values may lie apart and still be called the same, as a share."""
    middle = statistics.median(values)
    return max(NOISE_MIN, (percentile(values, 0.75) - percentile(values, 0.25)) / middle)


def weight_of(folder: Path) -> int:
    """Bytes of every file below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def machine(scratch: Path) -> dict[str, object]:
    """What the figures depend on."""
    return {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load_1m": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "scratch_file_system": file_system_of(scratch),
    }


def own_rss_mb() -> float:
    """Our own peak: what no child's figure can fall below."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT / 1e6


def file_system_of(path: Path) -> str:
    """The type of file system a path lies on, "unknown" where the kernel does not say."""
    best, kind = "", "unknown"
    try:
        mounts = Path("/proc/mounts").read_text()
    except OSError:
        return kind
    where = str(path.resolve())
    for line in mounts.splitlines():
        _, point, type_, *_ = line.split(" ")
        inside = where == point or where.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, type_
    return kind


class _TreeScale:
    """Weighs a process together with its children, ten times a second, in a thread of its own."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._peak = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        self._ended.set()
        self._thread.join()
        return self._peak

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            family = _family(self._pid)
            if len(family) > 1:
                self._peak = max(self._peak, sum(_pss(pid) for pid in family))


def _family(pid: int) -> list[int]:
    members = [pid]
    for member in members:
        for tasks in Path(f"/proc/{member}/task").glob("*/children"):
            try:
                members.extend(int(child) for child in tasks.read_text().split())
            except OSError:
                continue
    return members


def _pss(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
