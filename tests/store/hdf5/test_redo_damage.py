"""A redo file that rots: it may hold the only copy of a commit, so nothing goes on without a person."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.support.logs import claude_path, said
from tests.support.memories import open_memory

from recollect.cli import main
from recollect.light.store_header import redo_path
from recollect.memory import Memory
from recollect.values.errors import StoreCorrupt
from recollect.values.records import Segment, SourceFile


def texts(memory: Memory) -> set[str]:
    return {entry.entry.text for session in memory.sessions() for entry in memory.show(session.facts.id)}


def write_log(folder: Path, session: int) -> Path:
    path = claude_path(folder, session)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(said(n, f"said {session}.{n}", session) + b"\n" for n in range(20)))
    return path


OLD = {f"said {session}.{n}" for session in range(1, 7) for n in range(20)}
NEW = {f"said {session}.{n}" for session in range(7, 9) for n in range(20)}


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    """A store of six sessions, with two more in a commit that a reader keeps in the redo file."""
    store = tmp_path / "m.h5"
    with open_memory(store) as memory:
        memory.ingest([write_log(tmp_path / "logs", session) for session in range(1, 7)])
        with open_memory(store) as reader, reader._store.view():
            memory.ingest([write_log(tmp_path / "logs", session) for session in range(7, 9)])
    assert redo_path(store).exists()
    return store


def damage(store: Path, at: int) -> bytes:
    data = bytearray(redo_path(store).read_bytes())
    data[at % len(data)] ^= 1 << (at % 8)
    redo_path(store).write_bytes(data)
    return bytes(data)


PLACES = [0, 9, 25, 33, 41, 49, 60, *(random.Random(11).randrange(1 << 30) for _ in range(13))]


@pytest.mark.parametrize("at", PLACES)
def test_it_is_told_kept_and_repaired_from_what_both_sides_prove(waiting: Path, at: int) -> None:
    data, before = damage(waiting, at), waiting.read_bytes()
    with open_memory(waiting, create=False) as memory:
        with pytest.raises(StoreCorrupt, match="-redo"):
            memory.checkpoint()
        with pytest.raises(StoreCorrupt, match="-redo"):
            memory.sessions()
        with pytest.raises(StoreCorrupt, match="-redo"):
            memory.append(Segment(SourceFile("claude", "/x.jsonl", session="s"), "elsewhere", 0, b"{}\n"))
        assert any(finding.level == "error" and "-redo" in finding.what for finding in memory.check())
    assert (redo_path(waiting).read_bytes(), waiting.read_bytes()) == (data, before)

    with open_memory(waiting, create=False) as memory:
        report = memory.repair()
        found = texts(memory)
        assert found >= OLD
        assert report.moved_to
        assert Path(report.moved_to).read_bytes() == before
        (kept,) = memory.kept_aside()
        assert Path(kept).read_bytes() == data
        assert memory.acknowledge()
        assert memory.check() == []
        memory.ingest([waiting.parent / "logs"])
        assert texts(memory) == OLD | NEW
    assert not redo_path(waiting).exists()


def test_damage_that_costs_no_page_costs_nothing(waiting: Path) -> None:
    """A flipped bit in what the file says of itself: every page proves itself."""
    damage(waiting, 33)
    with open_memory(waiting, create=False) as memory:
        report = memory.repair()
        assert (report.lost_lines, report.lost) == (0, [])
        assert texts(memory) == OLD | NEW


def test_one_half_of_the_new_header_is_enough(waiting: Path) -> None:
    data = redo_path(waiting).read_bytes()
    damage(waiting, data.index(b"RCLSTORE") + 40)
    with open_memory(waiting, create=False) as memory:
        assert memory.repair().lost_lines == 0
        assert texts(memory) == OLD | NEW


def test_a_person_is_told_by_check_and_status(waiting: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(waiting, 33)
    words = ["--store", str(waiting)]
    assert main([*words, "check"]) == 1
    assert "-redo" in capsys.readouterr().out
    assert main([*words, "check", "--repair"]) == 0
    assert main([*words, "status"]) == 0
    assert "m.h5-redo-damaged-" in capsys.readouterr().out.replace("\n", "")
    assert main([*words, "check"]) == 1
    assert main([*words, "check", "--acknowledge"]) == 0
    assert main([*words, "check"]) == 0
    capsys.readouterr()
    main([*words, "status"])
    assert "damaged" not in capsys.readouterr().out


def test_a_repair_cut_short_between_its_steps_ends_the_same(
    waiting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new file is in place and the damaged redo file not gone yet."""
    data = damage(waiting, 33)
    with open_memory(waiting, create=False) as memory:
        memory.repair()
        memory.acknowledge()
    redo_path(waiting).write_bytes(data)
    with open_memory(waiting, create=False) as memory:
        memory.repair()
        assert texts(memory) == OLD | NEW
