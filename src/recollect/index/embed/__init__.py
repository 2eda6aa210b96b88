"""Text to vectors. `base` says what an embedder is; `static` is the one inside the wheel."""

from __future__ import annotations
