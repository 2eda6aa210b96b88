"""Documents that list many conversations, as a service gives them out when it is asked for one's data.

They are read in a stream, one conversation at a time: memory follows the longest one, not the document.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from recollect.agents.contract import Conversations
from recollect.agents.decode import BadLine, decode
from recollect.intake.archives import member_path, open_archive
from recollect.intake.reader import PIECE_BYTES, chunks, open_source
from recollect.values.errors import SourceError
from recollect.values.records import Cursor, Framing, SourceFile

# Up to the next bracket that is in no string. What was matched is given up nowhere, so it takes linear time.
_BRACKET: Final = re.compile(rb'[^"\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"\[\]{}]*+)*+[\[\]{}]', re.DOTALL)
_SPACE: Final = b" \t\r\n"
_BOM: Final = b"\xef\xbb\xbf"
_ID_CHARS_MAX: Final = 200
_KEY: Final = "#export"  # among what a cursor keeps


@contextlib.contextmanager
def open_export(file: SourceFile) -> Iterator[Iterator[bytes]]:
    """The bytes of a document, in pieces; in a zip that is not whole, none of them."""
    if file.compressed:
        with open_archive(file.read_path) as archive:
            yield archive.content(file.path[len(file.read_path) + 1 :])
        return
    with open_source(file.path) as opened:
        yield chunks(opened, compressed=False)


def conversations_in(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The bytes of every object that a document lists, or of the one it is; b"" for one too long to be read.

    Where the document ends too early, or is none, those before that are told, and then why not more.
    """
    cutter = _Cutter(name)
    for piece in pieces:
        yield from cutter.feed(piece)
    cutter.end()


class _Cutter:
    """How far a document was looked through: brackets are counted, what is between them is passed over."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._buffer, self._at = b"", 0  # what was not given out yet, and how far it was looked through
        self._start = -1  # where a conversation begins in it; -1 outside of one
        self._depth = 0
        self._base = -1  # how deep conversations stand: 1 in a list, 0 without one; -1 before anything came
        self._is_long = self._is_over = False

    def feed(self, piece: bytes) -> Iterator[bytes]:
        begin = self._at if self._start < 0 else self._start
        self._buffer = self._buffer[begin:] + piece
        self._at, self._start = self._at - begin, min(self._start, 0)
        if self._base < 0 and (first := self._buffer.removeprefix(_BOM).lstrip(_SPACE)[:1]):
            self._base = int(first == b"[")
        while not self._is_over and self._base >= 0 and (found := _BRACKET.match(self._buffer, self._at)):
            self._at = found.end()
            if self._passes_end(self._buffer[self._at - 1] in b"[{"):
                yield b"" if self._is_long else self._buffer[self._start : self._at]
                self._start, self._is_long = -1, False
        if self._is_over and self._buffer[self._at :].strip(_SPACE):
            raise SourceError(f"{self._name}: something that was not taken follows its end")
        if len(self._buffer) - self._at > PIECE_BYTES:
            raise SourceError(f"{self._name}: not readable as JSON; what comes before that was taken")
        if self._start >= 0 and len(self._buffer) - self._start > PIECE_BYTES:
            self._start, self._is_long = self._at, True

    def end(self) -> None:
        rest = self._buffer[self._at :].strip(_SPACE)
        if not self._is_over and (self._base != 0 or self._depth or rest):
            raise SourceError(
                f"{self._name}: it ends too early; not all of it was downloaded? fetch it again"
            )

    def _passes_end(self, opens: bool) -> bool:
        """Pass over a bracket; whether a conversation ends with it."""
        if opens:
            if self._depth == self._base and self._start < 0:
                self._start = self._at - 1
            self._depth += 1
            return False
        self._depth -= 1
        self._is_over = self._depth < self._base
        return self._depth == self._base and self._start >= 0


def source_of(file: SourceFile, id_: str) -> SourceFile:
    """The source of one conversation: the same in every export that has it."""
    path = f"{file.agent}:{quote(id_, safe='')}"
    return replace(file, path=path, session=id_, framing=Framing.DOCUMENT, compressed=False)


def identity_of(conversations: Conversations, data: bytes) -> tuple[str, int]:
    """Which conversation it is, and when it last changed; what is none is known by its bytes."""
    try:
        found = conversations.identity(decode(data)[0])
    except BadLine:
        found = None
    return found if found is not None and _is_usable(found[0]) else (_made_id(data), 0)


def _is_usable(id_: str) -> bool:
    """Whether an id can be what a conversation is called."""
    return 0 < len(id_) <= _ID_CHARS_MAX and id_.isprintable()


def _made_id(data: bytes) -> str:
    """What something is called that is no conversation, or does not say which."""
    return "unread-" + hashlib.blake2b(data, digest_size=8).hexdigest()


def mark_of(data: bytes, changed_ms: int = 0, state: Mapping[str, Any] | None = None) -> Cursor:
    """What tells one version of a conversation from another, in the place of a file's times."""
    content = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little") >> 2
    return Cursor(size=len(data), mtime_ns=changed_ms * 1_000_000, ctime_ns=content, state=dict(state or {}))


class Origin(NamedTuple):
    """The file in which a conversation came: a document, or a member of a zip; and how it looked then."""

    path: str
    member: str
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, file: SourceFile) -> Origin:
        """Of an export as it lies on the disk now."""
        path = file.read_path
        try:
            seen = os.stat(path)
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror}") from error
        member = file.path[len(path) + 1 :] if file.compressed else ""
        return cls(path, member, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)

    @classmethod
    def noted(cls, state: Mapping[str, Any]) -> Origin | None:
        """The one that a cursor keeps, where it does."""
        match state.get(_KEY):
            case [str(path), str(member), int(size), int(mtime_ns), int(ctime_ns)]:
                return cls(path, member, size, mtime_ns, ctime_ns)
        return None

    @property
    def state(self) -> dict[str, Any]:
        """As a cursor keeps it."""
        return {_KEY: list(self)}

    def export(self, agent: str) -> SourceFile:
        """It, to be opened again."""
        path = member_path(self.path, self.member) if self.member else self.path
        return SourceFile(agent, path, framing=Framing.EXPORT, compressed=bool(self.member))


def noted_origin(state: Mapping[str, Any]) -> dict[str, Any]:
    """What of a cursor's state tells where a conversation came from, to be kept whatever else is derived."""
    return {_KEY: state[_KEY]} if _KEY in state else {}
