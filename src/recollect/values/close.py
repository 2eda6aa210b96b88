"""Names that are nearly what somebody wrote: for "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

CUTOFF = 0.7  # of a name, to be near: one letter of four wrong is, two are not
NAMED_MAX = 3
START_CHARS_MIN = 4  # of an id's beginning: any shorter one is near to many


def near_names(word: str, names: Iterable[str]) -> list[str]:
    """The names nearest to a word, by the whole of them or by what stands between their slashes."""
    every = list(names)
    known = {name.casefold(): name for name in every}
    for name in every:
        for part in name.split("/"):
            known.setdefault(part.casefold(), name)
    found = get_close_matches(word.casefold(), [part for part in known if part], NAMED_MAX, CUTOFF)
    return list(dict.fromkeys(known[part] for part in found))


def near_ids(start: str, ids: Iterable[str]) -> list[str]:
    """The ids that begin nearly so."""
    if len(start) < START_CHARS_MIN:
        return []
    known: dict[str, str] = {}
    for each in ids:
        known.setdefault(each[: len(start)], each)
    return [known[found] for found in get_close_matches(start, list(known), NAMED_MAX, CUTOFF)]


def did_you_mean(names: Iterable[str]) -> str:
    """The question, "" for no names."""
    listed = " or ".join(names)
    return f"did you mean {listed}?" if listed else ""
