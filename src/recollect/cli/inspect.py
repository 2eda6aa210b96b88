"""`inspect`: what any Recollect file holds, by counts and record types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.columns import TITLE, Column
from recollect.cli.screen import Screen, Styled
from recollect.cli.store_lines import print_store
from recollect.cli.words import add_command
from recollect.config import load_config
from recollect.memory import Memory
from recollect.present.status import odd_text, store_object
from recollect.values.errors import StoreMissing
from recollect.values.text import many, one_line

if TYPE_CHECKING:
    import argparse


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "inspect",
        "look into any Recollect file",
        "What a .h5 file of Recollect holds, in use or not: counts, and the record types by name.",
        ("recollect inspect memory.h5", "recollect inspect backup.h5 --json"),
    )
    command.add_argument("file", metavar="FILE", help="a Recollect .h5 file")


def inspect(args: argparse.Namespace, screen: Screen) -> int:
    config = load_config(args.file)
    if config.path is not None and not config.path.exists():
        raise StoreMissing(config.path)
    with Memory.open(config=config, create=False) as memory, memory.view():
        store, info = store_object(memory), memory.info()
        odd, types = memory.odd_lines(), memory.types()
    counts = {
        "sessions": info.sessions,
        "sources": info.sources,
        "lines": info.lines,
        "entries": info.entries,
        "responses": info.responses,
    }
    ranked = sorted(types.items(), key=lambda item: (-item[1][0], item[0]))
    if screen.json:
        screen.object(
            "inspect",
            {
                "store": store,
                "counts": counts,
                "odd_lines": odd,
                "types": [{"name": name, "lines": count, "known": known} for name, (count, known) in ranked],
            },
        )
        return 0
    told = [(name, f"{count:,}") for name, count in counts.items() if name != "sources"]
    print_store(store, screen, *told, ("odd lines", odd_text(odd)))
    if ranked:
        screen.line("")
        screen.table(
            [Column("lines", right=True), Column("record type", gives=TITLE), Column("")],
            [
                [f"{n:,}", one_line(name, 80), "" if known else Styled("unknown", "yellow")]
                for name, (n, known) in ranked
            ],
        )
    unknown = sum(not known for _, (_, known) in ranked)
    if unknown:
        screen.note(f"{many(unknown, 'record type')} this version does not know; their lines are kept whole")
    return 0
