"""What is told of a conversation or of several, a line a statement: what it is, its words, its entry's id."""

from __future__ import annotations

from collections.abc import Iterable

from recollect.cli.screen import Screen, Styled
from recollect.values.text import cells, ellipsis, one_line

_WIDTH = 80
_ID = 15  # the twelve digits of a line and the number of an entry in it, up to 99


def print_statements(statements: Iterable[tuple[str, str, str]], screen: Screen, *, label: int) -> None:
    """Print them in 80 columns, ids below each other; what several are is said once."""
    room = _WIDTH - label - _ID - 4
    before = ""
    for what, text, entry in statements:
        name = what if what != before else ""
        shown = ellipsis(one_line(text, room * 4), room)
        gap = " " * (max(room - cells(shown), 0) + 2) if entry else ""
        screen.line(Styled(f"{name:<{label}}  ", "dim"), shown, gap, Styled(entry, "cyan"))
        before = what
