"""Claude.ai's export: `conversations.json`, a list of conversations, beside `users.json` and others."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

from recollect.agents.cut import first_names
from recollect.agents.fields import dict_of, text_of, time_of
from recollect.agents.head import Head
from recollect.values.records import Framing, SourceFile

AGENT = "claudeai"
_MESSAGES = re.compile(rb'"chat_messages"\s*:\s*\[')


def recognise(path: PurePath, head: Head) -> SourceFile | None:
    """A list of conversations, or one, by its fields: other services call their file the same."""
    if path.suffix.lower() != ".json" or _MESSAGES.search(head.data) is None:
        return None
    if not first_names(head.data) >= {"chat_messages", "uuid"}:
        return None
    return SourceFile(AGENT, str(path), framing=Framing.EXPORT)


def identity(conversation: Any, /) -> tuple[str, int] | None:
    told = dict_of(conversation)
    id_ = text_of(told.get("uuid"))
    if not id_ or type(told.get("chat_messages")) is not list:
        return None
    return id_, max(time_of(told.get("updated_at")), time_of(told.get("created_at")))
