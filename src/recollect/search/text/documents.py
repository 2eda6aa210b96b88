"""What of a store goes into the text index: an entry as a document, and the fields of one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import tantivy

from recollect.agents.decode import BadLine, decode
from recollect.agents.memory.records import channel_of, tags_of
from recollect.light.sources import MEMORY
from recollect.search.text.fields import (
    Identifiers,
    body_of,
    cjk_terms,
    dir_terms,
    encodable,
    file_terms,
    files_of,
    flags_of,
    gist_of,
    identifiers,
    is_indexed,
    mark_term,
    names_folder,
)
from recollect.store.contract import View
from recollect.store.walks import is_said
from recollect.values.records import Kind
from recollect.values.stored import StoredEntry

BATCH_CHARS = 1_000_000  # of text that are looked through at once
BATCH_ROWS = 4096

Mark = tuple[str, str]  # a field, and a term in it


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents of rows below `done`; those of the turns `anew` go first, for these come in their place."""

    done: int
    documents: list[tantivy.Document]
    anew: tuple[int, ...] = ()


def schema() -> tantivy.Schema:
    """The fields of a document."""
    builder = tantivy.SchemaBuilder()
    for name in ("row", "session", "kind", "turn"):
        builder.add_unsigned_field(name, indexed=True, fast=True)
    for name in ("chars", "gist"):
        builder.add_unsigned_field(name, fast=True)
    builder.add_integer_field("time", indexed=True, fast=True)
    for name in ("flag", "tool", "model", "type", "file", "dir", "tag", "channel"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("body", tokenizer_name="words", index_option="position")
    builder.add_text_field("whole", tokenizer_name="whitespace", index_option="basic")
    builder.add_text_field("parts", tokenizer_name="words", index_option="basic")
    builder.add_text_field("cjk", tokenizer_name="whitespace", index_option="position")
    return builder.build()


def batches(view: View, start: int, stop: int) -> Iterator[Batch]:
    """The entries of some rows that are searched, each as a document."""
    turns, marks = _Turns(view, start), _Marks(view)
    for batch in _read(view, start, stop):
        began = [turns.of(each) for each in batch]
        yield Batch(batch[-1].row + 1, list(_documents(batch, began, marks.of(batch))))


def document_of(stored: StoredEntry, turn: int, body: str, names: Identifiers) -> tantivy.Document:
    """What every document has, with `body` for its text."""
    document, entry = tantivy.Document(), stored.entry
    document.add_unsigned("row", stored.row)
    document.add_unsigned("session", stored.session_row)
    document.add_unsigned("kind", int(entry.kind))
    document.add_integer("time", entry.time_ms)
    document.add_unsigned("chars", len(entry.text))
    document.add_unsigned("gist", gist_of(body, exact=entry.kind == Kind.NOTE))
    document.add_unsigned("turn", turn)
    texts = {"body": body, "whole": names.whole, "parts": names.parts, "cjk": cjk_terms(body)}
    for field, text in texts.items():
        if text:
            document.add_text(field, text)
    return document


class _Turns:
    """Tells what turn entries are of that come row by row."""

    def __init__(self, view: View, start: int) -> None:
        self._view, self._start = view, start
        self._last: dict[int, int] = {}

    def of(self, stored: StoredEntry) -> int:
        """As `Found.turns` has it."""
        session = stored.session_row
        if stored.entry.is_said:
            self._last[session] = stored.row + 1
        elif session not in self._last:
            self._last[session] = self._before(session)
        return self._last[session]

    def _before(self, session: int) -> int:
        columns = self._view.session_columns(session, "row", "kind", "flags")
        said = columns["row"][is_said(columns)]
        at = int(np.searchsorted(said, self._start))
        return int(said[at - 1]) + 1 if at else 0


class _Marks:
    """Tells the tags and the channel of what was saved, which stand in its line alone."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._saved: dict[int, bool] = {}  # whether a session is one of notes, by row

    def of(self, batch: list[StoredEntry]) -> dict[int, list[Mark]]:
        """What notes are marked with, by row, as it is asked for."""
        notes = [each for each in batch if self._is_saved(each.session_row)]
        if not notes:
            return {}
        lines = self._view.columns_at([each.row for each in notes], "line")["line"].tolist()
        found = (marks_of(line.data) for line in self._view.lines_at(lines))
        return {each.row: marks for each, marks in zip(notes, found, strict=True) if marks}

    def _is_saved(self, session: int) -> bool:
        if session not in self._saved:
            self._saved[session] = self._view.session_rows()[session].facts.agent == MEMORY
        return self._saved[session]


def marks_of(line: bytes) -> list[Mark]:
    """The tags and the channel of a note as terms."""
    try:
        record = decode(line)[0]
    except BadLine:
        return []
    if not isinstance(record, dict):
        return []
    told = [("tag", tag) for tag in tags_of(record)] + [("channel", channel_of(record))]
    return [(field, mark_term(value)) for field, value in told if value]


def _read(view: View, start: int, stop: int) -> Iterator[list[StoredEntry]]:
    """Entries by the batch, cut between lines: what a line holds is known only from all of it."""
    batch: list[StoredEntry] = []
    chars = 0
    for entry in view.entry_range(start, stop):
        full = chars >= BATCH_CHARS or len(batch) >= BATCH_ROWS
        if full and _line(entry) != _line(batch[-1]):
            yield batch
            batch, chars = [], 0
        batch.append(entry)
        chars += len(entry.entry.text)
    if batch:
        yield batch


def _documents(
    batch: list[StoredEntry], turns: list[int], marked: dict[int, list[Mark]]
) -> Iterator[tantivy.Document]:
    with_image = {_line(each) for each in batch if each.entry.kind == Kind.IMAGE}
    wanted = [(each, turn) for each, turn in zip(batch, turns, strict=True) if is_indexed(each.entry)]
    bodies = [body_of(each.entry) for each, _ in wanted]
    for (each, turn), body, names in zip(wanted, bodies, identifiers(bodies), strict=True):
        document = document_of(each, turn, body, names)
        _add_facts(document, each, _line(each) in with_image)
        for field, value in marked.get(each.row, ()):
            document.add_text(field, value)
        yield document


def _add_facts(document: tantivy.Document, stored: StoredEntry, has_image: bool) -> None:
    entry = stored.entry
    for field, text in (("tool", entry.tool), ("model", entry.model), ("type", stored.type)):
        if text:
            document.add_text(field, encodable(text.lower()))
    for flag in (*flags_of(entry), *(["image"] if has_image else [])):
        document.add_text("flag", flag)
    if entry.kind == Kind.CALL:
        _add_paths(document, stored)


def _add_paths(document: tantivy.Document, stored: StoredEntry) -> None:
    paths = files_of(stored.entry)
    folder = names_folder(stored.entry)
    for term in dict.fromkeys(term for path in paths for term in file_terms(path)):
        document.add_text("file", term)
    for term in dict.fromkeys(term for path in paths for term in dir_terms(path, folder)):
        document.add_text("dir", term)


def _line(stored: StoredEntry) -> str:
    """Which line an entry is of; those of one line stand together."""
    return stored.id.partition(".")[0]
