"""Counts what today has cost so far, for status lines; started by one, and nobody waits for it."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.hooks.state import note_trouble
from recollect.hooks.statusline import today_path
from recollect.light.disk import replace_file

if TYPE_CHECKING:
    from recollect.memory import Memory

_DAY_MS = 86_400_000


def main() -> None:
    """Count for one store: its path or URL, and the folder of indexes and state."""
    from recollect.config import load_config

    store, cache = sys.argv[1:]
    with suppress(OSError):
        os.nice(10)
    config = replace(load_config(store), cache=Path(cache))
    state = str(config.state)
    try:
        from recollect.memory import Memory
        from recollect.memory.machine import capture_followed

        capture_followed(config)
        with Memory.open(config=config, create=False) as memory:
            count_today(memory, state)
    except Exception as error:  # nobody sees what this process prints
        note_trouble(state, f"counting today: {type(error).__name__}: {error}")


def count_today(memory: Memory, state: str) -> None:
    """Leave what today, a day of UTC as in `usage`, has cost where status lines look."""
    from recollect.values.usage import UsageFilter

    now = time.time()
    day = int(now * 1000) // _DAY_MS
    total = memory.usage(only=UsageFilter(since_ms=day * _DAY_MS)).total
    known = {
        "day": day,
        "made": int(now),
        "microdollars": total.cost_microdollars,
        "tokens": total.tokens,
        "unpriced": total.unpriced_responses,
    }
    replace_file(today_path(state), json.dumps(known).encode())
