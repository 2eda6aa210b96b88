"""Digests kept in the store, so that they outlive what they were made of and are made once.

A session that goes on is digested anew, and of its rows the last one counts; the others are cleared out once
they are the greater part. A row says how many entries it was made of: a session with no more than these has
its digest already, whatever a rewrite made of row numbers.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import orjson

from recollect.insight.digest.patterns import PATTERNS
from recollect.insight.digest.session import digest_of
from recollect.store.contract import View, Writer
from recollect.store.derived import NAME, TEXT, Column, DerivedTable, Rewrite, no_rows, stored_table
from recollect.values.digests import (
    Changed,
    Checks,
    Commit,
    Danger,
    Digest,
    Ending,
    Outcome,
    Statement,
    Trouble,
)
from recollect.values.errors import DerivedDamaged
from recollect.values.stored import Session

Key = tuple[str, str, str]  # a session's agent, host and id

DIGESTS = DerivedTable(
    "digests",
    2,
    (
        ("agent", NAME),
        ("host", NAME),
        ("session", TEXT),
        ("entries", "<u4"),
        ("outcome", NAME),
        ("patterns", "<u2"),  # a bit for each, in the order of PATTERNS
        ("digest", TEXT),
    ),
    Rewrite.CARRY,
)
_FEW = ("agent", "host", "session", "entries", "outcome", "patterns")
_STALE_MIN = 200  # superseded rows that are not worth clearing out


def key_of(session: Session) -> Key:
    return session.facts.agent, session.host, session.facts.id


class Digests:
    """The digests of a view's sessions: as they are kept, or made now for one that went on since."""

    def __init__(self, view: View) -> None:
        self._view = view
        try:
            columns = view.derived(DIGESTS, only=_FEW)
        except DerivedDamaged:
            columns = no_rows(DIGESTS, _FEW)
        keys = zip(columns["agent"], columns["host"], columns["session"], strict=True)
        self._rows: dict[Key, int] = {
            (str(agent), str(host), str(session)): row for row, (agent, host, session) in enumerate(keys)
        }
        self._entries, self._patterns = columns["entries"], columns["patterns"]
        self._outcomes = columns["outcome"]

    def of(self, session: Session) -> Digest:
        """What happened in a session."""
        row = self.row_of(session)
        if row is not None:
            with contextlib.suppress(DerivedDamaged):
                (text,) = self._view.derived(DIGESTS, row, row + 1, only=("digest",))["digest"]
                return _digest(str(text))
        return digest_of(list(self._view.entries(session)), session.facts)

    def telling(self, field: str, sessions: Iterable[Session]) -> Iterator[tuple[Session, Digest]]:
        """Those of some sessions whose digest tells something in a field; the others are not put together."""
        try:
            texts = self._view.derived(DIGESTS, only=("digest",))["digest"]
        except DerivedDamaged:
            texts = None
        for session in sessions:
            row = self.row_of(session)
            if row is None or texts is None:
                if getattr(digest := self.of(session), field):
                    yield session, digest
            elif f'"{field}":' in (text := str(texts[row])) and getattr(digest := _digest(text), field):
                yield session, digest

    def row_of(self, session: Session) -> int | None:
        """Where the digest of a session is kept, None for one that has none, or has more entries by now."""
        row = self._rows.get(key_of(session))
        return row if row is not None and int(self._entries[row]) >= session.entries else None

    def outcome(self, row: int) -> Outcome:
        """How the session ended whose digest is kept there."""
        return Outcome(self._outcomes[row])

    def patterns(self, row: int) -> tuple[str, ...]:
        """The classes that its exchanges are of."""
        bits = int(self._patterns[row])
        return tuple(name for place, name in enumerate(PATTERNS) if bits >> place & 1)

    def last_rows(self) -> list[int]:
        """The rows that count, in order: one for each session."""
        return sorted(self._rows.values())


def clear_out(writer: Writer) -> None:
    """Forget superseded rows once they are the greater part."""
    view = writer.view()
    stored = stored_table(view, DIGESTS)
    if stored.rows > 2 * view.info().sessions + _STALE_MIN:
        last = Digests(view).last_rows()
        kept = {name: _taken(column, last) for name, column in view.derived(DIGESTS).items()}
        writer.drop_derived(DIGESTS)
        writer.add_derived(DIGESTS, kept, built_to=stored.built_to)
        writer.commit()


def read(view: View, start: int, stop: int) -> dict[str, Column]:
    """Digest the sessions that end in these rows."""
    known = Digests(view)
    made: list[tuple[Session, Digest]] = []
    sessions = view.session_rows()
    for row in view.sessions_in(start, stop):
        rows = view.session_columns(row, "row")["row"]
        session = sessions[row]
        if len(rows) and rows[-1] < stop and known.row_of(session) is None:
            made.append((session, digest_of(list(view.entries(session)), session.facts)))
    return {
        "agent": [session.facts.agent for session, _ in made],
        "host": [session.host for session, _ in made],
        "session": [session.facts.id for session, _ in made],
        "entries": np.array([session.entries for session, _ in made], np.uint32),
        "outcome": [str(digest.ending.outcome) for _, digest in made],
        "patterns": np.array([_bits(digest) for _, digest in made], np.uint16),
        "digest": [_text(digest) for _, digest in made],
    }


def _bits(digest: Digest) -> int:
    return sum(1 << PATTERNS.index(name) for name, _ in digest.patterns)


def _taken(column: Column, rows: Sequence[int]) -> Column:
    return column[rows] if isinstance(column, np.ndarray) else [column[row] for row in rows]


# -- a digest as text ----------------------------------------------------------------------------


def _text(digest: Digest) -> str:
    """Without what is empty: most of it is."""
    told = {name: value for name, value in asdict(digest).items() if value}
    try:
        return orjson.dumps(told).decode()
    except TypeError:  # half of a surrogate pair, which no UTF-8 has
        return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace").decode()


def _digest(text: str) -> Digest:
    told: dict[str, Any] = orjson.loads(text)
    ending = told["ending"]
    fields: dict[str, Any] = {
        name: tuple(made(**each) for each in told.get(name, ())) for name, made in _LISTS.items()
    }
    return Digest(
        title=told.get("title", ""),
        ending=Ending(Outcome(ending["outcome"]), ending["why"], ending["entry"]),
        report=Statement(**told["report"]) if "report" in told else None,
        tests=Checks(**told["tests"]),
        patterns=tuple((name, count) for name, count in told.get("patterns", ())),
        tools=tuple((name, count) for name, count in told.get("tools", ())),
        **fields,
        **{name: told.get(name, 0) for name in _NUMBERS},
    )


_LISTS: dict[str, Any] = {
    "asked": Statement,
    "files": Changed,
    "commands": Statement,
    "commits": Commit,
    "pull_requests": Statement,
    "decisions": Statement,
    "errors": Trouble,
    "open": Statement,
    "dangers": Danger,
}
_NUMBERS = ("active_ms", "idle_ms", "retries", "interventions", "screenshots")
