"""Where copies went that were made of a memory: snapshots, parts, exports, what was written for agents.

A small file beside the store, a line for each: its path, when and how it was made, and of which sessions, as
keyed hashes. A path is all that it says in words, because nothing else finds the file; a line whose file is
gone goes with the next erase. Without the file nothing is known of copies, and nothing else is lost. What an
earlier version wrote lies in the cache and is read as well: `Config.copies` names both.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.light.disk import replace_file
from recollect.light.own_files import make_own_folder, open_own, read_own
from recollect.values.erasures import SALT_BYTES, hash_of_name
from recollect.values.errors import FileRefused

if TYPE_CHECKING:
    from recollect.memory.choosing import Chosen

CONVERTED = "converted"  # the other kinds: snapshot, part, export, written
_BYTES_MAX = 4 << 20
_SESSIONS_MAX = 500  # a copy of more than these is told of whatever is erased


@dataclass(frozen=True, slots=True)
class Copy:
    """A file that was made of a memory: of all of it, or of the sessions that it has the hashes of."""

    path: str
    time_ms: int
    kind: str
    masked: bool
    salt: bytes
    sessions: frozenset[bytes] | None = None

    def may_hold(self, ids: Iterable[str]) -> bool:
        """Whether anything of some sessions may be in it."""
        return self.sessions is None or any(hash_of_name(self.salt, id_) in self.sessions for id_ in ids)


def note_copy(
    record: Path,
    path: str | os.PathLike[str],
    kind: str,
    sessions: Iterable[str] | None,
    *,
    masked: bool,
    now_ms: int,
) -> None:
    """Remember that a copy was made, of some sessions by their ids, or of everything; never in the way."""
    salt = secrets.token_bytes(SALT_BYTES)
    ids = None if sessions is None else sorted(set(sessions))
    told = {
        "path": os.path.abspath(path),
        "time_ms": now_ms,
        "kind": kind,
        "masked": masked,
        "salt": salt.hex(),
        "sessions": None
        if ids is None or len(ids) > _SESSIONS_MAX
        else [hash_of_name(salt, id_).hex() for id_ in ids],
    }
    line = json.dumps(told).encode("ascii") + b"\n"
    with contextlib.suppress(OSError, FileRefused, UnicodeError):
        make_own_folder(record.parent)
        fd = open_own(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(fd, line)
        finally:
            os.close(fd)


def copies(records: Sequence[Path]) -> list[Copy]:
    """The copies that are known of and still there, as they were told last: the first record is newer."""
    lines = (line for record in reversed(records) for line in _lines(record))
    found = {each.path: each for each in map(_copy_of, lines) if each is not None}
    return [each for each in found.values() if os.path.lexists(each.path)]


def copies_of(records: Sequence[Path], chosen: Chosen) -> list[Copy]:
    """Those that may hold what is chosen to be erased. A secret is in none in which secrets were masked."""
    ids = {
        id_ for each in chosen.sessions for id_ in (each.session.facts.id, each.session.facts.parent) if id_
    }
    hides = chosen.secrets is not None
    return [each for each in copies(records) if each.may_hold(ids) and not (hides and each.masked)]


def forget_lost(record: Path) -> None:
    """Remember nothing any more of copies whose files are gone."""
    lines, kept = _lines(record), []
    for line in lines:
        found = _copy_of(line)
        if found is not None and os.path.lexists(found.path):
            kept.append(line)
    if len(kept) < len(lines):
        replace_file(record, b"".join(line + b"\n" for line in kept))


def _lines(record: Path) -> list[bytes]:
    try:
        return read_own(record, _BYTES_MAX).splitlines()
    except (OSError, FileRefused):
        return []


def _copy_of(line: bytes) -> Copy | None:
    """What a line says; None for one that we could not have written."""
    try:
        told: Any = json.loads(line)
        sessions = told["sessions"]
        hashes = None if sessions is None else frozenset(bytes.fromhex(each) for each in sessions)
        salt = bytes.fromhex(told["salt"])
        path, kind = told["path"], told["kind"]
        if not (isinstance(path, str) and isinstance(kind, str) and len(salt) == SALT_BYTES):
            return None
        return Copy(path, int(told["time_ms"]), kind, told["masked"] is True, salt, hashes)
    except (ValueError, TypeError, KeyError):
        return None
