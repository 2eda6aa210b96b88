"""A store to which is said more and more, and what an index finds of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import tantivy

from recollect.search.text.index import TextIndex
from recollect.store.contract import View
from recollect.testing.reference import ReferenceStore
from recollect.testing.stores import take
from recollect.values.records import Entry, Kind, Line, Parsed

Query = tantivy.Query


def line(*entries: Entry, number: int = 0, type_: str = "user") -> Line:
    return Line(json.dumps({"n": number, "e": len(entries)}).encode(), 0, Parsed(type_, entries))


class Talk:
    """A store to which is said more and more."""

    def __init__(self) -> None:
        self.store = ReferenceStore(step=1)
        self.lines = 0

    def say(self, *texts: str, flags: int = 0, id_: str = "3f2a0000-aaaa") -> None:
        self.add(
            *(line(Entry(Kind.PROMPT, text, flags), number=self.lines + n) for n, text in enumerate(texts)),
            id_=id_,
        )

    def add(self, *lines: Line, id_: str = "3f2a0000-aaaa") -> None:
        self.lines += len(lines)
        with self.store.writer() as writer:
            take(writer, list(lines), id_=id_, name=f"{id_}.jsonl")
            writer.commit()

    @contextmanager
    def view(self) -> Iterator[View]:
        with self.store.view() as view:
            yield view


def having(index: TextIndex, word: str, field: str = "body") -> list[int]:
    """The rows that hold a word, in their own order."""
    terms = index.analyze(field, word)
    query = Query.boolean_query(
        [(tantivy.Occur.Must, Query.term_query(index.schema, field, t)) for t in terms]
    )
    return sorted(index.search(query, 10_000).rows.tolist())
