"""Codex's tools. A patch names its files in its text: `*** Update File: src/a.py`."""

from __future__ import annotations

import json
import re
from typing import Any

from recollect.agents.fields import dict_of
from recollect.agents.tools import Tasks, Tools, whole_list
from recollect.values.history import Change

_PATCHED = re.compile(r"\*\*\* (?:(?:Update|Add|Delete) File|Move to): ([^\n\r\"]+?)(?=\\[nr]|[\n\r\"]|$)")


def patched_paths(text: str) -> list[str]:
    """The files a patch adds, updates, deletes or moves to, in a text or in a string inside JSON."""
    return [path.strip() for path in _PATCHED.findall(text)] if "*** " in text else []


def patched_texts(text: str) -> list[Change]:
    """What a patch makes of each file: the lines it shows as they were, and as they are then."""
    changes: list[Change] = []
    for patch in _patches(text):
        path, old, new = "", list[str](), list[str]()
        for line in [*patch.splitlines(), "*** End"]:
            if line.startswith("*** "):
                if path and (old or new):
                    changes.append(Change(path, "\n".join(old), "\n".join(new)))
                path, old, new = "".join(patched_paths(line)) or path, [], []
            elif line[:1] in ("+", "-", " "):
                old += [line[1:]] if line[0] != "+" else []
                new += [line[1:]] if line[0] != "-" else []
    return changes


def _patches(text: str) -> list[str]:
    """The patches in a call: its text, or strings of its arguments."""
    if "*** Begin Patch" not in text:
        return []
    if not text.startswith("{"):
        return [text]
    try:
        given = dict_of(json.loads(text))
    except (ValueError, RecursionError):
        return []
    said = [each for value in given.values() for each in (value if isinstance(value, list) else [value])]
    return [each for each in said if isinstance(each, str) and "*** Begin Patch" in each]


def _plan(tasks: Tasks, given: dict[str, Any], all_calls: bool) -> Tasks:
    return whole_list(given.get("plan"), "step")


TOOLS = Tools(
    change=frozenset({"apply_patch"}),
    run=frozenset({"shell", "shell_command", "exec_command", "local_shell", "container.exec"}),
    plan={"update_plan": _plan},
    commands=("command", "cmd"),
    patched=(patched_paths,),
    edited=(patched_texts,),
    read=frozenset({"view_image", "read_file"}),
    follow=frozenset({"write_stdin"}),
    fetch=frozenset({"web_search"}),
    delegate=frozenset({"spawn_agent"}),
    ask=frozenset({"request_user_input"}),
)
