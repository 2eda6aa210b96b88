"""What a tool call changes in a file, as the lines of a diff.

Known by what is in the call, not by the tool's name: an old and a new text, several of them, a whole file, or
a patch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import unified_diff
from typing import Any

_OLD, _NEW, _WHOLE = ("old_string", "old_str"), ("new_string", "new_str"), ("content", "file_text")
_PATHS = ("file_path", "path", "notebook_path")
_PATCH = "*** Begin Patch"
_LINES_MAX = 4_000  # that are compared; of a longer text everything goes and everything comes
_AROUND = 2


def change_of(text: str) -> tuple[str, list[str]] | None:
    """The file that a call changes and how, each line with its `+`, `-` or blank; None for another call."""
    given = _decoded(text)
    if isinstance(given, dict):
        path = _first(given, _PATHS)
        edits = given.get("edits")
        pairs = [each for each in edits if isinstance(each, dict)] if isinstance(edits, list) else [given]
        changed = [line for pair in pairs for line in _edit(pair)]
        if path and changed:
            return path, _begun(changed)
    patch = next(_patches(given if given is not None else text), "")
    return _read_patch(patch) if patch else None


def _edit(pair: dict[str, Any]) -> Iterator[str]:
    old, new = _first(pair, _OLD), _first(pair, _NEW)
    if not old and not new:
        new = _first(pair, _WHOLE)
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > _LINES_MAX:
        yield from ("@@", *(f"-{line}" for line in before), *(f"+{line}" for line in after))
        return
    for line in list(unified_diff(before, after, lineterm="", n=_AROUND))[2:]:
        yield "@@" if line.startswith("@@") else line


def _read_patch(patch: str) -> tuple[str, list[str]]:
    """A patch of one file by its name; of several, with the name of each above its part."""
    inside = patch.partition(_PATCH)[2].partition("*** End Patch")[0].strip("\n").splitlines()
    heads = [line for line in inside if line.startswith("*** ")]
    if len(heads) == 1 and inside[0] == heads[0]:
        return heads[0].partition(": ")[2], _begun(inside[1:])
    return "", inside


def _begun(lines: list[str]) -> list[str]:
    """Without a mark above the first change that says nothing."""
    return lines[1:] if lines[:1] == ["@@"] else lines


def _patches(value: Any) -> Iterator[str]:
    """Every string in a call that holds a patch."""
    if isinstance(value, str) and _PATCH in value:
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _patches(each)
    elif isinstance(value, list):
        for each in value:
            yield from _patches(each)


def _first(given: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((given[name] for name in names if isinstance(given.get(name), str) and given[name]), "")


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
