"""Conversations that are trees, in documents that say where they go on: the rest was left on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.values.records import Parsed

WHOLE = "conversation"  # the key of one that is told as one record


def branch_to(leaf: str, parents: Mapping[str, str]) -> list[str]:
    """The ids from the first message to this one; none where it is not there."""
    found: dict[str, None] = {}
    while leaf in parents and leaf not in found:
        found[leaf] = None
        leaf = parents[leaf]
    return [*reversed(found)]


def together(messages: Sequence[Parsed]) -> Parsed:
    """Messages as one record, under the name of the first that is not known."""
    entries = tuple(entry for each in messages for entry in each.entries)
    strange = next((each.type for each in messages if not each.known), "")
    return Parsed(strange or WHOLE, entries, known=not strange)
