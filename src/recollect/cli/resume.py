"""`resume`: a whole session, opened in another agent, another folder, or at an earlier point."""

from __future__ import annotations

import argparse
from typing import Any

from recollect.cli.opening import open_memory
from recollect.cli.screen import Screen, Styled
from recollect.values.fidelity import Delivered
from recollect.values.text import many, one_line, size


def resume(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        told = memory.conversation(
            args.session, until=args.until or "", before_compaction=args.before_compaction
        )
        done = memory.deliver(
            told, args.to, folder=args.into or "", redacted=not args.no_redact, dry_run=args.dry_run
        )
    if screen.json:
        session = told.sessions[0] if told.sessions else ""
        screen.object("resume", {"session": session, **delivered_object(done)})
        return 0
    print_delivered(done, screen)
    if args.into:
        screen.note(f"start it in {one_line(args.into)}")
    return 0


def delivered_object(done: Delivered) -> dict[str, Any]:
    """A session that was written, and what became of each part of it."""
    return {
        "agent": done.agent,
        "session_id": done.session_id,
        "path": str(done.path) if done.path else None,
        "command": done.command,
        "bytes": done.bytes,
        "fidelity": done.fidelity.object(),
        "masked": None if done.masked is None else dict(sorted(done.masked.items())),
    }


def print_delivered(done: Delivered, screen: Screen) -> None:
    """How to open it on stdout; everything else is a note."""
    for line in done.fidelity.lines():
        screen.note(line)
    if done.masked:
        screen.note(f"{many(sum(done.masked.values()), 'secret')} masked: --no-redact keeps them")
    if done.path is None:
        screen.line(f"dry run: {size(done.bytes)} would be written for {done.agent}")
        return
    screen.note(one_line(f"{done.path}: {size(done.bytes)}"))
    screen.line(Styled(done.command, "bold"))
