"""`init` and `hook`: what a person is shown, asked and left with."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from recollect.agents.editing.change import backup_path
from recollect.config import load_config
from recollect.hooks.state import note_trouble

SETTINGS = '{\n  "model": "opus",\n  "hooks": {\n    "Stop": []\n  }\n}\n'


@pytest.fixture
def settings(machine: Path) -> Path:
    path = machine / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(SETTINGS)
    return path


@pytest.fixture(autouse=True)
def nowhere(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of its own, and without the agents of whoever runs the tests."""
    folder = machine / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("RECOLLECT_CACHE", str(machine / "cache"))


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder but the cache."""
    files = (path for path in folder.rglob("*") if path.is_file())
    found = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    return {name: data for name, data in found.items() if not name.startswith("cache")}


def _hook_commands(path: Path) -> list[str]:
    hooks = json.loads(path.read_text())["hooks"]
    return [hook["command"] for entries in hooks.values() for entry in entries for hook in entry["hooks"]]


pytestmark = pytest.mark.on_disk("hooks append to a file")


class TestInit:
    def test_it_takes_in_the_past_and_installs(
        self, recollect: Any, log: Any, settings: Path, tmp_path: Path
    ) -> None:
        log().prompt("why is the harbour closed?").write()
        answer = recollect("init", "--yes", "--json")
        assert answer.code == 0
        told = answer.json
        assert told["schema"] == "recollect.init/1"
        assert [(agent["name"], agent["error"]) for agent in told["agents"]] == [("claude", None)]
        assert [Path(change["path"]).name for change in told["agents"][0]["changed"]] == [
            "settings.json",
            ".claude.json",
        ]
        assert told["ingest"]["report"]["taken"] == 1
        assert told["catalogs"] >= 1
        assert recollect("search", "harbour", "--json").json["hits"]
        status = recollect("hook", "status", "--json").json
        assert status["captured"]["sessions"] == 1  # a hook goes on from where the sweep got to
        (state,) = status["agents"]
        assert state["problems"] == []
        assert [found["path"] for found in state["hooks"]] == [str(settings)]
        assert len(state["mcp"]) == 1

    def test_the_second_time_there_is_nothing_to_change(
        self, recollect: Any, machine: Path, settings: Path
    ) -> None:
        assert recollect("init", "--yes").code == 0
        before = tree(machine)
        answer = recollect("init")  # nothing to ask about, so no terminal is needed
        assert answer.code == 0
        assert "Claude Code: nothing to change" in answer.out
        assert tree(machine) == before

    def test_every_change_is_shown_first(self, recollect: Any, settings: Path) -> None:
        shown = recollect("init", "--dry-run").out
        assert f"--- {settings}\n+++ {settings}" in shown
        assert re.search(r'^\+ +"timeout": 5$', shown, re.MULTILINE)
        assert "recollect" in shown

    def test_a_dry_run_changes_nothing_not_even_the_store(
        self, recollect: Any, log: Any, machine: Path, settings: Path, tmp_path: Path
    ) -> None:
        log().prompt("x").write()
        before = tree(tmp_path)
        answer = recollect("init", "--dry-run", "--yes", "--json")
        assert answer.code == 0
        assert answer.json["ingest"]["report"]["taken"] == 1
        assert [len(agent["changes"]) for agent in answer.json["agents"]] == [2]
        assert [agent["changed"] for agent in answer.json["agents"]] == [[]]
        assert tree(tmp_path) == before

    def test_without_a_terminal_and_a_yes_it_shows_and_stops(
        self, recollect: Any, log: Any, settings: Path, tmp_path: Path
    ) -> None:
        log().prompt("x").write()
        before = tree(tmp_path)
        answer = recollect("init")
        assert answer.code == 2
        assert '"timeout": 5' in answer.out
        assert "nothing was changed" in answer.err
        assert "--yes" in answer.err
        assert recollect("init", "--json").json["error"] == "UsageError"
        assert tree(tmp_path) == before

    @pytest.mark.parametrize(
        ("left_out", "kept"),
        [
            (["--no-hooks"], {".claude.json"}),
            (["--no-mcp"], {"settings.json"}),
            (["--no-hooks", "--no-mcp"], set()),
        ],
    )
    def test_what_is_left_out_is_left_out(
        self, recollect: Any, settings: Path, left_out: list[str], kept: set[str]
    ) -> None:
        (agent,) = recollect("init", "--yes", "--json", *left_out).json["agents"]
        assert {Path(change["path"]).name for change in agent["changed"]} == kept

    def test_no_ingest_makes_no_store(self, recollect: Any, log: Any, settings: Path, tmp_path: Path) -> None:
        log().prompt("x").write()
        told = recollect("init", "--yes", "--no-ingest", "--json").json
        assert told["ingest"] is None
        assert not (tmp_path / "memory.h5").exists()

    def test_one_agents_trouble_does_not_stop_the_other(
        self, recollect: Any, machine: Path, settings: Path
    ) -> None:
        settings.write_text("{ // mine\n}")
        (machine / ".codex").mkdir()
        answer = recollect("init", "--yes", "--json")
        assert answer.code == 10
        assert "settings.json: not changed: it is not valid JSON" in answer.err
        claude, codex = answer.json["agents"]
        assert claude["error"]["error"] == "SettingsRefused"
        assert claude["changed"] == []
        assert codex["error"] is None
        assert codex["changed"]
        assert settings.read_text() == "{ // mine\n}"

    def test_only_the_agent_that_is_named(
        self, recollect: Any, log: Any, machine: Path, settings: Path
    ) -> None:
        log().prompt("x").write()
        (machine / ".codex" / "sessions").mkdir(parents=True)
        told = recollect("init", "--yes", "--agent", "codex", "--json").json
        assert [agent["name"] for agent in told["agents"]] == ["codex"]
        assert told["ingest"]["report"]["sources"] == 0
        assert settings.read_text() == SETTINGS
        (machine / ".codex" / "sessions").rmdir()
        assert recollect("init", "--yes", "--agent", "codex", "--json").json["ingest"] is None

    def test_what_is_left_to_do_is_said(self, recollect: Any, machine: Path) -> None:
        (machine / ".codex").mkdir()
        answer = recollect("init", "--yes")
        assert "  to do: " in answer.out
        assert "/hooks" in answer.out

    def test_a_source_that_cannot_be_read_is_told_by_the_exit_code(
        self, recollect: Any, settings: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("recollect.cli.init.ingest", lambda args, screen: 8)
        assert recollect("init", "--yes").code == 8
        assert settings.read_text() != SETTINGS

    def test_a_machine_without_agents(self, recollect: Any, machine: Path) -> None:
        answer = recollect("init", "--yes")
        assert answer.code == 3
        assert "Claude Code" in answer.err
        assert tree(machine) == {}

    def test_what_a_settings_file_holds_cannot_steer_the_terminal(
        self, recollect: Any, settings: Path
    ) -> None:
        settings.write_text('{\n  "a": "\u202e\u009b2J"\n}')
        out = recollect("init", "--dry-run").out
        assert not {"\u202e", "\x9b"} & set(out)


class TestRemove:
    def test_it_takes_out_exactly_what_was_put_in(
        self, recollect: Any, log: Any, machine: Path, settings: Path, tmp_path: Path
    ) -> None:
        log().prompt("x").write()
        (machine / ".codex").mkdir()
        (machine / ".codex" / "config.toml").write_text("# mine\nmodel = 'x'\n")
        before = tree(machine)
        assert recollect("init", "--yes").code == 0
        assert tree(machine) != before
        answer = recollect("init", "--remove", "--yes", "--json")
        assert answer.code == 0
        assert answer.json["ingest"] is None
        assert tree(machine) == before
        assert (tmp_path / "memory.h5").exists()
        again = recollect("init", "--remove")
        assert again.code == 0
        assert again.out.count("nothing to change") == 2


class TestAsked:
    """A person at a terminal, who may say no."""

    @pytest.mark.parametrize(
        ("said", "changed"), [(b"y\n", True), (b"n\n", False), (b"\n", False), (b"\x04", False)]
    )
    def test_nothing_happens_without_a_yes(self, settings: Path, said: bytes, changed: bool) -> None:
        code, shown = on_a_terminal(["init", "--no-ingest"], said)
        assert code == 0
        assert "Put this into Claude Code's settings? [y/N]" in shown
        assert shown.index("--- ") < shown.index("[y/N]")
        assert ("left as it is" in shown) is not changed
        assert (settings.read_text() != SETTINGS) is changed
        assert backup_path(settings).exists() is changed


def on_a_terminal(words: list[str], said: bytes) -> tuple[int, str]:
    """A command's exit code and all it showed, run on a terminal of its own."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "recollect", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
        start_new_session=True,
    )
    os.close(theirs)
    shown, answered = b"", False
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other side is gone
            break
        shown += piece
        if b"[y/N]" in shown and not answered:
            os.write(ours, said)
            answered = True
        if not piece:
            break
    os.close(ours)
    return child.wait(), re.sub(r"\x1b\[[0-9;]*m", "", shown.decode("utf-8", "replace")).replace("\r\n", "\n")


class TestHook:
    def test_install_and_remove_leave_the_server_alone(
        self, recollect: Any, machine: Path, settings: Path
    ) -> None:
        assert recollect("init", "--yes", "--no-ingest").code == 0
        answer = recollect("hook", "remove", "--json")
        assert answer.code == 0
        assert [Path(each["path"]).name for each in answer.json["agents"][0]["changed"]] == ["settings.json"]
        assert settings.read_text() == SETTINGS
        assert "recollect" in json.loads((machine / ".claude.json").read_text())["mcpServers"]
        assert f"Claude Code: changed {settings}" in recollect("hook", "install").out
        assert "Claude Code: nothing to change" in recollect("hook", "install").out

    def test_for_the_project_alone(self, recollect: Any, machine: Path, settings: Path) -> None:
        assert recollect("hook", "install", "--project", "--agent", "claude").code == 0
        assert settings.read_text() == SETTINGS
        found = recollect("hook", "status", "--json").json["agents"][0]["hooks"]
        assert [each["path"] for each in found] == [str(machine / "project/.claude/settings.json")]
        assert recollect("hook", "remove", "--project", "--agent", "claude").code == 0
        assert "project/.claude/settings.json" not in tree(machine)

    def test_a_refusal_is_told_with_its_exit_code(self, recollect: Any, settings: Path) -> None:
        settings.write_text("[]")
        answer = recollect("hook", "install", "--quiet")
        assert answer.code == 10
        assert "settings.json: not changed" in answer.err
        assert settings.read_text() == "[]"

    def test_a_plugin_is_written_for_its_owner_alone_and_told_how_to_install(
        self, recollect: Any, machine: Path
    ) -> None:
        assert recollect("hook", "status", "--agent", "claude", "--json").json["plugin"] is None
        told = recollect("hook", "plugin", "--json").json
        folder = Path(told["plugin"])
        assert folder == machine / ".local/share/recollect/plugins/claude"
        assert told["steps"][0] == f"claude plugin marketplace add {folder}"
        assert {path.stat().st_mode & 0o077 for path in (folder, *folder.rglob("*"))} == {0}
        assert recollect("hook", "status", "--agent", "claude", "--json").json["plugin"] == str(folder)
        before = tree(folder)
        assert recollect("hook", "plugin", "--store", machine / "other.h5").code == 0
        assert f"{machine}/other.h5" in (folder / "hooks/hooks.json").read_text()
        assert f"{machine}/other.h5" in (folder / ".mcp.json").read_text()
        shown = recollect("hook", "plugin").out
        assert all(step in shown for step in told["steps"])
        assert tree(folder) == before

    def test_hooks_are_installed_where_nothing_can_be_remembered(
        self, recollect: Any, machine: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (machine / "file").touch()
        monkeypatch.setenv("RECOLLECT_CACHE", str(machine / "file/cache"))
        answer = recollect("hook", "install", "--agent", "claude")
        assert (answer.code, answer.err) == (0, "")
        assert recollect("hook", "remove", "--agent", "claude").code == 0

    def test_a_plugin_is_not_written_through_a_link(self, recollect: Any, machine: Path) -> None:
        mine = machine / "mine"
        (mine / "hooks").mkdir(parents=True)
        (mine / "hooks/hooks.json").write_text("mine")
        place = machine / ".local/share/recollect/plugins"
        place.mkdir(parents=True)
        (place / "claude").symlink_to(mine)
        answer = recollect("hook", "plugin")
        assert answer.code != 0
        assert "it is a symbolic link" in answer.err
        assert [path.name for path in mine.rglob("*") if path.is_file()] == ["hooks.json"]
        assert (mine / "hooks/hooks.json").read_text() == "mine"

    def test_every_command_that_others_are_given_begins_with_a_whole_path(
        self, recollect: Any, machine: Path
    ) -> None:
        """A name would be whatever the PATH of that moment has under it."""
        recollect("init", "--yes", "--agent", "claude", "--agent", "codex")
        plugin = Path(recollect("hook", "plugin", "--json").json["plugin"])
        service = Path(recollect("watch", "--install", "--json").json["path"])
        given = [
            *_hook_commands(machine / ".claude/settings.json"),
            *_hook_commands(machine / ".codex/hooks.json"),
            *_hook_commands(plugin / "hooks/hooks.json"),
        ]
        assert len(given) == 18
        toml = tomllib.loads((machine / ".codex/config.toml").read_text())
        begin = [shlex.split(line)[0] for line in given]
        begin += [toml["notify"][0], toml["mcp_servers"]["recollect"]["command"]]
        for path in (machine / ".claude.json", plugin / ".mcp.json"):
            begin.append(json.loads(path.read_text())["mcpServers"]["recollect"]["command"])
        if sys.platform.startswith("linux"):
            begin += re.findall(r'^Exec\w+="?([^"\s]+)', service.read_text(), re.MULTILINE)
            assert len(begin) >= 23
        for program in begin:
            assert os.path.isabs(program)
            assert os.access(program, os.X_OK)

    def test_status_says_what_is_off(self, recollect: Any, settings: Path, tmp_path: Path) -> None:
        assert "Claude Code: not installed" in recollect("hook", "status").out
        recollect("hook", "install")
        assert "problem" not in recollect("hook", "status").out
        other = recollect("hook", "status", "--store", tmp_path / "other.h5").out
        assert "names another store" in other
        stop = json.loads(settings.read_text())["hooks"]["Stop"][0]["hooks"][0]
        python = next(word for word in stop["command"].split() if word.startswith("/"))
        settings.write_text(settings.read_text().replace(python, "/gone/python"))
        assert "/gone/python is gone" in recollect("hook", "status").out

    def test_status_shows_what_was_captured_and_what_went_wrong(
        self, recollect: Any, log: Any, settings: Path
    ) -> None:
        captured = recollect("hook", "status", "--json").json["captured"]
        assert captured == {
            "sessions": 0,
            "last_ms": None,
            "last_path": None,
            "trouble_ms": None,
            "trouble": None,
            "missed": False,
        }
        assert "no conversation was seen yet" in recollect("hook", "status").out
        path = log().prompt("x").write()
        recollect("hook", "install")
        payload = {
            "hook_event_name": "Stop",
            "session_id": path.stem,
            "transcript_path": str(path),
            "cwd": "/",
        }
        command = json.loads(settings.read_text())["hooks"]["Stop"][0]["hooks"][0]["command"]
        done = subprocess.run(command, shell=True, input=json.dumps(payload).encode(), capture_output=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        captured = recollect("hook", "status", "--json").json["captured"]
        assert (captured["sessions"], captured["last_path"]) == (1, str(path))
        note_trouble(str(load_config().state), "the disk \x1b[2J is full")
        shown = recollect("hook", "status").out
        assert f"last seen: {path}, written just now" in shown
        assert "trouble just now: the disk \\x1b[2J is full" in shown
