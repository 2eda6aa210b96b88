"""The words of the commands that work with the agents: set up, capture, remember, answer."""

from __future__ import annotations

import argparse
from typing import Any

from recollect.cli.words import Parser, add_command, count, limit
from recollect.hooks.state import CATALOG_TOKENS
from recollect.present.agents import Names, enumeration, names

_PORT_MAX = 65_535
PAGES = ("markdown", "html", "json")
HOOK_ACTIONS = ("install", "remove", "status")


def _init(commands: Any) -> None:
    command = add_command(
        commands,
        "init",
        "set everything up: past logs, hooks, the MCP server",
        "One pass that can be repeated: takes in the past logs of the agents on this machine, then "
        "offers to put the hook and the MCP server into each agent's settings, showing the exact change "
        "first. From then on every conversation is captured as it happens, and each new one knows what "
        "went before. --remove takes out exactly what was put in and keeps the store.",
        ("recollect init", "recollect init --dry-run", "recollect init --remove --yes"),
    )
    command.add_argument("--yes", action="store_true", help="make the changes without asking")
    command.add_argument("--dry-run", action="store_true", help="show every change, make none")
    command.add_argument("--remove", action="store_true", help="take out what was put in; the store stays")
    _agents(command)
    command.add_argument("--no-hooks", action="store_true", help="leave the hooks out")
    command.add_argument("--no-mcp", action="store_true", help="leave the MCP server out")
    command.add_argument("--no-ingest", action="store_true", help="do not take in past logs now")


def _hook(commands: Any) -> None:
    command = add_command(
        commands,
        "hook",
        "install, remove or look at the hooks alone",
        "A hook appends what is new in a conversation to the store's journal at each of its events, in "
        "milliseconds, and never stops the agent. `status` says where it is installed, what it captured "
        "last and what went wrong last.",
        (
            "recollect hook status",
            f"recollect hook install --agent {names('settings')[0]}",
            "recollect hook remove --project",
        ),
    )
    command.add_argument("action", choices=HOOK_ACTIONS, metavar="ACTION", help=", ".join(HOOK_ACTIONS))
    _agents(command)
    command.add_argument(
        "--project", action="store_true", help="in the settings of the current folder, not in your own"
    )


def _agents(command: Parser) -> None:
    known = Names("settings")
    command.add_argument(
        "--agent",
        action="append",
        choices=known,
        metavar="AGENT",
        help=f"only this agent, may be repeated: {known} (default: those on this machine)",
    )


def _watch(commands: Any) -> None:
    command = add_command(
        commands,
        "watch",
        "follow all agents' logs and keep everything fresh",
        "For agents without hooks, or as a safety net: takes in what is new the moment it is written, "
        "folds the journal and keeps the indexes up to date, until Ctrl-C. --install writes a service "
        "for systemd or launchd that does this in the background, and says how to start it.",
        ("recollect watch", "recollect watch --once", "recollect watch --install"),
    )
    command.add_argument("--poll", action="store_true", help="look at the files instead of being notified")
    command.add_argument(
        "--interval",
        type=_positive,
        default=5,
        metavar="SECONDS",
        help="between looks when polling (default: 5)",
    )
    action = command.add_mutually_exclusive_group()
    action.add_argument("--once", action="store_true", help="one round, then leave: for cron")
    action.add_argument("--install", action="store_true", help="write a user service for this")
    action.add_argument("--remove", action="store_true", help="take that service out")


def _mcp(commands: Any) -> None:
    command = add_command(
        commands,
        "mcp",
        "answer an agent's questions: the MCP server",
        "Speaks the Model Context Protocol on stdin and stdout; agents start it themselves after "
        "`recollect init`. docs/mcp.md has the tools.",
        ("recollect mcp", "recollect mcp --http --port 8977"),
    )
    command.add_argument(
        "--http", action="store_true", help="streamable HTTP on 127.0.0.1, with a token, instead of stdin"
    )
    command.add_argument(
        "--port", type=_port, default=0, metavar="N", help="with --http (default: a free one)"
    )
    command.add_argument(
        "--token-file", metavar="FILE", help="where the token is kept (default: mcp-token beside the store)"
    )


def _positive(text: str) -> int:
    """A whole number from 1 on."""
    if not count(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return count(text)


def _port(text: str) -> int:
    """A port's number."""
    if count(text) > _PORT_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: they end at {_PORT_MAX}")
    return count(text)


def _catalog(commands: Any) -> None:
    command = add_command(
        commands,
        "catalog",
        "what a new conversation is told about a project",
        "Exactly the text that the hook gives to a conversation when it starts: recent threads, "
        "decisions, files, open ends. Made from the store alone.",
        ("recollect catalog", "recollect catalog --project ada/harbor --budget-tokens 1200"),
    )
    command.add_argument(
        "--project",
        default="",
        metavar="P",
        help="a project's name or a part of it (default: that of the current folder)",
    )
    _budget(command, CATALOG_TOKENS)


def _threads(commands: Any) -> None:
    command = add_command(
        commands,
        "threads",
        "conversations with everything that continued them",
        "A thread is a session with those that resumed it, were forked from it or went on after a "
        "compaction; the most recently active first.",
        ("recollect threads", "recollect threads --project harbor"),
    )
    command.add_argument("--project", default="", metavar="P", help="only projects whose name contains P")
    limit(command, 20, "threads")


def _recall(commands: Any) -> None:
    command = add_command(
        commands,
        "recall",
        "a wall of excerpts on a question, within a budget of tokens",
        "What a model should read before it answers: the most relevant exchanges of earlier "
        "conversations, each with its source, cut to the budget by relevance. `search` finds single "
        "entries; this stitches them together.",
        (
            "recollect recall 'why were users logged out'",
            "recollect recall 'how do we deploy' --term staging --term rollback --budget-tokens 4000",
        ),
    )
    command.add_argument("question", nargs="+", metavar="QUESTION", help="what you want to know")
    command.add_argument(
        "--term", action="append", default=[], metavar="T", help="a word that matters; may be repeated"
    )
    _budget(command, 8_000)
    command.add_argument("--project", default="", metavar="P", help="prefer projects whose name contains P")
    command.add_argument("--strict", action="store_true", help="look at nothing but that project")


def _assemble(commands: Any) -> None:
    exports = Names("writer", *PAGES)
    command = add_command(
        commands,
        "assemble",
        "choose what a task needs out of all conversations, and open it in an agent",
        "Finds what fits a description in many ways, takes whole exchanges, divides the budget over "
        "what is asked for, and puts them in order of time. Without --export it shows what it would "
        "take. With it, the result is a session that the agent opens as its own past, or a page to "
        "share; secrets are masked.",
        (
            "recollect assemble 'Chrome extension auth flow, OAuth tokens' --budget-tokens 60000",
            f"recollect assemble 'the importer and its tests' --export {names('writer')[0]}",
            "recollect assemble 'why we moved to tantivy' --export markdown -o why.md",
        ),
    )
    command.add_argument("description", nargs="*", metavar="DESCRIPTION", help="what the next work is about")
    _budget(command, 60_000)
    command.add_argument("--save", metavar="NAME", help="keep it in the store under this name")
    command.add_argument("--saved", metavar="NAME", help="take one that was kept instead of a description")
    command.add_argument(
        "--export",
        choices=exports,
        metavar="TO",
        help=f"one of {exports}; {enumeration(names('writer'))} print the command that opens it",
    )
    command.add_argument("-o", "--output", metavar="FILE", help="the file of a page; - for stdout")
    _delivery(command)


def _saved(commands: Any) -> None:
    command = add_command(
        commands,
        "saved",
        "threads you assembled and kept: list, look into, edit",
        "Without words it lists the threads that `assemble --save` kept. With an action: show NAME, "
        "drop NAME PIECE, pin NAME PIECE, unpin NAME PIECE, move NAME PIECE TO, rename NAME NEW, "
        "delete NAME. A piece keeps its number; TO is a place in the order, from 1. What is pinned "
        "cannot be dropped, and stays when a smaller budget has no room for everything.",
        ("recollect saved", "recollect saved show auth", "recollect saved move auth 7 1"),
    )
    command.add_argument("words", nargs="*", metavar="WORD", help="an action, and what it is about")


def _resume(commands: Any) -> None:
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
    _delivery(command)


def _delivery(command: Parser) -> None:
    command.add_argument(
        "--into", metavar="DIR", help="the folder the agent will be started in (default: the current one)"
    )
    command.add_argument("--no-redact", action="store_true", help="keep secrets as they are")
    command.add_argument("--dry-run", action="store_true", help="show what would be done, write nothing")


def _budget(command: Parser, default: int) -> None:
    command.add_argument(
        "--budget-tokens",
        type=count,
        default=default,
        metavar="N",
        help=f"at most about N tokens of a model's context (default: {default:,})",
    )


AGENT_COMMANDS = (_init, _hook, _watch, _mcp, _catalog, _threads, _recall, _assemble, _saved, _resume)
