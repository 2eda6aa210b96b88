"""Sessions that an SDK mirrors into a memory: by what it names them, and as they are listed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class MirrorKey(NamedTuple):
    """A transcript as the SDK names it, in opaque texts; `subpath` is "" for a session's own."""

    project: str
    session: str
    subpath: str = ""

    @property
    def main(self) -> MirrorKey:
        return self._replace(subpath="")


class Stored(NamedTuple):
    """When entries were stored, and the summary of a session's own first `through` lines."""

    time_ms: int
    through: int
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Mirrored:
    """A session as it is listed: its id, when something of it was last stored, and its summary."""

    session: str
    time_ms: int
    data: dict[str, Any]
