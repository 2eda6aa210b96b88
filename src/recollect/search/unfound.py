"""Why a search found nothing: no word of it occurs, or a filter names what is not there."""

from __future__ import annotations

from collections.abc import Iterator

from recollect.search.completion import values
from recollect.search.query import AllOf, Is, Node, words_of
from recollect.search.run import Search
from recollect.search.session_filters import SESSION_FIELDS
from recollect.values.close import did_you_mean, near_ids, near_names
from recollect.values.text import one_line

NO_WORD = "no word of it occurs"
NOT_HERE = "its words occur, but not where its filters look"
VALUES_COMPARED = 2_000
SHOWN_CELLS = 60


def reasons(search: Search, node: Node) -> tuple[str, ...]:
    """What a reader should know of a question that was answered with nothing."""
    filters = list(_filters(node))
    notes = [_nobody(search, each) for each in filters if not _lets_through(search, each)]
    words = list(words_of(node))
    if words and not any(_occurs(search, word) for word in words):
        notes.append(NO_WORD)
    elif words and filters and not notes:
        notes.append(NOT_HERE)
    return tuple(notes)


def _filters(node: Node) -> Iterator[Is]:
    """The filters that something must pass: none that it must not, nor one of several."""
    if isinstance(node, Is):
        yield node
    elif isinstance(node, AllOf):
        for each in node.nodes:
            yield from _filters(each)


def _lets_through(search: Search, each: Is) -> bool:
    if each.field in SESSION_FIELDS:
        return bool(search.sessions.where(each.field, each.value))
    return len(search.rows(each, 1)) > 0


def _nobody(search: Search, each: Is) -> str:
    told = values(search.text, search.sessions, search.mentions, each.field, "", VALUES_COMPARED)
    known = [value for value, _ in told if value != each.value]
    near = near_ids(each.value, known) if each.field == "session" else near_names(each.value, known)
    asked = did_you_mean(f"{each.field}:{one_line(name, SHOWN_CELLS)}" for name in near)
    nothing = f"nothing has {each.field}:{one_line(each.value, SHOWN_CELLS)}"
    return f"{nothing}; {asked}" if asked else nothing


def _occurs(search: Search, word: str) -> bool:
    """Whether any part of a word or phrase is in any entry."""
    index = search.text
    return any(
        index.frequency(field, term)
        for field in ("body", "whole", "cjk")
        for term in index.analyze(field, word)
    )
