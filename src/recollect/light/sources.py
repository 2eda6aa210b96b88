"""What a source is, in numbers and texts that a hook can afford.

Nothing heavy is imported: a hook has milliseconds. The numbers below are written into
stores and journals; `records.Role` and `records.Framing` give them their names.
"""

from __future__ import annotations

MAIN, SUBAGENT, SIDECAR, SPILL = 1, 2, 3, 4
LINES, DOCUMENT, ROWS, EXPORT = 1, 2, 3, 4
WRITTEN_BY = "recollect"  # what sessions say of themselves that an export of ours wrote
WRITTEN_KEY = (
    "writtenBy"  # where each record says it: a fork by the client keeps it, under another session's id
)
WRITTEN_FROM_KEY = "writtenFrom"  # and from which session: a resume under a new id names no other

NOTES = "recollect"  # the agent of sources in which Recollect itself notes what a person saved or decided
MEMORY = "memory"  # the agent of sources in which code and people keep notes of their own

Place = tuple[int, int, str, str]  # role, framing, session, parent session

UUID_CHARS = 36
_HEX = frozenset("0123456789abcdefABCDEF")
_DASHES = (8, 13, 18, 23)


def is_conversation(agent: str) -> bool:
    """Whether sessions and sources of this agent are what was said, not what Recollect noted itself."""
    return agent != NOTES


def is_noted(agent: str) -> bool:
    """Whether sources of this agent are in no file: lines that were added one by one, each with its time."""
    return agent in (NOTES, MEMORY)


def is_uuid(value: str) -> bool:
    """Whether a text has the form of a UUID. By hand: a hook has no time to import `re`."""
    if len(value) != UUID_CHARS or any(value[at] != "-" for at in _DASHES):
        return False
    digits = value.replace("-", "")
    return len(digits) == UUID_CHARS - len(_DASHES) and _HEX.issuperset(digits)
