"""Opening the store a command works on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.config import load_config
from recollect.memory import Memory
from recollect.memory.machine import capture_followed, check_location

if TYPE_CHECKING:
    import argparse


def open_memory(args: argparse.Namespace, *, create: bool = False) -> Memory:
    """The store that --store, the environment or the config names, with what was said a moment ago."""
    config = load_config(args.store)
    looking = not getattr(args, "dry_run", False)
    if looking:
        capture_followed(config)
    memory = Memory.open(config=config, create=create)
    if looking:
        memory.take_missed()
    return memory


def check_store(name: str | None) -> None:
    """Refuse a store that nothing here opens, before a command says or does anything."""
    if name is not None:
        check_location(name)
