"""One change to one file of an agent: shown first, then made whole or not at all.

The first original is kept beside the file and goes when we go. Nothing is locked: an agent may
write the same file at any moment, so `apply` compares what is there with what was read just
before it takes the file's place, and refuses if they differ.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from recollect.light.disk import Disk, replace_file
from recollect.redact import redact
from recollect.values.errors import SettingsRefused
from recollect.values.settings import FileChange
from recollect.values.text import printable

_ATTEMPTS = 3
_CONTEXT_LINES = 2
_LINE_MAX = 500
_SHOWN_MAX = 4000
_NO_NEWLINE = "\\ No newline at end of file"
# A neighbour of our lines may hold a secret, and a diff ends up in terminals and logs. What redaction does
# not believe to be one is left out all the same, if its name says so: nobody reads a diff for it.
_NAMED = re.compile(
    r"""((?:key|token|secret|password|auth)[\w-]*["']?\s*[:=,]\s*["'])(?!\[redacted:)[^"']+""", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Change:
    """What a file holds, and what it is to hold; None: there is no such file.

    `undo`: nothing of ours is in it afterwards, so the backup has done its work and goes too.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    undo: bool = False

    @property
    def is_empty(self) -> bool:
        return self.before == self.after

    def diff(self) -> str:
        """The change as a unified diff, safe to print; "" where there is none."""
        if self.is_empty:
            return ""
        old, new = _lines(self.before), _lines(self.after)
        if any(len(line) > _LINE_MAX for line in (*old, *new)):
            body: Sequence[str] = _inside_a_line("\n".join(old), "\n".join(new))
        else:
            body = list(difflib.unified_diff(old, new, lineterm="", n=_CONTEXT_LINES))[2:]
        names = (
            f"--- {self.path if self.before is not None else '(no file)'}",
            f"+++ {self.path if self.after is not None else '(no file)'}",
        )
        return printable(_NAMED.sub(r"\1…", "\n".join((*names, *body))))

    def apply(self, disk: Disk | None = None) -> Path | None:
        """Make the change durable. Returns where the original is kept, if one is."""
        disk = disk or Disk()
        try:
            return self._apply(disk)
        except OSError as error:
            raise SettingsRefused(self.path, error.strerror or str(error)) from error

    def _apply(self, disk: Disk) -> Path | None:
        target = _target(self.path)
        disk.make_folder(target.parent)
        backup = backup_path(target)
        self._unchanged(target)
        if self.before is not None and not self.undo and not backup.exists():
            # Whole under its name or not there at all: the first one stays, so it must be right.
            _replace(disk, backup, self.before, like=target)
        if self.after is None:
            disk.unlink(target)
            _sync_folder(disk, target.parent)
        else:
            _replace(disk, target, self.after, like=target, last_look=lambda: self._unchanged(target))
        if self.undo:
            with contextlib.suppress(OSError):
                disk.unlink(backup)
        return backup if backup.exists() else None

    def _unchanged(self, target: Path) -> None:
        if _read(target) != self.before:
            raise SettingsRefused(self.path, "it was changed by another program just now")


def carry_out(plan: Callable[[], Sequence[FileChange]]) -> list[tuple[FileChange, Path | None]]:
    """Make all changes of a plan; gives each with where its original is kept.

    A file that its agent wrote in the meantime is read and planned again, a few times.
    """
    done: list[tuple[FileChange, Path | None]] = []
    left = list(plan())
    for _ in range(_ATTEMPTS):
        try:
            while left:
                done.append((left[0], left[0].apply()))
                del left[0]
            return done
        except SettingsRefused:
            failed, left = left[0], list(plan())
            if failed in left:
                raise
    raise SettingsRefused(left[0].path, "another program keeps changing it", hint="end it, then try again")


def read_settings(path: Path, *, to_write: bool = True) -> bytes | None:
    """A settings file's bytes, None where there is none; refused unless it is a file we may write."""
    target = _target(path, to_write=to_write)
    try:
        return _read(target)
    except OSError as error:
        raise SettingsRefused(path, error.strerror or str(error)) from error


def read_backup(path: Path) -> bytes | None:
    """The original as it was before our first change, None where none is kept."""
    with contextlib.suppress(OSError):
        return backup_path(_target(path)).read_bytes()
    return None


def backup_path(path: Path) -> Path:
    return path.with_name(path.name + ".recollect-backup")


def _target(path: Path, *, to_write: bool = True) -> Path:
    """The file itself: a link is kept, and what it leads to is edited."""
    target = Path(os.path.realpath(path))
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        if path.is_symlink():
            raise SettingsRefused(path, "it is a link that leads nowhere") from None
        return target
    except OSError as error:
        raise SettingsRefused(path, error.strerror or str(error)) from error
    if not stat.S_ISREG(mode):
        raise SettingsRefused(path, "it is not a regular file")
    # The mode says what was meant, also to root, whom it does not stop.
    if to_write and not (mode & 0o222 and os.access(target, os.W_OK)):
        raise SettingsRefused(path, "it is read-only")
    return target


def _read(target: Path) -> bytes | None:
    try:
        return target.read_bytes()
    except FileNotFoundError:
        return None


def _replace(
    disk: Disk, target: Path, data: bytes, *, like: Path, last_look: Callable[[], None] | None = None
) -> None:
    """Put `data` under `target`'s name in one step, with the mode and owner of `like`."""
    replace_file(
        target, data, disk=disk, lasting=True, prepare=lambda new: _resemble(new, like), confirm=last_look
    )


def _sync_folder(disk: Disk, folder: Path) -> None:
    # The change is made; should a power cut undo it, the old file is whole.
    with contextlib.suppress(OSError):
        disk.sync_folder(folder)


def _resemble(new: str, like: Path) -> None:
    try:
        found = os.stat(like)
    except FileNotFoundError:
        return
    if os.name != "nt" and (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(PermissionError):
            os.chown(new, found.st_uid, found.st_gid)
    os.chmod(new, stat.S_IMODE(found.st_mode))


def _lines(data: bytes | None) -> list[str]:
    # Before it is cut into lines: a secret may take several, and its name may stand outside of what is shown.
    text = redact((data or b"").decode("utf-8", "backslashreplace")).text
    *lines, last = text.split("\n")
    return [*lines, f"{last}\n{_NO_NEWLINE}"] if last else lines


def _inside_a_line(old: str, new: str) -> tuple[str, ...]:
    """For files without line breaks: only what lies between the parts that are alike."""
    start = _alike(old, new)
    end = _alike(old[start:][::-1], new[start:][::-1])
    gone, come = old[start : len(old) - end], new[start : len(new) - end]
    shown = [f"{sign}{_cut(text)}" for sign, text in (("-", gone), ("+", come)) if text]
    return (f"@@ at character {start:,} @@", *shown)


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    shorter = min(len(one), len(other))
    return next((n for n in range(shorter) if one[n] != other[n]), shorter)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "…"
