"""The folders that a crash may leave, by record and replay.

A story is recorded once. Every prefix of its log, under many ways in which a disk may forget what was not
synced, is a folder that a real crash could leave; each is opened, compared with what had been acknowledged,
and completed by a second run. What follows a crash can be recorded and cut short in turn.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.faults.story import STORE, State, Story, only_recover, telling_commits
from tests.faults.world import Files, Op, RecordingDisk, World, points, torn_by_kill, write_files

from recollect.store.hdf5.engine import Hdf5Store


@dataclass
class Crash:
    """A folder that a crash may leave, how it came, and what a reader may then see."""

    files: Files
    how: str
    allowed: list[State | None]


def record(story: Story, folder: Path, *, lies: bool = False, drop: str | None = None) -> RecordingDisk:
    """All of a story, written down: `lies` and `drop` as the disk has them."""
    disk = RecordingDisk(folder, lies=lies, drop=drop)
    with disk.links():
        story.play(folder / STORE, disk, disk.note)
    return disk


def kills(story: Story, log: list[Op]) -> Iterator[Crash]:
    """The folder after every operation, and in the middle of every write."""
    for n, world, allowed in walk(story, log):
        yield Crash(world.after_kill(), f"killed after {describe(log, n)}", allowed)
        torn = torn_by_kill(world, log[n], random.Random(n)) if n < len(log) else None
        if torn is not None:
            yield Crash(torn, f"killed inside {describe(log, n + 1)}", allowed)


def power_cuts(story: Story, log: list[Op], per_point: int) -> Iterator[Crash]:
    for n, world, allowed in walk(story, log):
        for seed in range(per_point if world.undecided else 1):
            how = f"power cut (seed {n}/{seed}) after {describe(log, n)}"
            yield Crash(world.after_power_cut(random.Random(f"{n}/{seed}")), how, allowed)


def walk(story: Story, log: list[Op]) -> Iterator[tuple[int, World, list[State | None]]]:
    """Every point of a log, with what may be seen after a crash there."""
    acked = under_way = -1
    commits = 0
    for n, world in points(log):
        kind, number = log[n - 1][:2] if n else ("", 0)
        if kind == "start":
            under_way, commits = number, 0
        elif kind == "commit":
            commits += 1
        elif kind == "ack":
            acked = under_way = number
        yield n, world, story.allowed(acked, under_way, commits)


def describe(log: list[Op], n: int) -> str:
    if not n:
        return "nothing"
    op = log[n - 1]
    return f"operation {n} of {len(log)}, {(*op[:3], len(op[3])) if op[0] == 'write' else op}"


def unlike(crashes: Iterable[Crash]) -> Iterator[Crash]:
    """Each different folder once."""
    met = set()
    for crash in crashes:
        names = sorted((p, hashlib.sha256(data).digest()) for p, data in crash.files.items())
        key = hashlib.sha256(repr((names, crash.allowed)).encode()).digest()
        if key not in met:
            met.add(key)
            yield crash


def check_all(
    story: Story,
    crashes: Iterable[Crash],
    folder: Path,
    *,
    complete_every: int = 1,
    at_least: int = 0,
    keep: Path | None = None,
) -> list[str]:
    """What is wrong after each crash; nothing, one hopes. `keep`: where to leave the folders of those."""
    wrong, count = [], 0
    for count, crash in enumerate(crashes, 1):
        found = empty(folder / "found")
        write_files(found, crash.files)
        try:
            story.check(found, crash.allowed, complete=count % complete_every == 0)
        except Exception as error:
            wrong.append(f"{crash.how}: {type(error).__name__}: {error}")
            if keep is not None:
                write_files(keep / str(time.time_ns()), crash.files)
    assert count >= at_least, "too few states to mean anything"
    return wrong


def empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def sampled(story: Story, log: list[Op], rng: random.Random, count: int) -> Iterator[Crash]:
    """Kills and power cuts at so many points anywhere in a log."""
    chosen = Counter(rng.randrange(len(log) + 1) for _ in range(count))
    for n, world, allowed in walk(story, log):
        for _ in range(chosen[n]):
            files, how = crashed(world, rng, log[n] if n < len(log) else None)
            yield Crash(files, f"{how} after {describe(log, n)}", allowed)


def crashed(world: World, rng: random.Random, following: Op | None) -> tuple[Files, str]:
    """What one crash leaves of a world, and what kind of crash it was."""
    if rng.random() < 0.7:
        return world.after_power_cut(rng), "power cut"
    torn = torn_by_kill(world, following, rng) if following is not None and rng.random() < 0.5 else None
    return (world.after_kill(), "killed") if torn is None else (torn, "killed inside of what comes")


def crashes_in_recovery(
    story: Story,
    log: list[Op],
    folder: Path,
    recovery: Callable[[Hdf5Store], None],
    *,
    every: int,
    seeds: int,
    drop: str | None = None,
) -> Iterator[Crash]:
    """First a kill, so that what was not synced is still there; then the power goes during what follows."""
    for n, world, allowed in walk(story, log):
        if not n or log[n - 1][0] in ("start", "ack", "sync", "sync_folder") or n % every:
            continue  # nothing new to recover from
        found = empty(folder / "killed")
        write_files(found, world.after_kill())
        if not (found / STORE).exists():
            continue
        disk = RecordingDisk(found, world.copy(), drop=drop)
        with disk.links(), story.set_up(disk), Hdf5Store(found / STORE, disk=disk) as store:
            recovery(store)
        for m, later in points(disk.log, world):
            for seed in range(seeds if later.undecided else 1):
                where = f"power cut (seed {n}/{m}/{seed}) after {describe(disk.log, m)}"
                how = f"killed after {describe(log, n)}; {where}"
                files = later.after_power_cut(random.Random(f"{n}/{m}/{seed}"))
                last = story.completed(allowed) if recovery != only_recover else []
                yield Crash(files, how, last if m == len(disk.log) and last else allowed + last)


def nested_crash(
    story: Story, log: list[Op], rng: random.Random, folder: Path, depth: int = 3
) -> Crash | None:
    """A crash, and another one in the recovery from it, and so on; None where there is no store yet.

    Recovery is what any next writer does, or a whole further ingest.
    """
    at = rng.randrange(1, len(log) + 1)
    world, allowed = next((world, allowed) for n, world, allowed in walk(story, log) if n == at)
    how = describe(log, at)
    for level in range(depth):
        if rng.random() < 0.5:  # what was not synced is still there, and still not synced
            files, kind = world.after_kill(), "killed"
        else:
            files, kind = world.after_power_cut(rng), "power cut"
            world = World(files)
        how = f"{kind} after {how}"
        if level == depth - 1:
            break
        found = empty(folder / "nested")
        write_files(found, files)
        if not (found / STORE).exists():
            return None
        recovery = rng.choice(story.recoveries())
        disk = RecordingDisk(found, world.copy())
        made = recovered(story, recovery, disk)
        cut = rng.randrange(len(disk.log) + 1)
        _, world = next(each for each in points(disk.log, world) if each[0] == cut)
        done = sum(op[0] == "commit" for op in disk.log[:cut])
        allowed = (allowed if not done else [made[done - 1]]) + made[done : done + 1]
        how = f"{describe(disk.log, cut)} of {recovery.__name__} after which: {how}"
    return Crash(files, how, allowed)


def recovered(story: Story, recovery: Callable[[Hdf5Store], None], disk: RecordingDisk) -> list[State | None]:
    """What a reader sees after each commit of a recovery that is recorded."""
    path = disk.root / STORE
    made: list[State | None] = []

    def tell(what: str, step: int) -> None:
        disk.note(what, step)
        made.append(story.seen(path))

    with disk.links(), story.set_up(disk), telling_commits(path, tell), Hdf5Store(path, disk=disk) as store:
        recovery(store)
    return made
