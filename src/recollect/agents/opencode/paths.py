"""Where OpenCode keeps its sessions, and which files hold some."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePath

from recollect.agents.head import Head
from recollect.values.records import Framing, Role, SourceFile

_AGENT = "opencode"
_DATABASE = re.compile(r"opencode(?:-[\w.-]+)?\.db")  # a build of another channel has its own
# Files two folders below `storage`: session/PROJECT/ID.json, message/SESSION/ID.json, part/MESSAGE/ID.json
_STORED = {"session": "ses_", "message": "msg_", "part": "prt_"}
_EXPORTED = (b'"info"', b'"messages"', b'"ses_')
_SESSION = re.compile(rb'"(?:sessionID|id)"\s*:\s*"(ses_\w+)"')


def roots(home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
    moved = environ.get("XDG_DATA_HOME")
    return [(PurePath(moved) if moved else home / ".local" / "share") / "opencode"]


def settings_file(home: Path, environ: Mapping[str, str]) -> Path:
    """A person's own settings; those beside it with comments (`.jsonc`) are read too, and left alone."""
    if named := environ.get("OPENCODE_CONFIG"):
        return Path(named)
    moved = environ.get("XDG_CONFIG_HOME")
    return (Path(moved) if moved else home / ".config") / "opencode" / "opencode.json"


def recognise(path: PurePath, head: Head) -> SourceFile | None:
    if _DATABASE.fullmatch(path.name):
        return SourceFile(_AGENT, str(path), framing=Framing.ROWS) if head.is_database else None
    if path.suffix != ".json":
        return None
    if kind := stored_kind(str(path)):
        return _stored(path, kind, head)
    exported = head.data.lstrip()[:1] == b"{" and all(field in head.data for field in _EXPORTED)
    if not exported:
        return None
    found = _SESSION.search(head.data)
    session = found[1].decode() if found else ""
    return SourceFile(_AGENT, str(path), framing=Framing.DOCUMENT, session=session)


def stored_kind(path: str) -> str:
    """What a file in the older storage holds: a session, a message or a part; else ""."""
    parts = PurePath(path).parts
    if len(parts) < 4 or parts[-4] != "storage":
        return ""
    return parts[-3] if parts[-1].startswith(_STORED.get(parts[-3], "/")) else ""


def _stored(path: PurePath, kind: str, head: Head) -> SourceFile | None:
    if kind == "message":
        session = path.parent.name
    elif kind == "session":
        session = path.stem
    else:
        found = _SESSION.search(head.data)
        session = found[1].decode() if found else ""
    if not session.startswith("ses_"):
        return None
    role = Role.MAIN if kind == "session" else Role.SIDECAR
    return SourceFile(_AGENT, str(path), role, Framing.DOCUMENT, session)
