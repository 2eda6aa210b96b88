"""A graph as a file: well-formed whatever its names are, and all of it is in there."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recollect.export.graph import graph_json, graphml
from recollect.values.graph import DERIVED, GraphEntity, GraphRelation, Subgraph

NAMES = st.text(max_size=30) | st.sampled_from(
    ['"><script>', "]]>", "<!--", "&amp;", "\x00\x1b[2J", "\ud800", "\ufffe", "ü 🦀", "a\nb", "'"]
)
METADATA = st.dictionaries(NAMES, NAMES | st.none() | st.lists(st.integers()), max_size=2)
SPACE = "{http://graphml.graphdrawing.org/xmlns}"


@st.composite
def graphs(draw: st.DrawFn) -> Subgraph:
    names = draw(st.lists(NAMES, unique=True, max_size=5))
    entities = tuple(
        GraphEntity(name, draw(NAMES), tuple(draw(st.lists(NAMES, max_size=2))), draw(METADATA), mentions=3)
        for name in names
    )
    pairs = (
        draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=6)) if names else []
    )
    relations = tuple(
        GraphRelation(
            source, draw(NAMES), target, draw(st.floats(0, 1e9)),
            evidence=tuple(draw(st.lists(NAMES, max_size=2))), metadata=draw(METADATA), origin=DERIVED,
            times=2,
        )
        for source, target in pairs
    )  # fmt: skip
    return Subgraph(entities, relations)


def readable(text: str) -> str:
    """A text as XML can say it, and as whoever reads XML has its ends of lines."""
    kept = re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
    return kept.replace("\r\n", "\n").replace("\r", "\n")


def data_of(element: ElementTree.Element, names: dict[str, str]) -> dict[str, str]:
    return {names[each.attrib["key"]]: each.text or "" for each in element.iter(f"{SPACE}data")}


@given(graph=graphs())
def test_graphml_is_well_formed_and_has_everything(graph: Subgraph) -> None:
    root = ElementTree.fromstring(graphml(graph))
    keys = {each.attrib["id"]: each.attrib["attr.name"] for each in root.iter(f"{SPACE}key")}
    nodes = {each.attrib["id"]: data_of(each, keys) for each in root.iter(f"{SPACE}node")}
    assert [each.get("name", "") for each in nodes.values()] == [
        readable(each.name) for each in graph.entities
    ]
    for entity, told in zip(graph.entities, nodes.values(), strict=True):
        assert (told.get("type", ""), told["mentions"]) == (readable(entity.type), "3")
        assert json.loads(told.get("metadata", "{}")) == dict(entity.metadata)
        assert json.loads(told.get("aliases", "[]")) == list(entity.aliases)
    edges = list(root.iter(f"{SPACE}edge"))
    order = [each.name for each in graph.entities]
    for relation, edge in zip(graph.relations, edges, strict=True):
        told = data_of(edge, keys)
        ends = [list(nodes).index(edge.attrib[end]) for end in ("source", "target")]
        assert [order[end] for end in ends] == [relation.source, relation.target]
        assert (told.get("relation", ""), float(told["weight"])) == (
            readable(relation.relation),
            relation.weight,
        )
        assert told["origin"] == DERIVED


@given(graph=graphs())
def test_json_is_ascii_and_has_everything(graph: Subgraph) -> None:
    made: dict[str, list[dict[str, Any]]] = json.loads(graph_json(graph).decode("ascii"))
    assert [each["name"] for each in made["entities"]] == [each.name for each in graph.entities]
    assert [(each["source"], each["relation"], each["target"]) for each in made["relations"]] == [
        (each.source, each.relation, each.target) for each in graph.relations
    ]
