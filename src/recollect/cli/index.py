"""`index`: bring the search indexes up to date, or build them again."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.progress import Progress
from recollect.cli.words import add_command
from recollect.present.hits import fresh_object
from recollect.values.reports import LeftOut
from recollect.values.text import many, one_line

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from recollect.cli.screen import Screen
    from recollect.memory import Memory
    from recollect.values.hits import Fresh


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "index",
        "bring the search indexes up to date",
        "Every ingest does this, and every search a little of it. The indexes are a cache: with --rebuild "
        "they are deleted and built again. Where another process is at it, this one waits and does what is "
        "left. Stopping it with Ctrl-C is safe.",
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
        return exit_code(fresh)
    screen.line(
        f"{many(fresh.text, 'entry', 'entries')} searchable by words, {fresh.vectors:,} by meaning "
        f"({seconds:.1f} s)"
    )
    if fresh.is_busy or fresh.stopped:
        note_stopped(fresh, screen, cache)
    return exit_code(fresh)


WAIT_SECONDS = 60.0  # for another process that indexes and does not get on
_PARTS = {
    "text": "indexing words",
    "exchanges": "indexing answers",
    "vectors": "embedding",
    "entities": "reading what is mentioned",
    "digests": "digesting conversations",
}


def note_stopped(fresh: Fresh, screen: Screen, cache: Path) -> None:
    """Say what is in the way of searching everything."""
    if fresh.is_busy:
        screen.note("another process is indexing the rest")
        return
    what = "not everything is indexed" if fresh.unindexed else "not everything is embedded"
    screen.note(f"{what}: {fresh.stopped} (the indexes are in {cache})")


def exit_code(fresh: Fresh) -> int:
    """7 where the disk keeps entries from being found by their words."""
    return 7 if fresh.unindexed and fresh.stopped and not fresh.is_busy else 0


def catch_up(memory: Memory, screen: Screen, *, rebuild: bool = False) -> Fresh:
    """Catch up with progress on the screen; Ctrl-C keeps what is done."""
    progress = Progress(screen, "indexing", unit="entries", parts=_PARTS)
    with warnings.catch_warnings(record=True) as met, progress.running():
        fresh = memory.index(rebuild=rebuild, progress=progress, timeout=WAIT_SECONDS)
    left_out = [str(each.message) for each in met if issubclass(each.category, LeftOut)]
    if left_out:
        screen.note(
            f"{many(len(left_out), 'part')} of the logs could not be understood, and nothing is told of it; "
            f"this is a defect of Recollect: {one_line(left_out[0], 200)}"
        )
    return fresh
