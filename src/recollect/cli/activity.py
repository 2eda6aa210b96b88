"""`activity`: a year as a heat map, what was done on its last days, and what was dangerous."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Part, Screen, Styled
from recollect.cli.words import add_command, count
from recollect.present.days import activity_object, danger_object
from recollect.present.projects import unknown_project_note
from recollect.present.short_ids import short_id
from recollect.values.text import cells, ellipsis, many, moment, one_line

if TYPE_CHECKING:
    import argparse

    from recollect.values.days import Activity, DangerMet, Day

_SHADES = "·░▒▓█"  # from none to most
_LETTERS = ".-+x#"
_STYLES = ("dim", "green", "green", "bold green", "bold green")
_MARGIN = 5
_DAYS, _DANGERS = 7, 20
_TITLE_CELLS = 60
_PROJECTS = 4
_OUTCOMES = {"done": "red", "failed": "yellow", "refused": "green", "unknown": "dim"}


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "activity",
        "a year as a heat map, the last days, and dangerous operations",
        "How many entries there were on each day of the last year, and what was done on its last days with "
        "work. With --dangerous, the operations that delete, overwrite, rewrite history, show secrets or "
        "change other machines, with what came of them, the latest first; secrets are masked.",
        ("recollect activity", "recollect activity --project harbor -n 14", "recollect activity --dangerous"),
    )
    command.add_argument("--project", default="", metavar="P", help="only projects whose name contains P")
    command.add_argument(
        "--dangerous", action="store_true", help="dangerous operations instead, and what came of them"
    )
    command.add_argument(
        "-n",
        "--limit",
        type=count,
        metavar="N",
        help=f"at most N days (default: {_DAYS}), or dangerous operations (default: {_DANGERS}); 0 for all",
    )


def activity(args: argparse.Namespace, screen: Screen) -> int:
    return _dangerous(args, screen) if args.dangerous else _year(args, screen)


# -- a year ----------------------------------------------------------------------------------------


def _year(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        found = memory.activity(project=args.project, days=_DAYS if args.limit is None else args.limit)
        note = "" if found.days else unknown_project_note(args.project, memory.sessions())
    if screen.json:
        screen.object("activity", activity_object(found))
        return 0
    if not found.days:
        screen.note(note or f"nothing was done from {found.first} to {found.last}")
        return 0
    _draw(found, screen)
    for day in found.chronicle:
        screen.line("")
        _print_day(day, screen)
    if found.chronicle:
        screen.note(f"look further: recollect today --day {found.chronicle[0].day}, recollect digest ID")
    return 0


def _draw(found: Activity, screen: Screen) -> None:
    """Weeks from left to right, Monday at the top; the shades are the quarters of the days with work."""
    counts = dict(found.days)
    first, last = date.fromisoformat(found.first), date.fromisoformat(found.last)
    ranked = sorted(counts.values())
    borders = [ranked[len(ranked) * quarter // 4] for quarter in range(4)]
    shades = _SHADES if screen.has_shades else _LETTERS
    weeks = [first + timedelta(weeks=n) for n in range((last - first).days // 7 + 1)]
    screen.line(" " * _MARGIN + _months(weeks))
    for weekday in range(7):
        row: list[Part] = [f"{first + timedelta(days=weekday):%a}  "]
        for week in weeks:
            day = week + timedelta(days=weekday)
            entries = counts.get(day.isoformat(), 0)
            level = sum(entries >= border for border in borders) if entries else 0
            row.append(Styled(shades[level], _STYLES[level]) if day <= last else " ")
        screen.line(*row)
    busiest = max(counts, key=lambda day: counts[day])
    most = f"most on {busiest}: {many(counts[busiest], 'entry', 'entries')}"
    screen.line(Styled(f"{many(len(counts), 'day')} with work; less {shades} more; {most}", "dim"))


def _months(weeks: list[date]) -> str:
    """The names of the months above the weeks they begin in, as far as they do not touch."""
    line = ""
    for at, week in enumerate(weeks):
        begins = at == 0 or week.month != weeks[at - 1].month
        if begins and at >= len(line) and at + 3 <= len(weeks):
            line = f"{line:<{at}}{week:%b} "
    return line.rstrip()


def _print_day(day: Day, screen: Screen) -> None:
    names = [one_line(each.rpartition("/")[2], 24) for each in day.projects[:_PROJECTS]]
    more = len(day.projects) - _PROJECTS
    where = ", ".join([*names, *([f"{more} more"] if more > 0 else [])])
    counted = f"{many(day.entries, 'entry', 'entries')}, {many(day.sessions, 'session')}"
    head = f"{date.fromisoformat(day.day):%a}  {counted}"
    screen.line(Styled(day.day, "bold"), f" {head}", Styled(f"  {where}", "dim"))
    for session, title in day.works:
        shown = ellipsis(one_line(title, _TITLE_CELLS * 4) or "(no title)", _TITLE_CELLS)
        gap = " " * (_TITLE_CELLS - cells(shown))
        screen.line(f"  {shown}{gap}", Styled(f"  {one_line(short_id(session.facts.id), 40)}", "cyan"))


# -- dangers ---------------------------------------------------------------------------------------


def _dangerous(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        found = memory.dangers(_DANGERS if args.limit is None else args.limit, project=args.project)
        note = "" if found else unknown_project_note(args.project, memory.sessions())
    if screen.json:
        screen.object("activity-dangerous", {"dangers": [danger_object(each) for each in found]})
        return 0
    for each in found:
        _print_danger(each, screen)
    if not found:
        screen.note(note or "no dangerous operation is known")
    return 0


def _print_danger(met: DangerMet, screen: Screen) -> None:
    danger = met.danger
    screen.line(
        Styled(moment(met.time_ms, "%Y-%m-%d"), "dim"),
        "  ",
        Styled(f"{danger.came_of_it:<8}", _OUTCOMES.get(danger.came_of_it, "dim")),
        Styled(danger.kind, "bold"),
        Styled(f"  {one_line(met.session.facts.project.rpartition('/')[2], 24)}  ", "dim"),
        Styled(danger.entry, "cyan"),
    )
    screen.line(f"    {one_line(danger.command, 160) or '(in what was asked)'}")
