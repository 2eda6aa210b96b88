"""Where droid keeps its sessions, and which files are some."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Final

from recollect.agents.fields import dict_of, text_of
from recollect.agents.head import Head
from recollect.values.records import Framing, Role, SourceFile

_AGENT: Final = "droid"
_SETTINGS: Final = ".settings.json"
_FIELDS: Final = (b'"tokenUsage"', b'"interactionMode"', b'"autonomyMode"', b'"assistantActiveTimeMs"')


def folder(home: PurePath, environ: Mapping[str, str]) -> PurePath:
    """Where droid keeps everything: the variable says which folder it takes for the home."""
    return PurePath(environ.get("FACTORY_HOME_OVERRIDE") or home) / ".factory"


def servers_file(home: Path, environ: Mapping[str, str]) -> Path:
    return Path(folder(home, environ)) / "mcp.json"


def recognise(path: PurePath, head: Head) -> SourceFile | None:
    """A session by its first record, whatever its name; its settings by their name and fields."""
    if path.suffix == ".jsonl":
        first = dict_of(next(iter(head.records), None))
        session = text_of(first.get("id"))
        known = first.get("type") == "session_start" and session
        role = Role.SUBAGENT if text_of(first.get("callingSessionId")) else Role.MAIN
        return SourceFile(_AGENT, str(path), role, session=session) if known else None
    session = path.name.removesuffix(_SETTINGS)
    if session in ("", path.name) or not any(field in head.data for field in _FIELDS):
        return None
    return SourceFile(_AGENT, str(path), Role.SIDECAR, Framing.DOCUMENT, session)
