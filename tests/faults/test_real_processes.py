"""Real processes, traced, and killed at any system call that changes a file."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.faults.story import STORE, QuietDisk, Story, ingest
from tests.support.children import command, environment

from recollect.light.journal import journal_path
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.errors import StoreBusy

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")

WRITES = (
    "write,pwrite64,pwritev,writev,ftruncate,truncate,fallocate,fsync,fdatasync,sync_file_range,"
    "rename,renameat,renameat2,link,linkat,unlink,unlinkat"
)
NAMES = "open,openat,creat,mkdir,mkdirat"
LAST = 5  # the story up to here: made, ingested, two appends, a checkpoint, another append


def strace(*options: str, log: str = "/dev/null") -> list[str]:
    # Without -f: nothing but the main thread writes, and counting is per thread anyway.
    return ["strace", "-qq", "-o", log, *options]


def traced_play(story: Story, folder: Path, *, umask: int = 0o022) -> list[str]:
    """The system calls of an undisturbed story, one a line, descriptors with their paths."""
    with tempfile.NamedTemporaryFile() as log:
        tracer = strace("-y", "-s", "64", "-e", f"trace={WRITES},{NAMES}", log=log.name)
        done = subprocess.run(
            [*tracer, *command("faults/worker.py", "play", folder / STORE, story.folder, LAST)],
            env=environment(),
            check=False,
            capture_output=True,
            umask=umask,
        )
        assert done.returncode == 0, done.stderr.decode()
        return log.read().decode("utf-8", "replace").splitlines()


@dataclass
class Call:
    """One system call of the story: the Nth of its name, from 1, which is how strace counts."""

    name: str
    number: int
    line: str


def write_calls(lines: list[str]) -> list[Call]:
    names = dict.fromkeys(WRITES.split(","), 0)
    calls = []
    for line in lines:
        name = line.split("(")[0]
        if name in names:
            names[name] += 1
            calls.append(Call(name, names[name], line))
    return calls


def killed_play(story: Story, folder: Path, call: Call) -> int:
    """Kill the story at one call; returns the last acknowledged step."""
    tracer = strace("-e", f"trace={call.name}", "-e", f"inject={call.name}:signal=SIGKILL:when={call.number}")
    done = subprocess.run(
        [*tracer, *command("faults/worker.py", "play", folder / STORE, story.folder, LAST)],
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert done.returncode in (-9, 137), done.stderr.decode()
    acks = re.findall(rb"ack (\d+)", done.stdout)
    return int(acks[-1]) if acks else -1


@pytest.fixture(scope="module")
def calls(story: Story, tmp_path_factory: pytest.TempPathFactory) -> list[Call]:
    folder = tmp_path_factory.mktemp("clean") / "store"
    return write_calls(traced_play(story, folder))


@pytest.mark.parametrize("count", [12, pytest.param(1000, marks=pytest.mark.full)], ids=["some", "all"])
def test_killed_by_a_signal_at_any_system_call(
    story: Story, calls: list[Call], fast_path: Path, count: int
) -> None:
    wrong = []
    for call in calls[:: max(len(calls) // count, 1)]:
        folder = fast_path / "store"
        shutil.rmtree(folder, ignore_errors=True)
        acked = killed_play(story, folder, call)
        try:
            folder.mkdir(exist_ok=True)
            story.check(folder, story.allowed(acked, min(acked + 1, LAST)), complete=call.number % 3 == 0)
        except Exception as error:
            wrong.append(f"killed at {call.line}: {type(error).__name__}: {error}")
    assert wrong == []


def test_every_acknowledgement_comes_after_its_syncs(story: Story, tmp_path: Path) -> None:
    """In the trace: when an ack is written, no file has bytes and no folder has names left to sync."""
    root = tmp_path / "deep" / "store"
    dirty: set[str] = set()
    acks = syncs = 0
    for line in traced_play(story, root):
        name = line.split("(")[0]
        on = re.search(r"\((\d+)<([^>]*)>", line)
        quoted = re.findall(r'"([^"]*)"', line)
        if line.rstrip().endswith("(No such file or directory)") or " = -1 " in line:
            continue
        if name == "write" and on and on[1] == "1":
            if quoted and quoted[0].startswith("ack"):
                acks += 1
                assert sorted(dirty) == [], f"not synced when {quoted[0]!r} was said"
        elif on and str(tmp_path) in on[2]:
            if name in ("fsync", "fdatasync"):
                syncs += 1
                dirty.discard(on[2])
            elif name in ("pwrite64", "write", "ftruncate"):
                dirty.add(on[2])
        elif name.startswith(("mkdir", "link", "rename")) and str(tmp_path) in line:
            dirty.add(os.path.dirname(quoted[-1]))
        elif name.startswith("open") and "O_CREAT" in line and str(tmp_path) in line:
            # O_CREAT of a file that is there changes nothing; syncing its folder again is not asked for.
            if not _existed(quoted[0]):
                dirty.add(os.path.dirname(quoted[0]))
        elif name.startswith("unlink") and quoted:
            dirty.discard(quoted[0])
            _SEEN.discard(quoted[0])
    assert acks == LAST + 1
    assert syncs > 10


_SEEN: set[str] = set()


def _existed(path: str) -> bool:
    existed = path in _SEEN
    _SEEN.add(path)
    return existed


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_files_and_folders_are_owner_only_from_their_first_byte(
    story: Story, tmp_path: Path, umask: int
) -> None:
    folder = tmp_path / "new" / "store"
    made = 0
    for line in traced_play(story, folder, umask=umask):
        asked = re.search(r", (0[0-7]*)\)", line)
        if asked and str(tmp_path) in line and ("O_CREAT" in line or line.startswith("mkdir")):
            made += 1
            assert int(asked[1], 8) & 0o077 == 0, f"others may look in: {line}"
    assert made >= 5
    for path in [folder.parent, folder, *folder.iterdir()]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


needs_root = pytest.mark.skipif(not is_root(), reason="only root can become another user or mount")


@contextlib.contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that any user may walk into, as a home folder often is."""
    folder = Path(tempfile.mkdtemp(prefix="recollect-open-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.mark.root
@needs_root
def test_another_user_reads_nothing(story: Story) -> None:
    with open_folder() as folder:
        story.play(folder / STORE, QuietDisk(), lambda what, step: None, last=LAST)
        shutil.copy(folder / STORE, folder / "control")
        (folder / "control").chmod(0o644)
        assert journal_path(folder / STORE).exists()
        for path in folder.iterdir():
            other = subprocess.run(
                ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "cat", str(path)],
                capture_output=True,
                check=False,
            )
            assert (other.returncode == 0) == (path.name == "control"), path


def test_modes_that_are_too_wide_are_repaired_by_the_next_write(story: Story, tmp_path: Path) -> None:
    path = tmp_path / STORE
    story.play(path, QuietDisk(), lambda what, step: None, last=LAST)
    for each in tmp_path.iterdir():
        each.chmod(0o666)
    with Hdf5Store.open(path) as store:
        store.append(story.segments(story.probe_file, 1)[0])
        assert stat.S_IMODE(journal_path(path).stat().st_mode) == 0o600
        ingest(store, [story.swept])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


HOLD = """
import os, sys
from pathlib import Path
from recollect.store.hdf5.engine import Hdf5Store
from recollect.light import locks
with Hdf5Store.open(Path(sys.argv[1])) as store, store.writer() as writer:
    with store._journal as journal:
        journal._lock()
        os.write(1, b"held")
        sys.stdin.read()
"""


def test_the_next_writer_goes_on_at_once_when_the_holder_is_killed(story: Story, tmp_path: Path) -> None:
    path = tmp_path / STORE
    with Hdf5Store.open(path, create=True) as store:
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(path)],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            assert holder.stdout is not None
            assert holder.stdout.read(4) == b"held"
            with pytest.raises(StoreBusy), store.writer(timeout=0):
                pass
            holder.kill()
            holder.wait()
            with store.writer(timeout=0):
                pass
            store.append(story.segments(story.probe_file, 1)[0])
            ingest(store, story.everything)
        finally:
            holder.kill()
            holder.wait()
            holder.stdout.close()
            holder.stdin.close()
