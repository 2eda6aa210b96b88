"""A source while it is taken: how far it was read, and what its parser has seen so far."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import PurePath
from typing import BinaryIO

from recollect.agents.contract import Agent, Parser, TellsFirst
from recollect.intake.checkpoints import Checkpoints
from recollect.intake.news import is_plain, window_of
from recollect.light.project import project_of
from recollect.values.records import Cursor, Framing, Line, LineFlag, SessionFacts, SourceFile
from recollect.values.stored import Source


class Taking:
    """A source being read: where we are in it, and what its parser has seen."""

    def __init__(
        self,
        agent: Agent,
        file: SourceFile,
        host: str,
        stored: Source | None,
        start: int,
        restart: bool,
        beside: str = "",
    ) -> None:
        held = None if restart else stored
        self.agent, self.file, self.host, self.held, self.before = agent, file, host, held, stored
        self.session = stored.session if stored is not None else ""  # while nothing in it says whose it is
        self.restart = restart
        known = Cursor() if held is None else held.cursor
        state, sums = Checkpoints.split(known.state, known.offset)
        if not known.offset and is_plain(file):
            sums = Checkpoints()
        if sums is not None and start == known.offset + 1:
            sums.add(b"\n")  # of a line that was taken without it
        self.sums = sums if start - known.offset in (0, 1) else None
        self._passed: list[bytes] = []  # what is not in the sums yet
        self.parser: Parser = agent.parser(replace(file, path=beside + file.path) if beside else file, state)
        self._first = self.parser.first if isinstance(self.parser, TellsFirst) else ""
        self.offset = start
        self.number = held.lines - held.cursor.waiting if held is not None else 0
        self.long = False  # inside a line that comes in pieces
        self.terminated = True
        self.waiting = False
        self.thinned = known.thinned
        self.opened: BinaryIO | None = None
        self.seen = Cursor()
        if held is not None and start == held.cursor.offset:
            self.terminated, self.waiting = held.cursor.terminated, held.cursor.waiting

    @property
    def begins(self) -> bool:
        """Whether the first record of a conversation came only now."""
        return not self._first and isinstance(self.parser, TellsFirst) and bool(self.parser.first)

    def pass_over(self, line: Line, *, ended: bool) -> None:
        """Move behind a line that was just read; `ended`: by a newline."""
        self.waiting = bool(line.flags & LineFlag.PENDING)
        piece = self.file.framing == Framing.DOCUMENT or line.flags & LineFlag.CONTINUES
        self.terminated = ended and self.file.framing != Framing.DOCUMENT
        if not self.waiting:
            self.offset += len(line.data) + (self.terminated and not piece)
            self._passed += (line.data, b"\n") if self.terminated and not piece else (line.data,)

    def cursor(self, *, done: bool) -> Cursor:
        """How far we are. A file not read to its end is not marked as seen, so it is looked at again."""
        window = 0
        if self.opened is not None and not self.file.compressed:
            window = window_of(self.opened, self.offset)
        state = {**self.seen.state, **self.parser.state()}
        if self.sums is not None:
            self.sums.add(b"".join(self._passed))
            state = self.sums.joined(state)
        self._passed.clear()
        seen = self.seen if done else Cursor(inode=self.seen.inode)
        return replace(
            seen,
            offset=self.offset,
            window=window,
            terminated=self.terminated,
            waiting=self.waiting,
            state=state,
            thinned=self.thinned,
        )

    def facts(self) -> SessionFacts:
        facts = self.parser.facts
        return replace(
            facts,
            id=facts.id or self.file.session or self.session or PurePath(self.file.path).name.split(".")[0],
            project=facts.project or project_of(facts.cwd),
        )


def look_of(opened: BinaryIO) -> Cursor:
    """How a file looks now: what is compared to know that nothing was written to it."""
    now = os.fstat(opened.fileno())
    return Cursor(size=now.st_size, mtime_ns=now.st_mtime_ns, ctime_ns=now.st_ctime_ns, inode=now.st_ino)
