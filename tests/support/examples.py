"""How many examples a property test tries: few in `make test`, all of them in `make test-full`.

A test says how many it wants in full; the profile that is loaded (`--hypothesis-profile=full`, without
it quick) says which share of them is tried.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings

PROFILES = {"quick": 20, "full": 100}  # by name: examples of a test that does not say how many it wants
_AT_LEAST = 5


def examples(full: int, **options: Any) -> settings:
    """Settings for so many examples in full, and for their share in the profile that is loaded."""
    share = settings.default.max_examples / PROFILES["full"]
    return settings(max_examples=max(round(full * share), min(full, _AT_LEAST)), **options)
