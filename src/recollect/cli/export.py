"""`export`: a session to a file or a pipe."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from recollect.cli.opening import open_memory
from recollect.cli.screen import Screen
from recollect.export.files import refuse, spooled, write_file
from recollect.export.pages.jsonl import jsonl
from recollect.export.pages.markdown import markdown
from recollect.memory import main_source
from recollect.store.contract import View
from recollect.values.errors import UsageError
from recollect.values.stored import Session, StoredEntry, source_bytes
from recollect.values.text import size


def export(args: argparse.Namespace, screen: Screen) -> int:
    if args.output == "-":
        return _to_stdout(args, screen)
    target = Path(args.output)
    refuse(target, force=args.force)
    with open_memory(args) as memory, memory.view() as view:
        session = view.find_session(args.session)
        written = write_file(target, _pieces(view, session, args), force=args.force)
    if screen.json:
        screen.object(
            "export", {"session": session.facts.id, "to": args.to, "path": str(target), "bytes": written}
        )
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
        pieces = spooled(_pieces(view, view.find_session(args.session), args))
    screen.raw(pieces)
    return 0


def _pieces(view: View, session: Session, args: argparse.Namespace) -> Iterator[bytes]:
    """The session as asked for: exact for programs, without its secrets for people."""
    if args.to == "raw":
        source = main_source(view.sources(session), session.facts.id)
        return source_bytes(source, view.lines(source))
    entries = view.entries(session)
    if args.to == "jsonl":
        return jsonl(entries)
    if args.to == "markdown":
        return markdown(session, entries if args.no_redact else map(_masked, entries))
    return iter([_page(view, session, args).encode("utf-8", "replace")])


def _masked(stored: StoredEntry) -> StoredEntry:
    from recollect.redact import redact

    return replace(stored, entry=replace(stored.entry, text=redact(stored.entry.text).text))


def _page(view: View, session: Session, args: argparse.Namespace) -> str:
    from recollect.cli.assemble import written_as
    from recollect.export.pages.briefing import brief, origin
    from recollect.export.read import conversation

    told = conversation(view, session)
    return written_as(args.to, brief(told, sessions=[origin(session)], redacted=not args.no_redact))
