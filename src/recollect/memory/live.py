"""The notes of some sessions as a process holds them that asks for them all the time.

    notes = LiveNotes(config, "chroma/default")
    for change in notes.news(): ...        # everything at first, then what anybody saved since
    notes.save("chroma/default/harbor", [NewNote("...", id="a")])

Saving is an append, and news are read out of the journal, so neither opens the store: no numpy, no HDF5. What
is in the store already is read by another process, which ends when it has told it; it also folds a journal
that has grown long. A save is told by `news` like everybody else's, in the order that counts.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from subprocess import DEVNULL, PIPE
from typing import Any, Final

import orjson

from recollect.agents.decode import BadLine, decode
from recollect.agents.memory.records import DELETE, SESSION, delete_record, line_of, note_of, notes_file
from recollect.config import Config
from recollect.light.disk import Disk
from recollect.light.journal import JOURNAL_SUFFIX, Journal
from recollect.light.journal_tail import JournalTail
from recollect.light.processes import start_python
from recollect.light.segments import unpack_segment
from recollect.light.sources import MEMORY
from recollect.memory.note_lines import checked_line, frames
from recollect.memory.part import now_ms
from recollect.memory.saving import FOLD_BYTES
from recollect.values.errors import RecollectError, StoreError, UsageError
from recollect.values.notes import NewNote, Note
from recollect.values.records import BEHIND, Segment


@dataclass(frozen=True, slots=True)
class Gone:
    """That a note was deleted."""

    session: str
    id: str


@dataclass(frozen=True, slots=True)
class Anew:
    """That everything is told from the beginning: what was known before counts no more."""


Change = Note | Gone | Anew
ANEW: Final = Anew()


class LiveNotes:
    """The notes of the session `below` and of those whose names go on from it with a slash."""

    def __init__(self, config: Config, below: str, disk: Disk | None = None) -> None:
        if config.path is None:
            raise UsageError(
                f"{config.store}: these notes are kept in a store in a file", hint="name a file with --store"
            )
        self._config, self._below = config, below
        self._store = os.path.realpath(config.path)
        self._journal, self._tail = Journal(self._store, disk), JournalTail(self._store)
        self._is_loaded = False
        self._fold_at_bytes = FOLD_BYTES
        self._written_ms = 0  # when anything here was last changed, by whatever clock

    def close(self) -> None:
        self._journal.close()

    def news(self) -> Iterator[Change]:
        """What changed since the last look, whoever changed it; everything at the first one."""
        frames = self._tail.news() if self._is_loaded else None
        while frames is None:
            yield ANEW
            yield from map(self._seen, self._load())
            self._is_loaded = True
            frames = self._tail.news()
        for payload in frames:
            yield from self._changes(payload)

    def save(self, session: str, notes: Sequence[NewNote], *, title: str = "") -> None:
        """Keep some notes of a session, with one write; `title`: what the session is called from now on."""
        at_ms = self._moment_ms()
        lines = [checked_line(note, at_ms) for note in notes]
        if title:
            lines.append(line_of({"type": SESSION, "time_ms": at_ms, "title": title}))
        self._append(session, lines)

    def delete(self, session: str, ids: Sequence[str]) -> None:
        """Take some notes of a session back, with one write; there must be notes of these ids."""
        at_ms = self._moment_ms()
        self._append(session, [line_of(delete_record(each, at_ms)) for each in ids])

    def _moment_ms(self) -> int:
        """Now, and later than all that is known: what was written later is known to be later in any store."""
        self._written_ms = max(now_ms(), self._written_ms + 1)
        return self._written_ms

    def _seen(self, note: Note) -> Note:
        self._written_ms = max(self._written_ms, note.updated_ms)
        return note

    def _append(self, session: str, lines: Sequence[bytes]) -> None:
        self._fold_if_long()
        for data in frames(lines):
            self._journal.append(Segment(notes_file(session), self._config.host, BEHIND, data).pack())

    def _fold_if_long(self) -> None:
        """Have a long journal folded, which reading the store does; once, while another process writes."""
        size = 0
        with contextlib.suppress(OSError):
            size = os.stat(self._store + JOURNAL_SUFFIX).st_size
        if size < FOLD_BYTES:
            self._fold_at_bytes = FOLD_BYTES
        elif size >= self._fold_at_bytes:
            self._fold_at_bytes = 2 * size
            self._is_loaded = False

    def _load(self) -> Iterator[Note]:
        """Everything that is in the store, by a process of its own."""
        if not any(map(os.path.exists, (self._store, self._store + JOURNAL_SUFFIX))):
            return
        process = start_python(
            "recollect.memory.live_load",
            self._config.url,
            self._below,
            stdin=DEVNULL,
            stdout=PIPE,
            bufsize=1 << 20,
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                record: dict[str, Any] = orjson.loads(line)
                if "folded" in record:
                    self._tail.begin(record["folded"], record["epoch"])
                elif "end" in record:
                    return
                elif "error" in record:
                    raise RecollectError(record["error"], hint=record["hint"])
                elif (note := note_of(record, record["session"])) is not None:
                    yield note
            raise StoreError(
                f"{self._store}: its notes could not be read", hint="`recollect check` says more"
            )
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def _changes(self, payload: bytes) -> Iterator[Change]:
        agent, path, *_, data = unpack_segment(payload)
        session = path.removeprefix(f"{MEMORY}:")
        if agent != MEMORY or not is_below(session, self._below):
            return
        for line in data.split(b"\n"):
            try:
                record = decode(line)[0]
            except BadLine:
                continue
            if isinstance(record, dict) and record.get("type") == DELETE:
                yield Gone(session, str(record.get("id")))
            elif (note := note_of(record, session)) is not None:
                yield self._seen(note)


def is_below(session: str, below: str) -> bool:
    """Whether a session is the one of that name, or one whose name goes on from it with a slash."""
    return session == below or session.startswith(below + "/")
