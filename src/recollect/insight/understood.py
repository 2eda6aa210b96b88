"""What is kept of each session: its digest and its ties, made together of one reading.

A session that goes on is read anew, and its last rows count; those before are cleared out once they are the
greater part. What reads logs is heavy to import, and imported when something is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from recollect.insight.digest.kept import clear_out, digest_columns, is_mostly_stale, made_digest
from recollect.insight.spared import spared
from recollect.light.sources import MEMORY
from recollect.search.digest_rows import DIGESTS, DigestRows
from recollect.search.ties import TIES, Tie, current, kept_ties, marked, session_key
from recollect.store.contract import View, Writer
from recollect.store.derived import Column, stored_table
from recollect.values.digests import Digest
from recollect.values.stored import Session, StoredEntry

if TYPE_CHECKING:
    from recollect.insight.tying import Found

TABLES = (DIGESTS, TIES)
Rows = tuple[dict[str, Column], dict[str, Column]]  # of each table

NOTES_READ = 2_000  # of a session that code saves to: it may go on for years, and each note tells it anew
_STALE_TIES_MIN = 4_000  # superseded rows that are not worth clearing out


def read(view: View, start: int, stop: int) -> Rows:
    """Look at the sessions that end in these rows of entries."""
    return _made(view, _ending(view, start, stop))


def is_untidy(view: View) -> bool:
    """Whether a session was not looked at, as it has no entry of its own, or most rows are superseded."""
    return len(marked(view)) < view.info().sessions or is_mostly_stale(view) or _has_stale_ties(view)


def tidy(writer: Writer) -> None:
    """Look at what has no entry of its own, and forget superseded rows once they are the greater part."""
    view = writer.view()
    known = marked(view)
    if len(known) < view.info().sessions:
        rest = [each for each in view.sessions() if session_key(each) not in known]
        for table, columns in zip(TABLES, _made(view, rest), strict=True):
            writer.add_derived(table, columns, built_to=stored_table(view, table).built_to)
    view = writer.view()
    if is_mostly_stale(view):
        clear_out(writer)
    if _has_stale_ties(view):
        ties, stored = current(view.derived(TIES)), stored_table(view, TIES)
        writer.drop_derived(TIES)
        kept: dict[str, Column] = {"session": ties.session, "kind": ties.kind, "key": ties.key}
        writer.add_derived(TIES, kept, built_to=stored.built_to)
    writer.commit()


def _ending(view: View, start: int, stop: int) -> Iterator[Session]:
    sessions = view.session_rows()
    for row in view.sessions_in(start, stop):
        rows = view.session_columns(row, "row")["row"]
        if len(rows) and rows[-1] < stop:
            yield sessions[row]


def _made(view: View, sessions: Iterable[Session]) -> Rows:
    """The rows of those that have none yet, or went on since."""
    from recollect.insight.tying import tie_columns

    digested, tied = DigestRows(view), marked(view)
    digests, ties = [], []
    for session in sessions:
        key, is_digested = session_key(session), digested.row_of(session) is not None
        if is_digested and key in tied:
            continue
        entries = list(view.entries(session, last=NOTES_READ if session.facts.agent == MEMORY else None))
        understood = partial(_understood, view, digested, session)
        digest, found = spared(
            f"session {session.facts.id[:8]}", partial(understood, entries), partial(understood, ())
        )
        if entries and not is_digested:
            digests.append((session, digest))
        if digested.evicted(session) and key in tied:
            found = _with_kept(view, key, found)
        ties.append((key, found))
    return digest_columns(digests, digested), tie_columns(ties)


def _understood(
    view: View, digested: DigestRows, session: Session, entries: Sequence[StoredEntry]
) -> tuple[Digest, Found]:
    from recollect.insight.digest.steps import exchanges
    from recollect.insight.tying import ties_of

    made = exchanges(entries)
    return made_digest(view, digested, session, entries, made), ties_of(entries, session.facts, made)


def _with_kept(view: View, key: int, found: Found) -> Found:
    """What ties a session whose beginning was evicted: what tied that, and what came since."""
    ties = kept_ties(view)
    own = ties.session == np.uint64(key)
    kept = [
        (Tie(kind), each) for kind, each in zip(ties.kind[own].tolist(), ties.key[own].tolist(), strict=True)
    ]
    since = [each for each in found if each[0] != Tie.MARK]
    return list(dict.fromkeys([*kept, *since])) if kept else found


def _has_stale_ties(view: View) -> bool:
    rows = stored_table(view, TIES).rows
    return rows > _STALE_TIES_MIN and rows > 2 * len(current(view.derived(TIES)).key)
