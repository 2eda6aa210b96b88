"""Makes the small store that is kept forever, one for each released format version.

    python -m tests.support.make_format_store

writes `tests/data/stores/format-N.h5.gz` and, beside it, what it holds as JSON. Run it for a
format that is not released yet; a released one's files never change again.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import zstandard
from tests.support import DATA

from recollect.config import Config
from recollect.memory import Memory
from recollect.store.contract import View
from recollect.values.records import Role
from recollect.values.stored import Session, Source, StoredEntry, source_bytes
from recollect.values.usage import UsageRow

STORES = DATA / "stores"
HOST = "fixture"

# Always the same place, so that a store made again differs only where the format does.
_FOLDER = Path("/tmp/recollect-format-store")
_SESSION = "f0f0f0f0-5555-4aaa-8bbb-00000000000{}"


def build(folder: Path, store: Path) -> dict[str, bytes]:
    """A store with everything in it that the format knows; returns each path's present content.

    A file that grew, one that was rewritten, one that shares lines with another, one with a
    half-written end, one without a last newline, a compressed one, lines no parser takes,
    texts that cannot be pointed at, and a line too long for one piece.
    """
    shutil.copytree(DATA / "claude", folder / "claude")
    shutil.copytree(DATA / "codex", folder / "codex")
    projects = folder / "claude" / "projects" / "demo"
    projects.mkdir(parents=True)
    content: dict[str, bytes] = {}
    with Memory.open(store, config=Config(store=store, host=HOST)) as memory:
        _first_look(projects, folder / "codex", content)
        memory.ingest([folder])
        _second_look(projects, content)
        memory.ingest([folder])
        _third_look(projects, content)
        # As if the longest piece were a kilobyte: a real one would make this store 64 MiB long.
        with mock.patch("recollect.intake.reader.PIECE_BYTES", 1024):
            memory.ingest([projects])
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix != ".zst":
            content.setdefault(str(path.resolve()), path.read_bytes())
    return content


def contents(memory: Memory) -> dict[str, Any]:
    """What a store holds, without what depends on the machine it was made on."""
    with memory.view() as view:
        made: dict[str, Any] = {
            "sources": [_source(view, source) for source in view.sources()],
            "sessions": [_session(view, session) for session in view.sessions()],
            "types": view.types(),
        }
    usage = memory.usage("session")
    made["tokens"] = {row.group: _tokens(row) for row in (*usage.rows, usage.total)}
    again: dict[str, Any] = json.loads(json.dumps(made))  # as a reader of the file gets it
    return again


def _source(view: View, source: Source) -> dict[str, Any]:
    return {
        "path": source.file.path,
        "host": source.host,
        "session": source.session,
        "role": Role(source.file.role).name,
        "lines": source.lines,
        "superseded": source.superseded,
        "offset": source.cursor.offset,
        "waiting": source.cursor.waiting,
        "sha256": hashlib.sha256(b"".join(source_bytes(source, view.lines(source)))).hexdigest(),
    }


def _session(view: View, session: Session) -> dict[str, Any]:
    facts = session.facts
    return {
        "id": facts.id,
        "agent": facts.agent,
        "host": session.host,
        "title": facts.title,
        "slug": facts.slug,
        "branch": facts.branch,
        "cwd": facts.cwd,
        "model": facts.model,
        "parent": facts.parent,
        "relation": facts.relation.name,
        "root": facts.root,
        "started_ms": facts.started_ms,
        "ended_ms": facts.ended_ms,
        "entries": [_entry(stored) for stored in view.entries(session)],
    }


def _entry(stored: StoredEntry) -> list[Any]:
    entry = stored.entry
    return [
        stored.id,
        stored.session,
        stored.type,
        entry.kind.name,
        entry.flags,
        entry.time_ms,
        entry.tool,
        entry.call,
        entry.model,
        entry.text,
    ]


def _tokens(row: UsageRow) -> list[int]:
    return [
        row.responses,
        row.input,
        row.output,
        row.cache_read,
        row.cache_write_5m,
        row.cache_write_1h,
        row.reasoning,
    ]


def _first_look(projects: Path, codex: Path, content: dict[str, bytes]) -> None:
    grown = projects / f"{_SESSION.format(1)}.jsonl"
    grown.write_bytes(_said(1, 0, 3))
    (projects / f"{_SESSION.format(2)}.jsonl").write_bytes(_said(2, 0, 2) + _half(2))
    (projects / f"{_SESSION.format(3)}.jsonl").write_bytes(_said(3, 0, 4))
    plain = max(codex.glob("*.jsonl"))
    content[str(plain.resolve())] = plain.read_bytes()
    plain.with_suffix(".jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(plain.read_bytes()))
    plain.unlink()


def _second_look(projects: Path, content: dict[str, bytes]) -> None:
    grown = projects / f"{_SESSION.format(1)}.jsonl"
    # Another session begins with the first one's history, then both go on.
    (projects / f"{_SESSION.format(4)}.jsonl").write_bytes(grown.read_bytes() + _said(4, 0, 2))
    grown.write_bytes(grown.read_bytes() + _said(1, 3, 5)[:-1])
    half = projects / f"{_SESSION.format(2)}.jsonl"
    half.write_bytes(half.read_bytes() + b' end"}}\n' + _half(2))
    rewritten = projects / f"{_SESSION.format(3)}.jsonl"
    rewritten.write_bytes(_said(3, 0, 1) + _said(3, 9, 11))
    (projects / f"{_SESSION.format(5)}.jsonl").write_bytes(_said(5, 0, 1) + _ODD + _said(5, 1, 2))


def _third_look(projects: Path, content: dict[str, bytes]) -> None:
    grown = projects / f"{_SESSION.format(1)}.jsonl"
    grown.write_bytes(grown.read_bytes() + b"\n" + _said(1, 5, 6))
    long = _record(6, 1, "long " * 700)
    lines = (_said(6, 0, 1), long, b"\n", _said(6, 2, 3), long)
    (projects / f"{_SESSION.format(6)}.jsonl").write_bytes(b"".join(lines))


# What breaks naive readers: lone surrogates, NaN, NUL, bytes that are no UTF-8, two records
# spliced into one line, blank lines, a CR, values that are no records, unknown types.
_ODD = (
    b"\n".join(
        (
            b'{"type":"user","uuid":"odd-1","sessionId":"f0f0f0f0-5555-4aaa-8bbb-000000000005",'
            b'"message":{"role":"user","content":"half a pair: \\ud83d, and \\u00fc, \\/ and \\u0000"}}',
            b'{"type":"user","uuid":"odd-2","cost":NaN,"sessionId":"f0f0f0f0-5555-4aaa-8bbb-000000000005",'
            b'"message":{"role":"user","content":"not a number"}}',
            b"\0\0\0\0",
            b"\xff\xfe{}",
            b'{"type":"user"}{"type":"user"}',
            b"",
            b"  \t",
            b'{"type":"mode"}\r',
            b'["an array"]',
            b"3",
            b'{"type":"from-the-future","content":"unknown \xe2\x82\xac"}',
            b"",
        )
    )
    + b"\n"
)


def _said(session: int, start: int, stop: int) -> bytes:
    records = (_record(session, n, f"line {n} of session {session} \u2713") for n in range(start, stop))
    return b"".join(record + b"\n" for record in records)


def _record(session: int, number: int, text: str) -> bytes:
    content = [{"type": "text", "text": text}, {"type": "text", "text": "and more"}]
    parent = f"{session}-{number - 1}" if number else None
    record = {
        "type": "user",
        "uuid": f"{session}-{number}",
        "parentUuid": parent,
        "sessionId": _SESSION.format(session),
        "timestamp": f"2026-05-0{session}T10:00:{number:02}.000Z",
        "cwd": "/home/demo/project",
        "version": "2.1.0",
        "gitBranch": "main",
        "message": {"role": "user", "content": content},
    }
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()


def _half(session: int) -> bytes:
    return _record(session, 7, "cut").partition(b'"message"')[0] + b'"message":{"role":"user","content":"cut'


def main() -> int:
    from recollect.light.store_header import FORMAT_VERSION

    _FOLDER.mkdir()
    try:
        store = _FOLDER / "memory.h5"
        build(_FOLDER / "sources", store)
        with Memory.open(store, config=Config(store=store, host=HOST)) as memory:
            assert memory.check() == []
            expected = contents(memory)
        STORES.mkdir(exist_ok=True)
        target = STORES / f"format-{FORMAT_VERSION}.h5.gz"
        target.write_bytes(gzip.compress(store.read_bytes(), 9, mtime=0))
        text = json.dumps(expected, indent=1, ensure_ascii=True) + "\n"
        target.with_name(f"format-{FORMAT_VERSION}.json").write_text(text, "ascii")
        print(f"{target}: {target.stat().st_size} bytes, {store.stat().st_size} unpacked")
    finally:
        shutil.rmtree(_FOLDER)
    return 0


if __name__ == "__main__":
    sys.exit(main())
