"""A view of sessions alone, for what asks a view for nothing else."""

from __future__ import annotations

from typing import Any, cast

from recollect.search.projects import NamedView
from recollect.store.contract import SessionClues
from recollect.store.derived import Column, DerivedTable, no_rows
from recollect.store.walks import clues_of
from recollect.values.stored import Session


class _Sessions:
    def __init__(self, known: dict[int, Session]) -> None:
        self._known = known

    def sessions(self) -> list[Session]:
        return list(self._known.values())

    def session_rows(self) -> dict[int, Session]:
        return self._known

    def session_clues(self) -> SessionClues:
        return clues_of(self._known.items())

    def derived(self, table: DerivedTable) -> dict[str, Column]:
        return no_rows(table)


def named_sessions(known: dict[int, Session]) -> NamedView:
    return NamedView(cast("Any", _Sessions(known)))
