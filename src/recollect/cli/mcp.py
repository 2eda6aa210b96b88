"""`mcp`: the memory as a server that agents talk to, over standard input and output or over HTTP.

The first thing it does is to take standard output for the protocol, before anything else is imported that
might print.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

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
    """Serve until the client goes away. Does not come back: see `leave`."""
    if (args.port or args.token_file) and not args.http:
        raise UsageError("--port and --token-file are for --http", hint="recollect mcp --http --port 8977")
    check_store(args.store)
    wire = None if args.http else claim()
    if not os.environ.get("RECOLLECT_DEBUG"):
        _quiet()
    if wire is not None and os.isatty(wire.incoming):
        screen.note("an agent starts this command and speaks MCP with it; `recollect init` sets that up")
    try:
        if wire is None:
            from recollect.mcp.http import serve as serve_http

            serve_http(args.store, args.port, args.token_file, screen.note)
        else:
            from recollect.mcp.stdio import serve

            serve(wire, args.store)
    except ModuleNotFoundError as error:
        missing = f"the package {error.name} is missing"
        raise UsageError(missing, hint="pip install -U recollect mcp") from error
    except KeyboardInterrupt:
        leave(130)
    leave(0)


def _quiet() -> None:
    """Nobody reads a server's stderr, and a pipe that nobody reads fills up."""
    import logging
    import warnings

    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
