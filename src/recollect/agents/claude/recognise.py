"""Which files are Claude Code's.

A name alone rarely tells: other agents name their transcripts by uuid too, so outside of a
`projects/<project>/` folder the first records decide.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, Final

from recollect.agents.claude import paths
from recollect.agents.claude.parse import TYPES
from recollect.agents.fields import dict_of, text_of
from recollect.agents.head import Head
from recollect.light.sources import is_uuid
from recollect.values.records import Framing, Role, SourceFile

_AGENT: Final = "claude"
_CHAIN_TYPES: Final = frozenset({"user", "assistant", "system", "progress", "attachment"})
_NOT_SESSIONS: Final = frozenset({"history.jsonl", "journal.jsonl", "session_index.jsonl"})


def recognise(path: PurePath, head: Head) -> SourceFile | None:
    """What a file is, by its place where that tells, else by its first records."""
    place = paths.place(path.parts)
    if place is not None:
        role, framing, session, parent = place
        return SourceFile(_AGENT, str(path), Role(role), Framing(framing), session, parent)
    if path.suffix != ".jsonl" or path.name in _NOT_SESSIONS or "memory" in path.parent.parts[-1:]:
        return None
    if path.stem.startswith("agent-"):
        return _subagent(path, head.records)
    return _main(path, head.records)


def _subagent(path: PurePath, records: list[Any]) -> SourceFile | None:
    """A subagent's transcript in the parent's own folder, as it was before 2.0."""
    if not any(map(_is_record, records)) and not (_in_projects(path) and not records):
        return None
    return SourceFile(_AGENT, str(path), Role.SUBAGENT, Framing.LINES, path.stem, _first_session(records))


def _main(path: PurePath, records: list[Any]) -> SourceFile | None:
    if not any(map(_is_record, records)):
        return None
    session = path.stem if is_uuid(path.stem) else _first_session(records) or path.stem
    return SourceFile(_AGENT, str(path), session=session)


def _in_projects(path: PurePath) -> bool:
    """Whether a path is `projects/<project>/<file>`, where Claude Code keeps transcripts."""
    folders = path.parent.parts
    return len(folders) >= 2 and folders[-2] == "projects"


def _first_session(records: list[Any]) -> str:
    for record in records:
        session = text_of(dict_of(record).get("sessionId"))
        if session:
            return session
    return ""


def _is_record(record: Any) -> bool:
    """Whether a record can only be Claude Code's (others use the same words for other shapes)."""
    body = dict_of(record)
    name = text_of(body.get("type"))
    if name not in TYPES:
        return False
    if name in ("user", "assistant"):
        return "content" in dict_of(body.get("message")) and type(body.get("sessionId")) is str
    if name in _CHAIN_TYPES:
        known = type(body.get("uuid")) is str and type(body.get("sessionId")) is str
        return known and "systemPayload" not in body  # which others' events have
    return any(key in body for key in ("sessionId", "leafUuid", "messageId"))
