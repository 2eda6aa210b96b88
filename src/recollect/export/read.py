"""Sessions and entries of any agent as conversations: by its reader, or from what was parsed of them.

What own logs say is handed on as it is, what only imported ones say is made safe (`export/neutral`). An
imported log has no part in a session that an own one is of, whatever id it claims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from recollect.agents.registry import agent_of
from recollect.agents.sessions import StoredFile
from recollect.export.entries import conversation_of, message_of
from recollect.export.neutral import neutral, neutral_message
from recollect.values.conversation import Conversation, Message
from recollect.values.records import Flag

if TYPE_CHECKING:
    from recollect.agents.contract import Reader
    from recollect.store.contract import View
    from recollect.values.stored import Session


def conversation(
    view: View, session: Session, *, until: str = "", before_compaction: bool = False
) -> Conversation:
    """A whole session as its agent would resume it; at an entry, or before it was last compacted."""
    reader = agent_of(session.facts.agent).reader()
    last = view.find_entry(until) if until else None
    if reader is None:
        entries = (each for each in view.entries(session) if each.imported == session.imported)
        made = conversation_of(session, entries, until=last, before_compaction=before_compaction)
        return neutral(made) if session.imported else made
    strange = False

    def files_of(id_: str) -> list[StoredFile]:
        nonlocal strange
        wanted = session if id_ == session.facts.id else view.find_session(id_)
        sources = view.sources(wanted)
        own = [each for each in sources if not each.imported]
        strange = strange or not own
        return [StoredFile(each, partial(view.lines, each)) for each in own or sources]

    made = reader.conversation(session, files_of, until=last, before_compaction=before_compaction)
    return neutral(made) if strange else made


def messages_of(view: View, rows: Sequence[int]) -> list[Message]:
    """Entries of any sessions as messages, in the order given; what one answer says stands together.

    What is no part of a conversation (bookkeeping, empty entries) gives no message.
    """
    again = _repeats(view, rows)
    sessions = view.session_rows()
    readers: dict[int, Reader | None] = {}
    found: list[Message] = []
    for stored, line in zip(
        view.entries_at(rows), view.lines_at(view.columns_at(rows, "line")["line"].tolist()), strict=True
    ):
        if stored.session_row not in readers:
            readers[stored.session_row] = agent_of(sessions[stored.session_row].facts.agent).reader()
        reader = readers[stored.session_row]
        repeated = again.get(stored.row, b"")
        if reader is None:
            made = message_of(stored, sessions[stored.session_row].facts.agent)
        else:
            made = reader.message_of(stored, line.data, repeated)
        if made is not None and stored.imported:
            made = neutral_message(made, Counter())
        if made is not None and not made.blocks:
            continue
        if made is not None and found and _continues(found[-1], made):
            found[-1] = replace(found[-1], blocks=found[-1].blocks + made.blocks)
        elif made is not None:
            found.append(made)
    return found


def _repeats(view: View, rows: Sequence[int]) -> dict[int, bytes]:
    """The line behind each of some rows where the log says the same there once more."""
    lines: dict[int, int] = {}
    for session in set(view.columns_at(rows, "session")["session"].tolist()):
        columns = view.session_columns(session, "row", "line", "flags")
        before = np.flatnonzero(columns["flags"][1:] & Flag.COPY)
        lines |= zip(columns["row"][before].tolist(), columns["line"][before + 1].tolist(), strict=True)
    repeated = [row for row in rows if row in lines]
    again = view.lines_at([lines[row] for row in repeated])
    return {row: line.data for row, line in zip(repeated, again, strict=True)}


def _continues(last: Message, made: Message) -> bool:
    """Whether two messages are parts of one."""
    if (last.role, last.agent, last.session, last.meta) != (made.role, made.agent, made.session, made.meta):
        return False
    if made.role == "assistant":
        return last.message_id == made.message_id
    return bool(made.blocks[0].uuid) and last.blocks[-1].uuid == made.blocks[0].uuid
