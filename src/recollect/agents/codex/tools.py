"""Codex's tools. A patch names its files in its text: `*** Update File: src/a.py`."""

from __future__ import annotations

import re
from typing import Any

from recollect.agents.tools import Tasks, Tools, whole_list

_PATCHED = re.compile(r"\*\*\* (?:(?:Update|Add|Delete) File|Move to): ([^\n\r\"]+?)(?=\\[nr]|[\n\r\"]|$)")


def patched_paths(text: str) -> list[str]:
    """The files a patch adds, updates, deletes or moves to, in a text or in a string inside JSON."""
    return [path.strip() for path in _PATCHED.findall(text)] if "*** " in text else []


def _plan(tasks: Tasks, given: dict[str, Any], all_calls: bool) -> Tasks:
    return whole_list(given.get("plan"), "step")


TOOLS = Tools(
    change=frozenset({"apply_patch"}),
    run=frozenset({"shell", "shell_command", "exec_command", "local_shell", "container.exec"}),
    plan={"update_plan": _plan},
    commands=("command", "cmd"),
    patched=(patched_paths,),
)
