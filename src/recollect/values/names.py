"""Names that a person gives: to a saved thread, a project, a label."""

from __future__ import annotations

from recollect.values.errors import UsageError
from recollect.values.text import cells, printable

NAME_CELLS_MAX = 100


def checked_name(name: str) -> str:
    """A name that can be typed and printed; it is never part of a path."""
    name = name.strip()
    # Its length first: of ten megabytes nothing else is worth looking at.
    if not name or len(name) > NAME_CELLS_MAX or cells(name) > NAME_CELLS_MAX or not _is_clean(name):
        raise UsageError(
            "a name is one line of printable characters", hint=f"at most {NAME_CELLS_MAX} of them"
        )
    return name


def _is_clean(name: str) -> bool:
    return name.isprintable() and printable(name) == name
