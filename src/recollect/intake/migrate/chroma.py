"""Chroma's own file, `chroma.sqlite3`: documents with their metadata, of MemPalace, claude-mem or anyone.

Vectors are taken where Chroma still has them in its queue. Once it moved them into the files of its index,
which only its library reads, the notes have none of theirs; they have ours in any case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from recollect.intake.migrate.contract import Row, Rule, Schema
from recollect.intake.migrate.mempalace import drawer
from recollect.intake.migrate.tables import Tables, Unread

_DOCUMENT: Final = "chroma:document"
_FLOATS: Final = "FLOAT32"
_VALUES: Final = ("string_value", "int_value", "float_value", "bool_value")
_AT_ONCE: Final = 500


class Chroma(Schema):
    name = "Chroma"
    rules = (Rule("embeddings", ("segment_id", "embedding_id"), (), time=("created_at",)),)
    indexes: Mapping[str, str] = {
        "embedding_metadata": "told with the rows of embeddings",
        "embedding_metadata_array": "told with the rows of embeddings",
        "embeddings_queue": "what is not in Chroma's index yet: its vectors are taken",
        "collections": "sessions are called so",
        "segments": "which collection a row is of",
    }

    def recognise(self, tables: Tables) -> bool:
        return tables.has("embeddings", "id", "segment_id", "embedding_id") and tables.has(
            "embedding_metadata", "id", "key", *_VALUES
        )

    def rows(self, tables: Tables, rule: Rule) -> Iterator[Row | Unread]:
        collections = _collections(tables)
        batch: list[dict[str, Any]] = []
        for values in tables.rows(rule.table):
            if isinstance(values, Unread):
                yield values
                continue
            batch.append(values)
            if len(batch) >= _AT_ONCE:
                yield from self._told(tables, batch, collections)
                batch = []
        yield from self._told(tables, batch, collections)

    def _told(
        self, tables: Tables, batch: list[dict[str, Any]], collections: Mapping[Any, Any]
    ) -> Iterator[Row | Unread]:
        ids = [each["id"] for each in batch]
        told = _metadata(tables, ids)
        vectors = _vectors(tables, [each["embedding_id"] for each in batch])
        for values in batch:
            filed = told.get(values["id"], {})
            text = filed.pop(_DOCUMENT, None)
            collection = collections.get(values["segment_id"])
            known = drawer(filed, collection) if "wing" in filed else _plain(filed, collection)
            known |= {"text": text, "metadata": filed, "vector": vectors.get(values["embedding_id"])}
            yield Row(values, {name: value for name, value in known.items() if value is not None})


def _plain(filed: Mapping[str, Any], collection: Any) -> dict[str, Any]:
    told = {"session": collection, "project": filed.get("project"), "time": filed.get("created_at_epoch")}
    return {name: value for name, value in told.items() if value}


def _collections(tables: Tables) -> dict[Any, Any]:
    """The name of the collection of each segment."""
    if not (tables.has("segments", "id", "collection") and tables.has("collections", "id", "name")):
        return {}
    question = "SELECT s.id, c.name FROM segments AS s JOIN collections AS c ON c.id = s.collection"
    return dict(tables.asked(question))


def _metadata(tables: Tables, ids: list[Any]) -> dict[Any, dict[str, Any]]:
    """The metadata of some rows; of a name with several values the list of them."""
    found: dict[Any, dict[str, Any]] = {}
    marks = ",".join("?" * len(ids))
    for table in ("embedding_metadata", "embedding_metadata_array"):
        if ids and tables.has(table, "id", "key", *_VALUES):
            question = f"SELECT id, key, {', '.join(_VALUES)} FROM {table} WHERE id IN ({marks})"
            for id_, key, string, whole, real, truth in tables.asked(question, ids):
                value = bool(truth) if truth is not None else _first(string, whole, real)
                mine = found.setdefault(id_, {})
                if table.endswith("array"):
                    mine.setdefault(str(key), []).append(value)
                else:
                    mine[str(key)] = value
    return found


def _vectors(tables: Tables, ids: list[Any]) -> dict[Any, bytes]:
    """The last vector of each row that is still in the queue."""
    if not ids or not tables.has("embeddings_queue", "id", "seq_id", "vector", "encoding"):
        return {}
    marks = ",".join("?" * len(ids))
    question = f"SELECT id, vector FROM embeddings_queue WHERE id IN ({marks}) AND encoding = '{_FLOATS}'"
    return {
        id_: vector for id_, vector in tables.asked(question + " ORDER BY seq_id", ids) if vector is not None
    }


def _first(*values: Any) -> Any:
    return next((each for each in values if each is not None), None)
