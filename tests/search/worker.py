"""A child process that indexes or searches a store: `python worker.py index|search FOLDER [N]`.

What it has done goes to standard output the moment it is done, a line each.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from tests.support.memories import memory_at

import recollect.search.text.documents
import recollect.search.text.index


def index(folder: Path, die_after: int) -> None:
    """Index in small steps; die at the given one, wherever in it."""
    recollect.search.text.documents.BATCH_ROWS = 20
    recollect.search.text.index.FIRST_COMMIT_SECONDS = 0
    steps = 0

    def progress(name: str, done: int, total: int) -> None:
        nonlocal steps
        steps += 1
        tell(f"{name} {done} of {total}")
        if steps == die_after:
            os.kill(os.getpid(), signal.SIGKILL)

    with memory_at(folder) as memory:
        memory.index(progress=progress)
    tell("done")


def search(folder: Path, enough: int) -> None:
    """Search until so many hits were seen; what was found once is found ever after."""
    seen: set[str] = set()
    with memory_at(folder) as memory:
        tell("ready")
        while len(seen) < enough:
            results = memory.search("lamp", limit=10_000, collapse=False, seconds=0.0)
            found = {hit.id for hit in results.hits}
            assert all("lamp" in hit.stored.entry.text for hit in results.hits)
            assert found >= seen, len(seen - found)
            seen = found
    tell("done")


def tell(what: str) -> None:
    os.write(1, f"{what}\n".encode())


if __name__ == "__main__":
    {"index": index, "search": search}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
