"""`assemble`: the parts of the past that a task needs, shown, or written as a session or a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.columns import PROJECT, TITLE, Column
from recollect.cli.open_memory import open_memory
from recollect.cli.resume import print_delivered
from recollect.cli.screen import Part, Screen, Styled
from recollect.cli.words import add_command, budget_option, delivery_options
from recollect.memory.machine import check_target, write_target
from recollect.present.agents import Names, enumeration, names
from recollect.present.assembly import assembly_object, delivered_object
from recollect.values.budgets import ASSEMBLE_TOKENS
from recollect.values.errors import NotFound, UsageError
from recollect.values.text import many, moment, one_line, size
from recollect.values.titles import UNTITLED
from recollect.values.vocabulary import PAGES

if TYPE_CHECKING:
    import argparse

    from recollect.values.assembly import Assembly, Piece, Strategy


def add_words(commands: Any) -> None:
    exports = Names("writer", *PAGES)
    command = add_command(
        commands,
        "assemble",
        "choose what a task needs out of all conversations, and open it in an agent",
        "Finds what fits a description in many ways, takes whole exchanges, divides the budget over "
        "what is asked for, and puts them in order of time. Without --export it shows what it would "
        "take. With it, the result is a session that the agent opens as its own past, or a page to "
        "share; secrets are masked.",
        (
            "recollect assemble 'Chrome extension auth flow, OAuth tokens' --budget-tokens 60000",
            f"recollect assemble 'the importer and its tests' --export {names('writer')[0]}",
            "recollect assemble 'why we moved to tantivy' --export markdown -o why.md",
        ),
    )
    command.add_argument("description", nargs="*", metavar="DESCRIPTION", help="what the next work is about")
    budget_option(command, ASSEMBLE_TOKENS)
    command.add_argument("--save", metavar="NAME", help="keep it in the store under this name")
    command.add_argument("--saved", metavar="NAME", help="take one that was kept instead of a description")
    command.add_argument(
        "--export",
        choices=exports,
        metavar="TO",
        help=f"one of {exports}; {enumeration(names('writer'))} print the command that opens it",
    )
    command.add_argument("-o", "--output", metavar="FILE", help="the file of a page; - for stdout")
    delivery_options(command)


_SHOWN_PIECES = 40


def assemble(args: argparse.Namespace, screen: Screen) -> int:
    """Plan and choose; then show it, or write it where --export says."""
    writers = Names("writer")
    page = args.export is not None and args.export not in writers
    if page and args.output is None and not args.dry_run:
        raise UsageError(f"--export {args.export} needs a file to write", hint="-o FILE, or -o - for stdout")
    if page and args.output not in (None, "-") and not args.dry_run:
        check_target(Path(args.output))
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
            return _print_delivery(made, done, args, screen)
        if page and not args.dry_run:
            text, hidden = memory.page(args.export, made, told, redacted=not args.no_redact)
            if args.output != "-":
                memory.note_copy(args.output, "export", told.sessions, masked=not args.no_redact)
            return _page(made, text, hidden, args, screen)
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


def _print_delivery(made: Assembly, done: Any, args: argparse.Namespace, screen: Screen) -> int:
    if screen.json:
        screen.object("assemble", {**assembly_object(made), "delivered": delivered_object(done)})
        return 0
    if args.dry_run:
        print_assembly(made, screen)
    print_delivered(done, screen)
    if args.into:
        screen.note(f"start it in {one_line(args.into)}")
    return 0


def _page(made: Assembly, text: str, hidden: int, args: argparse.Namespace, screen: Screen) -> int:
    """A page for people or programs, its secrets masked unless that was declined."""
    if args.output == "-":
        screen.raw([text.encode("utf-8", "replace")])
    else:
        written = write_target(Path(args.output), [text.encode("utf-8", "replace")])
        screen.note(f"{one_line(args.output)}: {size(written)}, {many(len(made.pieces), 'piece')}")
    if hidden:
        screen.note(f"{many(hidden, 'secret')} masked: --no-redact keeps them")
    return 0


def print_assembly(made: Assembly, screen: Screen) -> None:
    screen.line(Styled("Looked for", "bold"))
    looked = [
        Column("for"),
        Column("found", right=True),
        Column("kept", right=True),
        Column("asked", gives=TITLE),
    ]
    screen.table(looked, [_strategy_row(each) for each in made.strategies])
    screen.line(Styled("Budget", "bold"), f": {made.tokens:,} of {made.budget_tokens:,} tokens")
    for number, share in enumerate(made.shares):
        spent = f"{share.tokens:>7,} of {share.budget_tokens:>7,}  {many(share.pieces, 'piece')}"
        facet = f"facet {number}" if number else "all of it"
        screen.line(f"  {spent}  {one_line(f'{facet}: {share.text}', 70)}")
    screen.line(Styled("Chosen", "bold"), f": {many(len(made.pieces), 'piece')} of {made.candidates:,}")
    columns = [
        Column("id"),
        Column("tokens", right=True, drops=2),
        Column("time"),
        Column("session"),
        Column("project", gives=PROJECT, drops=1),
        Column("title", gives=TITLE),
    ]
    screen.table(columns, [_piece_row(piece) for piece in made.pieces[:_SHOWN_PIECES]])
    if len(made.pieces) > _SHOWN_PIECES:
        screen.line(f"  and {len(made.pieces) - _SHOWN_PIECES} more")
    for note in made.notes:
        screen.note(note)


def _strategy_row(each: Strategy) -> list[Part]:
    facet = f"facet {each.facet}" if each.facet else "all of it"
    return [each.name, f"{each.found:,}", f"{each.kept:,}", one_line(f"{facet}: {each.asked}", 70)]


def _piece_row(piece: Piece) -> list[Part]:
    facts = piece.session.facts
    return [
        Styled(piece.ids[0], "cyan"),
        f"{piece.tokens:,}",
        moment(piece.time_ms, "%Y-%m-%d %H:%M"),
        one_line(facts.id[:8]),
        one_line(facts.project.rpartition("/")[2], 28),
        one_line(facts.headline or UNTITLED, 72),
    ]
