"""droid's tools."""

from __future__ import annotations

import json

from recollect.agents.fields import dict_of, list_of, text_of
from recollect.agents.tools import Tools, edited_arguments
from recollect.values.history import Change


def edited(text: str) -> list[Change]:
    """What becomes of a file by a call of `Edit`, which names old and new text, or several of both."""
    if '"old_str"' not in text:
        return []
    try:
        given = dict_of(json.loads(text))
    except (ValueError, RecursionError):
        return []
    path = text_of(given.get("file_path"))
    edits = [dict_of(each) for each in list_of(given.get("changes"))] or [given]
    changes = [Change(path, text_of(each.get("old_str")), text_of(each.get("new_str"))) for each in edits]
    return [each for each in changes if path and (each.old or each.new)]


TOOLS = Tools(
    change=frozenset({"applypatch", "create", "edit", "multiedit"}),
    look_in=frozenset({"glob", "grep", "ls"}),
    run=frozenset({"execute"}),
    paths=("file_path", "directory_path", "folder"),
    commands=("command",),
    edited=(edited_arguments, edited),
    read=frozenset({"read"}),
    follow=frozenset({"taskoutput"}),
    fetch=frozenset({"fetchurl", "websearch"}),
    delegate=frozenset({"task"}),
    ask=frozenset({"askuser"}),
    propose=frozenset({"exitspecmode"}),
)
