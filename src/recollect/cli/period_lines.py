"""What was done in some days, as a person reads it: project by project, within two screens."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING

from recollect.cli.screen import Screen, Styled
from recollect.present.days import effort_of, period_object, spent
from recollect.present.digests import commit_statements
from recollect.present.projects import unknown_project_note
from recollect.present.short_ids import short_id
from recollect.values.digests import Outcome
from recollect.values.text import cells, ellipsis, many, one_line

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.values.days import Period, ProjectWork, Work

Said = tuple[str, str, str, str]  # what, its style, a text, an id

LINES_MAX = 44  # of two screens, under the headings
_PROJECTS = 10
_FIRST_YEAR, _LAST_YEAR = 1971, 2999  # what a clock of any machine can tell
_LABEL = 9
_TEXT_CELLS = 52  # beside a label and an entry's id, in 80
_WORDS = {
    Outcome.SUCCESS: ("done", "green"),
    Outcome.FAILED: ("failed", "red"),
    Outcome.ABANDONED: ("left", "yellow"),
    Outcome.UNKNOWN: ("worked", "dim"),
}


def day_words(text: str) -> date:
    """A day as it is given to a command."""
    try:
        day = date.fromisoformat(text)
        if not _FIRST_YEAR <= day.year <= _LAST_YEAR:
            raise ValueError
        return day
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day, such as 2026-03-01") from None


def show_period(found: Period, memory: Memory, args: argparse.Namespace, screen: Screen) -> int:
    """Print what was done, or on which day something was."""
    if screen.json:
        screen.object(args.command, period_object(found))
        return 0
    if not found.projects:
        screen.note(_nothing(found, memory, args))
        return 0
    sessions = sum(len(each.works) for each in found.projects)
    counted = f"{many(sessions, 'session')}, {many(len(found.projects), 'project')}, {spent(found)}"
    screen.line(Styled(_days(found), "bold"), f"  {counted}")
    shown = found.projects[:_PROJECTS]
    room = max(LINES_MAX // len(shown), 3)
    for project in shown:
        screen.line("")
        name = ellipsis(one_line(project.project, 200) or "(no project)", 44, front=True)
        screen.line(Styled(name, "bold cyan"))
        screen.line(Styled(f"  {effort_of(project)}", "dim"))
        for said in _fitting(project, room):
            _print(said, screen)
    if left := found.projects[_PROJECTS:]:
        names = ", ".join(one_line(each.project.rpartition("/")[2], 30) for each in left)
        screen.line("")
        screen.line(f"and {many(len(left), 'more project')}: ", names)
    screen.note("look further: recollect digest ID for a session, recollect show ID for the rest")
    return 0


def _days(found: Period) -> str:
    first, last = date.fromisoformat(found.first), date.fromisoformat(found.last)
    if first == last:
        return f"{first:%A}, {found.first}"
    return f"{found.first} to {found.last}"


def _nothing(found: Period, memory: Memory, args: argparse.Namespace) -> str:
    if note := unknown_project_note(args.project, memory.sessions()):
        return note
    when = f"on {found.first}" if found.first == found.last else f"from {found.first} to {found.last}"
    if not found.last_day:
        return f"nothing was done {when}, nor before"
    project = f" --project {args.project}" if args.project else ""
    command = f"recollect {args.command} --day {found.last_day}{project}"
    return f"nothing was done {when}; the last day with work is {found.last_day}: {command}"


def _fitting(project: ProjectWork, room: int) -> list[Said]:
    """What is told of a project, in so many lines: some of each kind, the rest to what comes first."""
    kinds = [list(each) for each in (_works(project), _commits(project), _decided(project), _left(project))]
    share = [min(len(kind), least) for kind, least in zip(kinds, (2, 1, 1, 1), strict=True)]
    spare = room - sum(share)
    for at, kind in enumerate(kinds):
        more = min(max(spare, 0), len(kind) - share[at], max(room // 4, 4))
        share[at] += more
        spare -= more
    return [said for kind, count in zip(kinds, share, strict=True) for said in kind[:count]]


def _works(project: ProjectWork) -> Iterator[Said]:
    for work in project.works:
        word, style = ("goes on", "dim") if work.goes_on else _WORDS[work.outcome]
        yield word, style, f"{work.title or '(no title)'}{_tested(work)}", short_id(work.session.facts.id)


def _tested(work: Work) -> str:
    return f" (tests {work.tests.last})" if work.tests.last in ("passed", "failed") else ""


def _commits(project: ProjectWork) -> Iterator[Said]:
    made = list(commit_statements(project.commits))
    yield from (("commit", "dim", each.text, each.entry) for each in reversed(made))
    yield from (("opened", "dim", each.text, each.entry) for each in reversed(project.pull_requests))


def _decided(project: ProjectWork) -> Iterator[Said]:
    return (("decided", "dim", each.text, each.entry) for each in reversed(project.decided))


def _left(project: ProjectWork) -> Iterator[Said]:
    return (("open", "yellow", each.text, each.entry) for each in reversed(project.open))


def _print(said: Said, screen: Screen) -> None:
    what, style, text, id_ = said
    shown = ellipsis(one_line(text, _TEXT_CELLS * 4), _TEXT_CELLS)
    gap = " " * max(_TEXT_CELLS - cells(shown), 0)
    screen.line(Styled(f"  {what:<{_LABEL}}", style), shown, gap, Styled(f"  {one_line(id_, 40)}", "cyan"))
