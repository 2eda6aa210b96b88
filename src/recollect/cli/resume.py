"""`resume`: a whole session, opened in another agent, another folder, or at an earlier point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Screen, Styled
from recollect.cli.words import add_command, delivery_options
from recollect.present.agents import Names, names
from recollect.present.assembly import delivered_object
from recollect.values.text import many, one_line, size

if TYPE_CHECKING:
    import argparse

    from recollect.values.fidelity import Delivered


def add_words(commands: Any) -> None:
    writers = Names("writer")
    command = add_command(
        commands,
        "resume",
        "open a whole session in another agent, another folder, or at an earlier point",
        "Writes the session anew, as the agent itself would go on with it, where the other agent looks "
        "for its own past, and prints the command that opens it. The original is not touched.",
        (
            f"recollect resume 3f2a9c01 --to {names('writer')[-1]}",
            f"recollect resume 3f2a9c01 --to {names('writer')[0]} --into ~/other-clone",
            f"recollect resume 3f2a9c01 --to {names('writer')[0]} --until 90ab12cd34ef",
        ),
    )
    command.add_argument("session", metavar="SESSION", help="a session's id, or any unique beginning of it")
    command.add_argument("--to", choices=writers, required=True, metavar="AGENT", help=f"one of {writers}")
    command.add_argument(
        "--until", metavar="ENTRY", help="only up to this entry, by the id that `search` prints"
    )
    command.add_argument(
        "--before-compaction", action="store_true", help="what was said before it was last summed up"
    )
    delivery_options(command)


def resume(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        told = memory.conversation(
            args.session, until=args.until or "", before_compaction=args.before_compaction
        )
        done = memory.deliver(
            told, args.to, folder=args.into or "", redacted=not args.no_redact, dry_run=args.dry_run
        )
    if screen.json:
        session = told.sessions[0] if told.sessions else ""
        screen.object("resume", {"session": session, **delivered_object(done)})
        return 0
    print_delivered(done, screen)
    if args.into:
        screen.note(f"start it in {one_line(args.into)}")
    return 0


def print_delivered(done: Delivered, screen: Screen) -> None:
    """How to open it on stdout; everything else is a note."""
    for line in done.fidelity.lines():
        screen.note(line)
    if done.masked:
        screen.note(f"{many(sum(done.masked.values()), 'secret')} masked: --no-redact keeps them")
    if done.path is None:
        screen.line(f"dry run: {size(done.bytes)} would be written for {done.agent}")
        return
    screen.note(one_line(f"{done.path}: {size(done.bytes)}"))
    screen.line(Styled(done.command, "bold"))
