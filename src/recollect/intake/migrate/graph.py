"""Entities and relations of other memories, as notes that say them in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from recollect.intake.migrate.contract import Look, Rule
from recollect.intake.migrate.tables import Tables

GRAPH: Final = "graph"  # the session they are in
ENTITY: Final = "entity"
RELATION: Final = "relation"


def entity_rule(table: str, kind: str, metadata: str = "", time: tuple[str, ...] = ()) -> Rule:
    """What a table of entities is: each is called by its name, and tagged with what it is."""
    return Rule(
        table, ("id",), ("name",), group=GRAPH, tag=ENTITY, tags=(kind,), metadata=metadata, time=time
    )


def relation_rule(table: str, key: tuple[str, ...], time: tuple[str, ...], metadata: str = "") -> Rule:
    """What a table of relations is: its rows are told by `relations_of`."""
    return Rule(table, key, (), group=GRAPH, tag=RELATION, time=time, metadata=metadata)


def relations_of(tables: Tables, source: str, relation: str, target: str) -> Look:
    """What says a relation in words: by the names of what it relates, or the ids where there is no name."""
    names: dict[Any, str] = {}
    if tables.has("entities", "id", "name"):
        for values in tables.rows("entities"):
            if isinstance(values, dict) and isinstance(values["name"], str):
                names[values["id"]] = values["name"]

    def look(values: Mapping[str, Any]) -> Mapping[str, Any]:
        told = [names.get(values.get(source)), values.get(relation), names.get(values.get(target))]
        ends = [values.get(source), None, values.get(target)]
        words = [str(end if word is None else word) for word, end in zip(told, ends, strict=True)]
        return {"text": " ".join(words)}

    return look
