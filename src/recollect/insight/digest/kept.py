"""Digests kept in the store, so that they outlive what they were made of and are made once.

A session that goes on is digested anew, and of its rows the last one counts; the others are cleared out once
they are the greater part. A rewrite carries the rows, and a digest that comes out as it was adds none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from recollect.insight.digest.session import digest_of
from recollect.store.contract import View, Writer
from recollect.store.derived import NAME, TEXT, Column, DerivedTable, Rewrite, catch_up, stored_table
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
from recollect.values.stored import Session

Key = tuple[str, str, str]  # a session's agent, host and id

DIGESTS = DerivedTable(
    "digests", 1, (("agent", NAME), ("host", NAME), ("session", TEXT), ("digest", TEXT)), Rewrite.CARRY
)
_STALE_MIN = 200  # superseded rows that are not worth clearing out


def key_of(session: Session) -> Key:
    return session.facts.agent, session.host, session.facts.id


def kept_digests(view: View) -> dict[Key, Digest]:
    """The digest of every session that has one, as far as they are built."""
    return {key: _digest(text) for key, text in _rows(view).items()}


def catch_up_digests(writer: Writer) -> int:
    """Digest every session that has new entries; returns how many digests came new."""
    added = catch_up(writer, DIGESTS, _Maker(writer.view()))
    view = writer.view()
    stored = stored_table(view, DIGESTS)
    if stored.rows > 2 * view.info().sessions + _STALE_MIN:
        last = list(_rows(view).items())
        writer.drop_derived(DIGESTS)
        writer.add_derived(DIGESTS, _columns(last), built_to=stored.built_to)
        writer.commit()
    return added


class _Maker:
    """Makes the rows of some entries: the digests of sessions that have no later ones."""

    def __init__(self, view: View) -> None:
        # Only behind a rewrite is everything looked at again; otherwise what has new entries is new.
        is_carried = stored_table(view, DIGESTS).built_to == 0
        self._known = {key: hash(text) for key, text in _rows(view).items()} if is_carried else {}

    def __call__(self, view: View, start: int, stop: int) -> dict[str, Column]:
        made: list[tuple[Key, str]] = []
        sessions = view.session_rows()
        for row in view.sessions_in(start, stop):
            rows = view.session_columns(row, "row")["row"]
            if not len(rows) or rows[-1] >= stop:
                continue
            session = sessions[row]
            text = _text(digest_of(list(view.entries(session)), session.facts))
            if self._known.get(key_of(session)) != hash(text):
                made.append((key_of(session), text))
        return _columns(made)


def _rows(view: View) -> dict[Key, str]:
    columns = view.derived(DIGESTS)
    keys = zip(columns["agent"], columns["host"], columns["session"], strict=True)
    return {
        (str(agent), str(host), str(session)): str(text)
        for (agent, host, session), text in zip(keys, columns["digest"], strict=True)
    }


def _columns(made: Sequence[tuple[Key, str]]) -> dict[str, Column]:
    return {
        "agent": [key[0] for key, _ in made],
        "host": [key[1] for key, _ in made],
        "session": [key[2] for key, _ in made],
        "digest": [text for _, text in made],
    }


# -- a digest as text ----------------------------------------------------------------------------


def _text(digest: Digest) -> str:
    """Without what is empty: most of it is."""
    return json.dumps({name: value for name, value in asdict(digest).items() if value}, separators=(",", ":"))


def _digest(text: str) -> Digest:
    told: dict[str, Any] = json.loads(text)
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
