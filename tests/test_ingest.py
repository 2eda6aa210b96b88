"""Ingest: every byte comes back, nothing is taken twice, and the numbers add up."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect import ingest as ingest_module
from recollect import reader
from recollect.adapters import ADAPTERS
from recollect.discover import discover
from recollect.ingest import Report
from recollect.memory import Memory
from recollect.records import Kind, Segment, SourceFile
from recollect.store.base import source_bytes
from tests.conftest import DATA, HOST, content, open_memory, scratch, sources_of

few = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
more = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))

FIXTURES = sorted(path for path in DATA.rglob("*") if path.is_file())
LINE_FIXTURES = [path for path in FIXTURES if path.suffix == ".jsonl"]
WHOLE = {path: path.read_bytes() for path in FIXTURES}


def uuid_of(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def claude_path(root: Path, number: int) -> Path:
    """Where Claude Code would keep a session: recognised by place and name, whatever is in it."""
    return root / "projects" / "-work-demo" / f"{uuid_of(number)}.jsonl"


def codex_path(root: Path, number: int) -> Path:
    return root / "sessions" / "2026" / "01" / f"rollout-2026-01-02T03-04-05-{uuid_of(number)}.jsonl"


def write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def said(number: int, text: str, session: int = 1, **more: Any) -> bytes:
    """One Claude Code record: a prompt."""
    record = {
        "type": "user", "uuid": uuid_of(10_000 + number), "sessionId": uuid_of(session),
        "timestamp": f"2026-01-02T03:{number // 60 % 60:02d}:{number % 60:02d}.000Z", "cwd": "/work/demo",
        "message": {"role": "user", "content": text}, **more,
    }  # fmt: skip
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")


def answered(number: int, text: str, output: int, message: int, session: int = 1) -> bytes:
    """One Claude Code record: an answer with its tokens."""
    body = {
        "id": f"msg_{message:04d}", "role": "assistant", "model": "claude-opus-4-6",
        "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 10, "output_tokens": output},
    }  # fmt: skip
    return said(number, "", session, type="assistant", message=body, requestId=f"req_{message:04d}")


def adds_up(report: Report) -> bool:
    parts = report.taken + report.duplicate + report.bad + report.blank + report.waiting
    return report.lines == parts and report.bad == sum(report.bad_reasons.values())


def texts(memory: Memory, session: str) -> list[str]:
    return [stored.entry.text for stored in memory.show(session)]


def digest(path: Path) -> bytes:
    return hashlib.blake2b(path.read_bytes()).digest()


# -- every byte --------------------------------------------------------------------------------

_ODD = [
    b"", b" ", b"\t\r", b"\r", b"\0", b"\0" * 40, b"\xef\xbb\xbf{}", b"\xff\xfe", b"\x0b", b"\xc2\x85", b"{", b"}",
    "\u2028\u2029".encode(), b"null", b"12", b"-0.0", b"NaN", b'"\\ud800"', b"[1,2", b'{"type":"user"}',
    b'{"a":1}{"b":2}', b'{"type":"user","message":{"role":"user","content":"x\\u2028y"},"sessionId":"s"}',
    said(1, "a \u2028 b \x0b c \x85 d"), said(2, "e\u0301 \U0001f600"), said(3, "\ud83d"), said(4, "x") + b"\r",
    answered(5, "fine", 7, 1), b'{"type":"no-such-type","uuid":"u","sessionId":"s"}',
]  # fmt: skip
_line = st.sampled_from(_ODD) | st.binary(max_size=60).map(lambda b: b.replace(b"\n", b"")) | st.text(
    max_size=30
).map(lambda text: said(9, text))
_file = st.tuples(st.lists(_line, max_size=12), st.booleans()).map(
    lambda made: b"\n".join(made[0]) + (b"\n" if made[1] and made[0] else b"")
) | st.binary(max_size=200) | st.integers(0, 5).map(lambda n: b"\n" * n)  # fmt: skip


@few
@given(files=st.lists(_file, min_size=1, max_size=10))
def test_c17_any_bytes_come_back_after_ingest_reopen_compact_reparse_and_snapshot(files: list[bytes]) -> None:
    with scratch() as folder:
        for n, data in enumerate(files):
            write((claude_path if n % 2 else codex_path)(folder / "logs", 500 + n), data)
        wanted = {
            str(path): path.read_bytes() for path in (folder / "logs").rglob("*.jsonl") if path.stat().st_size
        }
        with open_memory(folder / "m.h5") as memory:
            report = memory.ingest([folder / "logs"])
            assert adds_up(report)
            assert report.lines == sum(len(data.split(b"\n")) - data.endswith(b"\n") for data in wanted.values())
            assert sources_of(memory) == wanted
            for n, data in enumerate(files):
                if data and n % 2:
                    assert b"".join(memory.raw(uuid_of(500 + n))) == data
        with open_memory(folder / "m.h5", create=False) as memory:
            assert sources_of(memory) == wanted
            before = content(memory)
            memory.snapshot(folder / "copy.h5")
            memory.compact()
            assert content(memory) == before
            memory.reparse()
            assert content(memory) == before
            assert not memory.ingest([folder / "logs"]).bytes_parsed
        with open_memory(folder / "copy.h5", create=False) as copy:
            assert content(copy) == before


@few
@given(files=st.lists(st.lists(_line, max_size=8), min_size=1, max_size=8), piece=st.integers(1, 40))
def test_c18_a_line_longer_than_a_piece_comes_back_whole(files: list[list[bytes]], piece: int) -> None:
    """The path of a 200 MB line, in small: whatever the sizes of chunk and piece are."""
    with scratch() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "CHUNK_BYTES", max(piece // 3, 1))
        patch.setattr(reader, "PIECE_BYTES", piece)
        patch.setattr(ingest_module, "PIECE_BYTES", piece)
        paths = [write(codex_path(folder / "logs", n), b"\n".join(lines)) for n, lines in enumerate(files)]
        half = len(paths) // 2
        for path in paths[:half]:
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with open_memory(folder / "m.h5") as memory:
            memory.ingest([folder / "logs"])
            for path, lines in zip(paths, files, strict=True):
                path.write_bytes(b"\n".join(lines))
            assert adds_up(memory.ingest([folder / "logs"]))
            wanted = {str(path): path.read_bytes() for path in paths if path.stat().st_size}
            assert sources_of(memory) == wanted
            memory.reparse()
            assert sources_of(memory) == wanted


# -- growing files -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def at_once() -> dict[str, Any]:
    """What ingesting all fixtures in one go gives, with paths below "logs"."""
    with scratch() as folder:
        for path, data in WHOLE.items():
            write(folder / "logs" / path.relative_to(DATA), data)
        with open_memory(folder / "m.h5") as memory:
            memory.ingest([folder / "logs"])
            return _anywhere(content(memory), folder)


def _anywhere(found: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Content without the scratch folder's name."""
    for part in ("owners", "raw"):
        found[part] = {os.path.relpath(path, folder): value for path, value in found[part].items()}
    return found


def cuts(data: bytes) -> st.SearchStrategy[int]:
    """Places in a file, those around its newlines more often than others."""
    ends = [0] + [n for n, byte in enumerate(data) if byte == 10]
    near = st.tuples(st.sampled_from(ends), st.integers(-1, 2)).map(
        lambda at: min(max(sum(at), 0), len(data))
    )
    return near | st.integers(0, len(data))


@more
@given(data=st.data())
def test_a_file_taken_in_parts_equals_the_file_taken_at_once(
    data: st.DataObject, at_once: dict[str, Any]
) -> None:
    """Growth arrives by sweep or by journal, cut at any byte, with a checkpoint in between or not."""
    with scratch() as folder, open_memory(folder / "m.h5") as memory:
        for path in LINE_FIXTURES:
            write(folder / "logs" / path.relative_to(DATA), b"")
        lengths = dict.fromkeys(LINE_FIXTURES, 0)
        for _ in range(data.draw(st.integers(1, 2), label="rounds")):
            by_journal = data.draw(st.booleans(), label="by journal")
            for path in LINE_FIXTURES:
                cut = max(data.draw(cuts(WHOLE[path])), lengths[path])
                _grow(memory, folder, path, lengths[path], cut, by_journal=by_journal)
                lengths[path] = cut
            if data.draw(st.booleans(), label="checkpoint"):
                memory.checkpoint()
            elif not by_journal:
                assert adds_up(memory.ingest([folder / "logs"]))
            seen = sources_of(memory)
            for path, length in lengths.items():
                target = str(folder / "logs" / path.relative_to(DATA))
                if by_journal:
                    assert seen.get(target, b"") == WHOLE[path][:length]
        for path in FIXTURES:
            write(folder / "logs" / path.relative_to(DATA), WHOLE[path])
        assert adds_up(memory.ingest([folder / "logs"]))
        assert _anywhere(content(memory), folder) == at_once
        assert not any(source.superseded for source in memory.sources())


def _grow(memory: Memory, folder: Path, path: Path, start: int, stop: int, *, by_journal: bool) -> None:
    target = folder / "logs" / path.relative_to(DATA)
    target.write_bytes(WHOLE[path][:stop])
    if by_journal and stop > start:
        memory.append(Segment(_source(path, target), HOST, start, WHOLE[path][start:stop]))


def _source(path: Path, target: Path) -> SourceFile:
    for adapter in ADAPTERS:
        head = [json.loads(line) for line in WHOLE[path].splitlines() if line.startswith(b"{")]
        found = adapter.recognise(target, head)
        if found is not None:
            return found
    raise AssertionError(path)
