"""Finding sources: walks folders, asks the adapters what each file is.

Only regular files count. Links are not followed (a link may lead anywhere, and its
target is found on its own if it lies in the same tree); pipes, sockets and devices are
never opened. Whatever is passed over is counted by reason.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from recollect.agents.contract import Adapter
from recollect.agents.registry import ADAPTERS
from recollect.intake.reader import BadLine, chunks, decode, open_source
from recollect.values.errors import SourceError
from recollect.values.records import SourceFile

_HEAD_RECORDS = 8
_HEAD_BYTES = 1 << 20
_FIELD = re.compile(rb'"(type|uuid|sessionId|timestamp|cwd|version)":\s*"([ -!#-\[\]-~]*)"')
_SUFFIXES = (".jsonl", ".jsonl.zst", ".json", ".txt")


@dataclass(frozen=True, slots=True)
class Found:
    """A file that an adapter recognised."""

    adapter: Adapter
    file: SourceFile
    size: int


@dataclass(slots=True)
class Discovery:
    """What a walk found, and why the rest was passed over."""

    found: list[Found] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


def agent_roots(home: Path, environ: Mapping[str, str]) -> list[Path]:
    """The folders in which any known agent keeps logs on this machine, existing ones only."""
    roots = [Path(root) for adapter in ADAPTERS for root in adapter.roots(home, environ)]
    return [root for root in dict.fromkeys(roots) if root.is_dir()]


def discover(paths: Iterable[Path]) -> Discovery:
    """Everything below the given files and folders that is some agent's log, parents first."""
    discovery = Discovery()
    for path in paths:
        for each in _files(path, discovery.skipped):
            found = _recognise(each, discovery.skipped)
            if found is not None:
                discovery.found.append(found)
    plain = {found.file.path for found in discovery.found if not found.file.compressed}
    unique: dict[str, Found] = {}
    for found in discovery.found:
        if found.file.compressed and found.file.path in plain:
            discovery.skipped["compressed copy of a plain file"] += 1
        elif found.file.path not in unique:
            unique[found.file.path] = found
    # A session before its subagents, and older rollouts (named by time) before their forks.
    discovery.found = sorted(unique.values(), key=lambda f: (f.file.agent, f.file.role, f.file.path))
    return discovery


def _files(path: Path, skipped: Counter[str]) -> Iterator[Path]:
    """Regular files below `path`, in a stable order, without recursion over deep trees."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError)
        why = "no such file or folder" if missing else getattr(error, "strerror", None) or error
        raise SourceError(f"{path}: {why}", hint="check the path; nothing was ingested") from error
    if stat.S_ISREG(mode):
        yield path.resolve()
        return
    if not stat.S_ISDIR(mode):
        skipped["not a regular file"] += 1
        return
    folders = [path.resolve()]
    while folders:
        try:
            entries = sorted(os.scandir(folders.pop()), key=lambda entry: entry.name, reverse=True)
        except OSError as error:
            skipped[f"unreadable folder ({error.strerror})"] += 1
            continue
        for entry in reversed(entries):
            if entry.is_file(follow_symlinks=False):
                yield Path(entry.path)
            elif entry.is_symlink():
                skipped["link"] += 1
            elif not entry.is_dir(follow_symlinks=False):
                skipped["not a regular file"] += 1
        folders += [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]


def _recognise(path: Path, skipped: Counter[str]) -> Found | None:
    if not path.name.endswith(_SUFFIXES) and path.parent.name != "tool-results":
        skipped["other file"] += 1
        return None
    head = _Head(path)
    try:
        for adapter in ADAPTERS:
            file = adapter.recognise(PurePath(path), head)
            if file is not None:
                return Found(adapter, file, os.stat(path).st_size)
    except SourceError:
        skipped["unreadable file"] += 1
        return None
    except OSError:
        skipped["gone meanwhile"] += 1
        return None
    skipped["not a known log"] += 1
    return None


class _Head:
    """The first records of a file, read when first asked for and then kept."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._records: list[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        if self._records is None:
            self._records = list(self._read())
        return iter(self._records)

    def _read(self) -> Iterator[Any]:
        with open_source(self._path) as file:
            compressed = self._path.name.endswith(".zst")
            head = next(chunks(file, compressed=compressed), b"")[:_HEAD_BYTES]
        first, *others = head.split(b"\n")[:_HEAD_RECORDS]
        if not others and len(head) == _HEAD_BYTES:
            yield _glimpse(head)
            return
        for line in (first, *others):
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
