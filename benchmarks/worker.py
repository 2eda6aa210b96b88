"""The measurements that must happen inside one process: run as a child, answers in JSON on stdout.

python -m benchmarks.worker append FOLDER RECORDS_FILE COUNT
python -m benchmarks.worker tail STORE SESSION ENTRIES COUNT
python -m benchmarks.worker usage STORE COUNT
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

from benchmarks import peers, product
from benchmarks.measure import spread

WARM_UP = 600  # By then SQLite has folded its WAL once and writes over old pages, as it does ever after.
ROUND = 25


def append(folder: Path, records_file: Path, count: int) -> dict[str, object]:
    """Durable appends of the same records, ours and SQLite's turn by turn: kept open, then as a hook does."""
    records = cycle(records_file.read_bytes().splitlines())
    with product.our_append(folder / "open.h5") as ours, peers.sqlite_append(folder / "open.db") as theirs:
        opened = _alternate(records, count, ours, theirs)
    with peers.sqlite_append(folder / "hook.db"):
        pass  # A hook finds its table there.
    hooks = _alternate(
        records,
        max(count // 5, ROUND),
        lambda payload: product.our_append_once(folder / "hook.h5", payload),
        lambda payload: peers.sqlite_append_once(folder / "hook.db", payload),
    )
    return {"kept_open": _named(opened), "as_a_hook": _named(hooks)}


def tail(store: Path, session: str, entries: int, count: int) -> dict[str, object]:
    """The newest entries of one session, asked again and again of one open store."""
    start = time.perf_counter()
    with product.memory(store) as opened:
        got = len(product.tail(opened, session, entries))
        first = time.perf_counter() - start
        warm = [_timed(product.tail, opened, session, entries) for _ in range(count)]
    return {"entries": got, "open_and_first_ms": first * 1e3, "warm": spread(warm)}


def usage(store: Path, count: int) -> dict[str, object]:
    """Token totals over everything."""
    start = time.perf_counter()
    with product.memory(store) as opened:
        product.usage(opened)
        first = time.perf_counter() - start
        warm = [_timed(product.usage, opened) for _ in range(count)]
    return {"open_and_first_ms": first * 1e3, "warm": spread(warm)}


def main(argv: list[str]) -> None:
    match argv:
        case ["append", folder, records_file, count]:
            answer = append(Path(folder), Path(records_file), int(count))
        case ["tail", store, session, entries, count]:
            answer = tail(Path(store), session, int(entries), int(count))
        case ["usage", store, count]:
            answer = usage(Path(store), int(count))
        case _:
            raise SystemExit(__doc__)
    json.dump(answer, sys.stdout)


def _alternate(
    records: Iterator[bytes], count: int, *subjects: Callable[[bytes], None]
) -> tuple[list[float], ...]:
    """`count` timed calls of each subject in small rounds, the same record for each of them."""
    taken: tuple[list[float], ...] = tuple([] for _ in subjects)
    order = list(range(len(subjects)))
    for done in range(0, count + WARM_UP, ROUND):
        batch = [next(records) for _ in range(ROUND)]
        for index in order:
            seconds = [_timed(subjects[index], record) for record in batch]
            if done >= WARM_UP:
                taken[index].extend(seconds)
        order.reverse()
    return taken


def _timed(call: Callable[..., object], *arguments: object) -> float:
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


def _named(taken: tuple[list[float], ...]) -> dict[str, dict[str, float]]:
    ours, theirs = taken
    return {"ours": spread(ours), "sqlite": spread(theirs)}


if __name__ == "__main__":
    main(sys.argv[1:])
