"""Lines that are no record and hold whole ones: two writers, or a power cut, leave them in normal use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.logs import adds_up, claude_path, codex_path, said, texts
from tests.support.memories import open_memory

from recollect.agents.decode import BadLine, decode, records_inside

WHOLE, NEXT = said(1, "the harbor light"), said(2, "the other pier")

SPLICED = {
    "a cut record and the next": WHOLE[:-40] + NEXT,
    "a cut in the middle of a word": WHOLE[: WHOLE.index(b"harbor") + 3] + NEXT,
    "a cut behind a colon": WHOLE[: WHOLE.index(b'"message":') + 10] + NEXT,
    "NULs before a record": b"\0" * 700 + NEXT,
    "NULs between two": b"\0" * 7 + NEXT + b"\0" * 3,
}


@pytest.mark.parametrize("how", SPLICED)
def test_the_record_behind_a_cut_is_found(tmp_path: Path, how: str) -> None:
    log = claude_path(tmp_path / "logs", 1)
    log.parent.mkdir(parents=True)
    log.write_bytes(said(0, "before") + b"\n" + SPLICED[how] + b"\n" + said(3, "behind") + b"\n")
    with open_memory(tmp_path / "m.h5") as memory:
        report = memory.ingest([log])
        assert adds_up(report)
        assert report.bad == 1
        assert memory.odd_lines()["bad"] == memory.odd_lines()["spliced"] == 1
        (session,) = memory.sessions()
        assert texts(memory, session.facts.id) == ["before", "the other pier", "behind"]
        assert memory.search("pier").hits
        assert b"".join(memory.raw(session.facts.id)) == log.read_bytes()
        memory.reparse()
        assert memory.search("pier").hits
        assert memory.ingest([log]).bad == 0, "it is known"


def test_two_records_on_one_line_are_two(tmp_path: Path) -> None:
    log = claude_path(tmp_path / "logs", 1)
    log.parent.mkdir(parents=True)
    log.write_bytes(WHOLE + NEXT + b"\n")
    with open_memory(tmp_path / "m.h5") as memory:
        assert adds_up(memory.ingest([log]))
        (session,) = memory.sessions()
        assert texts(memory, session.facts.id) == ["the harbor light", "the other pier"]


def test_parts_of_a_cut_record_are_no_records(tmp_path: Path) -> None:
    """What an answer quotes may look like a record, and stands inside of one."""
    inside = json.loads(NEXT)
    outer = json.dumps({**json.loads(WHOLE), "toolUseResult": {"copy": inside, "more": [1, 2, 3]}}).encode()
    log = claude_path(tmp_path / "logs", 1)
    log.parent.mkdir(parents=True)
    log.write_bytes(outer[:-8] + b"\n" + said(3, "behind") + b"\n")
    with open_memory(tmp_path / "m.h5") as memory:
        assert memory.ingest([log]).bad == 1
        (session,) = memory.sessions()
        assert texts(memory, session.facts.id) == ["behind"]
        assert memory.odd_lines()["spliced"] == 0


def test_another_agents_lines_too(tmp_path: Path) -> None:
    def record(type_: str, **payload: Any) -> bytes:
        told = {"timestamp": "2026-01-02T03:04:05.000Z", "type": type_, "payload": payload}
        return json.dumps(told).encode()

    meta = record("session_meta", id="0197b5e2-0000-7000-8000-000000000001", cwd="/home/ada/harbor")
    text = [{"type": "input_text", "text": "the harbor light"}]
    message = record("response_item", type="message", role="user", content=text)
    log = codex_path(tmp_path / "logs", 1)
    log.parent.mkdir(parents=True)
    log.write_bytes(meta + b"\n" + message[:30] + message + b"\n")
    with open_memory(tmp_path / "m.h5") as memory:
        assert memory.ingest([log]).bad == 1
        assert memory.search("harbor light").hits


records = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=5), records, min_size=1, max_size=4)


@examples(200)
@given(
    cut=objects,
    whole=st.lists(objects, min_size=1, max_size=3),
    at=st.floats(0.1, 0.95),
    nuls=st.integers(0, 3),
)
def test_whole_records_at_the_end_of_a_line_are_always_among_those_found(
    cut: dict[str, Any], whole: list[dict[str, Any]], at: float, nuls: int
) -> None:
    begun = json.dumps(cut).encode()
    begun = begun[: int(len(begun) * at)]
    line = begun + b"\0" * nuls + b"".join(json.dumps(each).encode() for each in whole)
    try:
        decode(line)
    except BadLine:
        assert records_inside(line)[-len(whole) :] == whole


@examples(200)
@given(data=st.binary(max_size=200) | st.text(alphabet='{}[]",:a\0', max_size=120).map(str.encode))
def test_no_line_is_too_odd(data: bytes) -> None:
    assert all(isinstance(each, dict) for each in records_inside(data))


def test_a_long_line_of_beginnings_costs_a_bounded_number_of_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    from recollect.agents import decode as module

    tries = 0
    real = module._decoder.raw_decode

    class Counting:
        def raw_decode(self, text: str, at: int) -> tuple[Any, int]:
            nonlocal tries
            tries += 1
            return real(text, at)

    monkeypatch.setattr(module, "_decoder", Counting())
    assert records_inside(b'{"a":' * 100_000) == []
    assert 0 < tries < 1000
