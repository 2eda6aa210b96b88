"""Where Cline, and Roo, which came of it, keep their sessions, and which files hold some."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path, PurePath

from recollect.agents.fields import dict_of, text_of
from recollect.agents.head import Head
from recollect.light.own_files import open_regular
from recollect.values.errors import FileRefused
from recollect.values.records import Framing, Role, SourceFile

_AGENT = "cline"
_EXTENSIONS = ("saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline")

MESSAGES = ".messages.json"  # of the command line; beside it the session itself, and what was compacted
COMPACTED = ".compaction.json"
TALK, SCREEN, METADATA, ITEM = (
    "api_conversation_history.json",
    "ui_messages.json",
    "task_metadata.json",
    "history_item.json",
)

_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_SETTINGS_OF_EDITORS = (".config", "Library/Application Support", "AppData/Roaming")
_SESSION_BYTES_MAX = 4 << 20
_SESSION = (b'"session_id"', b'"messages_path"', b'"workspace_root"')


def data_folder(home: PurePath, environ: Mapping[str, str]) -> PurePath:
    if moved := environ.get("CLINE_DATA_DIR"):
        return PurePath(moved)
    moved = environ.get("CLINE_DIR")
    return (PurePath(moved) if moved else home / ".cline") / "data"


def roots(home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
    data, moved = data_folder(home, environ), environ.get("CLINE_SESSION_DATA_DIR")
    sessions = PurePath(moved) if moved else data / "sessions"
    return [sessions, data / "tasks", *_editor_roots(home)]


def _editor_roots(home: PurePath) -> list[PurePath]:
    """The tasks of the extensions, in whichever editor they run, here or reached from elsewhere."""
    users = [home / place / editor / "User" for place in _SETTINGS_OF_EDITORS for editor in _EDITORS]
    users.append(home / ".vscode-server" / "data" / "User")
    return [user / "globalStorage" / each / "tasks" for user in users for each in _EXTENSIONS]


def settings_file(home: Path, environ: Mapping[str, str]) -> Path:
    if named := environ.get("CLINE_MCP_SETTINGS_PATH"):
        return Path(named)
    return Path(data_folder(home, environ)) / "settings" / "cline_mcp_settings.json"


def recognise(path: PurePath, head: Head) -> SourceFile | None:
    if path.suffix != ".json":
        return None
    if path.name in (TALK, SCREEN, METADATA, ITEM):
        return _of_task(path, head)
    session = path.parent.name
    if path.name.endswith(MESSAGES):
        stem = path.name.removesuffix(MESSAGES)
        if b'"messages"' not in head.data or b'"sessionId"' not in head.data:
            return None
        if stem == session:
            return SourceFile(_AGENT, str(path), framing=Framing.DOCUMENT, session=session)
        parent = session if stem.startswith("agent_") else ""
        own = f"{session}__{stem}" if parent else ""
        role = Role.SUBAGENT if parent else Role.MAIN
        return SourceFile(_AGENT, str(path), role, Framing.DOCUMENT, own, parent)
    if path.name == session + COMPACTED and b'"source_message_count"' in head.data:
        return SourceFile(_AGENT, str(path), Role.SIDECAR, Framing.DOCUMENT, session)
    if path.stem == session and all(field in head.data for field in _SESSION):
        return SourceFile(_AGENT, str(path), Role.SIDECAR, Framing.DOCUMENT, session)
    return None


def folder_of(source: SourceFile) -> str:
    """The folder a subagent worked in: that of the session it lies with, which alone says so."""
    if source.role is not Role.SUBAGENT:
        return ""
    path = Path(source.path).parent
    troubles = OSError, ValueError, RecursionError, FileRefused
    with contextlib.suppress(*troubles), open(open_regular(str(path / f"{path.name}.json")), "rb") as file:
        return text_of(dict_of(json.loads(file.read(_SESSION_BYTES_MAX))).get("cwd"))
    return ""


def _of_task(path: PurePath, head: Head) -> SourceFile | None:
    task, first = path.parent.name, head.data.lstrip()[:1]
    if not task or first != (b"[" if path.name in (TALK, SCREEN) else b"{"):
        return None
    if path.name == ITEM and b'"task"' not in head.data:
        return None
    # What was shown says the same as what the model was told; alone, it is the conversation.
    is_main = path.name == TALK or (path.name == SCREEN and not Path(path.with_name(TALK)).exists())
    role = Role.MAIN if is_main else Role.SIDECAR
    return SourceFile(_AGENT, str(path), role, Framing.DOCUMENT, task)
