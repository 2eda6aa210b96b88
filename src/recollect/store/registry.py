"""Opening a store by its URL: a plain path is an HDF5 file, `memory:NAME` lives in this process.

An engine is found by the URL's scheme and imported when a store of it is first opened. A package
brings another one with an entry point of the group `recollect.stores`: the scheme, and the
`Engine` it stands for. Importing this module costs next to nothing.
"""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.values.errors import UsageError

if TYPE_CHECKING:
    from recollect.store.contract import Engine, Store

ENTRY_POINTS = "recollect.stores"
BUILT_IN = {"file": "recollect.store.hdf5.engine:ENGINE", "memory": "recollect.testing.reference:ENGINE"}

Location = Path | str  # a file, or the URL of a store elsewhere

# A single letter is a drive of Windows.
_URL = re.compile(r"([a-z][a-z0-9+.-]+):(.*)", re.DOTALL)


def location(name: str | os.PathLike[str]) -> Location:
    """What a person's word for a store means: a path or `file:` is a file, anything else a URL."""
    word = os.fspath(name)
    found = None if isinstance(name, os.PathLike) else _URL.fullmatch(word)
    if found is not None and found[1] != "file" and not _is_old_file(found[1], word):
        return word
    found = found if found is not None and found[1] == "file" else None
    try:
        return Path(word if found is None else _file_path(found[2])).expanduser()
    except (RuntimeError, ValueError) as error:  # a home that nobody has, a NUL in its name
        raise UsageError(f"{word}: {error}", hint="write out the whole path") from error


def open_store(at: Location, *, create: bool = False) -> Store:
    """The store there; a missing one is made with `create`."""
    return _engine(at).open(str(at), create=create)


def has_store(at: Location) -> bool:
    """Whether there is a store, or something that was appended before there was one."""
    return _engine(at).exists(str(at))


def _is_old_file(scheme: str, word: str) -> bool:
    """Whether it is a file that was named before names with a colon were URLs."""
    return scheme not in BUILT_IN and "\0" not in word and os.path.isfile(word)


def _file_path(rest: str) -> str:
    from urllib.parse import unquote

    if not rest.startswith("//"):
        return unquote(rest)
    host, slash, path = rest[2:].partition("/")
    if host not in ("", "localhost"):
        raise UsageError(f"file://{host}: files of another machine are not opened", hint="name a path")
    return unquote(slash + path)


def _engine(at: Location) -> Engine:
    scheme = "file" if isinstance(at, Path) else at.partition(":")[0]
    if scheme not in BUILT_IN:
        return _joined(scheme)
    module, _, name = BUILT_IN[scheme].partition(":")
    engine: Engine = getattr(importlib.import_module(module), name)
    return engine


def _joined(scheme: str) -> Engine:
    """The engine that an installed package brings."""
    from importlib.metadata import entry_points

    brought = {each.name: each for each in entry_points(group=ENTRY_POINTS)}
    if scheme not in brought:
        known = ", ".join(f"{name}:" for name in sorted({*BUILT_IN, *brought}))
        raise UsageError(
            f"nothing here opens stores of the kind {scheme}: (there is {known})",
            hint=f"install the package that brings it; a file of that name is written ./{scheme}:...",
        )
    try:
        engine: Engine = brought[scheme].load()
    except Exception as error:  # whatever a stranger's module does at its import
        raise UsageError(
            f"{brought[scheme].value}, which opens {scheme}: stores, does not load: {error}",
            hint="mend or upgrade the package that brings it",
        ) from error
    return engine
