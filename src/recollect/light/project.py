"""Which project a working folder belongs to: its git identity, not its path.

Two clones, a worktree and a renamed folder of one repository are one project. Read from
git's own files; no git is run, and a folder that is gone falls back to its name. A hook asks
this at the start of a conversation, so there is no pathlib, no configparser and no `re` here.
"""

from __future__ import annotations

import os

from recollect.light.own_files import open_regular
from recollect.values.errors import FileRefused

# How long a folder is, and how far above it what it belongs to is looked for: a log can claim any.
FOLDER_CHARS_MAX = 4_096
LEVELS_MAX = 64

_CONFIG_BYTES_MAX = 1 << 20
_KNOWN_MAX = 4096
_known: dict[str, str] = {}


def project_of(cwd: str) -> str:
    """`host/owner/name` of the origin remote, else the repository's or folder's name."""
    if cwd not in _known:
        if len(_known) >= _KNOWN_MAX:
            _known.clear()
        _known[cwd] = _project_of(cwd) if cwd else ""
    return _known[cwd]


def is_in_git(folder: str) -> bool:
    """Whether a folder of this machine is in a repository."""
    return os.path.isabs(folder) and bool(_repository(folder))


def remote_name(url: str) -> str:
    """A git remote as host/owner/name: no scheme, no credentials, no ".git"; "" when it is no remote."""
    scheme, separator, rest = url.strip().partition("://")
    # Whatever stands before the last "@" may be a password, wherever it ends.
    address = (rest if separator else scheme).rpartition("@")[2]
    if separator:
        host, _, path = address.partition("/")
        host = host.partition(":")[0]
    else:
        host, _, path = address.partition(":")  # git@host:owner/name
    path = path.partition("?")[0].partition("#")[0].strip("/").removesuffix(".git")
    if len(host) < 2 or not path or scheme == "file" or "/" in host or "\\" in host + path:
        return ""
    if not path.rpartition("/")[2].strip("."):  # a folder, told in the place of a name
        return ""
    return f"{host.lower()}/{path}"


def repository_folder(folder: str) -> str:
    """X of `X/.worktrees/NAME` and `X/.AGENT/worktrees/NAME`, else the folder itself; with "/" everywhere.

    Agents keep worktrees inside of the repository and remove them: what is left of one is its path.
    """
    parts = folder.replace("\\", "/").rstrip("/").split("/")
    for at, part in enumerate(parts[:-1]):
        inside = at - 1 if part == "worktrees" and parts[at - 1][:1] == "." and at else at
        if (part == ".worktrees" or inside < at) and not is_home("/".join(parts[:inside])):
            return "/".join(parts[:inside])
    return "/".join(parts)


def is_home(folder: str) -> bool:
    """Whether this is no repository but where someone keeps all of theirs."""
    parts = folder.split("/")
    return (
        not any(parts) or parts == ["", "root"] or (len(parts) == 3 and parts[1].lower() in ("home", "users"))
    )


def _project_of(cwd: str) -> str:
    # Of another system's path, or part of one, nothing here can tell where it leads.
    repository = _repository(cwd) if os.path.isabs(cwd) else ""
    if not repository:
        return repository_folder(cwd).rpartition("/")[2]
    return remote_name(_origin(repository)) or _folder_name(repository)


def _repository(folder: str) -> str:
    """The git folder that holds the configuration, also for a worktree or a submodule; "" for none."""
    if len(folder) > FOLDER_CHARS_MAX:
        return ""
    for _ in range(LEVELS_MAX):
        dot_git = os.path.join(folder, ".git")
        try:
            if os.path.isdir(dot_git):
                return dot_git
            if os.path.isfile(dot_git):
                target = _read(dot_git).removeprefix("gitdir:").strip()
                git = os.path.realpath(os.path.join(folder, target))
                common = os.path.join(git, "commondir")
                if not os.path.isfile(common):
                    return git
                return os.path.realpath(os.path.join(git, _read(common).strip()))
        except (OSError, ValueError, FileRefused):  # unreadable, not a path at all
            return ""
        folder = os.path.dirname(folder)
    return ""


def _origin(repository: str) -> str:
    """The address of the remote called origin, as git's configuration has it."""
    try:
        lines = _read(os.path.join(repository, "config")).splitlines()
    except (OSError, FileRefused):
        return ""
    inside = False
    for line in map(str.strip, lines):
        if line.startswith("["):
            section, _, name = line[1:].partition("]")[0].partition('"')
            inside = section.strip().lower() == "remote" and name.rstrip('" ') == "origin"
        key, equals, value = line.partition("=")
        if inside and equals and key.strip().lower() == "url":
            return value.strip().strip('"')
    return ""


def _read(path: str) -> str:
    with open(open_regular(path), encoding="utf-8", errors="replace") as file:
        return file.read(_CONFIG_BYTES_MAX)


def _folder_name(repository: str) -> str:
    folder, name = os.path.split(repository)
    return os.path.basename(folder) if name == ".git" else name.removesuffix(".git")
