"""What stands in agents' settings of ours, and what is to be changed there: shown first, then made."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from recollect.values.errors import UsageError


class FileChange(Protocol):
    """A change to one file, not made yet; `after` is None where the file is to go."""

    @property
    def path(self) -> Path: ...

    @property
    def after(self) -> bytes | None: ...

    def diff(self) -> str:
        """The change as people read it, safe to print."""

    def apply(self) -> Path | None:
        """Make it, whole or not at all; gives where the original is kept, if one is."""


@dataclass(frozen=True, slots=True)
class Commands:
    """The words that run our hook for one agent and our MCP server; no hook where the store takes none.

    `variables` are those of the environment that say where our files and the agents' are.
    """

    hook: tuple[str, ...]
    mcp: tuple[str, ...]
    variables: tuple[str, ...] = ()

    @property
    def hook_line(self) -> str:
        """The hook as the line of a settings file."""
        if not self.hook:
            raise UsageError("hooks append to a store in a file", hint="name one with --store")
        return shlex.join(self.hook)


@dataclass(frozen=True, slots=True)
class Plugin:
    """A folder that an agent installs by commands of its own, and those; files by where they are in it."""

    folder: Path
    files: Mapping[str, bytes]
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Installed:
    """Our entry in one settings file. `events`: which hooks run it; none for an MCP server."""

    path: Path
    command: str
    events: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentState:
    """What of ours an agent's settings hold now, and what is wrong with it, in sentences."""

    hooks: tuple[Installed, ...] = ()
    mcp: tuple[Installed, ...] = ()
    problems: tuple[str, ...] = ()


class Settings(Protocol):
    """One agent's settings on this machine: where they are and what we put there.

    `changes` and `removal` read the files as they are now and write nothing. A file that
    needs no change gives none, so an empty list means: nothing to do.
    """

    @property
    def name(self) -> str:
        """The agent's name, as in commands."""

    @property
    def title(self) -> str:
        """What it calls itself."""

    def found(self) -> bool:
        """Whether the agent is, or was, used on this machine."""

    def version(self) -> str:
        """What its program says, or ""."""

    def changes(self, *, hooks: bool, mcp: bool, project: bool) -> Sequence[FileChange]:
        """What must be written so that it captures and can ask; `project`: only in this folder."""

    def removal(self, *, project: bool, mcp: bool = True) -> Sequence[FileChange]:
        """What takes out all that `changes` put in; without `mcp` only the hooks."""

    def state(self) -> AgentState: ...
