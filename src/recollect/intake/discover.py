"""Finding sources: walks folders, asks the agents what each file is.

Only regular files count. Links are not followed (a link may lead anywhere, and its
target is found on its own if it lies in the same tree); pipes, sockets and devices are
never opened. Zips are looked into for what services give out as one's conversations, and for nothing else.
Whatever is passed over is counted by reason.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath

from recollect.agents import registry
from recollect.agents.contract import Agent
from recollect.agents.head import Head
from recollect.intake.archives import is_archive, member_path, open_archive
from recollect.intake.databases import size_of
from recollect.intake.reader import chunks, open_source
from recollect.values.errors import SourceError
from recollect.values.records import Framing, SourceFile

_GIT = {"HEAD", "objects", "refs"}  # in a repository's own folder: thousands of files, and no log
_GLIMPSE_BYTES = 1 << 16  # of a member of a zip, to say what it is


@dataclass(frozen=True, slots=True)
class Found:
    """A file that an agent recognised."""

    agent: Agent
    file: SourceFile
    size: int


@dataclass(slots=True)
class Discovery:
    """What a walk found, and why the rest was passed over."""

    found: list[Found] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


def agent_roots(home: Path, environ: Mapping[str, str]) -> list[Path]:
    """The folders in which any known agent keeps logs on this machine, existing ones only."""
    roots = [Path(root) for agent in registry.agents() for root in agent.roots(home, environ)]
    return [root for root in dict.fromkeys(roots) if root.is_dir()]


def discover(paths: Iterable[Path]) -> Discovery:
    """Everything below the given files and folders that is some agent's log, parents first."""
    discovery = Discovery()
    discovery.skipped.update(registry.troubles())
    for path in paths:
        for each in _files(path, discovery.skipped):
            if is_archive(each):
                discovery.found += _in_archive(each, discovery.skipped, is_named=not path.is_dir())
                continue
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


def files_below(folder: Path) -> Iterator[Path]:
    """Every regular file in a folder and in those below it."""
    return _files(folder, Counter())


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
        if {entry.name for entry in entries} >= _GIT:
            skipped["git folder"] += 1
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
    head = Head(partial(_beginning, path))
    try:
        for agent in registry.agents():
            file = agent.recognise(path, head)
            if file is not None:
                is_database = file.framing is Framing.ROWS
                return Found(agent, file, size_of(file.path) if is_database else os.stat(path).st_size)
    except SourceError:
        skipped["unreadable file"] += 1
        return None
    except OSError:
        skipped["gone meanwhile"] += 1
        return None
    skipped["not a known log" if head.is_read else "other file"] += 1
    return None


def _in_archive(path: Path, skipped: Counter[str], *, is_named: bool) -> list[Found]:
    """The members of a zip that an agent gave out as its conversations.

    What is wrong with one is said if somebody named it, and not if it merely lay there.
    """
    able = [agent for agent in registry.agents() if agent.has("conversations")]
    found = []
    try:
        with open_archive(str(path)) as archive:
            for name in archive.names(".json", skipped):
                head = Head(partial(archive.beginning, name, _GLIMPSE_BYTES))
                files = ((agent, agent.recognise(PurePosixPath(name), head)) for agent in able)
                for agent, file in files:
                    if file is not None:
                        file = replace(file, path=member_path(str(path), name), compressed=True)
                        found.append(Found(agent, file, archive.size(name)))
                        break
                else:
                    skipped["not a known log"] += 1
    except SourceError:
        if is_named:
            raise
        skipped["unreadable zip"] += 1
        return []
    return found


def _beginning(path: Path) -> bytes:
    with open_source(path) as file:
        return next(chunks(file, compressed=path.name.endswith(".zst")), b"")
