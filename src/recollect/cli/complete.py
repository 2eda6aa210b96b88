"""`complete`: what a query's fields can be, and what a command line's last word can become.

Commands and options are completed from the one place that defines them.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from recollect.cli.columns import TITLE, Column
from recollect.cli.open_memory import open_memory
from recollect.cli.parser import build_parser, command_in
from recollect.cli.screen import Screen
from recollect.cli.words import add_command, limit
from recollect.values.errors import RecollectError
from recollect.values.text import one_line
from recollect.values.vocabulary import QUERY_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "complete",
        "values a query's field can have; what shells complete with",
        "Without a field it lists the fields; with one, its values in the store and how many entries have "
        "each. The scripts of `completion` ask with --words.",
        ("recollect complete", "recollect complete project", "recollect complete file src/"),
    )
    command.add_argument("field", nargs="?", metavar="FIELD", help="a field of the query language")
    command.add_argument("prefix", nargs="?", default="", metavar="PREFIX", help="what values begin with")
    command.add_argument(
        "--words",
        nargs=argparse.REMAINDER,
        metavar="WORD",
        help="the words of a command line so far; prints what the last one can become",
    )
    limit(command, 50, "values")


_QUERIES = ("search", "how", "digests")
_SESSIONS_MAX = 200


def complete(args: argparse.Namespace, screen: Screen) -> int:
    """Values of a field, the fields themselves, or what a command line's last word can become."""
    if args.words is not None:
        args.store = _option(args.words, "--store") or args.store
        for word in _candidates(args, args.words or [""]):
            screen.line(one_line(word))
        return 0
    if args.field is None:
        found = [(field, 0) for field in sorted(QUERY_FIELDS)]
    else:
        with open_memory(args) as memory:
            found = memory.complete(args.field, args.prefix, args.limit or 1_000_000)
    if screen.json:
        values = [{"value": value, "entries": count} for value, count in found]
        screen.object("complete", {"field": args.field or "", "prefix": args.prefix, "values": values})
        return 0
    counts = any(count for _, count in found)
    columns = [
        Column(args.field or "field", gives=TITLE),
        *([Column("entries", right=True)] if counts else []),
    ]
    rows = [[one_line(value, 200), *([f"{count:,}"] if counts else [])] for value, count in found]
    screen.table(columns, rows)
    return 0


# -- candidates ----------------------------------------------------------------------------


def _candidates(args: argparse.Namespace, words: Sequence[str]) -> Iterator[str]:
    """What the last word can become; nothing at all rather than an error while someone types."""
    *before, last = words
    parsers = _commands()
    name = command_in(before)
    if not name:
        yield from _fitting(parsers if not last.startswith("-") else _options(build_parser()), last)
    if name not in parsers:
        return
    choices = _choices(parsers[name], before[-1])
    if choices:
        yield from _fitting(choices, last)
    elif last.startswith("--") or last == "-":
        yield from _fitting(_options(parsers[name]), last)
    elif name in _QUERIES:
        yield from _query(args, last)
    elif name == "complete":
        yield from _fitting(sorted(QUERY_FIELDS), last)
    elif any(action.dest == "session" for action in parsers[name]._actions):
        yield from _values(args, "session", last)


def _option(words: Sequence[str], name: str) -> str | None:
    """What an option is given on the line that is being typed."""
    for option, value in pairwise(words):
        if option == name:
            return value
    return None


def _query(args: argparse.Namespace, word: str) -> Iterator[str]:
    """A field's name, a value of one, or what is mentioned."""
    minus = "-" if word.startswith("-") else ""
    field, colon, value = word[len(minus) :].rpartition(" ")[2].partition(":")
    lead = word[: len(word) - len(field + colon + value)]
    if field.startswith("@"):
        for each in _values(args, "entity", field[1:] + colon + value):
            yield f'{lead}@"{each}"' if " " in each else f"{lead}@{each}"
    elif not colon:
        yield from (f"{lead}{each}:" for each in _fitting(sorted(QUERY_FIELDS), field))
    elif field in QUERY_FIELDS:
        for each in _values(args, field, value):
            yield f'{lead}{field}:"{each}"' if " " in each else f"{lead}{field}:{each}"


def _values(args: argparse.Namespace, field: str, prefix: str) -> list[str]:
    try:
        with open_memory(args) as memory:
            return [value for value, _ in memory.complete(field, prefix, _SESSIONS_MAX)]
    except RecollectError:
        return []


def _fitting(words: Sequence[str] | dict[str, argparse.ArgumentParser], prefix: str) -> list[str]:
    return [word for word in words if word.startswith(prefix)]


def _commands() -> dict[str, argparse.ArgumentParser]:
    for action in build_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise AssertionError("the parser has commands")


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return [name for action in parser._actions for name in action.option_strings if name.startswith("--")]


def _choices(parser: argparse.ArgumentParser, option: str) -> list[str]:
    """What an option, or a command's only argument, is one of."""
    for action in parser._actions:
        named = option in action.option_strings if action.option_strings else action.dest == "shell"
        if named and action.choices:
            return [str(choice) for choice in action.choices]
    return []
