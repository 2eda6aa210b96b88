"""A child for tests that kill, trace or starve it: `python worker.py play STORE SOURCES [LAST [STORY]]`.

Each acknowledgement goes to standard output the moment it is given, in one write. With
RECOLLECT_TEST_DIE_AT the process kills itself at the storage call of that number, from 0.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from tests.faults.failures import FailingDisk
from tests.faults.stories import STORIES
from tests.faults.story import QuietDisk, ingest

from recollect.light.disk import Disk
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.errors import RecollectError


class DyingDisk(FailingDisk):
    """Ends the process at one call."""

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if len(self.calls) > self.fails:
            os.kill(os.getpid(), signal.SIGKILL)


def tell(what: str, step: int) -> None:
    os.write(1, f"{what} {step}\n".encode())


def disk_of(environ: Any) -> Disk:
    if "RECOLLECT_TEST_DIE_AT" in environ:
        return DyingDisk(int(environ["RECOLLECT_TEST_DIE_AT"]))
    return QuietDisk() if environ.get("RECOLLECT_TEST_QUIET") else Disk()


def main(command: str, store: str, sources: str, last: str = "99", story: str = "life") -> int:
    told = STORIES[story](Path(sources))
    disk = disk_of(os.environ)
    try:
        if command == "play":
            told.play(Path(store), disk, tell, last=int(last))
        elif command == "ingest":
            with Hdf5Store.open(Path(store), create=True, disk=disk) as opened:
                ingest(opened, told.everything)
                tell("ack", -1)
    except RecollectError as error:
        print(f"{type(error).__name__}: {error} ({error.hint})", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
