"""`export --to store`: a part of the memory as a store of its own."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.progress import Progress
from recollect.cli.words import day
from recollect.memory.machine import check_target
from recollect.values.errors import UsageError
from recollect.values.text import many, size

if TYPE_CHECKING:
    import argparse

    from recollect.cli.screen import Screen
    from recollect.cli.words import Parser

STORE = "store"
_FILTERS = ("thread", "project", "agent", "host", "since", "until")


def part_options(command: Parser) -> None:
    group = command.add_argument_group("with --to store: which sessions, all that is said together")
    group.add_argument("--thread", metavar="SESSION", help="those of the thread that this session is part of")
    group.add_argument("--project", metavar="PART", help="of projects whose name contains this")
    group.add_argument("--agent", metavar="AGENT", help="of this agent")
    group.add_argument("--host", metavar="HOST", help="from this machine")
    group.add_argument("--since", type=day, metavar="DAY", help="that went on from this day on")
    group.add_argument("--until", type=day, metavar="DAY", help="that began up to the end of this day")


def check_words(args: argparse.Namespace) -> None:
    """A session or several: what of the words fits which format."""
    given = [f"--{name}" for name in _FILTERS if getattr(args, name) is not None]
    if args.to != STORE and given:
        raise UsageError(f"{given[0]} is for --to {STORE}", hint="name a session, or write a store")
    if args.to != STORE and args.session is None:
        raise UsageError("which session?", hint="`recollect sessions` lists them")
    if args.to == STORE and args.session is None and not given:
        hint = "name a session, or --project, --thread, --agent, --host, --since; `snapshot` copies all"
        raise UsageError("which part of the memory?", hint=hint)
    if args.to == STORE and (args.output == "-" or args.force):
        raise UsageError("a store is a new file of its own", hint="name one that does not exist with -o")


def export_part(args: argparse.Namespace, screen: Screen) -> int:
    target = Path(args.output)
    check_target(target)
    with open_memory(args) as memory:
        progress = Progress(screen, "copying", unit="lines")
        with progress.running():
            report = memory.split(
                target,
                session=args.session or "",
                thread=args.thread or "",
                project=args.project or "",
                agent=args.agent or "",
                host=args.host or "",
                since_ms=_ms(args.since),
                until_ms=_ms(args.until and args.until + timedelta(days=1)),
                redacted=not args.no_redact,
                progress=progress,
            )
    written, masked = target.stat().st_size, sum(report.masked.values())
    if screen.json:
        told: dict[str, Any] = {"to": STORE, "path": str(target), "bytes": written}
        told |= {"sessions": report.sessions, "sources": report.sources, "lines": report.lines}
        told |= {"entries": report.entries, "masked": dict(sorted(report.masked.items()))}
        screen.object("export", told)
        return 0
    screen.line(f"{target}: {size(written)}, {many(report.sessions, 'session')}, {report.entries:,} entries")
    if not args.no_redact:
        secrets = many(masked, "secret") if masked else "no secret"
        screen.line(f"{secrets} found in it and masked: no promise that these were all")
    return 0


def _ms(moment: datetime | None) -> int:
    return int(moment.timestamp() * 1000) if moment is not None else 0
