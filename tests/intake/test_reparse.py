"""Deriving again: from the stored lines alone, with today's adapters, losing nothing on the way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.logs import (
    FIXTURES,
    WHOLE,
    claude_path,
    codex_path,
    digest,
    placed,
    said,
    texts,
    uuid_of,
    write,
)
from tests.support.memories import HOST, content, open_memory, sources_of

from recollect.agents.claude.parse import ClaudeParser
from recollect.intake import ingest, reader
from recollect.memory import Memory
from recollect.values.records import Parsed, Relation, Segment, SourceFile
from recollect.values.stored import source_bytes


@pytest.fixture
def memory(folder: Path) -> Any:
    for path in FIXTURES:
        write(placed(folder, path), WHOLE[path])
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder / "logs"])
        yield memory


def test_the_same_adapters_give_the_same_store_without_any_log(memory: Memory, folder: Path) -> None:
    before = content(memory)
    (folder / "logs").rename(folder / "away")
    report = memory.reparse()
    assert report.entries_before == report.entries_after == memory.info().entries
    assert report.lines == sum(source.lines for source in memory.sources())
    assert content(memory) == before
    assert memory.check() == []
    (folder / "away").rename(folder / "logs")
    assert memory.ingest([folder / "logs"]).bytes_parsed == 0  # and it still knows how far it had read


@pytest.mark.parametrize("size", [1, 3_000])
def test_however_few_lines_are_taken_at_once_the_store_is_the_same(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    before = content(memory)
    monkeypatch.setattr("recollect.intake.reparse._BYTES_AT_ONCE", size)
    memory.reparse()
    assert content(memory) == before
    assert memory.check() == []


def test_a_better_adapter_changes_entries_and_no_line(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = sources_of(memory)
    parse = ClaudeParser.parse

    def better(self: ClaudeParser, record: Any, /) -> Parsed:
        parsed = parse(self, record)
        return replace(parsed, entries=tuple(replace(e, text=e.text.upper()) for e in parsed.entries))

    monkeypatch.setattr(ClaudeParser, "parse", better)
    before = texts(memory, "b2b2c3d4")
    memory.reparse()
    assert texts(memory, "b2b2c3d4") == [text.upper() for text in before]
    assert sources_of(memory) == raw


def test_a_reparse_that_fails_changes_nothing(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path.name: digest(path) for path in Path(memory.name).parent.glob("*.h5*")}
    calls = 0

    def failing(self: ClaudeParser, record: Any, /) -> Parsed:
        nonlocal calls
        calls += 1
        if calls > 20:
            raise MemoryError
        return Parsed("x", ())

    monkeypatch.setattr(ClaudeParser, "parse", failing)
    with pytest.raises(MemoryError):
        memory.reparse()
    assert {path.name: digest(path) for path in Path(memory.name).parent.glob("*.h5*")} == before


def test_links_that_only_a_folder_told_survive(memory: Memory) -> None:
    memory.reparse()
    agent = memory.session("agent-7c01")
    assert agent.facts.relation is Relation.SUBAGENT
    assert agent.facts.parent == "a1b2c3d4-1111-4aaa-8bbb-000000000001"


def test_replaced_versions_stay_and_their_lines_are_stored_once(folder: Path) -> None:
    path = claude_path(folder / "logs", 1)
    with open_memory(folder / "m.h5") as memory:
        versions = []
        for n in range(3):
            versions.append(b"".join(said(m, f"prompt {m} {n if m > 2 else 0}") + b"\n" for m in range(5)))
            write(path, versions[-1])
            memory.ingest([folder / "logs"])
        before, lines = content(memory), memory.info().lines
        memory.reparse()
        assert content(memory) == before
        assert memory.info().lines == lines
        with memory.view() as view:
            assert [b"".join(source_bytes(s, view.lines(s))) for s in view.sources()] == versions
            assert [source.superseded for source in view.sources()] == [True, True, False]


@pytest.mark.parametrize("end", [b'{"half', said(2, "whole, no newline"), b"12", b""])
def test_a_file_goes_on_where_it_was_after_a_reparse(folder: Path, end: bytes) -> None:
    whole = said(1, "first") + b"\n" + said(2, "whole, no newline") + b"\n" + said(3, "third") + b"\n"
    path = write(claude_path(folder / "logs", 1), said(1, "first") + b"\n" + end)
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder / "logs"])
        memory.reparse()
        assert b"".join(memory.raw(uuid_of(1))) == path.read_bytes()
        path.write_bytes(path.read_bytes() + b"\n" + whole)
        memory.ingest([folder / "logs"])
        assert b"".join(memory.raw(uuid_of(1))) == path.read_bytes()
        assert texts(memory, uuid_of(1))[-1] == "third"


def test_pieces_of_a_long_line_are_not_taken_for_lines(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a piece may look like a record; it is still the middle of one."""
    monkeypatch.setattr(reader, "CHUNK_BYTES", 100)
    monkeypatch.setattr(reader, "PIECE_BYTES", 1000)
    monkeypatch.setattr(ingest, "PIECE_BYTES", 1000)
    long = b"x" * 3000 + b'{"type":"user"}'
    path = write(codex_path(folder / "logs", 1), b"{}\n" + long + b"\n{}\n" + b"y" * 2000 + b"[1]")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder / "logs"])
        before = content(memory)
        memory.reparse()
        assert content(memory) == before
        assert sources_of(memory) == {str(path): path.read_bytes()}


def test_lines_of_an_agent_not_known_here_are_kept_for_one_who_knows(folder: Path) -> None:
    source = SourceFile("agent-of-tomorrow", "/gone/x.jsonl", session="tomorrow")
    data = b'{"said":"hello"}\nnot JSON\n'
    with open_memory(folder / "m.h5") as memory:
        memory.append(Segment(source, HOST, 0, data))
        memory.checkpoint()
        memory.reparse()
        memory.compact()
        assert sources_of(memory) == {"/gone/x.jsonl": data}
        assert memory.session("tomorrow").facts.agent == "agent-of-tomorrow"


def test_what_waits_in_the_journal_is_folded_first(memory: Memory, folder: Path) -> None:
    source = SourceFile("claude", "/gone/y.jsonl", session="y")
    memory.append(Segment(source, HOST, 0, said(1, "waiting") + b"\n"))
    memory.reparse()
    assert texts(memory, "y") == ["waiting"]
    assert not (folder / "m.h5-wal").exists()
