"""`migrate`: a memory that another program keeps in SQLite, taken in."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.cli.columns import TITLE, Column
from recollect.cli.merge import no_empty_store
from recollect.cli.progress import Progress
from recollect.cli.screen import Part, Screen, Styled
from recollect.cli.words import add_command, count
from recollect.config import load_config
from recollect.memory import Memory
from recollect.present.migration import migration_object
from recollect.values.errors import UsageError
from recollect.values.migration import PART_OF
from recollect.values.text import many, one_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from recollect.config import Config
    from recollect.values.migration import MigrationReport, TableReport

_REFUSED_LINES = 10


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "migrate",
        "take in a memory that another program keeps in SQLite",
        "Reads memories of chunks with embeddings (memory_chunks, sessions, entities, relations), and those "
        "of claude-mem, MemPalace, mcp-memory-service and Chroma, told by their tables; the database is "
        "never changed. Every row becomes a note with all its columns; what cannot be taken is listed. "
        "A second run adds nothing, takes over what changed, and leaves alone what you edited or deleted.",
        (
            "recollect migrate old.db -o memory.h5",
            "recollect migrate ~/.claude-mem/claude-mem.db --dry-run",
            "recollect migrate agent.db --skip-deleted --project harbor",
        ),
    )
    command.add_argument("database", nargs="?", default="", metavar="DATABASE", help="the SQLite file")
    command.add_argument("--sqlite", default="", metavar="DATABASE", help="the same")
    command.add_argument(
        "-o",
        "--output",
        "--hdf5",
        default=None,
        metavar="OUT.h5",
        help="into this store instead of your own; made if it is not there",
    )
    command.add_argument(
        "--as",
        dest="name",
        default="",
        metavar="NAME",
        help="what its sessions are called by (default: the file's name), and what it is known by in a "
        "second run (default: where it lies)",
    )
    command.add_argument("--project", default="", metavar="P", help="the project of rows that name none")
    command.add_argument("--agent-id", default="", metavar="A", help="the author of rows that name none")
    command.add_argument("--embedder", default="", metavar="M", help="the model of its vectors, to be noted")
    command.add_argument(
        "--embedding-dim",
        type=count,
        default=0,
        metavar="N",
        help="take the first N numbers of longer vectors (default: all of them)",
    )
    command.add_argument(
        "--skip-deleted",
        action="store_true",
        help="leave out rows that are marked as deleted; else they are kept as notes that were taken back",
    )
    command.add_argument(
        "--float16", action="store_true", help="round vectors to half precision, which packs smaller"
    )
    command.add_argument(
        "--compression", action="store_true", help="has no effect: everything in a store is packed"
    )
    command.add_argument("--compression-level", type=count, metavar="N", help="has no effect")
    command.add_argument("--dry-run", action="store_true", help="show what would be done, write nothing")
    command.add_argument("--verbose", action="store_true", help="also what becomes of each column")


def migrate(args: argparse.Namespace, screen: Screen) -> int:
    if bool(args.database) == bool(args.sqlite):
        raise UsageError("migrate takes one database", hint="recollect migrate old.db -o memory.h5")
    config, began = load_config(args.store), time.monotonic()
    if args.output is not None:
        config = replace(config, store=load_config(args.output).store)
    database = args.database or args.sqlite
    with _opened(config, dry_run=args.dry_run) as memory:
        progress = Progress(screen, "migrating", unit="rows")
        with progress.running():
            report = memory.migrate(
                database,
                name=args.name,
                project=args.project,
                author=args.agent_id,
                embedder=args.embedder,
                dims=args.embedding_dim,
                skip_deleted=args.skip_deleted,
                half=args.float16,
                dry_run=args.dry_run,
                progress=progress,
            )
        if not args.dry_run:
            memory.checkpoint()
    if screen.json:
        told = {"database": database, "store": str(config.store), "dry_run": args.dry_run}
        told["seconds"] = round(time.monotonic() - began, 3)
        screen.object("migration", told | migration_object(report))
        return 0
    _print(report, args, str(config.store), screen)
    return 0


@contextlib.contextmanager
def _opened(config: Config, *, dry_run: bool) -> Iterator[Memory]:
    """The store to take it into; for a dry run that has none, one that is gone afterwards."""
    if dry_run and not Memory.exists(config):
        with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
            nowhere = replace(config, store=load_config(os.path.join(folder, "memory.h5")).store)
            with Memory.open(config=nowhere) as memory:
                yield memory
        return
    with no_empty_store(config), Memory.open(config=config) as memory:
        yield memory


def _print(report: MigrationReport, args: argparse.Namespace, store: str, screen: Screen) -> None:
    read = {name: each for name, each in report.tables.items() if not each.left}
    rows_read = sum(each.rows for each in read.values())
    screen.line(f"{report.schema}: {many(rows_read, 'row')}" + " (dry run)" * args.dry_run)
    counted = [each for each in _COUNTED if each in ("added", "unchanged") or report.total(each)]
    columns = [Column("table"), Column("rows", right=True), *(Column(each, right=True) for each in counted)]
    rows: list[list[Part]] = [
        [one_line(name, 60), f"{each.rows:,}", *(f"{getattr(each, what):,}" for what in counted)]
        for name, each in read.items()
    ]
    screen.table(columns, rows)
    if args.verbose:
        _print_fields(read, screen)
    for name, each in report.tables.items():
        if each.left and (args.verbose or (each.rows and not each.left.startswith(PART_OF))):
            screen.line(
                Styled(f"not read: {one_line(name, 60)}", "dim"),
                f"  {each.rows:,}  {one_line(each.left, 80)}",
            )
    for reason, times in report.aside.items():
        screen.line(f"kept beside its place: {one_line(reason, 120)}  {times:,} times")
    for row in report.refused[:_REFUSED_LINES]:
        screen.line(f"not taken: {one_line(row.table, 60)} {one_line(row.key, 60)}: {one_line(row.reason)}")
    refused = report.total("refused")
    if refused > _REFUSED_LINES:
        screen.note(f"{refused:,} rows were not taken; --json names the first hundred")
    if not args.dry_run and report.total("added") + report.total("updated"):
        screen.note(f"they are in {one_line(store)}: `recollect notes` lists them, search finds them")


_COUNTED = ("added", "updated", "unchanged", "deleted", "gone", "skipped", "refused", "vectors", "graph")


def _print_fields(tables: dict[str, TableReport], screen: Screen) -> None:
    columns = [
        Column("column", gives=TITLE),
        Column("becomes"),
        Column("filled", right=True),
        Column("beside", right=True),
    ]
    rows: list[list[Part]] = [
        [one_line(f"{name}.{column}", 120), each.to, f"{each.filled:,}", f"{each.aside:,}"]
        for name, table in tables.items()
        for column, each in table.fields.items()
    ]
    screen.table(columns, rows)
