"""File systems of a test's own, small enough to fill; only root can mount them."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="only root can mount")


@contextlib.contextmanager
def mounted(*options: str) -> Iterator[Path]:
    """Something mounted on an empty folder, and unmounted whatever happens."""
    folder = Path(tempfile.mkdtemp(prefix="recollect-mount-"))
    done = subprocess.run(["mount", *options, str(folder)], capture_output=True, check=False)
    if done.returncode:
        folder.rmdir()
        pytest.skip(f"mount {' '.join(options)}: {done.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
        folder.rmdir()


def tmpfs() -> AbstractContextManager[Path]:
    return mounted("-t", "tmpfs", "-o", "size=16m", "none")


@contextlib.contextmanager
def ext4() -> Iterator[Path]:
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("mkfs.ext4 is not installed")
    with tempfile.NamedTemporaryFile(prefix="recollect-ext4-") as image:
        image.truncate(16 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", image.name], check=True, capture_output=True)
        with mounted("-o", "loop", image.name) as folder:
            yield folder


def leave_free(folder: Path, free_bytes: int) -> None:
    """Fill a file system until only so much is free."""
    with open(folder / "filler", "wb") as filler:
        space = os.statvfs(folder)
        with contextlib.suppress(OSError):
            filler.write(bytes(max(space.f_bavail * space.f_frsize - free_bytes, 0)))
