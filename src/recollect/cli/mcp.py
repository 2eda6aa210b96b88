"""`mcp`: the memory as a server that agents talk to, over standard input and output or over HTTP.

The first thing it does is to take standard output for the protocol, before anything else is imported that
might print.
"""

from __future__ import annotations

import argparse
import os

from recollect.cli.screen import Screen
from recollect.mcp.wire import claim, leave
from recollect.values.errors import UsageError


def mcp(args: argparse.Namespace, screen: Screen) -> int:
    """Serve until the client goes away. Does not come back: see `leave`."""
    if (args.port or args.token_file) and not args.http:
        raise UsageError("--port and --token-file are for --http", hint="recollect mcp --http --port 8977")
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
