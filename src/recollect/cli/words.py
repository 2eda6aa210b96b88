"""What commands of the command line are made of: a parser that raises, shared options, examples.

The options that every command shares stand before or after the command's name, so they are
defined twice, the second time without a default that would undo the first.
"""

from __future__ import annotations

import argparse
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn

from recollect import __version__
from recollect.values.errors import UsageError
from recollect.values.vocabulary import KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence


class Parser(argparse.ArgumentParser):
    """A parser that raises our error instead of leaving the process, and takes no shortened options."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", _Formatter)
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        minus = message.startswith("unrecognized arguments: -")
        hint = "; what begins with a minus and is no option stands behind --" if minus else ""
        if meant := self._meant(message):
            message = f"{message.partition(' (choose from')[0]}: {meant}"
        raise UsageError(message, hint=f"{self.prog} --help{hint}")

    def _meant(self, message: str) -> str:
        """What was probably meant by a word that is none of those to choose from, or by an option."""
        from recollect.values.close import did_you_mean, near_names

        chosen = re.search(r"invalid choice: '(.*)' \(choose from (.*)\)$", message)
        if chosen:
            return did_you_mean(near_names(chosen[1], [name.strip("'") for name in chosen[2].split(", ")]))
        odd = re.match(r"unrecognized arguments: (--[\w-]+)", message)
        return did_you_mean(near_names(odd[1], self._options())) if odd else ""

    def _options(self) -> list[str]:
        """The options of this parser, and of the commands it knows."""
        below = [each.choices for each in self._actions if isinstance(each, argparse._SubParsersAction)]
        parsers = [self, *(parser for choices in below for parser in choices.values())]
        return [name for parser in parsers for name in parser._option_string_actions]


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
    command.set_defaults(module=f"recollect.cli.{name}", function=name, command=name)
    return command


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
        "--no-pager",
        action="store_true",
        default=unset(False),
        help="print long output instead of opening it in RECOLLECT_PAGER, PAGER or less",
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


def day(text: str) -> datetime:
    """The beginning of a day, in UTC."""
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day, such as 2026-03-01") from None


def session_argument(command: Parser, *, optional: bool = False) -> None:
    command.add_argument(
        "session",
        metavar="SESSION",
        nargs="?" if optional else None,
        help="the beginning of a session's id, as long as it fits only one; or a hit's id, for its session",
    )


def transcript_options(command: Parser) -> None:
    command.add_argument(
        "--kind",
        action="append",
        choices=KINDS,
        metavar="KIND",
        default=[],
        help=f"only entries of this kind, and of others named the same way: {', '.join(KINDS)}",
    )
    command.add_argument(
        "--all",
        action="store_true",
        help="also bookkeeping events and repeated entries (--json always has them)",
    )
    command.add_argument("--full", action="store_true", help="print long texts whole")
    command.add_argument(
        "--lines",
        type=count,
        default=12,
        metavar="N",
        help="lines of each tool result or other long text that are printed (default: 12)",
    )


def delivery_options(command: Parser) -> None:
    command.add_argument(
        "--into", metavar="DIR", help="the folder the agent will be started in (default: the current one)"
    )
    command.add_argument("--no-redact", action="store_true", help="keep secrets as they are")
    command.add_argument("--dry-run", action="store_true", help="show what would be done, write nothing")


def budget_option(command: Parser, default: int) -> None:
    command.add_argument(
        "--budget-tokens",
        type=count,
        default=default,
        metavar="N",
        help=f"at most about N tokens of a model's context (default: {default:,})",
    )


def agents_option(command: Parser) -> None:
    from recollect.present.agents import Names

    known = Names("settings")
    command.add_argument(
        "--agent",
        action="append",
        choices=known,
        metavar="AGENT",
        help=f"only this agent, may be repeated: {known} (default: those on this machine)",
    )
