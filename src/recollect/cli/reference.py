"""`python -m recollect.cli.reference` writes docs/cli.md from the parser; a test compares the two.

The text is made from the parser's own definitions, not from its help output, because
argparse lays help out differently from one Python version to the next.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from recollect import cli
from recollect.cli.parser import build_parser

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.cli.words import Parser

_HEAD = """# The command line

Made from the parser by `python -m recollect.cli.reference`; do not edit by hand.

"""


def reference() -> str:
    """The whole of docs/cli.md."""
    parser = build_parser()
    commands = subcommands(parser)
    text = _HEAD + f"{parser.description}\n\n"
    text += "| command | what it does |\n|---|---|\n"
    text += "".join(f"| [`{name}`](#{name}) | {summary} |\n" for name, summary, _ in commands)
    text += "\n## For every command\n\nBefore or after the command's name.\n\n" + _options(parser)
    text += "\n## Exit codes\n\n" + _exit_codes()
    for name, _, command in commands:
        text += f"\n## {name}\n\n    {_usage(name, command)}\n\n{command.description}\n\n"
        own = _arguments(command)
        text += (own + "\n") if own else ""
        text += _examples(command)
    return text


def subcommands(parser: Parser) -> list[tuple[str, str, Parser]]:
    """Every command's name, summary and parser, in the order of the help."""
    found = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    summaries = {each.dest: each.help or "" for each in found._choices_actions}
    return [(name, summaries[name], command) for name, command in found.choices.items()]


def own_actions(command: Parser) -> Iterator[argparse.Action]:
    """The arguments that are not shared by all commands."""
    for action in command._actions:
        if action.dest != "help" and action.default != argparse.SUPPRESS:
            yield action


def _usage(name: str, command: Parser) -> str:
    words = ["recollect", name]
    for action in own_actions(command):
        word = _spelled(action, action.option_strings[:1])
        if not action.option_strings:
            words.append({"*": f"[{word}...]", "+": f"{word}..."}.get(str(action.nargs), word))
        else:
            words.append(word if action.required else f"[{word}]")
    return " ".join(words)


def _spelled(action: argparse.Action, names: Sequence[str] | None = None) -> str:
    value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    return (", ".join(action.option_strings if names is None else names) + value).strip()


def _arguments(command: Parser) -> str:
    return "".join(f"- `{_spelled(action)}`: {action.help}\n" for action in own_actions(command))


def _options(parser: Parser) -> str:
    shared = [a for a in parser._actions if a.option_strings and a.dest != "help"]
    return "".join(f"- `{_spelled(action)}`: {action.help}\n" for action in shared)


def _exit_codes() -> str:
    """The table in the package's own docstring, which is where the codes are defined for people."""
    assert cli.__doc__ is not None
    rows = []
    for line in cli.__doc__.splitlines():
        if line.startswith("    "):
            rows += [piece.strip() for piece in (line[:43], line[43:]) if piece.strip()]
    pairs = sorted((int(row.split()[0]), " ".join(row.split()[1:])) for row in rows)
    return "| code | meaning |\n|---|---|\n" + "".join(f"| {code} | {words} |\n" for code, words in pairs)


def _examples(command: Parser) -> str:
    assert command.epilog is not None
    lines = command.epilog.splitlines()[1:]
    return "```sh\n" + "".join(f"{line.strip()}\n" for line in lines) + "```\n"


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/cli.md")
    target.write_text(reference(), "utf-8")
