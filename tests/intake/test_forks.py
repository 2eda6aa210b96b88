"""A fork that names no parent gets it: by the records that it begins with, whichever came first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.logs import claude_path, said, uuid_of, write
from tests.support.memories import open_memory

from recollect.memory import Memory
from recollect.values.records import Relation

ONE, TWO, THREE = 1, 2, 3


def queued(number: int, session: int) -> bytes:
    """What a client notes of a prompt in the file of its own session, and copies into no other."""
    record = json.loads(said(number, "", session))
    kept = {key: record[key] for key in ("timestamp", "sessionId")}
    return json.dumps({"type": "queue-operation", "operation": "enqueue", **kept}).encode() + b"\n"


def talk(session: int, *numbers: int) -> bytes:
    return b"".join(said(number, f"line {number}", session) + b"\n" for number in numbers)


def parents(memory: Memory) -> dict[str, tuple[Relation, str]]:
    return {each.facts.id: (each.facts.relation, each.facts.parent) for each in memory.sessions()}


def fork_of(session: int) -> tuple[Relation, str]:
    return Relation.FORK, uuid_of(session)


FRESH = (Relation.NONE, "")


@pytest.mark.parametrize("order", [(ONE, TWO, THREE), (THREE, TWO, ONE), (TWO, THREE, ONE)])
@pytest.mark.parametrize("at_once", [True, False])
def test_forks_have_the_parent_whose_records_they_begin_with(
    tmp_path: Path, order: tuple[int, ...], at_once: bool
) -> None:
    files = {
        ONE: queued(0, ONE) + talk(ONE, 1, 2, 3, 40),
        TWO: queued(20, TWO) + talk(TWO, 1, 2, 3, 21),
        THREE: queued(30, THREE) + talk(THREE, 1, 2, 3, 21, 31),
    }
    with open_memory(tmp_path / "memory.h5") as memory:
        for session in order:
            write(claude_path(tmp_path, session), files[session])
            if not at_once:
                memory.ingest([tmp_path])
        memory.ingest([tmp_path])
        wanted = {uuid_of(ONE): FRESH, uuid_of(TWO): fork_of(ONE), uuid_of(THREE): fork_of(TWO)}
        assert parents(memory) == wanted
        memory.reparse()
        assert parents(memory) == wanted


def test_a_fork_goes_on_and_stays_one(tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory.h5") as memory:
        write(claude_path(tmp_path, ONE), talk(ONE, 1, 2))
        write(claude_path(tmp_path, TWO), talk(TWO, 1, 2, 3))
        memory.ingest([tmp_path])
        write(claude_path(tmp_path, TWO), talk(TWO, 1, 2, 3, 4))
        memory.ingest([tmp_path])
        assert parents(memory) == {uuid_of(ONE): FRESH, uuid_of(TWO): fork_of(ONE)}


def test_a_fork_of_what_was_summed_up_begins_in_the_middle_of_its_parent(tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory.h5") as memory:
        write(claude_path(tmp_path, ONE), talk(ONE, 1, 2, 3, 4))
        write(claude_path(tmp_path, TWO), talk(TWO, 3, 4, 5))
        memory.ingest([tmp_path])
        assert parents(memory) == {uuid_of(ONE): FRESH, uuid_of(TWO): fork_of(ONE)}


def test_the_same_id_on_other_words_makes_no_fork(tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory.h5") as memory:
        write(claude_path(tmp_path, ONE), talk(ONE, 1))
        write(claude_path(tmp_path, TWO), said(1, "something else", TWO) + b"\n")
        memory.ingest([tmp_path])
        assert parents(memory) == {uuid_of(ONE): FRESH, uuid_of(TWO): FRESH}


def test_telling_a_fork_its_parent_keeps_its_half_written_end(tmp_path: Path) -> None:
    write(claude_path(tmp_path, ONE), talk(ONE, 1, 2, 3, 40))
    write(claude_path(tmp_path, TWO), queued(20, TWO) + talk(TWO, 1, 2, 3, 21) + b'{"half')
    with open_memory(tmp_path / "memory.h5") as memory:
        memory.ingest([tmp_path])
        assert parents(memory)[uuid_of(TWO)] == fork_of(ONE)
        assert b"".join(memory.raw(uuid_of(TWO))).endswith(b'{"half')
        memory.reparse()
        assert b"".join(memory.raw(uuid_of(TWO))).endswith(b'{"half')
