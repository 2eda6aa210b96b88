"""`merge`: several stores become one."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.cli.progress import Progress
from recollect.cli.words import add_command
from recollect.config import load_config
from recollect.memory import Memory
from recollect.present.reports import merge_object
from recollect.values.errors import StoreError, UsageError
from recollect.values.text import many, one_line, size

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from recollect.cli.screen import Screen
    from recollect.config import Config
    from recollect.values.reports import MergeReport


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "merge",
        "take in everything that other stores have",
        "Several archives become one: each line once, each log with all its versions. The named stores are "
        "only read. All of it comes in, or nothing: what was stopped can be run again, and what is there "
        "already is not taken twice. What comes in counts as imported: it is found and shown, and no new "
        "conversation is told of it unasked (docs/catalog.md#own-and-imported). --own says that the stores "
        "are yours, and that what they call own is.",
        (
            "recollect merge laptop.h5 --own",
            "recollect merge colleague.h5",
            "recollect merge laptop.h5 old.h5 -o everything.h5",
        ),
    )
    command.add_argument("stores", nargs="+", metavar="STORE", help="stores to take in, paths or URLs")
    command.add_argument(
        "-o",
        "--output",
        metavar="OUT.h5",
        help="into this store instead of your own; made if it is not there",
    )
    command.add_argument(
        "--own",
        action="store_true",
        help="they are your own archives: sessions that are own there are own here, and reach the catalog",
    )


def merge(args: argparse.Namespace, screen: Screen) -> int:
    config, began = load_config(args.store), time.monotonic()
    if args.output is not None:
        config = replace(config, store=load_config(args.output).store)
    _refuse(config, args)
    with no_empty_store(config), Memory.open(config=config) as memory:
        progress = Progress(screen, "merging", unit="lines")
        with progress.running():
            report = memory.merge(args.stores, own=args.own, progress=progress)
        name, written = memory.name, memory.footprint().bytes
    seconds = time.monotonic() - began
    if screen.json:
        told = {"store": name, "bytes": written, "seconds": round(seconds, 3), **merge_object(report)}
        screen.object("merge", told)
        return 0
    for line in _lines(report):
        screen.line(line)
    screen.line(
        f"{one_line(name)}: {size(written)}, {report.sessions_after:,} sessions, "
        f"{report.entries_after:,} entries"
    )
    if report.apart:
        screen.note(
            f"{many(report.apart, 'log')} of the others would have changed a log of yours: "
            "kept beside it, under its path and #imported"
        )
    if not report.is_nothing:
        screen.note("indexes and what is spoken of are made again by the next `recollect index`, or ingest")
    return 0


@contextlib.contextmanager
def no_empty_store(config: Config) -> Iterator[None]:
    """Leave no store behind that was made for nothing."""
    is_new = not Memory.exists(config)
    try:
        yield
    except BaseException:
        if is_new and config.path is not None:
            config.path.unlink(missing_ok=True)
        raise


def _lines(report: MergeReport) -> list[str]:
    if report.is_nothing:
        vectors = f"; {many(report.vectors, 'vector')} came new" if report.vectors else ""
        return [f"everything was here already{vectors}"]
    sessions = report.sessions_after - report.sessions_before
    entries = report.entries_after - report.entries_before
    told = [f"{many(report.sources, 'log')}, {many(sessions, 'session')} and {entries:,} entries came new"]
    if report.grown:
        told.append(f"{many(report.grown, 'log')} went on where this store had stopped")
    if report.versioned:
        told.append(f"{many(report.versioned, 'log')} got another version; all of them are kept")
    if report.marked:
        told.append(f"{many(report.marked, 'log')} that were imported count as own now")
    return told


def _refuse(config: Config, args: argparse.Namespace) -> None:
    """Everything that can be said against it before anything is made."""
    for name in args.stores:
        if not Memory.exists(load_config(name)):
            raise StoreError(f"{name}: there is no store here", hint="check the path; nothing was made")
    if config.path is not None and args.output is not None and not config.path.parent.is_dir():
        raise UsageError(f"{config.path.parent}: no such folder", hint="make it first, or name another file")
