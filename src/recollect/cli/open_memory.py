"""Opening the store a command works on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from recollect.config import load_config
from recollect.memory import Memory
from recollect.memory.machine import capture_followed, check_location
from recollect.values.text import size

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

TOLD_BYTES = 4 << 20  # less is taken in within a moment


def open_memory(args: argparse.Namespace, *, create: bool = False) -> Memory:
    """The store that --store, the environment or the config names, with what was said a moment ago."""
    config = load_config(args.store)
    looking = not getattr(args, "dry_run", False)
    if looking:
        capture_followed(config)
    memory = Memory.open(config=config, create=create)
    if looking:
        memory.take_missed(progress=None if args.quiet else _told_once())
    return memory


def _told_once() -> Callable[[str, int, int], None]:
    """Says what takes a while before a command has begun; what it is asked for comes then."""
    said: list[bool] = []

    def told(path: str, done: int, total: int) -> None:
        if not said and total >= TOLD_BYTES:
            said.append(True)
            print(f"taking in {size(total)} that hooks could not take", file=sys.stderr, flush=True)

    return told


def check_store(name: str | None) -> None:
    """Refuse a store that nothing here opens, before a command says or does anything."""
    if name is not None:
        check_location(name)
