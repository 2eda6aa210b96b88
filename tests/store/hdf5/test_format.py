"""`docs/format.md` is enough to read a store, and says about the code what is true.

The reader in `format_reader.py` was written from that page; here it meets real stores.
"""

from __future__ import annotations

import errno
import fcntl
import gzip
import hashlib
import itertools
import json
import os
import re
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from tests.support import ROOT
from tests.support.format_reader import Entry, FormatReader, Header, Redo, bytes_key, line_key, name_key
from tests.support.make_format_store import HOST, STORES, build, contents

from recollect.config import Config
from recollect.light.disk import Disk
from recollect.light.store_header import FORMAT_VERSION
from recollect.memory import Memory
from recollect.store.hdf5.engine import Hdf5Store
from recollect.store.hdf5.forms import TextForm
from recollect.store.hdf5.layout import BLOCKS, STREAMS, TABLES
from recollect.testing.derived import ROWS, listed, some_rows
from recollect.values.errors import StoreCorrupt
from recollect.values.records import (
    Cursor,
    Flag,
    Framing,
    Kind,
    LineFlag,
    Relation,
    Role,
    Segment,
    SourceFile,
    SourceFlag,
)
from recollect.values.stored import VectorModel, source_bytes

PAGE = ROOT / "docs" / "format.md"
ENUMERATIONS = (Kind, Flag, LineFlag, SourceFlag, Relation, Role, Framing, TextForm)
TOKENS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning")


def opened(path: Path) -> Memory:
    return Memory.open(path, create=False, config=Config(store=path, host=HOST))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """A store with one of everything, and the present content of each file in it."""
    folder = tmp_path_factory.mktemp("format").resolve()
    store = folder / "memory.h5"
    return store, build(folder / "sources", store)


@pytest.fixture
def copy(made: tuple[Path, dict[str, bytes]], tmp_path: Path) -> Path:
    """The same store, to be changed."""
    path = tmp_path / "memory.h5"
    path.write_bytes(made[0].read_bytes())
    return path


@pytest.fixture(scope="module")
def reader(made: tuple[Path, dict[str, bytes]]) -> Iterator[FormatReader]:
    with FormatReader(made[0]) as reader:
        yield reader


# -- the reader against Recollect --------------------------------------------------------------


def test_every_source_is_exported_byte_for_byte(
    made: tuple[Path, dict[str, bytes]], reader: FormatReader
) -> None:
    present = {source.path: source for source in reader.sources() if not source.superseded}
    assert set(present) == set(made[1])
    for path, source in present.items():
        assert b"".join(reader.content(source.row)) == made[1][path], path


def test_replaced_versions_are_exported_as_they_were(
    made: tuple[Path, dict[str, bytes]], reader: FormatReader
) -> None:
    found = compare_sources(made[0], reader)
    assert found["superseded"], "the store should hold a rewritten file"


def test_every_entry_is_what_show_gives(made: tuple[Path, dict[str, bytes]], reader: FormatReader) -> None:
    forms = compare_sessions(made[0], reader)
    assert forms == set(range(4)), "the store should hold a text of every form"


def test_tokens_add_up(made: tuple[Path, dict[str, bytes]], reader: FormatReader) -> None:
    compare_usage(made[0], reader)


def test_every_flag_of_lines_and_sources_occurs(reader: FormatReader) -> None:
    """Else the comparisons above prove less than they seem to."""
    lines = {bit for bit in LineFlag if any(f & bit for f in reader.column("tables/lines", "flags"))}
    sources = {bit for bit in (1, 2, 4) if any(f & bit for f in reader.column("tables/sources", "flags"))}
    assert lines == set(LineFlag) - {LineFlag.ALTERED}, "what a log has nothing of; the contract tries it"
    assert sources == {1, 2, 4}
    assert any(before >= 0 for before in reader.column("tables/spans", "before"))
    assert any(before >= 0 for before in reader.column("tables/extents", "before"))


def test_vectors_are_read_as_the_page_says(copy: Path) -> None:
    random = np.random.default_rng(3)
    named = [("static", "1", 256), ("b/\u00fc", "2", 3), ("static", "2", 256)]
    models = [VectorModel(*each) for each in named]
    given: dict[tuple[str, str, int], list[tuple[int, list[float]]]] = {}
    with Hdf5Store(copy) as store:
        for count, model in itertools.product((3, 5000, 1), models):
            keys = random.integers(1, 2**64, count, np.uint64)
            rows = random.normal(size=(count, model.dims)).astype(np.float16)
            with store.writer() as writer:
                writer.add_vectors(model, keys, rows)
                writer.commit()
            held = given.setdefault((model.name, model.revision, model.dims), [])
            held += zip(keys.tolist(), rows.tolist(), strict=True)
    with FormatReader(copy) as reader:
        assert reader.vectors() == given
        compare_sessions(copy, reader)
        data = reader.file["vectors/0/data"]
        assert (data.chunks, data.dtype) == ((65536,), np.uint8)
        assert set(reader.file["vectors"]) == {"0", "1", "2"}
        assert set(reader.file["vectors/1"]) == {"data", "blocks"}
        assert {name: column.dtype.str for name, column in reader.file["vectors/1/blocks"].items()} == BLOCKS
    with opened(copy) as memory:
        assert memory.check() == []
        memory.compact()
    with FormatReader(copy) as reader:
        assert reader.vectors() == {model: given[model] for model in named[1:]}


def test_derived_tables_are_read_as_the_page_says(copy: Path) -> None:
    with Hdf5Store(copy) as store:
        for start, stop in ((0, 3), (3, 4000)):
            with store.writer() as writer:
                writer.add_derived(ROWS, some_rows(start, stop), built_to=stop)
                writer.commit()
    with FormatReader(copy) as reader:
        assert reader.derived() == {(ROWS.name, ROWS.revision): (4000, listed(some_rows(0, 4000)))}


@pytest.mark.corpus
def test_a_store_of_real_logs_reads_the_same(tmp_path: Path) -> None:
    named = os.environ.get("RECOLLECT_CORPUS")
    if not named:
        pytest.skip("RECOLLECT_CORPUS names no logs")
    store = tmp_path / "memory.h5"
    roots = [root for root in (Path(named) / "claude", Path(named) / "codex") if root.is_dir()]
    with Memory.open(store, config=Config(store=store, host=HOST)) as memory:
        memory.ingest(roots or [Path(named)])
    with FormatReader(store) as reader:
        for source in reader.sources():
            whole = hashlib.sha256()
            for piece in reader.content(source.row):
                whole.update(piece)
            if not Path(source.path).exists():
                continue  # a compressed rollout: compared below, with what Recollect exports
            with Path(source.path).open("rb") as file:
                assert hashlib.file_digest(file, "sha256").digest() == whole.digest(), source.path
        compare_sources(store, reader)
        compare_sessions(store, reader)
        compare_usage(store, reader)


def compare_sources(store: Path, reader: FormatReader) -> dict[str, int]:
    with opened(store) as memory, memory.view() as view:
        theirs = view.sources()
        ours = reader.sources()
        known = [(s.host, s.file.path, s.session, s.superseded) for s in theirs]
        assert known == [tuple(source[1:]) for source in ours]
        for source, row in zip(theirs, ours, strict=True):
            mine, his = hashlib.sha256(), hashlib.sha256()
            for piece in reader.content(row.row):
                mine.update(piece)
            for piece in source_bytes(source, view.lines(source)):
                his.update(piece)
            assert mine.digest() == his.digest(), source.file.path
    return {"superseded": sum(source.superseded for source in ours)}


def compare_sessions(store: Path, reader: FormatReader) -> set[int]:
    with opened(store) as memory, memory.view() as view:
        sessions = view.sessions()
        assert [(s.facts.agent, s.host, s.facts.id) for s in sessions] == reader.sessions()
        for row, session in enumerate(sessions):
            found = reader.entries(row)
            shown = [
                Entry(
                    e.id,
                    e.session,
                    e.type,
                    int(e.entry.kind),
                    e.entry.flags,
                    e.entry.time_ms,
                    e.entry.tool,
                    e.entry.call,
                    e.entry.model,
                    e.entry.text,
                )
                for e in view.entries(session)
            ]
            assert found == shown, session.facts.id
    return set(reader.column("tables/entries", "form"))


def compare_usage(store: Path, reader: FormatReader) -> None:
    with opened(store) as memory:
        total = memory.usage().total
    assert reader.rows("usage") == total.responses
    assert total.responses
    for kind in TOKENS:
        assert sum(reader.column("tables/usage", kind)) == getattr(total, kind)


# -- what the page says of bytes ---------------------------------------------------------------


def test_the_header_has_its_fields_where_the_page_says(made: tuple[Path, dict[str, bytes]]) -> None:
    page = made[0].read_bytes()[:4096]
    fields = rows_of("Header page")
    ends = [int(offset) + int(size) for offset, size, *_ in fields]
    assert [int(offset) for offset, *_ in fields] == [0, *ends[:-1]]
    value: dict[str, int | bytes] = {}
    for at, size, kind, name, _ in fields:
        field = page[int(at) : int(at) + int(size)]
        value[name] = field if kind == "bytes" else int.from_bytes(field, "little")
    with opened(made[0]) as memory:
        info = memory.info()
    assert value["magic"] == b"RCLSTORE"
    assert value["format"] == FORMAT_VERSION == info.format
    assert value["store_id"] == bytes.fromhex(info.id)
    assert (value["generation"], value["epoch"]) == (info.generation, info.epoch)
    assert (value["created_ms"], value["folded"]) == (info.created_ms, info.folded)
    assert value["size"] == made[0].stat().st_size
    assert value["crc"] == zlib.crc32(page[:72])
    assert not page[76:2048].strip(b"\0")
    assert page[2048:] == page[:2048]


def test_hdf5_sees_a_version_2_superblock_behind_the_user_block(made: tuple[Path, dict[str, bytes]]) -> None:
    data = made[0].read_bytes()
    assert data[4096:4104] == b"\x89HDF\r\n\x1a\n"
    assert data[4104:4107] == bytes((2, 8, 8))
    assert struct.unpack_from("<Q", data, 4108)[0] == 4096
    assert b"OHDR" in data
    with h5py.File(made[0], "r") as file:
        assert file.userblock_size == 4096
        assert set(file) == {"tables", "streams"}
        assert set(file["tables"]) == set(TABLES)
        assert set(file["streams"]) == set(STREAMS)


def test_chunks_are_shuffled_and_deflated_and_the_last_one_is_stored(
    made: tuple[Path, dict[str, bytes]], reader: FormatReader
) -> None:
    for table, columns in TABLES.items():
        chunk_rows = 2048 if table in ("lines", "entries", "usage") else 256
        for name, dtype in columns.items():
            column = reader.file[f"tables/{table}/{name}"]
            assert column.chunks == (chunk_rows,)
            plist = column.id.get_create_plist()
            assert [plist.get_filter(n)[0] for n in range(plist.get_nfilters())] == [2, 1]
            last = len(column) // chunk_rows * chunk_rows
            filled = len(column) - last
            if not filled:
                continue
            _, raw = column.id.read_direct_chunk((last,))
            plain = zlib.decompress(raw)
            assert len(raw) == len(plain) + 11, "an unfilled chunk is not compressed"
            planes = np.frombuffer(plain, "u1").reshape(column.dtype.itemsize, chunk_rows)
            values = np.ascontiguousarray(planes.T).view(dtype).ravel()
            assert values[:filled].tolist() == column[last:].tolist()
            assert not values[filled:].any()
    assert reader.file["streams/lines/data"].chunks == (65536,)


def test_a_full_chunk_is_deflated_and_the_tail_keeps_its_place(tmp_path: Path) -> None:
    """Rewriting an unfilled chunk must not leave a hole behind with every commit."""
    store = tmp_path / "memory.h5"
    log = tmp_path / "a1b2c3d4-1111-4aaa-8bbb-000000000099.jsonl"
    record = '{"type":"user","uuid":"%d","sessionId":"s","message":{"content":"%d"}}\n'
    log.write_text("".join(record % (n, n) for n in range(3000)))
    with Memory.open(store, config=Config(store=store, host=HOST)) as memory:
        memory.ingest([log])
        size = store.stat().st_size
        for round_ in range(5):
            with log.open("a") as file:
                file.write(record % (9000 + round_, 0))
            memory.ingest([log])
    with h5py.File(store, "r") as file:
        full, tail = (file["tables/lines/end"].id.get_chunk_info(n).size for n in (0, 1))
    assert full < 16384 < tail == 16384 + 11
    assert store.stat().st_size - size < 5 * 8192


def test_keys_are_computed_as_the_page_says(reader: FormatReader) -> None:
    for row in range(reader.rows("lines")):
        line = reader.line(row)
        assert (reader.cell("lines", "key_a", row), reader.cell("lines", "key_b", row)) == line_key(line)
        spliced = reader.cell("lines", "flags", row) & LineFlag.SPLICED
        if reader.named("lines", "type", row) in ("user", "assistant") and not spliced:
            record = json.loads(line)
            assert reader.cell("lines", "uuid", row) == name_key(record.get("uuid") or "")
            assert reader.cell("lines", "parent", row) == name_key(record.get("parentUuid") or "")
    for row, (agent, host, id_) in enumerate(reader.sessions()):
        assert reader.cell("sessions", "key", row) == name_key(agent, host, id_)
        start = id_.encode()[:8].ljust(8, b"\0")
        assert reader.cell("sessions", "prefix", row) == int.from_bytes(start, "big")
    for source in reader.sources():
        content = b"".join(reader.content(source.row))
        offset = reader.cell("sources", "offset", source.row)
        assert reader.cell("sources", "key", source.row) == name_key("source", source.host, source.path)
        window = reader.cell("sources", "window", source.row)
        assert window in (0, bytes_key(content[:offset][-4096:]))
        waiting = reader.cell("sources", "flags", source.row) & 4
        last = reader.chain("spans", reader.cell("sources", "span", source.row))[-1]
        assert content[offset:] == (reader.line(last) if waiting else b"")
        json.loads(reader.text_at("sources", "state_", source.row))
    assert reader.name(0) == ""


# -- the files beside the store ----------------------------------------------------------------


class NotInPlace(Disk):
    """Refuses to overwrite the header page: a commit then stays in its redo file."""

    def write(self, fd: int, data: bytes | bytearray | memoryview, offset: int) -> None:
        if offset == 0 and bytes(data[:8]) == b"RCLSTORE":
            raise OSError(errno.EIO, "as told")
        super().write(fd, data, offset)


def test_a_commit_in_the_redo_file_is_seen_through_it(copy: Path) -> None:
    with FormatReader(copy) as reader:
        before, row = reader.header, reader.sources()[0]
    with Hdf5Store(copy, disk=NotInPlace()) as store, store.writer() as writer:
        held = writer.source(row.host, row.path)
        assert held is not None
        writer.touch(row.host, row.path, Cursor(offset=4711))
        writer.commit()
    redo = Redo.beside(copy)
    assert redo is not None
    assert (redo.store_id, redo.base) == (before.store_id, before.generation)
    assert redo.generation == before.generation + 1
    assert 0 in redo.pages
    fields = rows_of("The redo file")
    assert [(int(at), int(size)) for at, size, *_ in fields] == [
        (0, 8),
        (8, 16),
        (24, 8),
        (32, 8),
        (40, 8),
        (48, 4),
    ]
    with FormatReader(copy) as reader:
        assert reader.overlaid
        assert reader.header.generation == before.generation + 1
        assert reader.cell("sources", "offset", row.row) == 4711
        compare_sources(copy, reader)
    with h5py.File(copy, "r") as file:  # without the overlay: the state before, whole
        assert file["tables/sources/offset"][row.row] != 4711
    with opened(copy) as memory:
        memory.checkpoint()  # any writer finishes it
    assert Redo.beside(copy) is None
    with FormatReader(copy) as reader:
        assert not reader.overlaid
        assert reader.cell("sources", "offset", row.row) == 4711


def test_commits_that_readers_keep_out_pile_up_in_the_redo_file(copy: Path) -> None:
    with FormatReader(copy) as reader:
        before, row = reader.header, reader.sources()[0]
    with Hdf5Store(copy) as reading, reading.view(), Hdf5Store(copy) as store:
        for offset in (1000, 2000):
            with store.writer() as writer:
                writer.source(row.host, row.path)
                writer.touch(row.host, row.path, Cursor(offset=offset))
                writer.commit()
        redo = Redo.beside(copy)
        assert redo is not None
        assert (redo.base, redo.generation) == (before.generation, before.generation + 2)
        with FormatReader(copy) as reader:
            assert reader.overlaid
            assert reader.cell("sources", "offset", row.row) == 2000
    with opened(copy) as memory:
        memory.checkpoint()
    with FormatReader(copy) as reader:
        assert not reader.overlaid
        assert reader.cell("sources", "offset", row.row) == 2000


def test_a_foreign_redo_file_has_no_effect_and_an_incomplete_one_is_damage(copy: Path) -> None:
    header = Header.of(copy.read_bytes()[:4096])
    assert header is not None
    page = b"x" * 4096
    beside = copy.with_name(copy.name + "-redo")

    def redo(store_id: bytes, base: int, generation: int) -> bytes:
        head = struct.pack("<8s16sQQQI", b"RCLREDO1", store_id, base, generation, header.size, 1)
        head += struct.pack("<QI", header.size // 4096 - 1, zlib.crc32(page))
        return head + struct.pack("<I", zlib.crc32(head)) + page

    beside.write_bytes(redo(header.store_id, header.generation - 1, header.generation)[:-1])
    with pytest.raises(AssertionError, match="damaged"):
        FormatReader(copy)
    with pytest.raises(StoreCorrupt), opened(copy) as memory:
        memory.info()
    for content in (
        redo(bytes(16), header.generation - 1, header.generation),
        redo(header.store_id, header.generation + 1, header.generation + 2),
        redo(header.store_id, header.generation - 2, header.generation - 1),
    ):
        beside.write_bytes(content)
        with FormatReader(copy) as reader, opened(copy) as memory:
            assert not reader.overlaid
            assert reader.rows("lines") == memory.info().lines


def test_the_journal_is_read_as_the_page_says(copy: Path) -> None:
    journal = copy.with_name(copy.name + "-wal")
    source = SourceFile("claude", "/logs/a.jsonl", session="s-1", parent="")
    segments = [Segment(source, "elsewhere", 10 * n, b"x" * 9 + b"\n") for n in range(4)]
    with opened(copy) as memory:
        assert [memory.append(segment) for segment in segments[:2]] == [1, 2]
        data = journal.read_bytes()
        end = len(data.rstrip(b"\0"))
        # A torn frame: it stays where it is, and what follows it is found.
        journal.write_bytes(data[:end] + b"\xf5RCLFRM\xfa\x40\x00\x00\x00torn" + bytes(4096))
    with opened(copy) as memory:
        assert [memory.append(segment) for segment in segments[2:]] == [3, 4]
    with FormatReader(copy) as reader:
        found = reader.journal()
    assert [(number, data) for number, _, data in found] == [(n + 1, s.data) for n, s in enumerate(segments)]
    fields = ["claude", "/logs/a.jsonl", 1, 1, "s-1", "", False, "elsewhere"]
    assert [head for _, head, _ in found] == [[*fields, segment.offset] for segment in segments]
    with opened(copy) as memory:
        memory.checkpoint()
        assert not journal.exists()
        assert memory.info().folded == 4
        memory.append(segments[0])
    with FormatReader(copy) as reader:
        assert [number for number, *_ in reader.journal()] == [5]
        journal.write_bytes(data)  # an old journal that came back after a power cut
        assert reader.journal() == []


def test_an_append_is_seen_where_the_page_says(copy: Path) -> None:
    """A segment that fits goes on where the stored content ends, half-written line included."""
    with opened(copy) as memory:
        source = next(s for s in memory.sources() if s.cursor.waiting and s.lines > 1)
    with FormatReader(copy) as reader:
        row = next(s.row for s in reader.sources() if s.path == source.file.path)
        stored = b"".join(reader.content(row))
    overlap = len(stored) - 5
    with opened(copy) as memory:
        more = stored[overlap:] + b' end"}}\n{"type":"mode"}\n'
        memory.append(Segment(source.file, source.host, overlap, more))
        with FormatReader(copy) as reader:
            ((_, head, data),) = reader.journal()
        seen = stored + data[len(stored) - head[8] :]
        assert b"".join(memory.raw(source.session)) == seen
        memory.checkpoint()
    with FormatReader(copy) as reader:
        assert b"".join(reader.content(row)) == seen
        assert reader.cell("sources", "offset", row) == len(seen)


@pytest.mark.skipif(not hasattr(fcntl, "F_OFD_SETLK"), reason="no open-file-description locks here")
def test_locks_are_where_the_page_says(copy: Path) -> None:
    writer_byte, apply_byte = 1 << 62, (1 << 62) + 1
    with Hdf5Store(copy) as store:
        assert is_free(copy, writer_byte, fcntl.F_WRLCK)
        with store.view():
            assert is_free(copy, apply_byte, fcntl.F_RDLCK)
            assert not is_free(copy, apply_byte, fcntl.F_WRLCK)
            assert is_free(copy, writer_byte, fcntl.F_WRLCK)
        assert is_free(copy, apply_byte, fcntl.F_WRLCK)
        with store.writer():
            assert not is_free(copy, writer_byte, fcntl.F_WRLCK)
            assert is_free(copy, apply_byte, fcntl.F_WRLCK)
        assert is_free(copy, writer_byte, fcntl.F_WRLCK)


def is_free(path: Path, byte: int, kind: int) -> bool:
    fd = os.open(path, os.O_RDWR)
    try:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack("@hhqqi4x", kind, os.SEEK_SET, byte, 1, 0))
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True


# -- the page against the code -----------------------------------------------------------------


def test_the_page_documents_every_column_and_no_other() -> None:
    for name, columns in {**TABLES, "blocks": BLOCKS}.items():
        documented = [(bare(row[0]), bare(row[1])) for row in rows_of(name)]
        assert documented == list(columns.items()), f"columns of {name}"
    documented_tables = {s for s in sections() if rows_of(s) and heads_of(s)[:2] == ["column", "type"]}
    assert documented_tables == {*TABLES, "blocks"}
    assert {bare(row[0]) for row in rows_of("Streams")} == set(STREAMS)


def test_the_page_documents_every_enumeration_member_and_no_other(reader: FormatReader) -> None:
    for enumeration in ENUMERATIONS:
        documented = {bare(name): int(number) for number, name, _ in rows_of(enumeration.__name__)}
        assert documented == {member.name: int(member) for member in enumeration}
        assert reader.enumeration(enumeration.__name__) == documented
    named = {s for s in sections() if rows_of(s) and heads_of(s)[:2] == ["number", "name"]}
    assert named == {e.__name__ for e in ENUMERATIONS}


def test_the_page_links_to_sections_that_exist() -> None:
    text = PAGE.read_text("utf-8")
    anchors = {re.sub(r"[^\w -]", "", s).strip().lower().replace(" ", "-") for s in sections()}
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= anchors


def sections() -> dict[str, str]:
    parts = re.split(r"^#{2,3} (.+)$", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def table_of(section: str) -> list[list[str]]:
    """The first table of a section, cells stripped; the row of dashes left out."""
    lines = sections()[section].splitlines()
    found: list[list[str]] = []
    for line in lines:
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if not set("".join(cells)) <= set("-"):
                found.append(cells)
        elif found:
            break
    return found


def heads_of(section: str) -> list[str]:
    return table_of(section)[0]


def rows_of(section: str) -> list[list[str]]:
    return table_of(section)[1:]


def bare(cell: str) -> str:
    return cell.strip("`")


# -- stores of every released version ----------------------------------------------------------


@pytest.fixture(params=sorted(STORES.glob("format-*.h5.gz")), ids=lambda path: path.name.split(".")[0])
def released(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, object]]:
    packed: Path = request.param
    path = tmp_path / "memory.h5"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    expected = json.loads(packed.with_name(packed.name.replace(".h5.gz", ".json")).read_text("ascii"))
    return path, expected


def test_there_is_a_store_of_this_version() -> None:
    assert (STORES / f"format-{FORMAT_VERSION}.h5.gz").exists()


def test_a_released_store_still_opens_and_holds_the_same(released: tuple[Path, dict[str, object]]) -> None:
    path, expected = released
    before = path.read_bytes()
    with opened(path) as memory:
        assert memory.check() == []
        assert contents(memory) == expected
    assert path.read_bytes() == before, "reading changes nothing"
    assert sorted(p.name for p in path.parent.iterdir()) == ["memory.h5"]


def test_a_released_store_can_be_written_and_rewritten(released: tuple[Path, dict[str, object]]) -> None:
    path, expected = released
    log = path.parent / "0000c3d4-1111-4aaa-8bbb-000000000001.jsonl"
    log.write_text('{"type":"user","uuid":"1","sessionId":"s","message":{"content":"new"}}\n')
    with opened(path) as memory:
        memory.compact()
        assert contents(memory) == expected
        memory.ingest([log])
        assert memory.check() == []
        assert [e.entry.text for e in memory.tail("0000c3d4")] == ["new"]


def test_nothing_of_recollect_is_used_by_the_reader() -> None:
    program = "import sys, tests.support.format_reader; "
    program += "print([m for m in sys.modules if m.startswith('recollect')])"
    root = ROOT
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
