"""`remember`: keep a sentence for good, so that it is found and told like everything that was said."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.words import add_command
from recollect.present.notes import note_object
from recollect.values.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from recollect.cli.screen import Screen

AUTHOR = "person"


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "remember",
        "keep a note: a preference, a decision, a reason",
        "Keeps TEXT for good, as a note that search, recall and your agents find like all that was said. "
        "It is durable when the command ends. Without TEXT, or with -, it is read from standard input. "
        "--id gives it a name of your own: the same one again takes the earlier note's place. "
        "`recollect notes` lists what there is, changes it and takes it back.",
        (
            "recollect remember 'deploys go through staging first' --project harbor",
            "recollect remember 'we install with uv, never with pip' --tag preference",
            "git log -1 --format=%B | recollect remember - --project harbor --tag decision",
        ),
    )
    command.add_argument(
        "text", nargs="?", default="-", metavar="TEXT", help="what to keep; - for standard input"
    )
    command.add_argument("--project", default="", metavar="P", help="the project that it is about")
    command.add_argument(
        "--tag", action="append", default=[], metavar="T", help="a tag, as in tag:T; repeatable"
    )
    command.add_argument("--channel", default="", metavar="C", help="where it is from, as in channel:C")
    command.add_argument("--session", default="", metavar="S", help="the session to keep it in")
    command.add_argument("--id", default="", metavar="ID", help="an id of your own")


def remember(args: argparse.Namespace, screen: Screen) -> int:
    text = sys.stdin.read() if args.text == "-" else args.text
    if not text.strip():
        raise UsageError("there is nothing to remember", hint="recollect remember 'what to keep'")
    with open_memory(args, create=True) as memory:
        id_ = memory.save(
            text.strip("\n"),
            id=args.id,
            session=args.session,
            tags=args.tag,
            channel=args.channel,
            project=args.project,
            author=AUTHOR,
        )
        if screen.json:
            screen.object("note", {"note": note_object(memory.get(id_, session=args.session))})
            return 0
    screen.line(f"remembered as {id_}")
    return 0
