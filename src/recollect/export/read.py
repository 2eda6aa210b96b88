"""Sessions and entries of any agent as conversations: who reads what, and how entries become turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from recollect.agents.registry import agent_of, agents
from recollect.agents.sessions import StoredFile
from recollect.values.conversation import Conversation, Message
from recollect.values.errors import UsageError
from recollect.values.records import Flag

if TYPE_CHECKING:
    from recollect.agents.contract import Reader
    from recollect.store.contract import Array, View
    from recollect.values.stored import Session


def conversation(
    view: View, session: Session, *, until: str = "", before_compaction: bool = False
) -> Conversation:
    """A whole session as its agent would resume it; at an entry, or before it was last compacted."""
    reader = agent_of(session.facts.agent).reader()
    if reader is None:
        readable = [agent.name for agent in agents() if agent.has("reader")]
        raise UsageError(
            f"session {session.facts.id} is of {session.facts.agent or 'no agent that is known'}",
            hint="sessions of " + " and ".join(readable) + " can be resumed",
        )

    def files_of(id_: str) -> list[StoredFile]:
        wanted = session if id_ == session.facts.id else view.find_session(id_)
        return [StoredFile(each, partial(view.lines, each)) for each in view.sources(wanted)]

    last = view.find_entry(until) if until else None
    return reader.conversation(session, files_of, until=last, before_compaction=before_compaction)


def messages_of(view: View, rows: Sequence[int]) -> list[Message]:
    """Entries of any sessions as messages, in the order given; what one answer says stands together.

    What is no part of a conversation (bookkeeping, empty entries) gives no message.
    """
    columns = view.entry_columns("line", "flags", "session")
    lines, repeats = columns["line"], _repeats(columns, rows)
    again = dict(zip(repeats, view.lines_at([int(lines[row + 1]) for row in repeats]), strict=True))
    sessions = view.session_rows()
    readers: dict[int, Reader | None] = {}
    found: list[Message] = []
    for stored, line in zip(
        view.entries_at(rows), view.lines_at([int(lines[row]) for row in rows]), strict=True
    ):
        if stored.session_row not in readers:
            readers[stored.session_row] = agent_of(sessions[stored.session_row].facts.agent).reader()
        reader = readers[stored.session_row]
        repeated = again[stored.row].data if stored.row in again else b""
        made = reader.message_of(stored, line.data, repeated) if reader else None
        if made is not None and found and _continues(found[-1], made):
            found[-1] = replace(found[-1], blocks=found[-1].blocks + made.blocks)
        elif made is not None:
            found.append(made)
    return found


def _repeats(columns: dict[str, Array], rows: Sequence[int]) -> list[int]:
    """The rows behind which the log says the same once more."""
    last = len(columns["flags"]) - 1
    return [
        row
        for row in rows
        if row < last
        and columns["flags"][row + 1] & Flag.COPY
        and columns["session"][row] == columns["session"][row + 1]
    ]


def _continues(last: Message, made: Message) -> bool:
    """Whether two messages are parts of one."""
    if (last.role, last.agent, last.session, last.meta) != (made.role, made.agent, made.session, made.meta):
        return False
    if made.role == "assistant":
        return last.message_id == made.message_id
    return bool(made.blocks[0].uuid) and last.blocks[-1].uuid == made.blocks[0].uuid
