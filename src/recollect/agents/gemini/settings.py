"""What we put into Gemini CLI's `settings.json`: hooks, under names of its own, and our MCP server."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from recollect.agents.editing.json_text import Document
from recollect.agents.editing.servers import HookFiles, ServerSettings
from recollect.agents.fields import dict_of, text_of
from recollect.agents.gemini.hooks import folder
from recollect.values.settings import Commands

# Milliseconds. For the end of a session it does not wait at all.
TIMEOUTS = {
    "SessionStart": 5000,
    "BeforeAgent": 5000,
    "AfterAgent": 5000,
    "PreCompress": 5000,
    "SessionEnd": 5000,
}

RETENTION_DAYS = 30  # unless its settings say otherwise

_AGE = re.compile(r"(\d{1,6})([hdwm])")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7, "m": 24 * 30}


def settings_of(commands: Commands, home: Path, environ: Mapping[str, str], project: Path) -> ServerSettings:
    """Gemini CLI as it is set up in this home, and in this folder for what is the project's."""
    path = Path(folder(str(home), environ)) / "settings.json"
    program, *args = commands.mcp
    return ServerSettings(
        name="gemini",
        title="Gemini CLI",
        used=path.parent,
        path=path,
        entry={"command": program, "args": args},
        environment=environ,
        hooks=HookFiles(commands, path, project / ".gemini" / "settings.json", TIMEOUTS, _silenced),
    )


def _silenced(document: Document) -> str:
    is_off = dict_of(document.value.get("hooksConfig")).get("enabled") is False
    return "`hooksConfig.enabled` is false" if is_off else ""


def retention_days(home: Path, environ: Mapping[str, str]) -> int | None:
    """After how many days it deletes a chat at its next start; None where that is switched off."""
    try:
        told = json.loads((Path(folder(str(home), environ)) / "settings.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return RETENTION_DAYS
    kept = dict_of(dict_of(dict_of(told).get("general")).get("sessionRetention"))
    if kept.get("enabled") is False:
        return None
    age = _AGE.fullmatch(text_of(kept.get("maxAge")))
    return int(age[1]) * _HOURS[age[2]] // 24 if age else RETENTION_DAYS
