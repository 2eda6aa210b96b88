"""Work that makes millions of values and no cycles."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Parsing makes millions of values and no cycles; looking for some costs a tenth of the time."""
    import gc

    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
