"""A child process for tests that kill, trace or starve it: `python worker.py play STORE SOURCES [LAST]`.

Each acknowledgement goes to standard output the moment it is given, in one write.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.faults.story import QuietDisk, Story, ingest

from recollect.light.disk import Disk
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.errors import RecollectError


def tell(what: str, step: int) -> None:
    os.write(1, f"{what} {step}\n".encode())


def main(command: str, store: str, sources: str, last: str = "99") -> int:
    story = Story(Path(sources))
    disk = QuietDisk() if os.environ.get("RECOLLECT_TEST_QUIET") else Disk()
    try:
        if command == "play":
            story.play(Path(store), disk, tell, last=int(last))
        elif command == "ingest":
            with Hdf5Store.open(Path(store), create=True, disk=disk) as opened:
                ingest(opened, story.everything)
                tell("ack", -1)
    except RecollectError as error:
        print(f"{type(error).__name__}: {error} ({error.hint})", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
