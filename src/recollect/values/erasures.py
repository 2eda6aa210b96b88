"""What was erased, remembered without a word of it: keyed hashes of lines and sessions.

The key is random and stands beside the hashes: without it nobody can look whether two stores erased the same,
and who has it can only try texts that they know to the byte.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recollect.light.sources import MEMORY

HASH_BYTES = 12
SALT_BYTES = 16


@dataclass(frozen=True, slots=True)
class Erasure:
    """One erasing: when, by what kind of choice, how much, and the hashes of what went.

    `entries` are those that saved threads name, `names` of the small files that hooks keep of what went.
    `masks` are lines that stayed, altered: their secrets went. As long as it is not `is_cleared`, they and
    whatever else was made of the old rows may still be there.
    """

    id: str
    time_ms: int
    by: str  # session, entry, thread, project, host, time, match, regex, secrets
    salt: bytes
    sessions: frozenset[bytes]
    lines: frozenset[bytes]
    counts: tuple[tuple[str, int], ...] = ()
    names: frozenset[bytes] = frozenset()
    entries: frozenset[bytes] = frozenset()
    masks: frozenset[bytes] = frozenset()
    is_cleared: bool = False


def hash_of_line(salt: bytes, key: bytes) -> bytes:
    """Of a line by its key (`line_key`), so that whoever has the key need not hash the line again."""
    return hashlib.blake2b(key, digest_size=HASH_BYTES, key=salt).digest()


def hash_of_session(salt: bytes, agent: str, host: str, id_: str) -> bytes:
    return _hash_of(salt, "session", agent, host, id_)


def hash_of_name(salt: bytes, name: str) -> bytes:
    """Of a file's name, without its folder."""
    return _hash_of(salt, "name", name)


def hash_of_path(salt: bytes, host: str, path: str) -> bytes:
    """Of a file of a machine."""
    return _hash_of(salt, "path", host, path)


def hash_of_entry(salt: bytes, id_: str) -> bytes:
    return _hash_of(salt, "entry", id_)


def _hash_of(salt: bytes, *words: str) -> bytes:
    named = "\x00".join(words).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(named, digest_size=HASH_BYTES, key=salt).digest()


class Erased:
    """All that was erased and not taken back. Asking costs nothing where nothing was."""

    def __init__(self, erasures: Iterable[Erasure] = ()) -> None:
        self.erasures: Sequence[Erasure] = tuple(erasures)
        self._sessions: dict[bytes, set[bytes]] = {}
        self._lines: dict[bytes, set[bytes]] = {}
        self._masks: dict[bytes, set[bytes]] = {}
        for each in self.erasures:
            self._sessions.setdefault(each.salt, set()).update(each.sessions)
            if each.lines:
                self._lines.setdefault(each.salt, set()).update(each.lines)
            if each.masks:
                self._masks.setdefault(each.salt, set()).update(each.masks)

    def __bool__(self) -> bool:
        return bool(self.erasures)

    @property
    def uncleared(self) -> list[Erasure]:
        """Those of which something may still be in what was made of the store."""
        return [each for each in self.erasures if not each.is_cleared]

    @property
    def has_lines(self) -> bool:
        return bool(self._lines)

    @property
    def has_masks(self) -> bool:
        return bool(self._masks)

    def is_masked(self, key: bytes) -> bool:
        """Whether the secrets of a line were erased inside of it."""
        return any(hash_of_line(salt, key) in held for salt, held in self._masks.items())

    def has_session(self, agent: str, host: str, id_: str) -> bool:
        """Whether a session was erased, so that nothing of it comes back."""
        return self.salt_of_session(agent, host, id_) is not None

    def salt_of_session(self, agent: str, host: str, id_: str) -> bytes | None:
        """The salt of an erasing that a session went with; None where there is none.

        What code saves under the same name afterwards is new: of its erased sessions the lines stay away.
        """
        if not id_ or agent == MEMORY:
            return None
        salts = (s for s, held in self._sessions.items() if hash_of_session(s, agent, host, id_) in held)
        return next(salts, None)

    def path_keys(self, host: str, path: str) -> list[str]:
        """What a file may be known by, whose session was erased: by each erasing another key."""
        return [hash_of_path(salt, host, path).hex() for salt in self._sessions]

    def has_entry(self, id_: str) -> bool:
        """Whether an entry that a saved thread names was erased."""
        return any(hash_of_entry(each.salt, id_) in each.entries for each in self.erasures)

    def has_line(self, key: bytes) -> bool:
        return any(hash_of_line(salt, key) in held for salt, held in self._lines.items())


NOTHING_ERASED = Erased()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person wants erased: sessions by id, thread, project or host; lines by entry, text or time.

    A project, a host and times narrow what text is looked for in. With `secrets` nothing goes but the secrets
    in what is chosen, or in everything: lines stay, altered.
    """

    session: str = ""
    thread: str = ""
    entry: str = ""
    project: str = ""
    host: str = ""
    match: str = ""
    regex: str = ""
    since_ms: int = 0
    until_ms: int = 0
    secrets: bool = False

    @property
    def by(self) -> str:
        """What kind of choice it is, without what is asked for."""
        names = ("secrets", "session", "thread", "entry", "match", "regex", "project", "host")
        return next((name for name in names if getattr(self, name)), "time")

    @property
    def is_narrowed(self) -> bool:
        """Whether some sessions or lines are named."""
        named = self.session or self.thread or self.entry or self.project or self.host
        return bool(named or self.since_ms or self.until_ms)

    @property
    def is_by_line(self) -> bool:
        return bool(self.entry or self.match or self.regex or self.since_ms or self.until_ms)
