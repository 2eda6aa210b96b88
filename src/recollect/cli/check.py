"""`check`: every checksum of the store, and what can be done about damage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Screen, Styled
from recollect.cli.words import add_command
from recollect.values.text import many, one_line

if TYPE_CHECKING:
    import argparse


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "check",
        "verify every byte of the store",
        "Reads everything and compares it with its checksums. Exit code 1 means damage was found. "
        "--repair keeps every good record in a new file and moves the damaged one aside; nothing is deleted. "
        "Damaged pieces of a journal are kept in files beside the store, and told of by check and status "
        "until --acknowledge says that you know of them.",
        ("recollect check", "recollect check --repair", "recollect check --acknowledge"),
    )
    command.add_argument(
        "--repair", action="store_true", help="save what is good, move the damaged file aside"
    )
    command.add_argument(
        "--acknowledge", action="store_true", help="tell no more of damaged pieces that are kept aside"
    )


_NAMED_MAX = 8  # losses spelled out


def check(args: argparse.Namespace, screen: Screen) -> int:
    """Exit code 1 when there is damage; after a repair, when something was lost."""
    if args.acknowledge:
        return _acknowledge(args, screen)
    return _repair(args, screen) if args.repair else _check(args, screen)


def _acknowledge(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        files, path = memory.acknowledge(), memory.name
    if screen.json:
        screen.object("acknowledged", {"store": path, "files": files})
        return 0
    for each in files:
        screen.line(f"kept, and told of no more: {one_line(each)}")
    if not files:
        screen.line("nothing is kept aside")
    return 0


def _check(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        findings = memory.check()
        path = memory.name
        altered = 0 if any(each.level == "error" for each in findings) else memory.odd_lines()["altered"]
    damaged = any(each.level == "error" for each in findings)
    if screen.json:
        told = [{"level": each.level, "what": each.what} for each in findings]
        screen.object("check", {"store": path, "ok": not damaged, "altered": altered, "findings": told})
        return int(damaged)
    for each in findings:
        style = "bold red" if each.level == "error" else "yellow"
        screen.line(Styled(each.level, style), f": {one_line(each.what)}")
    if damaged:
        screen.note("recollect check --repair keeps every good record and moves the damaged file aside")
    else:
        screen.line(Styled("ok", "bold green"), f": every checksum of {path} holds")
    if altered:
        screen.line(
            f"{many(altered, 'line')} are not what their logs had: evicted, or secrets in them masked"
        )
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
