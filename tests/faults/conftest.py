"""Fault tests work in memory where they can: what is modelled need not wait for a disk."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults.story import Story


@pytest.fixture
def fast_path() -> Iterator[Path]:
    """A scratch folder in memory where there is one."""
    with _scratch() as folder:
        yield folder


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    """A story whose undisturbed run has been watched."""
    with _scratch() as folder:
        story = Story(folder / "sources")
        story.learn(folder / "undisturbed")
        yield story


class _scratch:  # noqa: N801 - reads as the function it is
    def __enter__(self) -> Path:
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="recollect-faults-", dir=memory))
        return self.folder

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
