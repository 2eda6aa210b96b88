"""What is kept of each host between two visits, in a folder of its own below the cache.

How it stood, which of its files are no logs, and how its databases looked when they were last taken: all of
it saves asking again, and none of it is the truth. How far a log was taken the store alone knows.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from recollect.intake.fleet.answers import Stat
from recollect.light.disk import replace_file
from recollect.light.own_files import make_own_folder, open_own
from recollect.values.errors import FileRefused
from recollect.values.fleet import HostDoomed, HostState
from recollect.values.text import one_line

_STATE_BYTES_MAX = 64 << 20
_FAILED_MAX = 20

Mark = list[int]


@dataclass(slots=True)
class Kept:
    """What is kept of one host. `strangers` and `databases` are files by path, with how they looked.

    `erased` are logs all of which was erased here, by a keyed hash of their paths: how they looked, and the
    checksum of what was had of them. `reader` are the agents, with their versions, that said so.
    """

    state: HostState
    reader: str = ""
    packed: bool = False  # ssh itself has to pack: there is no gzip
    strangers: dict[str, Mark] = field(default_factory=dict)
    databases: dict[str, list[Mark]] = field(default_factory=dict)
    told: dict[str, Mark] = field(default_factory=dict)
    erased: dict[str, Mark] = field(default_factory=dict)


class HostFolder:
    """The folder of one host: what is kept, and copies of the files that tell of others.

    While it is visited also a spool, and names of its files.
    """

    def __init__(self, below: Path, name: str) -> None:
        # Not by its own name: that may differ from another one by its capitals alone.
        self.path = below / hashlib.blake2b(name.encode(), digest_size=8).hexdigest()
        self.name = name
        self.spool = self.path / "spool"
        self.names = self.path / "names"
        self.beside = self.path / "told"

    def read(self) -> Kept:
        """What is kept; of a host that was never visited, or whose file does not read, nothing."""
        try:
            with os.fdopen(open_own(self.path / "state.json"), "rb") as file:
                return _kept(json.loads(file.read(_STATE_BYTES_MAX)), self.name)
        except (OSError, ValueError, TypeError, KeyError, RecursionError, FileRefused):
            return Kept(HostState(self.name))

    def write(self, kept: Kept) -> None:
        make_own_folder(self.path)
        replace_file(self.path / "state.json", json.dumps(asdict(kept)).encode("ascii"))

    def begin(self) -> None:
        """Make what a visit needs; what a killed one left in the spool goes."""
        self.empty()
        for folder in (self.spool, self.names, self.beside):
            make_own_folder(folder)

    def empty_spool(self) -> None:
        """Make room for the next round."""
        shutil.rmtree(self.spool, ignore_errors=True)
        make_own_folder(self.spool)

    def empty(self) -> None:
        """Leave nothing of a visit but what is kept."""
        for folder in (self.spool, self.names):
            shutil.rmtree(folder, ignore_errors=True)

    def forget(self) -> None:
        """Keep nothing of it any more."""
        shutil.rmtree(self.path, ignore_errors=True)

    def put_beside(self, path: str, data: Path | None) -> None:
        """Have a file that tells of others lie here under its own path, or no longer."""
        target = Path(str(self.beside) + path)
        if data is None:
            with contextlib.suppress(OSError):
                target.unlink()
            return
        make_own_folder(target.parent)
        os.replace(data, target)


def mark_of(stat: Stat | None) -> Mark:
    return [] if stat is None else [stat.size, stat.mtime_ns, stat.ctime_ns, stat.inode]


def shortened(failed: dict[str, str]) -> dict[str, str]:
    """What could not be had, as much of it as a person reads."""
    return {one_line(path, 300): one_line(why, 300) for path, why in list(failed.items())[:_FAILED_MAX]}


def _kept(told: dict[str, Any], name: str) -> Kept:
    known = {each.name for each in fields(HostState)}
    state = {key: value for key, value in told["state"].items() if key in known}
    doomed = state.pop("doomed", None)
    state["name"] = name
    return Kept(
        HostState(**state, doomed=HostDoomed(**doomed) if doomed else None),
        str(told["reader"]),
        bool(told["packed"]),
        dict(told["strangers"]),
        dict(told["databases"]),
        dict(told["told"]),
        dict(told.get("erased", {})),
    )
