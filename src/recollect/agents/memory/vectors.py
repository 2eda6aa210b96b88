"""The caller's own vectors, as they are kept with a note: float32, little-endian, whole and finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from recollect.values.errors import UsageError
from recollect.values.notes import DIMS_MAX, Vector

NUMBER = np.dtype("<f4")


def float32_bytes(vector: Vector) -> bytes:
    """A vector as it is kept; UsageError where it is none."""
    made: np.ndarray[Any, Any]
    try:
        # One that is float32 already, as most are, need not be looked at twice.
        is_small = isinstance(vector, np.ndarray) and vector.dtype == NUMBER
        made = np.asarray(vector, NUMBER if is_small else np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"a vector is a list of numbers: {error}") from error
    if made.ndim != 1 or not 0 < len(made) <= DIMS_MAX:
        raise UsageError(f"a vector has one dimension and 1 to {DIMS_MAX:,} numbers, not shape {made.shape}")
    small = made if is_small else _narrowed(made)
    if not np.isfinite(small).all():
        raise UsageError("a vector holds NaN, or a number that float32 has not")
    return small.tobytes()


def _narrowed(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    with np.errstate(over="ignore"):
        return numbers.astype(NUMBER)
