"""ChatGPT's export: `conversations.json`, or `conversations-000.json` and so on; a list of conversations."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

from recollect.agents.cut import first_names
from recollect.agents.fields import dict_of, text_of
from recollect.agents.head import Head
from recollect.values.records import Framing, SourceFile

AGENT = "chatgpt"
_MAPPING = re.compile(rb'"mapping"\s*:\s*\{')
_BESIDE = frozenset({"conversation_id", "create_time", "current_node", "id", "title"})


def recognise(path: PurePath, head: Head) -> SourceFile | None:
    """A list of conversations, or one, by its fields: other services call their file the same."""
    if path.suffix.lower() != ".json" or _MAPPING.search(head.data) is None:
        return None
    names = first_names(head.data)
    if "mapping" not in names or not names & _BESIDE or b'"message"' not in head.data:
        return None
    return SourceFile(AGENT, str(path), framing=Framing.EXPORT)


def identity(conversation: Any, /) -> tuple[str, int] | None:
    told = dict_of(conversation)
    id_ = text_of(told.get("conversation_id")) or text_of(told.get("id"))
    if not id_ or type(told.get("mapping")) is not dict:
        return None
    return id_, max(moment(told.get("update_time")), moment(told.get("create_time")))


def moment(value: Any) -> int:
    """Milliseconds of a time in seconds."""
    if type(value) not in (int, float) or not 0 < value < 2**43:
        return 0
    return int(value * 1000)
