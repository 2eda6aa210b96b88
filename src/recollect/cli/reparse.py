"""`reparse`: the stored lines read again with today's parsers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.progress import Progress
from recollect.cli.words import add_command
from recollect.values.text import many, one_line

if TYPE_CHECKING:
    import argparse

    from recollect.cli.screen import Screen


def add_words(commands: Any) -> None:
    add_command(
        commands,
        "reparse",
        "read the stored lines again with today's parsers",
        "After an upgrade: entries are made anew from the lines in the store, whether or not the logs "
        "still exist. No line is changed.",
        ("recollect reparse",),
    )


def reparse(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        progress = Progress(screen, "reading again", unit="lines")
        with progress.running():
            report = memory.reparse(progress=progress)
    unknown = dict(report.unknown_types)
    if screen.json:
        screen.object(
            "reparse",
            {
                "lines": report.lines,
                "entries_before": report.entries_before,
                "entries_after": report.entries_after,
                "unknown_types": unknown,
            },
        )
        return 0
    screen.line(
        f"{many(report.lines, 'line')} read again: {report.entries_before:,} entries before, "
        f"{report.entries_after:,} now"
    )
    for name, count in sorted(unknown.items(), key=lambda item: (-item[1], item[0])):
        screen.line(f"  unknown type {one_line(name, 60)}: {many(count, 'line')}")
    return 0
