"""What commands of the command line are made of: a parser that raises, shared options, examples.

The surprise: the options that every command shares stand before or after the command's
name, so they are defined twice, the second time without a default that would undo the first.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from recollect import __version__
from recollect.values.errors import UsageError


class Parser(argparse.ArgumentParser):
    """A parser that raises our error instead of leaving the process, and takes no shortened options."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", _Formatter)
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        minus = message.startswith("unrecognized arguments: -")
        hint = "; what begins with a minus and is no option stands behind --" if minus else ""
        raise UsageError(message, hint=f"{self.prog} --help{hint}")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the examples as written."""

    def __init__(self, prog: str, **options: Any) -> None:
        options.setdefault("max_help_position", 30)
        super().__init__(prog, **options)


class Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        print(f"recollect {__version__}")
        parser.exit()


def limit(command: Parser, default: int, what: str) -> None:
    command.add_argument(
        "-n",
        "--limit",
        type=count,
        default=default,
        metavar="N",
        help=f"at most N {what} (default: {default})",
    )


def add_command(commands: Any, name: str, summary: str, about: str, examples: Sequence[str]) -> Parser:
    command: Parser = commands.add_parser(
        name, help=summary, description=about, epilog=example_text(examples), formatter_class=_Wrapped
    )
    shared(command, first=False)
    module = _MODULES.get(name, name)
    command.set_defaults(module=f"recollect.cli.{module}", function=name, command=name)
    return command


_MODULES = {
    "tail": "show", "blame": "history", "how": "history", "fix": "history", "check": "upkeep",
    "reparse": "upkeep", "compact": "upkeep", "snapshot": "upkeep", "completion": "complete",
    "saved": "curated",
}  # fmt: skip


class _Wrapped(_Formatter):
    """Also wraps the description, and still keeps the examples as written."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("examples:"):
            return super()._fill_text(text, width, indent)
        return argparse.HelpFormatter._fill_text(self, text, width, indent)


def shared(parser: Parser, *, first: bool) -> None:
    """The options every command takes, before or after its name."""
    group = parser.add_argument_group("options for every command")

    def unset(default: Any) -> Any:
        return default if first else argparse.SUPPRESS

    group.add_argument(
        "--store",
        metavar="PATH",
        default=unset(None),
        help="the store to use, a path or URL (default: RECOLLECT_STORE, the config file, "
        "or the platform's data folder)",
    )
    group.add_argument(
        "--json",
        action="store_true",
        default=unset(False),
        help="print one JSON object, described in docs/json.md; a failure is an object too",
    )
    group.add_argument(
        "--no-color", action="store_true", default=unset(False), help="no colour; NO_COLOR does the same"
    )
    group.add_argument(
        "--quiet", action="store_true", default=unset(False), help="no progress and no notes on stderr"
    )


def example_text(lines: Sequence[str]) -> str:
    return "examples:\n" + "\n".join(f"  {line}" for line in lines)


def count(text: str) -> int:
    """A whole number, not negative."""
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 on")
    return int(text)
