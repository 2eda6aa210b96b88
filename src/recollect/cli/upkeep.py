"""`check`, `reparse`, `compact`, `snapshot`: keeping a store well."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from recollect.cli.opening import open_memory
from recollect.cli.progress import Progress
from recollect.cli.screen import Screen, Styled
from recollect.config import load_config
from recollect.values.errors import UsageError
from recollect.values.text import many, one_line, size

_NAMED_MAX = 8  # losses spelled out


def check(args: argparse.Namespace, screen: Screen) -> int:
    """Exit code 1 when there is damage; after a repair, when something was lost."""
    return _repair(args, screen) if args.repair else _check(args, screen)


def _check(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        findings = memory.check()
        path = memory.name
    damaged = any(each.level == "error" for each in findings)
    if screen.json:
        told = [{"level": each.level, "what": each.what} for each in findings]
        screen.object("check", {"store": path, "ok": not damaged, "findings": told})
        return int(damaged)
    for each in findings:
        style = "bold red" if each.level == "error" else "yellow"
        screen.line(Styled(each.level, style), f": {one_line(each.what)}")
    if damaged:
        screen.note("recollect check --repair keeps every good record and moves the damaged file aside")
    else:
        screen.line(Styled("ok", "bold green"), f": every checksum of {path} holds")
    return int(damaged)


def _repair(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        report = memory.repair()
        path = memory.name
    # A place that could not be read may hide lines that nobody can count any more.
    lost = report.lost_lines > 0 or bool(report.lost)
    if screen.json:
        screen.object(
            "repair",
            {
                "store": path,
                "kept_lines": report.kept_lines,
                "lost_lines": report.lost_lines,
                "lost": list(report.lost),
                "moved_to": report.moved_to,
            },
        )
        return int(lost)
    screen.line(f"{path}: {many(report.kept_lines, 'line')} kept, {report.lost_lines:,} lost")
    for each in report.lost[:_NAMED_MAX]:
        screen.line("  ", one_line(each))
    if len(report.lost) > _NAMED_MAX:
        screen.line(f"  and {len(report.lost) - _NAMED_MAX:,} more; --json lists all")
    screen.line(f"the file as it was: {report.moved_to}")
    if lost:
        screen.note("recollect ingest takes lost lines in again where their logs still exist")
    return int(lost)


def reparse(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        progress = Progress(screen)
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


def compact(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        report = memory.compact()
        path = memory.name
    if screen.json:
        sizes = {"bytes_before": report.bytes_before, "bytes_after": report.bytes_after}
        screen.object("compact", {"store": path, **sizes})
        return 0
    screen.line(f"{path}: {size(report.bytes_before)} before, {size(report.bytes_after)} now")
    return 0


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
