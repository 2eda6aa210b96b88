"""Statements of the graph as records: there and back, and whatever else a line holds."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.memory.graph_records import (
    ENTITY,
    RELATION,
    entity_id,
    entity_of,
    entity_record,
    relation_id,
    relation_of,
    relation_record,
)
from recollect.agents.memory.records import notes_file
from recollect.agents.registry import agent_of
from recollect.light.sources import MEMORY
from recollect.testing.agents import JSON, assert_well_formed, in_pieces, whole
from recollect.values.graph import SESSION, GraphEntity, GraphRelation, folded, is_weight
from recollect.values.records import Kind

NAMES = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=20)
TIMES = st.integers(1, 2**45)
METADATA = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3)
IDS = st.lists(st.from_regex("[0-9a-f]{12}", fullmatch=True), max_size=3, unique=True).map(tuple)
FILE = notes_file(SESSION)


@given(
    ends=st.lists(NAMES, min_size=3, max_size=3),
    weight=st.floats(0, 1e9),
    dated=st.booleans(),
    times=st.tuples(TIMES, TIMES),
    evidence=IDS,
    metadata=METADATA,
)
def test_a_relation_comes_back_as_it_was_said(
    ends: list[str],
    weight: float,
    dated: bool,
    times: tuple[int, int],
    evidence: tuple[str, ...],
    metadata: dict[str, Any],
) -> None:
    from_ms, time_ms = times
    id_ = relation_id(*ends, from_ms if dated else 0)
    said = GraphRelation(
        *ends, weight, from_ms if dated else 0, 0, evidence, metadata, id=id_, author="ada", time_ms=time_ms
    )
    found = relation_of(relation_record(said))
    assert found is not None
    assert found.from_ms == (from_ms if dated else time_ms), "it holds since it was said"
    assert relation_record(found) == relation_record(said) | {"from_ms": found.from_ms}
    again = relation_of(relation_record(said), 7)
    assert again is not None
    assert again.from_ms == (from_ms if dated else 7), "or since it was first said"


@given(
    name=NAMES,
    kind=st.text(st.characters(exclude_categories=("C", "Z")), max_size=9),
    aliases=st.lists(NAMES),
)
def test_an_entity_comes_back_as_it_was_said(name: str, kind: str, aliases: list[str]) -> None:
    others = {folded(each): each for each in aliases if folded(each) != folded(name)}
    said = GraphEntity(name, kind, tuple(others.values()), {"a": [1]}, id=entity_id(name), time_ms=5)
    assert entity_of(entity_record(said)) == said


@given(names=st.tuples(NAMES, NAMES, NAMES), from_ms=st.integers(0, 9))
def test_one_thing_has_one_id_and_another_has_another(names: tuple[str, str, str], from_ms: int) -> None:
    source, relation, target = names
    id_ = relation_id(source, relation, target, from_ms)
    assert id_ == relation_id(f" {source} ", relation.casefold(), target, from_ms)
    assert id_ != relation_id(source, relation, target, from_ms + 1)
    assert id_ != relation_id(source + "x", relation, target, from_ms)
    assert id_ != entity_id(source)


FIELDS = (
    "type", "id", "time_ms", "name", "kind", "aliases", "metadata", "author", "source", "relation", "target",
    "weight", "from_ms", "until_ms", "evidence",
)  # fmt: skip
GOOD = {
    "type": RELATION, "id": "r", "time_ms": 1, "source": "a", "relation": "b", "target": "c", "weight": 1.0,
    "name": "a",
}  # fmt: skip
HOSTILE = st.one_of(
    JSON,
    st.dictionaries(st.sampled_from(FIELDS), JSON),
    st.dictionaries(st.sampled_from(FIELDS), JSON | st.just(10**400) | st.just(float("nan"))).map(
        lambda changes: {**GOOD, **changes}
    ),
    st.sampled_from((ENTITY, RELATION)).flatmap(
        lambda kind: st.dictionaries(st.sampled_from(FIELDS[1:]), JSON).map(
            lambda each: {**GOOD, **each, "type": kind}
        )
    ),
)


@given(record=HOSTILE)
def test_whatever_a_record_is_it_is_a_statement_or_none(record: Any) -> None:
    relation, entity = relation_of(record), entity_of(record)
    if relation is not None:
        assert relation.id
        assert is_weight(relation.weight)
        assert all(
            each.isprintable() and each for each in (relation.source, relation.relation, relation.target)
        )
        assert all(each.isprintable() for each in relation.evidence)
    if entity is not None:
        assert entity.id
        assert entity.name.isprintable()
        assert all(each.isprintable() and each for each in entity.aliases)


@given(records=st.lists(HOSTILE, max_size=6), cut=st.integers(0, 6))
def test_whatever_a_line_holds_parsing_goes_on(records: list[Any], cut: int) -> None:
    agent = agent_of(MEMORY)
    for parsed, _ in whole(agent, FILE, records):
        assert_well_formed(parsed)
    assert repr(in_pieces(agent, FILE, records, [cut])) == repr(whole(agent, FILE, records))


def test_a_statement_is_an_entry_that_is_found_by_its_words() -> None:
    records = [
        GOOD | {"source": "harbor", "relation": "installs with", "target": "uv"},
        GOOD | {"type": ENTITY},
    ]
    relation, entity = (parsed for parsed, _ in whole(agent_of(MEMORY), FILE, records))
    assert [(each.kind, each.text, each.flags) for each in relation.entries] == [
        (Kind.EVENT, "harbor installs with uv", 0)
    ]
    assert (relation.uuid, relation.replaces) == ("r", ("r",))
    assert entity.entries[0].text == "a"
