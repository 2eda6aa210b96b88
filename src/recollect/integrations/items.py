"""The items of a conversation in order: notes that are found by their words and come back as they were."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeVar

from recollect.integrations.opened import Opened, Where
from recollect.memory import Memory
from recollect.values.errors import UsageError
from recollect.values.notes import METADATA_BYTES_MAX, TEXT_BYTES_MAX, NewNote, Note

ITEM: Final = "item"  # where in a note's metadata, or among its artifacts, the item is

_CHARS_MAX: Final = TEXT_BYTES_MAX // 4  # of what is searched; the item itself is whole
_AROUND_BYTES: Final = 64

_Answer = TypeVar("_Answer")


class Said(NamedTuple):
    """An item, the words in it, and whose they are: a role of notes."""

    item: Any
    text: str
    role: str


class Items:
    """What is kept of one conversation, as the session `CHANNEL/NAME` of a memory."""

    def __init__(self, where: Where, channel: str, name: str) -> None:
        if not name:
            raise UsageError("a conversation has a name")
        self._opened, self._lock = Opened(where), threading.Lock()
        self._channel, self._session = channel, f"{channel}/{name}"

    async def in_thread(self, verb: Callable[..., _Answer], *given: Any) -> _Answer:
        """Carry out a verb while the loop goes on; whoever is cancelled meanwhile only no longer waits."""
        return await asyncio.shield(asyncio.to_thread(verb, *given))

    def add(self, said: Iterable[Said]) -> None:
        """Keep items behind those that are there, with one write."""
        name, channel = self._session, self._channel
        notes = [note_of(each.item, each.text, each.role, session=name, channel=channel) for each in said]
        with self._lock:
            if notes:
                self._opened.memory.save_batch(notes)

    def last(self, count: int | None = None) -> list[Any]:
        """All items, or the last few, in order."""
        with self._lock:
            memory = self._opened.memory
            return [item_of(memory, note) for note in memory.notes(session=self._session, last=count)]

    def pop(self) -> Any | None:
        """Take the last item out; None where there is none."""
        with self._lock:
            memory = self._opened.memory
            note = next(iter(memory.notes(session=self._session, last=1)), None)
            if note is None:
                return None
            item = item_of(memory, note)
            memory.delete(note.id, session=self._session)
            return item

    def clear(self) -> None:
        """Take all items out."""
        with self._lock:
            memory = self._opened.memory
            memory.delete([note.id for note in memory.notes(session=self._session)], session=self._session)

    def close(self) -> None:
        """Close the store, unless the memory was handed over."""
        self._opened.close()


def note_of(item: Any, text: str, role: str, *, session: str, channel: str, id_: str = "") -> NewNote:
    """A note that is found by a text and has an item in it, whatever its size."""
    try:
        data = json.dumps(item, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"an item is what JSON can say: {error}") from error
    is_long = len(data) + _AROUND_BYTES > METADATA_BYTES_MAX
    return NewNote(
        text[:_CHARS_MAX],
        id_,
        session,
        role,
        channel=channel,
        metadata=None if is_long else {ITEM: item},
        artifacts={ITEM: data} if is_long else None,
    )


def item_of(memory: Memory, note: Note) -> Any:
    """The item in a note, as it was."""
    if ITEM in note.metadata:
        return note.metadata[ITEM]
    return json.loads(bytes(memory.artifact(note.id, ITEM, session=note.session)))
