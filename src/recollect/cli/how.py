"""`how`: the commands that were run for something, and whether they worked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.columns import Column
from recollect.cli.hit_lines import place
from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Part, Screen, Styled
from recollect.cli.words import add_command, limit
from recollect.present.history import command_object
from recollect.values.text import many, one_line

if TYPE_CHECKING:
    import argparse

    from recollect.values.history import Command


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "how",
        "the commands that were run for something, and whether they worked",
        "Shell commands that fit the words, were run after a prompt that does, or stand in an answer that "
        "does; those that worked often and lately first. Variants of a command count as one: without where "
        "it ran, where its output went, and which files it was given. Takes the query language of `search`.",
        ("recollect how 'deploy staging'", "recollect how 'project:api run one test'"),
    )
    command.add_argument("query", nargs="+", metavar="QUERY", help="what it was for")
    limit(command, 10, "commands")


def how(args: argparse.Namespace, screen: Screen) -> int:
    """Which commands were run for this."""
    query = " ".join(args.query)
    with open_memory(args) as memory:
        found = memory.how(query, args.limit)
    if screen.json:
        screen.object("how", {"query": query, "commands": [command_object(each) for each in found]})
        return 0
    for command in found:
        screen.line(Styled(one_line(command.text, 300), "bold"))
        outcome = Column("outcome"), _outcome(command)
        screen.head(outcome, *place(command.last, command.session), indent=4)
    if not found:
        screen.note("no command in the store fits")
    return 0


def _outcome(command: Command) -> Part:
    told = [
        many(command.worked, "time") + " worked" if command.worked else "",
        f"{command.failed:,} failed" if command.failed else "",
        f"{command.unknown:,} without a result" if command.unknown else "",
        f"told {many(command.told, 'time')}" if command.told else "",
        f"{command.variants:,} variants" if command.variants > 1 else "",
    ]
    return Styled(", ".join(filter(None, told)), "green" if command.worked >= command.failed else "red")
