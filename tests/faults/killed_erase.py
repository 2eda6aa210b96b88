"""An erase, killed before it changes the file system for the nth time: FOLDER SESSION N; N is 0 for never.

For a session --secrets erases these, and the path of another store merges that, with what was erased there.

Prints how many changes there were.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.support.canaries import ours

from recollect.memory import Memory
from recollect.values.erasures import Wanted

_SECRETS = "--secrets"
_CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.link")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def main() -> None:
    folder, session, last = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    changes = 0

    def count(event: str, given: tuple[object, ...]) -> None:
        nonlocal changes
        if event in _CHANGES or (event == "open" and isinstance(given[2], int) and given[2] & _WRITES):
            changes += 1
            if changes == last:
                os._exit(9)

    with Memory.open(config=ours(folder)) as memory:
        sys.addaudithook(count)
        if session.endswith(".h5"):
            memory.merge([session], own=True)
        else:
            memory.erase(Wanted(secrets=True) if session == _SECRETS else Wanted(session=session))
    print(changes)


if __name__ == "__main__":
    main()
