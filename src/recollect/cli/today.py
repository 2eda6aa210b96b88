"""`today`: what was done on a day, project by project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.period_lines import day_words, show_period
from recollect.cli.words import add_command

if TYPE_CHECKING:
    import argparse

    from recollect.cli.screen import Screen


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "today",
        "what was done today, by project: done, decided, still open",
        "Per project the conversations with how they ended, commits, what was decided and what is open, "
        "time and cost. A conversation over midnight counts for both days, by its entries of that day. Days "
        "are those of your time zone.",
        ("recollect today", "recollect today --day 2026-02-03", "recollect today --project harbor --json"),
    )
    command.add_argument("--day", type=day_words, metavar="DAY", help="another day, as in 2026-02-03")
    command.add_argument("--project", default="", metavar="P", help="only projects whose name contains P")


def today(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        return show_period(memory.today(args.day, project=args.project), memory, args, screen)
