"""`entities`: what conversations speak of, the most mentioned first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.columns import PATH, Column
from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Screen, Styled
from recollect.cli.words import add_command, limit
from recollect.present.entities import day_name, entity_object
from recollect.values.entities import ENTITY_TYPES
from recollect.values.text import many, one_line

if TYPE_CHECKING:
    import argparse


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "entities",
        "what conversations speak of: files, functions, libraries, errors, people and more",
        "The most mentioned first. Things are found in what was said, called and printed, by rules and word "
        "lists; `index` looks for new ones, and so does every ingest.",
        (
            "recollect entities",
            "recollect entities --type file --project harbor",
            "recollect entities --type error --limit 50 --json",
        ),
    )
    command.add_argument(
        "--type",
        default="",
        choices=list(ENTITY_TYPES),
        metavar="T",
        help=f"only of this type: {', '.join(ENTITY_TYPES)}",
    )
    command.add_argument("--project", default="", metavar="P", help="only in projects whose name contains P")
    limit(command, 20, "things")


def entities(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        found = memory.entities(args.type, project=args.project, limit=args.limit)
    if screen.json:
        listed = [entity_object(each) for each in found.entities]
        screen.object("entities", {"total": found.total, "unread": found.unread, "entities": listed})
        return 0
    if found.entities:
        columns = [
            Column("type", drops=1),
            Column("name", gives=PATH),
            Column("mentions", right=True),
            Column("last"),
        ]
        screen.table(
            columns,
            [
                [
                    Styled(ENTITY_TYPES[each.type], "dim"),
                    Styled(one_line(each.name, 200), "cyan"),
                    f"{each.mentions:,}",
                    Styled(day_name(each.last_day), "dim"),
                ]
                for each in found.entities
            ],
        )
    elif not found.unread:
        screen.note("nothing that fits is mentioned")
    if len(found.entities) < found.total:
        screen.note(f"{len(found.entities):,} of {many(found.total, 'thing')}; --limit 0 lists all")
    note_unread(found.unread, screen)
    return 0


def note_unread(unread: int, screen: Screen) -> None:
    """Say that more may be mentioned."""
    if unread:
        screen.note(f"{many(unread, 'entry', 'entries')} not looked at yet: recollect index")
