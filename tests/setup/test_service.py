"""The watcher's service file: exactly our command in it, nothing of anybody else touched."""

from __future__ import annotations

import json
import os
import plistlib
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.cli import main
from recollect.setup.service import MARK, Service, install, remove, service, variables
from recollect.values.errors import SettingsRefused, UsageError

WORDS = ["--store", "m.h5", "watch"]
COMMAND = ["/opt/py thon/bin/python", "-P", "-m", "recollect", "--store", "/home/ada/m $X %h.h5", "watch"]


def made(home: Path, platform: str = "linux", **environ: str) -> Service:
    return service(platform, home, environ, COMMAND)


def unquoted(line: str) -> list[str]:
    """The words of a unit's line as systemd reads them: escapes in quotes, specifiers, not yet variables."""
    words = re.findall(r'"((?:[^"\\]|\\.)*)"', line)
    return [_doubled(re.sub(r"\\(.)", r"\1", word), "%") for word in words]


def _doubled(word: str, mark: str) -> str:
    assert mark not in word.replace(mark * 2, ""), f"{word!r} would be replaced by something"
    return word.replace(mark * 2, mark)


def setting(unit: Service, name: str) -> list[str]:
    lines = unit.content.decode().split("\n")
    return [line.partition("=")[2] for line in lines if line.startswith(f"{name}=")]


# What a service takes: the rest is refused.
printable = st.characters(codec="utf-8", exclude_categories=("C", "Zl", "Zp", "Zs"))
word = st.text(printable | st.sampled_from("$%\"\\ '"), min_size=1)


@given(st.lists(word, min_size=1), word)
def test_whatever_a_path_holds_systemd_reads_it_back(words: list[str], value: str) -> None:
    unit = service("linux", Path("/home/ada"), {"CODEX_HOME": value}, words)
    (line,) = setting(unit, "ExecStart")
    assert [_doubled(each, "$") for each in unquoted(line)] == words
    (variable,) = setting(unit, "Environment")
    assert unquoted(variable) == [f"CODEX_HOME={value}"]


@given(st.lists(word))
def test_whatever_a_path_holds_launchd_reads_it_back(words: list[str]) -> None:
    agent = service("darwin", Path("/Users/ada"), {"CODEX_HOME": "/x"}, words)
    told = plistlib.loads(agent.content)
    assert told["ProgramArguments"] == words
    assert told["EnvironmentVariables"] == {"CODEX_HOME": "/x"}
    assert told["KeepAlive"] == {"SuccessfulExit": False}
    assert agent.path == Path("/Users/ada/Library/LaunchAgents") / f"{told['Label']}.plist"


@pytest.mark.parametrize("platform", ["linux", "darwin"])
class TestFile:
    def test_it_is_written_once_for_its_owner_alone(self, tmp_path: Path, platform: str) -> None:
        wanted = made(tmp_path, platform)
        assert install(wanted)
        assert wanted.path.read_bytes() == wanted.content
        assert stat.S_IMODE(wanted.path.stat().st_mode) == 0o600
        assert not install(wanted)
        assert [each.name for each in wanted.path.parent.iterdir()] == [wanted.path.name]

    def test_an_older_one_of_ours_is_replaced(self, tmp_path: Path, platform: str) -> None:
        install(service(platform, tmp_path, {}, ["/old/python"]))
        wanted = made(tmp_path, platform)
        assert install(wanted)
        assert wanted.path.read_bytes() == wanted.content

    def test_a_foreign_one_is_left_alone(self, tmp_path: Path, platform: str) -> None:
        wanted = made(tmp_path, platform)
        wanted.path.parent.mkdir(parents=True)
        wanted.path.write_text("somebody else's")
        for change in (install, remove):
            with pytest.raises(SettingsRefused, match="not ours"):
                change(wanted)
        assert wanted.path.read_text() == "somebody else's"

    def test_removing_leaves_nothing(self, tmp_path: Path, platform: str) -> None:
        wanted = made(tmp_path, platform)
        assert not remove(wanted)
        assert list(tmp_path.iterdir()) == []
        install(wanted)
        assert remove(wanted)
        assert [each for each in tmp_path.rglob("*") if not each.is_dir()] == []

    def test_only_the_variables_that_say_where_things_are_go_in(self, tmp_path: Path, platform: str) -> None:
        environ = {"OPENAI_API_KEY": "sk-secret", "PATH": "/bin", "RECOLLECT_CACHE": "/c", "CODEX_HOME": ""}
        content = service(platform, tmp_path, environ, COMMAND).content
        assert b"sk-secret" not in content
        assert b"RECOLLECT_CACHE" in content
        assert b"CODEX_HOME" not in content

    @pytest.mark.parametrize("path", ["a\nExecStart=b", "a\0", "a\r", "a\x1b[2J", "a\udcff", "a\u202e"])
    def test_a_path_that_could_break_out_is_refused(self, tmp_path: Path, platform: str, path: str) -> None:
        for command, environ in (([path], {}), (["a"], {"CODEX_HOME": path})):
            with pytest.raises(UsageError, match="no service can have such a path"):
                service(platform, tmp_path, environ, command)


class TestUnit:
    def test_where_settings_are_kept_is_honoured(self, tmp_path: Path) -> None:
        assert made(tmp_path).path.parent == tmp_path / ".config" / "systemd" / "user"
        moved = made(tmp_path, XDG_CONFIG_HOME=str(tmp_path / "moved"))
        assert moved.path.parent == tmp_path / "moved" / "systemd" / "user"
        assert made(tmp_path, XDG_CONFIG_HOME="relative").path == made(tmp_path).path

    def test_being_enabled_goes_with_the_file(self, tmp_path: Path) -> None:
        wanted = made(tmp_path)
        install(wanted)
        (link,) = wanted.links
        link.parent.mkdir()
        link.symlink_to(wanted.path)
        remove(wanted)
        assert not link.is_symlink()
        install(wanted)
        link.symlink_to("/elsewhere")
        remove(wanted)
        assert link.is_symlink()

    def test_it_is_polite_and_offline(self, tmp_path: Path) -> None:
        unit = made(tmp_path)
        assert setting(unit, "Nice") == ["19"]
        assert setting(unit, "IOSchedulingClass") == ["idle"]
        assert setting(unit, "Restart") == ["on-failure"]
        assert setting(unit, "RestrictAddressFamilies") == ["AF_UNIX"]
        asked = service("linux", tmp_path, {}, COMMAND, network=True)
        assert setting(asked, "RestrictAddressFamilies") == []

    @pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
    def test_systemd_finds_no_fault_with_it(self, tmp_path: Path) -> None:
        command = [sys.executable, "-P", "-m", "recollect", "--store", '/tmp/a "b" $c %d \\e/é.h5', "watch"]
        unit = service("linux", tmp_path, {"CODEX_HOME": '/tmp/a "b" $c %d \\e'}, command)
        install(unit)
        # As a unit of the system, which reads the same words: a user's manager wants a session.
        done = subprocess.run(
            ["systemd-analyze", "--man=no", "verify", unit.path], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_other_systems_are_told_of_cron(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="freebsd14") as told:
        made(tmp_path, "freebsd14")
    assert "watch --once" in told.value.hint


class TestCommand:
    @pytest.fixture(autouse=True)
    def machine(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "RECOLLECT_EMBEDDER"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("RECOLLECT_CONFIG", str(tmp_path / "config.toml"))
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.chdir(tmp_path)

    def test_the_file_is_shown_with_the_command_that_starts_it(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        assert main([*WORDS, "--install"]) == 0
        out, err = capfd.readouterr()
        path = tmp_path / ".config" / "systemd" / "user" / "recollect-watch.service"
        assert out == f"written: {path}\n{path.read_text()}"
        assert "systemctl --user enable --now recollect-watch.service" in err
        assert not (tmp_path / "m.h5").exists()

    def test_it_names_this_interpreter_and_this_store(self, tmp_path: Path) -> None:
        main([*WORDS, "--install", "--poll", "--interval", "30"])
        path = tmp_path / ".config" / "systemd" / "user" / "recollect-watch.service"
        (line,) = re.findall("^ExecStart=(.*)$", path.read_text(), re.MULTILINE)
        words = unquoted(line)
        assert words[0] == sys.executable
        assert words[words.index("-m") :] == [
            "-m",
            "recollect",
            "--store",
            os.path.realpath(tmp_path / "m.h5"),
            "--quiet",
            "watch",
            "--poll",
            "--interval",
            "30",
        ]

    def test_an_embedder_that_asks_elsewhere_may(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / ".config" / "systemd" / "user" / "recollect-watch.service"
        for embedder, closed in (("openai", False), ("minilm", True), ("folder:/x", True), ("other", False)):
            monkeypatch.setenv("RECOLLECT_EMBEDDER", embedder)
            main([*WORDS, "--install"])
            assert ("RestrictAddressFamilies" in path.read_text()) == closed

    def test_as_json(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        main([*WORDS, "--install", "--json"])
        told = json.loads(capfd.readouterr().out)
        assert told["schema"] == "recollect.watch-service/1"
        assert told["installed"]
        assert told["changed"]
        assert MARK in told["text"]
        main([*WORDS, "--remove", "--json"])
        told = json.loads(capfd.readouterr().out)
        assert (told["installed"], told["changed"], told["text"]) == (False, True, "")
        assert not Path(told["path"]).exists()


def test_no_variable_is_named_twice() -> None:
    """Two agents may be moved by the same one."""
    assert len(set(variables())) == len(variables())
