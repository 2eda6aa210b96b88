"""`catalog`: exactly what a new conversation would be told of a project.

Made anew, and put in the place of what hooks had ready, so that the next one is told just this.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.words import add_command, budget_option
from recollect.hooks.state import write_catalog
from recollect.values.budgets import CATALOG_TOKENS
from recollect.values.text import one_line

if TYPE_CHECKING:
    import argparse

    from recollect.cli.screen import Screen


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "catalog",
        "what a new conversation is told about a project",
        "Exactly the text that the hook gives to a conversation when it starts: recent threads, "
        "decisions, files, open ends. Made from the store alone.",
        ("recollect catalog", "recollect catalog --project ada/harbor --budget-tokens 1200"),
    )
    command.add_argument(
        "--imported",
        action="store_true",
        help="also what imported logs say, which no conversation is told unasked",
    )
    command.add_argument(
        "--project",
        default="",
        metavar="P",
        help="a project's name or a part of it (default: that of the current folder)",
    )
    budget_option(command, CATALOG_TOKENS)


def catalog(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        made = memory.catalog(args.project, budget_tokens=args.budget_tokens, imported=args.imported)
        known = any(each.facts.project == made.project for each in memory.sessions()) and not made.trimmed
        state = str(memory.config.state)
        if os.path.isdir(state) and args.budget_tokens == CATALOG_TOKENS and not args.imported:
            names = memory.projects_by_folder_name()
            with contextlib.suppress(OSError):
                for name in (each for each, project in names.items() if project == made.project):
                    write_catalog(state, name, made.text)
    if screen.json:
        screen.object(
            "catalog",
            {
                "project": made.project,
                "tokens": made.tokens,
                "as_of_ms": made.as_of_ms,
                "trimmed": list(made.trimmed),
                "sections": {k: list(v) for k, v in made.sections.items()},
                "text": made.text,
            },
        )
        return 0
    if made.text:
        screen.line(made.text)
    elif made.trimmed:
        screen.note(f"not even the overview fits into {args.budget_tokens} tokens; nothing would be shown")
    elif known and not args.imported:
        named = repr(one_line(made.project, 60))
        screen.note(f"only imported logs know project {named}; nothing would be shown without --imported")
    else:
        screen.note(f"nothing is known of project {one_line(made.project, 60)!r}; nothing would be shown")
    return 0
