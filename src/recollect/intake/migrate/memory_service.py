"""mcp-memory-service: memories with tags and metadata, their vectors, associations and beliefs.

Its vectors lie in chunks of the sqlite-vec extension; these are plain tables, and are read without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from recollect.intake.migrate.contract import Look, Rule, Schema
from recollect.intake.migrate.graph import relation_rule, relations_of
from recollect.intake.migrate.tables import Tables

_CHUNKS: Final = "memory_embeddings_vector_chunks00"
_ROWIDS: Final = "memory_embeddings_rowids"
_SIZES: Final = "memory_embeddings_chunks"


class MemoryService(Schema):
    name = "mcp-memory-service"
    rules = (
        Rule(
            "memories",
            ("content_hash",),
            ("content",),
            tags=("tags", "memory_type"),
            time=("created_at", "created_at_iso"),
            metadata="metadata",
            deleted="deleted_at",
        ),
        Rule(
            "beliefs",
            ("belief_hash",),
            ("content",),
            tag="belief",
            tags=("status",),
            time=("created_at",),
            metadata="metadata",
        ),
        relation_rule("memory_graph", ("source_hash", "target_hash"), ("created_at",), metadata="metadata"),
    )
    indexes: Mapping[str, str] = {
        _CHUNKS: "the vectors of memories, taken with them",
        _ROWIDS: "the vectors of memories, taken with them",
        _SIZES: "the vectors of memories, taken with them",
    }

    def recognise(self, tables: Tables) -> bool:
        return tables.has("memories", "id", "content_hash", "content")

    def looker(self, tables: Tables, rule: Rule) -> Look:
        if rule.table == "memory_graph":
            return relations_of(tables, "source_hash", "relationship_type", "target_hash")
        if rule.table != "memories" or not _has_vectors(tables):
            return super().looker(tables, rule)
        vectors = _Vectors(tables)

        def look(values: Mapping[str, Any]) -> Mapping[str, Any]:
            vector = vectors.of(values.get("id"))
            return {"vector": vector} if vector is not None else {}

        return look


def _has_vectors(tables: Tables) -> bool:
    return (
        tables.has(_CHUNKS, "rowid", "vectors")
        and tables.has(_ROWIDS, "rowid", "chunk_id", "chunk_offset")
        and tables.has(_SIZES, "chunk_id", "size")
    )


class _Vectors:
    """The vectors of memories by the number of their row; one chunk of them is held at a time."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._sizes = dict(tables.asked(f"SELECT chunk_id, size FROM {_SIZES}"))
        self._held: tuple[Any, bytes] = (None, b"")

    def of(self, row: Any) -> bytes | None:
        question = f"SELECT chunk_id, chunk_offset FROM {_ROWIDS} WHERE rowid = ?"
        for chunk, at in self._tables.asked(question, (row,)):
            data, count = self._chunk(chunk), self._sizes.get(chunk)
            if isinstance(count, int) and isinstance(at, int) and 0 <= at < count and len(data) % count == 0:
                size = len(data) // count
                return data[at * size : (at + 1) * size] or None
        return None

    def _chunk(self, number: Any) -> bytes:
        if self._held[0] != number:
            question = f"SELECT vectors FROM {_CHUNKS} WHERE rowid = ?"
            data = next((each for (each,) in self._tables.asked(question, (number,))), b"")
            self._held = number, data if isinstance(data, bytes) else b""
        return self._held[1]
