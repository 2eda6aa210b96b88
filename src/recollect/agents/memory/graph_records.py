"""Entities and relations as records of the graph's source, there and back.

    entity    what is said of an entity: its type, its aliases
    relation  that one entity is related to another

Either is known by an id that follows from what it is about, so that the same said again, on whatever
machine, takes the earlier one's place; a `delete` record takes it back. Whatever a line holds, reading it
gives a value or None: a store may come from anywhere.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from typing import Any, Final

from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import count_of, dict_of, list_of, text_of
from recollect.values.graph import ALIASES_MAX, EVIDENCE_MAX, GraphEntity, GraphRelation, folded, is_weight
from recollect.values.notes import NAME_CHARS_MAX, TAG_CHARS_MAX

ENTITY: Final = "entity"
RELATION: Final = "relation"


def decoded(line: bytes) -> Mapping[str, Any]:
    """The record of a line; nothing where it holds none."""
    try:
        return dict_of(decode(line)[0])
    except BadLine:
        return {}


def entity_id(name: str) -> str:
    """What an entity's record is known by."""
    return _id(ENTITY, folded(name))


def relation_id(source: str, relation: str, target: str, from_ms: int = 0) -> str:
    """What a relation's record is known by; 0 where nobody said since when it holds.

    One that ended and began again is another.
    """
    return _id(RELATION, folded(source), folded(relation), folded(target), str(from_ms or ""))


def entity_record(entity: GraphEntity) -> dict[str, Any]:
    told: dict[str, Any] = {"type": ENTITY, "id": entity.id, "time_ms": entity.time_ms, "name": entity.name}
    parts = {"kind": entity.type, "aliases": list(entity.aliases), "author": entity.author}
    told |= {name: value for name, value in parts.items() if value}
    return {**told, "metadata": entity.metadata} if entity.metadata else told


def relation_record(relation: GraphRelation) -> dict[str, Any]:
    told: dict[str, Any] = {
        "type": RELATION,
        "id": relation.id,
        "time_ms": relation.time_ms,
        "source": relation.source,
        "relation": relation.relation,
        "target": relation.target,
        "weight": relation.weight,
    }
    parts = {
        "from_ms": relation.from_ms,
        "until_ms": relation.until_ms,
        "evidence": list(relation.evidence),
        "author": relation.author,
        "metadata": relation.metadata,
    }
    return told | {name: value for name, value in parts.items() if value}


def entity_of(record: Any, first_ms: int = 0) -> GraphEntity | None:
    """The entity that a record is, which was first said then, or by this; None where it is none."""
    record = dict_of(record)
    name, id_ = _name(record.get("name")), text_of(record.get("id"))
    if record.get("type") != ENTITY or not (name and id_):
        return None
    aliases = {
        folded(each): each for each in map(_name, list_of(record.get("aliases"))[:ALIASES_MAX]) if each
    }
    aliases.pop(folded(name), None)
    return GraphEntity(
        name,
        _text(record.get("kind"))[:TAG_CHARS_MAX],
        tuple(aliases.values()),
        dict_of(record.get("metadata")),
        id=id_,
        author=_text(record.get("author")),
        time_ms=first_ms or count_of(record.get("time_ms")),
    )


def relation_of(record: Any, first_ms: int = 0) -> GraphRelation | None:
    """The relation that a record is, which was first said then, or by this; None where it is none.

    It holds since that time, unless the record says since when. One that had ended by then held before.
    """
    record = dict_of(record)
    source, relation, target = (_name(record.get(part)) for part in ("source", "relation", "target"))
    weight, id_ = record.get("weight"), text_of(record.get("id"))
    if record.get("type") != RELATION or not (source and relation and target and id_):
        return None
    if not isinstance(weight, int | float) or not is_weight(weight):
        return None
    time_ms, until_ms = count_of(record.get("time_ms")), count_of(record.get("until_ms"))
    from_ms, first_ms = count_of(record.get("from_ms")), first_ms or time_ms
    if not from_ms and not 0 < until_ms <= first_ms:
        from_ms = first_ms
    evidence = (_text(each) for each in list_of(record.get("evidence"))[:EVIDENCE_MAX])
    return GraphRelation(
        source,
        relation,
        target,
        float(weight),
        from_ms,
        until_ms,
        tuple(dict.fromkeys(filter(None, evidence))),
        dict_of(record.get("metadata")),
        id=id_,
        author=_text(record.get("author")),
        time_ms=time_ms,
    )


def _id(*parts: str) -> str:
    told = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(told, digest_size=8).hexdigest()


def _name(value: Any) -> str:
    """A name as it may be shown; "" for what is none."""
    return _shown(value) if type(value) is str else ""


@functools.lru_cache(1 << 16)  # of a large graph most names are read again and again
def _shown(name: str) -> str:
    return " ".join(name.split()) if len(name) <= NAME_CHARS_MAX and name.isprintable() else ""


def _text(value: Any) -> str:
    text = text_of(value)
    return text if len(text) <= NAME_CHARS_MAX and text.isprintable() else ""
