"""`export`: a session to a file or a pipe."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from recollect.cli.opening import open_memory
from recollect.cli.screen import Screen
from recollect.errors import UsageError
from recollect.export.jsonl import jsonl
from recollect.export.markdown import markdown
from recollect.export.target import refuse, spooled, write_file
from recollect.memory import main_source
from recollect.store.base import Session, View, source_bytes
from recollect.text import size


def export(args: argparse.Namespace, screen: Screen) -> int:
    if args.output == "-":
        return _to_stdout(args, screen)
    target = Path(args.output)
    refuse(target, force=args.force)
    with open_memory(args) as memory, memory.view() as view:
        session = view.find_session(args.session)
        written = write_file(target, _pieces(view, session, args.to), force=args.force)
    if screen.json:
        screen.object("export", {
            "session": session.facts.id, "to": args.to, "path": str(target), "bytes": written,
        })  # fmt: skip
        return 0
    screen.line(f"{target}: {size(written)}, session {session.facts.id} as {args.to}")
    return 0


def _to_stdout(args: argparse.Namespace, screen: Screen) -> int:
    if screen.json:
        raise UsageError("--json and -o - both want stdout", hint="name a file with -o")
    if args.to == "raw" and sys.stdout.isatty():
        raise UsageError(
            "raw bytes of a log could steer this terminal",
            hint="write them to a file with -o FILE, or pipe them",
        )
    with open_memory(args) as memory, memory.view() as view:
        pieces = spooled(_pieces(view, view.find_session(args.session), args.to))
    screen.raw(pieces)
    return 0


def _pieces(view: View, session: Session, form: str) -> Iterator[bytes]:
    if form == "raw":
        source = main_source(view.sources(session), session.facts.id)
        return source_bytes(source, view.lines(source))
    entries = view.entries(session)
    return jsonl(entries) if form == "jsonl" else markdown(session, entries)
