"""Digests kept in the store, so that they outlive what they were made of and are made once.

A session that goes on is digested anew, and of its rows the last one counts; the others are cleared out once
they are the greater part. A row says how many entries it was made of: a session with no more than these has
its digest already, whatever a rewrite made of row numbers.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import orjson

from recollect.insight.spared import spared
from recollect.search.digest_rows import DIGESTS, DigestRows
from recollect.search.projects import worked_out
from recollect.store.contract import View, Writer
from recollect.store.derived import Column, stored_table
from recollect.values.digests import (
    PATTERNS,
    Changed,
    Checks,
    Commit,
    Danger,
    Digest,
    Ending,
    Outcome,
    Statement,
    Thrash,
    Trouble,
)
from recollect.values.errors import DerivedDamaged
from recollect.values.lazy import lazy
from recollect.values.stored import Session

_KEYS = re.compile(r'"[a-z_]+":(?:"(?:[0-9a-f]{12}(?:\.\d+)?)?"|\d+)?')  # names, ids and numbers: no words
_STALE_MIN = 200  # superseded rows that are not worth clearing out
_WORK = ("asked", "tools")  # what a digest tells of where anything was done


class Digests:
    """The digests of a view's sessions: as they are kept, or made now for one that went on since."""

    def __init__(self, view: View) -> None:
        self._view, self._rows = view, worked_out(view, DigestRows)
        self.row_of = self._rows.row_of

    def of(self, session: Session) -> Digest:
        """What happened in a session."""
        row = self.row_of(session)
        if row is not None:
            with contextlib.suppress(DerivedDamaged):
                (text,) = self._view.derived(DIGESTS, row, row + 1, only=("digest",))["digest"]
                return _digest(str(text))
        from recollect.insight.digest.session import digest_of  # what reads a log is heavy to import

        entries, facts = list(self._view.entries(session)), session.facts
        what = f"session {facts.id[:8]}"
        return spared(what, lambda: digest_of(entries, facts), lambda: digest_of((), facts))

    def telling(self, field: str, sessions: Iterable[Session]) -> Iterator[tuple[Session, Digest]]:
        """Those of some sessions whose digest tells something in a field; the others are not put together."""
        for session, text in self._kept(sessions):
            if not text:
                if getattr(digest := self.of(session), field):
                    yield session, digest
            elif f'"{field}":' in text and getattr(digest := _digest(text), field):
                yield session, digest

    def with_work(self, sessions: Mapping[int, Session]) -> dict[int, Session]:
        """Those of some sessions whose digest `is_work`; where it is kept that shows without reading it."""
        kept = zip(sessions, self._kept(sessions.values()), strict=True)
        return {
            row: session
            for row, (session, text) in kept
            if (any(f'"{field}":' in text for field in _WORK) if text else is_work(self.of(session)))
        }

    def _kept(self, sessions: Iterable[Session]) -> Iterator[tuple[Session, str]]:
        """Each session with its digest as it is kept, "" for one that has none."""
        for session in sessions:
            row = self.row_of(session)
            yield session, "" if row is None or self._texts is None else self._texts[row]

    @lazy
    def _texts(self) -> list[str] | None:
        """All that is kept, by row, None where it does not read."""
        try:
            return list(map(str, self._view.derived(DIGESTS, only=("digest",))["digest"]))
        except DerivedDamaged:
            return None

    @lazy
    def words(self) -> list[tuple[str, str]]:
        """For each row what is kept of its session, and its title, in small letters; "" where damaged."""
        titles = [title.casefold() for title in self._rows.titles]
        texts = [""] * len(titles) if self._texts is None else self._texts
        return list(zip((_KEYS.sub(" ", text).casefold() for text in texts), titles, strict=True))


def is_work(digest: Digest) -> bool:
    """Whether anything was asked or called."""
    return any(getattr(digest, field) for field in _WORK)


def digest_columns(made: Sequence[tuple[Session, Digest]]) -> dict[str, Column]:
    """Digests as rows of the table."""
    return {
        "agent": [session.facts.agent for session, _ in made],
        "host": [session.host for session, _ in made],
        "session": [session.facts.id for session, _ in made],
        "entries": np.array([session.entries for session, _ in made], np.uint32),
        "outcome": [str(digest.ending.outcome) for _, digest in made],
        "patterns": np.array([_bits(digest) for _, digest in made], np.uint16),
        "title": [digest.title for _, digest in made],
        "digest": [_text(digest) for _, digest in made],
    }


def is_mostly_stale(view: View) -> bool:
    """Whether superseded rows are the greater part."""
    return stored_table(view, DIGESTS).rows > 2 * view.info().sessions + _STALE_MIN


def clear_out(writer: Writer) -> None:
    """Forget superseded rows."""
    view = writer.view()
    stored, last = stored_table(view, DIGESTS), DigestRows(view).last_rows()
    kept = {name: _taken(column, last) for name, column in view.derived(DIGESTS).items()}
    writer.drop_derived(DIGESTS)
    writer.add_derived(DIGESTS, kept, built_to=stored.built_to)


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
    except orjson.JSONEncodeError:  # half of a surrogate pair, which a log may hold
        return json.dumps(told, ensure_ascii=False)


def _digest(text: str) -> Digest:
    try:
        told: dict[str, Any] = orjson.loads(text)
    except orjson.JSONDecodeError:
        told = json.loads(text)
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
    "plans": Statement,
    "decisions": Statement,
    "errors": Trouble,
    "open": Statement,
    "dangers": Danger,
    "thrash": Thrash,
    "branches": Statement,
    "pictures": Statement,
}
_NUMBERS = ("active_ms", "idle_ms", "retries", "interventions", "screenshots")
