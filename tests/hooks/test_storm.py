"""Many hooks at once, a store that is locked and a disk that is full: whoever looks next takes all of it."""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.hook_calls import Desk, finished, holding
from tests.support.logs import uuid_of
from tests.support.mounts import leave_free, mounted, needs_root

from recollect.cli.open_memory import open_memory
from recollect.light.capture import followed
from recollect.light.journal import journal_path
from recollect.light.missed import Taking, is_missed, note_first, note_installed, note_missed, note_removed
from recollect.memory import Memory

MANY = 24
FIRST, LAST = 1, MANY + 2  # sessions before the storm and after it


def look_by_command(desk: Desk) -> None:
    args = argparse.Namespace(store=str(desk.store), quiet=False)
    open_memory(args).close()


def look_by_hook(desk: Desk) -> None:
    session(desk, LAST)
    assert desk.call("Stop").harmless
    assert desk.quiet()


LOOKS: dict[str, Callable[[Desk], None]] = {"command": look_by_command, "hook": look_by_hook}


def session(desk: Desk, number: int) -> None:
    desk.session = number
    desk.write(1)


def storm(desk: Desk) -> None:
    """A session each, and all their hooks at once."""
    begun: list[tuple[subprocess.Popen[bytes], float, bytes]] = []
    for number in range(2, MANY + 2):
        session(desk, number)
        given = json.dumps(desk.payload("Stop")).encode()
        begun.append((desk.begin(), time.monotonic(), given))
    assert all(finished(*each).harmless for each in begun)


def in_store(desk: Desk) -> set[str]:
    """The sessions that the store and its journal hold; this is no look at transcripts."""
    with desk.memory() as memory:
        return {each.facts.id for each in memory.sessions()}


def all_sessions(desk: Desk) -> set[str]:
    return {path.stem for path in desk.transcript.parent.glob("*.jsonl")}


@pytest.mark.root
@needs_root
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("used", [True, False])
@pytest.mark.parametrize("state_on", ["the full disk", "another disk"])
def test_what_a_storm_on_a_full_disk_could_not_take_is_taken_by_the_next_look(
    desk: Desk, look: str, state_on: str, used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mounted("-t", "tmpfs", "-o", "size=16m", "none") as disk:
        cache = disk / "cache" if state_on == "the full disk" else desk.home / "cache"
        small = Desk(desk.home, disk / "memory.h5", cache=cache)
        as_desk(small, monkeypatch)
        session(small, FIRST)
        with small.memory() as memory:
            assert not used or small.call("Stop").harmless
            memory.checkpoint()  # a journal takes its room before it is used
        leave_free(disk, 0)
        with holding(small.store, "WRITER"):
            storm(small)
        assert len(in_store(small)) < MANY
        (disk / "filler").unlink()
        LOOKS[look](small)
        assert in_store(small) == all_sessions(small)
        assert small.quiet()
        assert not is_missed(str(small.config.state))


@pytest.mark.parametrize("look", LOOKS)
def test_what_hooks_left_while_the_journal_was_held_is_taken_by_the_next_look(
    desk: Desk, look: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_desk(desk, monkeypatch)
    session(desk, FIRST)
    assert desk.call("Stop").harmless
    with holding(journal_path(desk.store), "APPEND"):
        storm(desk)
    LOOKS[look](desk)
    assert desk.quiet()
    assert in_store(desk) == all_sessions(desk)


def test_a_look_takes_nothing_that_no_hook_was_meant_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither where hooks never ran, nor where they stand in the settings of single projects."""
    as_desk(desk, monkeypatch)
    session(desk, FIRST)
    look_by_command(desk)
    assert in_store(desk) == set()
    state = str(desk.config.state)
    for agents, project in ((["claude"], True), (["codex"], False)):
        note_installed(state, agents, project=project)
        note_missed(state)
        look_by_command(desk)
        assert in_store(desk) == set()
    note_installed(state, ["claude"], project=False)
    note_removed(state, ["claude", "codex"])
    note_missed(state + "/other")
    look_by_command(desk)
    assert in_store(desk) == set()
    note_installed(state, ["claude"], project=False)
    note_missed(state)
    look_by_command(desk)
    assert in_store(desk) == {uuid_of(FIRST)}


def test_what_was_missed_stays_missed_while_the_store_cannot_be_written(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_desk(desk, monkeypatch)
    session(desk, FIRST)
    state = str(desk.config.state)
    note_installed(state, ["claude"], project=False)
    note_missed(state)
    with holding(desk.store, "WRITER"), closing(desk.memory()) as memory:
        assert not memory.take_missed(timeout=0.0)
    assert is_missed(state)
    with closing(desk.memory()) as memory:
        assert memory.take_missed()
    assert in_store(desk) == {uuid_of(FIRST)}


def test_a_look_that_is_killed_leaves_word_for_the_next(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    as_desk(desk, monkeypatch)
    session(desk, FIRST)
    state = str(desk.config.state)
    note_installed(state, ["claude"], project=False)
    note_missed(state)
    begun = Taking(state)  # as of a process that is killed next
    begun.begin()
    assert is_missed(state)
    with closing(desk.memory()) as memory, monkeypatch.context() as stopped:
        stopped.setattr(Memory, "ingest", interrupted)
        with pytest.raises(KeyboardInterrupt):
            memory.take_missed()
    assert is_missed(state)
    look_by_command(desk)
    assert in_store(desk) == {uuid_of(FIRST)}
    assert not is_missed(state)


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_what_is_missed_while_somebody_looks_counts(desk: Desk) -> None:
    state = str(desk.config.state)
    note_installed(state, ["claude"], project=False)
    for meanwhile in (note_missed, note_first):
        note_missed(state)
        taking = Taking(state)
        taking.begin()
        meanwhile(state)
        taking.end()
        assert is_missed(state) == (meanwhile is note_missed)


def test_a_look_takes_so_much_at_once_and_goes_on_the_next_time(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_desk(desk, monkeypatch)
    for number in range(1, 4):
        session(desk, number)
    note_installed(str(desk.config.state), ["claude"], project=False)
    note_missed(str(desk.config.state))
    # What no hook follows is not taken, so it must not come before what is, however new and large.
    (desk.transcript.parent / "notes.txt").write_bytes(b"x" * 100_000)
    monkeypatch.setattr("recollect.memory.MISSED_BYTES", desk.transcript.stat().st_size + 10)
    for found in range(1, 4):
        look_by_command(desk)
        assert len(in_store(desk)) == found
    look_by_command(desk)
    assert not is_missed(str(desk.config.state))


def test_a_payload_that_nobody_could_read_counts_as_missed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_desk(desk, monkeypatch)
    session(desk, FIRST)
    assert desk.call("Stop", given=b"").harmless
    assert desk.quiet()
    look_by_command(desk)
    assert in_store(desk) == {uuid_of(FIRST)}


def test_a_session_is_followed_before_anything_of_it_is_taken(desk: Desk) -> None:
    """A hook that is stopped while it waits to append has left word of its session."""
    session(desk, FIRST)
    with holding(journal_path(desk.store), "APPEND"):
        assert desk.call("Stop").harmless
        assert [Path(each.path).stem for each in followed(str(desk.config.state))] == [uuid_of(FIRST)]


def as_desk(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command in this process finds what one at that desk would find."""
    for name, value in desk.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RECOLLECT_CACHE", str(desk.config.cache))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "RECOLLECT_STORE"):
        monkeypatch.delenv(name, raising=False)
