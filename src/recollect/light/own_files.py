"""Opening files and making folders that must be this person's own.

A file of ours is a regular file, reached through no link, of this very user; a folder of ours is open to
nobody else, whatever the umask says. Anything else in its place was put there by someone, and is refused.
"""

from __future__ import annotations

import os
import stat

from recollect.light.stdlib import suppress
from recollect.values.errors import FileRefused

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from recollect.values.errors import Name

_PLAIN = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)

# Programs that copy or index everything leave out what says that it is a cache.
_TAG = b"Signature: 8a477f597d28d172789f06886806bc55\n# Of Recollect; all of it can be made again.\n"


def open_regular(path: Name, flags: int = os.O_RDONLY) -> int:
    """Open a regular file, whosever it is; a pipe or a device is refused instead of waited for."""
    fd = os.open(path, flags | _PLAIN, 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise FileRefused(path, "it is not a regular file")
    return fd


def open_own(path: Name, flags: int = os.O_RDONLY) -> int:
    """Open a file of ours; one that is made is its owner's alone."""
    try:
        fd = open_regular(path, flags | _NO_LINK)
    except FileNotFoundError:
        raise  # most side files are mostly absent, and a link is something else
    except OSError:
        if os.path.islink(path):
            raise FileRefused(path, "it is a symbolic link") from None
        raise
    found = os.fstat(fd)
    if os.name != "nt" and found.st_uid != os.geteuid():
        os.close(fd)
        raise FileRefused(path, f"it belongs to user {found.st_uid}, not to you")
    # One that was there may be open to others: a copy, a restored backup.
    if flags & (os.O_RDWR | os.O_WRONLY) and os.name != "nt" and stat.S_IMODE(found.st_mode) & 0o077:
        with suppress(OSError):
            os.fchmod(fd, 0o600)
    return fd


def read_own(path: Name, bytes_max: int) -> bytes:
    """What a small file of ours holds."""
    fd = open_own(path)
    try:
        return os.read(fd, bytes_max)
    finally:
        os.close(fd)


def make_own_folder(folder: Name, *, cache: bool = False) -> list[str]:
    """Make a folder and its missing parents, the new ones for their owner alone; returns those.

    `cache`: what is in it can be made again, and is marked so for programs that look at everything.
    """
    made, each = [], os.path.abspath(folder)
    while not os.path.exists(each):
        made.append(each)
        each = os.path.dirname(each)
    for each in reversed(made):
        with suppress(FileExistsError):
            os.mkdir(each, 0o700)
            os.chmod(each, 0o700)  # the umask may have left less
    found = os.stat(folder)
    if os.name != "nt" and found.st_uid not in (os.geteuid(), 0):
        raise FileRefused(folder, f"it belongs to user {found.st_uid}, not to you")
    if cache:
        _mark(folder)
    return made


def _mark(folder: Name) -> None:
    for name, content in (("CACHEDIR.TAG", _TAG), (".metadata_never_index", b"")):
        with suppress(OSError):
            fd = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | _PLAIN, 0o600)
            try:
                os.write(fd, content)
            finally:
                os.close(fd)
