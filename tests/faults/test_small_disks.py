"""Real file systems that are full, read-only or stingy."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.faults.story import STORE, QuietDisk, Story, ingest, memory, state_of
from tests.support.children import command, environment
from tests.support.logs import claude_path, said
from tests.support.mounts import ext4, leave_free, mounted, needs_root, tmpfs

from recollect.cli import main
from recollect.light.journal import journal_path
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.errors import RecollectError, StoreWriteFailed

Mount = Callable[[], AbstractContextManager[Path]]


def play_in_child(story: Story, path: Path) -> tuple[int, int, str]:
    """(last acknowledged step, exit code, what it said) of a whole story in a process of its own."""
    done = subprocess.run(
        command("faults/worker.py", "play", path, story.folder),
        env=environment(),
        capture_output=True,
        check=False,
    )
    acks = re.findall(rb"ack (\d+)", done.stdout)
    return int(acks[-1]) if acks else -1, done.returncode, done.stderr.decode()


@pytest.mark.root
@needs_root
@pytest.mark.parametrize("mount", [tmpfs, ext4])
@pytest.mark.parametrize("step_bytes", [960 << 10, pytest.param(64 << 10, marks=pytest.mark.full)])
def test_disk_full_at_many_points(story: Story, mount: Mount, step_bytes: int) -> None:
    """No signal, a message that says why, reading goes on, and with space again all is completed."""
    codes, wrong = set(), []
    with mount() as disk:
        folder = disk / "store"
        for free in range(0, 5 << 20, step_bytes):
            shutil.rmtree(folder, ignore_errors=True)
            (disk / "filler").unlink(missing_ok=True)
            folder.mkdir()
            leave_free(disk, free)
            acked, code, said = play_in_child(story, folder / STORE)
            codes.add(code)
            try:
                assert code in (0, 7), f"exit {code}: {said}"
                assert code == 0 or "No space left on device" in said, said
                assert acked == len(story.states) - 1 or code, said
                under_way = min(acked + 1, len(story.states) - 1)
                story.check(folder, story.allowed(acked, under_way), complete=False)
                (disk / "filler").unlink()
                story.complete(folder / STORE)
            except Exception as error:
                wrong.append(f"{free >> 10} KiB free, acked {acked}: {type(error).__name__}: {error}")
    assert wrong == []
    assert codes == {0, 7}, "the sweep met only one end of what can happen"


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    with mounted("--bind", str(folder)) as seen:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(seen)], check=True)
        yield seen


@pytest.mark.root
@needs_root
def test_reading_works_on_a_read_only_mount_and_writing_says_why_not(story: Story, tmp_path: Path) -> None:
    story.play(tmp_path / STORE, QuietDisk(), lambda what, step: None, last=5)
    assert journal_path(tmp_path / STORE).exists()
    with read_only(tmp_path) as folder, Hdf5Store.open(folder / STORE) as store:
        assert state_of(store) == story.states[5]
        assert memory(store).ingest([story.swept], dry_run=True).sources
        for write in (
            lambda: store.append(story.segments(story.probe_file, 1)[0]),
            lambda: ingest(store, story.everything),
            lambda: memory(store).checkpoint(),
            lambda: memory(store).compact(),
            lambda: store.clear_journal(99),
            lambda: Hdf5Store.open(folder / "other.h5", create=True),
            lambda: Hdf5Store.open(folder / "deeper" / "other.h5", create=True),
        ):
            with pytest.raises(StoreWriteFailed, match="Read-only file system"):
                write()
        assert state_of(store) == story.states[5]


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_sixty_four_descriptors_are_enough_for_many_operations(story: Story, fast_path: Path) -> None:
    import resource

    path = fast_path / STORE
    story.play(path, QuietDisk(), lambda what, step: None, last=3)
    damaged = fast_path / "damaged.h5"
    content = bytearray(path.read_bytes())
    content[4096:8192] = bytes(4096)  # HDF5's own superblock
    damaged.write_bytes(content)
    (fast_path / "empty.h5").touch()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = descriptors()
    resource.setrlimit(resource.RLIMIT_NOFILE, (before + 40, hard))
    try:
        for n in range(40):
            with Hdf5Store.open(path, disk=QuietDisk()) as store:
                memory(store).info()
                store.append(story.segments(story.live_file, 5)[n % 5])
                memory(store).info()
                memory(store).checkpoint()
            for name in ("damaged.h5", "empty.h5", "missing.h5"):
                with Hdf5Store(fast_path / name, disk=QuietDisk()) as store:
                    with contextlib.suppress(RecollectError), store.view():
                        pass
                    with contextlib.suppress(RecollectError), store.writer(timeout=0.2):
                        pass
                    with contextlib.suppress(RecollectError), store.rehearsal():
                        pass
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert descriptors() <= before


@pytest.mark.root
@needs_root
def test_indexing_on_a_full_disk_says_so_and_goes_on_when_there_is_room(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store is on a good disk, its indexes are not."""
    log = claude_path(tmp_path / "logs", 1)
    log.parent.mkdir(parents=True)
    words = [" ".join(f"word{n * 7919 + m}" for m in range(400)) for n in range(1500)]
    log.write_bytes(b"".join(said(n, text) + b"\n" for n, text in enumerate(words)))
    with tmpfs() as folder:
        monkeypatch.setenv("RECOLLECT_CACHE", str(folder / "cache"))
        monkeypatch.setenv("RECOLLECT_CONFIG", str(tmp_path / "config.toml"))
        monkeypatch.setenv("HOME", str(tmp_path))
        leave_free(folder, 200 << 10)
        store = ["--store", str(tmp_path / "m.h5")]
        assert main([*store, "ingest", str(log)]) == 7
        assert "No space left on device" in capsys.readouterr().err
        assert main([*store, "index"]) == 7
        told = capsys.readouterr().err
        assert "No space left on device" in told
        assert "another process" not in told
        main([*store, "search", "word7919"])
        assert "No space left on device" in capsys.readouterr().err
        (folder / "filler").unlink()
        assert main([*store, "index"]) == 0
        assert main([*store, "search", "word7919"]) == 0
        assert "word7919" in capsys.readouterr().out
