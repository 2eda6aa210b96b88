"""Following transcripts as they grow: what is new in each goes into the journal, parsed by nobody yet.

A small file per session says how far it is in the journal. Losing one costs work, never lines:
what is appended twice is folded once. A session is followed from the moment its name is known:
an agent may write its transcript a tenth of a second late, so the last lines of a conversation
that is killed are there only for whoever looks next.

No numpy, no HDF5, no dataclasses, no pathlib: this runs inside hooks.
"""

from __future__ import annotations

import os
import stat
import time
import zlib

from recollect.light.agents import hooks_of
from recollect.light.disk import read_bytes_at, replace_file
from recollect.light.journal import Journal
from recollect.light.own_files import open_own
from recollect.light.segments import pack_segment
from recollect.light.sources import DOCUMENT, MAIN
from recollect.light.stdlib import dumps, loads, suppress
from recollect.values.errors import FileRefused, RecollectError

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from recollect.light.sources import Place

PIECE_BYTES = 4 << 20  # of a transcript in one journal frame: little enough for a slow disk and a second
WHOLE_BYTES_MAX = 32 << 20  # of a document, which is one line; a larger one is left to a sweep
FOLLOWED_DAYS = 7  # that a transcript nobody writes to is still looked at
LOCK_SECONDS = 0.2  # that an append waits for another one
SESSIONS = "sessions"  # the folder of the files below, in the state folder
_MAIN = ""  # the transcript's own name among a session's files
_CHECKED_BYTES = 64
_RECENT_NS = 3_600 * 10**9  # since it wrote, that a session's folder is searched for new files
_OPEN = os.O_RDONLY  # of a regular file, never through a link, never waiting for a pipe
for _flag in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC"):
    _OPEN |= getattr(os, _flag, 0)


class Refused(Exception):
    """A path that is not where this agent keeps its logs."""


class FileMark:
    """How far a file is in the journal, and what shows that it is still the same file.

    `check` is the crc32 of the last bytes before the offset, `time_ns` when it was last changed.
    """

    __slots__ = ("check", "inode", "offset", "time_ns")

    def __init__(self, offset: int = 0, inode: int = 0, check: int = 0, time_ns: int = 0) -> None:
        self.offset, self.inode, self.check, self.time_ns = offset, inode, check, time_ns

    def packed(self) -> list[int]:
        return [self.offset, self.inode, self.check, self.time_ns]


class Followed:
    """One session's transcript and the files beside it. `ended`: the agent said that it is over."""

    def __init__(
        self, agent: str, path: str, files: dict[str, FileMark] | None = None, *, ended: bool = False
    ) -> None:
        self.agent, self.path, self.ended = agent, path, ended
        self.files = files if files is not None else {}

    @property
    def time_ns(self) -> int:
        """When the last thing that was taken had been written; 0 for nothing yet."""
        return max((taken.time_ns for taken in self.files.values()), default=0)

    @property
    def bytes(self) -> int:
        return sum(taken.offset for taken in self.files.values())


class Capture:
    """Appends what is new in followed sessions to one store's journal, until a deadline."""

    def __init__(
        self,
        store: str,
        state: str,
        host: str,
        home: str,
        environ: Mapping[str, str],
        *,
        seconds: float = 60.0,
    ) -> None:
        self._journal = Journal(store, lock_seconds=min(LOCK_SECONDS, seconds))
        self._state, self._host = state, host
        self._home, self._environ = home, environ
        self._roots: dict[str, list[tuple[str, str]]] = {}
        self._deadline = time.monotonic() + seconds
        self.bytes = 0  # appended
        self.in_time = True  # whether everything was looked at
        self.followed = True  # whether word could be left of every session

    def close(self) -> None:
        self._journal.close()

    def follow(self, agent: str, path: str, *, ended: bool = False) -> None:
        """Take what is new in a session's files, and remember how far that is.

        `ended`: nothing more will be written, so that a line without its end is taken too.
        """
        path = self._inside(agent, path)
        session = read_followed(self._state, path)
        if session is None:
            session = Followed(agent, path)
            self._begin(session)
        before, session.ended = session.ended, ended
        complete = False
        try:
            for each in (path, *_beside(agent, path)):
                self._look(session, each)
            complete = time.monotonic() < self._deadline
        finally:
            # What was not reached must be looked for again.
            self.in_time = self.in_time and complete
            session.ended = ended and complete
            if session.ended != before:
                write_followed(self._state, session)

    def rest(self) -> None:
        """Take what is new in every session that is followed."""
        recent_ns = time.time_ns() - _RECENT_NS
        for session in followed(self._state):
            if _may_have_news(session, recent_ns):
                with suppress(Refused):
                    self.follow(session.agent, session.path, ended=session.ended)

    def _begin(self, session: Followed) -> None:
        """Leave word of a session before anything of it is taken: a hook may be stopped at any moment."""
        try:
            write_followed(self._state, session)
        except OSError:  # the journal may be on a better disk
            self.followed = False

    def _look(self, session: Followed, path: str) -> None:
        place = self._place(session.agent, path)
        name = name_in(session, path)
        taken = session.files.get(name, FileMark())
        if place is None or time.monotonic() >= self._deadline or _is_as_taken(path, taken):
            return
        try:
            fd = os.open(path, _OPEN)
        except OSError:  # not written yet, gone, a link
            return
        try:
            found = os.fstat(fd)
            if stat.S_ISREG(found.st_mode):
                self._take(session, name, path, place, fd, found)
        finally:
            os.close(fd)

    def _take(
        self, session: Followed, name: str, path: str, place: Place, fd: int, found: os.stat_result
    ) -> None:
        whole = place[1] == DOCUMENT
        if whole and found.st_size > WHOLE_BYTES_MAX:
            return
        piece = WHOLE_BYTES_MAX if whole else PIECE_BYTES
        start = _start(fd, found, session.files.get(name, FileMark()), whole)
        while start < found.st_size and time.monotonic() < self._deadline:
            data = read_bytes_at(fd, piece, start)
            all_of_it = whole or session.ended or len(data) == piece
            cut = len(data) if all_of_it else data.rfind(b"\n") + 1
            if not cut:
                return
            try:
                self._journal.append(
                    pack_segment(session.agent, path, place, self._host, start, data[:cut], own=True)
                )
            except RecollectError:
                self._deadline = 0.0  # as it is with this one, so it would be with the others
                raise
            self.bytes += cut
            start += cut
            session.files[name] = FileMark(start, found.st_ino, _check(fd, start), found.st_mtime_ns)
            # At once: the hard stop of a hook may come during the next append.
            write_followed(self._state, session)

    def _inside(self, agent: str, path: str) -> str:
        """The path with every link resolved; Refused unless it is a transcript below the agent's folders."""
        if "\0" in path or not os.path.isabs(path):
            raise Refused(path)
        folder, name = os.path.split(path)
        found = os.path.join(os.path.realpath(folder), name)
        place = self._place(agent, found)
        if place is None or place[0] != MAIN:
            raise Refused(path)
        return found

    def _place(self, agent: str, path: str) -> Place | None:
        """What a file below one of the agent's folders is, whatever that folder is called; None elsewhere."""
        hooks = hooks_of(agent)
        for real, root in self._roots_of(agent):
            if hooks is not None and path.startswith(real):
                return hooks.place(os.path.join(root, path[len(real) :]))
        return None

    def _roots_of(self, agent: str) -> list[tuple[str, str]]:
        """The agent's folders, each with every link resolved and as the agent names it."""
        if agent not in self._roots:
            hooks = hooks_of(agent)
            roots = hooks.roots(self._home, self._environ) if hooks is not None else []
            self._roots[agent] = [(os.path.realpath(each) + os.sep, each) for each in roots]
        return self._roots[agent]


def followed(state: str) -> list[Followed]:
    """Every session that is followed, the one that wrote last at the end."""
    folder = os.path.join(state, SESSIONS)
    try:
        names = [entry.name for entry in os.scandir(folder) if entry.name[0] != "."]  # a file half written
    except OSError:
        return []
    found = (_read(os.path.join(folder, name)) for name in names)
    return sorted((each for each in found if each is not None), key=lambda each: (each.time_ns, each.path))


def read_followed(state: str, path: str) -> Followed | None:
    """What is known of one transcript."""
    session = _read(_file_of(state, path))
    return session if session is not None and session.path == path else None


def write_followed(state: str, session: Followed) -> None:
    """Replaced in one step, and not synced: it can be lost without harm."""
    files = {name: taken.packed() for name, taken in session.files.items()}
    text = dumps([session.agent, session.path, session.ended, files])
    replace_file(_file_of(state, session.path), text.encode("utf-8", "replace"))


def forget_old(state: str, before_ns: int) -> None:
    """Follow no longer what was last heard of before a moment."""
    folder = os.path.join(state, SESSIONS)
    with suppress(OSError):
        for entry in os.scandir(folder):
            if entry.stat(follow_symlinks=False).st_mtime_ns < before_ns:
                os.unlink(entry.path)


def main_of(agent: str, path: str) -> str:
    """The transcript of the session that a file is of; "" for a file that is not one of a session's."""
    hooks = hooks_of(agent)
    return hooks.transcript_of(path) if hooks is not None else ""


def name_in(session: Followed, path: str) -> str:
    """What a file is called among those of its session."""
    return _MAIN if path == session.path else os.path.relpath(path, os.path.dirname(session.path))


def taken_to(path: str, offset: int) -> FileMark | None:
    """What is remembered of a file that was taken up to an offset; None where it is not there."""
    try:
        fd = os.open(path, _OPEN)
    except OSError:
        return None
    try:
        found = os.fstat(fd)
        return FileMark(offset, found.st_ino, _check(fd, offset), found.st_mtime_ns)
    finally:
        os.close(fd)


def _file_of(state: str, path: str) -> str:
    return os.path.join(state, SESSIONS, os.path.basename(path))


def _read(path: str) -> Followed | None:
    try:
        with open(open_own(path), "rb") as file:
            agent, transcript, ended, files = loads(file.read())
        taken = {name: FileMark(*each) for name, each in files.items()}
        return Followed(agent, transcript, taken, ended=ended)
    except (OSError, ValueError, TypeError, AttributeError, FileRefused):
        return None  # none yet, or cut short by a full disk: then everything is taken again


def _start(fd: int, found: os.stat_result, taken: FileMark, whole: bool) -> int:
    """Where a file's news begin; at its start when it is not the file that was taken."""
    if whole:
        same = (found.st_size, found.st_ino, found.st_mtime_ns) == (taken.offset, taken.inode, taken.time_ns)
    else:
        same = found.st_ino == taken.inode and found.st_size >= taken.offset
        same = same and _check(fd, taken.offset) == taken.check
    return taken.offset if same else 0


def _check(fd: int, offset: int) -> int:
    before = max(offset - _CHECKED_BYTES, 0)
    return zlib.crc32(read_bytes_at(fd, offset - before, before))


def _is_as_taken(path: str, taken: FileMark) -> bool:
    """Whether a file is just as it was when it was taken to its end."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return False
    return (found.st_size, found.st_ino, found.st_mtime_ns) == (taken.offset, taken.inode, taken.time_ns)


def _may_have_news(session: Followed, recent_ns: int) -> bool:
    """Whether any file of a session changed; in the hour after it wrote, also whether there are others."""
    folder = os.path.dirname(session.path)
    if not session.files or (not session.ended and session.time_ns >= recent_ns):
        return True
    known = ((os.path.join(folder, name or session.path), taken) for name, taken in session.files.items())
    if not all(_is_as_taken(path, taken) for path, taken in known):
        return True
    if session.time_ns < recent_ns:
        return False
    return any(
        name_in(session, beside) not in session.files for beside in _beside(session.agent, session.path)
    )


def _beside(agent: str, transcript: str) -> Iterable[str]:
    hooks = hooks_of(agent)
    return hooks.beside(transcript) if hooks is not None else ()
