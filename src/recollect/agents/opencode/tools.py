"""OpenCode's tools. `apply_patch` takes the patches that Codex made known, and is known from there."""

from __future__ import annotations

import json
from typing import Any

from recollect.agents.fields import dict_of, list_of, text_of
from recollect.agents.tools import Tasks, Tools, whole_list
from recollect.values.history import Change


def edited(text: str) -> list[Change]:
    """What becomes of `filePath`: old and new text, several of both, or all of the new."""
    try:
        given = dict_of(json.loads(text)) if text.startswith("{") and '"filePath"' in text else {}
    except (ValueError, RecursionError):
        return []
    path = text_of(given.get("filePath"))
    if path and "content" in given:
        return [Change(path, "", text_of(given["content"]), is_whole=True)]
    edits = [dict_of(each) for each in list_of(given.get("edits"))] or [given]
    changes = [Change(path, text_of(each.get("oldString")), text_of(each.get("newString"))) for each in edits]
    return [each for each in changes if path and (each.old or each.new)]


def _plan(tasks: Tasks, given: dict[str, Any], all_calls: bool) -> Tasks:
    return whole_list(given.get("todos"), "content")


TOOLS = Tools(
    change=frozenset({"edit", "multiedit", "patch", "write"}),
    look_in=frozenset({"codesearch", "glob", "grep", "list"}),
    run=frozenset({"bash"}),
    plan={"todowrite": _plan},
    paths=("filePath",),
    commands=("command",),
    edited=(edited,),
    read=frozenset({"read"}),
    fetch=frozenset({"webfetch", "websearch"}),
    delegate=frozenset({"task"}),
    ask=frozenset({"question"}),
    propose=frozenset({"plan_exit"}),
    prepare=frozenset({"plan_enter"}),
)
