"""Every call into Recollect, one small function each, so that a changed command is changed here alone.

Commands run as a person runs them: a fresh `python -m recollect` with the home and cache folders in the
scratch folder. The functions at the end run inside `benchmarks.worker`, never in the measuring process.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import Ran, run

REPOSITORY = Path(__file__).resolve().parent.parent


def ingest(store: Path, *paths: Path, weigh: bool = False) -> tuple[Ran, dict[str, Any]]:
    """One sweep over the paths; the finished process and its `--json` summary."""
    ran = command(store, "ingest", *map(str, paths), "--json", weigh=weigh)
    return ran, json.loads(ran.stdout)


def command(store: Path, *words: str, weigh: bool = False) -> Ran:
    """`recollect --store STORE WORDS...` in a fresh process, or an error that shows what it said."""
    store.parent.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-m", "recollect", "--store", str(store), *words]
    return run(argv, env=environment(store.parent.parent), weigh=weigh).checked()


def tail_command(store: Path, session: str, count: int) -> Ran:
    return command(store, "tail", session, "-n", str(count), "--json")


def checkpoint(store: Path) -> None:
    """Fold the journal into the store. Bulk ingest commits as it goes and leaves none behind."""
    left = store.with_name(store.name + "-wal")
    assert not left.exists(), f"{left} is still there after an ingest"


def export_raw(store: Path, session: str, target: Path) -> bytes:
    """The source file of a session as the store gives it back."""
    command(store, "export", session, "--to", "raw", "-o", str(target), "--force")
    return target.read_bytes()


def source_bytes(summary: dict[str, Any]) -> int | None:
    """Bytes of all sources the sweep looked at, None when the summary does not say."""
    return _number(summary, "bytes_source")


def parsed_bytes(summary: dict[str, Any]) -> int | None:
    """Bytes the sweep had to parse."""
    return _number(summary, "bytes_parsed")


def source_count(summary: dict[str, Any]) -> int | None:
    """Sources the sweep looked at."""
    return _number(summary, "sources")


def entry_count(store: Path) -> int:
    """Entries in the whole store."""
    count = _number(json.loads(command(store, "status", "--json").stdout), "entries")
    if count is None:
        raise RuntimeError("`status --json` names no number of entries: adapt product.entry_count")
    return count


def environment(home: Path) -> dict[str, str]:
    """The caller's environment with every folder of the person moved into the scratch folder."""
    # Without byte code on disk every import costs twice, which no installed product would pay.
    dropped = ("RECOLLECT_", "CLAUDE_", "CODEX_", "XDG_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    folders = {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_STATE_HOME": str(home / "state"),
    }
    python_path = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
    return kept | folders | {"PYTHONPATH": python_path}


@contextlib.contextmanager
def our_append(path: Path) -> Iterator[Callable[[bytes], None]]:
    """The store's journal, opened once: each call returns when the payload is durable."""
    from recollect.store.journal import Journal

    with Journal(path) as journal:
        yield lambda payload: _discard(journal.append(payload))


def our_append_once(path: Path, payload: bytes) -> None:
    """As a hook does it: open, append, close."""
    from recollect.store.journal import Journal

    with Journal(path) as journal:
        journal.append(payload)


@contextlib.contextmanager
def memory(store: Path) -> Iterator[Any]:
    """The facade on an existing store."""
    recollect: Any = importlib.import_module("recollect")
    opened = recollect.Memory.open(store)
    try:
        yield opened
    finally:
        opened.close()


def tail(opened: Any, session: str, count: int) -> Sequence[Any]:
    return list(opened.tail(session, count))


def usage(opened: Any) -> object:
    return opened.usage()


def _number(summary: dict[str, Any], *names: str) -> int | None:
    """The first of these fields, at the top or one level down."""
    for level in (summary, *(value for value in summary.values() if isinstance(value, dict))):
        for name in names:
            if isinstance(level.get(name), int):
                return int(level[name])
    return None


def _discard(_: object) -> None:
    return None
