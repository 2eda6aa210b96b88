"""The contract of an adapter: find an agent's files, and turn their lines into entries.

An adapter never reads a file and never fails on a record: whatever a decoded line
holds, `parse` answers with a `Parsed`. What it does not know is `Kind.UNKNOWN`,
`known=False`, under the name the agent gave it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any, Protocol

from recollect.values.records import Parsed, SessionFacts, SourceFile


class Parser(Protocol):
    """Reads one source's records in file order and remembers what spans lines."""

    @property
    def facts(self) -> SessionFacts:
        """The session as known after the last record; `id` may be "" before the first."""
        ...

    def parse(self, record: Any, /) -> Parsed:
        """Turn one decoded JSON value (any value at all) into entries."""
        ...

    def document(self, data: bytes, /) -> Parsed:
        """Turn a whole file that is not JSON lines (a sidecar, a spilled result) into entries."""
        ...

    def state(self) -> dict[str, Any]:
        """What a later parser of the same source needs to go on: small, JSON-able."""
        ...


class Adapter(Protocol):
    """One agent's log format."""

    @property
    def name(self) -> str:
        """The agent's name as people say it: "claude", "codex"."""
        ...

    @property
    def version(self) -> int:
        """Raised whenever the same line would give other entries."""
        ...

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        """The folders in which this agent keeps its logs, existing or not."""
        ...

    def recognise(self, path: PurePath, head: Iterable[Any]) -> SourceFile | None:
        """Say what a file is from its name and its first decoded records, or None.

        `head` is lazy: a name that settles the matter costs no read.
        """
        ...

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> Parser:
        """A parser for this source, going on from an earlier one's `state()` or {}."""
        ...
