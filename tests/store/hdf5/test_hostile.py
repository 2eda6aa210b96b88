"""A file that somebody made to do harm is refused by name: no crash, no loop, no code, no file but itself."""

from __future__ import annotations

import _struct
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from tests.store.hdf5 import fuzz
from tests.support import SOURCE
from tests.support.children import command, environment
from tests.support.logs import uuid_of
from tests.support.memories import open_memory, scratch

from recollect.light.store_header import PAGE_BYTES, Header
from recollect.memory import Memory
from recollect.values.errors import NotAStore, StoreCorrupt

BATCH = 500


@pytest.fixture(scope="module")
def good() -> Iterator[Path]:
    with scratch() as folder:
        yield fuzz.make_good(folder)


@pytest.fixture
def store(good: Path, folder: Path) -> Path:
    shutil.copyfile(good, folder / "m.h5")
    return folder / "m.h5"


# -- many of them ----------------------------------------------------------------------------------


def _run(good: Path, first: int, last: int) -> list[list[Any]]:
    """What became of these mutants: [number, kind, outcome, bytes of memory]."""
    with scratch() as folder:
        words = command("store/hdf5/fuzz.py", good, folder, first, last)
        done = subprocess.run(words, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def _bad(found: list[list[Any]]) -> list[list[Any]]:
    fine = ("fine", "damage", "refused")
    return [each for each in found if each[2] not in fine or each[3] > fuzz.MEMORY_BYTES]


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_three_hundred_hostile_files_are_refused_or_read(good: Path, first: int) -> None:
    found = _run(good, first, first + 100)
    assert len(found) == 100
    assert _bad(found) == []
    assert {kind for _, kind, *_ in found} == set(fuzz.KINDS)
    assert Counter(told for _, _, told, _ in found)["refused"] > 50  # or they were harmless


@pytest.mark.full
@pytest.mark.parametrize("first", range(1_000, 21_000, BATCH))
def test_twenty_thousand_hostile_files_are_refused_or_read(good: Path, first: int) -> None:
    found = _run(good, first, first + BATCH)
    assert len(found) == BATCH
    assert _bad(found) == []


# -- each thing that HDF5 offers -------------------------------------------------------------------


def _refusal(path: Path) -> str:
    """Why every way of reading a file refuses it."""
    told = set()
    for read in (
        lambda memory: memory.info(),
        lambda memory: list(memory.show(uuid_of(1))),
        lambda memory: memory.ingest([path.parent], dry_run=True),
    ):
        with pytest.raises(StoreCorrupt) as caught, open_memory(path, create=False) as memory:
            read(memory)
        assert str(path) in str(caught.value)
        told.add(str(caught.value).partition("damaged: ")[2])
    with open_memory(path, create=False) as memory:
        assert any(finding.level == "error" for finding in memory.check())
    return min(told)


def _replace(path: Path, name: str, make: Any) -> None:
    with h5py.File(path, "r+", libver=("v108", "latest")) as file:
        old = file[name]
        values, chunks = old[:], old.chunks
        del file[name]
        make(file, name, values, chunks)
    fuzz.seal(path)


def _external(file: h5py.File, name: str, values: Any, chunks: Any) -> None:
    place = Path(file.filename).with_name("secret")
    place.write_bytes(values.tobytes())
    file.create_dataset(name, values.shape, values.dtype, external=[(str(place), 0, values.nbytes)])


def _virtual(file: h5py.File, name: str, values: Any, chunks: Any) -> None:
    other = Path(file.filename).with_name("other.h5")
    with h5py.File(other, "w") as outside:
        outside["x"] = values
    layout = h5py.VirtualLayout(values.shape, values.dtype)
    layout[:] = h5py.VirtualSource(other, "x", values.shape)
    file.create_virtual_dataset(name, layout)


def _linked(file: h5py.File, name: str, values: Any, chunks: Any) -> None:
    other = Path(file.filename).with_name("other.h5")
    with h5py.File(other, "w") as outside:
        outside["x"] = values
    file[name] = h5py.ExternalLink(str(other), "/x")


def _unallocated(file: h5py.File, name: str, values: Any, chunks: Any) -> None:
    options = {"shuffle": True, "compression": "gzip", "compression_opts": 6}
    file.create_dataset(name, (1 << 40,), values.dtype, chunks=chunks, maxshape=(None,), **options)


def _filtered(file: h5py.File, name: str, values: Any, chunks: Any) -> None:
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk(chunks)
    properties.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, ())
    space = h5py.h5s.create_simple(values.shape, (h5py.h5s.UNLIMITED,))
    made = h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(values.dtype), space, properties)
    made.write_direct_chunk((0,), bytes(64), 0)


def _soft(file: h5py.File, name: str, values: Any, chunks: Any) -> None:
    file[name] = h5py.SoftLink("/tables/lines/key_b")


def _aliased(file: h5py.File, name: str, values: Any, chunks: Any) -> None:
    file[name] = file["tables/lines/key_b"]


def _filled(file: h5py.File, name: str, values: Any, chunks: Any) -> None:
    file.create_dataset(name, values.shape, values.dtype, chunks=chunks, maxshape=(None,), fillvalue=7)


def _in_one_piece(file: h5py.File, name: str, values: Any, chunks: Any) -> None:
    file[name] = values


def _in_huge_chunks(file: h5py.File, name: str, values: Any, chunks: Any) -> None:
    file.create_dataset(name, values.shape, values.dtype, chunks=((1 << 29) - 1,), maxshape=(None,))


def _of_strings(file: h5py.File, name: str, values: Any, chunks: Any) -> None:
    file[name] = [str(value) for value in values]


def _of_another_type(file: h5py.File, name: str, values: Any, chunks: Any) -> None:
    options = {"shuffle": True, "compression": "gzip", "compression_opts": 6}
    file.create_dataset(name, data=values.astype("<f8"), chunks=chunks, maxshape=(None,), **options)


def _of_a_shared_type(file: h5py.File, name: str, values: Any, chunks: Any) -> None:
    file["type"] = values.dtype
    file.create_dataset(name, values.shape, file["type"], chunks=chunks, maxshape=(None,))


OFFERS = {
    "its data is in another file": _external,
    "it is no list of numbers in chunks": _virtual,
    "leads out of its place": _linked,
    "are not all there": _unallocated,
    "a filter that no store has": _filtered,
    "by a soft or an external link": _soft,
    "stands in two places": _aliased,
    "it has a fill value": _filled,
    "no list of numbers": _in_one_piece,
    "chunks of": _in_huge_chunks,
    "it is no ": _of_strings,
    "does not hold numbers of type": _of_another_type,
    "stands elsewhere": _of_a_shared_type,
}


@pytest.mark.parametrize("why", OFFERS)
def test_what_hdf5_offers_and_no_store_has_is_refused(store: Path, why: str) -> None:
    _replace(store, "tables/lines/key_a", OFFERS[why])
    before = {each.name: each.read_bytes() for each in store.parent.iterdir() if each.is_file()}
    told = _refusal(store)
    assert "/tables/lines/key_a" in told or "/tables/lines/key_b" in told
    assert why in told
    assert {each.name: each.read_bytes() for each in store.parent.iterdir() if each.is_file()} == before


def test_another_hdf5_file_in_the_header_page_is_not_taken_for_the_store(store: Path) -> None:
    data = bytearray(store.read_bytes())
    data[512:560] = data[PAGE_BYTES : PAGE_BYTES + 48]
    store.write_bytes(data)
    assert "inside of the header page" in _refusal(store)


def test_what_was_refused_once_is_refused_again(store: Path) -> None:
    """A repair asks for what it can get, again and again."""
    _replace(store, "tables/sources/key", _unallocated)
    with open_memory(store) as memory:
        assert memory.repair().kept_lines
        assert memory.check() == []


def test_a_pipe_is_no_store(folder: Path) -> None:
    os.mkfifo(folder / "m.h5")
    with pytest.raises(NotAStore):
        open_memory(folder / "m.h5", create=False)


def test_an_hdf5_file_of_others_is_no_store(folder: Path) -> None:
    with h5py.File(folder / "m.h5", "w") as file:
        file["x"] = np.arange(10)
    with pytest.raises(NotAStore), open_memory(folder / "m.h5", create=False) as memory:
        memory.info()


def test_what_no_name_of_ours_leads_to_is_never_opened(store: Path) -> None:
    with h5py.File(store, "r+", libver=("v108", "v108")) as file:
        file["tables/later"] = h5py.ExternalLink("/etc/passwd", "/")
        file["derived/toy-calls/notes"] = h5py.SoftLink("/nowhere")
        file["later"] = h5py.SoftLink("/later")
        file["tables/lines"].attrs["unit"] = "one"
    fuzz.seal(store)
    with open_memory(store, create=False) as memory:
        assert memory.check() == []
        assert memory.info().lines
        assert memory.ingest([store.parent]).failed == {}


READ_FILTERED = """
import sys
{} h5py
with h5py.File(sys.argv[1], "r") as file:
    try:
        file["tables/lines/key_a"][:]
    except OSError:
        pass
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks the linker of glibc")
@pytest.mark.parametrize("variable", ["HDF5_PLUGIN_PRELOAD", "HDF5_VOL_CONNECTOR", "HDF5_DRIVER"])
def test_no_library_that_the_environment_names_is_loaded(store: Path, folder: Path, variable: str) -> None:
    """The file names a filter, and the environment a folder with something to load for it."""
    _replace(store, "tables/lines/key_a", _filtered)
    (folder / "plugins").mkdir()
    shutil.copyfile(_struct.__file__, folder / "plugins" / "libh5evil.so")
    around = {**environment(), "LD_DEBUG": "files", "HDF5_PLUGIN_PATH": str(folder / "plugins")}
    loaded = []
    for loading in ("import", "from recollect.store.hdf5.library import"):
        done = subprocess.run(
            [sys.executable, "-c", READ_FILTERED.format(loading), str(store)],
            env=around | {variable: "evil"},
            capture_output=True,
            text=True,
            check=False,
        )
        loaded.append("libh5evil.so" in done.stderr)
    assert loaded == [True, False]
    assert done.returncode == 0


def test_nothing_but_one_module_loads_hdf5() -> None:
    """Or it would be loaded with the plugins that the environment names."""
    lines = {
        str(path.relative_to(SOURCE)): line
        for path in SOURCE.rglob("*.py")
        for line in path.read_text().splitlines()
        if line.strip().startswith(("import h5py", "from h5py"))
    }
    assert list(lines) == ["recollect/store/hdf5/library.py"]


# -- what a store's own writer makes passes --------------------------------------------------------


def test_a_store_of_many_names_and_many_chunks_passes(folder: Path) -> None:
    """Groups of more names than a header holds, and indexes of chunks that are trees."""
    from recollect.store.derived import DerivedTable
    from recollect.store.hdf5.engine import Hdf5Store

    wide = DerivedTable("wide", 1, tuple((f"column-{n}", "<u1") for n in range(70)))
    deep = DerivedTable("deep", 1, (("number", "<u8"),))
    with Hdf5Store.open(folder / "m.h5", create=True) as store:
        with store.writer() as writer:
            for n in range(30):
                writer.add_derived(
                    DerivedTable(f"table-{n}", 1, (("a", "<f4"), ("b", "<f8"))),
                    {"a": [1], "b": [2]},
                    built_to=1,
                )
            writer.add_derived(wide, {name: np.arange(9) for name, _ in wide.columns}, built_to=1)
            writer.commit()
            for _ in range(3):
                writer.add_derived(deep, {"number": np.arange(150_000)}, built_to=1)
                writer.commit()
        with store.view() as view:
            assert len(view.derived_tables()) == 32
            assert len(view.derived(deep)["number"]) == 450_000
            assert view.derived(wide)["column-69"].tolist() == list(range(9))  # type: ignore[union-attr]
            assert list(view.derived_damage()) == []


def test_a_damaged_table_is_replaced_without_hdf5_walking_through_it(store: Path) -> None:
    """To remove a group HDF5 goes through all of it, and this one leads back to the root."""
    from recollect.store.hdf5.engine import Hdf5Store

    with h5py.File(store, "r+", libver=("v108", "v108")) as file:
        del file["derived/toy-calls/1/rows/entry"]
        file["derived/toy-calls/1/rows/entry"] = file["/"]
    fuzz.seal(store)
    with Hdf5Store.open(store) as opened:
        with opened.writer() as writer:
            assert fuzz.TABLE not in writer.derived_tables()
            writer.add_derived(fuzz.TABLE, {"entry": [1], "tool": ["a"], "input": ["b"]}, built_to=1)
            writer.commit()
        with opened.view() as view:
            assert next(table for table in view.derived_tables() if table == fuzz.TABLE).rows == 1
            assert view.info().lines
    with open_memory(store) as memory:
        assert memory.check() == []


# -- tables that lie -------------------------------------------------------------------------------


def _put(path: Path, name: str, row: int, value: int) -> None:
    with h5py.File(path, "r+", libver=("v108", "v108")) as file:
        file[name][row] = value
    fuzz.seal(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tables/extents/before", 0), ("tables/extents/count", 1 << 62),
        ("tables/extents/first", (1 << 64) - 1), ("tables/lines/end", 1 << 45),
        ("tables/spans/before", 0), ("tables/spans/count", (1 << 64) - 1),
        ("streams/lines/blocks/end", 1 << 40), ("streams/lines/blocks/at", 1 << 60),
        ("streams/lines/blocks/length", (1 << 32) - 1), ("streams/texts/blocks/end", 1 << 33),
        ("tables/entries/line", 1 << 50), ("tables/usage/model", (1 << 32) - 1),
    ],
)  # fmt: skip
def test_a_table_that_lies_is_told_and_ends(store: Path, name: str, value: int) -> None:
    _put(store, name, 0, value)
    with pytest.raises(StoreCorrupt) as caught, open_memory(store, create=False) as memory:
        _read_everything(memory)
    assert str(store) in str(caught.value)


def test_a_span_of_a_source_that_is_not_there_is_repaired(store: Path) -> None:
    _put(store, "tables/spans/source", 0, (1 << 32) - 1)
    with open_memory(store) as memory:
        assert memory.repair().lost_lines == 0
        assert memory.check() == []


def _read_everything(memory: Memory) -> None:
    with memory.view() as view:
        view.usage()
        for session in view.sessions():
            list(view.entries(session))
        for source in view.sources():
            list(view.lines(source))
        view.locate_many([0])


def test_the_checksum_that_the_mutants_are_given_is_that_of_hdf5(good: Path) -> None:
    data = bytearray(good.read_bytes())
    places = fuzz.checked(data)
    assert len(places) > 100
    assert {bytes(data[at : at + 4]) for at, *_ in places} == {
        b"\x89HDF",
        b"OHDR",
        b"OCHK",
        b"FRHP",
        b"FHDB",
        b"BTHD",
        b"BTLF",
        b"FSHD",
        b"FSSE",
    }
    for place in places:
        before = bytes(data)
        fuzz.check_again(data, *place)
        assert data == before


def test_the_header_of_a_mutant_fits(good: Path, folder: Path) -> None:
    fuzz.mutate(good, folder / "m.h5", 1, "extents")
    data = (folder / "m.h5").read_bytes()
    assert Header.unpack(data[:PAGE_BYTES], folder).size == len(data)


def test_mutants_are_the_same_each_time(good: Path, folder: Path) -> None:
    for kind in ("bits", "structures", "chunk_indexes", "messages"):
        made = []
        for name in ("a.h5", "b.h5"):
            fuzz.mutate(good, folder / name, 7, kind)
            made.append((folder / name).read_bytes())
        assert made[0] == made[1] != good.read_bytes()


@pytest.mark.parametrize(
    ("column", "value"), [("source", 256), ("first", 1 << 40), ("count", 1 << 40), ("first", (1 << 63) + 5)]
)
def test_a_span_of_what_is_not_there_is_damage(store: Path, column: str, value: int) -> None:
    """Which lines are imported is told from all spans at once, before any of them is followed."""
    with h5py.File(store, "r+", libver=("v108", "latest")) as file:
        file[f"tables/spans/{column}"][0] = value
    fuzz.seal(store)
    with pytest.raises(StoreCorrupt), open_memory(store, create=False) as memory:
        memory.sessions()


@pytest.mark.parametrize("number", [1 << 62, (1 << 62) - 1, (1 << 62) - 100])
def test_a_number_that_the_next_commit_could_not_go_beyond_is_refused(store: Path, number: int) -> None:
    """Else the rewritten file, under its temporary name, would be the one that is damaged."""
    with store.open("r+b") as file:
        header = Header.unpack(file.read(PAGE_BYTES), store)
        file.seek(0)
        file.write(header.changed(epoch=number).pack())
    with pytest.raises(StoreCorrupt, match=r"m\.h5: "), open_memory(store) as memory:
        memory.compact()
