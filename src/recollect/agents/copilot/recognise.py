"""Which files are Copilot CLI's: by their place, others by their first event."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from recollect.agents.copilot import paths
from recollect.agents.copilot.names import is_known
from recollect.agents.fields import dict_of, text_of
from recollect.agents.head import Head
from recollect.values.records import Framing, Role, SourceFile

_AGENT = "copilot"


def recognise(path: PurePath, head: Head) -> SourceFile | None:
    place = paths.place(path.parts)
    if place is not None:
        role, framing, session, parent = place
        return SourceFile(_AGENT, str(path), Role(role), Framing(framing), session, parent)
    if path.suffix != ".jsonl":
        return None
    events = [dict_of(record) for record in head.records if _is_event(record)]
    if not events:
        return None
    ids = [text_of(event["data"].get("sessionId")) for event in events if event["type"] == "session.start"]
    return SourceFile(_AGENT, str(path), session=next(filter(None, ids), path.stem))


def _is_event(record: Any) -> bool:
    body = dict_of(record)
    name = text_of(body.get("type"))
    return is_known(name) and bool(dict_of(body.get("data"))) and "id" in body and "parentId" in body
