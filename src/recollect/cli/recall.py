"""`recall`: the excerpts an agent would get for a question, fence and all; or three sentences of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.hit_lines import said_parts
from recollect.cli.open_memory import open_memory
from recollect.cli.words import add_command, budget_option
from recollect.present.hits import behind_note, brief_object, fresh_object
from recollect.values.budgets import RECALL_TOKENS
from recollect.values.errors import UsageError
from recollect.values.text import many

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from recollect.cli.screen import Screen
    from recollect.values.hits import Fresh
    from recollect.values.recalled import Brief


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "recall",
        "a wall of excerpts on a question, within a budget of tokens",
        "What a model should read before it answers: the most relevant exchanges of earlier "
        "conversations, each with its source, cut to the budget by relevance. `search` finds single "
        "entries; this stitches them together. With --brief, the three sentences for a person to read.",
        (
            "recollect recall 'why were users logged out'",
            "recollect recall --brief 'why were users logged out'",
            "recollect recall 'how do we deploy' --term staging --term rollback --budget-tokens 4000",
        ),
    )
    command.add_argument("question", nargs="+", metavar="QUESTION", help="what you want to know")
    command.add_argument(
        "--term", action="append", default=[], metavar="T", help="a word that matters; may be repeated"
    )
    command.add_argument(
        "--brief", action="store_true", help="only the three sentences that say most, with ids and dates"
    )
    budget_option(command, RECALL_TOKENS)
    command.add_argument("--project", default="", metavar="P", help="prefer projects whose name contains P")
    command.add_argument("--strict", action="store_true", help="look at nothing but that project")


def recall(args: argparse.Namespace, screen: Screen) -> int:
    """Exit code 0 also when nothing was found: that is an answer."""
    question, project = " ".join(args.question), args.project or ""
    if args.strict and not project:
        raise UsageError("--strict needs to know which project", hint="name it with --project")
    preferred, only = ("", project) if args.strict else (project, "")
    with open_memory(args) as memory:
        if args.brief:
            said = memory.brief(args.term, question, project=preferred, strict_project=only)
            _print_brief(said, question, args.term, screen)
            return 0
        found = memory.recall(
            args.term, question, budget_tokens=args.budget_tokens, project=preferred, strict_project=only
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
    _print_notes(() if found.shown else found.notes, found.fresh, screen)  # the wall says them itself
    return 0


def _print_brief(found: Brief, question: str, terms: list[str], screen: Screen) -> None:
    if screen.json:
        screen.object("recall-brief", {"question": question, "terms": terms, **brief_object(found)})
        return
    for said in found.sentences:
        screen.line(*said_parts(said), hang=4)
    if not found.sentences:
        screen.note(f"{many(found.hits, 'hit')}, and no sentence about it" if found.hits else "nothing found")
    _print_notes(found.notes, found.fresh, screen)


def _print_notes(notes: Iterable[str], fresh: Fresh, screen: Screen) -> None:
    for note in notes:
        screen.note(note)
    if fresh.unindexed or fresh.waiting:
        screen.note(behind_note(fresh))
