"""The graph as every face shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.export.graph import entity_object, graph_object, relation_object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.values.graph import GraphEntity, GraphNeighbour, GraphPath

__all__ = ["entity_object", "graph_object", "neighbourhood_object", "path_object", "relation_object"]


def neighbourhood_object(entity: GraphEntity, neighbours: Sequence[GraphNeighbour]) -> dict[str, Any]:
    """An entity and what is around it."""
    return {
        "entity": entity_object(entity),
        "neighbours": [
            {
                "depth": each.depth,
                "direction": each.direction,
                "entity": entity_object(each.entity),
                "relation": relation_object(each.relation),
            }
            for each in neighbours
        ],
    }


def path_object(path: GraphPath) -> dict[str, Any]:
    """A way from one entity to another; two empty lists where there is none."""
    return {
        "entities": [entity_object(each) for each in path.entities],
        "relations": [relation_object(each) for each in path.relations],
    }
