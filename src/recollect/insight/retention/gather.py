"""What a sweep is planned from, as a view tells it: every conversation with its size, age and digest."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from recollect.light.sources import is_noted
from recollect.search.digest_rows import DIGESTS, DigestRows, key_of
from recollect.store.contract import RawSizes, SessionRows, View
from recollect.store.derived import stored_table
from recollect.values.retention import HeldSession, SessionName, SharedLines
from recollect.values.stored import Session, Source


@dataclass(frozen=True, slots=True)
class Gathered:
    """The conversations that may be evicted, all that is kept word for word, and what digests take.

    `rows` has for each conversation its row and what is known of it.
    """

    held: tuple[HeldSession, ...]
    shared: tuple[SharedLines, ...]
    rows: Mapping[SessionName, tuple[int, Session]]
    sources: Mapping[SessionName, list[Source]]
    used_bytes: int
    digest_bytes: int


def gather(
    view: View,
    pinned: Collection[SessionName],
    read_ms: Mapping[SessionName, int],
    as_digested: Collection[SessionName] = (),
) -> Gathered:
    """Look at every session once; no line is read. Those in `as_digested` count as such."""
    sizes, digests, sessions = view.raw_sizes(), DigestRows(view), view.session_rows()
    sources: dict[SessionName, list[Source]] = {}
    for source in view.sources():
        name = SessionName(source.file.agent, source.host, source.session)
        sources.setdefault(name, []).append(source)
    together = {row for owners, taken in sizes.shared for row in owners if taken}
    held: list[HeldSession] = []
    rows: dict[SessionName, tuple[int, Session]] = {}
    for row, own in zip(sizes.rows.tolist(), sizes.own.tolist(), strict=True):
        session = sessions[row]
        name = key_of(session)
        # What was kept on purpose is nowhere else.
        if is_noted(session.facts.agent) or not (own or row in together):
            continue
        rows[name] = row, session
        held.append(
            HeldSession(
                name,
                own,
                session.facts.ended_ms or _touched_ms(sources.get(name, ())),
                digests.row_of(session) is not None or name in as_digested,
                name in pinned,
                read_ms.get(name, 0),
            )
        )
    return Gathered(
        tuple(held), tuple(_shared(sizes, sessions)), rows, sources, sizes.total, digest_bytes(view)
    )


def _shared(sizes: RawSizes, sessions: SessionRows) -> Iterator[SharedLines]:
    """What several sessions have together; of what was evicted there is nothing left to give back."""
    for owners, taken in sizes.shared:
        if taken:
            yield SharedLines(tuple(key_of(sessions[row]) for row in owners), taken)


def digest_bytes(view: View) -> int:
    """About how many bytes of text all digests have."""
    if not stored_table(view, DIGESTS).rows:
        return 0
    columns = view.derived(DIGESTS, only=("title", "digest"))
    return sum(len(str(text)) for column in columns.values() for text in column)


def _touched_ms(sources: Collection[Source]) -> int:
    """When the files of a session without any time were last written."""
    return max((each.cursor.mtime_ns // 1_000_000 for each in sources), default=0)
