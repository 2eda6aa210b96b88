"""A hook runs in a project's folder: nothing that lies there is ever imported or run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.support.hook_calls import EVENTS, Desk

from recollect.agents.claude import settings as claude
from recollect.agents.codex import settings as codex
from recollect.agents.editing.commands import is_ours
from recollect.hooks import run
from recollect.hooks.command import mcp_command

MODULES = ("json", "re", "pathlib", "mcp", "recollect", "numpy", "sitecustomize", "typing")


def hostile(folder: Path) -> Path:
    """A folder whose modules leave a mark when they are imported."""
    mark = folder / "imported"
    for name in MODULES:
        (folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'a').write({name!r})\nraise SystemExit(3)\n")
    return mark


@pytest.mark.parametrize("event", ["SessionStart", "SessionEnd"])
def test_modules_of_a_project_are_not_imported(desk: Desk, event: str) -> None:
    mark = hostile(desk.home)
    desk.write(1, 2)
    assert desk.call(event).harmless
    assert desk.quiet()
    assert not mark.exists()
    assert not desk.store.with_name(desk.store.name + "-wal").exists(), "it was settled all the same"


def test_nor_by_the_server_that_an_agent_starts_there(desk: Desk) -> None:
    mark = hostile(desk.home)
    child = subprocess.run(
        mcp_command(desk.config),
        cwd=desk.home,
        env=desk.environment(),
        input=b"",
        capture_output=True,
        timeout=60,
    )
    assert child.returncode == 0, child.stderr
    assert not mark.exists()


def test_a_payload_that_comes_late_loses_only_itself(desk: Desk) -> None:
    """Whatever was followed before is taken all the same."""
    desk.write(1)
    assert desk.call("UserPromptSubmit").harmless
    desk.write(2)
    assert desk.call("Stop", given=b"no payload").harmless
    assert len(desk.remembered()) == 2


@pytest.mark.parametrize(
    "line",
    [
        "/x/python -P -m recollect --store '/a b/m.h5' mcp",
        "recollect mcp",
        "/u/bin/recollect --store /m.h5 mcp",
        """python -m recollect --store "/a/Ada's files/m.h5" mcp""",
        "C:/x/recollect.exe mcp",
        "/x/python -I -S /y/recollect/hooks/entry.py claude /m.h5 /state",
        "recollect-hook claude",
    ],
)
def test_our_commands_are_known_again(line: str) -> None:
    assert is_ours(line)


@pytest.mark.parametrize(
    "line",
    ["recollect search x && y mcp", "other mcp", "echo recollect is nice: mcp", "'", "", "recollector mcp"],
)
def test_other_commands_are_not_ours(line: str) -> None:
    assert not is_ours(line)


def test_every_event_a_hook_handles_is_installed() -> None:
    assert tuple(EVENTS) == run.EVENTS == tuple(claude.TIMEOUTS) == tuple(codex.TIMEOUTS)
