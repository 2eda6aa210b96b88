"""An erase that is killed at any step is completed by whoever comes next: no file keeps a word of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.canaries import CANARIES, ERASED, HOST, KEPT, canary, ours, places_with, write_logs
from tests.support.canary_secrets import SECRETS, write_secrets
from tests.support.children import command, environment

from recollect.cli import main
from recollect.hooks.settle import settle
from recollect.light.capture import FileMark, Followed, write_followed
from recollect.memory import Memory
from recollect.memory.reads import last_reads, note_reads
from recollect.values.erasures import Wanted
from recollect.values.errors import NotFound
from recollect.values.retention import SessionName

POINTS = 24


def fill(folder: Path, logs: Path) -> None:
    """A store with all that is made of it: indexes, catalogs, what hooks and a fleet keep."""
    config = ours(folder)
    path = logs / canary("Path") / f"{ERASED}.jsonl"
    with Memory.open(config=config) as memory:
        memory.ingest()
        settle(memory)
        memory.search(canary("Body"))
    state = str(config.state)
    write_followed(state, Followed("claude", str(path), files={"": FileMark(9, 9, 9, 9)}))
    note_reads(config.state, [SessionName("claude", HOST, each) for each in (ERASED, KEPT)], 10**13)
    told = config.fleet_folder / "00" / "told"
    told.mkdir(parents=True)
    (told / "history.jsonl").write_text(canary("Body"))


def erase(folder: Path, number: int, what: str = ERASED) -> subprocess.CompletedProcess[str]:
    words = command("faults/killed_erase.py", folder, what, number)
    env = {**environment(), "HOME": os.environ["HOME"]}
    return subprocess.run(words, env=env, capture_output=True, text=True, check=False)


def by_command(folder: Path) -> None:
    config = ours(folder)
    words = ["--store", str(config.path), "--quiet", "erase", ERASED, "--yes"]
    assert main(words) == 0


def by_ingest(folder: Path) -> None:
    with Memory.open(config=ours(folder)) as memory:
        memory.ingest()


def by_index(folder: Path) -> None:
    with Memory.open(config=ours(folder)) as memory:
        memory.index()


def by_settling(folder: Path) -> None:
    with Memory.open(config=ours(folder)) as memory:
        settle(memory)


def test_whoever_comes_after_a_killed_erase_completes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    logs, whole = write_logs(tmp_path / "home" / ".claude" / "projects"), tmp_path / "whole"
    fill(whole, logs)
    with Memory.open(config=ours(whole)) as memory:
        before = places_with(memory, *CANARIES, ERASED)
    assert {"history.jsonl", f"{ERASED}.jsonl", "retention-read.json"} <= {Path(each).name for each in before}
    assert any("catalogs" in each for each in before)
    folder = tmp_path / "ours"
    monkeypatch.setenv("RECOLLECT_CACHE", str(folder / "cache"))
    monkeypatch.setattr("recollect.config.host_name", lambda: HOST)

    def copied() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole, folder)
        for kind in ("hooks", "fleet"):  # named by where the store is
            made = folder / "cache" / kind
            (made / ours(whole).state.name).rename(made / ours(folder).state.name)

    copied()
    done = erase(folder, 0)
    assert done.returncode == 0, done.stderr
    changes = int(done.stdout)
    assert changes > POINTS
    finishers: list[Callable[[Path], None]] = [by_command, by_ingest, by_index, by_settling]
    cut_short = 0
    for n, number in enumerate(range(1, changes + 1, max(changes // POINTS, 1))):
        copied()
        assert erase(folder, number).returncode == 9
        with Memory.open(config=ours(folder)) as memory:
            has_happened = bool(memory.erasures())
            left = places_with(memory, *CANARIES, ERASED)
        if not has_happened:
            assert left
            by_command(folder)
        else:
            cut_short += bool(left)
            finishers[n % len(finishers)](folder)
        with Memory.open(config=ours(folder)) as memory:
            assert places_with(memory, *CANARIES, ERASED) == set(), (number, finishers[n % len(finishers)])
            assert [each.is_cleared for each in memory.erasures()] == [True]
            assert [each.facts.id for each in memory.sessions()] == [KEPT]
            assert list(last_reads(memory.config.state)) == [SessionName("claude", HOST, KEPT)]
    assert cut_short > POINTS // 3, "most of these kills came between the rewrite and its end"


def test_whoever_comes_after_a_killed_merge_of_an_erasure_completes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was erased in another store, and cleared there, is still in what was made here."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    logs, whole = write_logs(tmp_path / "home" / ".claude" / "projects"), tmp_path / "whole"
    fill(whole, logs)
    other = tmp_path / "other"
    with Memory.open(config=ours(other)) as memory:
        memory.ingest([logs])
        memory.erase(Wanted(session=ERASED))
        assert [each.is_cleared for each in memory.erasures()] == [True]
    folder, brought = tmp_path / "ours", str(ours(other).path)
    monkeypatch.setenv("RECOLLECT_CACHE", str(folder / "cache"))
    monkeypatch.setattr("recollect.config.host_name", lambda: HOST)

    def copied() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole, folder)
        for kind in ("hooks", "fleet"):  # named by where the store is
            made = folder / "cache" / kind
            (made / ours(whole).state.name).rename(made / ours(folder).state.name)

    def by_merging(folder: Path) -> None:
        assert main(["--store", str(ours(folder).path), "--quiet", "merge", brought, "--own"]) == 0

    copied()
    done = erase(folder, 0, brought)
    assert done.returncode == 0, done.stderr
    changes = int(done.stdout)
    finishers: list[Callable[[Path], None]] = [by_merging, by_ingest, by_index, by_settling]
    cut_short = 0
    for n, number in enumerate(range(1, changes + 1, max(changes // 16, 1))):
        copied()
        assert erase(folder, number, brought).returncode == 9
        with Memory.open(config=ours(folder)) as memory:
            has_happened = bool(memory.erasures())
            left = places_with(memory, *CANARIES, ERASED)
        assert left or has_happened
        cut_short += has_happened and bool(left)
        (finishers[n % len(finishers)] if has_happened else by_merging)(folder)
        with Memory.open(config=ours(folder)) as memory:
            assert places_with(memory, *CANARIES, ERASED) == set(), (number, finishers[n % len(finishers)])
            assert [each.is_cleared for each in memory.erasures()] == [True]
            assert [each.facts.id for each in memory.sessions()] == [KEPT]
    assert cut_short > 3, "some of these kills came between the rewrite and its end"


def test_whoever_comes_after_a_killed_erase_of_secrets_completes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    logs, whole = write_secrets(tmp_path / "home" / ".claude" / "projects"), tmp_path / "whole"
    with Memory.open(config=ours(whole)) as memory:
        memory.ingest()
        settle(memory)
        memory.search("deploy")
        kept = b"".join(memory.raw(KEPT))
    folder = tmp_path / "ours"
    monkeypatch.setenv("RECOLLECT_CACHE", str(folder / "cache"))
    monkeypatch.setattr("recollect.config.host_name", lambda: HOST)

    def copied() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole, folder)
        made = folder / "cache" / "hooks"
        (made / ours(whole).state.name).rename(made / ours(folder).state.name)

    def again(folder: Path) -> None:
        words = ["--store", str(ours(folder).path), "--quiet", "erase", "--secrets", "--yes"]
        assert main(words) in (0, NotFound.exit_code)  # where all was done, there is no secret any more

    copied()
    done = erase(folder, 0, "--secrets")
    assert done.returncode == 0, done.stderr
    changes = int(done.stdout)
    finishers: list[Callable[[Path], None]] = [again, by_ingest, by_index, by_settling]
    cut_short = 0
    for n, number in enumerate(range(1, changes + 1, max(changes // 16, 1))):
        copied()
        assert erase(folder, number, "--secrets").returncode == 9
        with Memory.open(config=ours(folder)) as memory:
            has_happened = bool(memory.erasures())
            left = places_with(memory, *SECRETS)
        assert left or has_happened
        cut_short += has_happened and bool(left)
        (finishers[n % len(finishers)] if has_happened else again)(folder)
        with Memory.open(config=ours(folder)) as memory:
            assert places_with(memory, *SECRETS) == set(), (number, finishers[n % len(finishers)])
            assert [each.is_cleared for each in memory.erasures()] == [True]
            assert b"".join(memory.raw(KEPT)) == kept
            assert len(memory.altered(ERASED)) == 7
            assert memory.ingest([logs]).taken == 0
    assert cut_short > 3, "some of these kills came between the rewrite and its end"
