"""A command line whose indexes are in a folder of the test's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.commands import Answer

from recollect.cli import main


@pytest.fixture
def recollect(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Run one command in this process, on the memory of a folder."""

    def run(folder: Path, *words: str) -> Answer:
        monkeypatch.setenv("RECOLLECT_STORE", str(folder / "memory.h5"))
        monkeypatch.setenv("RECOLLECT_CACHE", str(folder / "cache"))
        monkeypatch.setenv("RECOLLECT_CONFIG", str(folder / "config.toml"))
        capfd.readouterr()
        code = main(list(words))
        return Answer(code, *capfd.readouterr())

    return run
