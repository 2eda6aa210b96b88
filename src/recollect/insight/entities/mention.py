"""What a mention is, and how a thing is named: by one name, which is harmless wherever it is shown."""

from __future__ import annotations

import re
from typing import NamedTuple

NAME_CHARS = 200  # longer ones are no names
MENTIONS_MAX = 128  # of one entry: a listing of thousands says little of each
ERROR_WORDS = 16

_DRIVE = re.compile(r"([A-Za-z]):[\\/]")
_POSITION = re.compile(r"(?::\d+){1,2}(?:[:-][\d:-]*)?$|\(\d+(?:,\d+)?\)$|#L\d+(?:-L?\d+)?$")
_WORKTREE = re.compile(r"(?:^|.*?/)(?:\.[\w-]+/)?\.?worktrees/[^/]+/(.+)")

_QUOTED = re.compile(r"\"[^\"]{0,200}\"|(?<!\w)'[^']{0,200}'(?!\w)|`[^`]{0,200}`")
_PLACE = re.compile(r"[\w.@+~-]*(?:[/\\][\w.@+-]+)+/?")
_NUMBER = re.compile(r"\b0x[0-9a-f]+\b|\b[0-9a-f]{7,}\b|\d+")
_WORD = re.compile(r"[a-z][a-z_]+")


_RATHER = {"folder": ("file", "module"), "class": ("function",)}  # by type, what is believed instead


class Mention(NamedTuple):
    """That an entry speaks of something: what kind of thing, its name, and how it stands there."""

    type: str
    name: str
    written: str


class Gathered:
    """The mentions of one entry: each thing once, and no more than `MENTIONS_MAX`.

    `root` is the folder that the session was started in.
    """

    def __init__(self, root: str = "") -> None:
        self.root = _slashed(root).rstrip("/")
        self.own = self.root.rpartition("/")[2]  # what the project is called there
        self._found: dict[tuple[str, str], Mention] = {}

    def add(self, type_: str, name: str, written: str = "") -> None:
        """Take note of a thing by its name; what is no name is left out."""
        if (type_, name) in self._found:
            return
        bare = path_name(name, self.root) if type_ in ("file", "folder") else clean(name)
        if bare and (type_, bare) not in self._found and len(self._found) < MENTIONS_MAX:
            as_written = bare if written in ("", bare) else clean(written) or bare
            self._found[type_, bare] = Mention(type_, bare, as_written)

    def has(self, type_: str, name: str) -> bool:
        return (type_, name) in self._found

    def mentions(self) -> list[Mention]:
        """All of them, in the order they were found; of what reads as two things the more telling."""
        if not any(type_ in _RATHER for type_, _ in self._found):
            return list(self._found.values())
        written = {(each.type, each.written) for each in self._found.values()}
        return [
            each
            for each in self._found.values()
            if not any((other, each.written) in written for other in _RATHER.get(each.type, ()))
        ]


def clean(name: str) -> str:
    """A name as it may be shown anywhere: on one line, printable, without markup; "" for what is no name."""
    name = name.strip()
    if len(name) > NAME_CHARS or not name.isprintable() or "<" in name or ">" in name or "`" in name:
        return ""
    return name


def path_name(path: str, root: str) -> str:
    """The name of a file or folder: below the session's folder (`root`) as seen from there.

    What is in a worktree has the name it has in the repository.
    """
    path = path.removeprefix("file://")
    if path[-1:].isdigit() or path[-1:] == ")":
        path = _POSITION.sub("", path)
    path = _slashed(path)
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    path = path.rstrip("/") or path[:1]
    if root and path.startswith(root + "/"):
        path = path[len(root) + 1 :]
    inside = _WORKTREE.match(path) if "worktrees/" in path else None
    return clean(inside[1] if inside else path)


def _slashed(path: str) -> str:
    """A path with the slashes of the rest of the world: `C:\\a` is `/c/a`."""
    drive = _DRIVE.match(path) if path[1:2] == ":" else None
    if drive:
        return f"/{drive[1].lower()}/" + path[3:].replace("\\", "/").lstrip("/")
    return path.replace("\\", "/") if "\\" in path else path


def fingerprint(message: str) -> str:
    """What an error is called: its words, without what differs from time to time."""
    told = _QUOTED.sub(" ", message.lower())
    told = _NUMBER.sub(" ", _PLACE.sub(" ", told))
    return " ".join(_WORD.findall(told)[:ERROR_WORDS])
