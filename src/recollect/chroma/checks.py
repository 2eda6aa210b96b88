"""What a call brings, checked before anything is changed, and refused in Chroma's own words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from recollect.chroma.refusals import Refused
from recollect.chroma.where import DOCUMENT_KEY

OWN: Final = "chroma:"  # what Chroma, and so this, keeps for itself among the keys of metadata
EMBEDDING: Final = "chroma:embedding"

PARTS: Final = ("documents", "embeddings", "metadatas", "distances", "uris", "data")
_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")
_SCALAR: Final = (str, int, float, bool)
_FEW: Final = 10  # repeated ids are all named where there are fewer


def check_name(name: str, field: str = "name") -> None:
    if not _NAME.fullmatch(name):
        raise Refused(
            f"Validation error: {field}: Expected a name containing 3-512 characters from [a-zA-Z0-9._-], "
            f"starting and ending with a character in [a-zA-Z0-9]. Got: {name}"
        )


def check_ids(ids: Sequence[str]) -> None:
    if not ids:
        raise Refused(f"Expected IDs to be a non-empty list, got {len(ids)} IDs")
    seen: set[str] = set()
    again = list(dict.fromkeys(each for each in ids if each in seen or seen.add(each)))  # type: ignore[func-returns-value]
    if not again:
        return
    if len(again) < _FEW:
        raise Refused(f"Expected IDs to be unique, found duplicates of: {', '.join(again)}")
    some = again[:11]
    named = f"{', '.join(some[:5])}, ..., {', '.join(some[-5:])}"
    raise Refused(f"Expected IDs to be unique, found {len(again)} duplicated IDs: {named}")


def check_lengths(**parts: Sequence[Any] | None) -> None:
    """Lists that belong together are equally long, and none is empty."""
    given = {name: part for name, part in parts.items() if part is not None}
    if empty := [name for name, part in given.items() if not part]:
        raise Refused(f"Non-empty lists are required for {empty}")
    if len({len(part) for part in given.values()}) > 1:
        told = ", ".join(f"{name}: {len(part)}" for name, part in given.items())
        raise Refused(f"Unequal lengths for fields: {told}")


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """The shape of metadata; `check_values` knows which of what passes is kept."""
    if not metadata:
        raise Refused(f"Expected metadata to be a non-empty dict, got {len(metadata)} metadata attributes")
    for key, value in metadata.items():
        if key == DOCUMENT_KEY:
            raise Refused(f"Expected metadata to not contain the reserved key {DOCUMENT_KEY}")
        if isinstance(value, list):
            _check_list(key, value)
        elif value is not None and not isinstance(value, _SCALAR):
            raise Refused(
                "Expected metadata value to be a str, int, float, bool, SparseVector, list, or None, "
                f"got {value} which is a {type(value).__name__}"
            )


def _check_list(key: str, value: list[Any]) -> None:
    if not value:
        raise Refused(f"Expected metadata list value for key '{key}' to be non-empty")
    if type(value[0]) not in _SCALAR or any(type(each) is not type(value[0]) for each in value):
        raise Refused(
            f"Expected metadata list value for key '{key}' to contain only str, int, float, or bool "
            f"and all elements must be the same type, got {value}"
        )


def check_values(metadatas: Sequence[Mapping[str, Any]], *, removing: bool) -> None:
    """What has the right shape and still is not kept; `removing`: None takes a key away."""
    if not removing and any(None in metadata.values() for metadata in metadatas):
        raise Refused("argument 'metadatas': Cannot convert Python object to MetadataValue")
    for at, metadata in enumerate(metadatas):
        if any(not key or key[0] in "$#" or key == EMBEDDING for key in metadata):
            raise Refused(f"Validation error: metadatas: Invalid metadata at index {at}")


def check_include(include: Sequence[str], *, forbidden: str = "") -> None:
    for each in include:
        if each not in PARTS:
            raise Refused(f"Expected include item to be one of {', '.join(PARTS)}, got {each}")
        if each == forbidden:
            raise Refused(f"Include item cannot be one of {forbidden}, got {each}")


def check_page(*bounds: int | None) -> None:
    """A limit and an offset count something."""
    if any(bound is not None and not 0 <= bound < 1 << 32 for bound in bounds):
        raise Refused("out of range integral type conversion attempted")
