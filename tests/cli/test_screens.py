"""docs/terminal.md shows what a terminal shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.screens import PAGE, page


@pytest.mark.on_disk("other processes look at the store")
def test_the_page_shows_what_a_terminal_does(tmp_path: Path) -> None:
    assert PAGE.read_text("utf-8") == page(tmp_path), "run python -m tests.support.screens"
