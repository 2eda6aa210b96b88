"""Claude Code's settings: our entries go in once and come out without a trace."""

from __future__ import annotations

import copy
import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.memories import scratch
from tests.support.written import OBJECTS, VALUES, written

from recollect.agents.claude.settings import CLEANUP_DAYS, TIMEOUTS, ClaudeSettings, cleanup_days
from recollect.agents.editing.change import Change, backup_path, carry_out
from recollect.agents.editing.commands import is_ours
from recollect.config import Config
from recollect.setup.agents import commands_of
from recollect.values.errors import SettingsRefused

EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact", "SessionEnd")
THEIRS = {"type": "command", "command": "say done", "timeout": 9}
SETTINGS = """{
    "$schema": "https://example.invalid/schema.json",
    "model": "opus", "cleanupPeriodDays": 1.0e3,
    "zebra": ["a", "\\u00e9", "é"],
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check"}]}],
        "Stop": [
            {
                "hooks": [
                    {
                        "type": "command",
                        "command": "say done"
                    }
                ]
            }
        ]
    },
    "apple": null
}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    (made / ".claude").mkdir(parents=True)
    return made


@pytest.fixture
def settings(home: Path) -> Path:
    path = home / ".claude" / "settings.json"
    path.write_text(SETTINGS, "utf-8")
    return path


def claude(home: Path, environ: Mapping[str, str] | None = None, store: str = "memory.h5") -> ClaudeSettings:
    config = Config(home / store, "here", cache=home / "cache")
    return ClaudeSettings(commands_of("claude", config), home, environ or {}, home / "project")


def install(
    agent: ClaudeSettings, *, hooks: bool = True, mcp: bool = True, project: bool = False
) -> list[Change]:
    return [change for change, _ in carry_out(lambda: agent.changes(hooks=hooks, mcp=mcp, project=project))]


def remove(agent: ClaudeSettings, *, project: bool = False, mcp: bool = True) -> list[Change]:
    return [change for change, _ in carry_out(lambda: agent.removal(project=project, mcp=mcp))]


def hooks_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    """The hooks that each event runs, whatever groups they are in."""
    found = json.loads(path.read_text("utf-8"))["hooks"]
    return {event: [hook for group in groups for hook in group["hooks"]] for event, groups in found.items()}


def ours(path: Path) -> dict[str, list[dict[str, Any]]]:
    found = {event: [h for h in hooks if is_ours(h["command"])] for event, hooks in hooks_of(path).items()}
    return {event: hooks for event, hooks in found.items() if hooks}


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class TestInstall:
    def test_every_event_runs_our_hook_once_with_seconds_to_spare(self, home: Path, settings: Path) -> None:
        agent = claude(home)
        install(agent)
        command = agent.commands.hook_line
        assert {event: [hook["command"] for hook in hooks] for event, hooks in ours(settings).items()} == {
            event: [command] for event in EVENTS
        }
        for (hook,) in ours(settings).values():
            assert hook["type"] == "command"
            assert 1 <= hook["timeout"] <= 60  # seconds; milliseconds would be no limit at all

    def test_unknown_keys_and_order_stay(self, home: Path, settings: Path) -> None:
        install(claude(home))
        text, found = settings.read_text("utf-8"), json.loads(settings.read_text("utf-8"))
        assert list(found) == list(json.loads(SETTINGS))
        assert list(found["hooks"])[:2] == ["PreToolUse", "Stop"]
        assert [line for line in SETTINGS.splitlines() if line.rstrip(",") not in text] == []
        assert '"cleanupPeriodDays": 1.0e3,\n    "zebra": ["a", "\\u00e9", "é"]' in text

    def test_the_server_is_beside_the_folder(self, home: Path) -> None:
        (home / ".claude.json").write_text('{\n  "numStartups": 7,\n  "mcpServers": {}\n}')
        agent = claude(home)
        install(agent)
        program, *args = agent.commands.mcp
        found = json.loads((home / ".claude.json").read_text())
        entry = {"type": "stdio", "command": program, "args": args}
        assert found == {"numStartups": 7, "mcpServers": {"recollect": entry}}

    def test_where_the_folder_is_named_everything_is_inside(self, home: Path) -> None:
        elsewhere = home / "elsewhere"
        agent = claude(home, {"CLAUDE_CONFIG_DIR": str(elsewhere)})
        install(agent)
        assert set(tree(home)) == {"elsewhere/settings.json", "elsewhere/.claude.json"}

    def test_for_a_project_only_its_own_settings_change(self, home: Path) -> None:
        agent = claude(home)
        install(agent, project=True)
        assert set(tree(home)) == {"project/.claude/settings.json"}
        assert list(ours(home / "project/.claude/settings.json")) == list(EVENTS)
        assert remove(agent) == []
        remove(agent, project=True)
        assert tree(home) == {}

    @pytest.mark.parametrize(("hooks", "mcp"), [(True, False), (False, True), (False, False)])
    def test_only_what_is_asked_for(self, home: Path, hooks: bool, mcp: bool) -> None:
        install(claude(home), hooks=hooks, mcp=mcp)
        assert ("settings.json" in str(tree(home))) is hooks
        assert (".claude.json" in tree(home)) is mcp


class TestAgain:
    def test_five_installs_are_one(self, home: Path, settings: Path) -> None:
        install(claude(home))
        first = tree(home)
        for _ in range(4):
            assert install(claude(home)) == []
        assert tree(home) == first
        assert backup_path(settings).read_text("utf-8") == SETTINGS

    def test_an_older_entry_is_brought_up_to_date_in_place(self, home: Path, settings: Path) -> None:
        install(claude(home, store="old.h5"))
        found = json.loads(settings.read_text("utf-8"))
        found["hooks"]["Stop"][1]["hooks"][0] |= {"timeout": 60_000, "async": True}
        found["hooks"]["Stop"][1]["hooks"].append(THEIRS)
        found["hooks"]["Stop"].append(found["hooks"]["SessionStart"][0])  # ours a second time
        found["hooks"]["Notification"] = [found["hooks"]["SessionStart"][0]]  # and where it is no use
        settings.write_text(json.dumps(found))
        agent = claude(home)
        install(agent)
        assert install(agent) == []
        command = agent.commands.hook_line
        hooks = hooks_of(settings)
        new = {"type": "command", "command": command, "timeout": TIMEOUTS["Stop"], "async": True}
        assert hooks["Stop"] == [{"type": "command", "command": "say done"}, new, THEIRS]
        assert "Notification" not in hooks
        assert all(len(found) == 1 for found in ours(settings).values())
        server = json.loads((home / ".claude.json").read_text())["mcpServers"]["recollect"]
        assert [server["command"], *server["args"]] == list(agent.commands.mcp)

    def test_what_a_person_added_to_the_server_stays(self, home: Path) -> None:
        install(claude(home, store="old.h5"))
        path = home / ".claude.json"
        found = json.loads(path.read_text())
        found["mcpServers"]["recollect"]["env"] = {"RECOLLECT_CACHE": "/c"}
        path.write_text(json.dumps(found))
        install(claude(home))
        assert json.loads(path.read_text())["mcpServers"]["recollect"]["env"] == {"RECOLLECT_CACHE": "/c"}


class TestRemove:
    @pytest.mark.parametrize("link", [False, True])
    def test_the_bytes_of_the_original_come_back(self, home: Path, settings: Path, link: bool) -> None:
        (home / ".claude.json").write_text('{"numStartups":7,"mcpServers":{}}')
        if link:
            (home / "dotfiles").mkdir()
            settings.rename(home / "dotfiles" / "claude.json")
            settings.symlink_to(home / "dotfiles" / "claude.json")
        before = tree(home)
        install(claude(home))
        assert settings.is_symlink() is link
        assert tree(home) != before
        remove(claude(home))
        assert tree(home) == before
        assert settings.is_symlink() is link
        assert remove(claude(home)) == []

    @pytest.mark.parametrize(
        "text", ["", " \n", "{ }", '{"hooks": { }}\n', '{"hooks": {"Stop": [ ]}}', SETTINGS]
    )
    def test_also_when_the_agent_has_written_it_anew(self, home: Path, settings: Path, text: str) -> None:
        settings.write_text(text, "utf-8")
        install(claude(home))
        settings.write_text(json.dumps(json.loads(settings.read_text("utf-8")), indent=7), "utf-8")
        remove(claude(home))
        assert settings.read_text("utf-8") == text

    def test_files_that_we_made_go(self, home: Path) -> None:
        install(claude(home))
        assert set(tree(home)) == {".claude/settings.json", ".claude.json"}
        remove(claude(home))
        assert tree(home) == {}

    def test_what_changed_since_stays_changed(self, home: Path, settings: Path) -> None:
        install(claude(home))
        found = json.loads(settings.read_text("utf-8"))
        found["model"] = "sonnet"
        found["hooks"]["Stop"][1]["hooks"].append(THEIRS)  # into the group that we made
        found["hooks"]["SessionEnd"].append({"hooks": [THEIRS]})
        settings.write_text(json.dumps(found, indent=2), "utf-8")
        remove(claude(home))
        left = json.loads(settings.read_text("utf-8"))
        wanted = json.loads(SETTINGS) | {"model": "sonnet"}
        wanted["hooks"]["Stop"].append({"hooks": [THEIRS]})
        wanted["hooks"]["SessionEnd"] = [{"hooks": [THEIRS]}]
        assert left == wanted
        assert not backup_path(settings).exists()

    def test_a_value_that_only_looks_the_same_is_a_change(self, home: Path, settings: Path) -> None:
        """In Python 1 == True; in a settings file it is not."""
        settings.write_text('{"a": true, "b":2}')
        install(claude(home))
        settings.write_text(settings.read_text().replace('"a": true', '"a": 1'))
        remove(claude(home))
        assert settings.read_text() == '{"a": 1, "b":2}'

    def test_without_the_backup_our_entries_still_go(self, home: Path, settings: Path) -> None:
        install(claude(home))
        backup_path(settings).unlink()
        remove(claude(home))
        assert settings.read_text("utf-8") == SETTINGS
        settings.write_text("{}")
        install(claude(home))
        backup_path(settings).write_bytes(b"\xff not ours")
        remove(claude(home))
        assert json.loads(settings.read_text()) == {}

    def test_hooks_alone(self, home: Path, settings: Path) -> None:
        install(claude(home))
        remove(claude(home), mcp=False)
        assert settings.read_text("utf-8") == SETTINGS
        assert "recollect" in json.loads((home / ".claude.json").read_text())["mcpServers"]

    def test_a_server_of_that_name_that_is_not_ours_stays(self, home: Path) -> None:
        path = home / ".claude.json"
        path.write_text('{"mcpServers": {"recollect": {"command": "npx", "args": ["their-recollect"]}}}')
        before = path.read_bytes()
        assert remove(claude(home)) == []
        with pytest.raises(SettingsRefused, match="another MCP server"):
            install(claude(home))
        assert path.read_bytes() == before


class TestRefused:
    @pytest.mark.parametrize(
        "text",
        ['{"hooks": ', "// x\n{}", '{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"a": 1, "a": 2}', "[]"],
    )
    def test_malformed_settings_stay_untouched(self, home: Path, settings: Path, text: str) -> None:
        settings.write_text(text)
        before = tree(home)
        with pytest.raises(SettingsRefused, match=r"settings\.json: not changed"):
            install(claude(home))
        assert tree(home) == before

    def test_a_malformed_server_file_stays_untouched(self, home: Path, settings: Path) -> None:
        (home / ".claude.json").write_text('{"mcpServers": 3}')
        before = tree(home)
        with pytest.raises(SettingsRefused, match="`mcpServers` is not an object"):
            install(claude(home))
        assert tree(home) == before

    def test_read_only_settings_stay_untouched(self, home: Path, settings: Path) -> None:
        settings.chmod(0o444)
        before = tree(home)
        with pytest.raises(SettingsRefused, match="read-only"):
            install(claude(home))
        assert tree(home) == before
        assert claude(home).state().problems == ()

    def test_odd_neighbours_are_no_reason_to_refuse(self, home: Path, settings: Path) -> None:
        odd = {"hooks": {"Stop": [None, 3, {"hooks": None}, {"hooks": [None, {"command": 3}]}], "Other": []}}
        settings.write_text(json.dumps(odd))
        install(claude(home))
        remove(claude(home))
        assert json.loads(settings.read_text()) == odd


class TestState:
    def test_what_is_installed_where(self, home: Path, settings: Path) -> None:
        agent = claude(home)
        assert agent.state().hooks == agent.state().mcp == agent.state().problems == ()
        install(agent)
        install(agent, project=True)
        state = agent.state()
        assert [found.path for found in state.hooks] == [settings, home / "project/.claude/settings.json"]
        assert {found.command for found in state.hooks} == {agent.commands.hook_line}
        assert all(sorted(found.events) == sorted(EVENTS) for found in state.hooks)
        assert [found.path for found in state.mcp] == [home / ".claude.json"]
        assert state.problems == ()

    def test_what_is_wrong_is_said(self, home: Path, settings: Path) -> None:
        install(claude(home))
        found = json.loads(settings.read_text("utf-8")) | {"disableAllHooks": True}
        del found["hooks"]["SessionEnd"]
        settings.write_text(json.dumps(found))
        (home / ".claude.json").write_text("{")
        told = " ".join(claude(home).state().problems)
        assert "no hook for SessionEnd" in told
        assert "disableAllHooks" in told
        assert ".claude.json: not changed: it is not valid JSON" in told

    def copy_plugin(self, root: Path, command: str) -> None:
        """As Claude Code 2.1.197 does when it installs one."""
        copy = root / "plugins/cache/recollect/recollect/0.1.0"
        (copy / "hooks").mkdir(parents=True, exist_ok=True)
        hooks = {"Stop": [{"hooks": [{"type": "command", "command": command, "timeout": 5}]}]}
        (copy / "hooks" / "hooks.json").write_text(json.dumps({"hooks": hooks}))
        told = {
            "version": 2,
            "plugins": {"recollect@recollect": [{"scope": "user", "installPath": str(copy)}]},
        }
        (root / "plugins" / "installed_plugins.json").write_text(json.dumps(told))

    def test_with_the_plugin_the_settings_are_left_alone(self, home: Path, settings: Path) -> None:
        settings.write_text('{"enabledPlugins": {"recollect@recollect": true, "other@x": true}}')
        assert install(claude(home)) == []
        state = claude(home).state()
        assert [found.command for found in state.hooks] == ["plugin recollect@recollect"]
        assert state.problems == ()
        self.copy_plugin(settings.parent, shlex.join(claude(home).commands.hook))
        assert claude(home).state().problems == ()
        self.copy_plugin(settings.parent, "recollect-hook claude")
        assert "run `recollect hook plugin`" in claude(home).state().problems[0]
        settings.write_text('{"enabledPlugins": {"recollect@recollect": false}}')
        assert len(install(claude(home))) == 2

    def test_found_by_its_folder_or_its_program(self, tmp_path: Path) -> None:
        home, program = tmp_path / "home", tmp_path / "bin" / "claude"
        home.mkdir()
        assert not claude(home, {"PATH": str(program.parent)}).found()
        assert claude(home).version() == ""
        program.parent.mkdir()
        program.write_text("#!/bin/sh\necho '2.1.197 (Claude Code)'\n")
        program.chmod(0o700)
        agent = claude(home, {"PATH": f"{program.parent}{os.pathsep}/usr/bin{os.pathsep}/bin"})
        assert agent.found()
        assert agent.version() == "2.1.197"
        program.write_text("#!/bin/sh\nexit 3\n")
        assert agent.version() == ""


# -- any settings whatever ------------------------------------------------------------------

_GROUP = st.fixed_dictionaries({"hooks": st.lists(VALUES | st.just(THEIRS), max_size=2)})
_EVENTS = st.sampled_from([*EVENTS, "PreToolUse"])
_HOOKS = st.dictionaries(_EVENTS, st.lists(VALUES | _GROUP, max_size=3), max_size=4)
_SERVERS = st.dictionaries(st.text(), VALUES, max_size=3)


@st.composite
def some_settings(draw: Any) -> dict[str, Any]:
    own = {"hooks": _HOOKS, "mcpServers": _SERVERS}
    return {**draw(OBJECTS), **draw(st.fixed_dictionaries({}, optional=own))}


def loaded(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(data.decode("utf-8-sig"))
    return found


def refused(value: Mapping[str, Any]) -> bool:
    """Settings of a shape that no one may edit."""
    hooks, servers = value.get("hooks", {}), value.get("mcpServers", {})
    return (
        not isinstance(hooks, dict)
        or any(not isinstance(groups, list) for groups in hooks.values())
        or not isinstance(servers, dict)
        or "recollect" in servers
    )


@given(settings=written(some_settings()), servers=written(some_settings()))
def test_install_then_remove_gives_any_settings_their_bytes_back(settings: bytes, servers: bytes) -> None:
    with scratch() as home:
        (home / ".claude").mkdir()
        (home / ".claude" / "settings.json").write_bytes(settings)
        (home / ".claude.json").write_bytes(servers)
        before = tree(home)
        if any(refused(loaded(data)) for data in before.values()):
            return
        install(claude(home))
        assert install(claude(home)) == []
        for name, data in before.items():
            assert without_ours(loaded(tree(home)[name])) == without_ours(loaded(data))
        remove(claude(home))
        assert tree(home) == before


@given(settings=some_settings(), other=some_settings())
def test_what_the_agent_wrote_in_between_is_what_is_left(
    settings: dict[str, Any], other: dict[str, Any]
) -> None:
    """Claude Code rewrites its files as it likes, our entries included."""
    with scratch() as home:
        path = home / ".claude" / "settings.json"
        path.parent.mkdir()
        path.write_text(json.dumps(settings))
        if refused(settings) or refused(other):
            return
        install(claude(home))
        found = json.loads(path.read_text())
        mixed = {**other, "hooks": {**other.get("hooks", {}), **found["hooks"]}}
        path.write_text(json.dumps(mixed, indent=3))
        remove(claude(home))
        left = json.loads(path.read_text()) if path.exists() else {}
        assert without_ours(left) == without_ours(mixed)
        assert not any(is_ours(text) for text in _texts(left))


def without_ours(value: dict[str, Any]) -> dict[str, Any]:
    """Settings as they are without our entries and what may be left empty around them."""
    value = copy.deepcopy(value)
    hooks = value.get("hooks")
    if isinstance(hooks, dict):
        for event, groups in list(hooks.items()):
            kept = [_group(group) for group in groups]
            hooks[event] = [group for group in kept if group is not None]
            if not hooks[event]:
                del hooks[event]
    servers = value.get("mcpServers")
    if isinstance(servers, dict):
        servers.pop("recollect", None)
    return {name: each for name, each in value.items() if each or name not in ("hooks", "mcpServers")}


def _group(group: Any) -> Any:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(hooks, list) or not any(_is_our_hook(hook) for hook in hooks):
        return group
    kept = [hook for hook in hooks if not _is_our_hook(hook)]
    return {**group, "hooks": kept} if kept else None


def _is_our_hook(hook: Any) -> bool:
    return isinstance(hook, dict) and isinstance(hook.get("command"), str) and is_ours(hook["command"])


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in items for text in _texts(each)]


class TestCleanupDays:
    @pytest.mark.parametrize(
        ("settings", "days"),
        [
            ('{"cleanupPeriodDays": 7}', 7),
            ('{"cleanupPeriodDays": 0}', 0),
            ('{"cleanupPeriodDays": "9"}', 30),
            ('{"cleanupPeriodDays": true}', 30),
            ('{"cleanupPeriodDays": -4}', 30),
            ("[]", 30),
            ("{nonsense", 30),
            ('{"other": 1}', 30),
            ('{"cleanupPeriodDays": 99999}', 99999),
            ("[" * 100_000, 30),
            ("", 30),
        ],
    )
    def test_settings_of_every_sort(self, tmp_path: Path, settings: str, days: int) -> None:
        (tmp_path / ".claude").mkdir()
        (tmp_path / ".claude" / "settings.json").write_text(settings)
        assert cleanup_days(tmp_path, {}) == days

    def test_no_settings_mean_the_default(self, tmp_path: Path) -> None:
        assert cleanup_days(tmp_path, {}) == CLEANUP_DAYS

    def test_a_moved_folder_has_its_own_settings(self, tmp_path: Path) -> None:
        (tmp_path / "moved").mkdir()
        (tmp_path / "moved" / "settings.json").write_text('{"cleanupPeriodDays": 99}')
        assert cleanup_days(tmp_path, {"CLAUDE_CONFIG_DIR": str(tmp_path / "moved")}) == 99
