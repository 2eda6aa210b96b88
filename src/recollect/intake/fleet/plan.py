"""What is to be asked of a host: by what it listed, what the store has of it, and what is no log."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from recollect.agents.contract import Agent
from recollect.agents.head import HEAD_BYTES, Head
from recollect.agents.registry import agent_of, agents
from recollect.intake.again import OF_NO_FILE
from recollect.intake.fleet.answers import Listing, Stat, coded
from recollect.intake.fleet.cksum import Cksum
from recollect.intake.fleet.kept import Kept, mark_of
from recollect.intake.news import is_plain
from recollect.light.own_files import make_own_folder, open_own
from recollect.values.erasures import Erased
from recollect.values.records import Cursor, Framing, SourceFile
from recollect.values.stored import Source

ROUND_BYTES = 256 << 20  # that are fetched before they are taken: bounds the spool, and what a kill costs
ROUND_FILES = 2000
WHOLE_BYTES_MAX = 1 << 30  # of a file that can only be taken as a whole
DATABASE_BYTES_MAX = 8 << 30
_BESIDE = (b"-wal", b"-journal", b"-shm")
_PACKED = ".zst"
_TRIES = 3
_DOCUMENT = re.compile(rb"\w[\w.-]{0,60}\.json")
_REFUSALS = {"unreadable": "it may not be read there", "large": "larger than a database may be"}


class Way(Enum):
    """How a file is had."""

    LINES = "lines"  # what it has behind what is stored
    WHOLE = "whole"
    HEAD = "head"  # only to see what it is
    DATABASE = "database"
    TOLD = "told"  # beside the logs, and about them


@dataclass(frozen=True, slots=True)
class Wanted:
    """One file to ask for. Without an agent nobody knows yet whose it is.

    `offset` and `before` are how far it is stored and the checksum of that.
    """

    name: bytes
    stat: Stat
    way: Way
    agent: Agent | None = None
    file: SourceFile | None = None
    offset: int = 0
    before: Cksum = field(default_factory=Cksum)
    erased_as: str = ""  # the key of a log that was erased: what follows is of the same session

    @property
    def path(self) -> str:
        return self.name.decode("utf-8", "surrogateescape")

    @property
    def limit(self) -> int:
        """How many bytes may come of it."""
        return {
            Way.LINES: ROUND_BYTES,
            Way.HEAD: HEAD_BYTES,
            Way.WHOLE: WHOLE_BYTES_MAX,
            Way.DATABASE: DATABASE_BYTES_MAX,
            Way.TOLD: HEAD_BYTES,
        }[self.way]

    @property
    def size(self) -> int:
        """About how many bytes will come."""
        return min(max(self.stat.size - self.offset, 0), self.limit)

    def call(self, number: int) -> str:
        """The line of `remote.sh` that asks for it."""
        if self.way is Way.DATABASE:
            return f"database {number} '{coded(self.name)}' {self.limit}"
        return f"fetch {number} '{coded(self.name)}' {self.offset} {self.before.value} {self.limit}"


class Plan:
    """What is left to be asked of one host, in rounds; what a round brought changes it."""

    def __init__(
        self,
        listing: Listing,
        sources: Iterable[Source],
        kept: Kept,
        *,
        host: str,
        erased: Erased,
        names: Path,
        summed: Callable[[Source], Cksum],
    ) -> None:
        self.sources = {each.file.path: each for each in sources if not each.superseded}
        self._databases = {
            each.file.read_path: each for each in self.sources.values() if each.file.framing is Framing.ROWS
        }
        self._listing, self._kept, self._names, self._summed = listing, kept, names, summed
        self._host, self._erased = host, erased
        self._still_erased: set[str] = set()
        self._neighbours = _documents(listing)
        self._done: set[bytes] = set()
        self._afresh: set[bytes] = set()
        self._learned: dict[bytes, tuple[Agent, SourceFile]] = {}
        self._tries: Counter[bytes] = Counter()
        self.unchanged: list[Source] = []  # of which nothing is new
        self.failed: dict[str, str] = {}

    def rounds(self) -> Iterator[list[Wanted]]:
        """What to ask for next, until nothing is left."""
        while batch := self._round():
            yield batch

    def has_come(self, wanted: Wanted) -> None:
        """Ask for it no more: all of it is in the store, or will not be had this time."""
        self._done.add(wanted.name)

    def needs_all(self, wanted: Wanted) -> None:
        """Ask for all of it: what is stored is another file's beginning."""
        self._afresh.add(wanted.name)

    def was_unsteady(self, wanted: Wanted) -> None:
        """It changed while it was read: ask again, a few times."""
        self._tries[wanted.name] += 1
        if self._tries[wanted.name] >= _TRIES:
            self.failed[wanted.path] = "it changes faster than it can be read; the next sync tries again"
            self.has_come(wanted)

    def was_refused(self, wanted: Wanted, why: str) -> None:
        """It is not sent: gone since it was listed, or there is a reason."""
        if why in _REFUSALS:
            self.failed[wanted.path] = _REFUSALS[why]
        self.has_come(wanted)

    def is_known(self, wanted: Wanted, agent: Agent, file: SourceFile) -> None:
        """What a file is of which the beginning was asked for."""
        self._learned[wanted.name] = agent, file

    def is_strange(self, wanted: Wanted) -> None:
        """It is no log, until it changes."""
        self._kept.strangers[wanted.path] = mark_of(wanted.stat)
        self.has_come(wanted)

    def was_erased(self, wanted: Wanted, key: str, end: int, had: Cksum) -> None:
        """Nothing of it is taken: ask only for what it has behind `end`, and for nothing while it stays.

        An `end` of 0 is for what can only be had as a whole.
        """
        seen = mark_of(wanted.stat) if end in (0, wanted.stat.size) else []
        self._kept.erased[key] = [end, had.crc, *seen]
        self._still_erased.add(key)

    def forget_others(self) -> None:
        """Keep nothing of logs that are not there any more, or whose erasing was taken back."""
        self._kept.erased = {key: self._kept.erased[key] for key in self._still_erased}

    def database_marks(self, name: bytes) -> list[list[int]]:
        """What is another once a database has changed."""
        files = (self._listing.files.get(name + end) for end in (b"", *_BESIDE[:2]))
        # Without the time of its last change of state: reading a log as root, sqlite3 makes that anew.
        return [[] if stat is None else [stat.size, stat.mtime_ns, stat.inode] for stat in files]

    def recognised(self, name: str, head: Head) -> tuple[Agent, SourceFile] | None:
        """Whose a file is, and what: asked with a path below which nothing of this machine lies."""
        below = str(self._names)
        self._name_neighbours(name)
        for agent in agents():
            file = agent.recognise(Path(below + name), head)
            if file is not None:
                return agent, replace(file, path=file.path.removeprefix(below))
        return None

    def _name_neighbours(self, name: str) -> None:
        """Have empty files stand for those that lie beside one: some agents ask whether another is there."""
        folder = name.rpartition("/")[0]
        neighbours = self._neighbours.pop(folder, ())
        with contextlib.suppress(OSError):  # a name that cannot be here is not asked about either
            for neighbour in neighbours:
                make_own_folder(f"{self._names}{folder}")
                os.close(open_own(f"{self._names}{folder}/{neighbour}", os.O_WRONLY | os.O_CREAT))

    def _round(self) -> list[Wanted]:
        batch: list[Wanted] = []
        size = 0
        for name, stat in self._listing.files.items():
            if name in self._done:
                continue
            wanted = self._wanted(name, stat)
            if wanted is None:
                self._done.add(name)
                continue
            if batch and (size + wanted.size > ROUND_BYTES or len(batch) >= ROUND_FILES):
                break
            batch.append(wanted)
            size += wanted.size
        return batch

    def _wanted(self, name: bytes, stat: Stat) -> Wanted | None:
        path = name.decode("utf-8", "surrogateescape")
        if name.endswith(_BESIDE) and name.rpartition(b"-")[0] in self._listing.files:
            return None  # of a database: fetched with it
        plain = path.removesuffix(_PACKED)
        if plain != path and plain.encode("utf-8", "surrogateescape") in self._listing.files:
            return None  # a copy of a file that is there
        if path in self._databases:
            file = replace(self._databases[path].file, path=path, session="")
            return self._database(Wanted(name, stat, Way.DATABASE, agent_of(file.agent), file))
        if (source := self.sources.get(plain)) is not None:
            return self._grown(name, stat, source, packed=plain != path)
        return self._new(name, stat, path)

    def _grown(self, name: bytes, stat: Stat, source: Source, *, packed: bool) -> Wanted | None:
        """A file that the store has, if it has changed since."""
        seen, cursor = cursor_of(stat), source.cursor
        if (seen.size, seen.mtime_ns, seen.ctime_ns, seen.inode) == (
            cursor.size,
            cursor.mtime_ns,
            cursor.ctime_ns,
            cursor.inode,
        ):
            self.unchanged.append(source)
            return None
        file, agent = replace(source.file, compressed=packed), agent_of(source.file.agent)
        if not is_plain(file):
            return self._within(Wanted(name, stat, Way.WHOLE, agent, file))
        if name in self._afresh or not cursor.offset or cursor.window == OF_NO_FILE:
            return Wanted(name, stat, Way.LINES, agent, file)
        return Wanted(name, stat, Way.LINES, agent, file, cursor.offset, self._summed(source))

    def _new(self, name: bytes, stat: Stat, path: str) -> Wanted | None:
        """A file that the store does not have, if it may be a log."""
        known = self._learned.get(name)
        if (known is None or is_plain(known[1])) and (key := self._erased_as(path)):
            end, crc, *seen = self._kept.erased[key]
            if seen == mark_of(stat):
                return None
            if end:
                return Wanted(name, stat, Way.LINES, offset=end, before=Cksum(crc, end), erased_as=key)
        if known is None:
            try:
                known = self.recognised(path, Head(_unread))
                if known is not None and self._erased.has_session(
                    known[0].name, self._host, known[1].session
                ):
                    return None  # its name says enough
            except _Unread:
                if self._kept.strangers.get(path) == mark_of(stat):
                    return None
                return Wanted(name, stat, Way.WHOLE if stat.size <= HEAD_BYTES else Way.HEAD)
        if known is None:
            return None
        agent, file = known
        if file.framing is Framing.ROWS:
            return self._database(Wanted(name, stat, Way.DATABASE, agent, file))
        way = Way.LINES if is_plain(file) else Way.WHOLE
        return self._within(Wanted(name, stat, way, agent, file))

    def _erased_as(self, path: str) -> str:
        """What a log is kept as that was erased; "" for any other."""
        keys = self._erased.path_keys(self._host, path) if self._kept.erased else []
        found = next((key for key in keys if key in self._kept.erased), "")
        if found:
            self._still_erased.add(found)
        return found

    def _database(self, wanted: Wanted) -> Wanted | None:
        if self._kept.databases.get(wanted.path) == self.database_marks(wanted.name):
            return None
        return self._within(wanted)

    def _within(self, wanted: Wanted) -> Wanted | None:
        """It, unless it is larger than such a file may be."""
        if wanted.way is Way.LINES or wanted.stat.size <= wanted.limit:
            return wanted
        self.failed[wanted.path] = f"larger than {wanted.limit >> 20:,} MiB"
        return None


def cursor_of(stat: Stat) -> Cursor:
    """A file as a cursor remembers it."""
    return Cursor(size=stat.size, mtime_ns=stat.mtime_ns, ctime_ns=stat.ctime_ns, inode=stat.inode)


def told_files(listing: Listing, known: Mapping[str, list[int]]) -> Iterator[Wanted]:
    """Files beside the logs that have changed since they were last had."""
    for name, stat in listing.told.items():
        wanted = Wanted(name, stat, Way.TOLD)
        if known.get(wanted.path) != mark_of(stat) and stat.size <= wanted.limit:
            yield wanted


def _documents(listing: Listing) -> dict[str, list[str]]:
    """Names of JSON documents by their folder, as far as they are plain ones."""
    found: dict[str, list[str]] = {}
    for name in listing.files:
        folder, _, last = name.rpartition(b"/")
        if _DOCUMENT.fullmatch(last):
            found.setdefault(folder.decode("utf-8", "surrogateescape"), []).append(last.decode())
    return found


class _Unread(Exception):
    """A name does not tell whose a file is."""


def _unread() -> bytes:
    raise _Unread
