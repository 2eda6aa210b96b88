"""What is derived from entries, in the order in which it is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from recollect.insight.digest.kept import digest_a_step
from recollect.insight.entities import table as entities
from recollect.search.digest_rows import DIGESTS
from recollect.store.contract import Writer
from recollect.store.derived import DerivedTable

Step = Callable[[Writer], bool]

# What each is called, the tables that grow together, and what brings them a step further.
STEPS: tuple[tuple[str, Sequence[DerivedTable], Step], ...] = (
    ("entities", entities.TABLES, entities.catch_up_a_step),
    ("digests", (DIGESTS,), digest_a_step),
)
