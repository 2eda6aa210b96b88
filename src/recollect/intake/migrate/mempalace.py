"""MemPalace: drawers in the SQLite backend of its own, and its knowledge graph, which is a file by itself.

Its other files are Chroma's (`chroma.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.intake.migrate.cells import object_of
from recollect.intake.migrate.contract import Look, Rule, Schema
from recollect.intake.migrate.graph import entity_rule, relation_rule, relations_of
from recollect.intake.migrate.tables import Tables


class Drawers(Schema):
    name = "MemPalace"
    rules = (
        Rule(
            "documents",
            ("collection_id", "id"),
            ("document",),
            vector="embedding",
            metadata="metadata_json",
            time=("created_at",),
        ),
    )

    def recognise(self, tables: Tables) -> bool:
        return tables.has("documents", "collection_id", "id", "document", "metadata_json")

    def looker(self, tables: Tables, rule: Rule) -> Look:
        names: dict[Any, Any] = {}
        if tables.has("collections", "id", "name"):
            names = {
                each["id"]: each["name"] for each in tables.rows("collections") if isinstance(each, dict)
            }

        def look(values: Mapping[str, Any]) -> Mapping[str, Any]:
            filed = object_of(values.get("metadata_json")) or {}
            return drawer(filed, names.get(values.get("collection_id")))

        return look


class Palace(Schema):
    name = "MemPalace's knowledge graph"
    rules = (
        entity_rule("entities", "type", "properties", ("created_at",)),
        relation_rule("triples", ("id",), ("valid_from",), weight="confidence", until="valid_to"),
    )

    def recognise(self, tables: Tables) -> bool:
        return tables.has("entities", "id", "name") and tables.has(
            "triples", "subject", "predicate", "object"
        )

    def looker(self, tables: Tables, rule: Rule) -> Look:
        if rule.table == "triples":
            return relations_of(tables, "subject", "predicate", "object")
        return super().looker(tables, rule)


def drawer(filed: Mapping[str, Any], collection: Any) -> dict[str, Any]:
    """What a drawer's own words say of it: its wing is a project, its room a tag."""
    told = {
        "session": filed.get("wing") or collection,
        "project": filed.get("wing"),
        "tags": [filed[name] for name in ("room", "hall") if filed.get(name)],
        "author": filed.get("added_by"),
        "time": filed.get("filed_at"),
    }
    return {name: value for name, value in told.items() if value}
