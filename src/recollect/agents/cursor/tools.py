"""Cursor's tools, as the editor names them (`edit_file_v2`) and as the command line does (`StrReplace`)."""

from __future__ import annotations

import json
from typing import Any

from recollect.agents.fields import dict_of, text_of
from recollect.agents.tools import Tasks, Tools, edited_arguments, whole_list
from recollect.values.history import Change

_PATHS = ("path", "target_file", "relativeWorkspacePath", "file_path")
_WHOLE = ("contents", "streamingContent")


def edited(text: str) -> list[Change]:
    """What becomes of a file: old and new text, or all of the new."""
    if not text.startswith("{") or not any(f'"{name}"' in text for name in _PATHS):
        return []
    try:
        given = dict_of(json.loads(text))
    except (ValueError, RecursionError):
        return []
    path = next(filter(None, (text_of(given.get(name)) for name in _PATHS)), "")
    for name in _WHOLE:
        if path and name in given:
            return [Change(path, "", text_of(given[name]), is_whole=True)]
    change = Change(path, text_of(given.get("old_string")), text_of(given.get("new_string")))
    return [change] if path and (change.old or change.new) else []


def _plan(tasks: Tasks, given: dict[str, Any], all_calls: bool) -> Tasks:
    return whole_list(given.get("todos"), "content")


TOOLS = Tools(
    change=frozenset(
        {
            "apply_patch",
            "applypatch",
            "delete",
            "delete_file",
            "edit_file",
            "edit_file_v2",
            "editnotebook",
            "search_replace",
            "strreplace",
            "write",
            "write_file",
        }
    ),
    look_in=frozenset(
        {
            "codebase_search",
            "file_search",
            "glob",
            "glob_file_search",
            "grep",
            "grep_search",
            "list_dir",
            "list_dir_v2",
            "ls",
            "ripgrep_raw_search",
            "semantic_search_full",
            "semanticsearch",
        }
    ),
    run=frozenset({"run_terminal_cmd", "run_terminal_command", "run_terminal_command_v2", "shell"}),
    plan={"todo_write": _plan, "todowrite": _plan},
    paths=(
        "target_file",
        "targetFile",
        "relativeWorkspacePath",
        "target_directory",
        "targetDirectory",
        "path",
    ),
    commands=("command",),
    edited=(edited_arguments, edited),
    read=frozenset({"read", "read_file", "read_file_v2"}),
    follow=frozenset({"await"}),
    fetch=frozenset({"web_fetch", "web_search", "webfetch", "websearch"}),
    delegate=frozenset({"task", "task_v2"}),
    ask=frozenset({"ask_question", "askquestion"}),
    propose=frozenset({"create_plan", "createplan"}),
)
