"""Where Gemini CLI's chats are, which files are chats, and which folder they were held in."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import PurePath

from recollect.agents.fields import dict_of, text_of
from recollect.agents.gemini import hooks
from recollect.agents.head import Head
from recollect.light.own_files import open_regular
from recollect.values.errors import FileRefused
from recollect.values.records import Framing, Role, SourceFile

_AGENT = "gemini"
_OUTPUTS = "tool-outputs"
_OWNER = "session-"  # before the id of the session that a folder of outputs is of
_FIELDS = (b'"sessionId"', b'"projectHash"', b'"messages"')  # in any order
_PROJECTS_BYTES_MAX = 4 << 20
_HASH = re.compile(r"[0-9a-f]{64}")


def roots(home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
    return [PurePath(root) for root in hooks.roots(str(home), environ)]


def recognise(path: PurePath, head: Head) -> SourceFile | None:
    """A chat by its first record, whatever its name: a document, or the first line of a log.

    A result that was too long for the chat is known by its place.
    """
    if path.suffix == ".txt":
        owner = path.parent.name.removeprefix(_OWNER)
        known = path.parent.parent.name == _OUTPUTS and owner != path.parent.name
        return SourceFile(_AGENT, str(path), Role.SPILL, Framing.DOCUMENT, owner) if known else None
    if path.suffix == ".json":
        known = head.data.lstrip()[:1] == b"{" and all(field in head.data for field in _FIELDS)
        return SourceFile(_AGENT, str(path), framing=Framing.DOCUMENT) if known else None
    if path.suffix != ".jsonl":
        return None
    first = dict_of(next(iter(head.records), None))
    session = text_of(first.get("sessionId"))
    if not session or not text_of(first.get("projectHash")) or "type" in first:
        return None
    parent = path.parent.name if path.parent.parent.name == hooks.CHATS else ""
    role = Role.SUBAGENT if parent else Role.MAIN
    return SourceFile(_AGENT, str(path), role, session=session, parent=parent)


def project_name(path: str) -> str:
    """The client's own short name of a project, from a chat's path; "" where there is only a hash."""
    name = _project_folder(PurePath(path)).name
    return "" if _HASH.fullmatch(name) else name


def folder_of(path: str) -> str:
    """The folder a chat was held in: as its project's folder says, or `projects.json` beside all of them."""
    project = _project_folder(PurePath(path))
    if project.parent.name != "tmp":
        return ""
    known = projects_of(project.parent.parent)
    for folder, name in known.items():
        if project.name in (name, project_hash(folder)):
            return folder
    return owner_of(project)


def project_hash(folder: str) -> str:
    return hashlib.sha256(folder.encode("utf-8", "surrogatepass")).hexdigest()


def owner_of(project: PurePath) -> str:
    """The folder that `tmp/PROJECT` is for, as a file in it says; "" where none does."""
    return _text_in(str(project / ".project_root")).strip()


def projects_of(home: PurePath) -> dict[str, str]:
    """Short names by folder, as the client keeps them in its home."""
    return _projects(str(home / "projects.json"))


def _project_folder(path: PurePath) -> PurePath:
    """`tmp/PROJECT` of `tmp/PROJECT/chats/...`; an empty path where there is none."""
    above = [parent for parent in path.parents if parent.name in (hooks.CHATS, _OUTPUTS)]
    return above[-1].parent if above else PurePath()


@lru_cache(maxsize=4)
def _projects(path: str) -> dict[str, str]:
    """Short names by folder. Read once: a new project is known to the next process."""
    with contextlib.suppress(ValueError, RecursionError):
        told = dict_of(json.loads(_text_in(path)))
        return {folder: text_of(name) for folder, name in dict_of(told.get("projects")).items()}
    return {}


def _text_in(path: str) -> str:
    with contextlib.suppress(OSError, ValueError, FileRefused), open(open_regular(path), "rb") as file:
        return file.read(_PROJECTS_BYTES_MAX).decode("utf-8")
    return ""
