"""`snapshot`: a whole copy of the store, made while it is in use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.words import add_command
from recollect.values.errors import UsageError
from recollect.values.text import size

if TYPE_CHECKING:
    import argparse

    from recollect.cli.screen import Screen


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "snapshot",
        "copy the store to one file, safely, while in use",
        "A whole and consistent copy, what waits in the journal included, that opens like any store.",
        ("recollect snapshot /backup/memory-monday.h5",),
    )
    command.add_argument("destination", metavar="DEST", help="the file to make; it must not exist")


def snapshot(args: argparse.Namespace, screen: Screen) -> int:
    target = Path(args.destination)
    if os.path.lexists(target):
        raise UsageError(f"{target}: already exists", hint="name a file that does not exist yet")
    if not target.parent.is_dir():
        raise UsageError(f"{target.parent}: no such folder", hint="make it first, or name another file")
    with open_memory(args) as memory:
        written = memory.snapshot(target)
        path = str(memory.path)
    if screen.json:
        screen.object("snapshot", {"store": path, "path": str(target), "bytes": written})
        return 0
    screen.line(f"{target}: {size(written)}, a whole copy of {path}")
    return 0
