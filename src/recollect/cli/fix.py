"""`fix`: where an error was met before, and what ended it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from recollect.cli.columns import TITLE, Column
from recollect.cli.hit_lines import hit_head, snippet_parts
from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Screen, Styled
from recollect.cli.words import add_command, limit
from recollect.present.history import call_summary, fix_object
from recollect.values.text import many, one_line

if TYPE_CHECKING:
    import argparse

    from recollect.values.history import Fix


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "fix",
        "where an error was met before, and what ended it",
        "One answer a session: where the error appeared, what was changed and run after it, the run that "
        "then worked, and what was said of it in the end. Source code and pages that only mention an error "
        "do not count. The text is taken as it is, whatever characters it has.",
        (
            "recollect fix 'ECONNREFUSED 127.0.0.1:5432'",
            "recollect fix \"TypeError: 'NoneType' object is not subscriptable\"",
        ),
    )
    command.add_argument("error", nargs="+", metavar="ERROR", help="the error's text")
    limit(command, 5, "sessions")


_WIDTH = 160
_QUOTE_WIDTH = 320


def fix(args: argparse.Namespace, screen: Screen) -> int:
    """Where this error was met before, and what ended it."""
    error = " ".join(args.error)
    with open_memory(args) as memory:
        found = memory.fix(error, args.limit)
    if screen.json:
        screen.object("fix", {"error": error, "found": [fix_object(each) for each in found]})
        return 0
    if found and not found[0].exact:
        screen.note("not met word for word; the nearest are:")
    for each in found:
        _print_fix(each, screen)
    if not found:
        screen.note("no such error in the store")
    return 0


def _print_fix(each: Fix, screen: Screen) -> None:
    times = many(each.times, "time") if each.times > 1 else ""
    screen.head(*hit_head(each.hit), (Column("times"), Styled(times, "dim")))
    screen.line("    ", *snippet_parts(each.hit))
    if each.ended_by:
        screen.line("    ", Styled("then worked: ", "green"), one_line(each.ended_by, _WIDTH))
    elif not each.is_told:
        screen.line("    ", Styled("no run that worked follows, and nobody says what ended it", "yellow"))
    if each.answer is not None:
        told = Styled("told: ", "green") if each.is_told else Styled("said: ", "dim")
        screen.line("    ", Styled(f"{each.answer.id}  ", "dim"), told, one_line(each.quote, _QUOTE_WIDTH))
    for step in each.steps:
        summary = one_line(_PATH_START.sub("…", call_summary(step.entry.text)), _WIDTH)
        screen.head(
            (Column("step"), Styled(f"{step.id}  {one_line(step.entry.tool, 20)}", "dim")),
            (Column("what", gives=TITLE), summary),
            indent=4,
        )


# All of a path but its last three names.
_PATH_START = re.compile(r"^(?:/|[A-Za-z]:\\)[^\s]*?(?=(?:[/\\][^/\\\s]+){3}$)")
