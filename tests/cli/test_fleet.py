"""`recollect fleet`: the list in the config file, syncing, how hosts stand, the hourly timer."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.support import ROOT
from tests.support.logs import claude_path, said, uuid_of, write
from tests.support.plain_hosts import PlainHosts

from recollect.config import load_config
from recollect.setup.timer import NAME, timer
from recollect.values.errors import UsageError
from recollect.values.fleet import checked_host, fleet_settings


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlainHosts:
    (tmp_path / "fleet").mkdir()
    made = PlainHosts(tmp_path / "fleet", "build-7", "nas")
    monkeypatch.setenv("PATH", made.environ["PATH"])
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return made


def settings() -> dict[str, Any]:
    return tomllib.loads(Path(os.environ["RECOLLECT_CONFIG"]).read_text())


def test_hosts_stand_in_the_config_file_beside_what_a_person_wrote_there(recollect: Any) -> None:
    path = Path(os.environ["RECOLLECT_CONFIG"])
    path.write_text('# mine\nembedder = "static"  # the usual\n')
    assert recollect("fleet", "add", "build-7", "--own").code == 0
    assert recollect("fleet", "add", "nas", "--address", "ada@nas.example").code == 0
    assert path.read_text().startswith('# mine\nembedder = "static"  # the usual\n')
    assert settings()["fleet"] == {
        "build-7": {"address": "build-7", "own": True},
        "nas": {"address": "ada@nas.example", "own": False},
    }
    listed = recollect("fleet", "list", "--json").json
    assert listed["hosts"][1] == {"name": "nas", "address": "ada@nas.example", "own": False}
    recollect("fleet", "add", "build-7", "--address", "b7")  # what is not said stays
    assert settings()["fleet"]["build-7"] == {"address": "b7", "own": True}
    assert recollect("fleet", "remove", "build-7").code == 0
    assert recollect("fleet", "remove", "nas").code == 0
    assert path.read_text() == '# mine\nembedder = "static"  # the usual\n'


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("-oProxyCommand=touch x", ""),
        ("a b", ""),
        ("a;b", ""),
        ("$(id)", ""),
        ("../up", ""),
        ("", ""),
        ("ok", "-oProxyCommand=x"),
        ("ok", "a@-b"),
        ("ok", "-l root@x"),
        ("ok", "a b"),
        ("ok", "x`id`"),
        ("ok", "ssh://x/y"),
        ("ok", "a\nb"),
    ],
)
def test_what_ssh_could_take_for_something_else_is_no_host(name: str, address: str) -> None:
    with pytest.raises(UsageError):
        checked_host(name, address)
    with pytest.raises(UsageError):  # nor one that a person wrote there
        fleet_settings({name: {"address": address or name}})


def test_a_host_may_not_have_the_name_of_this_machine(recollect: Any) -> None:
    here = load_config().host
    refused = recollect("fleet", "add", here)
    assert (refused.code, "--address" in refused.err) == (2, True)
    Path(os.environ["RECOLLECT_CONFIG"]).write_text(f'host = "me"\n[fleet.me]\naddress = "{here}"\n')
    assert recollect("fleet", "sync").code == 2


@pytest.mark.parametrize("wrong", ["fleet = 1", "[fleet]\nat_once = 0", "[fleet]\npatience_seconds = 'x'"])
def test_settings_that_mean_nothing_are_told(recollect: Any, wrong: str) -> None:
    Path(os.environ["RECOLLECT_CONFIG"]).write_text(wrong + "\n")
    refused = recollect("fleet", "list")
    assert (refused.code, "fleet" in refused.err) == (2, True)


def test_syncing_finding_and_what_is_wrong(recollect: Any, hosts: PlainHosts) -> None:
    log = said(1, "the harbour master's rope", session=1) + b"\n"
    write(claude_path(hosts.home("build-7") / ".claude", 1), log)
    ssh = hosts.folder / "bin" / "ssh"
    ssh.write_text(
        ssh.read_text().replace(
            "HOME=", '[ "$2" != nas ] || { echo "$2: Connection refused" >&2; exit 255; }\nHOME=', 1
        )
    )
    assert recollect("fleet").out == ""
    assert recollect("fleet", "sync").code == 2
    recollect("fleet", "add", "build-7")
    recollect("fleet", "add", "nas")
    assert recollect("fleet", "status").code == 0
    done = recollect("fleet", "sync", "--json")
    assert done.code == 8
    told = {each["name"]: each for each in done.json["hosts"]}
    assert (told["build-7"]["state"], told["build-7"]["report"]["taken"]) == ("ok", 1)
    assert (told["nas"]["state"], bool(told["nas"]["hint"])) == ("refused", True)
    assert recollect("fleet", "sync", "build-7").code == 0
    assert "harbour" in recollect("search", "rope").out
    status = recollect("fleet", "status")
    assert "nas: no sshd listens there" in status.out
    assert f"deletes session {uuid_of(1)[:8]}" in status.out
    shown = recollect("status", "--json").json["fleet"]
    assert [(each["name"], each["state"], each["sessions"]) for each in shown] == [
        ("build-7", "ok", 1),
        ("nas", "refused", 0),
    ]
    assert "1 with trouble" in recollect("status").out
    assert recollect("export", uuid_of(1), "--to", "raw", "-o", hosts.folder / "raw").code == 0
    assert (hosts.folder / "raw").read_bytes() == log
    recollect("fleet", "remove", "build-7")
    assert "harbour" in recollect("search", "rope").out


def test_every_object_is_documented(recollect: Any, hosts: PlainHosts) -> None:
    document = (ROOT / "docs" / "json.md").read_text("utf-8")
    calls = (("add", "nas"), ("list",), ("sync",), ("status",), ("install-service",), ("remove-service",))
    for words in calls:
        told = recollect("fleet", *words, "--json").json
        section = re.search(rf"^## {re.escape(told['schema'])}$(.*?)(?=^## |\Z)", document, re.M | re.S)
        assert section is not None, told["schema"]
        shared = document.partition("## fleet host")[2].partition("\n## ")[0]
        fields = set(told) - {"schema"}
        for each in told.get("hosts", ()):
            fields |= set(each) | set(each.get("retention", ()))
        assert {name for name in fields if f"`{name}`" not in section[1] + shared} == set()


def test_what_a_host_says_cannot_steer_a_terminal(recollect: Any, hosts: PlainHosts) -> None:
    ssh = hosts.folder / "bin" / "ssh"
    ssh.write_text("#!/bin/sh\nprintf '\\033]0;evil\\007\\033[2J\\n' >&2\nexit 255\n")
    recollect("fleet", "add", "nas")
    done = recollect("fleet", "sync")
    assert done.code == 8
    assert "\x1b" not in done.out + done.err + recollect("fleet", "status").out


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_the_timer_is_hourly_and_ours_alone(tmp_path: Path, platform: str) -> None:
    files = timer(platform, tmp_path, {"CODEX_HOME": "/x", "SECRET": "s3"}, ["/py", "$x %h"])
    text = b"".join(each.content for each in files)
    assert b"CODEX_HOME" in text
    assert b"s3" not in text
    assert (b"OnCalendar=hourly" in text) == (platform == "linux")
    if platform == "linux":
        assert [each.path.name for each in files] == [f"{NAME}.service", f"{NAME}.timer"]
        assert b'ExecStart="/py" "$$x %%h"' in text
    else:
        import plistlib

        told = plistlib.loads(files[0].content)
        assert (told["StartInterval"], told["ProgramArguments"]) == (3600, ["/py", "$x %h"])
    with pytest.raises(UsageError):
        timer("win32", tmp_path, {}, ["x"])


@pytest.mark.on_disk("writes services")
def test_the_timer_goes_as_it_came(recollect: Any, machine: Path, hosts: PlainHosts) -> None:
    folder = machine / ".config" / "systemd" / "user"
    if os.uname().sysname != "Linux":
        pytest.skip("launchd has another folder")
    told = recollect("fleet", "install-service", "--json").json
    assert [each["path"] for each in told["files"]] == [
        str(folder / f"{NAME}.{end}") for end in ("service", "timer")
    ]
    assert recollect("fleet", "install-service", "--json").json["changed"] is False
    (folder / f"{NAME}.timer").write_text("mine")
    assert recollect("fleet", "remove-service").code == 10
    (folder / f"{NAME}.timer").unlink()
    assert recollect("fleet", "remove-service").code == 0
    assert not list(folder.iterdir())
    assert json.dumps(told).isascii()
