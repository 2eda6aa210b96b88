"""A host that still has what was erased here does not bring it back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.canaries import CANARIES, ERASED, KEPT, canary, places_with, record, write_logs
from tests.support.canary_secrets import SECRETS, write_secrets
from tests.support.plain_hosts import PlainHosts

from recollect.values.erasures import Wanted


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
