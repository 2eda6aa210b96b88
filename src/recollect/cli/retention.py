"""`retention`: the budget, what is over it, and what goes; pinning sessions, and taking one back."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.columns import PROJECT, TITLE, Column
from recollect.cli.index import catch_up
from recollect.cli.open_memory import open_memory
from recollect.cli.progress import Progress
from recollect.cli.screen import Part, Screen, Styled
from recollect.cli.words import add_command, limit
from recollect.present.retention import restore_object, settings_object, sweep_object, swept_text
from recollect.present.sessions import session_object
from recollect.present.short_ids import short_ids
from recollect.values.errors import UsageError
from recollect.values.retention import CADENCES, Elsewhere
from recollect.values.text import age, many, one_line, size
from recollect.values.titles import UNTITLED

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from recollect.memory import Memory
    from recollect.values.retention import RetentionSettings, SessionLeaving, SweepReport

_ACTIONS = ("pin", "unpin", "restore")


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "retention",
        "keep within a budget: what is over it, and what would go",
        "Without words it says what the budget of the config file's [retention] is, what is used of it, and "
        "which sessions would be evicted: their lines and entries go, their digest, usage and what they "
        "mention stay. Of each it says whether it still is where its agent wrote it. --apply does it and "
        "gives the room back. With an action: pin SESSION lets one go last, unpin SESSION as any other; "
        "restore SESSION takes an evicted one back from where it came from: the agent's own file or "
        "database, the export in which it was, or a copy of one of these that --from names.",
        (
            "recollect retention",
            "recollect retention --apply",
            "recollect retention restore 3f2a9c01 --from export.zip",
        ),
    )
    command.add_argument("words", nargs="*", metavar="WORD", help="pin, unpin or restore, and a session")
    command.add_argument("--apply", action="store_true", help="evict what is over the budget")
    command.add_argument(
        "--from",
        dest="given",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="with restore: look in this log, database or export too; may be repeated",
    )
    limit(command, 40, "sessions")


def retention(args: argparse.Namespace, screen: Screen) -> int:
    """Look, sweep, or do what the first word says."""
    with open_memory(args) as memory:
        if args.words:
            return _act(memory, args, screen)
        _refuse_from(args)
        report = _swept(memory, screen) if args.apply else memory.retention()
        settings, pinned = memory.config.retention, memory.pinned()
        assert settings is not None  # else there was nothing to sweep by
        if screen.json:
            told = sweep_object(report, applied=args.apply)
            pins = [each.facts.id for each in pinned]
            screen.object("retention", {"settings": settings_object(settings), "pinned": pins, **told})
            return 0
        names = short_ids(each.facts.id for each in memory.sessions())
        _print(report, settings, names, args, screen)
        if pinned:
            screen.note(
                f"pinned: {', '.join(names.get(each.facts.id, each.facts.id[:8]) for each in pinned)}"
            )
    return 0


def tell_sweep(memory: Memory, screen: Screen) -> SweepReport | None:
    """Sweep where that is due, and say in a line what went; None where nothing did."""
    progress = Progress(screen, "keeping within the budget", unit="entries")
    with progress.running():
        report = memory.sweep_if_due(progress=progress)
    if report is None:
        return None
    if report.file_bytes_after:
        catch_up(memory, screen)
        screen.note(f"retention: {swept_text(report)}")
    return report


def _swept(memory: Memory, screen: Screen) -> SweepReport:
    progress = Progress(screen, "keeping within the budget", unit="entries")
    with progress.running():
        report = memory.sweep(progress=progress)
    if report.file_bytes_after:
        catch_up(memory, screen)
    return report


def _act(memory: Memory, args: argparse.Namespace, screen: Screen) -> int:
    action, *given = args.words
    if action not in _ACTIONS:
        raise UsageError(f"retention has no action {action!r}", hint=f"actions: {', '.join(_ACTIONS)}")
    if len(given) != 1 or args.apply:
        raise UsageError(
            f"retention {action} takes one session", hint=f"recollect retention {action} SESSION"
        )
    if action == "restore":
        return restore(memory, given[0], args.given, screen)
    _refuse_from(args)
    session = memory.pin(given[0], pinned=action == "pin")
    if screen.json:
        screen.object("pin", {"session": session_object(session), "pinned": action == "pin"})
    elif action == "pin":
        screen.line(f"pinned {session.facts.id}: it goes last, and never for its age")
    else:
        screen.line(f"{session.facts.id} goes as any other")
    return 0


def _refuse_from(args: argparse.Namespace) -> None:
    if args.given:
        raise UsageError(
            "--from says where to take a session back from",
            hint="recollect retention restore SESSION --from FILE",
        )


def restore(memory: Memory, prefix: str, given: Sequence[Path], screen: Screen) -> int:
    """Take a session back and say so."""
    report = memory.restore(prefix, given)
    if screen.json:
        screen.object("restore", restore_object(report))
        return 0
    entries = many(report.session.entries, "entry", "entries")
    screen.line(f"{report.session.facts.id} is back: {many(report.lines, 'line')}, {entries}")
    for path in report.paths:
        screen.line("  ", one_line(path))
    return 0


# -- what is told --------------------------------------------------------------------------


def _print(
    report: SweepReport,
    settings: RetentionSettings,
    names: dict[str, str],
    args: argparse.Namespace,
    screen: Screen,
) -> None:
    screen.pairs(_budget(report, settings))
    if args.apply and report.file_bytes_after:
        screen.line(swept_text(report))
    if report.waiting_for_digest:
        waiting = many(report.waiting_for_digest, "session")
        screen.line(f"{waiting} over the budget without a digest: kept until there is one")
        screen.note("`recollect index` makes digests")
    if not report.sessions:
        if not report.waiting_for_digest:
            screen.line("Nothing is over the budget")
        return
    would = "went" if args.apply else "would go"
    screen.line("")
    screen.line(Styled(f"{many(len(report.sessions), 'session')} {would}:", "bold"))
    _table(report.sessions[: args.limit or None], names, screen)
    if len(report.sessions) > args.limit > 0:
        screen.note(f"{args.limit:,} of {len(report.sessions):,}; --limit 0 lists all")
    _print_loss(report, screen)
    if not args.apply:
        screen.note(
            "nothing was changed; --apply does it, `recollect retention pin SESSION` keeps one longer"
        )


def _budget(report: SweepReport, settings: RetentionSettings) -> list[tuple[str, str]]:
    caps = [
        f"{size(cap)} {word}"
        for cap, word in ((settings.raw_soft_cap_bytes, "soft"), (settings.raw_hard_cap_bytes, "hard"))
        if cap is not None
    ]
    days = settings.raw_max_age_days
    over = " (over the hard cap)" if report.over_hard_cap else ""
    cap = settings.digest_cap_bytes
    limits = f" of {size(cap)}" + (" (over its cap)" if report.tier2_over_cap else "") if cap else ""
    return [
        ("budget", ", ".join([*caps, *([many(days, "day")] if days else [])])),
        ("used", size(report.used_bytes)),
        ("then", f"{size(report.final_usage_bytes)}{over}"),
        ("digests", f"{size(report.digest_bytes)}{limits}"),
        ("swept", settings.cadence or f"only by --apply; cadence = {' | '.join(CADENCES)} does it by itself"),
    ]


def _print_loss(report: SweepReport, screen: Screen) -> None:
    """What cannot be had again."""
    only_here = [e for e in report.sessions if e.elsewhere in (Elsewhere.GONE, Elsewhere.CHANGED)]
    if only_here:
        told = size(sum(each.bytes for each in only_here))
        exist = "exist" if len(only_here) > 1 else "exists"
        screen.line(Styled(f"{many(len(only_here), 'session')} ({told}) {exist} nowhere else", "bold yellow"))
    if report.overflow_analyzed:
        screen.line(f"{many(report.overflow_analyzed, 'session')} digested first")
    if report.overflow_data_loss:
        lost = many(report.overflow_data_loss, "session")
        screen.line(Styled(f"data loss: {lost} without a digest", "bold red"))


def _table(sessions: Sequence[SessionLeaving], names: dict[str, str], screen: Screen) -> None:
    now_ms = time.time_ns() // 1_000_000
    columns = [
        Column("id"),
        Column("size", right=True),
        Column("when", right=True),
        Column("why", drops=2),
        Column("log", drops=3),
        Column("project", gives=PROJECT),
        Column("title", gives=TITLE, drops=1),
    ]
    screen.table(columns, [_row(each, names, now_ms) for each in sessions])


_LOGS = {
    Elsewhere.THERE: ("there", "dim"),
    Elsewhere.CHANGED: ("changed", "bold yellow"),
    Elsewhere.GONE: ("only here", "bold yellow"),
    Elsewhere.UNKNOWN: ("elsewhere", "dim"),
}


def _row(leaving: SessionLeaving, names: dict[str, str], now_ms: int) -> list[Part]:
    return [
        Styled(names.get(leaving.name.id, leaving.name.id[:8]), "cyan"),
        size(leaving.bytes),
        Styled(age(leaving.ended_ms, now_ms=now_ms), "dim"),
        leaving.why.replace("_", " "),
        Styled(*_LOGS[leaving.elsewhere]),
        one_line(leaving.project, 40),
        one_line(leaving.title or UNTITLED, 72),
    ]
