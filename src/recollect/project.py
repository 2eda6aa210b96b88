"""Which project a working folder belongs to: its git identity, not its path.

Two clones, a worktree and a renamed folder of one repository are one project. Read from
git's own files; no git is run, and a folder that is gone falls back to its name. A hook asks
this at the start of a conversation, so there is no pathlib and no configparser here.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache

from recollect.places import remote_name

_CONFIG_BYTES_MAX = 1 << 20
_SECTION = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_URL = re.compile(r"\s*url\s*=\s*(.*)", re.IGNORECASE)


@lru_cache(maxsize=4096)
def project_of(cwd: str) -> str:
    """`host/owner/name` of the origin remote, else the repository's or folder's name."""
    if not cwd:
        return ""
    # Of another system's path, or part of one, nothing here can tell where it leads.
    repository = _repository(cwd) if os.path.isabs(cwd) else ""
    if not repository:
        return re.split(r"[/\\]" if "\\" in cwd else "/", cwd.rstrip("/\\"))[-1]
    return remote_name(_origin(repository)) or _folder_name(repository)


def _repository(folder: str) -> str:
    """The git folder that holds the configuration, also for a worktree or a submodule; "" for none."""
    while True:
        dot_git = os.path.join(folder, ".git")
        try:
            if os.path.isdir(dot_git):
                return dot_git
            if os.path.isfile(dot_git):
                target = _read(dot_git).removeprefix("gitdir:").strip()
                git = os.path.realpath(os.path.join(folder, target))
                common = os.path.join(git, "commondir")
                return os.path.realpath(os.path.join(git, _read(common).strip())) if os.path.isfile(common) else git
        except (OSError, ValueError):  # unreadable, not a path at all
            return ""
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above


def _origin(repository: str) -> str:
    """The address of the remote called origin, as git's configuration has it."""
    try:
        lines = _read(os.path.join(repository, "config")).splitlines()
    except OSError:
        return ""
    inside, url = False, ""
    for line in lines:
        section = _SECTION.match(line)
        if section:
            inside = section[1].lower() == "remote" and section[2] == "origin"
        elif inside and not url and (found := _URL.match(line)):
            url = found[1].strip().strip('"')
    return url


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(_CONFIG_BYTES_MAX)


def _folder_name(repository: str) -> str:
    folder, name = os.path.split(repository)
    return os.path.basename(folder) if name == ".git" else name.removesuffix(".git")
