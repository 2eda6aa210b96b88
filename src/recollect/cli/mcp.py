"""`mcp`: the memory as a server that agents talk to, over standard input and output or over HTTP.

The first thing it does is to take standard output for the protocol, before anything else is imported that
might print.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any, NoReturn

from recollect.cli.open_memory import check_store
from recollect.cli.words import add_command, count
from recollect.mcp.wire import claim, leave
from recollect.values.errors import UsageError

if TYPE_CHECKING:
    from recollect.cli.screen import Screen


def add_words(commands: Any) -> None:
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
        "--snippet",
        action="store_true",
        help="print a paragraph for AGENTS.md that tells an agent how to use it",
    )
    command.add_argument(
        "--prefix",
        action="store_true",
        help="call every tool memory_..., where other servers have the same names",
    )
    command.add_argument(
        "--port", type=_port, default=0, metavar="N", help="with --http (default: a free one)"
    )
    command.add_argument(
        "--token-file", metavar="FILE", help="where the token is kept (default: mcp-token beside the store)"
    )


_PORT_MAX = 65_535


def _port(text: str) -> int:
    """A port's number."""
    if count(text) > _PORT_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: they end at {_PORT_MAX}")
    return count(text)


def mcp(args: argparse.Namespace, screen: Screen) -> int:
    """Serve until the client goes away, or say how to use what is served."""
    if (args.port or args.token_file) and not args.http:
        raise UsageError("--port and --token-file are for --http", hint="recollect mcp --http --port 8977")
    return _snippet(args, screen) if args.snippet else _serve(args, screen)


def _serve(args: argparse.Namespace, screen: Screen) -> NoReturn:
    """Does not come back: see `leave`."""
    check_store(args.store)
    wire = None if args.http else claim()
    if not os.environ.get("RECOLLECT_DEBUG"):
        _quiet()
    if wire is not None and os.isatty(wire.incoming):
        screen.note("an agent starts this command and speaks MCP with it; `recollect init` sets that up")
    try:
        if wire is None:
            from recollect.mcp.http import serve as serve_http

            serve_http(args.store, args.port, args.token_file, screen.note, prefixed=args.prefix)
        else:
            from recollect.mcp.stdio import serve

            serve(wire, args.store, prefixed=args.prefix)
    except ModuleNotFoundError as error:
        missing = f"the package {error.name} is missing"
        raise UsageError(missing, hint="pip install -U recollect mcp") from error
    except KeyboardInterrupt:
        leave(130)
    leave(0)


def _snippet(args: argparse.Namespace, screen: Screen) -> int:
    """What a project's instructions may say of the memory, for any agent that reads them."""
    from recollect.mcp.tools import instructions

    text = f"## Memory\n\n{instructions(prefix=args.prefix)}"
    if screen.json:
        screen.object("snippet", {"text": text})
    else:
        for line in text.splitlines():
            screen.line(line)
    return 0


def _quiet() -> None:
    """Nobody reads a server's stderr, and a pipe that nobody reads fills up."""
    import logging
    import warnings

    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
