"""What an embedder promises: the same text gives the same unit vector, today and next year.

Vectors of two embedders never mix: `name`, `revision` and `dims` stand beside every vector that
is kept, and another revision means embedding again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

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
