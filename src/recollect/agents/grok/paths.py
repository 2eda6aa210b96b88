"""Where Grok keeps its sessions, and which files of a session are read.

A subagent's session lies beside its parent's and looks the same; only `summary.json` in its folder tells.
It is looked at when the log is recognised, so that a store knows it with the source.
"""

from __future__ import annotations

import contextlib
import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any, Final

from recollect.agents.fields import dict_of, text_of
from recollect.agents.head import Head
from recollect.light.own_files import open_regular
from recollect.values.errors import FileRefused
from recollect.values.records import Framing, Role, SourceFile

_AGENT: Final = "grok"
METHODS: Final = ("session/update", "_x.ai/session/update")
SUMMARY: Final = "summary.json"
SPAWNED: Final = "meta.json"
CHECKPOINTS: Final = "compaction_checkpoints"
_BYTES_MAX: Final = 1 << 20


def folder(home: PurePath, environ: Mapping[str, str]) -> PurePath:
    """Where Grok keeps everything."""
    moved = environ.get("GROK_HOME")
    return PurePath(moved) if moved else home / ".grok"


def settings_file(home: Path, environ: Mapping[str, str]) -> Path:
    return Path(folder(home, environ)) / "config.toml"


def cleanup_days(home: Path, environ: Mapping[str, str]) -> int | None:
    """After how many days a session that nobody goes on with is deleted; unless a person says so, never."""
    troubles = OSError, ValueError, RecursionError, FileRefused
    with contextlib.suppress(*troubles):
        settings = tomllib.loads(_beginning(settings_file(home, environ)).decode())
        days = dict_of(settings.get("storage")).get("cleanup_ttl_days")
        return days if type(days) is int and days > 0 else None
    return None


def recognise(path: PurePath, head: Head) -> SourceFile | None:
    if path.suffix == ".jsonl":
        return _log(path, head)
    if path.suffix != ".json":
        return None
    if path.parent.name == CHECKPOINTS:
        known = b'"compacted_history"' in head.data
        return _beside(path, path.parent.parent.name) if known else None
    if path.name == SUMMARY:
        whole = _value(head.data)
        session = text_of(dict_of(whole.get("info")).get("id"))
        return _beside(path, session) if session and "num_chat_messages" in whole else None
    if path.name == SPAWNED:
        whole = _value(head.data)
        session, parent = (text_of(whole.get(name)) for name in ("child_session_id", "parent_session_id"))
        return _beside(path, session, parent) if session and parent else None
    return None


def _log(path: PurePath, head: Head) -> SourceFile | None:
    """A log by its first record, whatever its name."""
    first = dict_of(next(iter(head.records), None))
    session = text_of(dict_of(first.get("params")).get("sessionId"))
    if first.get("method") not in METHODS or not session:
        return None
    role = Role.SUBAGENT if _kind_beside(path) == "subagent" else Role.MAIN
    return SourceFile(_AGENT, str(path), role, session=session)


def _beside(path: PurePath, session: str, parent: str = "") -> SourceFile:
    return SourceFile(_AGENT, str(path), Role.SIDECAR, Framing.DOCUMENT, session, parent)


def _kind_beside(path: PurePath) -> str:
    with contextlib.suppress(OSError, ValueError, FileRefused):
        return text_of(_value(_beginning(path.with_name(SUMMARY))).get("session_kind"))
    return ""


def _value(data: bytes) -> dict[str, Any]:
    with contextlib.suppress(ValueError, RecursionError):
        return dict_of(json.loads(data))
    return {}


def _beginning(path: PurePath) -> bytes:
    with os.fdopen(open_regular(str(path)), "rb") as file:
        return file.read(_BYTES_MAX)
