"""Amp's tools."""

from __future__ import annotations

import json

from recollect.agents.fields import dict_of, text_of
from recollect.agents.tools import Tools
from recollect.values.history import Change


def edited(text: str) -> list[Change]:
    """What becomes of `path`: old and new text."""
    try:
        given = dict_of(json.loads(text)) if text.startswith("{") and '"new_str"' in text else {}
    except (ValueError, RecursionError):
        return []
    path, old, new = (text_of(given.get(name)) for name in ("path", "old_str", "new_str"))
    return [Change(path, old, new)] if path and (old or new) else []


TOOLS = Tools(
    change=frozenset({"create_file", "edit_file"}),
    look_in=frozenset({"finder", "glob", "grep", "list_directory"}),
    run=frozenset({"bash"}),
    paths=("path",),
    commands=("cmd",),
    edited=(edited,),
    read=frozenset({"read"}),
    fetch=frozenset({"read_web_page", "web_search"}),
    delegate=frozenset({"librarian", "oracle", "task"}),
)
