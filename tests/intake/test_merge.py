"""Merging: each line once, whichever store came first, as if all the logs had been taken into one store."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.logs import FIXTURES, WHOLE, answered, claude_path, placed, said, texts, uuid_of, write
from tests.support.memories import HOST, content, open_memory, scratch

from recollect.agents.saved import curated_file
from recollect.config import Config
from recollect.intake import refill
from recollect.intake.notes import note
from recollect.intake.versions import Version
from recollect.memory import Memory
from recollect.store.hdf5 import packed, tables
from recollect.store.hdf5.frames import compress
from recollect.testing.derived import FACTS
from recollect.values.erasures import Wanted
from recollect.values.errors import StoreCorrupt, StoreError, UsageError
from recollect.values.records import Provenance, Segment, SourceFile
from recollect.values.stored import VectorModel, source_bytes

Name = tuple[str, int]  # a host, and the number of a session there
History = Sequence[bytes]  # what a file had in it, one time after another
Looks = Mapping[Name, Sequence[int]]  # at which times somebody looked at each

NAMES = [("bay", 1), ("bay", 2), ("bay", 3), ("cape", 4), ("cape", 1)]
MTIME = 1_700_000_000


def memory_of(folder: Path, store: str, host: str = HOST) -> Memory:
    return Memory.open(config=Config(folder / store, host, cache=folder / "cache"))


def shown(memory: Memory) -> dict[str, Any]:
    """Everything that two stores are compared by: entries, facts, usage, and all versions of all sources."""
    with memory.view() as view:
        sessions = {
            (session.facts.agent, session.host, session.facts.id): (
                asdict(session.facts),
                session.imported,
                list(view.entries(session)),
            )
            for session in view.sessions()
        }
        columns = view.usage()
        usage = sorted(
            (columns.sessions[session].host, columns.sessions[session].facts.id, columns.models[model], *rest)
            for session, model, *rest in zip(
                columns.session.tolist(),
                columns.model.tolist(),
                columns.time.tolist(),
                columns.input.tolist(),
                columns.output.tolist(),
                strict=True,
            )
        )
        raw: dict[tuple[str, str], list[bytes]] = {}
        for source in view.sources():
            versions = raw.setdefault((source.host, source.file.path), [])
            versions.append(b"".join(source_bytes(source, view.lines(source))))
    return {"sessions": sessions, "usage": usage, "raw": raw}


# -- random stores ------------------------------------------------------------------------------


def line(number: int, session: int) -> bytes:
    """One of few lines, so that sessions share some; each third has tokens."""
    if number % 3 == 0:
        return answered(number, f"answer {number}", output=number + 1, message=number % 5, session=session)
    return said(number, f"said {number}", session=session)


@st.composite
def histories(draw: st.DrawFn) -> dict[Name, History]:
    made = {}
    for host, session in NAMES:
        lines: list[bytes] = []
        states = []
        for _ in range(draw(st.integers(1, 4))):
            if lines and draw(st.booleans()) and draw(st.booleans()):
                lines = []  # written anew
            more = st.tuples(st.integers(0, 9), st.sampled_from([session, session, 1, 2]))
            for number, of in draw(st.lists(more, min_size=1, max_size=4)):
                # Of a line that is there twice, which one a copy is of depends on what is read in one go.
                if of > 2 or line(number, of) not in lines:
                    lines = [*lines, line(number, of)]
            state = b"".join(each + b"\n" for each in lines)
            # Of a file that was cut short, two stores that saw one state each do not know which came first.
            if not any(earlier.startswith(state) for earlier in states):
                states.append(state)
        if draw(st.booleans()):
            states[-1] += b'{"half'
        made[host, session] = states
    return made


def looks(draw: Any, told: Mapping[Name, History]) -> dict[Name, list[int]]:
    return {
        name: sorted(draw(st.sets(st.integers(0, len(states) - 1)), label="looks"))
        for name, states in told.items()
    }


def take(folder: Path, store: str, told: Mapping[Name, History], seen: Looks) -> None:
    """Ingest files as they were at some times, host by host and path by path."""
    for host, group in itertools.groupby(sorted(seen), key=lambda name: name[0]):
        with memory_of(folder, store, host) as memory:
            for name in group:
                for at in seen[name]:
                    path = write(claude_path(folder / host, name[1]), told[name][at])
                    os.utime(path, (MTIME + at, MTIME + at))
                    memory.ingest([path])
                    path.unlink()


@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_merged_in_any_order_stores_are_what_one_store_would_have_been(data: st.DataObject) -> None:
    told = data.draw(histories())
    parts = [looks(data.draw, told) for _ in range(data.draw(st.integers(2, 3)))]
    both = {name: sorted({at for part in parts for at in part[name]}) for name in told}
    with scratch() as folder:
        names = [f"{n}.h5" for n in range(len(parts))]
        for name, part in zip(names, parts, strict=True):
            memory_of(folder, name).close()
            take(folder, name, told, part)
        take(folder, "all.h5", told, both)
        merged = []
        for number, order in enumerate([names, names[::-1]]):
            with memory_of(folder, f"merged{number}.h5") as memory:
                memory.merge([folder / name for name in order])
                once = shown(memory)
                assert all(memory.merge([folder / name]).is_nothing for name in order)
                assert shown(memory) == once
                assert memory.check() == []
                merged.append(once)
        with memory_of(folder, "singly.h5") as memory:
            for name in names:
                memory.merge([folder / name])
            merged.append(shown(memory))
        with memory_of(folder, "all.h5") as memory:
            expected = shown(memory)
    for each in merged:
        assert each == merged[0]
    assert merged[0]["raw"] == expected["raw"]
    assert merged[0]["usage"] == expected["usage"]
    assert _without_forks(merged[0]) == _without_forks(expected)


def _without_forks(told: Mapping[str, Any]) -> dict[Any, Any]:
    """Sessions, without what was said of their parents: an ingest tells a fork by what came before it."""
    blank = {"parent": "", "relation": 0}
    return {name: (facts | blank, *rest) for name, (facts, *rest) in told["sessions"].items()}


# -- logs as agents write them -------------------------------------------------------------------


@pytest.fixture
def halves(folder: Path) -> tuple[Path, Path, Path]:
    """All fixtures in one store, and every other one in each of two."""
    files = [write(placed(folder, path), WHOLE[path]) for path in FIXTURES]
    stores = folder / "all.h5", folder / "a.h5", folder / "b.h5"
    for store, part in zip(stores, (files, files[::2], files[1::2]), strict=True):
        with open_memory(store) as memory:
            memory.ingest(part)
    return stores


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other processes take whatever they can, in small parcels."""
    monkeypatch.setattr(refill, "WORTH_BYTES", 1)
    monkeypatch.setattr(refill, "PARCEL_BYTES", 20_000)
    monkeypatch.setattr(refill, "FILE_BYTES_MAX", 60_000)
    monkeypatch.setattr(refill, "COMMIT_BYTES", 30_000)


@pytest.mark.parametrize("how", ["here", "unpacked here", "unpacked there"])
def test_two_halves_are_the_whole(
    halves: tuple[Path, Path, Path], folder: Path, request: pytest.FixtureRequest, how: str
) -> None:
    if how != "here":
        request.getfixturevalue("eager")
    if how == "unpacked there":
        request.getfixturevalue("monkeypatch").setattr(packed, "_WORTH_BYTES", 0)
    with open_memory(halves[0]) as memory:
        expected = content(memory)
    seen: list[tuple[int, int]] = []
    for name, order in (("ab", halves[1:]), ("ba", halves[:0:-1])):
        with open_memory(folder / f"{name}.h5") as memory:
            memory.merge(order, progress=lambda _, done, total: seen.append((done, total)))
            assert content(memory) == expected
            assert memory.check() == []
    assert all(0 <= done <= total for done, total in seen)


@pytest.mark.parametrize("lie", ["all are equal", "none are"])
def test_what_a_store_says_of_which_lines_are_equal_costs_time_and_nothing_else(
    folder: Path, eager: None, monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    """Two logs share lines, a third has none of them."""
    shared = [said(n, f"said {n}") for n in range(3)]
    logs = [[*shared, said(7, "seven")], [*shared, said(8, "eight")], [said(9, "nine", session=3)]]
    for number, lines in enumerate(logs, 1):
        write(claude_path(folder, number), b"".join(line + b"\n" for line in lines))
    with open_memory(folder / "all.h5") as memory:
        memory.ingest([claude_path(folder, number) for number in (1, 2, 3)])
        expected = shown(memory)
    honest, told = Version.keys, itertools.count()

    def keys(version: Version) -> Any:
        lines = len(honest(version))
        return np.zeros(lines, "<u8") if lie == "all are equal" else np.array([next(told)] * lines, "<u8")

    monkeypatch.setattr(Version, "keys", keys)
    with open_memory(folder / "m.h5") as memory:
        memory.merge([folder / "all.h5"])
        assert shown(memory) == expected


def test_a_log_goes_on_where_its_file_was_last_read(folder: Path) -> None:
    """What is known of how an own file looked stays: the next ingest reads only what is new."""
    path = write(claude_path(folder, 1), said(1, "one") + b"\n")
    with open_memory(folder / "old.h5") as memory:
        memory.ingest([path])
    path.write_bytes(path.read_bytes() + said(2, "two") + b"\n")
    with open_memory(folder / "new.h5") as memory:
        memory.ingest([path])
    with open_memory(folder / "m.h5") as memory:
        memory.merge([folder / "old.h5"], own=True)
        report = memory.merge([folder / "new.h5"], own=True)
        assert (report.sources, report.grown, report.versioned) == (0, 1, 0)
        assert texts(memory, uuid_of(1)) == ["one", "two"]
        path.write_bytes(path.read_bytes() + said(3, "three") + b"\n")
        assert memory.ingest([path]).lines == 1
        assert texts(memory, uuid_of(1)) == ["one", "two", "three"]


def test_what_waits_in_a_journal_is_merged_and_stays_there(folder: Path) -> None:
    source = SourceFile("claude", str(claude_path(folder, 1)), session=uuid_of(1))
    with open_memory(folder / "other.h5") as other:
        other.append(Segment(source, HOST, 0, said(1, "appended") + b"\n"))
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    with open_memory(folder / "m.h5") as memory:
        memory.merge([folder / "other.h5"])
        assert texts(memory, uuid_of(1)) == ["appended"]
    assert {path: path.read_bytes() for path in before} == before


# -- another person's store ----------------------------------------------------------------------


def test_what_is_merged_is_imported_unless_it_is_said_to_be_own(folder: Path) -> None:
    own_store(folder / "other.h5", 1, [said(1, "mine")])
    for own in (False, True):
        with open_memory(folder / f"{own}.h5") as memory:
            memory.merge([folder / "other.h5"], own=own)
            assert memory.session(uuid_of(1)).imported is not own
            assert all(entry.imported is not own for entry in memory.show(uuid_of(1)))
    with open_memory(folder / "False.h5") as memory:
        assert memory.merge([folder / "other.h5"], own=True).marked == 1
        assert not memory.session(uuid_of(1)).imported


def own_store(path: Path, number: int, lines: Sequence[bytes], name: str = "", host: str = HOST) -> None:
    """A store with one log that it calls its own."""
    file = SourceFile(
        "claude", name or f"/home/me/{number}.jsonl", session=uuid_of(number), provenance=Provenance.OWN
    )
    with Memory.open(config=Config(path, host)) as memory:
        data = b"".join(line + b"\n" for line in lines)
        memory.append(Segment(file, host, 0, data))
        memory.checkpoint()


@pytest.mark.parametrize("own_first", [True, False])
def test_another_store_neither_replaces_nor_extends_nor_shadows_an_own_log(
    folder: Path, own_first: bool
) -> None:
    """It claims this host, the path of an own log, its session and its beginning."""
    mine, forged = [said(1, "mine"), said(2, "also mine")], said(3, "never said here")
    own_store(folder / "m.h5", 1, mine)
    forgeries = {"longer": [*mine, forged], "other": [forged], "same": mine, "shorter": mine[:1]}
    for name, lines in forgeries.items():
        own_store(folder / f"{name}.h5", 1, lines)
    with open_memory(folder / "m.h5") as memory:
        before, raw = memory.session(uuid_of(1)), b"".join(memory.raw(uuid_of(1)))
        names = ["longer", "other"] if own_first else ["other", "longer"]
        for name in names:
            memory.merge([folder / f"{name}.h5"])
        after = memory.session(uuid_of(1))
        assert (after.facts.title, after.imported) == (before.facts.title, False)
        assert b"".join(memory.raw(uuid_of(1))) == raw
        shown = {entry.entry.text: entry.imported for entry in memory.show(uuid_of(1))}
        assert shown == {"mine": False, "also mine": False, "never said here": True}
        sources = {(s.file.path, s.imported, s.superseded) for s in memory.sources()}
        assert ("/home/me/1.jsonl", False, False) in sources
        assert {path for path, imported, _ in sources if imported} == {"/home/me/1.jsonl#imported"}
        assert all(memory.merge([folder / f"{name}.h5"]).is_nothing for name in forgeries)


def test_what_another_store_knows_of_a_file_is_no_proof(folder: Path) -> None:
    """Else it could say of a log that it was read, and keep it from being taken."""
    path = write(claude_path(folder, 1), said(1, "really said") + b"\n")
    with open_memory(folder / "other.h5") as memory:
        memory.ingest([path])
    with open_memory(folder / "m.h5") as memory:
        memory.merge([folder / "other.h5"])
        (source,) = memory.sources()
        assert (source.cursor.window, source.cursor.inode, source.cursor.size) == (0, 0, 0)
        assert source.cursor.offset == path.stat().st_size
        path.write_bytes(path.read_bytes() + said(2, "and then") + b"\n")
        memory.ingest([path])
        assert texts(memory, uuid_of(1)) == ["really said", "and then"]


def test_an_own_session_keeps_what_it_was_charged_for(folder: Path) -> None:
    """A forged session that sorts before it has its lines too."""
    told = [answered(1, "yes", output=7, message=1, session=5)]
    own_store(folder / "m.h5", 5, told, host="zebra")
    own_store(folder / "other.h5", 1, told, host="aardvark")
    with Memory.open(config=Config(folder / "m.h5", "zebra")) as memory:
        memory.merge([folder / "other.h5"])
        assert [(u.session, u.output) for u in usage_of(memory)] == [(uuid_of(5), 7)]


def usage_of(memory: Memory) -> list[Any]:
    from types import SimpleNamespace

    with memory.view() as view:
        columns = view.usage()
        return [
            SimpleNamespace(session=columns.sessions[session].facts.id, output=output)
            for session, output in zip(columns.session.tolist(), columns.output.tolist(), strict=True)
        ]


def test_lines_of_agents_that_nobody_knows_are_kept_as_they_are(folder: Path) -> None:
    evil = "ho\x1b[2Jst\n\u202e"
    data = b'\x00\xff not json\n{"type": 1}\n\n'
    file = SourceFile("stranger", "/x/\x1b]0;y.log", session="s\x1b1", provenance=Provenance.OWN)
    with Memory.open(config=Config(folder / "other.h5", evil)) as other:
        other.append(Segment(file, evil, 0, data))
        other.checkpoint()
    with open_memory(folder / "m.h5") as memory:
        memory.merge([folder / "other.h5"])
        (source,) = memory.sources()
        assert (source.host, source.file) == (evil, replace(file, provenance=Provenance.IMPORTED))
        with memory.view() as view:
            assert b"".join(source_bytes(source, view.lines(source))) == data


# -- what is worked out, saved and decided ---------------------------------------------------------


def test_vectors_are_carried_once_and_those_that_are_no_numbers_are_not(folder: Path) -> None:
    model = VectorModel("owl", "1", 2)
    rows = {"a": {1: [1, 0], 2: [0, 1]}, "b": {2: [0, 1], 3: [1, 1], 4: [np.nan, 0]}}
    for number, (name, vectors) in enumerate(rows.items()):
        own_store(folder / f"{name}.h5", number + 1, [said(1, name, session=number + 1)])
        with Memory.open(config=Config(folder / f"{name}.h5", HOST))._store.writer() as writer:
            keys = np.array(list(vectors), "<u8")
            writer.add_vectors(model, keys, np.array(list(vectors.values()), "<f2"))
            writer.commit()
    with open_memory(folder / "m.h5") as memory:
        memory.merge([folder / "a.h5"])
        memory.merge([folder / "b.h5"])
        assert vectors_of(memory, model) == {1: [1, 0], 2: [0, 1], 3: [1, 1]}
        assert memory.merge([folder / "b.h5"]).vectors == 0
        (held,) = memory.vector_models()
        assert held.rows == 3


def vectors_of(memory: Memory, model: VectorModel) -> dict[int, list[float]]:
    with memory.view() as view:
        keys, vectors = view.vectors(model)
    return dict(zip(keys.tolist(), vectors.tolist(), strict=True))


def test_tables_of_own_stores_are_carried_each_row_once_and_those_of_others_are_not(folder: Path) -> None:
    for number, (name, ids) in enumerate({"a": ["x", "y"], "b": ["y", "w"]}.items()):
        own_store(folder / f"{name}.h5", number + 1, [said(1, name, session=number + 1)])
        with Memory.open(config=Config(folder / f"{name}.h5", HOST))._store.writer() as writer:
            counts = np.array([ord(each) for each in ids], "<u4")
            writer.add_derived(FACTS, {"id": ids, "count": counts}, built_to=0)
            writer.commit()
    wanted = {True: ["w", "x", "y"], False: []}
    for own, names in itertools.product((True, False), (["a", "b"], ["b", "a"])):
        with open_memory(folder / f"{own}{names[0]}.h5") as memory:
            memory.merge([folder / f"{name}.h5" for name in names], own=own)
            with memory.view() as view:
                assert list(view.derived(FACTS)["id"]) == wanted[own]


def test_decisions_of_two_stores_are_all_there_in_their_order(folder: Path) -> None:
    own_store(folder / "a.h5", 1, [said(1, "one", cwd="/srv/one")])
    with open_memory(folder / "a.h5") as memory:
        memory.label_project("one", "team=red")
        memory.snapshot(folder / "b.h5")
    labels = {"a": "stage=live", "b": "site=bay"}
    for name, label in labels.items():
        with open_memory(folder / f"{name}.h5") as memory:
            memory.label_project("one", label)
    for order in (["a", "b"], ["b", "a"]):
        with open_memory(folder / f"{order[0]}m.h5") as memory:
            memory.merge([folder / f"{name}.h5" for name in order], own=True)
            (project,) = memory.projects()
            assert set(project.labels) == {"team=red", *labels.values()}
        with open_memory(folder / f"{order[0]}i.h5") as memory:
            memory.merge([folder / f"{name}.h5" for name in order])
            assert not any(project.labels for project in memory.projects())


# -- what does not work ----------------------------------------------------------------------------


def test_a_store_is_not_merged_into_itself(folder: Path) -> None:
    own_store(folder / "m.h5", 1, [said(1, "one")])
    (folder / "link.h5").symlink_to("m.h5")
    with open_memory(folder / "m.h5") as memory:
        for name in ("m.h5", "link.h5"):
            with pytest.raises(UsageError, match="merged into"):
                memory.merge([folder / name])


def test_frames_that_lie_are_told_as_damage_of_their_store(
    folder: Path, eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every checksum holds; only who unpacks it sees that, in another process."""
    monkeypatch.setattr(packed, "_WORTH_BYTES", 0)
    own_store(folder / "m.h5", 1, [said(1, "one")])
    with monkeypatch.context() as patch:
        patch.setattr(
            tables, "compress", lambda block, level: compress(block + b"!" * (b'"uuid"' in block), level)
        )
        own_store(folder / "bad.h5", 2, [said(n, "two", session=2) for n in range(9)])
    before = (folder / "m.h5").read_bytes()
    with open_memory(folder / "m.h5") as memory, pytest.raises(StoreCorrupt, match=r"bad\.h5"):
        memory.merge([folder / "bad.h5"])
    assert (folder / "m.h5").read_bytes() == before


def test_a_missing_store_or_a_damaged_one_changes_nothing(folder: Path) -> None:
    own_store(folder / "m.h5", 1, [said(1, "one")])
    own_store(folder / "good.h5", 2, [said(1, "two", session=2)])
    own_store(folder / "bad.h5", 3, [said(n, "three " * 50, session=3) for n in range(500)])
    data = bytearray((folder / "bad.h5").read_bytes())
    at = data.index(b"\x28\xb5\x2f\xfd")  # where a packed block begins
    data[at + 8 : at + 16] = bytes(8)
    (folder / "bad.h5").write_bytes(data)
    before = (folder / "m.h5").read_bytes()
    with open_memory(folder / "m.h5") as memory:
        for name, error in (("none.h5", StoreError), ("bad.h5", StoreCorrupt)):
            with pytest.raises(error) as told:
                memory.merge([folder / "good.h5", folder / name])
            assert name in str(told.value)
            assert told.value.hint
    assert (folder / "m.h5").read_bytes() == before
    assert not (folder / "none.h5").exists()


def test_a_saved_thread_of_another_store_shadows_no_own_one(folder: Path) -> None:
    for store, id_ in (("m", "aaaa"), ("other", "bbbb")):
        record = {"type": "thread", "id": id_, "name": "kept", "created_ms": 1, "pieces": []}
        with memory_of(folder, f"{store}.h5")._store.writer() as writer:
            note(writer, curated_file(id_), HOST, record)
            writer.commit()
    with open_memory(folder / "m.h5") as memory:
        memory.merge([folder / "other.h5"])
        assert {thread.id for thread in memory.saved_threads()} == {"aaaa", "bbbb"}
        assert memory.saved_thread("kept").id == "aaaa"


@pytest.mark.parametrize("own", [True, False])
def test_what_was_erased_here_does_not_come_back(folder: Path, own: bool) -> None:
    """Neither a session nor a single line; not with its vectors either."""
    lines = [said(1, "stays"), said(2, "goes by its text")]
    for name in ("m", "other"):
        own_store(folder / f"{name}.h5", 1, lines)
        own_store(folder / f"{name}.h5", 2, [said(3, "goes whole", session=2)])
    with Memory.open(config=Config(folder / "other.h5", HOST))._store.writer() as writer:
        writer.add_vectors(VectorModel("owl", "1", 2), np.array([7], "<u8"), np.ones((1, 2), "<f2"))
        writer.commit()
    with open_memory(folder / "m.h5") as memory:
        memory.erase(Wanted(session=uuid_of(2)))
        memory.erase(Wanted(match="goes by its text"))
        before = shown(memory)
        report = memory.merge([folder / "other.h5"], own=own)
        assert report.is_nothing
        own_store(folder / "other.h5", 3, [said(4, "new", session=3)])
        assert memory.merge([folder / "other.h5"], own=own).sources == 1
        assert texts(memory, uuid_of(1)) == ["stays"]
        assert {each.facts.id for each in memory.sessions()} == {uuid_of(1), uuid_of(3)}
        assert memory.vector_models() == []
        assert len(memory.erasures()) == 2
        assert before["raw"].items() <= shown(memory)["raw"].items()


def test_an_erasure_of_another_own_store_holds_here(folder: Path) -> None:
    for name in ("m", "other"):
        own_store(folder / f"{name}.h5", 1, [said(1, "stays"), said(2, "goes by its text")])
    with open_memory(folder / "other.h5") as other:
        other.erase(Wanted(match="goes by its text"))
    with open_memory(folder / "m.h5") as memory:
        memory.merge([folder / "other.h5"])
        assert texts(memory, uuid_of(1)) == ["stays", "goes by its text"]
        memory.merge([folder / "other.h5"], own=True)
        assert texts(memory, uuid_of(1)) == ["stays"]
        assert memory.check() == []
