"""`snapshot`: a whole copy of the store, made while it is in use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.words import add_command
from recollect.config import load_config
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
    target = load_config(args.destination)
    if target.path is not None:
        _refuse(target.path)
    with open_memory(args) as memory:
        written = memory.snapshot(args.destination)
        path = memory.name
    if screen.json:
        screen.object("snapshot", {"store": path, "path": str(target.store), "bytes": written})
        return 0
    screen.line(f"{target.store}: {size(written)}, a whole copy of {path}")
    return 0


def _refuse(target: Path) -> None:
    """What can be said against a file before it is made."""
    if os.path.lexists(target):
        raise UsageError(f"{target}: already exists", hint="name a file that does not exist yet")
    if not target.parent.is_dir():
        raise UsageError(f"{target.parent}: no such folder", hint="make it first, or name another file")
