"""`ingest`: take in what is new, then say what is safe and what is at risk."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.index import catch_up, exit_code, note_stopped
from recollect.cli.open_memory import open_memory
from recollect.cli.progress import Progress
from recollect.cli.screen import Screen, Styled
from recollect.cli.words import add_command
from recollect.config import load_config
from recollect.memory import Memory
from recollect.present.agents import exported, homes, titles, variables
from recollect.present.hits import fresh_object
from recollect.present.reports import NAMED_MAX, counted_text, lines_text, report_object, standing_object
from recollect.present.short_ids import short_ids
from recollect.present.status import totals_object
from recollect.present.usage import cost_text
from recollect.values.records import Relation
from recollect.values.text import many, one_line, size

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from recollect.values.reports import Report, Standing


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "ingest",
        "take in everything new from your agents' logs",
        f"Reads what {titles()} have written on this machine, or the files and folders you "
        f"name, and keeps every line of it. Name a {exported()} as the zip it came in, or the JSON inside. "
        "Only what is new since the last time is read. Stopping it with Ctrl-C is safe at any moment.",
        (
            "recollect ingest",
            "recollect ingest --dry-run",
            "recollect ingest ~/backup/logs ~/Downloads/export.zip",
        ),
    )
    command.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="files or folders to read; without any, the folders of the agents on this machine "
        f"({homes()}, or where {variables()} point)",
    )
    command.add_argument("--dry-run", action="store_true", help="report what would be taken, change nothing")
    command.add_argument(
        "--no-index", action="store_true", help="do not make it searchable now; a search or `index` will"
    )


def ingest(args: argparse.Namespace, screen: Screen) -> int:
    """Sweep, then the summary. Exit code 8 when a source could not be read; the others are safe."""
    began = time.monotonic()
    with _opened(args) as memory:
        progress = Progress(screen, "looking" if args.dry_run else "reading logs")
        try:
            with progress.running():
                report = memory.ingest(args.paths, dry_run=args.dry_run, progress=progress)
            seconds = time.monotonic() - began
            fresh = None if args.dry_run or args.no_index else catch_up(memory, screen)
        except KeyboardInterrupt:
            return report_stop(memory, screen, dry_run=args.dry_run)
        totals, risk = totals_object(memory), memory.standing()
        if screen.json:
            screen.object(
                "ingest",
                {
                    "store": str(load_config(args.store).store),
                    "dry_run": args.dry_run,
                    "seconds": round(seconds, 3),
                    "report": report_object(report),
                    "totals": totals,
                    "retention": standing_object(risk),
                    "fresh": fresh and fresh_object(fresh),
                },
            )
        else:
            if not args.dry_run:
                _print_totals(memory, totals, screen)
            print_report(report, seconds, screen, dry_run=args.dry_run)
            if not args.dry_run:
                print_risk(risk, screen)
                _print_next(memory, screen)
                if fresh is not None and (fresh.stopped or fresh.is_busy):
                    note_stopped(fresh, screen, memory.config.cache)
    return 8 if report.failed else exit_code(fresh) if fresh is not None else 0


@contextmanager
def _opened(args: argparse.Namespace) -> Iterator[Memory]:
    """The store; for a dry run where there is none yet, one that leaves no trace."""
    config = load_config(args.store)
    if args.dry_run and not Memory.exists(config):
        import tempfile

        with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
            nowhere = replace(config, store=Path(folder) / "memory.h5")
            with Memory.open(config=nowhere) as memory:
                yield memory
        return
    with open_memory(args, create=True) as memory:
        yield memory


def report_stop(memory: Memory, screen: Screen, *, dry_run: bool = False, again: str = "") -> int:
    """After Ctrl-C: what is safe, and how to go on."""
    info = memory.info()
    held = f"{many(info.sessions, 'session')} and {many(info.entries, 'entry', 'entries')}"
    safe = "nothing was changed" if dry_run else f"{held} are safe in {memory.name}"
    screen.error("Interrupted", f"stopped; {safe}", f"run the same command again{again} to go on", 130)
    return 130


# -- what is told --------------------------------------------------------------------------


def _print_totals(memory: Memory, totals: dict[str, Any], screen: Screen) -> None:
    sessions, inside = totals["sessions"], totals["subagents"]
    screen.line(Styled("Safe", "bold green"), f" in {memory.name}")
    screen.pairs(
        (
            ("sessions", f"{sessions:,}" + (f" ({inside:,} of them by subagents)" if inside else "")),
            ("entries", f"{totals['entries']:,}"),
            ("tokens", f"{totals['tokens']:,} in {many(totals['responses'], 'response')}"),
            ("cost", cost_text(totals)),
        )
    )


def print_report(report: Report, seconds: float, screen: Screen, *, dry_run: bool = False) -> None:
    """What one ingest did, in numbers that add up."""
    would = "Would take" if dry_run else "This time"
    screen.line(
        Styled(would, "bold"),
        f": {many(report.sources, 'source')}, {report.changed:,} new or grown, "
        f"{report.unchanged:,} unchanged; {size(report.bytes_parsed)} read in {seconds:.1f} s",
    )
    screen.pairs(
        (
            ("lines", lines_text(report)),
            ("entries", f"{report.entries:,} new" if report.entries else ""),
            ("rewritten", f"{many(report.restarted, 'source')} began anew" if report.restarted else ""),
            ("unknown", counted_text(report.unknown_types)),
            ("skipped", counted_text(report.skipped)),
            ("bad", counted_text(report.bad_reasons)),
        )
    )
    for place in report.bad_places[:NAMED_MAX]:
        screen.line("    ", one_line(place))
    if len(report.failed):
        screen.line("  ", Styled(f"{many(len(report.failed), 'source')} could not be read:", "bold red"))
    for path, why in list(report.failed.items())[:NAMED_MAX]:
        screen.line("    ", one_line(why if path in why else f"{path}: {why}"))


def print_risk(risk: Standing, screen: Screen) -> None:
    """What the agent will delete, and what is already nowhere else."""
    oldest = risk.oldest
    if oldest is not None:
        left = "at its next start" if oldest.days_left <= 0 else f"in {many(oldest.days_left, 'day')}"
        screen.line(
            Styled("At risk", "bold yellow"),
            f": {oldest.agent} deletes a log {many(risk.cleanup_days or 0, 'day')} after its last change; "
            f"the oldest, session {oldest.session[:8]}, goes {left}",
        )
        screen.line("    ", one_line(oldest.path))
        if risk.soon > 1:
            screen.line(f"    {many(risk.soon, 'session')} go within a week; all of it is safe here")
    if risk.gone:
        screen.line(f"Only here: {many(risk.gone, 'session')} whose log is gone from the disk")


def _print_next(memory: Memory, screen: Screen) -> None:
    everything = memory.sessions()
    newest = next((s for s in reversed(everything) if s.facts.relation != Relation.SUBAGENT), None)
    if newest is None:
        screen.note("nothing was found; name a file or folder: recollect ingest PATH")
        return
    name = short_ids(each.facts.id for each in everything)[newest.facts.id]
    screen.note(f"next: recollect search 'what you remember' | recollect show {name} | recollect sessions")
