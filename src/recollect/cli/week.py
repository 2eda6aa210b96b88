"""`week`: what was done in seven days, project by project."""

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
        "week",
        "what was done in the last seven days, by project",
        "As `today`, for the seven days that end today, or on another day.",
        ("recollect week", "recollect week --day 2026-02-08 --project harbor"),
    )
    command.add_argument("--day", type=day_words, metavar="DAY", help="its last day, as in 2026-02-08")
    command.add_argument("--project", default="", metavar="P", help="only projects whose name contains P")


def week(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        return show_period(memory.week(args.day, project=args.project), memory, args, screen)
