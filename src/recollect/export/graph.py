"""A graph as a file: GraphML, which graph programs read, or JSON.

Names are whatever somebody said or a log held: what XML cannot say is replaced, the rest escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from xml.sax.saxutils import escape

from recollect.values.graph import GraphEntity, GraphRelation, Subgraph

# What a character of XML 1.0 is not.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TYPES: Final = {str: "string", float: "double", int: "long"}
_NODE: Final[Mapping[str, type]] = {
    "name": str, "type": str, "origin": str, "aliases": str, "mentions": int, "metadata": str,
    "statement": str,
}  # fmt: skip
_EDGE: Final[Mapping[str, type]] = {
    "relation": str, "weight": float, "origin": str, "from_ms": int, "until_ms": int, "times": int,
    "evidence": str, "metadata": str, "author": str, "statement": str,
}  # fmt: skip


def entity_object(entity: GraphEntity) -> dict[str, Any]:
    """An entity as JSON."""
    return {
        "name": entity.name,
        "type": entity.type,
        "origin": entity.origin,
        "aliases": list(entity.aliases),
        "mentions": entity.mentions,
        "metadata": dict(entity.metadata),
        "id": entity.id or None,
        "author": entity.author,
        "time_ms": entity.time_ms or None,
    }


def relation_object(relation: GraphRelation) -> dict[str, Any]:
    """A relation as JSON."""
    return {
        "source": relation.source,
        "relation": relation.relation,
        "target": relation.target,
        "weight": relation.weight,
        "origin": relation.origin,
        "times": relation.times,
        "from_ms": relation.from_ms or None,
        "until_ms": relation.until_ms or None,
        "evidence": list(relation.evidence),
        "metadata": dict(relation.metadata),
        "id": relation.id or None,
        "author": relation.author,
        "time_ms": relation.time_ms or None,
    }


def graph_object(graph: Subgraph) -> dict[str, Any]:
    """A graph as JSON."""
    return {
        "entities": [entity_object(each) for each in graph.entities],
        "relations": [relation_object(each) for each in graph.relations],
    }


def graph_json(graph: Subgraph) -> bytes:
    return json.dumps(graph_object(graph), indent=1).encode("ascii") + b"\n"


def graphml(graph: Subgraph) -> bytes:
    """A directed graph with what is known of each node and edge; derived edges could be turned round."""
    return "\n".join(_lines(graph)).encode("utf-8")


FORMS: Final[Mapping[str, Callable[[Subgraph], bytes]]] = {"graphml": graphml, "json": graph_json}


def _lines(graph: Subgraph) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for what, fields in (("node", _NODE), ("edge", _EDGE)):
        for name, kind in fields.items():
            yield f'<key id="{what}-{name}" for="{what}" attr.name="{name}" attr.type="{_TYPES[kind]}"/>'
    yield '<graph id="memory" edgedefault="directed">'
    ids = {}
    for number, entity in enumerate(graph.entities):
        ids[entity.name] = f"n{number}"
        yield f'<node id="n{number}">'
        yield from _data("node", _NODE, entity_object(entity) | {"statement": entity.id})
        yield "</node>"
    for number, relation in enumerate(graph.relations):
        yield f'<edge id="e{number}" source="{ids[relation.source]}" target="{ids[relation.target]}">'
        yield from _data("edge", _EDGE, relation_object(relation) | {"statement": relation.id})
        yield "</edge>"
    yield "</graph>\n</graphml>\n"


def _data(what: str, fields: Mapping[str, type], told: Mapping[str, Any]) -> Iterator[str]:
    for name in fields:
        value = told[name]
        if value is None or value in ("", [], {}):
            continue
        text = json.dumps(value) if isinstance(value, list | dict) else str(value)
        yield f'<data key="{what}-{name}">{escape(_NO_XML.sub("�", text))}</data>'
