"""What an agent says of sessions that its SDK mirrors into a memory: where they lie, what a line is.

An agent whose SDK hands its sessions over has a module with these names (`Agent.mirror`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from recollect.values.mirrored import MirrorKey, Stored
    from recollect.values.records import SourceFile


class Mirror(Protocol):
    """The form of mirrored sessions. A module will do."""

    def mirror_file(self, key: MirrorKey, /) -> SourceFile:
        """The source that the entries of a transcript are lines of."""
        ...

    def sidecar_file(self, key: MirrorKey, /) -> SourceFile:
        """The source that is noted in what was stored of a session."""
        ...

    def mirrored_key(self, path: str, /) -> MirrorKey | None:
        """The transcript that a source of this path has; None for any other source."""
        ...

    def project_prefix(self, project: str, /) -> str:
        """What the paths of all transcripts of a project begin with."""
        ...

    def entry_line(self, entry: Mapping[str, Any], /) -> bytes:
        """An entry as the agent itself writes it to its log, byte for byte."""
        ...

    def sidecar_line(self, stored: Stored, /) -> bytes:
        """What was stored, as a line."""
        ...

    def stored_of(self, record: Any, /) -> Stored | None:
        """What a line of the sidecar says was stored; None where it says nothing of that."""
        ...

    def tombstone_line(self, key: MirrorKey, time_ms: int, /) -> bytes:
        """The line that says that all lines before it were deleted."""
        ...

    def is_tombstone(self, record: Any, /) -> bool: ...
