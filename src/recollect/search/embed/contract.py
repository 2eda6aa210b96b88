"""What an embedder promises: the same text gives the same unit vector, today and next year.

Vectors of two embedders never mix: `name`, `revision` and `dims` stand beside every vector that
is kept, and another revision means embedding again.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.values.errors import UsageError

Vectors = NDArray[np.float32]  # (n, dims) for texts, (dims,) for a query; unit rows, or zeros for no words
Idf = Callable[[str], float]  # a lower-case word to how rare it is in the store; 0 or less drops the word


class Embedder(Protocol):
    """Turns texts into unit vectors. Empty text becomes zeros, and no text is an error."""

    @property
    def name(self) -> str: ...

    @property
    def revision(self) -> str: ...

    @property
    def dims(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row per text. A row does not depend on the other texts."""
        ...

    def encode_query(self, text: str, idf: Idf | None = None) -> Vectors:
        """The vector to search with. An embedder that cannot weigh words ignores `idf`."""
        ...


def unit_rows(vectors: NDArray[Any]) -> Vectors:
    """The rows scaled to length one; a row of zeros, or with a number that is none, becomes zeros."""
    rows = np.array(vectors, dtype=np.float32)
    rows[~np.isfinite(rows).all(axis=1)] = 0
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))[:, None]
    np.divide(rows, lengths, out=rows, where=lengths > 0, casting="same_kind")
    return rows


def library(module: str, extra: str) -> Any:
    """A module that only some embedders need, imported on first use."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(f"{module} is not installed", hint=f"pip install 'recollect[{extra}]'") from error
