"""A damaged store is told as such or reads right, no file is changed, repair keeps every good line."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import pytest
from tests.support import DATA, ROOT, SOURCE
from tests.support.logs import adds_up, claude_path, digest, said, texts, uuid_of, write
from tests.support.memories import HOST, content, open_memory, scratch, sources_of

from recollect.light.disk import Disk
from recollect.light.store_header import FORMAT_VERSION, PAGE_BYTES, Header
from recollect.memory import Memory
from recollect.values.errors import NotAStore, RecollectError, StoreCorrupt, StoreTooNew
from recollect.values.ids import line_key
from recollect.values.records import Segment, SourceFile


@pytest.fixture(scope="module")
def good() -> Iterator[Path]:
    """A store of all fixtures and of one longer session, in a folder of its own."""
    with scratch() as folder:
        words = random.Random(5).choices(["alpha", "beta", "gamma", "delta", "epsilon"], k=40_000)
        lines = [said(n, " ".join(words[n : n + 300])) for n in range(600)]
        write(claude_path(folder / "logs", 1), b"\n".join(lines) + b"\n")
        with open_memory(folder / "m.h5") as memory:
            memory.ingest([DATA / "claude", DATA / "codex", folder / "logs"])
        yield folder / "m.h5"


@pytest.fixture
def store(good: Path, folder: Path) -> Path:
    """A copy to damage."""
    shutil.copyfile(good, folder / "m.h5")
    return folder / "m.h5"


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: digest(path) if path.is_file() else b"" for path in folder.iterdir()}


def _garbage(data: bytearray, at: int, size: int = PAGE_BYTES) -> None:
    data[at : at + size] = random.Random(at).randbytes(size)


def _edit(path: Path, change: Callable[[bytearray], object]) -> None:
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)


def _newer(data: bytearray) -> None:
    header = Header.unpack(bytes(data[:PAGE_BYTES]), Path())
    data[:PAGE_BYTES] = header.changed(format=FORMAT_VERSION + 1).pack()


# name: what happens to the file's bytes, and what opening it must say
WHOLE_FILE: dict[str, tuple[Callable[[bytearray], object], type[RecollectError]]] = {
    "empty": (lambda data: data.clear(), NotAStore),
    "wrong magic": (
        lambda data: data.__setitem__(slice(0, PAGE_BYTES), b"SQLite format 3\0" * 256),
        NotAStore,
    ),
    "first page zeroed": (lambda data: data.__setitem__(slice(0, PAGE_BYTES), bytes(PAGE_BYTES)), NotAStore),
    "text": (lambda data: data.__setitem__(slice(None), b"dear diary\n"), NotAStore),
    "cut in half": (lambda data: data.__delitem__(slice(len(data) // 2, None)), StoreCorrupt),
    "cut by a byte": (lambda data: data.pop(), StoreCorrupt),
    "cut after the header": (lambda data: data.__delitem__(slice(PAGE_BYTES, None)), StoreCorrupt),
    "header garbage": (lambda data: [_garbage(data, 8, 60), _garbage(data, 2056, 60)], StoreCorrupt),
    "superblock garbage": (lambda data: _garbage(data, PAGE_BYTES), StoreCorrupt),
    "newer format": (_newer, StoreTooNew),
}

READS: dict[str, Callable[[Memory], object]] = {
    "info": lambda memory: memory.info(),
    "sessions": lambda memory: memory.sessions(),
    "show": lambda memory: list(memory.show("a1b2")),
    "tail": lambda memory: memory.tail("a1b2"),
    "raw": lambda memory: b"".join(memory.raw("a1b2")),
    "usage": lambda memory: memory.usage("day"),
    "sources": lambda memory: memory.sources(),
    "dry run": lambda memory: memory.ingest([DATA / "codex"], dry_run=True),
}


@pytest.mark.parametrize("name", WHOLE_FILE)
def test_a_store_that_cannot_be_read_says_so_and_is_left_alone(store: Path, name: str) -> None:
    change, error = WHOLE_FILE[name]
    _edit(store, change)
    before = _files(store.parent)
    for read in READS.values():
        with pytest.raises(error) as caught, open_memory(store) as memory:
            read(memory)
        assert str(store) in str(caught.value)
        assert caught.value.hint
    with open_memory(store) as memory:
        assert any(finding.level == "error" for finding in memory.check())
    for write_ in (
        lambda m: m.ingest([DATA]),
        lambda m: m.compact(),
        lambda m: m.reparse(),
        lambda m: m.repair(),
    ):
        with pytest.raises(error), open_memory(store) as memory:
            write_(memory)
    with pytest.raises(error), open_memory(store) as memory:
        memory.snapshot(store.with_name("copy.h5"))
    assert _files(store.parent) == before


def test_a_folder_in_the_stores_place_is_left_alone(folder: Path) -> None:
    (folder / "m.h5").mkdir()
    write(folder / "m.h5" / "inside", b"mine")
    with pytest.raises(NotAStore) as caught:
        open_memory(folder / "m.h5")
    assert caught.value.hint
    assert (folder / "m.h5" / "inside").read_bytes() == b"mine"


def test_garbage_in_the_journal_costs_no_whole_append(store: Path) -> None:
    source = SourceFile("claude", "/gone/j.jsonl", session="journal")
    with open_memory(store) as memory:
        first = said(1, "one") + b"\n"
        memory.append(Segment(source, HOST, 0, first))
        memory.append(Segment(source, HOST, len(first), said(2, "two") + b"\n"))
    journal = store.with_name("m.h5-wal")
    frames = journal.read_bytes().rstrip(b"\0")
    journal.write_bytes(random.Random(1).randbytes(777) + frames + random.Random(2).randbytes(999))
    before = _files(store.parent)
    with open_memory(store) as memory:
        assert texts(memory, "journal") == ["one", "two"]
        assert any("journal" in finding.what for finding in memory.check())
        assert _files(store.parent) == before
        memory.checkpoint()
        assert texts(memory, "journal") == ["one", "two"]


# -- bits and pages --------------------------------------------------------------------------------

# Reads everything in a child that may crash or hang, and says how that went.
READER = """
import json, os, signal, sys, traceback
from pathlib import Path
from recollect.values.errors import RecollectError
from recollect.store.hdf5.check import check_path
from tests.support.memories import content, open_memory
import tests.store.hdf5.test_damage as here

def tried(path):
    try:
        with open_memory(path, create=False) as memory:
            return "same" if here.fingerprint(content(memory)) == sys.argv[2] else "WRONG"
    except RecollectError as error:
        return "told" if error.hint and str(path) in str(error) else "NO NEXT STEP " + str(error)
    except BaseException:
        return "TRACEBACK " + traceback.format_exc()[-700:]

def checked(path):
    try:
        return "found" if any(f.level == "error" for f in check_path(path)) else "fine"
    except BaseException:
        return "TRACEBACK " + traceback.format_exc()[-700:]

whole = bytearray(Path(sys.argv[1]).read_bytes())
scratch = Path(sys.argv[3])
for line in sys.stdin:
    at, bit = json.loads(line)
    damaged = bytearray(whole)
    if bit < 8:
        damaged[at] ^= 1 << bit
    else:
        here._garbage(damaged, at)
    path = scratch / "m.h5"
    path.write_bytes(damaged)
    outcome = []
    for work in (tried, checked):
        out, into = os.pipe()
        child = os.fork()
        if not child:
            signal.alarm(20)
            os.write(into, work(path).encode()[:60000])
            os._exit(0)
        os.close(into)
        said = b""
        while piece := os.read(out, 65536):
            said += piece
        os.close(out)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        outcome.append(said.decode() if not status else f"SIGNAL {-status}")
    if path.read_bytes() != damaged or len(os.listdir(scratch)) != 1:
        outcome.append("CHANGED A FILE")
    print(json.dumps([at, bit, *outcome]), flush=True)
"""


def fingerprint(found: dict[str, Any]) -> str:
    import hashlib

    return hashlib.sha256(repr(found).encode("utf-8", "surrogatepass")).hexdigest()


def outcomes(good: Path, folder: Path, damages: list[tuple[int, int]]) -> list[list[Any]]:
    """For each (place, bit): how reading and checking went."""
    with open_memory(good, create=False) as memory:
        expected = fingerprint(content(memory))
    (folder / "scratch").mkdir()
    child = subprocess.run(
        [sys.executable, "-c", READER, str(good), expected, str(folder / "scratch")],
        check=False,
        input="".join(json.dumps(damage) + "\n" for damage in damages),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (SOURCE, ROOT)))},
        timeout=900,
    )
    assert child.returncode == 0, child.stderr[-3000:]
    return [json.loads(line) for line in child.stdout.splitlines()]


def _bad(found: list[list[Any]]) -> list[list[Any]]:
    """Neither right nor told; or a check that is blind to what a reader stumbled over."""
    fine = (["same", "fine"], ["same", "found"], ["told", "found"])
    return [each for each in found if each[2:] not in fine]


def _marks(data: bytes, marks: tuple[bytes, ...], chance: random.Random, count: int) -> list[tuple[int, int]]:
    """Bits in and shortly behind HDF5's own structures, of which some have no checksum."""
    places = [at for mark in marks for at in _all(data, mark)]
    return [(chance.choice(places) + chance.randrange(90), chance.randrange(8)) for _ in range(count)]


def _all(data: bytes, mark: bytes) -> Iterator[int]:
    at = data.find(mark)
    while at >= 0:
        yield at
        at = data.find(mark, at + 1)


def test_any_flipped_bit_is_told_or_harmless(good: Path, folder: Path) -> None:
    chance = random.Random(2026)
    data = good.read_bytes()
    flips = [(chance.randrange(len(data)), chance.randrange(8)) for _ in range(25)]
    flips += _marks(data, (b"TREE",), chance, 20)
    flips += _marks(data, (b"OHDR", b"OCHK", b"FRHP", b"BTHD", b"\x89HDF"), chance, 15)
    found = outcomes(good, folder, flips)
    assert len(found) == len(flips)
    assert _bad(found) == []
    assert Counter(each[2] for each in found)["told"] > 10  # or the damage was not where it mattered


def test_any_page_of_garbage_is_told_or_harmless(good: Path, folder: Path) -> None:
    pages = good.stat().st_size // PAGE_BYTES
    damages = [(page * PAGE_BYTES, 8) for page in random.Random(7).sample(range(1, pages), 12)]
    assert _bad(outcomes(good, folder, damages)) == []


@pytest.mark.full
def test_two_thousand_flipped_bits_are_told_or_harmless(good: Path, folder: Path) -> None:
    chance = random.Random()
    data = good.read_bytes()
    flips = [(chance.randrange(len(data)), chance.randrange(8)) for _ in range(1000)]
    flips += _marks(data, (b"TREE", b"OHDR", b"OCHK", b"FRHP", b"BTHD", b"\x89HDF"), chance, 1000)
    assert _bad(outcomes(good, folder, flips)) == []


# -- repair ----------------------------------------------------------------------------------------


def _damage(store: Path, dataset: str, chunk: int = 0) -> None:
    """Rot in the middle of one chunk of a dataset."""
    with h5py.File(store, "r") as file:
        info = file[dataset].id.get_chunk_info(chunk)
    at = info.byte_offset + (100 if dataset.endswith("data") else info.size // 2)
    _edit(store, lambda data: _garbage(data, at, 16))


def _lines(memory: Memory) -> Counter[bytes]:
    with memory.view() as view:
        return Counter(line.data for source in view.sources() for line in view.lines(source))


# What is damaged, and what becomes of it: everything is derived again from the lines; only
# names are lost (of sessions, of sources, whose lines they are); lines are lost.
REPAIRABLE = {
    "nothing": "derived", "tables/lines/type": "derived", "tables/lines/flags": "derived",
    "tables/lines/key_a": "derived", "tables/lines/entries": "derived", "tables/entries/line": "derived",
    "tables/entries/kind": "derived", "tables/usage/input": "derived", "tables/sessions/extent": "derived",
    "tables/extents/first": "derived", "tables/sources/span": "derived",
    "streams/texts/data": "names", "tables/names/at": "names", "tables/sessions/id_at": "names",
    "tables/sources/path_at": "names", "tables/sources/session": "names", "tables/spans/source": "derived",
    "tables/spans/first": "names", "tables/spans/before": "derived",
    "streams/lines/data": "lines", "tables/lines/end": "lines", "streams/lines/blocks/end": "lines",
}  # fmt: skip


@pytest.mark.parametrize("place", REPAIRABLE)
def test_repair_keeps_every_good_line_and_says_what_it_lost(good: Path, store: Path, place: str) -> None:
    with open_memory(good, create=False) as memory:
        whole = _lines(memory)
        before = content(memory)
    if place != "nothing":
        _damage(store, place)
    damaged = digest(store)
    with open_memory(store) as memory:
        assert bool(memory.check()) == (place != "nothing")
        report = memory.repair()
        kept = _lines(memory)
        assert not kept - whole  # nothing that was not there
        assert (set(kept) == set(whole)) == (REPAIRABLE[place] != "lines")
        assert bool(report.lost_lines) == (REPAIRABLE[place] == "lines")
        assert report.lost or REPAIRABLE[place] == "derived"
        assert report.kept_lines == kept.total()
        assert digest(Path(report.moved_to)) == damaged
        assert Path(report.moved_to).name.startswith("m.h5.damaged-2")
        assert memory.check() == []
        first = content(memory)
        if REPAIRABLE[place] == "derived":
            assert first == before
        again = memory.repair()
        assert (again.lost_lines, again.lost) == (0, [])
        assert again.moved_to != report.moved_to
        assert content(memory) == first


def test_what_a_repair_lost_comes_back_from_the_logs(good: Path, store: Path) -> None:
    with open_memory(good, create=False) as memory:
        before = content(memory)
    _damage(store, "streams/lines/data")
    with open_memory(store) as memory:
        assert memory.repair().lost_lines
        report = memory.ingest([DATA / "claude", DATA / "codex", good.parent / "logs"])
        assert adds_up(report)
        after = content(memory)
        assert after["raw"] == before["raw"]
        for key, (_, _, entries) in before["sessions"].items():
            assert {entry.id for entry in after["sessions"][key][2]} >= {entry.id for entry in entries}
        assert [row[1:] for row in after["usage"]] == [row[1:] for row in before["usage"]]
        assert memory.check() == []
        assert memory.ingest([DATA / "claude", DATA / "codex", good.parent / "logs"]).changed == 0


def test_the_lost_end_of_a_log_is_read_again(folder: Path) -> None:
    """What is left is how the file begins, so only its end is read, and no version begins."""
    path = claude_path(folder / "logs", 1)
    with open_memory(folder / "m.h5") as memory:
        for half in range(2):
            data = b"".join(said(n, f"prompt {n}") + b"\n" for n in range(10 * (half + 1)))
            write(path, data)
            memory.ingest([folder / "logs"])
        with h5py.File(Path(memory.name), "r") as file:
            at, length = (int(file[f"streams/lines/blocks/{name}"][1]) for name in ("at", "length"))
            start = file["streams/lines/data"].id.get_chunk_info(0).byte_offset
        _edit(Path(memory.name), lambda data: _garbage(data, start + at + length // 2, 8))
        assert memory.repair().lost_lines == 10
        assert memory.ingest([folder / "logs"]).restarted == 0
        assert texts(memory, uuid_of(1)) == [f"prompt {n}" for n in range(20)]
        assert b"".join(memory.raw(uuid_of(1))) == data


def test_a_line_that_is_not_what_was_read_is_found_and_given_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every checksum holds, and still the line's own key says that these are not its bytes."""
    lines = [said(n, f"prompt {n}") for n in range(6)]
    write(claude_path(folder / "logs", 1), b"\n".join(lines) + b"\n")
    with open_memory(folder / "m.h5") as memory:
        with monkeypatch.context() as patch:
            patch.setattr(
                "recollect.values.records.line_key",
                lambda data: line_key(b"other" if data == lines[3] else data),
            )
            memory.ingest([folder / "logs"])
        assert [finding.what for finding in memory.check()] == ["line 3 is not what was read from its source"]
        assert memory.repair().lost_lines == 1
        assert texts(memory, uuid_of(1)) == [f"prompt {n}" for n in range(6) if n != 3]
        memory.ingest([folder / "logs"])
        assert b"".join(memory.raw(uuid_of(1))) == b"\n".join(lines) + b"\n"


def test_a_failed_repair_leaves_the_original(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _damage(store, "streams/lines/data")
    before = _files(store.parent)

    def fail(*_: object) -> None:
        raise StoreCorrupt(store, "the new one is no better")

    monkeypatch.setattr("recollect.store.hdf5.check.verify", fail)
    with open_memory(store) as memory, pytest.raises(StoreCorrupt):
        memory.repair()
    assert _files(store.parent) == before


def test_a_repair_that_was_done_keeps_the_damaged_file_whatever_follows(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new file is in place, and then a sync fails: the old one has no other name any more."""
    _damage(store, "streams/lines/data")
    damaged = digest(store)

    def fail(self: Disk, folder: Path) -> None:
        raise OSError(5, "Input/output error")

    with open_memory(store) as memory:
        rename = Disk.rename

        def renamed(self: Disk, source: Path, target: Path) -> None:
            rename(self, source, target)
            if target == store:
                monkeypatch.setattr(Disk, "sync_folder", fail)

        monkeypatch.setattr(Disk, "rename", renamed)
        with pytest.raises(RecollectError):
            memory.repair()
    assert damaged in _files(store.parent).values()


def test_a_repair_keeps_what_waits_in_the_journal(store: Path) -> None:
    source = SourceFile("claude", "/gone/j.jsonl", session="journal")
    with open_memory(store) as memory:
        memory.append(Segment(source, HOST, 0, said(1, "waiting") + b"\n"))
    _damage(store, "streams/lines/data")
    with open_memory(store) as memory:
        memory.repair()
        assert texts(memory, "journal") == ["waiting"]
        memory.checkpoint()
        assert texts(memory, "journal") == ["waiting"]
        assert sources_of(memory)["/gone/j.jsonl"] == said(1, "waiting") + b"\n"
