"""`compact`: the store written anew without slack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.words import add_command
from recollect.values.text import size

if TYPE_CHECKING:
    import argparse

    from recollect.cli.screen import Screen


def add_words(commands: Any) -> None:
    add_command(
        commands,
        "compact",
        "write the store anew without slack",
        "Makes the file as small as it can be. Every line stays.",
        ("recollect compact",),
    )


def compact(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        report = memory.compact()
        path = memory.name
    if screen.json:
        sizes = {"bytes_before": report.bytes_before, "bytes_after": report.bytes_after}
        screen.object("compact", {"store": path, **sizes})
        return 0
    screen.line(f"{path}: {size(report.bytes_before)} before, {size(report.bytes_after)} now")
    screen.note("indexes and what is spoken of are made again by the next `recollect index`, or ingest")
    return 0
