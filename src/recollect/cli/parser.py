"""Every word of the command line, each in one place: commands, options, help, examples.

Help texts and docs/cli.md are made from this. The surprise: the options that every
command shares stand before or after the command's name, so they are defined twice, the
second time without a default that would undo the first.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from recollect import __version__
from recollect.errors import UsageError

# By the words of `recollect.records.Kind`, which a test compares.
KINDS = ("prompt", "answer", "thought", "call", "result", "image", "summary", "context", "event", "unknown")
GROUPINGS = ("day", "model", "project", "session", "agent")
FORMATS = ("raw", "jsonl", "markdown")

ABOUT = "The memory your coding agents run on: every conversation, lossless, in one file you own."


class Parser(argparse.ArgumentParser):
    """A parser that raises our error instead of leaving the process, and takes no shortened options."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", _Formatter)
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"{self.prog} --help")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the examples as written."""

    def __init__(self, prog: str, **options: Any) -> None:
        options.setdefault("max_help_position", 30)
        super().__init__(prog, **options)


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        print(f"recollect {__version__}")
        parser.exit()


def build_parser() -> Parser:
    """The whole command line."""
    parser = Parser(prog="recollect", description=ABOUT, epilog=_examples(_EXAMPLES))
    _shared(parser, first=True)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and leave")
    parser.set_defaults(module="recollect.cli.parser", function="print_help")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    for add in (
        _start, _ingest, _status, _sessions, _show, _tail, _usage, _export, _inspect, _convert, _check,
        _reparse, _compact, _snapshot,
    ):  # fmt: skip
        add(commands)
    return parser


def print_help(args: argparse.Namespace, screen: object) -> int:
    """What the bare word `recollect` does."""
    build_parser().print_help()
    return 0


_EXAMPLES = ("recollect ingest", "recollect sessions", "recollect tail 3f2a9c01")


def _start(commands: Any) -> None:
    _command(
        commands, "start", "the first look: this machine's logs, or a sample where there are none",
        "Takes in whatever Claude Code and Codex have written on this machine and says what is now "
        "safe. Where they have written nothing, it shows itself on two invented conversations, in "
        "sample.h5 in the current folder.",
        ("recollect start",),
    )  # fmt: skip


def _ingest(commands: Any) -> None:
    command = _command(
        commands, "ingest", "take in everything new from your agents' logs",
        "Reads what Claude Code and Codex have written on this machine, or the files and folders you "
        "name, and keeps every line of it. Only what is new since the last time is read. Stopping it "
        "with Ctrl-C is safe at any moment.",
        ("recollect ingest", "recollect ingest --dry-run", "recollect ingest ~/backup/claude-logs"),
    )  # fmt: skip
    command.add_argument(
        "paths", nargs="*", metavar="PATH",
        help="files or folders to read; without any, the folders of the agents on this machine "
        "(~/.claude, ~/.codex, or where CLAUDE_CONFIG_DIR and CODEX_HOME point)",
    )  # fmt: skip
    command.add_argument("--dry-run", action="store_true", help="report what would be taken, change nothing")


def _status(commands: Any) -> None:
    _command(
        commands, "status", "what is in the store, how fresh it is, what is at risk",
        "Counts, sizes and age of the store, which logs changed since the last ingest, and which are "
        "about to be deleted by the agent that wrote them. Reads no log, only looks at the files' dates.",
        ("recollect status", "recollect status --json"),
    )  # fmt: skip


def _sessions(commands: Any) -> None:
    command = _command(
        commands, "sessions", "list sessions, the most recently active first",
        "One row per session. The id shown is the shortest that names it; every command takes it, or "
        "any longer piece of the beginning of the full id.",
        ("recollect sessions", "recollect sessions --project harbor --limit 5",
         "recollect sessions --agent codex --all"),
    )  # fmt: skip
    command.add_argument("--project", metavar="P", help="only projects whose name contains P")
    command.add_argument("--agent", metavar="A", help="only sessions of this agent: claude or codex")
    command.add_argument(
        "--limit", type=_count, default=20, metavar="N", help="at most N rows, 0 for all (default: 20)"
    )
    command.add_argument("--all", action="store_true", help="subagents' sessions too")


def _show(commands: Any) -> None:
    command = _command(
        commands, "show", "read a session from start to end",
        "The transcript as a person reads it: who spoke, when, which tool was called with what, and the "
        "beginning of what it gave back. With --json every entry is there, whole.",
        ("recollect show 3f2a9c01", "recollect show 3f2a9c01 --kind prompt --kind answer",
         "recollect show 3f2a9c01 --full | less"),
    )  # fmt: skip
    _session(command)
    _transcript(command)


def _tail(commands: Any) -> None:
    command = _command(
        commands, "tail", "read the end of a session",
        "The last entries of a session, in the form `show` has.",
        ("recollect tail 3f2a9c01", "recollect tail 3f2a9c01 -n 5 --full", "recollect tail 3f2a9c01 --json"),
    )  # fmt: skip
    _session(command)
    command.add_argument(
        "-n", "--count", type=_count, default=20, metavar="N", help="how many entries (default: 20)"
    )
    _transcript(command)


def _transcript(command: Parser) -> None:
    command.add_argument(
        "--kind", action="append", choices=KINDS, metavar="KIND", default=[],
        help=f"only entries of this kind, and of others named the same way: {', '.join(KINDS)}",
    )  # fmt: skip
    command.add_argument(
        "--all",
        action="store_true",
        help="also bookkeeping events and repeated entries (--json always has them)",
    )
    command.add_argument("--full", action="store_true", help="print long texts whole")
    command.add_argument(
        "--lines", type=_count, default=12, metavar="N",
        help="lines of each tool result or other long text that are printed (default: 12)",
    )  # fmt: skip


def _usage(commands: Any) -> None:
    command = _command(
        commands, "usage", "tokens and cost, every response counted once",
        "Tokens by kind and their cost at list prices. A model without a known price is shown as "
        "unknown, never as zero. --explain names the log lines behind the figures.",
        ("recollect usage", "recollect usage --by model",
         "recollect usage --by day --explain --group 2026-03-02"),
    )  # fmt: skip
    command.add_argument(
        "--by", choices=GROUPINGS, default="day", metavar="GROUPING",
        help=f"what to group by: {', '.join(GROUPINGS)} (default: day)",
    )  # fmt: skip
    command.add_argument(
        "--explain", action="store_true", help="list the responses behind the figures, dearest first"
    )
    command.add_argument(
        "--group",
        metavar="G",
        help="with --explain: only this group, named as in the table (default: everything)",
    )
    command.add_argument(
        "--limit", type=_count, default=20, metavar="N",
        help="with --explain: at most N lines, 0 for all (default: 20)",
    )  # fmt: skip


def _export(commands: Any) -> None:
    command = _command(
        commands, "export", "write a session to a file",
        "`raw` is the agent's own file, byte for byte; `jsonl` one JSON object per entry; `markdown` for "
        "reading. The file appears whole or not at all, readable by you only.",
        ("recollect export 3f2a9c01 --to raw -o session.jsonl",
         "recollect export 3f2a9c01 --to markdown -o session.md",
         "recollect export 3f2a9c01 --to jsonl -o - | jq .kind"),
    )  # fmt: skip
    _session(command)
    command.add_argument(
        "--to", choices=FORMATS, required=True, metavar="FORMAT", help=f"one of {', '.join(FORMATS)}"
    )
    command.add_argument(
        "-o", "--output", required=True, metavar="FILE",
        help="where to write; - for stdout (raw only into a pipe or file)",
    )  # fmt: skip
    command.add_argument("--force", action="store_true", help="replace FILE if it exists")


def _inspect(commands: Any) -> None:
    command = _command(
        commands, "inspect", "look into any Recollect file",
        "What a .h5 file of Recollect holds, in use or not: counts, and the record types by name.",
        ("recollect inspect memory.h5", "recollect inspect backup.h5 --json"),
    )  # fmt: skip
    command.add_argument("file", metavar="FILE", help="a Recollect .h5 file")


def _convert(commands: Any) -> None:
    command = _command(
        commands, "convert", "put log files into a new store of their own",
        "Makes a store at OUT.h5 from the named files and folders and leaves your own store alone.",
        ("recollect convert session.jsonl -o session.h5",
         "recollect convert ~/old-logs more.jsonl -o archive.h5 --append"),
    )  # fmt: skip
    command.add_argument("paths", nargs="+", metavar="FILE", help="log files or folders of them")
    command.add_argument("-o", "--output", required=True, metavar="OUT.h5", help="the store to make")
    command.add_argument("--append", action="store_true", help="add to OUT.h5 if it exists")


def _check(commands: Any) -> None:
    command = _command(
        commands, "check", "verify every byte of the store",
        "Reads everything and compares it with its checksums. Exit code 1 means damage was found. "
        "--repair keeps every good record in a new file and moves the damaged one aside; nothing is deleted.",
        ("recollect check", "recollect check --repair"),
    )  # fmt: skip
    command.add_argument(
        "--repair", action="store_true", help="save what is good, move the damaged file aside"
    )


def _reparse(commands: Any) -> None:
    _command(
        commands, "reparse", "read the stored lines again with today's parsers",
        "After an upgrade: entries are made anew from the lines in the store, whether or not the logs "
        "still exist. No line is changed.",
        ("recollect reparse",),
    )  # fmt: skip


def _compact(commands: Any) -> None:
    _command(
        commands, "compact", "write the store anew without slack",
        "Makes the file as small as it can be. Every line stays.",
        ("recollect compact",),
    )  # fmt: skip


def _snapshot(commands: Any) -> None:
    command = _command(
        commands, "snapshot", "copy the store to one file, safely, while in use",
        "A whole and consistent copy, what waits in the journal included, that opens like any store.",
        ("recollect snapshot /backup/memory-monday.h5",),
    )  # fmt: skip
    command.add_argument("destination", metavar="DEST", help="the file to make; it must not exist")


def _command(commands: Any, name: str, summary: str, about: str, examples: Sequence[str]) -> Parser:
    command: Parser = commands.add_parser(
        name, help=summary, description=about, epilog=_examples(examples), formatter_class=_Wrapped
    )
    _shared(command, first=False)
    module = _MODULES.get(name, name)
    command.set_defaults(module=f"recollect.cli.{module}", function=name, command=name)
    return command


_MODULES = {"tail": "show", "check": "upkeep", "reparse": "upkeep", "compact": "upkeep", "snapshot": "upkeep"}


class _Wrapped(_Formatter):
    """Also wraps the description, and still keeps the examples as written."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("examples:"):
            return super()._fill_text(text, width, indent)
        return argparse.HelpFormatter._fill_text(self, text, width, indent)


def _session(command: Parser) -> None:
    command.add_argument(
        "session", metavar="SESSION", help="the beginning of a session's id, as long as it fits only one"
    )


def _shared(parser: Parser, *, first: bool) -> None:
    """The options every command takes, before or after its name."""
    group = parser.add_argument_group("options for every command")

    def unset(default: Any) -> Any:
        return default if first else argparse.SUPPRESS

    group.add_argument(
        "--store", metavar="PATH", default=unset(None),
        help="the store to use (default: RECOLLECT_STORE, the config file, or the platform's data folder)",
    )  # fmt: skip
    group.add_argument(
        "--json", action="store_true", default=unset(False),
        help="print one JSON object, described in docs/json.md; a failure is an object too",
    )  # fmt: skip
    group.add_argument(
        "--no-color", action="store_true", default=unset(False), help="no colour; NO_COLOR does the same"
    )
    group.add_argument(
        "--quiet", action="store_true", default=unset(False), help="no progress and no notes on stderr"
    )


def _examples(lines: Sequence[str]) -> str:
    return "examples:\n" + "\n".join(f"  {line}" for line in lines)


def _count(text: str) -> int:
    """A whole number, not negative."""
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 on")
    return int(text)
