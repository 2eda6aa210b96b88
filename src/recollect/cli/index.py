"""`index`: bring the search indexes up to date, or build them again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.progress import Progress
from recollect.cli.words import add_command
from recollect.present.hits import fresh_object
from recollect.values.text import many

if TYPE_CHECKING:
    import argparse

    from recollect.cli.screen import Screen
    from recollect.memory import Memory
    from recollect.values.hits import Fresh


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "index",
        "bring the search indexes up to date",
        "Every ingest does this, and every search a little of it. The indexes are a cache: with --rebuild "
        "they are deleted and built again. Stopping it with Ctrl-C is safe.",
        ("recollect index", "recollect index --rebuild"),
    )
    command.add_argument("--rebuild", action="store_true", help="start from nothing")


def index(args: argparse.Namespace, screen: Screen) -> int:
    """Index what is not indexed yet."""
    began = time.monotonic()
    with open_memory(args) as memory:
        fresh = catch_up(memory, screen, rebuild=args.rebuild)
        cache = memory.config.cache
    seconds = time.monotonic() - began
    if screen.json:
        told = {"cache": str(cache), "seconds": round(seconds, 3), "fresh": fresh_object(fresh)}
        screen.object("index", told)
        return 0
    screen.line(
        f"{many(fresh.text, 'entry', 'entries')} searchable by words, {fresh.vectors:,} by meaning "
        f"({seconds:.1f} s)"
    )
    if fresh.unindexed:
        screen.note("another process is indexing the rest")
    if fresh.stopped:
        screen.note(f"not everything is embedded: {fresh.stopped}")
    return 0


def catch_up(memory: Memory, screen: Screen, *, rebuild: bool = False) -> Fresh:
    """Catch up with progress on the screen; Ctrl-C keeps what is done."""
    progress = Progress(screen, unit="entries")
    with progress.running():
        return memory.index(rebuild=rebuild, progress=progress)
