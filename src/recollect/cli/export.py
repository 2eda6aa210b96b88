"""`export`: a session to a file or a pipe."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.part import STORE, check_words, export_part, part_options
from recollect.cli.words import add_command, session_argument
from recollect.memory import Memory
from recollect.memory.machine import check_target, spooled, write_target
from recollect.present.jsonl import jsonl
from recollect.values.errors import UsageError
from recollect.values.text import many, size
from recollect.values.vocabulary import FORMS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from recollect.cli.screen import Screen

_NAMED_MAX = 20  # lines that were altered


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "export",
        "write a session, or a part of the memory, to a file",
        "`raw` is the agent's own file, byte for byte; `jsonl` one JSON object per entry; both as they were. "
        "`markdown`, `html` and `json` (docs/briefings.md) are for reading and sharing: secrets in them are "
        "masked. `store` makes a store of its own of a part of the memory (docs/merge.md), masked too. The "
        "file appears whole or not at all, readable by you only.",
        (
            "recollect export 3f2a9c01 --to raw -o session.jsonl",
            "recollect export 3f2a9c01 --to markdown -o session.md",
            "recollect export --project harbor --since 2026-03-01 --to store -o harbor.h5",
        ),
    )
    session_argument(command, optional=True)
    command.add_argument(
        "--to",
        choices=(*FORMS, STORE),
        required=True,
        metavar="FORMAT",
        help=f"one of {', '.join(FORMS)} and {STORE}",
    )
    command.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="where to write; - for stdout (raw only into a pipe or file)",
    )
    command.add_argument("--force", action="store_true", help="replace FILE if it exists")
    command.add_argument("--no-redact", action="store_true", help="keep secrets as they are")
    part_options(command)


def export(args: argparse.Namespace, screen: Screen) -> int:
    """The session as asked for: exact for programs, without its secrets for people."""
    check_words(args)
    if args.to == STORE:
        return export_part(args, screen)
    if args.output == "-":
        return _to_stdout(args, screen)
    target = Path(args.output)
    check_target(target, force=args.force)
    with open_memory(args) as memory, memory.view():
        session = memory.session(args.session).facts.id
        written = write_target(target, _pieces(memory, session, args), force=args.force)
        masked = args.to not in ("raw", "jsonl") and not args.no_redact
        memory.note_copy(target, "export", [session], masked=masked)
        altered = _tell_thinned(memory, session, args, screen)
    if screen.json:
        told: dict[str, Any] = {"session": session, "to": args.to, "path": str(target), "bytes": written}
        screen.object("export", {**told, "altered": altered})
        return 8 if altered else 0
    screen.line(f"{target}: {size(written)}, session {session} as {args.to}")
    return 8 if altered else 0


def _to_stdout(args: argparse.Namespace, screen: Screen) -> int:
    if screen.json:
        raise UsageError("--json and -o - both want stdout", hint="name a file with -o")
    if args.to == "raw" and sys.stdout.isatty():
        raise UsageError(
            "raw bytes of a log could steer this terminal",
            hint="write them to a file with -o FILE, or pipe them",
        )
    with open_memory(args) as memory, memory.view():
        session = memory.session(args.session).facts.id
        pieces = spooled(_pieces(memory, session, args))
        altered = _tell_thinned(memory, session, args, screen)
    screen.raw(pieces)
    return 8 if altered else 0


def _tell_thinned(memory: Memory, session: str, args: argparse.Namespace, screen: Screen) -> list[int]:
    """Say of a raw export that it is not the agent's file any more; returns the lines that were altered."""
    if args.to != "raw" or not any(s.thinned for s in memory.sources(session) if not s.superseded):
        return []
    altered = memory.altered(session)
    if altered:
        named = ", ".join(map(str, altered[:_NAMED_MAX])) + (", ..." if len(altered) > _NAMED_MAX else "")
        screen.note(f"altered, since secrets in them were erased: {many(len(altered), 'line')} ({named})")
    screen.note("lines of it were erased, evicted or altered: not the agent's file, byte for byte")
    return altered


def _pieces(memory: Memory, session: str, args: argparse.Namespace) -> Iterator[bytes]:
    if args.to == "jsonl":
        memory.require_whole(session)
        return jsonl(memory.show(session))
    return memory.export(session, args.to, redacted=not args.no_redact)
