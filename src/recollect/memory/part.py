"""What every part of a `Memory` may ask of the whole, and the clock they share.

A `Memory` is made of parts, each a file with the verbs of one idea. What a part needs of one that it does not
build upon is named here.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

    from recollect.config import Config
    from recollect.intake.own import OwnLogs
    from recollect.search.indexes import Indexes
    from recollect.store.contract import Store, View
    from recollect.values.reports import Report
    from recollect.values.stored import Footprint, Session, StoreInfo


class Part:
    """A part of a `Memory`."""

    config: Config
    _store: Store

    if TYPE_CHECKING:

        @property
        def indexes(self) -> Indexes: ...
        def view(self) -> AbstractContextManager[View]: ...
        def info(self) -> StoreInfo: ...
        def footprint(self) -> Footprint: ...
        def checkpoint(self, *, timeout: float = 60.0) -> Report: ...
        def note_read(self, session: Session) -> None: ...
        def note_copy(
            self,
            path: str | os.PathLike[str],
            kind: str,
            sessions: Iterable[str] | None,
            *,
            masked: bool = False,
        ) -> None: ...
        def _fold_if_free(self) -> int: ...
        def _own_logs(self) -> OwnLogs: ...
        def _project_here(self, view: View, folder: str = "") -> str: ...


def now_ms() -> int:
    """The time, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000
