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
from recollect.agents.head import Head
from recollect.light.own_files import open_regular
from recollect.values.errors import FileRefused
from recollect.values.records import Framing, Role, SourceFile

_AGENT = "gemini"
_CHATS = "chats"
_FIELDS = (b'"sessionId"', b'"projectHash"', b'"messages"')  # in any order
_PROJECTS_BYTES_MAX = 4 << 20
_HASH = re.compile(r"[0-9a-f]{64}")


def roots(home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
    moved = environ.get("GEMINI_CLI_HOME")
    return [PurePath(moved or home) / ".gemini" / "tmp"]


def recognise(path: PurePath, head: Head) -> SourceFile | None:
    """A chat by its first record, whatever its name: a document, or the first line of a log."""
    if path.suffix == ".json":
        known = head.data.lstrip()[:1] == b"{" and all(field in head.data for field in _FIELDS)
        return SourceFile(_AGENT, str(path), framing=Framing.DOCUMENT) if known else None
    if path.suffix != ".jsonl":
        return None
    first = dict_of(next(iter(head.records), None))
    session = text_of(first.get("sessionId"))
    if not session or not text_of(first.get("projectHash")) or "type" in first:
        return None
    parent = path.parent.name if path.parent.parent.name == _CHATS else ""
    role = Role.SUBAGENT if parent else Role.MAIN
    return SourceFile(_AGENT, str(path), role, session=session, parent=parent)


def project_name(path: str) -> str:
    """The client's own short name of a project, from a chat's path; "" where there is only a hash."""
    name = _project_folder(PurePath(path)).name
    return "" if _HASH.fullmatch(name) else name


def folder_of(path: str) -> str:
    """The folder a chat was held in, as far as `projects.json` beside the chats still knows it."""
    project = _project_folder(PurePath(path))
    if project.parent.name != "tmp":
        return ""
    known = _projects(str(project.parent.parent / "projects.json"))
    for folder, name in known.items():
        if project.name in (name, hashlib.sha256(folder.encode("utf-8", "surrogatepass")).hexdigest()):
            return folder
    return ""


def _project_folder(path: PurePath) -> PurePath:
    """`tmp/PROJECT` of `tmp/PROJECT/chats/...`; an empty path where there is none."""
    above = [parent for parent in path.parents if parent.name == _CHATS]
    return above[-1].parent if above else PurePath()


@lru_cache(maxsize=4)
def _projects(path: str) -> dict[str, str]:
    """Short names by folder. Read once: a new project is known to the next process."""
    troubles = OSError, ValueError, RecursionError, FileRefused
    with contextlib.suppress(*troubles), open(open_regular(path), "rb") as file:
        told = dict_of(json.loads(file.read(_PROJECTS_BYTES_MAX)))
        return {folder: text_of(name) for folder, name in dict_of(told.get("projects")).items()}
    return {}
