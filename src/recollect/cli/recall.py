"""`recall`: the excerpts an agent would get for a question, fence and all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.words import add_command, budget_option
from recollect.present.hits import behind_note, fresh_object
from recollect.values.budgets import RECALL_TOKENS
from recollect.values.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from recollect.cli.screen import Screen


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "recall",
        "a wall of excerpts on a question, within a budget of tokens",
        "What a model should read before it answers: the most relevant exchanges of earlier "
        "conversations, each with its source, cut to the budget by relevance. `search` finds single "
        "entries; this stitches them together.",
        (
            "recollect recall 'why were users logged out'",
            "recollect recall 'how do we deploy' --term staging --term rollback --budget-tokens 4000",
        ),
    )
    command.add_argument("question", nargs="+", metavar="QUESTION", help="what you want to know")
    command.add_argument(
        "--term", action="append", default=[], metavar="T", help="a word that matters; may be repeated"
    )
    budget_option(command, RECALL_TOKENS)
    command.add_argument("--project", default="", metavar="P", help="prefer projects whose name contains P")
    command.add_argument("--strict", action="store_true", help="look at nothing but that project")


def recall(args: argparse.Namespace, screen: Screen) -> int:
    """Exit code 0 also when nothing was found: that is an answer."""
    question, project = " ".join(args.question), args.project or ""
    if args.strict and not project:
        raise UsageError("--strict needs to know which project", hint="name it with --project")
    with open_memory(args) as memory:
        found = memory.recall(
            args.term,
            question,
            budget_tokens=args.budget_tokens,
            project="" if args.strict else project,
            strict_project=project if args.strict else "",
        )
    if screen.json:
        screen.object(
            "recall",
            {
                "question": question,
                "terms": list(args.term),
                "text": found.text,
                "tokens": found.tokens,
                "hits": found.hits,
                "blocks": found.blocks,
                "shown": found.shown,
                "fresh": fresh_object(found.fresh),
                "notes": list(found.notes),
            },
        )
        return 0
    if found.text:
        screen.line(found.text)
    for note in () if found.shown else found.notes:  # the wall says them itself
        screen.note(note)
    if found.fresh.unindexed or found.fresh.waiting:
        screen.note(behind_note(found.fresh))
    return 0
