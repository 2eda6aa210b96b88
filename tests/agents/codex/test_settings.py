"""CodexSettings: what `init` writes into its two files, and that it takes out exactly that."""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.agents.codex.settings import TIMEOUTS, CodexSettings
from recollect.agents.editing.change import Change, backup_path
from recollect.config import Config
from recollect.setup.agents import commands_of
from recollect.values.errors import SettingsRefused
from recollect.values.settings import AgentState

SETTINGS = {
    "comments": '# mine\nmodel = "x"  # the good one\n\n# where\n[providers.local]\nname = "l"\n# end\n',
    "windows": 'model = "gpt-5"\r\n\r\n[features]\r\nmemories = false\r\n',
    "no newline at the end": 'model = "gpt-5"\n[features]\nmemories = false',
    "blank lines at the end": '[features]\nmemories = false\n\n\n',
    "empty": "",
    "only a comment": "# nothing yet",
    "another's server": '[mcp_servers.docs]\ncommand = "docs"\n\n[mcp_servers.docs.env]\nA = "1"\n',
    "servers in dotted keys": 'mcp_servers.docs.command = "docs"\nmodel = "x"\n',
    "an empty table of servers": '[mcp_servers]\n\n[features]\nmemories = true\n',
    "another's notify": 'notify = ["notify-send", "Codex"]\nmodel = "x"\n',
    "a notify that is not ours, in a table": '[tui]\nnotify = ["recollect-hook codex"]\n',
    "a schema": '#:schema https://example.invalid/config.json\n# mine\nmodel = "x"\n',
    "a string that looks like it": 'a = """\nnotify = ["x"]\n[mcp_servers.recollect]\ncommand = "x"\n"""\n',
    "lists over several lines": 'list = [\n  ["a"],\n  [\n    "[mcp_servers.recollect]",\n  ],\n]\n',
    "numbers that are not equal to themselves": "odd = nan\nbig = inf\n",
    "words of all the world": '"persönlich" = "中文 \\u202e"\n',
}  # fmt: skip


@pytest.fixture
def codex(tmp_path: Path) -> CodexSettings:
    return _codex(tmp_path)


@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
def test_what_was_put_in_comes_out_and_the_bytes_are_the_original_ones(
    codex: CodexSettings, text: str
) -> None:
    before = _write(codex, text)
    _apply(codex.changes(hooks=True, mcp=True, project=False))
    assert _config(codex) != before
    _apply(codex.removal(project=False))
    assert _config(codex) == before
    assert sorted(os.listdir(_root(codex))) == ["config.toml"]


@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
def test_five_installs_are_one(codex: CodexSettings, text: str) -> None:
    _write(codex, text)
    _apply(codex.changes(hooks=True, mcp=True, project=False))
    once = _config(codex)
    for _ in range(4):
        assert codex.changes(hooks=True, mcp=True, project=False) == []
    assert _config(codex) == once
    assert _said(codex)["mcp_servers"]["recollect"] == _server(codex)
    hooks = json.loads((_root(codex) / "hooks.json").read_bytes())["hooks"]
    assert {event: len(groups) for event, groups in hooks.items()} == dict.fromkeys(TIMEOUTS, 1)


@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
def test_every_line_that_was_there_still_is(codex: CodexSettings, text: str) -> None:
    before = _write(codex, text)
    _apply(codex.changes(hooks=True, mcp=True, project=False))
    after = _config(codex).splitlines()
    assert _is_subsequence(before.splitlines(), after)


def test_files_that_we_made_are_gone_again(codex: CodexSettings) -> None:
    _apply(codex.changes(hooks=True, mcp=True, project=False))
    assert sorted(os.listdir(_root(codex))) == ["config.toml", "hooks.json"]
    assert (_root(codex) / "config.toml").stat().st_mode & 0o777 == 0o600
    _apply(codex.removal(project=False))
    assert os.listdir(_root(codex)) == []


def test_hooks_run_the_command_and_have_seconds_that_codex_grants(codex: CodexSettings) -> None:
    _apply(codex.changes(hooks=True, mcp=False, project=False))
    hooks = json.loads((_root(codex) / "hooks.json").read_bytes())["hooks"]
    entries = {event: groups[0]["hooks"][0] for event, groups in hooks.items()}
    assert {entry["command"] for entry in entries.values()} == {codex.commands.hook_line}
    assert all(0 < entry["timeout"] <= 5 for entry in entries.values())
    assert entries["SessionEnd"]["timeout"] <= 3  # Codex warns in every session where more is asked
    assert set(entries) == {
        "SessionStart",
        "UserPromptSubmit",
        "Stop",
        "SubagentStop",
        "PreCompact",
        "SessionEnd",
    }


def test_notify_is_told_before_any_table_and_below_what_editors_read(codex: CodexSettings) -> None:
    _write(codex, SETTINGS["a schema"] + "[features]\nmemories = false\n")
    _apply(codex.changes(hooks=True, mcp=False, project=False))
    lines = _config(codex).decode().splitlines()
    assert lines[0].startswith("#:schema")
    assert lines[1].startswith("notify = [")
    assert _said(codex)["notify"] == shlex.split(codex.commands.hook_line)


def test_new_lines_end_as_the_others_do(codex: CodexSettings) -> None:
    _write(codex, SETTINGS["windows"])
    _apply(codex.changes(hooks=True, mcp=True, project=False))
    assert all(line.endswith(b"\r\n") for line in _config(codex).splitlines(keepends=True))


def test_another_programs_notify_is_left_alone(codex: CodexSettings) -> None:
    before = _write(codex, SETTINGS["another's notify"])
    _apply(codex.changes(hooks=True, mcp=False, project=False))
    assert _config(codex) == before
    assert "notify" not in {event for found in codex.state().hooks for event in found.events}
    _apply(codex.removal(project=False))
    assert _config(codex) == before


def test_only_what_is_asked_for_is_written(codex: CodexSettings) -> None:
    _apply(codex.changes(hooks=False, mcp=True, project=False))
    assert _said(codex) == {"mcp_servers": {"recollect": _server(codex)}}
    assert not (_root(codex) / "hooks.json").exists()


def test_hooks_can_go_and_the_server_stay(codex: CodexSettings) -> None:
    before = _write(codex, 'model = "x"')
    _apply(codex.changes(hooks=True, mcp=True, project=False))
    _apply(codex.removal(project=False, mcp=False))
    assert _said(codex) == {"model": "x", "mcp_servers": {"recollect": _server(codex)}}
    assert not (_root(codex) / "hooks.json").exists()
    _apply(codex.removal(project=False))
    assert _config(codex) == before


def test_a_project_gets_hooks_in_its_own_folder(codex: CodexSettings) -> None:
    _apply(codex.changes(hooks=True, mcp=True, project=True))
    assert os.listdir(codex.folder / ".codex") == ["hooks.json"]
    assert not _root(codex).exists()
    _apply(codex.removal(project=True))
    assert os.listdir(codex.folder / ".codex") == []


def test_an_older_entry_is_brought_up_to_date_where_it_stands(tmp_path: Path) -> None:
    old, new = _codex(tmp_path, "old.h5"), _codex(tmp_path, "new.h5")
    before = _write(old, SETTINGS["comments"])
    _apply(old.changes(hooks=True, mcp=True, project=False))
    own = _config(old).replace(b"[mcp_servers.recollect]\n", b"[mcp_servers.recollect]\nenabled = false\n")
    (_root(old) / "config.toml").write_bytes(own + b"\n[tui]\nanimations = false\n")
    _apply(new.changes(hooks=True, mcp=True, project=False))
    found = _said(new)
    assert found["mcp_servers"]["recollect"] == {"enabled": False, **_server(new)}
    assert found["notify"] == shlex.split(new.commands.hook_line)
    moved = own.replace(b"old.h5", b"new.h5").replace(
        old.commands.hook[6].encode(), new.commands.hook[6].encode()
    )
    assert _config(new) == moved + b"\n[tui]\nanimations = false\n"
    _apply(new.removal(project=False))
    assert _config(new) == before + b"\n[tui]\nanimations = false\n"


def test_variables_that_a_person_passes_on_stay(codex: CodexSettings) -> None:
    _apply(codex.changes(hooks=False, mcp=True, project=False))
    own = b'env_vars = ["MY_KEY", { name = "OTHER", source = "local" }]'
    (_root(codex) / "config.toml").write_bytes(re.sub(rb"env_vars = .*", own, _config(codex)))
    assert codex.changes(hooks=False, mcp=True, project=False) == []


def test_what_codex_wrote_meanwhile_stays(codex: CodexSettings) -> None:
    """It keeps approvals in the same file, and moves a comment at the end behind them."""
    _write(codex, 'model = "x"\n# the end\n')
    _apply(codex.changes(hooks=True, mcp=True, project=False))
    text = _config(codex).decode().replace("# the end\n", "")
    approvals = '\n[mcp_servers.recollect.tools.ingest_sessions]\napproval_mode = "approve"\n'
    trust = '\n[hooks.state]\n\n[hooks.state."/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:0"\n# the end\n'
    (_root(codex) / "config.toml").write_bytes((text + approvals + trust).encode())
    _apply(codex.removal(project=False))
    assert _config(codex).decode() == 'model = "x"\n' + trust


def test_a_comment_that_came_since_stays(codex: CodexSettings) -> None:
    _write(codex, 'model = "x"\n')
    _apply(codex.changes(hooks=True, mcp=True, project=False))
    (_root(codex) / "config.toml").write_bytes(_config(codex) + b"\n# for later\n")
    _apply(codex.removal(project=False))
    assert _config(codex) == b'model = "x"\n\n# for later\n'


REFUSED: dict[str, bytes] = {
    "malformed": b"model = \n",
    "a key twice": b"a = 1\na = 2\n",
    "not text": b'a = "\xff"\n',
    "another server of our name": b'[mcp_servers.recollect]\ncommand = "other"\n',
    "servers in one line": b'mcp_servers = { docs = { command = "docs" } }\n',
    "servers that are none": b'mcp_servers = "none"\n',
    "nested too deep": b"a = " + b"[" * 5000 + b"]" * 5000,
}


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_edited_safely_is_refused_untouched(codex: CodexSettings, data: bytes) -> None:
    _write(codex, "")
    (_root(codex) / "config.toml").write_bytes(data)
    with pytest.raises(SettingsRefused):
        codex.changes(hooks=True, mcp=True, project=False)
    assert _config(codex) == data
    assert os.listdir(_root(codex)) == ["config.toml"]


def test_an_entry_of_ours_that_someone_wrote_in_one_line_is_taken_out_whole(codex: CodexSettings) -> None:
    command, server = _server(codex)["command"], json.dumps(_server(codex)["args"])
    line = f'mcp_servers = {{ recollect = {{ command = "{command}", args = {server} }} }}\n'
    _write(codex, f'{line}model = "x"  # mine\n')
    _apply(codex.removal(project=False))
    assert _said(codex) == {"mcp_servers": {}, "model": "x"}
    assert _config(codex).endswith(b'model = "x"  # mine\n')


def test_a_file_that_may_not_be_written_is_refused_but_looked_at(codex: CodexSettings) -> None:
    before = _write(codex, 'model = "x"\n')
    (_root(codex) / "config.toml").chmod(0o400)
    with pytest.raises(SettingsRefused):
        codex.changes(hooks=True, mcp=True, project=False)
    assert codex.state() == AgentState()
    assert _config(codex) == before


def test_a_linked_file_is_edited_where_it_is_and_the_link_stays(codex: CodexSettings, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_bytes(b'model = "x"\n')
    _root(codex).mkdir(parents=True)
    (_root(codex) / "config.toml").symlink_to(real)
    _apply(codex.changes(hooks=True, mcp=True, project=False))
    assert (_root(codex) / "config.toml").is_symlink()
    assert b"recollect" in real.read_bytes()
    _apply(codex.removal(project=False))
    assert (_root(codex) / "config.toml").is_symlink()
    assert real.read_bytes() == b'model = "x"\n'


def test_the_folder_that_codex_home_names_is_the_one(codex: CodexSettings, tmp_path: Path) -> None:
    elsewhere = CodexSettings(
        codex.commands, codex.home, {"CODEX_HOME": str(tmp_path / "else")}, codex.folder
    )
    _apply(elsewhere.changes(hooks=True, mcp=True, project=False))
    assert sorted(os.listdir(tmp_path / "else")) == ["config.toml", "hooks.json"]
    assert not elsewhere.home.exists()


def test_it_is_found_by_its_folder_or_its_program(codex: CodexSettings, tmp_path: Path) -> None:
    assert not codex.found()
    assert codex.version() == ""
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho codex-cli 0.166.0\n")
    program.chmod(0o700)
    with_program = CodexSettings(codex.commands, codex.home, {"PATH": str(program.parent)}, codex.folder)
    assert with_program.found()
    assert with_program.version() == "0.166.0"
    program.write_text("#!/bin/sh\nexit 1\n")
    assert with_program.version() == ""
    _root(codex).mkdir(parents=True)
    assert codex.found()


# What Codex 0.166.0 itself keeps for `recollect-hook codex` with the seconds we write.
REVIEWED = {
    "session_start": "a2fefdb2bff2458d7fa8af9f5032e99a40dcd6640465beef1967c5b3920f2fb6",
    "user_prompt_submit": "d1e030a099696267385632b579cde67ca46861eca7a20482a7645263d1622aaa",
    "stop": "77320270df7da2743d6fc53954694134653d1e002a1a2eb3387dfc180a38586a",
    "subagent_stop": "47c88ca926d52b568d63891d119d910475da57e69b7bbf740a2809401cf2b6ad",
    "pre_compact": "8c363dcd841d2a648c6e329eaaca59571c34359a969ce74ccc661f42fe4a13e3",
    "session_end": "5ed673afd02f9b4bd686aef0df5fb55488101ddab651f9b1bdc2cfb7827a1ada",
}


def test_hooks_that_a_person_reviewed_are_known_as_such(codex: CodexSettings) -> None:
    _reviewed(codex, REVIEWED)
    assert codex.state().problems == ()
    assert codex.state().hooks[0].events == tuple(TIMEOUTS)


def test_hooks_that_nobody_reviewed_are_named(codex: CodexSettings) -> None:
    _apply(codex.changes(hooks=True, mcp=True, project=False))
    state = codex.state()
    assert [found.events for found in state.hooks] == [tuple(TIMEOUTS), ("notify",)]
    assert [found.command for found in state.mcp] == [shlex.join(codex.commands.mcp)]
    assert len(state.problems) == 1
    assert "/hooks" in state.problems[0]
    assert all(event in state.problems[0] for event in TIMEOUTS)


def test_a_hook_that_changed_since_it_was_reviewed_is_named(codex: CodexSettings) -> None:
    _reviewed(codex, {**REVIEWED, "stop": "0" * 64})
    assert [problem.rpartition(": ")[2] for problem in codex.state().problems] == ["Stop"]


def test_hooks_that_are_switched_off_are_named(codex: CodexSettings) -> None:
    _reviewed(codex, REVIEWED, more="enabled = false\n")
    assert "switched off" in codex.state().problems[0]
    _reviewed(codex, REVIEWED, before="[features]\nhooks = false\n")
    assert "`hooks` is switched off" in codex.state().problems[0]


def test_a_file_that_cannot_be_read_is_a_problem_and_no_error(codex: CodexSettings) -> None:
    _write(codex, "model = \n")
    (_root(codex) / "hooks.json").write_text("{")
    state = codex.state()
    assert state.hooks == state.mcp == ()
    assert len(state.problems) == 2


_LINES = st.lists(
    st.sampled_from(
        [
            "# words", "# [mcp_servers.recollect]", "", "  ", "a = 1", 'b = "[mcp_servers.recollect]"',
            "c = nan", "[t]", "[t.u]", "[[l]]", 'd = """', "e = '''", "f = [", "]", '"x",', "command = 'x'",
            "notify = ['x']", "[mcp_servers]", "[mcp_servers.docs]", "[mcp_servers.docs.env]",
            "mcp_servers.m.command = 'm'", "[mcp_servers . 'recollected']",
        ]
    ),
    max_size=12,
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=_LINES, newline=st.sampled_from(["\n", "\r\n"]), last=st.booleans(), more=_LINES)
def test_whatever_the_file_says_it_says_again(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], newline: str, last: bool, more: list[str]
) -> None:
    text = newline.join(lines) + (newline if last else "")
    try:
        meant = _meaning(text)
    except ValueError:
        return
    codex = _codex(tmp_path_factory.mktemp("home"))
    before = _write(codex, text)
    try:
        _apply(codex.changes(hooks=True, mcp=True, project=False))
    except SettingsRefused:
        assert _config(codex) == before
        return
    put = _said(codex)
    assert put["mcp_servers"].pop("recollect") == _server(codex)
    assert {**meant, "mcp_servers": {}, "notify": 0} == {**put, "mcp_servers": {}, "notify": 0}
    assert put["mcp_servers"] == meant.get("mcp_servers", {})
    _then_removed(codex, before, newline.join(more))


def _then_removed(codex: CodexSettings, before: bytes, more: str) -> None:
    """Right away, or after something was added at the end."""
    if not more:
        _apply(codex.removal(project=False))
        assert _config(codex) == before
        return
    grown = _config(codex) + b"\n" + more.encode()
    (_root(codex) / "config.toml").write_bytes(grown)
    try:
        meant = _said(codex)
        _apply(codex.removal(project=False))
    except SettingsRefused:
        assert _config(codex) == grown
    except ValueError:  # what was added made it no TOML
        return
    else:
        assert meant["mcp_servers"].pop("recollect")
        assert _said(codex).get("mcp_servers", {}) == meant["mcp_servers"]


def _said(codex: CodexSettings) -> dict[str, Any]:
    return _meaning(_config(codex).decode())


def _meaning(text: str) -> dict[str, Any]:
    return tomllib.loads(text, parse_float=str)


def _codex(base: Path, store: str = "memory.h5") -> CodexSettings:
    config = Config(store=base / store, host="here", cache=base / "cache")
    return CodexSettings(commands_of("codex", config), base / "home", {}, base / "project")


def _root(codex: CodexSettings) -> Path:
    return Path(codex.environment.get("CODEX_HOME") or codex.home / ".codex")


def _config(codex: CodexSettings) -> bytes:
    return (_root(codex) / "config.toml").read_bytes()


def _write(codex: CodexSettings, text: str) -> bytes:
    _root(codex).mkdir(parents=True, exist_ok=True)
    (_root(codex) / "config.toml").write_bytes(text.encode())
    return text.encode()


def _apply(changes: list[Change]) -> None:
    for change in changes:
        change.apply()


def _server(codex: CodexSettings) -> dict[str, Any]:
    command, *args = codex.commands.mcp
    return {"command": command, "args": args, "env_vars": list(codex.commands.variables)}


def _is_subsequence(few: list[bytes], many: list[bytes]) -> bool:
    rest: Callable[[], bytes | None] = iter([*many, None]).__next__
    return all(any(line == other for other in iter(rest, None)) for line in few)


def _reviewed(codex: CodexSettings, hashes: dict[str, str], *, before: str = "", more: str = "") -> None:
    """Our hooks in the file, and the approvals that Codex writes when a person has looked at them."""
    path = _root(codex) / "hooks.json"
    for event, value in hashes.items():
        before += f'[hooks.state."{path}:{event}:0:0"]\ntrusted_hash = "sha256:{value}"\n{more}\n'
    _write(codex, before)
    hooks = {
        event: [{"hooks": [{"type": "command", "command": "recollect-hook codex", "timeout": seconds}]}]
        for event, seconds in TIMEOUTS.items()
    }
    path.write_text(json.dumps({"hooks": hooks}))
    assert not backup_path(path).exists()
