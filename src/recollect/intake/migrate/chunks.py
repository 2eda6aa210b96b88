"""Memories of chunks with embeddings, as EdgeHDF5's migration reads them: four tables, vectors as float32."""

from __future__ import annotations

from recollect.intake.migrate.contract import SESSION, Look, Rule, Schema
from recollect.intake.migrate.graph import entity_rule, relation_rule, relations_of
from recollect.intake.migrate.tables import Tables


class Chunks(Schema):
    name = "memory chunks"
    rules = (
        Rule(
            "sessions",
            ("id",),
            ("summary",),
            makes=SESSION,
            session="id",
            channel="channel",
            time=("timestamp",),
        ),
        Rule(
            "memory_chunks",
            ("id",),
            ("chunk",),
            session="session_id",
            channel="source_channel",
            tags=("tags",),
            time=("timestamp",),
            vector="embedding",
            deleted="deleted",
        ),
        entity_rule("entities", "type"),
        relation_rule("relations", ("src", "tgt", "relation"), ("timestamp",), weight="weight"),
    )

    def recognise(self, tables: Tables) -> bool:
        return tables.has("memory_chunks", "id", "chunk")

    def looker(self, tables: Tables, rule: Rule) -> Look:
        if rule.table == "relations":
            return relations_of(tables, "src", "relation", "tgt")
        return super().looker(tables, rule)
