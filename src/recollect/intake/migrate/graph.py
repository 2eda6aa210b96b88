"""Entities and relations of other memories, as notes that say them in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from recollect.intake.migrate.contract import Look, Rule
from recollect.intake.migrate.tables import Tables

GRAPH: Final = "graph"  # the session they are in
ENTITY: Final = "entity"
RELATION: Final = "relation"
RELATED: Final = "related"  # the names of both ends of a relation, and its own between them


def entity_rule(table: str, kind: str, metadata: str = "", time: tuple[str, ...] = ()) -> Rule:
    """What a table of entities is: each is called by its name, and tagged with what it is."""
    return Rule(
        table,
        ("id",),
        ("name",),
        group=GRAPH,
        tag=ENTITY,
        tags=(kind,),
        kind=kind,
        metadata=metadata,
        time=time,
    )


def relation_rule(
    table: str,
    key: tuple[str, ...],
    time: tuple[str, ...],
    *,
    metadata: str = "",
    weight: str = "",
    until: str = "",
) -> Rule:
    """What a table of relations is: its rows are told by `relations_of`."""
    return Rule(
        table, key, (), group=GRAPH, tag=RELATION, time=time, metadata=metadata, weight=weight, until=until
    )


def relations_of(tables: Tables, source: str, relation: str, target: str) -> Look:
    """What says a relation in words: by the names of what it relates, or the ids where there is no name.

    Where both ends are named, the graph can be told of it.
    """
    names: dict[Any, str] = {}
    if tables.has("entities", "id", "name"):
        for values in tables.rows("entities"):
            if isinstance(values, dict) and isinstance(values["name"], str):
                names[values["id"]] = values["name"]

    def look(values: Mapping[str, Any]) -> Mapping[str, Any]:
        ends = values.get(source), values.get(target)
        first, last = (names.get(each) for each in ends)
        said = values.get(relation)
        words = [ends[0] if first is None else first, said, ends[1] if last is None else last]
        told: dict[str, Any] = {"text": " ".join(map(str, words))}
        is_named = first is not None and last is not None and isinstance(said, str)
        return {**told, RELATED: (first, said, last)} if is_named else told

    return look
