"""`convert`: log files into a store of their own."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.cli.columns import PATH, Column
from recollect.cli.ingest import print_report, report_stop
from recollect.cli.progress import Progress
from recollect.cli.screen import Screen
from recollect.cli.words import add_command
from recollect.config import Config, load_config
from recollect.memory import Memory
from recollect.memory.machine import note_converted
from recollect.present.reports import report_object
from recollect.values.errors import SourceError, UsageError
from recollect.values.text import one_line, size

if TYPE_CHECKING:
    import argparse

    from recollect.values.reports import Report


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "convert",
        "put log files into a new store of their own",
        "Makes a store at OUT.h5 from the named files and folders and leaves your own store alone.",
        (
            "recollect convert session.jsonl -o session.h5",
            "recollect convert ~/old-logs more.jsonl -o archive.h5 --append",
        ),
    )
    command.add_argument("paths", nargs="+", metavar="FILE", help="log files or folders of them")
    command.add_argument("-o", "--output", required=True, metavar="OUT.h5", help="the store to make")
    command.add_argument("--append", action="store_true", help="add to OUT.h5 if it exists")


_UNREAD = "no agent's log"


def convert(args: argparse.Namespace, screen: Screen) -> int:
    """Exit code 8 when one of the files is no log or could not be read; the others are in OUT."""
    target, began = load_config(args.output), time.monotonic()
    _refuse(target, args)
    reports: list[tuple[str, Report]] = []
    with Memory.open(config=replace(load_config(args.store), store=target.store)) as memory:
        progress = Progress(screen, "reading logs")
        try:
            with progress.running():
                for path in args.paths:
                    reports.append((path, memory.ingest([path], progress=progress)))
        except KeyboardInterrupt:
            return report_stop(memory, screen, again="" if args.append else " with --append")
        info, written, name = memory.info(), memory.footprint().bytes, memory.name
        _note(load_config(args.store), target, [each.facts.id for each in memory.sessions()])
    failed = any(report.failed or not report.sources for _, report in reports)
    if screen.json:
        screen.object(
            "convert",
            {
                "store": name,
                "bytes": written,
                "seconds": round(time.monotonic() - began, 3),
                "sessions": info.sessions,
                "entries": info.entries,
                "files": [{"path": path, **report_object(report)} for path, report in reports],
            },
        )
        return 8 if failed else 0
    _print(reports, screen)
    screen.line(f"{name}: {size(written)}, {info.sessions:,} sessions, {info.entries:,} entries")
    if len(reports) == 1:
        print_report(reports[0][1], time.monotonic() - began, screen)
    for path, report in reports:
        if not report.sources:
            screen.note(f"{one_line(path)}: {_UNREAD}")
        for why in report.failed.values():
            screen.note(why)
    return 8 if failed else 0


def _refuse(target: Config, args: argparse.Namespace) -> None:
    """Everything that can be said against it before anything is made."""
    path = target.path
    if (Memory.exists(target) or (path is not None and os.path.lexists(path))) and not args.append:
        raise UsageError(
            f"{target.store}: already exists", hint="name another file, or add to it with --append"
        )
    if path is not None and not path.parent.is_dir():
        raise UsageError(f"{path.parent}: no such folder", hint="make it first, or name another file")
    for path in args.paths:
        if not os.path.exists(path):
            raise SourceError(f"{path}: no such file or folder", hint="check the path; nothing was made")


def _note(main: Config, made: Config, sessions: list[str]) -> None:
    """Let the memory of this machine know: what is erased there may be in it."""
    if made.path is not None and made.store != main.store:
        note_converted(main, made.path, sessions)


def _print(reports: list[tuple[str, Report]], screen: Screen) -> None:
    columns = [
        Column("sources", right=True),
        Column("lines", right=True),
        Column("new", right=True),
        Column("duplicate", right=True, drops=1),
        Column("bad", right=True, drops=2),
        Column("entries", right=True),
        Column("file", gives=PATH),
    ]
    screen.table(
        columns,
        [
            [
                f"{r.sources:,}",
                f"{r.lines:,}",
                f"{r.taken:,}",
                f"{r.duplicate:,}",
                f"{r.bad:,}",
                f"{r.entries:,}",
                one_line(path),
            ]
            for path, r in reports
        ],
    )
