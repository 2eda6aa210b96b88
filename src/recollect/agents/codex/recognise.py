"""Which files are Codex's: rollouts by their name, others by their first records."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from recollect.agents.codex import paths
from recollect.agents.codex.parse import TYPES
from recollect.agents.fields import dict_of, text_of
from recollect.agents.head import Head
from recollect.values.records import Framing, Role, SourceFile

_AGENT = "codex"


def recognise(path: PurePath, head: Head) -> SourceFile | None:
    """What a file is, by its name where that tells, else by its first records."""
    place = paths.place(path.name)
    if place is not None:
        role, framing, session, _ = place
        plain = str(path).removesuffix(".zst")
        compressed = plain != str(path)
        return SourceFile(_AGENT, plain, Role(role), Framing(framing), session, compressed=compressed)
    if path.suffix != ".jsonl" or not any(map(_is_record, head.records)):
        return None
    return SourceFile(_AGENT, str(path), session=_first_session(head.records) or path.stem)


def _first_session(records: list[Any]) -> str:
    for record in map(dict_of, records):
        meta = dict_of(record.get("payload")) if record.get("type") == "session_meta" else record
        if _is_record(record) and "type" not in meta:
            return text_of(meta.get("id"))
    return ""


def _is_record(record: Any) -> bool:
    """Whether a record can only be Codex's."""
    body = dict_of(record)
    name = text_of(body.get("type"))
    if type(body.get("payload")) is dict:
        return name in TYPES
    if "record_type" in body:
        return text_of(body["record_type"]) == "state"
    return not name and type(body.get("id")) is str and {"timestamp", "instructions"} <= body.keys()
