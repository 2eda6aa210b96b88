"""The commands of ours that stand in agents' settings, and how to know them again."""

from __future__ import annotations

import re
import shlex

_HOOK = re.compile(r"recollect[/\\]hooks[/\\]entry\.py|\brecollect-hook\b")
_NAME = re.compile(r"(^|[/\\])recollect(\.exe)?$")


def is_ours(command: str) -> bool:
    """Whether a line of a settings file runs Recollect's hook or server, of whichever install."""
    if _HOOK.search(command):
        return True
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    at = next((n for n, word in enumerate(words) if _NAME.search(word)), len(words))
    rest = words[at + 1 :]
    return rest[:1] == ["mcp"] or (rest[:1] == ["--store"] and rest[2:3] == ["mcp"])
