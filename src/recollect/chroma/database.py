"""The collections of one database, kept as notes: what is written, and what is held of it in memory.

    chroma/DATABASE         a note for each collection: its id, its name, its metadata
    chroma/DATABASE/ID      a note for each document: the caller's id, text and metadata

A call first takes in what was saved since the last one, by whomever; what it writes itself it takes in the
same way. So the journal says what holds, for any number of processes. The notes of a collection are written
before the note that names it, and deleted before it: what is cut short leaves no name without its documents.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from recollect.chroma.checks import EMBEDDING
from recollect.chroma.collection import AT_ONCE, SPACES, Collection, Document, TextVectors
from recollect.chroma.refusals import Refused
from recollect.chroma.told import Sharing
from recollect.chroma.where import normal_number
from recollect.memory.live import Anew, Change, Gone
from recollect.values.notes import NewNote, Note

CHANNEL: Final = "chroma"
_KEY_CHARS_MAX: Final = 200
_SPACE: Final = "hnsw:space"
_CREATED: Final = "created_at_epoch"  # what claude-mem calls the time of what a document tells, in ms
_TIME_MS_MAX: Final = 1 << 43  # in the year 2248


class Kept(Protocol):
    """Where notes are kept: `recollect.memory.live.LiveNotes`, or nowhere."""

    def news(self) -> Iterable[Change]: ...

    def save(self, session: str, notes: Sequence[NewNote], *, title: str = "") -> None: ...

    def delete(self, session: str, ids: Sequence[str]) -> None: ...


@dataclass(frozen=True, slots=True)
class Named:
    """A collection's entry: `key` stays, its name may change."""

    key: str
    name: str
    metadata: Mapping[str, Any] | None = None

    @property
    def space(self) -> str:
        told = (self.metadata or {}).get(_SPACE)
        return told if told in SPACES else "l2"


class Database:
    """Collections by name."""

    def __init__(self, kept: Kept, database: str, vectors: TextVectors) -> None:
        self._kept, self._vectors = kept, vectors
        self._session = f"{CHANNEL}/{database}"
        self._named: dict[str, Named] = {}  # by key, in the order in which they were made
        self._collections: dict[str, Collection] = {}  # by key
        self._sharing = Sharing()

    @property
    def dims(self) -> int:
        """How many numbers a vector has."""
        return self._vectors.dims

    def refresh(self) -> None:
        """Take in what was saved since."""
        for change in self._kept.news():
            if isinstance(change, Anew):
                self._named.clear()
                self._collections.clear()
            else:
                self._take(change)

    def lacks_vectors(self) -> bool:
        return any(collection.lacks_vectors for collection in self._collections.values())

    def make_vectors(self) -> None:
        """Make a few vectors that are missing."""
        for collection in self._collections.values():
            if collection.lacks_vectors:
                collection.make_vectors(AT_ONCE)
                return

    # -- collections -----------------------------------------------------------------------

    def names(self) -> list[str]:
        return [each.name for each in self._named.values()]

    def find(self, name: str) -> tuple[Named, Collection]:
        """A collection by its name; refused where there is none."""
        for named in self._named.values():
            if named.name == name:
                return named, self._of(named.key)
        raise Refused(f"Collection [{name}] does not exist")

    def create(self, name: str, metadata: Mapping[str, Any] | None) -> None:
        self.refuse_taken(name)
        self._write(Named(self._free_key(name), name, metadata))

    def change(self, named: Named, name: str | None, metadata: Mapping[str, Any] | None) -> None:
        """Give a collection another name, or other metadata."""
        if name is not None and name != named.name:
            self.refuse_taken(name)
        self._write(replace(named, name=name or named.name, metadata=metadata or named.metadata))

    def fork(self, named: Named, name: str) -> None:
        """Copy a collection, which from then on goes its own way."""
        self.refuse_taken(name)
        copied = Named(self._free_key(name), name, named.metadata)
        notes = [self._note(each) for each in self._of(named.key)]
        self._save(copied.key, notes)
        self._write(copied)

    def remove(self, named: Named) -> None:
        ids = [each.id for each in self._of(named.key)]
        if ids:
            self._kept.delete(self._documents(named.key), ids)
        self._kept.delete(self._session, [named.key])
        self.refresh()

    def refuse_taken(self, name: str) -> None:
        if name in self.names():
            raise Refused(f"Collection [{name}] already exists")

    # -- documents -------------------------------------------------------------------------

    def add(
        self,
        named: Named,
        ids: Sequence[str],
        documents: Sequence[str],
        metadatas: Sequence[Mapping[str, Any]] | None,
    ) -> None:
        """Keep documents whose ids are new, with one write: all of them or none."""
        made = [
            Document(id_, text, _normal(metadata), 0)
            for id_, text, metadata in zip(ids, documents, metadatas or [{}] * len(ids), strict=True)
        ]
        self._save(named.key, [self._note(each) for each in made])
        self.refresh()

    def update(
        self,
        named: Named,
        ids: Sequence[str],
        documents: Sequence[str] | None,
        metadatas: Sequence[Mapping[str, Any]] | None,
        embeddings: Sequence[Sequence[float]] | None,
    ) -> None:
        """Change those that are there, with one write. Metadata is merged; a None takes its key away."""
        collection = self._of(named.key)
        made = []
        for at, id_ in enumerate(ids):
            if id_ not in collection:
                continue
            before = collection[id_]
            kept = dict(before.kept)
            if documents is not None:
                kept.pop(EMBEDDING, None)
            if embeddings is not None:
                kept[EMBEDDING] = base64.b64encode(_floats(embeddings[at])).decode("ascii")
            kept |= _normal(metadatas[at]) if metadatas is not None else {}
            kept = {key: value for key, value in kept.items() if value is not None}
            text = documents[at] if documents is not None else before.text
            made.append(Document(id_, text, kept, before.time_ms))
        if made:
            self._save(named.key, [self._note(each) for each in made])
            self.refresh()

    def delete(self, named: Named, ids: Sequence[str]) -> None:
        there = [each for each in ids if each in self._of(named.key)]
        if there:
            self._kept.delete(self._documents(named.key), there)
            self.refresh()

    # -- underneath ------------------------------------------------------------------------

    def _of(self, key: str) -> Collection:
        if key not in self._collections:
            self._collections[key] = Collection(self._vectors)
        return self._collections[key]

    def _documents(self, key: str) -> str:
        return f"{self._session}/{key}"

    def _free_key(self, name: str) -> str:
        """The key of a new collection: its name, where no other has that."""
        base, number = name[:_KEY_CHARS_MAX], 2
        key = base
        while key in self._named:
            key, number = f"{base}~{number}", number + 1
        return key

    def _write(self, named: Named) -> None:
        told = {"name": named.name, **({"metadata": named.metadata} if named.metadata else {})}
        title = f"Chroma collection {named.name}"
        self._kept.save(self._documents(named.key), [], title=title)
        self._kept.save(self._session, [NewNote(title, named.key, channel=CHANNEL, metadata=told)])
        self.refresh()

    def _save(self, key: str, notes: Sequence[NewNote]) -> None:
        self._kept.save(self._documents(key), notes)

    def _note(self, document: Document) -> NewNote:
        told = document.kept.get(_CREATED)
        time_ms = document.time_ms or (told if type(told) is int and 0 < told < _TIME_MS_MAX else 0)
        return NewNote(
            document.text,
            document.id,
            channel=CHANNEL,
            time=time_ms / 1000 if time_ms else None,
            metadata=dict(document.kept),
        )

    def _take(self, change: Note | Gone) -> None:
        if change.session == self._session:
            self._take_named(change)
            return
        collection = self._of(change.session.removeprefix(f"{self._session}/"))
        if isinstance(change, Gone):
            collection.drop(change.id)
        else:
            told = self._sharing.told(change.metadata)
            collection.put(Document(change.id, change.text, told, change.time_ms))

    def _take_named(self, change: Note | Gone) -> None:
        if isinstance(change, Gone):
            self._named.pop(change.id, None)
            return
        metadata = change.metadata.get("metadata")
        self._named[change.id] = Named(
            change.id,
            str(change.metadata.get("name", change.id)),
            metadata if isinstance(metadata, dict) else None,
        )


def _normal(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: [normal_number(each) for each in value] if isinstance(value, list) else normal_number(value)
        for key, value in metadata.items()
    }


def _floats(embedding: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(embedding)}f", *embedding)


class Fleeting:
    """Notes that are kept nowhere, and are gone with the process."""

    def __init__(self) -> None:
        self._changes: list[Change] = []

    def news(self) -> list[Change]:
        changes, self._changes = self._changes, []
        return changes

    def save(self, session: str, notes: Sequence[NewNote], *, title: str = "") -> None:
        self._changes += [
            Note(each.id, session, each.text, metadata=dict(each.metadata or {})) for each in notes
        ]

    def delete(self, session: str, ids: Sequence[str]) -> None:
        self._changes += [Gone(session, each) for each in ids]
