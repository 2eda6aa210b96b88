"""Zips that were handed over: whatever they hold, it is bounded, and nothing is written beside the store."""

from __future__ import annotations

import contextlib
import io
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import DATA
from tests.support.memories import open_memory, scratch, sources_of

from recollect.intake import archives
from recollect.memory import Memory
from recollect.values.errors import SourceError

CHATGPT = (DATA / "chatgpt" / "conversations.json").read_bytes()
CLAUDEAI = (DATA / "claudeai" / "conversations.json").read_bytes()

LONG = CHATGPT[:-1] + b" " * 100_000 + b"]"


def zipped(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return made.getvalue()


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with open_memory(folder / "store" / "m.h5") as memory:
        yield memory


@pytest.fixture(autouse=True)
def _store_folder(folder: Path) -> None:
    (folder / "store").mkdir()


def write(folder: Path, data: bytes, name: str = "export.zip") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_an_export_is_read_out_of_its_zip(folder: Path, memory: Memory) -> None:
    others = (("chat.html", b"<html>"), ("user.json", b'{"id":"u"}'), ("file-Harbor1-harbor.png", b"PNG"))
    path = write(folder, zipped(("conversations.json", CHATGPT), *others))
    report = memory.ingest([path])
    assert (report.sources, len(memory.sessions()), report.failed) == (1, 3, {})
    assert report.skipped == {"other file in a zip": 2, "not a known log": 1}
    before = sources_of(memory)
    # Unpacked by hand it is the same conversations, of which nothing is new.
    (folder / "conversations.json").write_bytes(CHATGPT)
    again = memory.ingest([folder / "conversations.json", path])
    assert (again.changed, again.bytes_parsed) == (0, 0)
    assert sources_of(memory) == before
    assert {each.name for each in folder.iterdir()} == {"store", "export.zip", "conversations.json"}


def test_parts_in_folders_and_two_services_are_told_apart(folder: Path, memory: Memory) -> None:
    path = write(
        folder,
        zipped(("data/conversations-000.json", CHATGPT), ("data-2/conversations.json", CLAUDEAI)),
        "EXPORT.ZIP",
    )
    assert memory.ingest([path]).sources == 2
    assert {each.facts.agent for each in memory.sessions()} == {"chatgpt", "claudeai"}


@pytest.mark.parametrize(
    "name",
    [
        "../../conversations.json",
        "/etc/conversations.json",
        "a\\..\\b#c?2.json",
        "\x1b[2J\n.json",
        "C:con.json",
        "é✓.json",
    ],
)
def test_no_name_of_a_member_is_a_path(folder: Path, memory: Memory, name: str) -> None:
    before = set(folder.rglob("*"))
    path = write(folder, zipped((name, CHATGPT)))
    report = memory.ingest([path])
    assert (len(memory.sessions()), report.failed) == (3, {})
    assert set(sources_of(memory)) == {f"chatgpt:6800000{end}-0000-4000-8000-000000000000" for end in "abc"}
    assert {each for each in folder.rglob("*") if "store" not in each.parts} == {
        each for each in before if "store" not in each.parts
    } | {path}


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_of_the_same_name_are_all_read(folder: Path, memory: Memory) -> None:
    path = write(folder, zipped(("conversations.json", CHATGPT), ("conversations.json", CLAUDEAI)))
    report = memory.ingest([path])
    assert (report.sources, len(memory.sessions())) == (2, 7)


def test_a_zip_in_a_zip_is_named_and_not_opened(folder: Path, memory: Memory) -> None:
    inner = zipped(("conversations.json", CHATGPT))
    report = memory.ingest([write(folder, zipped(("inner.zip", inner)))])
    assert report.skipped == {"zip inside a zip: unpack the outer one first": 1}
    assert memory.sessions() == []


def test_a_bomb_is_refused_before_it_is_unpacked(folder: Path, memory: Memory) -> None:
    bomb = b'[{"title":"t","mapping":{"a":{"message":1}}' + b" " * (65 << 20) + b"}]"
    path = write(folder, zipped(("conversations.json", bomb)))
    with pytest.raises(SourceError, match="unpacks to 65 MiB") as raised:
        memory.ingest([path])
    assert "nothing of it was taken" in raised.value.hint
    assert memory.sessions() == []


def test_a_member_never_gives_more_than_it_claims(folder: Path, memory: Memory) -> None:
    data = zipped(("conversations.json", LONG))
    claimed = struct.pack("<L", len(LONG))
    assert data.count(claimed) == 2
    path = write(folder, data.replace(claimed, struct.pack("<L", len(LONG) - 100)))
    report = memory.ingest([path])
    assert "not readable as a zip" in report.failed[f"{path}#conversations.json"]
    assert memory.sessions() == []


def test_a_directory_that_would_fill_the_memory_is_refused(
    folder: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(folder, zipped(*((f"{n}.txt", b"") for n in range(40))))
    monkeypatch.setattr(archives, "DIRECTORY_BYTES_MAX", 1000)
    monkeypatch.setattr(zipfile, "ZipFile", None)  # nothing reads it
    with pytest.raises(SourceError, match="its directory has"):
        memory.ingest([path])


def test_the_directory_of_a_large_zip_is_looked_at_where_it_is(
    folder: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 3)
    data = zipped(*((f"{n}.txt", b"") for n in range(40)), ("conversations.json", CHATGPT))
    assert b"PK\6\7" in data
    path = write(folder, data)
    monkeypatch.setattr(archives, "DIRECTORY_BYTES_MAX", 1000)
    with pytest.raises(SourceError, match="its directory has"):
        memory.ingest([path])
    monkeypatch.undo()
    memory.ingest([path])
    assert len(memory.sessions()) == 3


def test_only_so_many_members_are_looked_into(
    folder: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "LOOKED_INTO_MAX", 2)
    path = write(folder, zipped(("a.json", b"{}"), ("b.json", b"{}"), ("conversations.json", CHATGPT)))
    report = memory.ingest([path])
    assert report.skipped == {"not a known log": 2, "in a zip, behind 2 others that may be a log": 1}


def test_an_encrypted_zip_is_said_to_be_one(folder: Path, memory: Memory) -> None:
    data = bytearray(zipped(("conversations.json", CHATGPT)))
    data[6] |= 1  # in front of the member, and in the directory
    data[data.index(b"PK\1\2") + 8] |= 1
    with pytest.raises(SourceError, match="it is encrypted") as raised:
        memory.ingest([write(folder, bytes(data))])
    assert raised.value.hint == "unpack it and ingest the folder"


def test_ways_to_compress_that_have_no_bound_are_not_read(folder: Path, memory: Memory) -> None:
    path = write(folder, zipped(("conversations.json", CHATGPT), method=zipfile.ZIP_BZIP2))
    with pytest.raises(SourceError, match="compressed in a way that is not read here"):
        memory.ingest([path])


def test_of_a_damaged_member_nothing_is_taken(
    folder: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "CHUNK_BYTES", 1000)
    data = bytearray(zipped(("conversations.json", LONG), method=zipfile.ZIP_STORED))
    data[data.index(b"POPPY")] ^= 1
    path = write(folder, bytes(data))
    report = memory.ingest([path])  # its beginning says that it is an export, its end that it is damaged
    assert "Bad CRC-32" in report.failed[f"{path}#conversations.json"]
    assert memory.sessions() == []


def test_what_only_lies_in_a_folder_stops_nobody(folder: Path, memory: Memory) -> None:
    write(folder, b"no zip", "a.zip")
    write(folder, zipped(("conversations.json", CHATGPT)), "b.zip")
    report = memory.ingest([folder])
    assert report.skipped["unreadable zip"] == 1
    assert len(memory.sessions()) == 3


@given(data=st.data())
def test_any_damage_is_said_or_harmless(data: st.DataObject) -> None:
    whole = zipped(("conversations.json", CHATGPT), ("users.json", b"[]"))
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.sampled_from([len(whole), data.draw(st.integers(0, len(whole)))]))
    with scratch() as folder, open_memory(folder / "m.h5") as memory:
        path = write(folder, bytes(damaged[:cut]))
        with contextlib.suppress(SourceError):
            report = memory.ingest([path])
            assert len(memory.sessions()) == 3 or report.failed or report.skipped
            return
        assert memory.sessions() == []
