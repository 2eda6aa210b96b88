"""A rule that fails on some log costs what it would have told, and nothing else.

What it was is a warning: counted by commands, an error in tests, where a rule that fails is a defect.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from pathlib import PurePath
from typing import TypeVar

from recollect.values.errors import RecollectError
from recollect.values.reports import LeftOut

T = TypeVar("T")


def spared(what: str, work: Callable[[], T], otherwise: Callable[[], T]) -> T:
    """What rules make of entries that were read, or `otherwise`. Damage of a store is no rule's failure."""
    try:
        return work()
    except (MemoryError, RecollectError):
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        told = f"{type(error).__name__} at {PurePath(place.filename).name}:{place.lineno}"
        warnings.warn(f"{what} is left out: {told}", LeftOut, stacklevel=2)
        return otherwise()
