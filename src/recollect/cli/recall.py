"""`recall`: the excerpts an agent would get for a question, fence and all."""

from __future__ import annotations

import argparse

from recollect.cli.opening import open_memory
from recollect.cli.screen import Screen
from recollect.cli.search import behind_note, fresh_object
from recollect.values.errors import UsageError


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
