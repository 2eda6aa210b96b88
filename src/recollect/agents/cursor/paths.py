"""Where Cursor keeps conversations, which files hold some, and which folder they are about."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import PurePath
from typing import Any
from urllib.parse import unquote, urlsplit

from recollect.agents.fields import dict_of, text_of
from recollect.agents.head import Head
from recollect.light.own_files import open_regular
from recollect.values.errors import FileRefused
from recollect.values.records import Framing, Role, SourceFile

_AGENT = "cursor"
STATE, STORE, CHAT = ("state.vscdb", "store.db", "meta.json")
TRANSCRIPT = "transcript-"  # before the id of the conversation of which it is a copy
_CHATS, _TRANSCRIPTS, _SUBAGENTS = ("chats", "agent-transcripts", "subagents")
_SCHEMA = (b"CREATE TABLE blobs", b"CREATE TABLE meta")
_EDITORS = (".config", "Library/Application Support", "AppData/Roaming")
_OTHERS = ("type", "id", "uuid", "sessionId", "timestamp")  # no record of a transcript begins with one
_EVENTS = ("turn_ended", "error")
_DRIVE = re.compile(r"/[A-Za-z]:")
_WORKSPACE_BYTES_MAX = 1 << 20
_NO_FOLDER = "empty-window"


def roots(home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
    """Those of the command line, and of the editor on each system.

    `workspaceStorage`, where chats of 2024 are, holds files of every extension: it is read when it is named.
    """
    moved, config = environ.get("CURSOR_CONFIG_DIR"), environ.get("XDG_CONFIG_HOME")
    own = [home / ".cursor"]
    own += [PurePath(config) / "cursor"] if config else []
    own = [PurePath(moved)] if moved else own
    users = [home / place / "Cursor" / "User" for place in _EDITORS]
    users = [PurePath(config) / "Cursor" / "User", *users[1:]] if config else users
    found = [each / name for each in own for name in ("projects", _CHATS)]
    found.append(home / ".cursor-server" / "projects")
    return [*found, *(user / "globalStorage" for user in users)]


def recognise(path: PurePath, head: Head) -> SourceFile | None:
    """A database by its name and its first bytes, a transcript by its place or its first record."""
    name = path.name
    if name == STATE:
        return SourceFile(_AGENT, str(path), framing=Framing.ROWS) if head.is_database else None
    if name == STORE:
        known = head.is_database and (_is_chat(path) or all(made in head.data for made in _SCHEMA))
        return SourceFile(_AGENT, str(path), framing=Framing.ROWS) if known else None
    if name == CHAT:
        known = _is_chat(path) and b'"schemaVersion"' in head.data
        session = path.parent.name
        return SourceFile(_AGENT, str(path), Role.SIDECAR, Framing.DOCUMENT, session) if known else None
    if path.suffix == ".txt":
        known = _TRANSCRIPTS in path.parent.parts
        return _transcript(path, Framing.DOCUMENT) if known else None
    if path.suffix != ".jsonl":
        return None
    first = dict_of(next(iter(head.records), None))
    is_event = _TRANSCRIPTS in path.parent.parts and first.get("type") in _EVENTS
    return _transcript(path, Framing.LINES) if is_event or _is_said(first) else None


def project_of(path: str) -> str:
    """The project of a transcript as its folder names it: its path, with dashes for slashes."""
    folders = PurePath(path).parent.parts
    if _TRANSCRIPTS not in folders[1:]:
        return ""
    name = folders[folders.index(_TRANSCRIPTS) - 1]
    return "" if name == _NO_FOLDER or name.isdigit() else name


def folder_in(address: Any) -> str:
    """The folder that an address names, on this machine or another; "" where it is none."""
    if type(address) is dict:
        return next(filter(None, (text_of(address.get(name)) for name in ("fsPath", "path"))), "")
    text = text_of(address)
    if "://" not in text:
        return text if text.startswith("/") else ""
    with contextlib.suppress(ValueError):
        path = unquote(urlsplit(text).path)
        return path[1:] if _DRIVE.match(path) else path
    return ""


def workspace_folder(path: str, workspace: str) -> str:
    """The folder of a workspace, as the editor notes it beside the database at this path."""
    user = PurePath(path).parent.parent
    if not workspace or PurePath(workspace).name != workspace or user.name != "User":
        return ""
    return _workspace(str(user / "workspaceStorage" / workspace / "workspace.json"))


def _transcript(path: PurePath, framing: Framing) -> SourceFile:
    is_sent = path.parent.name == _SUBAGENTS
    role, parent = (Role.SUBAGENT, path.parent.parent.name) if is_sent else (Role.MAIN, "")
    return SourceFile(_AGENT, str(path), role, framing, TRANSCRIPT + path.stem, parent)


def _is_chat(path: PurePath) -> bool:
    """Whether it lies where the command line keeps a chat: `chats/FOLDER/SESSION/`."""
    return path.parts[-4:-3] == (_CHATS,)


def _is_said(record: dict[str, Any]) -> bool:
    content = dict_of(record.get("message")).get("content")
    known = record.get("role") in ("user", "assistant") and type(content) in (list, str)
    return known and not any(name in record for name in _OTHERS)


@lru_cache(maxsize=256)
def _workspace(path: str) -> str:
    """Read once: a new workspace is known to the next process."""
    with contextlib.suppress(OSError, ValueError, RecursionError, FileRefused):
        with open(open_regular(path), "rb") as file:
            told = dict_of(json.loads(file.read(_WORKSPACE_BYTES_MAX)))
        return folder_in(told.get("folder"))
    return ""
