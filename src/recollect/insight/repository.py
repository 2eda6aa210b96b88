"""The git repository where a person stands, asked what only it knows: commits, and which one a line is of.

A repository is as hostile as its folder: its settings and attributes can make git run programs. What is asked
here reads objects alone, never the files beside them, so that no filter is run on these; hooks, monitors,
pagers, signatures, conversions and everything that would speak with another machine are switched off, and of
the environment nothing that begins with `GIT_` counts. A folder that git takes for somebody else's tells
nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from recollect.light.processes import program_output, program_path
from recollect.values.history import GitCommit

SECONDS = 10.0
FILES_MAX = 200
_NAMES_NO_COMMIT = re.compile(r"^-|[\x00-\x1f]|^$")
_SAFE = {
    "core.alternateRefsCommand": "",
    "core.attributesFile": os.devnull,
    "core.editor": "false",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.sshCommand": "false",
    "diff.external": "",
    "gpg.program": "false",
    "log.mailmap": "false",
    "log.showSignature": "false",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
}
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


class Repository:
    """What git says of a folder; of one that is in no repository, or without git, nothing."""

    def __init__(self, folder: str, environ: Mapping[str, str]) -> None:
        self._folder = os.path.abspath(folder)
        self._environ = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
        self._environ |= _ENVIRONMENT
        self._git = program_path("git", environ)

    def is_read(self) -> bool:
        """Whether git is there, and reads a repository in this folder."""
        return bool(self._ask("rev-parse", "--git-dir"))

    def commit(self, name: str) -> GitCommit | None:
        """A commit by whatever names it: a hash or the beginning of one, HEAD, a branch."""
        if _NAMES_NO_COMMIT.search(name):
            return None
        found = self._ask(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
        ).strip()
        if not _HASH.fullmatch(found):
            return None
        # A plumbing command: what a repository's settings say of diffs is not asked.
        told = self._ask(
            "diff-tree", "-r", "--root", "-m", "--first-parent", "--name-only", "-z", "--no-ext-diff",
            "--no-textconv", "--no-renames", "--no-show-signature", "--format=%H%n%ct%n%s", found,
        )  # fmt: skip
        head, _, files = told.partition("\0")
        lines = head.split("\n")
        if len(lines) < 3 or not lines[1].isdigit():
            return None
        named = [each for each in files.lstrip("\n").split("\0") if each]
        return GitCommit(lines[0], lines[2], int(lines[1]) * 1000, tuple(named[:FILES_MAX]))

    def commit_of_line(self, name: str, number: int, lines: Sequence[str]) -> GitCommit | None:
        """The commit that a line of a file in this folder is of; None for one that is not committed.

        `lines` are those of the file as it is now.
        """
        committed = self._ask("cat-file", "blob", f"HEAD:./{name}").split("\n")
        for now, then, count in SequenceMatcher(None, lines, committed).get_matching_blocks():
            if now < number <= now + count:
                span = f"{then + number - now},+1"
                told = self._ask(
                    "blame", "--porcelain", "--no-textconv", "-w", "-L", span, "HEAD", "--", name
                )
                return self.commit(told.partition(" ")[0])
        return None

    def _ask(self, *words: str) -> str:
        if self._git is None or not os.path.isdir(self._folder):
            return ""
        settings = [word for name, value in _SAFE.items() for word in ("-c", f"{name}={value}")]
        asked = [self._git, "--no-pager", "--no-replace-objects", *settings, "-C", self._folder, *words]
        return program_output(asked, self._environ, seconds=SECONDS)


_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
