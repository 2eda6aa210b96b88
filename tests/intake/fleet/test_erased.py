"""A host that still has what was erased here does not bring it back."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.canaries import CANARIES, ERASED, KEPT, canary, places_with, record, write_logs
from tests.support.canary_secrets import SECRETS, write_secrets
from tests.support.logs import claude_path, said, write
from tests.support.plain_hosts import PlainHosts

from recollect.intake.fleet import plan
from recollect.memory import Memory
from recollect.memory.fleet import HostReport
from recollect.values.erasures import Wanted
from recollect.values.retention import RetentionSettings


def test_a_sync_does_not_bring_back_what_was_erased(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = PlainHosts(folder, "nas")
    monkeypatch.setenv("PATH", hosts.environ["PATH"])
    logs = write_logs(hosts.home("nas") / ".claude" / "projects")
    ours = folder / "ours"
    ours.mkdir()
    with hosts.memory("ours/memory.h5") as memory:
        assert memory.fleet.sync(["nas"])[0].state.trouble == ""
        assert {each.facts.id for each in memory.sessions()} == {ERASED, KEPT}
        memory.index()
        assert places_with(memory, *CANARIES)
        _, receipt = memory.erase(Wanted(session=ERASED))
        assert places_with(memory, *CANARIES, ERASED) == set()
        assert receipt["verified"]["found"] == []
        for said in (f"More of {canary('Body')}", ""):
            if said:
                with (logs / canary("Path") / f"{ERASED}.jsonl").open("a") as file:
                    file.write(json.dumps(record(ERASED, 9, "user", said)) + "\n")
            assert memory.fleet.sync(["nas"])[0].state.trouble == ""
            memory.index()
            assert [each.facts.id for each in memory.sessions()] == [KEPT]
            assert places_with(memory, *CANARIES) == set()


# -- only what is new travels ----------------------------------------------------------------------


@pytest.fixture
def hosts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> PlainHosts:
    made = PlainHosts(folder, "nas")
    monkeypatch.setenv("PATH", made.environ["PATH"])
    return made


def talk(session: int, *words: str, first: int = 1) -> bytes:
    return b"".join(said(n, text, session=session) + b"\n" for n, text in enumerate(words, first))


def noise(count: int) -> list[str]:
    return [os.urandom(300).hex() for _ in range(count)]


def logs(hosts: PlainHosts, *, named: bool) -> tuple[Path, Path]:
    """Two logs; that of the first session is known by its name, or only by what is in it."""
    home = hosts.home("nas") / ".claude"
    path = claude_path(home, 1)
    first = write(path if named else path.with_name("harbor.jsonl"), talk(1, *noise(50)))
    return first, write(claude_path(home, 2), talk(2, *noise(50)))


def grow(path: Path, session: int, first: int) -> int:
    added = talk(session, *noise(2), first=first)
    with path.open("ab") as file:
        file.write(added)
    return len(added)


def sync(memory: Memory) -> HostReport:
    (done,) = memory.fleet.sync(["nas"])
    assert done.state.trouble == ""
    return done


def first_session(memory: Memory) -> str:
    return min(each.facts.id for each in memory.sessions())


@pytest.mark.parametrize("named", [True, False])
def test_what_was_erased_does_not_travel_again(hosts: PlainHosts, named: bool) -> None:
    path, _ = logs(hosts, named=named)
    with hosts.memory() as memory:
        sync(memory)
        erased = first_session(memory)
        memory.erase(Wanted(session=erased))
        if not named:
            assert sync(memory).report.bytes_source == path.stat().st_size, "once, to see whose it is"
        idle = sync(memory)
        assert idle.report.bytes_source == 0
        added = grow(path, 1, 60)
        grown = sync(memory)
        assert grown.report.bytes_source == (0 if named else added)
        assert grown.state.received < idle.state.received + 3 * added
        again = sync(memory)
        assert again.report.bytes_source == 0
        assert again.state.received < idle.state.received + 200
        assert erased not in {each.facts.id for each in memory.sessions()}
        kept = next(hosts.folder.rglob("state.json")).read_text()
        assert path.name not in kept
        (erasure,) = memory.erasures()
        memory.forget_erasure(erasure.id)
        assert sync(memory).report.bytes_source == path.stat().st_size
        assert b"".join(memory.raw(erased)) == path.read_bytes()
        assert json.loads(next(hosts.folder.rglob("state.json")).read_text())["erased"] == {}


def test_what_was_erased_and_is_another_session_now_is_taken(hosts: PlainHosts) -> None:
    path, _ = logs(hosts, named=False)
    with hosts.memory() as memory:
        sync(memory)
        memory.erase(Wanted(session=first_session(memory)))
        sync(memory)
        path.write_bytes(talk(3, *noise(90)))
        sync(memory)
        assert path.read_bytes() in {b"".join(memory.raw(each.facts.id)) for each in memory.sessions()}


def test_an_erased_log_larger_than_a_round_comes_once(
    hosts: PlainHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = logs(hosts, named=False)
    with hosts.memory() as memory:
        sync(memory)
        memory.erase(Wanted(session=first_session(memory)))
        monkeypatch.setattr(plan, "ROUND_BYTES", 4_000)
        monkeypatch.setattr(plan, "HEAD_BYTES", 1_000)
        assert path.stat().st_size > 20_000
        assert sync(memory).report.bytes_source == path.stat().st_size
        assert sync(memory).report.bytes_source == 0


def test_of_a_log_that_lost_lines_only_what_is_new_travels(hosts: PlainHosts) -> None:
    """By a budget, and by an erasing: what is left here is not what lies there."""
    path, other = logs(hosts, named=True)
    with hosts.memory() as memory:
        sync(memory)
        memory.index()
        first, second = sorted(each.facts.id for each in memory.sessions())
        lost = next(iter(memory.show(second)))
        memory.erase(Wanted(entry=lost.id))
        memory.config = replace(memory.config, retention=RetentionSettings(raw_hard_cap_bytes=1))
        memory.sweep()
        assert set(memory.evicted_sessions()) == {first, second}
        assert sync(memory).report.bytes_source == 0
        added = grow(path, 1, 60) + grow(other, 2, 60)
        assert sync(memory).report.bytes_source == added
        assert [len(list(memory.show(each))) for each in (first, second)] == [2, 2]
        added = grow(path, 1, 70) + grow(other, 2, 70)
        assert sync(memory).report.bytes_source == added, "and again"
        memory.restore(first, [path])
        assert memory.check() == []


def test_a_sync_does_not_bring_back_secrets(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = PlainHosts(folder, "nas")
    monkeypatch.setenv("PATH", hosts.environ["PATH"])
    logs = write_secrets(hosts.home("nas") / ".claude" / "projects")
    (folder / "ours").mkdir()
    with hosts.memory("ours/memory.h5") as memory:
        assert memory.fleet.sync(["nas"])[0].state.trouble == ""
        assert places_with(memory, *SECRETS)
        memory.erase(Wanted(secrets=True))
        assert places_with(memory, *SECRETS) == set()
        path = logs / "harbor" / f"{ERASED}.jsonl"
        for number, said in enumerate(("", "and then more", "and then less", "")):
            if number == 2:
                path.write_bytes(path.read_bytes().replace(b"and then more", said.encode()))
            elif said:
                with path.open("a") as file:
                    file.write(json.dumps(record(ERASED, 9, "user", said)) + "\n")
            assert memory.fleet.sync(["nas"])[0].state.trouble == ""
            assert places_with(memory, *SECRETS) == set()
            assert memory.check() == []
            if said:
                assert [each.entry.text for each in memory.show(ERASED)][-1] == said
        assert len(list(memory.show(KEPT)))
        memory.forget_erasure(memory.erasures()[0].id)
        assert memory.fleet.sync(["nas"])[0].state.trouble == ""
        assert b"".join(memory.raw(ERASED)) == path.read_bytes()
