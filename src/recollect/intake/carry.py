"""What several stores worked out of their lines, brought into one: vectors, and tables that are carried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from recollect.store.contract import Array, View, Writer
from recollect.store.derived import NAME, TEXT, Column, DerivedTable, Rewrite, SessionName, rows_of
from recollect.values.erasures import NOTHING_ERASED, Erased
from recollect.values.errors import DerivedDamaged
from recollect.values.ids import line_key
from recollect.values.stored import VectorModel

_VECTORS_AT_ONCE = 1 << 15
_ROWS_AT_ONCE = 1 << 14


def carry_vectors(here: View, others: Sequence[View], writer: Writer, *, only: Array | None = None) -> int:
    """Add the vectors that a writer's store lacks, each key once, or of these keys `only`; returns how many.

    They are known by the texts they were made of. Of the revisions of a model that of the store `here`
    counts, which is searched with; else the one with most vectors. What is no number is left out.
    """
    added, views = 0, [here, *others]
    for model in _models(here, others):
        held = next((each for each in writer.view().vector_models() if each == model), None)
        seen: Array = writer.view().vectors(held)[0] if held is not None else np.zeros(0, "<u8")
        for view in views:
            rows = next((each.rows for each in view.vector_models() if each == model), 0)
            for start in range(0, rows, _VECTORS_AT_ONCE):
                keys, vectors = view.vectors(model, start, start + _VECTORS_AT_ONCE)
                wanted = np.isfinite(vectors).all(axis=1) & ~np.isin(keys, seen)
                good = np.flatnonzero(wanted if only is None else wanted & np.isin(keys, only))
                fresh = good[np.sort(np.unique(keys[good], return_index=True)[1])]
                if not len(fresh):
                    continue
                writer.add_vectors(model, keys[fresh], vectors[fresh])
                seen = np.concatenate([seen, keys[fresh]])
                added += len(fresh)
                writer.commit()
    return added


def _models(here: View, others: Sequence[View]) -> list[VectorModel]:
    """One model of each name."""
    most: dict[str, VectorModel] = {}
    for model in (each for view in others for each in view.vector_models()):
        held = most.get(model.name)
        if held is None or _worth(held) < _worth(model):
            most[model.name] = model
    return list({**most, **{model.name: model for model in here.vector_models()}}.values())


def _worth(model: VectorModel) -> tuple[int, str, int]:
    return model.rows, model.revision, model.dims


def carry_tables(views: Sequence[View], writer: Writer, erased: Erased = NOTHING_ERASED) -> None:
    """Copy the rows of each table that is to be carried, each once; of several revisions only the last.

    They are in the order of their columns, so that of two digests of a session the one made of more counts,
    whichever store it is from. What does not read is left out: it is made again. So is what a store worked
    out of a session of which it still has anything that was erased; of others it stays, since of what was
    evicted nothing can be made again.
    """
    newest: dict[str, DerivedTable] = {}
    whole = [_whole(view, erased) for view in views]
    for table in (each for view in views for each in view.derived_tables()):
        if table.rewrite == Rewrite.CARRY and table.revision >= newest.get(table.name, table).revision:
            newest[table.name] = table
    for table in newest.values():
        rows: dict[tuple[Any, ...], None] = {}
        for view, names in zip(views, whole, strict=True):
            for columns in _columns(view, table):
                told = list(zip(*(_values(column) for column in columns.values()), strict=True))
                chosen = range(len(told)) if names is None else rows_of(table, columns, names)
                rows |= dict.fromkeys(told[n] for n in chosen)
        if rows:
            sorted_rows = zip(*sorted(rows), strict=True)
            columns = dict(zip((name for name, _ in table.columns), sorted_rows, strict=True))
            kinds = dict(table.columns)
            made: dict[str, Column] = {
                name: list(values) if kinds[name] in (NAME, TEXT) else np.array(values, kinds[name])
                for name, values in columns.items()
            }
            writer.add_derived(table, made, built_to=0)
            writer.commit()


def _whole(view: View, erased: Erased) -> set[SessionName] | None:
    """The sessions of a store of which it has nothing that was erased; None for all, whatever it tells of."""
    if not erased:
        return None
    names = {(each.facts.agent, each.host, each.facts.id) for each in view.sessions()}
    touched = {name for name in names if erased.has_session(*name)}
    for source in view.sources():
        name = source.file.agent, source.host, source.session
        if erased.has_session(*name) or any(map(erased.has_line, view.line_keys(source))):
            touched.add(name)
        elif erased.has_masks and any(map(erased.is_masked, view.line_keys(source))):
            lines = (line for line in view.lines(source) if line.data.strip() and not line.key)
            if any(erased.is_masked(line_key(line.data)) for line in lines):
                touched.add(name)
    return names - touched if touched else None


def _columns(view: View, table: DerivedTable) -> list[dict[str, Column]]:
    """A view's rows of a table, some at once, as far as they read."""
    held = next((each for each in view.derived_tables() if each == table), None)
    found = []
    for start in range(0, held.rows if held is not None else 0, _ROWS_AT_ONCE):
        try:
            columns = view.derived(table, start, start + _ROWS_AT_ONCE)
        except DerivedDamaged:
            continue
        found.append({name: columns[name] for name, _ in table.columns})
    return found


def _values(column: Column) -> list[Any]:
    values: list[Any] = column.tolist() if isinstance(column, np.ndarray) else list(map(str, column))
    return values
