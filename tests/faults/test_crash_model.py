"""Kills and power cuts at every storage call, by record and replay.

The story is recorded once. Every prefix of its log, under many ways in which a disk may
forget what was not synced, is a folder that a real crash could leave; each is opened,
compared with what had been acknowledged, and completed by a second run.
"""

from __future__ import annotations

import errno
import hashlib
import random
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import pytest
from tests.faults.story import HOST, STORE, QuietDisk, State, Story, ingest, memory, state_of
from tests.faults.world import Files, Op, RecordingDisk, World, points, torn_by_kill, write_files

from recollect.intake.ingest import Ingest
from recollect.light.journal import Journal, journal_path, read_frames
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.errors import StoreBusy, StoreWriteFailed
from recollect.values.records import Segment


@dataclass
class Crash:
    """A folder that a crash may leave, how it came, and what a reader may then see."""

    files: Files
    how: str
    allowed: list[State | None]


@pytest.fixture(scope="module")
def log(story: Story, tmp_path_factory: pytest.TempPathFactory) -> list[Op]:
    return record(story, tmp_path_factory.mktemp("recorded"))


def record(story: Story, folder: Path, *, lies: bool = False) -> list[Op]:
    disk = RecordingDisk(folder, lies=lies)
    with disk.links():
        story.play(folder / STORE, disk, disk.note)
    return disk.log


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
    acked = under_way = -1
    for n, world in points(log):
        if n and log[n - 1][0] == "start":
            under_way = log[n - 1][1]
        elif n and log[n - 1][0] == "ack":
            acked = under_way = log[n - 1][1]
        yield n, world, story.allowed(acked, under_way)


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
    story: Story, crashes: Iterable[Crash], folder: Path, *, complete_every: int = 1, at_least: int = 0
) -> list[str]:
    """What is wrong after each crash; nothing, one hopes."""
    wrong, count = [], 0
    for count, crash in enumerate(crashes, 1):
        found = empty(folder / "found")
        write_files(found, crash.files)
        try:
            story.check(found, crash.allowed, complete=count % complete_every == 0)
        except Exception as error:
            wrong.append(f"{crash.how}: {type(error).__name__}: {error}")
    assert count >= at_least, "too few states to mean anything"
    return wrong


def empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def test_killed_at_any_storage_call(story: Story, log: list[Op], fast_path: Path) -> None:
    crashes = unlike(kills(story, log))
    assert check_all(story, crashes, fast_path, complete_every=6, at_least=70) == []


def test_power_cut_at_any_storage_call(story: Story, log: list[Op], fast_path: Path) -> None:
    crashes = unlike(power_cuts(story, log, 4))
    assert check_all(story, crashes, fast_path, complete_every=8, at_least=100) == []


@pytest.mark.full
def test_every_state_of_a_long_search(story: Story, log: list[Op], fast_path: Path) -> None:
    crashes = unlike(chain(kills(story, log), power_cuts(story, log, 50)))
    assert check_all(story, crashes, fast_path, at_least=350) == []


def test_a_disk_that_never_syncs_is_found_out(story: Story, tmp_path: Path, fast_path: Path) -> None:
    """The negative control: without syncs this very search must find losses, or it finds nothing."""
    lied_to = record(story, tmp_path, lies=True)
    crashes = islice(unlike(power_cuts(story, lied_to, 1)), 0, None, 3)
    assert len(check_all(story, crashes, fast_path, complete_every=1000)) > 10


def only_recover(story: Story, store: Hdf5Store) -> None:
    with store.writer():
        pass


def ingest_again(story: Story, store: Hdf5Store) -> None:
    ingest(store, story.everything)


def crashes_in_recovery(
    story: Story,
    log: list[Op],
    folder: Path,
    recovery: Callable[[Story, Hdf5Store], None],
    *,
    every: int,
    seeds: int,
) -> Iterator[Crash]:
    """First a kill, so that what was not synced is still there; then the power goes during what follows."""
    for n, world, allowed in walk(story, log):
        if not n or log[n - 1][0] in ("start", "ack", "sync", "sync_folder") or n % every:
            continue  # nothing new to recover from
        found = empty(folder / "killed")
        write_files(found, world.after_kill())
        if not (found / STORE).exists():
            continue
        disk = RecordingDisk(found, world.copy())
        with Hdf5Store(found / STORE, disk=disk) as store:
            recovery(story, store)
        for m, later in points(disk.log, world):
            for seed in range(seeds if later.undecided else 1):
                where = f"power cut (seed {n}/{m}/{seed}) after {describe(disk.log, m)}"
                how = f"killed after {describe(log, n)}; {where}"
                files = later.after_power_cut(random.Random(f"{n}/{m}/{seed}"))
                seen = [state for state in allowed if state is not None and recovery is ingest_again]
                last = [story.final | {"derived": state["derived"]} for state in seen]
                yield Crash(files, how, last if m == len(disk.log) and last else allowed + last)


@pytest.mark.parametrize(
    ("recovery", "every", "seeds"),
    [
        (only_recover, 2, 2),
        (ingest_again, 9, 1),
        pytest.param(only_recover, 1, 8, marks=pytest.mark.full),
        pytest.param(ingest_again, 2, 2, marks=pytest.mark.full),
    ],
)
def test_power_cut_while_recovering_from_a_kill(
    story: Story,
    log: list[Op],
    fast_path: Path,
    recovery: Callable[[Story, Hdf5Store], None],
    every: int,
    seeds: int,
) -> None:
    crashes = unlike(crashes_in_recovery(story, log, fast_path, recovery, every=every, seeds=seeds))
    assert check_all(story, crashes, fast_path, complete_every=10, at_least=30) == []


def crashes_after_an_append(
    story: Story, log: list[Op], folder: Path, seeds: int
) -> Iterator[tuple[Files, str]]:
    """A kill anywhere; another process appends and is told it is safe; then the power goes."""
    for n, world, _ in walk(story, log):
        found = empty(folder / "killed")
        write_files(found, world.after_kill())
        disk = RecordingDisk(found, world.copy())
        with Journal(found / STORE, disk) as journal:
            journal.append(story.segments(story.probe_file, 1)[0].pack())
        for seed in range(seeds):
            how = f"killed after {describe(log, n)}; appended; power cut (seed {n}/{seed})"
            yield disk.world.after_power_cut(random.Random(f"{n}/{seed}")), how


def test_an_append_beside_a_killed_process_survives_a_power_cut(
    story: Story, log: list[Op], fast_path: Path
) -> None:
    """The first appender makes the journal's name durable, if it lives so long; the second cannot know."""
    wanted = story.segments(story.probe_file, 1)[0].pack()
    lost = set()
    for files, how in crashes_after_an_append(story, log, fast_path, 8):
        (fast_path / STORE).unlink(missing_ok=True)
        wal = journal_path(fast_path / STORE)
        wal.write_bytes(files.get(wal.name, b""))
        if wanted not in [payload for _, payload in read_frames(wal)]:
            lost.add(how.split(" (seed")[0])
    assert sorted(lost) == []


def test_a_number_folded_before_its_frame_was_lost_is_not_given_again(story: Story, fast_path: Path) -> None:
    """An appender dies before its sync, a checkpoint folds the frame, and the power cut brings
    back the journal (its removal was not synced) without the frame. The next number must be a new one."""
    path = fast_path / STORE
    first, second, third = story.segments(story.live_file, 3)
    with Hdf5Store.open(path, create=True, disk=QuietDisk()) as store:
        store.append(first)
        before = journal_path(path).read_bytes()
        store.append(second)  # in the page cache only, as far as the disk knows
        memory(store).checkpoint()
    journal_path(path).write_bytes(before)
    with Hdf5Store.open(path, disk=QuietDisk()) as store:
        store.append(third)
        assert [segment.data for _, segment in store.pending()] == [third.data]


def test_a_frame_whose_append_failed_does_not_stand_for_the_next(
    story: Story, fast_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint reads a frame while its append is still syncing. The sync fails, the next append
    is acknowledged, and only then does the checkpoint commit: it must not take the one for the other."""
    path = fast_path / STORE
    first, second, _ = story.segments(story.live_file, 3)
    whole = Segment(first.source, HOST, 0, first.data + second.data)
    read_early: list[tuple[int, Segment]] = []

    class FirstSyncFails(QuietDisk):
        def sync_data(self, fd: int) -> None:
            if not read_early:
                with Hdf5Store.open(path, disk=QuietDisk()) as other:
                    try:
                        read_early.extend(other.pending())
                    except StoreBusy:  # it waits for the append to end: better still
                        read_early.append((0, first))
                raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("recollect.light.journal.LOCK_SECONDS", 0.05)
    with Hdf5Store.open(path, create=True, disk=FirstSyncFails()) as store:
        with pytest.raises(StoreWriteFailed):
            store.append(first)
        store.append(whole)
    with Hdf5Store.open(path, disk=QuietDisk()) as other:
        with other.writer() as writer:
            folded = Ingest(writer, HOST).fold(number for number in read_early if number[0])
            writer.commit()
        other.clear_journal(folded)
        assert state_of(other)["sources"][HOST, str(story.live_file), False][1] == len(whole.data)
