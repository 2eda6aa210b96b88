"""Kills and power cuts at every storage call, by record and replay.

The story is recorded once. Every prefix of its log, under many ways in which a disk may
forget what was not synced, is a folder that a real crash could leave; each is opened,
compared with what had been acknowledged, and completed by a second run.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import pytest
from tests.faults.crashes import (
    check_all,
    crashes_in_recovery,
    describe,
    empty,
    kills,
    power_cuts,
    record,
    unlike,
    walk,
)
from tests.faults.story import HOST, STORE, QuietDisk, Story, memory, state_of
from tests.faults.world import Files, Op, RecordingDisk, write_files

from recollect.intake.ingest import Ingest
from recollect.light.journal import Journal, journal_path, read_frames
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.errors import StoreBusy, StoreWriteFailed
from recollect.values.records import Segment


@pytest.fixture(scope="module")
def log(story: Story, tmp_path_factory: pytest.TempPathFactory) -> list[Op]:
    return record(story, tmp_path_factory.mktemp("recorded")).log


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
    lied_to = record(story, tmp_path, lies=True).log
    crashes = islice(unlike(power_cuts(story, lied_to, 1)), 0, None, 3)
    assert len(check_all(story, crashes, fast_path, complete_every=1000)) > 10


@pytest.mark.parametrize(
    ("recovery", "every", "seeds"),
    [
        ("only_recover", 2, 2),
        ("ingest_again", 9, 1),
        pytest.param("only_recover", 1, 8, marks=pytest.mark.full),
        pytest.param("ingest_again", 2, 2, marks=pytest.mark.full),
    ],
)
def test_power_cut_while_recovering_from_a_kill(
    story: Story, log: list[Op], fast_path: Path, recovery: str, every: int, seeds: int
) -> None:
    (how,) = (each for each in story.recoveries() if each.__name__ == recovery)
    crashes = unlike(crashes_in_recovery(story, log, fast_path, how, every=every, seeds=seeds))
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

    monkeypatch.setitem(Journal.__init__.__kwdefaults__, "lock_seconds", 0.05)
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
