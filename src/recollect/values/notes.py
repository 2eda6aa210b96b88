"""What code or a person saved: notes, what is said when one is saved, and how long its parts may be.

A note is kept as a line of a session (docs/memory.md); the same id again takes the earlier one's place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from recollect.values.errors import UsageError

if TYPE_CHECKING:
    import datetime

Array = Any  # of NumPy, which nothing here needs
Vector = Array | Sequence[float]
Artifact = Array | bytes

SESSION: Final = "notes"  # where a note is that was saved without a word about it
ROLES: Final = ("note", "user", "assistant", "system", "tool")  # who says it
TEXT_BYTES_MAX: Final = 16 << 20
METADATA_BYTES_MAX: Final = 1 << 20
NAME_CHARS_MAX: Final = 512  # of an id, a session, a project, an author, an artifact
TAG_CHARS_MAX: Final = 100  # of a tag and a channel
TAGS_MAX: Final = 64
DIMS_MAX: Final = 65_536

_TIME_MS_MAX: Final = 2**53 - 1


@dataclass(frozen=True, slots=True)
class NewNote:
    """A note as it is handed over. `time`: seconds since 1970, or a `datetime`; now where it is None.

    `vector` is the caller's own, for `Memory.nearest`; the text has one of ours in any case. `artifacts`:
    arrays and bytes by name, which come back bit for bit.
    """

    text: str
    id: str = ""
    session: str = SESSION
    role: str = "note"
    tags: Sequence[str] = ()
    channel: str = ""
    project: str = ""
    author: str = ""
    time: float | datetime.datetime | None = None
    metadata: Mapping[str, Any] | None = None
    vector: Vector | None = None
    artifacts: Mapping[str, Artifact] | None = None


@dataclass(frozen=True, slots=True)
class KeptArtifact:
    """Where the bytes of an artifact are: in pieces under a key, each a line of the note's session."""

    name: str
    form: str  # as `recollect.agents.memory.artifacts` has them
    bytes: int
    key: str
    pieces: int


@dataclass(frozen=True, slots=True)
class Note:
    """A saved note as it is now. `updated_ms` is when it was last saved.

    `entry` is the short id of its entry, which hits of a search have.

    `vector` is what the caller gave, as float32 bytes, little-endian; `Memory.vector` makes an array of it.
    """

    id: str
    session: str
    text: str
    role: str = "note"
    tags: tuple[str, ...] = ()
    channel: str = ""
    project: str = ""
    author: str = ""
    time_ms: int = 0
    updated_ms: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    vector: bytes = b""
    artifacts: tuple[KeptArtifact, ...] = ()
    entry: str = ""


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who asks for something to be kept: an agent and its session, "" where nothing shows which.

    `only_returned`: as far as is known, only a tool ever said it.
    """

    agent: str = ""
    session: str = ""
    only_returned: bool = False


def checked_name(value: str, what: str, chars_max: int = NAME_CHARS_MAX) -> str:
    """A name as it is kept; UsageError for what nobody could type, show or find again."""
    if not isinstance(value, str):
        raise UsageError(f"{what} is text, not {type(value).__name__}")
    if len(value) > chars_max:
        raise UsageError(f"{what} has at most {chars_max} characters, not {len(value)}")
    if not value.isprintable():
        raise UsageError(f"{what} holds a control character", hint="use printable characters")
    return value


def checked_text(text: str) -> str:
    """The text of a note; UsageError for what is none, or is too long for a line."""
    if not isinstance(text, str):
        raise UsageError(f"a note's text is text, not {type(text).__name__}")
    # A character has at most four bytes, and one that is escaped six.
    if len(text) * 6 > TEXT_BYTES_MAX and len(text.encode("utf-8", "surrogatepass")) > TEXT_BYTES_MAX:
        raise UsageError(
            f"a note has at most {TEXT_BYTES_MAX >> 20} MiB of text", hint="save it as an artifact, as bytes"
        )
    return text


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Tags, each once."""
    if isinstance(tags, str):
        raise UsageError("tags are a list of texts, not one text", hint=f"tags=[{tags!r}]")
    found = tuple(dict.fromkeys(checked_name(each, "a tag", TAG_CHARS_MAX) for each in tags))
    if len(found) > TAGS_MAX or "" in found:
        raise UsageError(f"a note has at most {TAGS_MAX} tags, none of them empty")
    return found


def checked_role(role: str) -> str:
    if role not in ROLES:
        raise UsageError(f"there is no role {role!r}", hint=f"one of {', '.join(ROLES)}")
    return role


def milliseconds(time: float | datetime.datetime | None, now_ms: int) -> int:
    """A moment in milliseconds since 1970; UsageError for one that no clock shows."""
    if time is None:
        return now_ms
    seconds = time.timestamp() if hasattr(time, "timestamp") else float(time)
    if not math.isfinite(seconds) or not 0 <= seconds * 1000 <= _TIME_MS_MAX:
        raise UsageError("a time is a number of seconds since 1970, or a datetime")
    return round(seconds * 1000)
