"""The graph: what is said is there when it returns, on every engine, beside what logs mention together."""

from __future__ import annotations

import asyncio
import datetime
import itertools
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.claude_talk import Talk
from tests.support.examples import examples
from tests.support.graphs import ENGINES, PlainGraph, empty_memory
from tests.support.memories import scratch

from recollect.config import Config
from recollect.memory import Memory, saving
from recollect.memory.asynchronous import AsyncMemory
from recollect.memory.asynchronous_graph import AsyncGraph
from recollect.memory.graph import GraphReader, MemoryGraph
from recollect.values.erasures import Wanted
from recollect.values.errors import NotFound, RecollectError, UsageError
from recollect.values.graph import DERIVED, SAVED, GraphNeighbour, GraphPath, NewEntity, NewRelation
from recollect.values.retention import RetentionSettings

JANUARY, MARCH, MAY = (datetime.datetime(2026, month, 1, tzinfo=datetime.UTC) for month in (1, 3, 5))


@pytest.fixture(params=ENGINES)
def memory(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Memory]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with empty_memory(tmp_path, request.param) as opened:
        yield opened


def names(found: list[GraphNeighbour]) -> list[tuple[str, str, str]]:
    return [(each.direction, each.relation.relation, each.entity.name) for each in found]


def told(graph: GraphReader) -> object:
    """All that was said, but for when."""
    return sorted(
        (each.source, each.relation, each.target, each.weight, each.until_ms, each.evidence)
        for each in graph.relations()
    ), sorted((each.name, each.type, each.aliases, dict(each.metadata)) for each in graph.entities())


def filled(graph: MemoryGraph) -> MemoryGraph:
    graph.add_entity("harbor", "project", ["Harbor Project"], {"team": "quay"})
    graph.relate("harbor", "installs with", "uv", weight=0.9)
    graph.relate("uv", "is written in", "Rust", weight=0.4)
    graph.relate("crane", "is part of", "harbor")
    return graph


# -- saying ---------------------------------------------------------------------------------------


def test_what_was_said_is_there_for_everyone_when_it_returns(memory: Memory) -> None:
    memory.graph.relate("harbor", "installs with", "uv", weight=0.9, metadata={"by": ["hand"]}, author="ada")
    assert memory.waiting() == 1, "in the journal, and nothing was written but that"
    with Memory.open(config=memory.config) as other:
        (found,) = other.graph.neighbours("HARBOR")
    assert (found.entity.name, found.direction, found.depth, found.entity.origin) == ("uv", "out", 1, SAVED)
    relation = found.relation
    assert (relation.weight, relation.metadata, relation.author) == (0.9, {"by": ["hand"]}, "ada")
    assert names(memory.graph.neighbours("uv")) == [("in", "installs with", "harbor")]


def test_neighbours_come_by_direction_relation_and_depth_the_strongest_first(memory: Memory) -> None:
    graph = filled(memory.graph)
    both = [("in", "is part of", "crane"), ("out", "installs with", "uv")]
    assert names(graph.neighbours("harbor")) == both
    assert names(graph.neighbours("harbor", direction="out")) == both[1:]
    assert names(graph.neighbours("harbor", direction="in")) == both[:1]
    assert names(graph.neighbours("harbor", relation="Installs With")) == both[1:]
    deep = graph.neighbours("harbor", depth=2)
    assert [(each.depth, each.entity.name) for each in deep] == [(1, "crane"), (1, "uv"), (2, "Rust")]
    assert names(graph.neighbours("harbor", depth=2, limit=1)) == both[:1]
    assert graph.neighbours("harbor", origin=DERIVED) == []


def test_a_path_is_a_shortest_one_and_an_empty_one_where_there_is_none(memory: Memory) -> None:
    graph = filled(memory.graph)
    found = graph.path("crane", "rust")
    assert [each.name for each in found.entities] == ["crane", "harbor", "uv", "Rust"]
    assert [each.relation for each in found.relations] == ["is part of", "installs with", "is written in"]
    graph.relate("Rust", "paints", "crane")
    assert [each.name for each in graph.path("crane", "rust").entities] == ["crane", "Rust"]
    assert [each.name for each in graph.path("crane", "rust", direction="out").entities][1:3] == [
        "harbor",
        "uv",
    ]
    assert graph.path("crane", "uv", max_depth=1).entities == ()
    graph.relate("far", "from", "away")
    assert graph.path("crane", "away").relations == ()
    assert [each.name for each in graph.path("uv", "UV").entities] == ["uv"]


def test_a_subgraph_has_what_is_near_and_every_relation_between_that(memory: Memory) -> None:
    graph = filled(memory.graph)
    graph.relate("crane", "installs with", "uv")
    found = graph.subgraph(["harbor"], 1)
    assert {each.name for each in found.entities} == {"harbor", "crane", "uv"}
    assert len(found.relations) == 3
    assert {each.name for each in graph.subgraph("harbor", 2).entities} == {"harbor", "crane", "uv", "Rust"}


def test_the_same_relation_again_takes_the_earlier_ones_place(memory: Memory) -> None:
    first = memory.graph.relate("harbor", "installs with", "uv", weight=0.2)
    began = memory.graph.relations()[0].from_ms
    assert memory.graph.relate("Harbor", "INSTALLS with", "uv", weight=0.8) == first
    (relation,) = memory.graph.relations()
    assert (relation.weight, relation.from_ms) == (0.8, began), "it holds since it was first said"
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(1)
    changed = memory.graph.update(first, weight=0.5, metadata={"a": 1}, until=later)
    assert (changed.weight, changed.from_ms, changed.id) == (0.5, began, first)
    assert memory.graph.relations() == [changed]
    assert [each.entity.name for each in memory.graph.neighbours("HARBOR")] == ["uv"]


def test_what_is_taken_back_is_gone_and_may_be_said_again(memory: Memory) -> None:
    graph = filled(memory.graph)
    assert graph.unrelate("Harbor project", "installs with", "UV") == 1
    assert names(graph.neighbours("harbor")) == [("in", "is part of", "crane")]
    graph.relate("harbor", "installs with", "uv")
    assert len(graph.neighbours("harbor")) == 2
    described = graph.entity("harbor")
    assert graph.delete(described.id) == 1
    assert graph.entity("harbor").aliases == ()
    with pytest.raises(NotFound):
        graph.entity("harbor project")
    assert graph.delete([each.id for each in graph.relations()]) == 3
    with pytest.raises(NotFound):
        graph.neighbours("harbor")


def test_a_statement_can_be_what_it_was_before(memory: Memory) -> None:
    graph = memory.graph
    id_ = graph.relate("harbor", "installs with", "uv", weight=0.2)
    graph.relate("harbor", "installs with", "uv", weight=0.8)
    assert getattr(graph.undo(id_), "weight", None) == 0.2
    graph.delete(id_)
    assert getattr(graph.undo(id_), "weight", None) == 0.2
    alone = graph.relate("crane", "lifts", "box")
    assert graph.undo(alone) is None, "there was nothing before"
    assert [each.id for each in graph.relations()] == [id_]
    described = graph.add_entity("harbor", "port")
    graph.add_entity("harbor", "project")
    assert getattr(graph.undo(described), "type", None) == "port"
    for unknown in ("ffff", memory.save("a note")):
        with pytest.raises(NotFound):
            graph.undo(unknown)


def test_a_batch_is_one_write(memory: Memory) -> None:
    relations = [NewRelation(f"a{number}", "leads to", f"b{number}") for number in range(50)]
    ids = memory.graph.add_batch([NewEntity("a0", "thing")], relations)
    assert (memory.waiting(), len(set(ids))) == (1, 51)
    assert memory.graph.entity("A0").type == "thing"
    with pytest.raises(UsageError):
        memory.graph.add_batch(relations=[*relations[:3], NewRelation("x", "y", "z", math.nan)])
    assert len(memory.graph.relations()) == 50
    assert memory.graph.add_batch() == []


# -- names ----------------------------------------------------------------------------------------


def test_an_alias_means_its_entity_exactly_and_in_any_case_never_a_part_of_it(memory: Memory) -> None:
    graph = filled(memory.graph)
    assert graph.entity("  HARBOR   project ").name == "harbor"
    graph.relate("harbor PROJECT", "moors", "boat")
    assert ("out", "moors", "boat") in names(graph.neighbours("harbor"))
    assert graph.relations(source="harbor")[-1].target == "boat"
    for part in ("harb", "project", "bor pro", "arbor", "harbor/project"):
        with pytest.raises(NotFound):
            graph.entity(part)


def test_no_two_entities_have_one_name(memory: Memory) -> None:
    graph = filled(memory.graph)
    for wrong in (
        lambda: graph.add_entity("quay", aliases=["harbor"]),
        lambda: graph.add_entity("quay", aliases=["HARBOR project"]),
        lambda: graph.add_entity("Harbor Project"),
        lambda: graph.add_batch([NewEntity("a", aliases=["c"]), NewEntity("b", aliases=["C"])]),
    ):
        with pytest.raises(UsageError, match="would mean both"):
            wrong()
    graph.add_entity("Harbor", "port", ["Harbor Project", "haven", "harbor"])
    assert graph.entity("haven").aliases == ("Harbor Project", "haven")


def test_what_an_alias_makes_related_to_itself_is_no_neighbour(memory: Memory) -> None:
    memory.graph.relate("uv", "replaces", "uvx")
    memory.graph.add_entity("uv", aliases=["uvx"])
    assert memory.graph.neighbours("uv") == []
    assert len(memory.graph.relations()) == 1


# -- bad input ------------------------------------------------------------------------------------

WRONG: dict[str, tuple[type[RecollectError], Callable[[MemoryGraph], object]]] = {
    "itself": (UsageError, lambda graph: graph.relate("uv", "is", " UV ")),
    "nan": (UsageError, lambda graph: graph.relate("a", "b", "c", weight=math.nan)),
    "negative": (UsageError, lambda graph: graph.relate("a", "b", "c", weight=-0.1)),
    "infinite": (UsageError, lambda graph: graph.relate("a", "b", "c", weight=math.inf)),
    "huge": (UsageError, lambda graph: graph.relate("a", "b", "c", weight=10**400)),
    "a weight of text": (UsageError, lambda graph: graph.relate("a", "b", "c", weight="1")),  # type: ignore[arg-type]
    "no name": (UsageError, lambda graph: graph.relate(" ", "b", "c")),
    "no relation": (UsageError, lambda graph: graph.relate("a", "", "c")),
    "a control character": (UsageError, lambda graph: graph.relate("a\x1b[2J", "b", "c")),
    "a long name": (UsageError, lambda graph: graph.add_entity("a" * 600)),
    "ends before": (UsageError, lambda graph: graph.relate("a", "b", "c", time=MAY, until=MARCH)),
    "metadata": (UsageError, lambda graph: graph.relate("a", "b", "c", metadata={"x": {1}})),
    "aliases as text": (UsageError, lambda graph: graph.add_entity("a", aliases="abc")),
    "evidence as text": (UsageError, lambda graph: graph.relate("a", "b", "c", evidence="abc")),
    "unknown evidence": (NotFound, lambda graph: graph.relate("a", "b", "c", evidence=["ffffffffffff"])),
    "unknown relation": (NotFound, lambda graph: graph.unrelate("harbor", "eats", "uv")),
    "half a relation": (NotFound, lambda graph: graph.unrelate("harbor", "", "uv")),
    "unknown id": (NotFound, lambda graph: graph.delete([graph.relations()[0].id, "ffff"])),
    "unknown id to change": (NotFound, lambda graph: graph.update("ffff", weight=1)),
    "a bad change": (UsageError, lambda graph: graph.update(graph.relations()[0].id, weight=-1)),
    "unknown name": (NotFound, lambda graph: graph.neighbours("nobody")),
    "unknown end": (NotFound, lambda graph: graph.path("harbor", "nobody")),
    "unknown seed": (NotFound, lambda graph: graph.activate(["nobody"])),
    "direction": (UsageError, lambda graph: graph.neighbours("harbor", direction="up")),
    "origin": (UsageError, lambda graph: graph.neighbours("harbor", origin="heaven")),
    "depth": (UsageError, lambda graph: graph.neighbours("harbor", depth=0)),
    "decay": (UsageError, lambda graph: graph.activate("harbor", decay=0)),
    "form": (UsageError, lambda graph: graph.export("png")),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_bad_input_is_one_clear_error_and_nothing_is_written(memory: Memory, wrong: str) -> None:
    graph = filled(memory.graph)
    before, lines = told(graph), memory.info().lines
    error, call = WRONG[wrong]
    with pytest.raises(error) as raised:
        call(graph)
    assert len(str(raised.value)) < 200
    assert (told(graph), memory.info().lines) == (before, lines)


# -- time and evidence ----------------------------------------------------------------------------


def test_the_graph_as_of_a_time_has_what_held_then(memory: Memory) -> None:
    graph = memory.graph
    graph.relate("harbor", "installs with", "pip", time=JANUARY, until=MARCH)
    graph.relate("harbor", "installs with", "uv", time=MARCH)
    graph.relate("harbor", "moors", "boat")
    graph.relate("harbor", "sold", "tug", until=JANUARY)

    def then(moment: datetime.datetime) -> set[str]:
        return {each.entity.name for each in graph.at(moment).neighbours("harbor")}

    assert then(JANUARY) == {"pip"}
    assert then(MARCH) == {"uv"}, "what ends does so before"
    assert then(datetime.datetime(2025, 6, 1, tzinfo=datetime.UTC)) == {"tug"}, (
        "it had ended when it was said"
    )
    assert then(datetime.datetime.now(datetime.UTC) + datetime.timedelta(1)) == {"uv", "boat"}
    assert {each.entity.name for each in graph.neighbours("harbor")} == {"pip", "uv", "boat", "tug"}
    with pytest.raises(NotFound):
        graph.at(JANUARY).entity("boat")
    assert not hasattr(graph.at(JANUARY), "relate")


def test_a_relation_that_ended_and_began_again_is_two(memory: Memory) -> None:
    one = memory.graph.relate("ada", "is on call for", "harbor", time=JANUARY, until=MARCH)
    two = memory.graph.relate("ada", "is on call for", "harbor", time=MAY)
    assert one != two
    assert len(memory.graph.relations()) == 2
    memory.graph.update(one, until=MAY)
    assert [each.id for each in memory.graph.relations()] == [one, two]
    assert memory.graph.unrelate("ada", "is on call for", "harbor") == 2


def test_evidence_is_an_entry_by_the_beginning_of_its_id_or_a_note(memory: Memory) -> None:
    note = memory.save("we install with uv")
    entry = memory.get(note).entry
    memory.graph.relate("harbor", "installs with", "uv", evidence=[note, entry[:9], entry])
    assert memory.graph.relations()[0].evidence == (note, entry)


def test_a_statement_is_found_by_its_words_and_is_no_note(memory: Memory) -> None:
    filled(memory.graph)
    assert memory.search("installs uv").hits[0].stored.entry.text == "harbor installs with uv"
    assert (memory.count(), list(memory.notes())) == (0, [])
    memory.graph.unrelate("harbor", "installs with", "uv")
    assert all("installs with" not in hit.stored.entry.text for hit in memory.search("installs uv").hits)


# -- kept with everything else --------------------------------------------------------------------


def test_compact_reparse_and_repair_change_nothing_of_it(memory: Memory) -> None:
    graph = filled(memory.graph)
    for weight in (0.1, 0.2, 0.3):
        graph.relate("crane", "lifts", "box", weight=weight)
    graph.relate("crane", "drops", "box")
    graph.unrelate("crane", "drops", "box")
    before, lines = (graph.relations(), graph.entities()), memory.info().lines
    for change in (memory.compact, memory.reparse, memory.repair, memory.compact):
        change()
        assert (graph.relations(), graph.entities()) == before, change.__name__
    assert memory.info().lines == lines - 2, "a weight in between, and what was taken back"
    assert memory.check() == []


def test_what_is_erased_is_in_the_graph_no_more(memory: Memory) -> None:
    graph = filled(memory.graph)
    memory.erase(Wanted(match="installs with"))
    assert {each.relation for each in graph.relations()} == {"is written in", "is part of"}
    graph.relate("harbor", "is fond of", "uv")
    assert ("out", "is fond of", "uv") in names(graph.neighbours("harbor"))


def test_a_budget_lets_nothing_go_that_was_kept_on_purpose(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving, "now_ms", lambda: 1_600_000_000_000)
    before = told(filled(memory.graph))
    memory.save("a note of long ago", time=1.6e9)
    memory.index()
    memory.config = replace(
        memory.config, retention=RetentionSettings(raw_soft_cap_bytes=1, raw_max_age_days=1)
    )
    assert memory.sweep().sessions == ()
    assert told(memory.graph) == before
    assert [note.text for note in memory.notes()] == ["a note of long ago"]
    assert memory.standing().gone == 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("hosts", [("here", "here"), ("here", "there")])
def test_what_two_machines_said_is_one_graph_whichever_came_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, hosts: tuple[str, str]
) -> None:
    monkeypatch.setattr(saving, "now_ms", itertools.count(1_790_000_000_000, 1_000).__next__)
    with (
        empty_memory(tmp_path, "hdf5", "a", hosts[0]) as one,
        empty_memory(tmp_path, "hdf5", "b", hosts[1]) as two,
    ):
        filled(one.graph)
        filled(two.graph)
        one.graph.relate("harbor", "installs with", "uv", weight=0.1)
        two.graph.relate("Harbor", "installs with", "uv", weight=0.2)
        one.graph.unrelate("crane", "is part of", "harbor")
        two.graph.relate("crane", "lifts", "box")
        two.graph.unrelate("uv", "is written in", "rust")
        one.graph.relate("uv", "is written in", "Rust", weight=0.7)
        for each in (one, two):
            each.checkpoint()
    found, stores = [], [tmp_path / "a.h5", tmp_path / "b.h5"]
    for order in (stores, stores[::-1]):
        with empty_memory(tmp_path, engine, order[0].stem + "-first") as merged:
            for store in order:
                merged.merge([store], own=True)
            found.append(told(merged.graph))
            merged.merge(stores, own=True)
            assert told(merged.graph) == found[-1], "merged twice, it is there once"
            weights = {each.target: each.weight for each in merged.graph.relations()}
    assert found[0] == found[1]
    assert weights == {"uv": 0.2, "box": 1.0, "Rust": 0.7}, "the last word on each"


def test_what_another_person_said_is_not_in_ones_own_graph(tmp_path: Path) -> None:
    with empty_memory(tmp_path, "hdf5", "theirs", "there") as theirs, empty_memory(tmp_path, "hdf5") as mine:
        filled(theirs.graph)
        theirs.checkpoint()
        mine.graph.relate("harbor", "moors", "boat")
        mine.merge([tmp_path / "theirs.h5"])
        assert names(mine.graph.neighbours("harbor", origin=SAVED)) == [("out", "moors", "boat")]
        assert mine.search("installs with").hits, "though it is found"


# -- what logs mention ----------------------------------------------------------------------------


def mentioning(memory: Memory, folder: Path) -> Memory:
    """A memory of talks in which two files are spoken of together."""
    talk = Talk(1, "/home/ada/harbor")
    for number in range(4):
        talk.user(f"Does src/crane.py number {number} still need src/winch.py there?")
        talk.answer("It does.", model="m", output_tokens=1)
    talk.user("And src/crane.py alone?")
    talk.write(folder / "logs")
    memory.ingest([folder / "logs"])
    memory.index()
    return memory


def test_what_logs_mention_together_is_in_the_same_graph_and_told_apart(
    memory: Memory, tmp_path: Path
) -> None:
    graph = mentioning(memory, tmp_path).graph
    graph.relate("src/crane.py", "belongs to", "quay")
    said, found = graph.neighbours("SRC/crane.py")
    assert (said.relation.origin, said.entity.name) == (SAVED, "quay")
    relation = found.relation
    assert (found.entity.name, found.entity.type, found.entity.origin) == ("src/winch.py", "file", DERIVED)
    assert (relation.origin, relation.relation, relation.times) == (DERIVED, "mentioned with", 4)
    assert 0.8 < relation.weight < 1
    shown = [memory.read(id_).text for id_ in relation.evidence]
    assert shown
    assert all("winch" in text for text in shown)
    crane = graph.entity("src/crane.py")
    assert (crane.origin, crane.mentions, crane.type) == (SAVED, 5, "file")
    assert names(graph.neighbours("src/winch.py")) == [("both", "mentioned with", "src/crane.py")]
    assert names(graph.neighbours("src/crane.py", origin=SAVED)) == [("out", "belongs to", "quay")]
    assert names(graph.neighbours("src/crane.py", direction="out")) == [("out", "belongs to", "quay")]
    assert [each.name for each in graph.path("quay", "src/winch.py").entities][1] == "src/crane.py"
    with pytest.raises(NotFound):
        graph.entity("winch.py")


def test_an_alias_may_be_what_logs_call_it(memory: Memory, tmp_path: Path) -> None:
    graph = mentioning(memory, tmp_path).graph
    graph.add_entity("The Crane", "machine", ["src/crane.py"])
    assert [each.entity.name for each in graph.neighbours("the crane")] == ["src/winch.py"]
    assert graph.entity("src/CRANE.py").mentions == 5
    assert [each.entity.name for each in graph.neighbours("src/winch.py")] == ["The Crane"]


def test_what_logs_mentioned_later_is_not_in_the_graph_of_before(memory: Memory, tmp_path: Path) -> None:
    graph = mentioning(memory, tmp_path).graph
    assert graph.entity("src/winch.py").mentions == 4
    with pytest.raises(NotFound):
        graph.at(datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)).entity("src/winch.py")


# -- what comes to mind ---------------------------------------------------------------------------


def test_activation_spreads_by_weight_fades_with_every_step_and_is_shared(memory: Memory) -> None:
    graph = memory.graph
    graph.relate("a", "to", "strong", weight=3)
    graph.relate("a", "to", "weak", weight=1)
    graph.relate("strong", "to", "far")
    found = {each.entity.name: each.activation for each in graph.activate("a", steps=1, decay=0.4)}
    assert found == {"a": 1.0, "strong": pytest.approx(0.3), "weak": pytest.approx(0.1)}
    two = {each.entity.name: each.activation for each in graph.activate("a", steps=2, decay=0.4)}
    assert two["far"] == pytest.approx(0.3 * 0.4 / 4, abs=1e-6), "of its two relations the other is stronger"
    for number in range(20):
        graph.relate("hub", "to", f"leaf {number}")
    graph.relate("a", "to", "hub", weight=4)
    spread = {each.entity.name: each.activation for each in graph.activate(["a"], limit=0)}
    assert spread["far"] > spread["leaf 3"], "what is related to everything brings little to mind"


def test_a_search_may_bring_to_mind_what_the_graph_knows(memory: Memory) -> None:
    shown = memory.save("before the tests, sync and then lock")
    for text in (
        "run uv sync once a day", "the canteen of the harbor is closed on fridays", "harbor lights are green",
        "paint is dry by noon",
    ):  # fmt: skip
        memory.save(text)
    memory.graph.relate("harbor", "installs with", "uv", evidence=[shown])

    def found(spread: bool) -> list[str]:
        results = memory.search("set up harbor", mode="text", spread=spread)
        return [hit.stored.entry.text for hit in results.hits]

    assert "run uv sync once a day" not in found(False)
    assert {"run uv sync once a day", "before the tests, sync and then lock"} <= set(found(True))
    assert set(found(False)) <= set(found(True))
    assert "paint is dry by noon" not in found(True)
    told = memory.search("set up harbor", spread=True)
    assert told.explain["brought"] == {"uv": 0.5}
    assert "uv sync" in memory.recall([], "set up harbor", spread=True).text


def test_a_search_that_spreads_keeps_to_its_filters(memory: Memory) -> None:
    memory.save("run uv sync once a day", tags=["daily"])
    memory.save("uv is fast", tags=["praise"])
    memory.graph.relate("harbor", "installs with", "uv")
    found = memory.search("harbor tag:daily", spread=True).hits
    assert [hit.stored.entry.text for hit in found] == ["run uv sync once a day"]
    plain, spread = (memory.search("harbor nothing related", spread=each).hits for each in (False, True))
    assert {hit.stored.id for hit in plain} <= {hit.stored.id for hit in spread}


# -- every verb, on both engines, and as a coroutine ----------------------------------------------

VERBS: dict[str, Callable[[MemoryGraph], object]] = {
    "activate": lambda graph: [(each.entity.name, each.activation) for each in graph.activate("harbor")],
    "add_batch": lambda graph: graph.add_batch([NewEntity("x")], [NewRelation("x", "y", "z")]),
    "add_entity": lambda graph: graph.add_entity("x", "y", ["z"]),
    "at": lambda graph: len(graph.at(4e9).neighbours("harbor")),
    "delete": lambda graph: graph.delete(graph.relations()[0].id),
    "entities": lambda graph: [each.name for each in graph.entities(type="Project")],
    "entity": lambda graph: replace(graph.entity("harbor project"), time_ms=0),
    "export": lambda graph: len(graph.export("graphml")),
    "neighbours": lambda graph: names(graph.neighbours("harbor", depth=3)),
    "path": lambda graph: [each.relation for each in graph.path("crane", "rust").relations],
    "relate": lambda graph: graph.relate("a", "b", "c"),
    "relations": lambda graph: [each.id for each in graph.relations(target="UV")],
    "subgraph": lambda graph: sorted(each.id for each in graph.subgraph(["uv"], 2).relations),
    "undo": lambda graph: (
        graph.update(graph.relations()[0].id, weight=0.1)
        and replace(graph.undo(graph.relations()[0].id), from_ms=0, time_ms=0)  # type: ignore[type-var, call-arg]
    ),
    "unrelate": lambda graph: graph.unrelate("crane", "is part of", "harbor"),
    "update": lambda graph: graph.update(graph.relations()[0].id, weight=0.25).weight,
    "whole": lambda graph: [each.name for each in graph.whole().entities],
}


def test_no_verb_of_the_graph_is_forgotten() -> None:
    verbs = {name for part in (GraphReader, MemoryGraph) for name in vars(part) if not name.startswith("_")}
    assert sorted(VERBS) == sorted(verbs)
    assert sorted(verbs) == sorted(name for name in dir(AsyncGraph) if not name.startswith("_"))


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_of_the_graph_answers_the_same_on_every_engine(tmp_path: Path, verb: str) -> None:
    answers = []
    for engine in ENGINES:
        with empty_memory(tmp_path, engine) as opened:
            answers.append(VERBS[verb](filled(opened.graph)))
    assert answers[0]
    assert answers[0] == answers[1]


def test_the_graph_of_an_asynchronous_memory_has_the_same_verbs(tmp_path: Path) -> None:
    async def life() -> list[str]:
        config = Config(tmp_path / "memory.h5", "here", cache=tmp_path / "cache")
        async with AsyncMemory.open(config=config) as memory:
            graph = memory.graph
            await asyncio.gather(*(graph.relate("hub", "to", f"leaf {number}") for number in range(20)))
            await graph.add_entity("hub", aliases=["centre"])
            assert len((await graph.path("leaf 1", "leaf 2")).relations) == 2
            assert await graph.at(JANUARY).relations() == []
            with pytest.raises(NotFound):
                await graph.entity("nobody")
            return [each.entity.name for each in await graph.neighbours("centre")]

    assert sorted(asyncio.run(life())) == sorted(f"leaf {number}" for number in range(20))


# -- against a plain graph ------------------------------------------------------------------------

NAMES = ("a", "B", "b", "c", "D", "e")
Operation = tuple[Any, ...]
OPERATIONS = st.one_of(
    st.tuples(
        st.just("relate"), st.sampled_from(NAMES), st.sampled_from(("to", "of")), st.sampled_from(NAMES),
        st.integers(0, 3),
    ),
    st.tuples(
        st.just("unrelate"), st.sampled_from(NAMES), st.sampled_from(("to", "of")), st.sampled_from(NAMES)
    ),
    st.tuples(
        st.just("add"), st.sampled_from(NAMES), st.lists(st.sampled_from((*NAMES, "x", "Y")), max_size=2)
    ),
    st.tuples(st.just("remove"), st.sampled_from(NAMES)),
    st.tuples(st.just("look")),
    st.tuples(st.just("compact")),
)  # fmt: skip


def do(memory: Memory, plain: PlainGraph, operation: Operation) -> None:
    """One thing, to both; what one refuses, the other does not do."""
    match operation:
        case ("relate", source, relation, target, weight) if source.casefold() != target.casefold():
            memory.graph.relate(source, relation, target, weight=weight)
            plain.weights[source.casefold(), relation, target.casefold()] = weight
        case ("unrelate", source, relation, target):
            ends = plain.key(source), plain.key(target)
            gone = [
                w for w in plain.weights if (plain.key(w[0]), plain.key(w[2])) == ends and w[1] == relation
            ]
            if gone:
                assert memory.graph.unrelate(source, relation, target) == len(gone)
                for each in gone:
                    del plain.weights[each]
        case ("add", name, aliases):
            told = frozenset(each.casefold() for each in aliases) - {name.casefold()}
            others = {key: each for key, each in plain.aliases.items() if key != name.casefold()}
            taken = {*others, *(alias for each in others.values() for alias in each)}
            if told & taken or any(name.casefold() in each for each in others.values()):
                with pytest.raises(UsageError):
                    memory.graph.add_entity(name, aliases=aliases)
            else:
                memory.graph.add_entity(name, aliases=aliases)
                plain.aliases[name.casefold()] = told
        case ("remove", name) if name.casefold() in plain.aliases:
            entity = memory.graph.entity(name)
            assert entity.name.casefold() == name.casefold()
            memory.graph.delete(entity.id)
            del plain.aliases[name.casefold()]
        case ("look",):
            compare(memory, plain)
        case ("compact",):
            memory.compact()


def compare(memory: Memory, plain: PlainGraph) -> None:
    graph = memory.graph
    found = {each.name.casefold() for each in graph.entities()}
    assert found == plain.names()
    for name in found:
        near = graph.neighbours(name, limit=0)
        assert {each.entity.name.casefold() for each in near} == plain.beside(name)
        out = graph.neighbours(name, limit=0, direction="out")
        assert {each.entity.name.casefold() for each in out} == plain.beside(name, "out")
        weights = [each.relation.weight for each in near]
        assert weights == sorted(weights, reverse=True)
        away = {name: 0} | {
            each.entity.name.casefold(): each.depth for each in graph.neighbours(name, depth=16, limit=0)
        }
        assert away == plain.distances(name)
        for other in found:
            way = graph.path(name, other, max_depth=16)
            assert (len(way.relations) if way.entities else -1) == away.get(other, -1)
            for direction in ("both", "out", "in"):
                check_way(graph.path(name, other, max_depth=16, direction=direction), name, other, direction)
    edges = {
        (each.source.casefold(), each.relation, each.target.casefold(), each.weight)
        for name in found
        for each in graph.subgraph([name], 16).relations
    }
    assert edges == plain.edges()


def check_way(way: GraphPath, name: str, other: str, direction: str) -> None:
    """A way begins and ends where it should, and each relation is one between its entity and the next."""
    if not way.entities:
        assert not way.relations
        return
    called = [each.name for each in way.entities]
    assert (called[0].casefold(), called[-1].casefold()) == (name, other)
    for pair, each in zip(itertools.pairwise(called), way.relations, strict=True):
        ends = (each.source, each.target)
        allowed = {"both": (pair, pair[::-1]), "out": (pair,), "in": (pair[::-1],)}[direction]
        assert ends in allowed


@examples(200)
@given(operations=st.lists(OPERATIONS, max_size=14))
def test_whatever_is_said_and_taken_back_the_graph_is_that_of_a_plain_one(
    operations: list[Operation],
) -> None:
    with scratch() as folder, empty_memory(folder, "reference") as memory:
        plain = PlainGraph()
        for each in operations:
            do(memory, plain, each)
        compare(memory, plain)
        with Memory.open(config=memory.config) as anew:
            compare(anew, plain)


@examples(30)
@given(operations=st.lists(OPERATIONS, min_size=6, max_size=14))
def test_the_same_in_a_file(operations: list[Operation]) -> None:
    with scratch() as folder, empty_memory(folder, "hdf5") as memory:
        plain = PlainGraph()
        for each in operations:
            do(memory, plain, each)
        compare(memory, plain)
        assert memory.check() == []


@examples(40)
@given(
    both=st.lists(st.tuples(st.booleans(), OPERATIONS), max_size=12), before=st.lists(OPERATIONS, max_size=4)
)
def test_two_memories_that_went_apart_come_together_whichever_is_first(
    before: list[Operation], both: list[tuple[bool, Operation]]
) -> None:
    with scratch() as folder:
        with empty_memory(folder, "hdf5", "left") as left:
            plain = PlainGraph()
            for each in before:
                do(left, plain, each)
            left.checkpoint()
            left.snapshot(folder / "right.h5")
            with empty_memory(folder, "hdf5", "right") as right:
                plains = replace_all(plain), replace_all(plain)
                for is_left, each in both:
                    side = 0 if is_left else 1
                    do((left, right)[side], plains[side], each)
                right.checkpoint()
            left.checkpoint()
        found = []
        for number, order in enumerate((("left", "right"), ("right", "left"))):
            with empty_memory(folder, "hdf5", f"all{number}") as merged:
                merged.merge([folder / f"{name}.h5" for name in order], own=True)
                found.append((merged.graph.relations(), merged.graph.entities()))
        assert found[0] == found[1]


def replace_all(plain: PlainGraph) -> PlainGraph:
    return PlainGraph(dict(plain.weights), dict(plain.aliases))


def test_the_graph_of_many_states_is_that_of_the_last(memory: Memory) -> None:
    """What is worked on from state to state is what would be worked out anew."""
    for number in range(12):
        memory.graph.relate("hub", "to", f"leaf {number % 5}", weight=number)
        memory.graph.relate(f"leaf {number % 5}", "to", f"tip {number}", time=JANUARY)
        assert memory.graph.neighbours("HUB", limit=0)
        if number % 4 == 3:
            memory.graph.unrelate("hub", "to", "leaf 0")
            memory.graph.add_entity("Hub", aliases=[f"centre {number}"])
    with Memory.open(config=memory.config) as anew:
        for name in ("hub", "leaf 1", "tip 3"):
            assert anew.graph.neighbours(name, depth=3) == memory.graph.neighbours(name, depth=3)
        assert json.loads(anew.graph.export("json")) == json.loads(memory.graph.export("json"))
