"""Which project a working folder belongs to: its git identity, not its path.

Two clones, a worktree and a renamed folder of one repository are one project. Read from
git's own files; no git is run, and a folder that is gone falls back to its name.
"""

from __future__ import annotations

import configparser
from functools import lru_cache
from pathlib import Path, PurePosixPath, PureWindowsPath

from recollect.adapters.fields import project_of as remote_name


@lru_cache(maxsize=4096)
def project_of(cwd: str) -> str:
    """`host/owner/name` of the origin remote, else the repository's or folder's name."""
    if not cwd:
        return ""
    # Of another system's path, or part of one, nothing here can tell where it leads.
    repository = _repository(Path(cwd)) if Path(cwd).is_absolute() else None
    if repository is None:
        return PureWindowsPath(cwd).name if "\\" in cwd else PurePosixPath(cwd).name
    return remote_name(_origin(repository)) or _folder_name(repository)


def _repository(folder: Path) -> Path | None:
    """The git folder that holds the configuration, also for a worktree or a submodule."""
    for each in (folder, *folder.parents):
        dot_git = each / ".git"
        try:
            if dot_git.is_dir():
                return dot_git
            if dot_git.is_file():
                target = dot_git.read_text("utf-8", "replace").removeprefix("gitdir:").strip()
                git = (each / target).resolve()
                common = git / "commondir"
                return (git / common.read_text().strip()).resolve() if common.is_file() else git
        except (OSError, ValueError, RuntimeError):  # unreadable, not a path at all, a loop of links
            return None
    return None


def _origin(repository: Path) -> str:
    config = configparser.ConfigParser(strict=False, interpolation=None, allow_no_value=True)
    try:
        config.read_string((repository / "config").read_text("utf-8", "replace"))
        return config.get('remote "origin"', "url", fallback="") or ""
    except (OSError, configparser.Error):
        return ""


def _folder_name(repository: Path) -> str:
    return repository.parent.name if repository.name == ".git" else repository.name.removesuffix(".git")
