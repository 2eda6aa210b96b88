"""What every session that is written here has: a folder to begin in, a title, and whose it is."""

from __future__ import annotations

import os

from recollect.light.sources import WRITTEN_BY, WRITTEN_FROM_KEY, WRITTEN_KEY
from recollect.values.conversation import Conversation
from recollect.values.errors import UsageError
from recollect.values.text import one_line

_TITLE_CELLS = 200


def refuse_part(folder: str) -> None:
    """Refuse a folder that is only the end of a path."""
    if not os.path.isabs(folder):
        raise UsageError(f"{folder}: not a whole path", hint="name the folder from the root on")


def mark_of(conversation: Conversation) -> dict[str, str]:
    """What is put on a record to say that we wrote it, and from which session."""
    first = next(iter(conversation.sessions), "")
    return {WRITTEN_KEY: WRITTEN_BY} | ({WRITTEN_FROM_KEY: first} if first else {})


def title_of(conversation: Conversation, otherwise: str = "") -> str:
    """What a session is called in the agent's lists; `otherwise` tells apart those without a title."""
    title = one_line(conversation.title, _TITLE_CELLS)
    return title or (f"recollected {otherwise}" if otherwise else "")
