"""Which files are Qwen Code's: by their place, else by their first records."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from recollect.agents.fields import dict_of, text_of
from recollect.agents.head import Head
from recollect.agents.qwen import paths
from recollect.light.sources import is_uuid
from recollect.values.records import Framing, Role, SourceFile

_AGENT = "qwen"
_SPEAKING = ("user", "assistant", "tool_result")


def recognise(path: PurePath, head: Head) -> SourceFile | None:
    """What a file is. Where others keep transcripts in such folders too, its records decide."""
    place = paths.place(path.parts)
    if place is not None:
        role, framing, session, parent = place
        return SourceFile(_AGENT, str(path), Role(role), Framing(framing), session, parent)
    if path.suffix != ".jsonl":
        return None
    found = next((record for record in map(dict_of, head.records) if _is_record(record)), None)
    if found is None:
        return None
    session = text_of(found.get("sessionId"))
    if found.get("isSidechain") is True and path.stem.startswith("agent-"):
        return SourceFile(_AGENT, str(path), Role.SUBAGENT, session=path.stem, parent=session)
    return SourceFile(_AGENT, str(path), session=path.stem if is_uuid(path.stem) else session)


def _is_record(record: dict[str, Any]) -> bool:
    """Whether a record can only be Qwen Code's: its messages have parts, and its events a payload."""
    known = all(type(record.get(name)) is str for name in ("uuid", "sessionId", "version"))
    if record.get("type") in _SPEAKING:
        return known and "parts" in dict_of(record.get("message"))
    return known and record.get("type") == "system" and "systemPayload" in record
