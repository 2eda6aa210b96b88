"""`lessons`: what keeps going wrong, what ended it, and a line to write down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Screen, Styled
from recollect.cli.words import add_command, count, limit
from recollect.present.hits import behind_note, fresh_object
from recollect.present.lessons import lesson_object
from recollect.present.projects import unknown_project_note
from recollect.present.short_ids import short_id
from recollect.values.text import many, one_line

if TYPE_CHECKING:
    import argparse

    from recollect.values.lessons import Lesson

_SHOWN = 3  # ids behind a lesson, and projects
_TEXT_CELLS = 160


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "lessons",
        "what keeps going wrong, what ended it, and a line to write down",
        "Errors that came back in several conversations, with the command that met them and the one that "
        "then worked; commands run again and again; the same done over and over without getting further; "
        "changes refused because a file was not read; the dearest conversations. Each with a line that could "
        "stand in the file of instructions of its agents. Nothing is written: that is for you to do.",
        ("recollect lessons", "recollect lessons --project harbor --min 2", "recollect lessons --json"),
    )
    command.add_argument("--project", default="", metavar="P", help="only projects whose name contains P")
    command.add_argument(
        "--min",
        type=count,
        default=3,
        metavar="N",
        help="only what was met in at least N conversations (default: 3)",
    )
    limit(command, 15, "lessons")


def lessons(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        found = memory.lessons(args.limit, project=args.project, least=args.min)
        note = "" if found else unknown_project_note(args.project, memory.sessions())
        fresh = memory.fresh()
    if screen.json:
        told = [lesson_object(each) for each in found]
        screen.object("lessons", {"lessons": told, "fresh": fresh_object(fresh)})
        return 0
    for number, lesson in enumerate(found):
        if number:
            screen.line("")
        _print(lesson, screen)
    if not found:
        screen.note(
            note or f"nothing went wrong in {many(args.min, 'conversation')} or more; --min asks for fewer"
        )
    elif all(each.imported for each in found):
        screen.note("all of them are from imported logs: read a line before you write it down")
    if fresh.unindexed:
        screen.note(f"{behind_note(fresh)}, so more may have gone wrong: recollect index")
    return 0


def _print(lesson: Lesson, screen: Screen) -> None:
    counted = [many(len(lesson.sessions), "session"), f"{lesson.times:,} times"]
    counted += [f"overcome in {lesson.recovered}"] if lesson.recovered else []
    names = [one_line(each.rpartition("/")[2], 24) for each in lesson.projects[:_SHOWN]]
    more = len(lesson.projects) - _SHOWN
    where = ", ".join([*names, *([f"{more} more"] if more > 0 else [])])
    screen.line(Styled(lesson.kind, "bold"), f"  {', '.join(counted)}", Styled(f"  {where}", "dim"))
    screen.line(f"    {one_line(lesson.text, _TEXT_CELLS)}")
    if lesson.command:
        screen.line(Styled("    ran     ", "dim"), one_line(lesson.command, _TEXT_CELLS))
    if lesson.ended_by and lesson.ended_by != lesson.command:
        screen.line(Styled("    worked  ", "dim"), one_line(lesson.ended_by, _TEXT_CELLS))
    shown = lesson.entries or tuple(short_id(each.facts.id) for each in lesson.sessions)
    screen.line(
        Styled("    see     ", "dim"),
        Styled("  ".join(one_line(each, 40) for each in shown[:_SHOWN]), "cyan"),
    )
    screen.line(Styled(f"    {'/'.join(lesson.files) or 'write'}: ", "green"), one_line(lesson.line, 600))
