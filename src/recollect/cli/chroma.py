"""`chroma`: the tools of chroma-mcp on a store, for claude-mem and whoever else talks to it."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from recollect.cli.open_memory import check_store
from recollect.cli.words import add_command
from recollect.config import load_config
from recollect.mcp.wire import claim, leave
from recollect.values.errors import UsageError

if TYPE_CHECKING:
    from recollect.cli.screen import Screen

_TYPES = ("http", "cloud", "persistent", "ephemeral")
_IGNORED = (
    "--host", "--port", "--custom-auth-credentials", "--tenant", "--database", "--api-key", "--ssl",
    "--dotenv-path",
)  # fmt: skip


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "chroma",
        "stand in for chroma-mcp: what claude-mem talks to",
        "Speaks the Model Context Protocol on stdin and stdout, with the tools of chroma-mcp 0.2.6 and its "
        "options; what it is given is kept in the store, and found by `recollect search`. docs/chroma.md "
        "says how claude-mem is told to start it.",
        (
            "recollect chroma --install-shim",
            "recollect chroma --install-shim --remove",
            "recollect chroma --client-type persistent --data-dir ~/.claude-mem/chroma",
        ),
    )
    command.add_argument(
        "--install-shim",
        nargs="?",
        const="",
        metavar="FOLDER",
        help="write the program uvx that claude-mem starts, into this folder or one of its own",
    )
    command.add_argument("--remove", action="store_true", help="with --install-shim: take it out again")
    command.add_argument(
        "--data-dir",
        metavar="FOLDER",
        help="which database: each folder is one of its own (default: CHROMA_DATA_DIR, or the store's own)",
    )
    command.add_argument(
        "--client-type",
        choices=_TYPES,
        help="ephemeral keeps nothing; http and cloud are for chroma-mcp itself (default: persistent)",
    )
    for name in _IGNORED:
        command.add_argument(name, metavar="X", help="an option of chroma-mcp, which means nothing here")


def chroma(args: argparse.Namespace, screen: Screen) -> int:
    """Write or remove the program, or serve."""
    if args.install_shim is not None:
        return _install(args, screen)
    if args.remove:
        raise UsageError("--remove is for --install-shim", hint="recollect chroma --install-shim --remove")
    kind = args.client_type or os.environ.get("CHROMA_CLIENT_TYPE") or "persistent"
    if kind in ("http", "cloud"):
        raise UsageError(
            f"a client of type {kind} talks to a Chroma elsewhere, and this keeps documents in a store here",
            hint="leave out --client-type, or run chroma-mcp itself",
        )
    _serve(args, screen, fleeting=kind == "ephemeral")
    return None


def _serve(args: argparse.Namespace, screen: Screen, *, fleeting: bool) -> NoReturn:
    """Answer until the client goes away."""
    check_store(args.store)
    wire = claim()
    if os.isatty(wire.incoming):
        screen.note("claude-mem starts this command and speaks MCP with it; --install-shim sets that up")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more cost memory, and gain nothing
    from recollect.chroma.opening import open_database
    from recollect.chroma.server import serve

    folder = args.data_dir or os.environ.get("CHROMA_DATA_DIR")
    data_dir = Path(folder).expanduser() if folder else None
    config = load_config(args.store)
    try:
        serve(wire, lambda: open_database(config, data_dir, fleeting=fleeting), _parent())
    except KeyboardInterrupt:
        leave(130)
    leave(0)
    return None


def _parent() -> int:
    """The process that started this, as the program that claude-mem starts tells it; it may be gone."""
    from recollect.chroma.shim import PARENT

    told = os.environ.pop(PARENT, "")
    return int(told) if told.isdecimal() else os.getppid()


def _install(args: argparse.Namespace, screen: Screen) -> int:
    from recollect.chroma.shim import VARIABLE, install, remove, shim_folder

    config = load_config(args.store)
    folder = Path(args.install_shim).expanduser() if args.install_shim else shim_folder(config)
    if args.remove:
        gone = remove(folder)
        if screen.json:
            screen.object("chroma", {"removed": str(gone) if gone else None})
        else:
            screen.line(f"removed {gone}" if gone else f"there is none of ours in {folder}")
        return 0
    path = install(folder, config)
    if screen.json:
        told = {"installed": str(path), "variable": VARIABLE, "value": str(path.parent)}
        screen.object("chroma", told)
        return 0
    screen.line(f"wrote {path}")
    screen.line(
        "claude-mem finds it by a variable, in your shell's profile or in the settings of your agent (env):"
    )
    screen.line(f"  export {VARIABLE}={shlex.quote(str(path.parent))}")
    screen.line("and uses it once its worker is started again")
    return 0
