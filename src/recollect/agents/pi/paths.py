"""Where pi keeps its sessions, which files are some, and how a file is named.

Whoever sets `sessionDir` in pi's settings has all sessions in that one folder, without folders in it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import PurePath

from recollect.agents.fields import dict_of, text_of
from recollect.agents.head import Head
from recollect.light.own_files import open_regular
from recollect.values.errors import FileRefused
from recollect.values.records import SourceFile

_AGENT = "pi"
_SETTINGS_BYTES_MAX = 1 << 20
_NOT_IN_NAME = re.compile(r"[/\\:]")
_TIMED = re.compile(r"\d{4}-\d\d-\d\dT[\d-]+Z?_(?=.)")


def roots(home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
    """The folders below which sessions lie: of what is set, and the usual one."""
    usual = _folder(home, environ) / "sessions"
    moved = _moved_to(home, environ)
    return [moved] if moved and not _is_setting(environ) else [usual, *([moved] if moved else [])]


def session_folder(home: PurePath, environ: Mapping[str, str], cwd: str) -> PurePath:
    """Where pi, started in `cwd`, keeps its sessions."""
    if moved := _moved_to(home, environ):
        return moved
    name = _NOT_IN_NAME.sub("-", cwd[1:] if cwd[:1] in ("/", "\\") else cwd)
    return _folder(home, environ) / "sessions" / f"--{name}--"


def recognise(path: PurePath, head: Head) -> SourceFile | None:
    """A session by its first record, whatever its name."""
    if path.suffix != ".jsonl":
        return None
    first = dict_of(next(iter(head.records), None))
    session = text_of(first.get("id"))
    if first.get("type") != "session" or not session or type(first.get("timestamp")) is not str:
        return None
    return SourceFile(_AGENT, str(path), session=session)


def session_in(path: str) -> str:
    """The session whose file has this path, which may be of another machine."""
    name = re.split(r"[/\\]", path)[-1].removesuffix(".jsonl")
    return _TIMED.sub("", name)


def _folder(home: PurePath, environ: Mapping[str, str]) -> PurePath:
    """Where pi keeps everything."""
    moved = environ.get("PI_CODING_AGENT_DIR")
    return _expanded(moved, home) if moved else home / ".pi" / "agent"


def _is_setting(environ: Mapping[str, str]) -> bool:
    return not environ.get("PI_CODING_AGENT_SESSION_DIR")


def _moved_to(home: PurePath, environ: Mapping[str, str]) -> PurePath | None:
    """The one folder for all sessions, None where each folder's have their own."""
    told = environ.get("PI_CODING_AGENT_SESSION_DIR") or _setting(_folder(home, environ) / "settings.json")
    path = _expanded(told, home) if told else None
    return path if path is not None and path.is_absolute() else None


def _setting(path: PurePath) -> str:
    """`sessionDir` of pi's settings, "" where there is none."""
    troubles = OSError, ValueError, RecursionError, FileRefused
    with contextlib.suppress(*troubles), os.fdopen(open_regular(str(path)), "rb") as file:
        return text_of(dict_of(json.loads(file.read(_SETTINGS_BYTES_MAX))).get("sessionDir"))
    return ""


def _expanded(path: str, home: PurePath) -> PurePath:
    return home / path[2:] if path.startswith("~/") else PurePath(path)
