"""Where hooks are called: a home that is taken away when the last process has left it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.hook_calls import Desk


@pytest.fixture
def desk(folder: Path) -> Iterator[Desk]:
    made = Desk(folder / "home", folder / "data" / "memory.h5")
    made.home.mkdir()
    made.memory().close()
    yield made
    assert made.quiet(), made.processes()
