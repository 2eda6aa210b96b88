"""Hosts without ssh between: a program called `ssh` that is `sh` in a home of its own, with some tools."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recollect.config import Config
from recollect.memory import Memory

TOOLS = ("sh", "find", "tail", "head", "wc", "cksum", "tr", "cat", "uname", "ls", "rm", "mktemp", "pwd")
# A `find` that knows no more than POSIX says.
_PLAIN_FIND = """#!/bin/sh
for word do
    case $word in -printf | -maxdepth | -print0) echo "find: unknown: $word" >&2; exit 1 ;; esac
done
exec {find} "$@"
"""


class PlainHosts:
    """A person's memory, and other homes that `ssh NAME` leads to."""

    def __init__(self, folder: Path, *names: str) -> None:
        self.folder, self.names = folder, names
        self._bin = folder / "bin"
        self._bin.mkdir()
        for name in names:
            self.home(name).mkdir(parents=True)
        self.uses(os.environ["PATH"])

    def home(self, name: str) -> Path:
        return self.folder / "homes" / name

    def uses(self, path: str, shell: str = "sh") -> None:
        """Have all hosts use these programs, and this shell."""
        ssh = self._bin / "ssh"
        ssh.write_text(
            "#!/bin/sh\n"
            'while [ "$1" != -- ]; do shift; done\n'
            f"HOME='{self.folder}/homes/'$2 PATH='{path}'\nexport HOME PATH\n"
            f"exec {shell} -s\n"
        )
        ssh.chmod(0o755)

    def memory(self, store: str = "memory.h5", **more: Any) -> Memory:
        fleet = {**{name: {} for name in self.names}, **more}
        config = Config(self.folder / store, "laptop", cache=self.folder / "cache", fleet=fleet)
        return Memory.open(config=config)

    @property
    def environ(self) -> dict[str, str]:
        return {"PATH": f"{self._bin}:{os.environ['PATH']}"}


def plain_tools(folder: Path, *more: str, find: bool = True) -> str:
    """A PATH with the tools that POSIX has and `more`, and with a `find` that has no options of its own."""
    folder.mkdir(parents=True)
    for name in (*TOOLS, *more):
        found = shutil.which(name)
        if found is not None and not (name == "find" and find):
            (folder / name).symlink_to(found)
    if find:
        (folder / "find").write_text(_PLAIN_FIND.format(find=shutil.which("find")))
        (folder / "find").chmod(0o755)
    return str(folder)


def busybox_tools(folder: Path, *without: str) -> str:
    """A PATH with busybox's tools alone."""
    folder.mkdir(parents=True)
    busybox: Sequence[str] = (*TOOLS, "stat", "gzip")
    for name in busybox:
        if name not in without:
            # Debian's has no cksum; others have.
            (folder / name).symlink_to(shutil.which("cksum" if name == "cksum" else "busybox") or name)
    return str(folder)
