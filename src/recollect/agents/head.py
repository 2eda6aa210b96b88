"""The beginning of a file, for agents to say whether it is theirs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from recollect.agents.decode import BadLine, decode

HEAD_BYTES = 1 << 20
_DATABASE = b"SQLite format 3\0"
_RECORDS = 8
_FIELD = re.compile(rb'"(type|uuid|sessionId|timestamp|cwd|version)":\s*"([ -!#-\[\]-~]*)"')


class Head:
    """The first bytes of a file and the records in them: read when first looked at, and then kept."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read
        self.is_read = False

    @cached_property
    def data(self) -> bytes:
        """Up to `HEAD_BYTES` of the file, unpacked where it is compressed."""
        self.is_read = True
        return self._read()[:HEAD_BYTES]

    @property
    def is_database(self) -> bool:
        """Whether it is an SQLite database."""
        return self.data.startswith(_DATABASE)

    @cached_property
    def records(self) -> list[Any]:
        """The JSON values of the first lines, without those that are none."""
        first, *others = self.data.split(b"\n")[:_RECORDS]
        if not others and len(self.data) == HEAD_BYTES:
            return [_glimpse(first)]
        return list(_values((first, *others)))


def _values(lines: tuple[bytes, ...]) -> Iterator[Any]:
    for line in lines:
        try:
            yield decode(line)[0]
        except BadLine:
            continue


def _glimpse(start: bytes) -> dict[str, Any]:
    """What can be told of a first record too long to be read for this: its simple fields, its shape."""
    fields: dict[str, Any] = {key.decode(): value.decode() for key, value in _FIELD.findall(start)}
    for name in ("payload", "message"):
        if f'"{name}":'.encode() in start:
            fields[name] = {"content": ""}
    return fields
