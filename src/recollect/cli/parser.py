"""The whole command line, put together from the commands' own files.

Every module of this folder that has `add_words` is a command, and its function has the command's name: a
new command is a new file. One that was named is all that is imported, so that a search does not wait for
the words of thirty others; help, and a word that is no command, look at all of them.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

from recollect.cli.words import Parser, Version, example_text, shared

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator
    from types import ModuleType

ABOUT = "The memory your coding agents run on: every conversation, lossless, in one file you own."

# The order of the help; commands that are not here follow behind.
_ORDER = (
    "start", "ingest", "search", "blame", "why", "how", "fix", "digest", "digests", "today", "week",
    "activity", "lessons", "facts", "remember", "notes", "show", "tail", "sessions", "projects", "usage",
    "status", "init", "hook", "watch", "fleet", "mcp", "chroma", "catalog", "threads", "thread", "entities",
    "entity", "graph", "recall", "assemble", "saved", "resume", "index", "export", "inspect", "convert",
    "merge", "migrate", "check", "reparse", "compact", "retention", "snapshot", "erase", "complete",
    "completion", "embedder",
)  # fmt: skip

_EXAMPLES = (
    "recollect init",
    "recollect ingest",
    "recollect search 'oauth refresh token'",
    "recollect sessions",
    "recollect tail 3f2a9c01",
)


def build_parser(words: Iterable[str] | None = None) -> Parser:
    """The parser of all commands; given the words of a command line, of the one they name."""
    parser = Parser(prog="recollect", description=ABOUT, epilog=example_text(_EXAMPLES))
    shared(parser, first=True)
    parser.add_argument("--version", action=Version, nargs=0, help="print the version and leave")
    parser.set_defaults(module="recollect.cli.parser", function="print_help")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    named = None if words is None else _command(command_in(words))
    for module in _commands() if named is None else (named,):
        module.add_words(commands)
    return parser


def print_help(args: argparse.Namespace, screen: object) -> int:
    """What the bare word `recollect` does."""
    build_parser().print_help()
    return 0


def command_in(words: Iterable[str]) -> str:
    """The first word that is no option, nor what an option takes."""
    takes = False
    for word in words:
        if not takes and not word.startswith("-"):
            return word
        takes = word == "--store"
    return ""


def _commands() -> Iterator[ModuleType]:
    names = [name.removesuffix(".py") for name in os.listdir(os.path.dirname(__file__))]
    for name in sorted(names, key=_place):
        if (module := _command(name)) is not None:
            yield module


def _command(name: str) -> ModuleType | None:
    """The file of a command, if that is what a word names."""
    if not (name.isascii() and name.isidentifier()) or name.startswith("_"):
        return None
    try:
        module = importlib.import_module(f"recollect.cli.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"recollect.cli.{name}":
            raise
        return None
    return module if hasattr(module, "add_words") else None


def _place(name: str) -> tuple[int, str]:
    return _ORDER.index(name) if name in _ORDER else len(_ORDER), name
