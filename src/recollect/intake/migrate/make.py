"""From a row of another memory to a note, or to what is said of a session.

Nothing of a row is lost: what a field of the note does not say to the last bit is in its metadata, under
`migrated.row`, and what is too long for that is an artifact of the note.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from recollect.intake.migrate.cells import (
    floats_of,
    json_of,
    list_of,
    name_of,
    object_of,
    seconds_of,
    tags_of,
    text_of,
)
from recollect.intake.migrate.contract import SESSION, Row, Rule
from recollect.intake.migrate.graph import RELATED
from recollect.values.graph import NewEntity, NewRelation
from recollect.values.migration import MIGRATED, Made, MigrationOptions, NewSession, RefusedRow
from recollect.values.notes import NAME_CHARS_MAX, TAG_CHARS_MAX, TAGS_MAX, TEXT_BYTES_MAX, Artifact, NewNote

VECTOR: Final = "vector"  # the artifact that a vector is which cannot be asked for

_ROW_BYTES: Final = 256 << 10  # of a row in metadata
_CELL_BYTES: Final = 16 << 10  # of a row that is longer, what a cell may have
_HASH_CHARS: Final = 16
_KEY_CHARS: Final = 120


class Maker:
    """Makes notes of the rows of one database."""

    def __init__(self, schema: str, name: str, identity: str, options: MigrationOptions) -> None:
        self._schema, self._name, self._options = schema, name, options
        self._sessions: set[str] = set()
        self._source = _digest(identity.encode("utf-8", "surrogatepass"))[:8]

    def made(self, rule: Rule, row: Row, met: dict[str, int]) -> Made | RefusedRow:
        """What a row becomes; `met` counts the keys of its table, which nothing makes unique."""
        key = "/".join(_key_part(row.values.get(each)) for each in rule.key)
        met[key] = met.get(key, 0) + 1
        if met[key] > 1:
            key = f"{key}#{met[key]}"
        parts = _Parts(rule, row, self._options)
        if rule.makes == SESSION:
            what: NewNote | NewSession = self._session(rule, parts, key)
            if what.id in self._sessions:
                return RefusedRow(rule.table, key, "another row speaks of the same session")
            self._sessions.add(what.id)
        else:
            text = parts.text()
            if text is None:
                return RefusedRow(rule.table, key, "it has no text")
            if len(text.encode("utf-8", "surrogatepass")) > TEXT_BYTES_MAX:
                return RefusedRow(rule.table, key, f"its text has more than {TEXT_BYTES_MAX >> 20} MiB")
            what = self._note(rule, parts, key, text)
        filled = tuple(name for name, value in row.values.items() if value is not None)
        deleted = rule.deleted and row.values.get(rule.deleted) not in (None, 0, "", b"")
        graph = self._graph(rule, parts) if isinstance(what, NewNote) else None
        return Made(rule.table, key, what, bool(deleted), graph, filled, tuple(parts.aside))

    def _graph(self, rule: Rule, parts: _Parts) -> NewEntity | NewRelation | None:
        """What a row says of the graph; the note that it is too has the rest."""
        author = self._options.author
        if rule.kind:
            name = parts.text() or ""
            return NewEntity(name, parts.name("kind", rule.kind), (), parts.metadata()[0], author)
        ends = parts.related()
        if ends is None:
            return None
        return NewRelation(
            *ends,
            parts.weight(),
            parts.time(),
            parts.moment(rule.until),
            metadata=parts.metadata()[0],
            author=author,
        )

    def _note(self, rule: Rule, parts: _Parts, key: str, text: str) -> NewNote:
        vector, artifacts = parts.vector()
        metadata, more = self._metadata(rule, parts, key)
        return NewNote(
            text,
            id=self._id(rule.table, key),
            session=self._session_name(parts.name("session", rule.session) or rule.group),
            role=rule.role,
            tags=parts.tags(),
            channel=parts.name("channel", rule.channel, TAG_CHARS_MAX),
            project=parts.name("project", rule.project) or self._options.project,
            author=parts.name("author", rule.author) or self._options.author,
            time=parts.time() or 0.0,
            metadata=metadata,
            vector=vector,
            artifacts={**artifacts, **more} or None,
        )

    def _session(self, rule: Rule, parts: _Parts, key: str) -> NewSession:
        summary = parts.text() or ""
        metadata, long = self._metadata(rule, parts, key)
        parts.aside += [(name, "too long for what is said of a session: left out") for name in long]
        return NewSession(
            self._session_name(parts.name("session", rule.session) or key),
            parts.name("title", rule.title),
            summary,
            parts.name("channel", rule.channel, TAG_CHARS_MAX),
            parts.name("project", rule.project) or self._options.project,
            parts.time(),
            parts.moment(rule.ended),
            metadata,
        )

    def _metadata(self, rule: Rule, parts: _Parts, key: str) -> tuple[dict[str, Any], dict[str, Artifact]]:
        told: dict[str, Any] = {"from": self._name, "schema": self._schema, "table": rule.table, "key": key}
        if self._options.embedder:
            told["embedder"] = self._options.embedder
        own, row = parts.metadata()
        artifacts: dict[str, Artifact] = {}
        if _size({**own, "row": row}) > _ROW_BYTES:
            for place in (own, row):
                for name in [each for each, value in place.items() if _size(value) > _CELL_BYTES]:
                    artifacts[_artifact_name(name)] = json.dumps(place.pop(name)).encode("ascii")
            if _size({**own, "row": row}) > _ROW_BYTES:  # many short ones
                artifacts[_artifact_name("row")] = json.dumps({**own, "row": row}).encode("ascii")
                own, row = {}, {}
        return {**own, MIGRATED: {**told, "row": row}}, artifacts

    def _id(self, table: str, key: str) -> str:
        whole = f"{self._source}:{table}:{key}"
        if len(whole) <= NAME_CHARS_MAX and whole.isprintable():
            return whole
        return f"{self._source}:{_digest(whole.encode('utf-8', 'surrogatepass'))}"

    def _session_name(self, id_: str) -> str:
        whole = f"{self._name}/{id_}" if id_ else self._name
        if len(whole) <= NAME_CHARS_MAX:
            return whole
        return f"{self._name}/{_digest(whole.encode('utf-8', 'surrogatepass'))}"


class _Parts:
    """The parts of one row, each as far as it fits; what does not is noted in `aside`."""

    def __init__(self, rule: Rule, row: Row, options: MigrationOptions) -> None:
        self._rule, self._values, self._known, self._options = rule, row.values, row.known, options
        self.aside: list[tuple[str, str]] = []
        self._said: set[str] = set()  # columns that a field of the note says to the last bit

    def text(self) -> str | None:
        """The text, or the texts with what each is called; None where there is none."""
        if "text" in self._known:
            return text_of(self._known["text"])
        found = {name: text_of(self._values.get(name)) for name in self._rule.texts}
        for name, text in found.items():
            if text is None and self._values.get(name) is not None:
                self.aside.append((name, "no text"))
        texts = {name: text for name, text in found.items() if text}
        if len(self._rule.texts) == 1:
            (name,) = self._rule.texts
            self._said |= {name} if isinstance(self._values.get(name), str) else set()
            return found[name]
        parts = [_worded(name, text, first=n == 0) for n, (name, text) in enumerate(texts.items())]
        return "\n".join(filter(None, parts)) or None

    def name(self, place: str, column: str, chars_max: int = NAME_CHARS_MAX) -> str:
        """A name of a place, as other tables know it or the column says."""
        if place in self._known:
            return name_of(self._known[place], chars_max) or ""
        value = self._values.get(column) if column else None
        found = name_of(value, chars_max)
        if found is None and value not in (None, ""):
            self.aside.append((column, f"no {place}"))
        return found or ""

    def tags(self) -> list[str]:
        found = [self._rule.tag] if self._rule.tag else []
        for value in self._known.get("tags", ()):
            found += [tag for tag in (name_of(value, TAG_CHARS_MAX),) if tag]
        for column in self._rule.tags:
            tags, whole = tags_of(self._values.get(column))
            found += tags
            if not whole:
                self.aside.append((column, "not all of it is tags"))
        return list(dict.fromkeys(found))[:TAGS_MAX]

    def time(self) -> float | None:
        known = seconds_of(self._known.get("time"))
        if known is not None:
            return known
        columns = [each for each in self._rule.time if self._values.get(each) is not None]
        for column in columns:
            if (found := seconds_of(self._values[column])) is not None:
                return found
            self.aside.append((column, "no time"))
        return None

    def related(self) -> tuple[str, str, str] | None:
        """The ends of a relation, where they have names."""
        ends: tuple[str, str, str] | None = self._known.get(RELATED)
        return ends

    def weight(self) -> float:
        value = self._values.get(self._rule.weight) if self._rule.weight else None
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else 1.0

    def moment(self, column: str) -> float | None:
        return seconds_of(self._values.get(column)) if column else None

    def vector(self) -> tuple[Any, dict[str, Artifact]]:
        """The vector, or the artifact that it is where nobody could search with it."""
        import numpy as np

        column = self._rule.vector
        value = self._known[VECTOR] if VECTOR in self._known else self._values.get(column) if column else None
        if value is None or value == b"":
            return None, {}
        floats = floats_of(value)
        if floats is None:
            self.aside.append((column or VECTOR, "no vector of float32"))
            if isinstance(value, bytes):
                self._said.add(column)
                return None, {VECTOR: value}
            return None, {}
        self._said.add(column)
        made = np.frombuffer(floats, "<f4")
        wanted = self._options.dims or len(made)
        if len(made) < wanted:
            self.aside.append((column or VECTOR, f"fewer than {wanted} numbers"))
            return None, {VECTOR: floats}
        made = made[:wanted]
        if self._options.half:
            with np.errstate(over="ignore"):
                rounded = made.astype("<f2").astype("<f4")
            made = np.where(np.isfinite(rounded), rounded, made)
        return made, {}

    def metadata(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The metadata of the row's own, and the row."""
        column = self._rule.metadata
        own = (
            self._known.get("metadata") if "metadata" in self._known else object_of(self._values.get(column))
        )
        own = json_of(own) if isinstance(own, dict) and MIGRATED not in own else {}
        if own and column:
            self._said.add(column)
        row = {name: json_of(value) for name, value in self._values.items() if name not in self._said}
        return own, row


def _worded(name: str, text: str, *, first: bool) -> str:
    """One of several texts: a list as lines, each behind what it is called, the first as it is."""
    listed = list_of(text)
    if listed is not None:
        return "\n".join(f"- {each}" for each in listed)
    return text if first else f"{name.replace('_', ' ')}: {text}"


def _key_part(value: Any) -> str:
    text = text_of(value)
    if text is not None and len(text) <= _KEY_CHARS and text.isprintable():
        return text
    data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
    return _digest(data)


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=_HASH_CHARS // 2).hexdigest()


def _size(value: Any) -> int:
    return len(json.dumps(value))


def _artifact_name(name: str) -> str:
    return name if name and name.isprintable() and len(name) <= _KEY_CHARS else _digest(_bytes(name))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def sum_of(what: NewNote | NewSession, vector: bytes = b"") -> str:
    """A sum of all that is kept: another one, and the row has changed."""
    parts: Sequence[Any]
    if isinstance(what, NewSession):
        parts = (what.id, what.title, what.summary, what.channel, what.project, what.started, what.ended)
        artifacts: Mapping[str, Any] = {}
    else:
        parts = (what.text, what.session, what.role, list(what.tags), what.channel, what.project, what.author)
        parts = (*parts, what.time)
        artifacts = what.artifacts or {}
    hashed = hashlib.blake2b(json.dumps([parts, what.metadata]).encode("ascii"), digest_size=8)
    hashed.update(vector)
    for name, data in artifacts.items():
        hashed.update(name.encode("utf-8") + b"\0" + bytes(data))
    return hashed.hexdigest()
