"""`ingest`: take in what is new, then say what is safe and what is at risk."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from recollect.cli.ids import short_ids
from recollect.cli.index import indexed
from recollect.cli.opening import open_memory
from recollect.cli.progress import Progress
from recollect.cli.screen import Screen, Styled
from recollect.cli.search import fresh_object
from recollect.config import load_config
from recollect.intake.at_risk import Standing, standing
from recollect.intake.ingest import Report
from recollect.memory import Memory
from recollect.values.records import Relation
from recollect.values.text import dollars, many, one_line, size

_NAMED_MAX = 8  # places, files and types spelled out; the rest is a count


def ingest(args: argparse.Namespace, screen: Screen) -> int:
    """Sweep, then the summary. Exit code 8 when a source could not be read; the others are safe."""
    began = time.monotonic()
    with _opened(args) as memory:
        progress = Progress(screen)
        try:
            with progress.running():
                report = memory.ingest(args.paths, dry_run=args.dry_run, progress=progress)
            seconds = time.monotonic() - began
            fresh = None if args.dry_run or args.no_index else indexed(memory, screen)
        except KeyboardInterrupt:
            return stopped(memory, screen, dry_run=args.dry_run)
        totals, risk = totals_of(memory), standing_of(memory)
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
    return 8 if report.failed else 0


@contextmanager
def _opened(args: argparse.Namespace) -> Iterator[Memory]:
    """The store; for a dry run where there is none yet, one that leaves no trace."""
    config = load_config(args.store)
    if args.dry_run and not Memory.exists(config):
        with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
            nowhere = replace(config, store=Path(folder) / "memory.h5")
            with Memory.open(config=nowhere) as memory:
                yield memory
        return
    with open_memory(args, create=True) as memory:
        yield memory


def stopped(memory: Memory, screen: Screen, *, dry_run: bool = False, again: str = "") -> int:
    """After Ctrl-C: what is safe, and how to go on."""
    info = memory.info()
    held = f"{many(info.sessions, 'session')} and {many(info.entries, 'entry', 'entries')}"
    safe = "nothing was changed" if dry_run else f"{held} are safe in {memory.name}"
    screen.error("Interrupted", f"stopped; {safe}", f"run the same command again{again} to go on", 130)
    return 130


# -- what is told --------------------------------------------------------------------------


def totals_of(memory: Memory) -> dict[str, Any]:
    """What the whole store holds now."""
    info, total = memory.info(), memory.usage().total
    return {
        "sessions": len(memory.sessions()),
        "subagents": info.subagents,
        "entries": info.entries,
        "lines": info.lines,
        "responses": total.responses,
        "tokens": total.tokens,
        "cost_microdollars": total.cost_microdollars,
        "unpriced_responses": total.unpriced_responses,
        "unpriced_models": list(total.unpriced_models),
    }


def standing_of(memory: Memory) -> Standing:
    return standing(
        memory.sources(),
        host=memory.config.host,
        home=Path.home(),
        environ=os.environ,
        now_ms=time.time_ns() // 1_000_000,
    )


def report_object(report: Report) -> dict[str, Any]:
    return {
        "sources": report.sources,
        "unchanged": report.unchanged,
        "changed": report.changed,
        "restarted": report.restarted,
        "bytes_source": report.bytes_source,
        "bytes_parsed": report.bytes_parsed,
        "lines": report.lines,
        "taken": report.taken,
        "duplicate": report.duplicate,
        "bad": report.bad,
        "blank": report.blank,
        "waiting": report.waiting,
        "entries": report.entries,
        "lenient": report.lenient,
        "bad_reasons": dict(report.bad_reasons),
        "bad_places": list(report.bad_places),
        "unknown_types": dict(report.unknown_types),
        "failed": dict(report.failed),
        "skipped": dict(report.skipped),
    }


def standing_object(risk: Standing) -> dict[str, Any]:
    oldest = risk.oldest
    return {
        "cleanup_days": risk.cleanup_days,
        "oldest": oldest
        and {
            "path": oldest.path,
            "session": oldest.session,
            "modified_ms": oldest.modified_ms,
            "days_left": oldest.days_left,
        },
        "soon_sessions": risk.soon,
        "gone_sessions": risk.gone,
        "changed_sources": risk.changed,
    }


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


def cost_text(totals: dict[str, Any]) -> str:
    """Money, or that it is unknown, or both; never a zero that stands for unknown."""
    cost, missing = totals["cost_microdollars"], totals["unpriced_responses"]
    known = "unknown" if cost is None else dollars(cost)
    if not missing or cost is None:
        return known
    return f"{known} and unknown for {many(missing, 'response')} of {', '.join(totals['unpriced_models'])}"


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
            ("lines", _sum(report)),
            ("entries", f"{report.entries:,} new" if report.entries else ""),
            ("rewritten", f"{many(report.restarted, 'source')} began anew" if report.restarted else ""),
            ("unknown", _listed(report.unknown_types)),
            ("skipped", _listed(report.skipped)),
            ("bad", _listed(report.bad_reasons)),
        )
    )
    for place in report.bad_places[:_NAMED_MAX]:
        screen.line("    ", one_line(place))
    if len(report.failed):
        screen.line("  ", Styled(f"{many(len(report.failed), 'source')} could not be read:", "bold red"))
    for path, why in list(report.failed.items())[:_NAMED_MAX]:
        screen.line("    ", one_line(why if path in why else f"{path}: {why}"))


def _sum(report: Report) -> str:
    parts = [
        (report.taken, "new"),
        (report.duplicate, "duplicate"),
        (report.bad, "bad"),
        (report.blank, "blank"),
        (report.waiting, "waiting for their end"),
    ]
    told = " + ".join(f"{count:,} {word}" for count, word in parts if count)
    return f"{report.lines:,}" + (f" = {told}" if told else "")


def _listed(counts: dict[str, int]) -> str:
    """Names and counts, the most frequent first."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    told = [f"{one_line(name, 60) or '(no name)'} ({count:,})" for name, count in ranked[:_NAMED_MAX]]
    return ", ".join(told + ([f"and {len(ranked) - _NAMED_MAX} more"] if len(ranked) > _NAMED_MAX else []))


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
