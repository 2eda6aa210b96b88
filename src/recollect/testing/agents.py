"""What every adapter promises, whatever its format. An adapter's test class inherits this."""

from __future__ import annotations

import copy
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.agents.registry import ADAPTERS, Adapter
from recollect.values.records import Entry, Flag, Framing, Kind, Parsed, SessionFacts, SourceFile, Usage

DATA = Path(__file__).parents[3] / "tests" / "data"
STATE_BYTES_MAX = 16_000  # bytes of parser state a cursor may have to carry

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("2026-03-02T09:00:00.000Z"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)

inherited = settings(suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow])


class AdapterContract:
    adapter: ClassVar[Adapter]
    folder: ClassVar[Path]
    corpus_folder: ClassVar[str]
    envelopes: ClassVar[
        tuple[dict[str, Any], ...]
    ]  # a record of an unknown type, one for each place of a type

    def test_every_fixture_is_recognised_by_its_adapter_alone(self) -> None:
        for path in fixtures(self.folder):
            found = [a.name for a in ADAPTERS if a.recognise(path, iter(records(path)))]
            assert found == [self.adapter.name], path

    def test_every_line_gives_at_least_one_entry(self) -> None:
        for source, lines in self.line_sources():
            parser = self.adapter.parser(source, {})
            for line in lines:
                parsed = parser.parse(line)
                assert parsed.entries
                assert all(isinstance(entry, Entry) for entry in parsed.entries)

    def test_known_means_no_unknown_entry(self) -> None:
        for source, lines in self.line_sources():
            parser = self.adapter.parser(source, {})
            for line in lines:
                parsed = parser.parse(line)
                assert parsed.known is all(entry.kind is not Kind.UNKNOWN for entry in parsed.entries)

    def test_an_unknown_record_is_reported_under_the_agents_name(self) -> None:
        source, _ = next(self.line_sources())
        for record in self.envelopes:
            parsed = self.adapter.parser(source, {}).parse(record)
            assert not parsed.known
            assert "soothsayer" in parsed.type
            assert [entry.kind for entry in parsed.entries] == [Kind.UNKNOWN]

    def test_no_character_is_replaced(self) -> None:
        for source, lines in self.line_sources():
            parser = self.adapter.parser(source, {})
            for line in lines:
                assert not any("\ufffd" in entry.text for entry in parser.parse(line).entries)

    def test_a_copy_carries_no_text_of_its_own(self) -> None:
        """Text under COPY is never indexed, so it must be text that stands elsewhere."""
        for source, lines in self.line_sources():
            parser = self.adapter.parser(source, {})
            parsed = [parser.parse(line) for line in lines]
            said = {e.text for p in parsed for e in p.entries if not e.flags & Flag.COPY}
            copied = {e.text for p in parsed for e in p.entries if e.flags & Flag.COPY and e.text}
            assert copied <= said

    @inherited
    @given(data=st.data())
    def test_any_json_value_parses(self, data: st.DataObject) -> None:
        source, _ = data.draw(st.sampled_from(list(self.line_sources())))
        parser = self.adapter.parser(source, {})
        for record in data.draw(st.lists(JSON, min_size=1, max_size=3)):
            assert_well_formed(parser.parse(record))
        json.dumps(parser.state())

    @inherited
    @given(data=st.data())
    def test_a_real_record_with_anything_in_it_parses(self, data: st.DataObject) -> None:
        source, lines = data.draw(st.sampled_from(list(self.line_sources())))
        parser = self.adapter.parser(source, {})
        for record in data.draw(st.lists(st.sampled_from(lines), min_size=1, max_size=4)):
            assert_well_formed(parser.parse(mutated(data, record)))
        assert_resumes(self.adapter, source, parser.state())

    @inherited
    @given(data=st.binary(max_size=200))
    def test_any_document_parses(self, data: bytes) -> None:
        for path in fixtures(self.folder):
            source = self.source(path)
            if source.framing is Framing.DOCUMENT:
                assert_well_formed(self.adapter.parser(source, {}).document(data))

    def test_a_source_cut_anywhere_gives_what_it_gives_whole(self) -> None:
        for source, lines in self.line_sources():
            expected = whole(self.adapter, source, lines)
            for cut in range(1, len(lines)):
                assert in_pieces(self.adapter, source, lines, [cut]) == expected, (source.path, cut)

    @inherited
    @given(data=st.data())
    def test_a_source_read_in_pieces_gives_what_it_gives_whole(self, data: st.DataObject) -> None:
        source, lines = data.draw(st.sampled_from(list(self.line_sources())))
        lines = data.draw(st.lists(st.sampled_from(lines), max_size=20))
        cuts = data.draw(st.lists(st.integers(1, 20), max_size=4))
        assert in_pieces(self.adapter, source, lines, cuts) == whole(self.adapter, source, lines)

    def test_the_state_stays_small(self) -> None:
        for source, lines in self.line_sources():
            parser = self.adapter.parser(source, {})
            for line in lines * 50:
                parser.parse(line)
            assert len(json.dumps(parser.state())) < STATE_BYTES_MAX

    @pytest.mark.corpus
    def test_the_corpus_parses_and_holds_nothing_unknown(self) -> None:
        unknown: Counter[str] = Counter()
        lines_count = 0
        for source, lines in self.corpus_sources():
            parser = self.adapter.parser(source, {})
            for line in lines:
                parsed = parser.parse(line)
                assert parsed.entries
                lines_count += 1
                unknown[parsed.type] += not parsed.known
            assert parser.facts.id
        assert lines_count
        # What is left are junk lines in one published test file: numbers, strings, {}.
        assert sum(unknown.values()) <= lines_count // 5000, unknown.most_common(10)

    @pytest.mark.corpus
    def test_the_corpus_read_in_pieces_gives_what_it_gives_whole(self) -> None:
        for source, lines in self.corpus_sources():
            cuts = [len(lines) // 3, len(lines) // 2, len(lines) - 1]
            assert in_pieces(self.adapter, source, lines, cuts) == whole(self.adapter, source, lines), source

    def source(self, path: Path) -> SourceFile:
        found = self.adapter.recognise(path, iter(records(path)))
        assert found is not None, path
        return found

    def line_sources(self) -> Iterator[tuple[SourceFile, list[Any]]]:
        for path in fixtures(self.folder):
            source = self.source(path)
            if source.framing is Framing.LINES:
                yield source, records(path)

    def corpus_sources(self) -> Iterator[tuple[SourceFile, list[Any]]]:
        root = os.environ.get("RECOLLECT_CORPUS")
        if not root:
            pytest.skip("RECOLLECT_CORPUS names no folder of real logs")
        for path in sorted((Path(root) / self.corpus_folder).rglob("*.jsonl")):
            lines = read_records(path)
            source = self.adapter.recognise(path, iter(lines))
            if source is not None:
                yield source, lines


@cache
def fixtures(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@cache
def records(path: Path) -> list[Any]:
    return read_records(path)


def read_records(path: Path) -> list[Any]:
    found = []
    for line in path.read_bytes().split(b"\n"):
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


Outcome = list[tuple[Parsed, SessionFacts]]


def whole(adapter: Adapter, source: SourceFile, lines: list[Any]) -> Outcome:
    """What each line gives, with the session as known after it."""
    parser = adapter.parser(source, {})
    return [(parser.parse(line), replace(parser.facts)) for line in lines]


def in_pieces(adapter: Adapter, source: SourceFile, lines: list[Any], cuts: list[int]) -> Outcome:
    """The same, but at each cut a new parser goes on from the state of the one before."""
    parser = adapter.parser(source, {})
    outcome: Outcome = []
    for number, line in enumerate(lines):
        if number in cuts:
            parser = adapter.parser(source, json.loads(json.dumps(parser.state())))
        outcome.append((parser.parse(line), replace(parser.facts)))
    return outcome


def mutated(data: st.DataObject, record: Any) -> Any:
    """The record with one value, somewhere in it, replaced by any JSON value."""
    changed = copy.deepcopy(record)
    holder: Any = None
    key: Any = None
    inner = changed
    while isinstance(inner, dict | list) and inner and (holder is None or data.draw(st.integers(0, 3))):
        holder = inner
        key = data.draw(st.sampled_from(list(inner) if isinstance(inner, dict) else range(len(inner))))
        inner = inner[key]
    if holder is None:
        return data.draw(JSON)
    holder[key] = data.draw(JSON)
    return changed


def assert_well_formed(parsed: Parsed) -> None:
    """Every value has the type its field promises, so that a store can write it unseen."""
    assert type(parsed.type) is str
    assert type(parsed.uuid) is str
    assert type(parsed.parent) is str
    assert parsed.entries
    for entry in parsed.entries:
        assert type(entry.kind) is Kind
        for text in (entry.text, entry.tool, entry.call, entry.model):
            assert type(text) is str
        assert type(entry.flags) is int
        assert type(entry.time_ms) is int
        assert 0 <= entry.time_ms < 2**53
    if parsed.usage is not None:
        assert_usage_well_formed(parsed.usage)


def assert_usage_well_formed(usage: Usage) -> None:
    for name in ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning"):
        count = getattr(usage, name)
        assert type(count) is int
        assert 0 <= count <= 2**53
    assert usage.key
    assert type(usage.model) is str


def assert_resumes(adapter: Adapter, source: SourceFile, state: dict[str, Any]) -> None:
    """A state survives JSON and gives a parser that would hand on the same state."""
    assert adapter.parser(source, json.loads(json.dumps(state))).state() == state
