"""pi's own tools; its extensions bring others under any name."""

from __future__ import annotations

import json

from recollect.agents.fields import dict_of, list_of, text_of
from recollect.agents.tools import Tools
from recollect.values.history import Change


def edited_texts(text: str) -> list[Change]:
    """What becomes of a file by a call of `edit`, which names several texts or one, or of `write`."""
    if '"path"' not in text:
        return []
    try:
        given = dict_of(json.loads(text))
    except (ValueError, RecursionError):
        return []
    path = text_of(given.get("path"))
    if path and type(given.get("content")) is str:
        return [Change(path, "", given["content"], is_whole=True)]
    edits = [dict_of(each) for each in list_of(given.get("edits"))] or [given]
    changes = [Change(path, text_of(each.get("oldText")), text_of(each.get("newText"))) for each in edits]
    return [each for each in changes if path and (each.old or each.new)]


TOOLS = Tools(
    change=frozenset({"edit", "write"}),
    look_in=frozenset({"find", "grep", "ls"}),
    run=frozenset({"bash", "powershell"}),
    paths=("path",),
    commands=("command",),
    edited=(edited_texts,),
    read=frozenset({"read"}),
)
