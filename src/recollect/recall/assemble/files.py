"""Which file a call looks at, so that of several looks at one file only the last is told.

A file is known by its path below the session's folder and the part that was asked for: two
pages of one file are two things.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from recollect.agents.registry import all_tools
from recollect.search.text.fields import files_of, names_folder, path_term
from recollect.values.records import Entry, Kind

if TYPE_CHECKING:
    from recollect.search.run import Search
    from recollect.values.stored import StoredEntry

_PAGE = ("offset", "limit", "view_range", "pages")


def is_change(entry: Entry) -> bool:
    """Whether a call changes a file."""
    return entry.kind == Kind.CALL and entry.tool.lower() in all_tools().change


def is_read(entry: Entry) -> bool:
    """Whether a call shows a file."""
    if entry.kind != Kind.CALL or is_change(entry) or names_folder(entry):
        return False
    return bool(files_of(entry))


def file_key(search: Search, stored: StoredEntry) -> tuple[str, str]:
    """What two looks at the same thing share: the whole path, and which part of it."""
    path = files_of(stored.entry)[0]
    folder = search.sessions[stored.session_row].facts.cwd
    whole = path if path.startswith(("/", "~")) or path[1:2] == ":" else f"{folder}/{path}"
    return path_term(whole), _page(stored.entry)


def same_file(search: Search, stored: StoredEntry, other: StoredEntry) -> bool:
    return file_key(search, stored) == file_key(search, other)


def _page(entry: Entry) -> str:
    try:
        value = json.loads(entry.text)
    except (ValueError, RecursionError):
        return ""
    asked = [value.get(name) for name in _PAGE] if isinstance(value, dict) else []
    return json.dumps(asked) if any(asked) else ""
