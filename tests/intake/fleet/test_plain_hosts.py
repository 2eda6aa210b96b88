"""What runs on a host, with the shells and tools that hosts have; without ssh between."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest
import zstandard
from tests.support.databases import make_database
from tests.support.logs import claude_path, codex_path, said, write
from tests.support.memories import sources_of
from tests.support.plain_hosts import PlainHosts, busybox_tools, plain_tools

from recollect.intake.fleet import kept, plan
from recollect.memory.fleet import HostReport

NAMES = (b"-n.jsonl", b"two\nlines.jsonl", b"$(id)`id`'\"\\.jsonl", b"\xff\xfe.jsonl", b" x .jsonl", b"end\n")


@pytest.fixture
def hosts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> PlainHosts:
    made = PlainHosts(folder, "nas", "build-7")
    monkeypatch.setenv("PATH", made.environ["PATH"])
    return made


def talk(session: int, *words: str) -> bytes:
    return b"".join(said(n, text, session=session) + b"\n" for n, text in enumerate(words, 1))


def sync(hosts: PlainHosts, **more: object) -> HostReport:
    with hosts.memory(**more) as memory:
        done = memory.fleet.sync(["nas"])[0]
    assert done.state.trouble == ""
    return done


def stored(hosts: PlainHosts) -> dict[str, bytes]:
    with hosts.memory() as memory:
        return sources_of(memory)


def fill(home: Path) -> dict[str, bytes]:
    """Logs under all names there are; gives them as they are to be kept."""
    place = claude_path(home / ".claude", 1).parent
    place.mkdir(parents=True)
    made = {}
    for n, name in enumerate(NAMES):
        path = os.path.join(os.fsencode(place), name)
        with open(path, "wb") as file:
            file.write(talk(n, f"said {n}"))
        if name.endswith(b".jsonl"):
            made[os.fsdecode(path)] = talk(n, f"said {n}")
    for n in (21, 22):
        made[str(write(claude_path(home / ".claude", n), talk(n, "by name", "x" * 5000)))] = talk(
            n, "by name", "x" * 5000
        )
    os.symlink("/etc/passwd", place / "linked.jsonl")
    (place / "pipe.jsonl").unlink(missing_ok=True)
    os.mkfifo(place / "pipe.jsonl")
    return made


SHELLS = [
    shell
    for shell in ("dash", "bash --posix", "busybox sh", "mksh", "zsh --emulate sh")
    if shutil.which(shell.split()[0])
]


@pytest.mark.parametrize("shell", [each for each in SHELLS if shutil.which(each.split()[0])])
def test_every_shell_sends_the_same(hosts: PlainHosts, shell: str) -> None:
    expected = fill(hosts.home("nas"))
    hosts.uses(os.environ["PATH"].partition(":")[2], shell)
    sync(hosts)
    assert stored(hosts) == expected


@pytest.mark.parametrize("more", [("gzip", "stat"), ("stat",), ("gzip",), ()], ids=str)
def test_a_host_with_posix_tools_alone_sends_the_same(hosts: PlainHosts, more: tuple[str, ...]) -> None:
    expected = fill(hosts.home("nas"))
    hosts.uses(plain_tools(hosts.folder / "tools", *more))
    first = sync(hosts)
    assert stored(hosts) == expected
    idle = sync(hosts)
    assert (first.report.sources > 0, idle.report.sources) == (True, 0)
    path = claude_path(hosts.home("nas") / ".claude", 21)
    with path.open("ab") as file:
        file.write(talk(21, "more"))
    assert sync(hosts).report.bytes_source == len(talk(21, "more"))
    assert stored(hosts)[str(path)] == path.read_bytes()


@pytest.mark.skipif(shutil.which("busybox") is None, reason="no busybox here")
@pytest.mark.parametrize("without", [(), ("gzip",), ("gzip", "stat")], ids=str)
def test_busybox_sends_the_same(hosts: PlainHosts, without: tuple[str, ...]) -> None:
    expected = fill(hosts.home("nas"))
    hosts.uses(busybox_tools(hosts.folder / "tools", *without))
    sync(hosts)
    assert stored(hosts) == expected
    assert sync(hosts).report.sources == 0


def test_only_what_may_be_a_log_is_fetched_and_what_is_none_only_once(hosts: PlainHosts) -> None:
    place = claude_path(hosts.home("nas") / ".claude", 1).parent
    write(place / "notes.jsonl", b'{"not": "a log"}\n' * 1000)
    write(place / "large.jsonl", b'{"not": "a log"}\n' * 200_000)
    write(place / "picture.png", bytes(1000))
    first, second = sync(hosts), sync(hosts)
    assert stored(hosts) == {}
    assert first.state.received > 2 * second.state.received
    write(place / "notes.jsonl", talk(3, "a log now"))
    sync(hosts)
    assert list(stored(hosts).values()) == [talk(3, "a log now")]


def test_a_log_larger_than_a_round_comes_in_several(
    hosts: PlainHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "ROUND_BYTES", 10_000)
    path = write(claude_path(hosts.home("nas") / ".claude", 1), talk(1, *("y" * 900 for _ in range(60))))
    done = sync(hosts)
    assert done.report.sources > 5
    assert done.report.restarted == 0
    assert stored(hosts) == {str(path): path.read_bytes()}


def test_a_log_whose_last_line_had_no_newline_goes_on(hosts: PlainHosts) -> None:
    path = write(claude_path(hosts.home("nas") / ".claude", 1), talk(1, "one", "two").rstrip(b"\n"))
    sync(hosts)
    assert stored(hosts) == {str(path): path.read_bytes()}
    with path.open("ab") as file:
        file.write(b"\n" + talk(1, "three"))
    assert sync(hosts).report.restarted == 0
    assert stored(hosts) == {str(path): path.read_bytes()}
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    sync(hosts)
    with path.open("ab") as file:
        file.write(b" \n")
    assert sync(hosts).report.restarted == 1  # what was a whole line is another one
    assert stored(hosts) == {str(path): path.read_bytes()}


def test_a_document_and_a_packed_log_come_as_a_whole(hosts: PlainHosts) -> None:
    home = hosts.home("nas")
    path = codex_path(home / ".codex", 2)
    content = b'{"type":"session_meta","payload":{"id":"x"}}\n' * 3
    write(path, content)
    spilled = write(
        claude_path(home / ".claude", 1).with_suffix("") / "tool-results" / "one.txt",
        b"a result\nwithout end",
    )
    sync(hosts)
    assert stored(hosts) == {str(path): content, str(spilled): spilled.read_bytes()}
    path.with_name(path.name + ".zst").write_bytes(zstandard.compress(content))
    path.unlink()
    spilled.write_bytes(b"another result")
    assert sync(hosts).report.restarted == 1
    assert stored(hosts) == {str(path): content, str(spilled): b"another result"}
    assert sync(hosts).report.sources == 0


@pytest.mark.parametrize("tool", ["sqlite3", "no sqlite3"])
def test_a_database_comes_with_what_is_in_its_log(hosts: PlainHosts, tool: str) -> None:
    if tool == "sqlite3" and shutil.which("sqlite3") is None:
        pytest.skip("no sqlite3 here")
    hosts.uses(plain_tools(hosts.folder / "tools", "gzip", "stat", *([tool] if tool == "sqlite3" else [])))
    path = make_database(hosts.home("nas") / ".local" / "share" / "opencode" / "opencode.db")
    first = sync(hosts)
    assert first.report.taken
    with open(path, "rb") as file:
        assert file.read(16) == b"SQLite format 3\0"
    client = sqlite3.connect(path, isolation_level=None)
    try:
        client.execute("PRAGMA journal_mode=WAL")
        client.execute("UPDATE session SET title='changed', time_updated=time_updated+1")
        assert Path(f"{path}-wal").stat().st_size
        second = sync(hosts)
        assert 0 < second.report.taken < first.report.taken
        assert sync(hosts).report.sources == 0
    finally:
        client.close()
    with hosts.memory() as memory:
        assert any(b'"title":"changed"' in data for data in sources_of(memory).values())


def test_what_is_kept_beside_the_store_may_be_deleted(hosts: PlainHosts) -> None:
    expected = fill(hosts.home("nas"))
    make_database(hosts.home("nas") / ".local" / "share" / "opencode" / "opencode.db")
    sync(hosts)
    before = stored(hosts)
    assert expected.items() <= before.items()
    shutil.rmtree(hosts.folder / "cache")
    again = sync(hosts)
    assert (again.report.taken, stored(hosts)) == (0, before)


def test_what_lies_on_this_machine_says_nothing_about_another(hosts: PlainHosts) -> None:
    """Gemini's projects by folder: a file of the host tells, one of the same path here does not."""
    home = hosts.home("nas")
    write(home / ".gemini" / "projects.json", b'{"projects":{"/srv/there":"short"}}')
    chat = b'{"sessionId":"s1","projectHash":"h","startTime":"2026-01-02T03:04:05.000Z"}\n'
    write(home / ".gemini" / "tmp" / "short" / "chats" / "session-1.jsonl", chat)
    sync(hosts)
    (home / ".gemini" / "projects.json").write_bytes(b'{"projects":{"/srv/elsewhere":"short"}}')
    with hosts.memory() as memory:
        (session,) = memory.sessions()
        assert session.facts.cwd == "/srv/there"


def test_an_agent_that_looks_beside_a_file_sees_what_lies_there(hosts: PlainHosts) -> None:
    """Cline's screen is the conversation only where nothing says what the model was told."""
    from recollect.agents.cline import paths
    from recollect.values.records import Role

    root = Path(paths.roots(hosts.home("nas"), {})[-1])
    for task, names in (("1700000000001", (paths.TALK, paths.SCREEN)), ("1700000000002", (paths.SCREEN,))):
        for name in names:
            write(root / "tasks" / task / name, b'[{"role":"user","content":[{"type":"text","text":"hi"}]}]')
    sync(hosts)
    with hosts.memory() as memory:
        roles = {tuple(Path(each.file.path).parts[-2:]): each.file.role for each in memory.sources()}
    assert roles == {
        ("1700000000001", paths.TALK): Role.MAIN,
        ("1700000000001", paths.SCREEN): Role.SIDECAR,
        ("1700000000002", paths.SCREEN): Role.MAIN,
    }


def test_nothing_of_a_host_is_left_in_the_spool(hosts: PlainHosts) -> None:
    fill(hosts.home("nas"))
    sync(hosts)
    with hosts.memory() as memory:
        folder = kept.HostFolder(memory.config.fleet_folder, "nas")
        assert not folder.spool.exists()
        assert not folder.names.exists()
        mine = memory.config.fleet_folder.rglob("*")
        assert all(path.stat().st_mode & 0o077 == 0 for path in mine)


def test_a_login_that_prints_and_a_shell_that_fails_are_told_apart(hosts: PlainHosts) -> None:
    write(claude_path(hosts.home("nas") / ".claude", 1), talk(1, "hello"))
    ssh = hosts.folder / "bin" / "ssh"
    good = ssh.read_text()
    ssh.write_text(good.replace("exec sh -s", "echo welcome; printf 'BEGIN '; exec sh -s"))
    assert sync(hosts).report.taken == 1
    ssh.write_text("#!/bin/sh\necho 'This account is currently not available.'\nexit 1\n")
    with hosts.memory() as memory:
        (done,) = memory.fleet.sync(["nas"])
    assert done.state.kind == "cut"
    assert done.state.synced_ms


def test_a_host_without_a_tool_that_is_needed_is_told(hosts: PlainHosts) -> None:
    folder = Path(plain_tools(hosts.folder / "tools"))
    (folder / "cksum").unlink()
    hosts.uses(str(folder))
    with hosts.memory() as memory:
        (done,) = memory.fleet.sync(["nas"])
    assert (done.state.kind, done.state.trouble) == ("tools", "it has no cksum")


def test_two_syncs_at_once_are_one_too_many(hosts: PlainHosts) -> None:
    from recollect.intake.watch import alone
    from recollect.values.errors import StoreBusy

    with hosts.memory() as memory, alone(memory.config.fleet_folder / "lock") as only:
        assert only
        with pytest.raises(StoreBusy):
            memory.fleet.sync(["nas"])
