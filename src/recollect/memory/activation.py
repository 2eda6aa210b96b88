"""What was recalled often weighs more, and fades: an option of search, off unless it is asked for.

Weights lie in the cache folder of a store, by the ids of entries: without them nothing is lost but the habit.
The score of a hit is multiplied by the root of its weight; each time it is shown, it gains; each tick of
whoever asks (a session, a day), all fade towards nothing special.
"""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from recollect.light.own_files import open_own
from recollect.search.cache_folder import store_folder
from recollect.values.errors import FileRefused

if TYPE_CHECKING:
    from recollect.values.hits import Hit

BOOST: Final = 0.15  # for being shown
FADE: Final = 0.98  # of what is above 1, with each tick
WEIGHT_MAX: Final = 4.0
_NAME: Final = "activation.db"
_WAIT_SECONDS: Final = 0.2  # for another process; a habit is worth no more


class Activation:
    """The weights of one store's entries."""

    def __init__(self, cache: Path, store_id: str) -> None:
        self._path = store_folder(cache, store_id) / _NAME

    def ordered(self, hits: Sequence[Hit]) -> list[Hit]:
        """Hits by their scores and weights, the best first."""
        known = self.weights([hit.id for hit in hits])
        weighed = [
            replace(hit, score=hit.score * math.sqrt(weight), parts={**hit.parts, "activation": weight})
            for hit in hits
            for weight in (known.get(hit.id, 1.0),)
        ]
        return sorted(weighed, key=lambda hit: -hit.score)

    def weights(self, ids: Sequence[str]) -> dict[str, float]:
        """Those of some entries that are not as every other."""
        with self._opened() as database:
            marks = ",".join("?" * len(ids))
            found = database.execute(f"SELECT id, weight FROM weights WHERE id IN ({marks})", list(ids))
            return {str(id_): float(weight) for id_, weight in found}

    def reinforce(self, ids: Sequence[str]) -> None:
        """Let entries weigh more that were just shown."""
        with self._opened() as database:
            database.executemany(
                "INSERT INTO weights VALUES (?, 1 + ?) "
                "ON CONFLICT (id) DO UPDATE SET weight = min(weight + ?, ?)",
                [(id_, BOOST, BOOST, WEIGHT_MAX) for id_ in ids],
            )

    def tick(self) -> None:
        """Let all weights fade, and forget those that are next to nothing."""
        with self._opened() as database:
            database.execute("UPDATE weights SET weight = 1 + (weight - 1) * ?", (FADE,))
            database.execute("DELETE FROM weights WHERE weight < 1.001")

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """The database, or an empty one where it cannot be read: nobody waits or fails for a habit."""
        with contextlib.closing(self._connected()) as database, database:
            yield database

    def _connected(self) -> sqlite3.Connection:
        try:
            os.close(open_own(self._path, os.O_RDWR | os.O_CREAT))
            database = sqlite3.connect(self._path, timeout=_WAIT_SECONDS)
            database.execute(_TABLE)
        except (OSError, sqlite3.Error, FileRefused):
            database = sqlite3.connect(":memory:")
            database.execute(_TABLE)
        return database


_TABLE = "CREATE TABLE IF NOT EXISTS weights (id TEXT PRIMARY KEY, weight REAL) WITHOUT ROWID"
