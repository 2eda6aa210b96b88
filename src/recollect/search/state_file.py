"""What was worked out for one state of a store, beside its indexes; without those nothing is kept."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.search.cache_folder import read_stamp, write_stamp

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.store.contract import View


class StateFile:
    """A small file of that name. `revision`: of its form and of the rules by which it is worked out."""

    def __init__(self, view: View, cache: Path, name: str, revision: int) -> None:
        info = view.info()
        self._file = cache / info.id / f"{name}.stamp"
        # A store that was put back has the generation of what it replaces, and hardly ever as many bytes.
        self._bound = {
            "format": revision, "store": info.id, "epoch": info.epoch, "generation": info.generation,
            "lines": info.lines, "bytes": info.line_bytes,
        }  # fmt: skip

    def read(self) -> dict[str, Any]:
        """What was kept; nothing where it is of another state, or not as it was written."""
        kept = read_stamp(self._file)
        return kept if {key: kept.get(key) for key in self._bound} == self._bound else {}

    def write(self, told: Mapping[str, Any]) -> None:
        with contextlib.suppress(OSError):
            if self._file.parent.is_dir():
                write_stamp(self._file, {**self._bound, **told})
