"""`assemble`: the parts of the past that a task needs, shown, or written as a session or a page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from recollect.cli.opening import open_memory
from recollect.cli.resume import delivered_object, print_delivered
from recollect.cli.screen import Screen, Styled
from recollect.export.files import refuse, write_file
from recollect.export.pages.briefing import Briefing, brief, json_object, markdown, origin
from recollect.export.pages.html import html
from recollect.present.agents import Names
from recollect.recall.assemble.run import Assembly
from recollect.values.conversation import Conversation
from recollect.values.errors import NotFound, UsageError
from recollect.values.text import ascii_json, many, moment, one_line, size

_SHOWN_PIECES = 40


def assemble(args: argparse.Namespace, screen: Screen) -> int:
    """Plan and choose; then show it, or write it where --export says."""
    writers = Names("writer")
    page = args.export is not None and args.export not in writers
    if page and args.output is None and not args.dry_run:
        raise UsageError(f"--export {args.export} needs a file to write", hint="-o FILE, or -o - for stdout")
    if page and args.output not in (None, "-") and not args.dry_run:
        refuse(Path(args.output), force=False)
    if bool(args.description) == bool(args.saved):
        raise UsageError("assemble takes a description, or --saved NAME", hint="recollect assemble --help")
    with open_memory(args) as memory:
        if args.saved:
            made, told = memory.reassemble(args.saved)
        else:
            made, told = memory.assemble(" ".join(args.description), budget_tokens=args.budget_tokens)
        if args.save and made.pieces and not args.dry_run:
            kept = memory.save_thread(made, args.save)
            screen.note(f"kept as {one_line(kept.name)!r}: `recollect saved show` looks into it")
        if args.export and not made.pieces:
            raise NotFound("nothing in the memory fits this description", hint="use other words")
        if args.export in writers:
            done = memory.deliver(
                told, args.export, folder=args.into or "", redacted=not args.no_redact, dry_run=args.dry_run
            )
            return _delivered(made, done, args, screen)
    if page and not args.dry_run:
        return _page(made, told, args, screen)
    if screen.json:
        screen.object("assemble", {**assembly_object(made), "delivered": None})
        return 0
    print_assembly(made, screen)
    if not made.pieces:
        screen.note("nothing in the memory fits this description; use other words")
    elif not args.export:
        ways = " | ".join(f"--export {name}" for name in writers)
        screen.note(f"open it: {ways}; share it: --export markdown -o FILE")
    return 0


def _delivered(made: Assembly, done: Any, args: argparse.Namespace, screen: Screen) -> int:
    if screen.json:
        screen.object("assemble", {**assembly_object(made), "delivered": delivered_object(done)})
        return 0
    if args.dry_run:
        print_assembly(made, screen)
    print_delivered(done, screen)
    if args.into:
        screen.note(f"start it in {one_line(args.into)}")
    return 0


def _page(made: Assembly, told: Conversation, args: argparse.Namespace, screen: Screen) -> int:
    """A page for people or programs, its secrets masked unless that was declined."""
    made_brief = brief(
        told,
        description=made.description,
        sessions=[origin(each) for each in made.sessions],
        tokens=made.tokens,
        notes=made.notes,
        redacted=not args.no_redact,
    )
    text = written_as(args.export, made_brief)
    hidden = sum((made_brief.masked or {}).values())
    if args.output == "-":
        screen.raw([text.encode("utf-8", "replace")])
    else:
        written = write_file(Path(args.output), [text.encode("utf-8", "replace")], force=False)
        screen.note(f"{one_line(args.output)}: {size(written)}, {many(len(made.pieces), 'piece')}")
    if hidden:
        screen.note(f"{many(hidden, 'secret')} masked: --no-redact keeps them")
    return 0


def written_as(form: str, made: Briefing) -> str:
    """A briefing as a page of some form."""
    if form == "json":
        return ascii_json(json_object(made)) + "\n"
    return markdown(made) if form == "markdown" else html(made)


def assembly_object(made: Assembly) -> dict[str, Any]:
    """What was asked, how it was looked for, how the budget is split, what was chosen."""
    return {
        "description": made.description,
        "budget_tokens": made.budget_tokens,
        "tokens": made.tokens,
        "facets": [
            {
                "text": each.text,
                "budget_tokens": each.budget_tokens,
                "tokens": each.tokens,
                "pieces": each.pieces,
            }
            for each in made.shares
        ],
        "strategies": [
            {
                "name": each.name,
                "asked": each.asked,
                "facet": each.facet,
                "found": each.found,
                "kept": each.kept,
            }
            for each in made.strategies
        ],
        "pieces": [
            {
                "session": piece.session.facts.id,
                "project": piece.session.facts.project,
                "time_ms": piece.time_ms or None,
                "entries": list(piece.ids),
                "hits": list(piece.hits),
                "tokens": piece.tokens,
                "score": round(piece.score, 4),
                "facet": piece.facet,
                "why": list(piece.why),
            }
            for piece in made.pieces
        ],
        "candidates": made.candidates,
        "notes": list(made.notes),
    }


def print_assembly(made: Assembly, screen: Screen) -> None:
    screen.line(Styled("Looked for", "bold"))
    for each in made.strategies:
        facet = f"facet {each.facet}" if each.facet else "all of it"
        asked = one_line(f"{facet}: {each.asked}", 70)
        screen.line(f"  {each.name:<10} {each.found:>5} found {each.kept:>4} kept  {asked}")
    screen.line(Styled("Budget", "bold"), f": {made.tokens:,} of {made.budget_tokens:,} tokens")
    for number, share in enumerate(made.shares):
        spent = f"{share.tokens:>7,} of {share.budget_tokens:>7,}  {many(share.pieces, 'piece')}"
        facet = f"facet {number}" if number else "all of it"
        screen.line(f"  {spent}  {one_line(f'{facet}: {share.text}', 70)}")
    screen.line(Styled("Chosen", "bold"), f": {many(len(made.pieces), 'piece')} of {made.candidates:,}")
    for piece in made.pieces[:_SHOWN_PIECES]:
        facts = piece.session.facts
        when = moment(piece.time_ms, "%Y-%m-%d %H:%M")
        name = one_line(f"{facts.project.rpartition('/')[2]}: {facts.title or facts.slug}", 60)
        screen.line(f"  {piece.ids[0]:<16} {piece.tokens:>6,}  {when}  {one_line(facts.id[:8])}  {name}")
    if len(made.pieces) > _SHOWN_PIECES:
        screen.line(f"  and {len(made.pieces) - _SHOWN_PIECES} more")
    for note in made.notes:
        screen.note(note)
