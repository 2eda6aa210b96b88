"""Copilot CLI's tools, by the names they had over time."""

from __future__ import annotations

import json
from typing import Any

from recollect.agents.fields import dict_of, text_of
from recollect.agents.tools import Tasks, Tools
from recollect.values.history import Change


def edited(text: str) -> list[Change]:
    """What becomes of a file by `edit` (old and new text), `create` (all of it) or `str_replace_editor`."""
    try:
        given = dict_of(json.loads(text)) if text.startswith("{") else {}
    except (ValueError, RecursionError):
        return []
    path, new = text_of(given.get("path")), text_of(given.get("new_str"))
    if path and "file_text" in given:
        return [Change(path, "", text_of(given["file_text"]), is_whole=True)]
    old = text_of(given.get("old_str"))
    return [Change(path, old, new)] if path and (old or new) else []


def _todo(tasks: Tasks, given: dict[str, Any], all_calls: bool) -> Tasks:
    """A list as Markdown: `- [x] done`."""
    found: Tasks = {}
    for line in text_of(given.get("todos")).splitlines():
        mark, box, what = line.strip().partition("] ")
        if box and mark[:3] in ("- [", "* ["):
            found[f"item {len(found)}"] = (what, "completed" if mark[3:] in ("x", "X") else "pending")
    return found


TOOLS = Tools(
    change=frozenset({"apply_patch", "create", "edit", "str_replace_editor"}),
    look_in=frozenset({"glob", "grep", "rg"}),
    run=frozenset({"bash", "powershell"}),
    plan={"update_todo": _todo},
    paths=("path",),
    commands=("command",),
    edited=(edited,),
    read=frozenset({"view"}),
    follow=frozenset({"read_bash", "read_powershell", "write_bash", "write_powershell"}),
    fetch=frozenset({"web_fetch", "web_search"}),
    delegate=frozenset({"task"}),
    ask=frozenset({"ask_user"}),
    propose=frozenset({"exit_plan_mode"}),
)
