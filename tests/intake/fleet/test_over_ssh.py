"""The fleet over real ssh: sshd of this user on loopback, a home for each machine."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.children import environment
from tests.support.databases import make_database
from tests.support.logs import claude_path, codex_path, said, texts, uuid_of, write
from tests.support.sshd import Between, Machines, machines, needs_sshd

from recollect.memory import Memory
from recollect.memory.fleet import HostReport
from recollect.values.stored import source_bytes

pytestmark = needs_sshd


@pytest.fixture
def two(folder: Path) -> Iterator[Machines]:
    with machines(folder, "build-7", "nas") as made:
        yield made


def talk(session: int, *words: str, first: int = 1) -> bytes:
    return b"".join(said(first + n, text, session=session) + b"\n" for n, text in enumerate(words))


def stored(memory: Memory, host: str) -> dict[str, bytes]:
    """Every source of a host, byte for byte, by its path."""
    with memory.view() as view:
        return {
            source.file.path: b"".join(source_bytes(source, view.lines(source)))
            for source in view.sources()
            if source.host == host and not source.superseded
        }


def there(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*.jsonl")}


def synced(memory: Memory, *names: str) -> dict[str, HostReport]:
    return {each.host.name: each for each in memory.fleet.sync(names)}


def test_what_lies_on_another_machine_is_kept_byte_for_byte(two: Machines) -> None:
    home = two.home("build-7")
    write(claude_path(home / ".claude", 1), talk(1, "a question", "another") + b"{half a li")
    write(codex_path(home / ".codex", 2), b'{"type":"session_meta","payload":{"id":"x"}}\n' * 3)
    with two.memory() as memory:
        done = synced(memory)
        assert [each.state.trouble for each in done.values()] == ["", ""]
        assert stored(memory, "build-7") == there(home)
        assert stored(memory, "nas") == {}


def test_a_second_sync_moves_only_new_bytes(two: Machines) -> None:
    path = claude_path(two.home("nas") / ".claude", 1)
    write(path, talk(1, *(os.urandom(600).hex() for _ in range(400))))
    with two.memory() as memory:
        first = synced(memory, "nas")["nas"]
        idle = synced(memory, "nas")["nas"]
        added = talk(1, os.urandom(400).hex(), first=500)
        with path.open("ab") as file:
            file.write(added)
        second = synced(memory, "nas")["nas"]
        assert stored(memory, "nas") == there(two.home("nas"))
    assert first.report.bytes_source == path.stat().st_size - len(added)
    assert (idle.report.sources, idle.report.bytes_source) == (0, 0)
    assert second.report.bytes_source == len(added)
    # What comes over the wire besides: a greeting and a list.
    assert second.state.received < idle.state.received + 2 * len(added)
    assert first.state.received > 50 * second.state.received


def test_sessions_of_two_machines_with_one_id_are_two(two: Machines) -> None:
    for name in ("build-7", "nas"):
        write(claude_path(two.home(name) / ".claude", 1), talk(1, f"said on {name}"))
    local = write(claude_path(two.folder / "mine" / ".claude", 1), talk(1, "said here"))
    with two.memory() as memory:
        memory.ingest([local])
        synced(memory)
        found = [each for each in memory.sessions() if each.facts.id == uuid_of(1)]
        assert sorted(each.host for each in found) == ["build-7", "laptop", "nas"]
        with memory.view() as view:
            shown = {each.host: [entry.entry.text for entry in view.entries(each)] for each in found}
    assert shown == {"build-7": ["said on build-7"], "nas": ["said on nas"], "laptop": ["said here"]}


def test_twenty_at_once_and_what_is_wrong_with_one_is_its_own(folder: Path) -> None:
    """Eighteen and two are well or not: hanging, refusing, cut, a changed key, hostile names."""
    names = [f"host-{n}" for n in range(20)]
    hanging, refusing, cut, changed, hostile = names[:5]
    with Between(None) as silence, Between(20_000) as scissors:
        between = {hanging: silence.port, cut: scissors.port, refusing: 1}
        with machines(folder, *names, between=between) as fleet:
            scissors.target = fleet.ports[cut]
            fleet.change_key(changed)
            for n, name in enumerate(names):
                write(claude_path(fleet.home(name) / ".claude", n), talk(n, f"said on {name}"))
            big = talk(cut_session := 77, *(os.urandom(3000).hex() for _ in range(200)))
            write(claude_path(fleet.home(cut) / ".claude", cut_session), big)
            odd = [
                b"-rf.jsonl",
                b"new\nline.jsonl",
                b"$(touch x)`id`'\".jsonl",
                b"\xff\xfe.jsonl",
                b" blank .jsonl",
            ]
            place = claude_path(fleet.home(hostile) / ".claude", 1).parent
            for n, name in enumerate(odd):
                with open(os.path.join(os.fsencode(place), name), "wb") as file:
                    file.write(talk(100 + n, f"in {n}"))
            os.symlink("/etc/passwd", place / f"{uuid_of(55)}.jsonl")
            with fleet.memory(at_once=20, **{hanging: {"patience_seconds": 1}}) as memory:
                done = synced(memory)
                trouble = {name: each.state.kind for name, each in done.items() if each.state.kind}
                assert trouble == {
                    hanging: "silent", refusing: "refused", cut: "cut", changed: "changed key"
                }  # fmt: skip
                assert "ssh-keygen -R host-3" in done[changed].state.hint
                for name in names[4:]:
                    assert stored(memory, name) == {
                        path: data
                        for path, data in there(fleet.home(name)).items()
                        if uuid_of(55) not in path
                    }
                assert len(stored(memory, hostile)) == 1 + len(odd)
                assert stored(memory, changed) == stored(memory, refusing) == stored(memory, hanging) == {}
                scissors.bytes_max = 1 << 40
                assert synced(memory, cut)[cut].state.kind == ""
                assert stored(memory, cut) == there(fleet.home(cut))
            assert not list(folder.rglob("x"))


def test_a_key_that_nobody_saw_is_not_taken_unseen(two: Machines) -> None:
    two.forget_key("nas")
    with two.memory() as memory:
        state = synced(memory, "nas")["nas"].state
    assert state.kind == "unknown key"
    assert "`ssh nas` once" in state.hint


def test_a_log_that_grows_while_it_is_fetched_arrives_whole_in_the_end(two: Machines) -> None:
    path = claude_path(two.home("nas") / ".claude", 1)
    write(path, talk(1, *(os.urandom(2000).hex() for _ in range(50))))
    stop, written = threading.Event(), threading.Event()

    def write_on() -> None:
        with path.open("ab", buffering=0) as file:
            for n in range(100_000):
                line = talk(1, os.urandom(40).hex(), first=1000 + n)
                file.write(line[:30])
                file.write(line[30:])
                written.set()
                if stop.is_set():
                    return

    writer = threading.Thread(target=write_on)
    writer.start()
    written.wait()
    try:
        with two.memory() as memory:
            for _ in range(3):
                assert synced(memory, "nas")["nas"].state.trouble == ""
            stop.set()
            writer.join()
            synced(memory, "nas")
            assert stored(memory, "nas") == there(two.home("nas"))
            assert len([each for each in memory.sources() if each.host == "nas"]) == 1
    finally:
        stop.set()
        writer.join()


def test_a_rewritten_log_is_a_new_version_and_the_old_one_stays(two: Machines) -> None:
    path = write(claude_path(two.home("nas") / ".claude", 1), talk(1, "first", "second", "third"))
    with two.memory() as memory:
        synced(memory, "nas")
        write(path, talk(1, "first", "SECOND", "third", "fourth"))
        done = synced(memory, "nas")["nas"]
        assert done.report.restarted == 1
        assert stored(memory, "nas") == there(two.home("nas"))
        write(path, talk(1, "first"))  # shrunk
        synced(memory, "nas")
        assert stored(memory, "nas") == there(two.home("nas"))
        assert [each.superseded for each in memory.sources() if each.host == "nas"] == [True, True, False]


def test_a_database_comes_as_it_was_at_one_moment_and_only_when_it_changed(two: Machines) -> None:
    path = two.home("nas") / ".local" / "share" / "opencode" / "opencode.db"
    make_database(path)
    with two.memory() as memory:
        first = synced(memory, "nas")["nas"]
        assert first.report.taken
        again = synced(memory, "nas")["nas"]
        assert again.report.sources == 0
        assert all(each.host == "nas" for each in memory.sessions())


def test_what_comes_from_another_machine_is_imported_unless_it_is_said_to_be_own(two: Machines) -> None:
    write(claude_path(two.home("nas") / ".claude", 1), talk(1, "hello"))
    with two.memory() as memory:
        synced(memory, "nas")
        assert [each.imported for each in memory.sessions()] == [True]
    with two.memory(nas={"own": True}) as memory:
        synced(memory, "nas")
        assert [each.imported for each in memory.sessions()] == [False]


def test_it_is_told_what_a_machine_deletes_next(two: Machines) -> None:
    home = two.home("nas")
    old = write(claude_path(home / ".claude", 1), talk(1, "old"))
    write(claude_path(home / ".claude", 2), talk(2, "new"))
    write(home / ".claude" / "settings.json", b'{"cleanupPeriodDays": 9}')
    stat = old.stat()
    os.utime(old, (stat.st_atime, stat.st_mtime - 8 * 86_400))
    with two.memory() as memory:
        synced(memory, "nas")
        state = next(each.state for each in memory.fleet.status() if each.host.name == "nas")
    assert state.doomed is not None
    assert (state.doomed.session, state.doomed.days) == (uuid_of(1), 9)
    assert state.soon == 1


def test_a_killed_sync_loses_nothing_and_takes_nothing_twice(two: Machines) -> None:
    """Killed at moments that it tells itself; then once more, to the end."""
    home = two.home("nas")
    for n in range(6):
        write(claude_path(home / ".claude", n), talk(n, *(os.urandom(300).hex() for _ in range(20))))
    script = two.folder / "killed.py"
    script.write_text(KILLED)
    with two.memory() as memory:
        synced(memory, "build-7")  # makes the store
    config = two.config()
    survived = 0
    for moment in range(100):
        told = (script, config.store, config.cache, config.fleet["ssh_config"], moment)
        words = [sys.executable, *map(str, told)]
        done = subprocess.run(words, env=environment(), check=False)
        with two.memory() as memory:
            for path, data in stored(memory, "nas").items():
                assert Path(path).read_bytes().startswith(data)
        if done.returncode == 0:
            survived = moment
            break
        assert done.returncode == -9
    assert survived > 3
    with two.memory() as memory:
        synced(memory, "nas")
        assert stored(memory, "nas") == there(home)
        assert len([each for each in memory.sources() if each.host == "nas"]) == 6
        assert len(texts(memory, uuid_of(1))) == 20
    assert not (config.fleet_folder / "spool").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from recollect.config import Config
from recollect.intake.fleet import channel, kept, load, plan, sync, take, visit
from recollect.memory import Memory

store, cache, ssh_config, moment = sys.argv[1:]
left = int(moment)
plan.ROUND_FILES = 2

def deadly(where, name):
    was = getattr(where, name)
    def now(*words, **more):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return was(*words, **more)
    setattr(where, name, now)

for name in ("_greet", "_listed", "_fetched"):
    deadly(visit, name)
for where, name in ((load, "is_good"), (sync, "take_load"), (take, "note_forks"), (kept, "replace_file")):
    deadly(where, name)
deadly(kept.HostFolder, "empty")
fleet = {"nas": {"address": "nas"}, "ssh_config": ssh_config}
with Memory.open(config=Config(Path(store), "laptop", cache=Path(cache), fleet=fleet)) as memory:
    (done,) = memory.fleet.sync()
    assert not done.state.trouble, done
"""
