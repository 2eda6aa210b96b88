"""claude-mem talks to `recollect chroma` without noticing: its real classes, under the bun it runs on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.clients.clients import Machine, binary
from tests.clients.conftest import Needs

pytestmark = pytest.mark.agents

DRIVER = Path(__file__).with_name("claude_mem.cjs")


@pytest.fixture
def claude_mem(needs: Needs, machine: Machine) -> list[str]:
    """The words that run the driver, but for the story; a machine on which our program stands in for uvx."""
    needs("claude-mem")
    bun, worker = binary("bun"), binary("claude-mem")
    if bun is None:
        pytest.skip("no bun: `make test-agents` installs it")
    machine.recollect("chroma", "--install-shim", str(machine.home / "shim"))
    return [str(bun), str(DRIVER), str(worker)]


def environment(machine: Machine) -> dict[str, str]:
    return machine.environment(
        CLAUDE_MEM_DATA_DIR=str(machine.home / ".claude-mem"),
        CLAUDE_MEM_CHROMA_UVX_PATH=str(machine.home / "shim"),
    )


def results(out: str) -> dict[str, Any]:
    told = (
        json.loads(line.removeprefix("RESULT ")) for line in out.splitlines() if line.startswith("RESULT ")
    )
    return {each["step"]: each["value"] for each in told}


def test_what_it_syncs_and_asks_is_answered_as_chroma_answers(
    machine: Machine, claude_mem: list[str]
) -> None:
    done = subprocess.run(
        [*claude_mem, "story"],
        env=environment(machine),
        cwd=machine.work,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-2000:]
    told = results(done.stdout)
    assert told["healthy"] is True
    assert (told["probe before"]["ok"], told["probe before"]["stage"]) == (False, "query")
    assert (told["probe"]["ok"], told["probe"]["stage"]) == (True, "done")
    assert (told["added"], told["added again"], told["added mixed"]) == (250, 250, 100)
    assert told["count"] == 300
    nearest = told["query"]
    assert len(nearest) == 100
    assert set(range(201, 251)) <= set(nearest), "the fifty that speak of it come first"
    assert max(nearest) == 250, "and nothing of another project"
    assert told["query elsewhere"] == []
    assert told["merged"]["ids"] == [251, 252]
    assert told["merged"]["metadata"]["project"] == "quay"
    assert told["merged"]["metadata"]["merged_into_project"] == "pier"
    assert "subtitle" not in told["merged"]["metadata"]
    assert told["added many"] == 1250
    assert told["watermarks"]["bulk"] == {"observations": 2250, "summaries": 0, "prompts": 0}
    assert told["watermarks"]["harbor"] == {"observations": 5001, "summaries": 6001, "prompts": 7001}
    assert told["kinds"] == [7001]
    assert told["healthy again"] is True
    assert told["count again"] == 300 + 1250 + 3 + 3 + 1
    machine.settle()
    found = machine.recollect("search", "stored as a duration", "--json").json
    assert any("duration" in hit["snippet"] for hit in found["hits"]), "and `recollect search` finds it"


def test_nothing_is_left_when_it_is_killed_in_the_middle(machine: Machine, claude_mem: list[str]) -> None:
    """What it was told is kept is there, and no process stays."""
    process = subprocess.Popen(
        [*claude_mem, "dying"], env=environment(machine), cwd=machine.work, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    kept = 0
    for line in process.stdout:
        if line.startswith("RESULT "):
            kept = json.loads(line.removeprefix("RESULT "))["value"]
            if kept >= 900:
                break
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    machine.settle()
    count = machine.recollect("notes", "--channel", "chroma", "-n", "5000", "--json").json
    assert len(count["notes"]) >= kept


def test_uvx_stays_uvx_for_everything_else(machine: Machine, tmp_path: Path) -> None:
    """Whatever is not chroma-mcp, and a Chroma on a server, is for the real one behind it on the PATH."""
    real = tmp_path / "real"
    real.mkdir()
    (real / "uvx").write_text('#!/bin/sh\nprintf "%s|" real "$@"\n')
    (real / "uvx").chmod(0o755)
    shim = machine.home / "shim"
    machine.recollect("chroma", "--install-shim", str(shim))
    path = f"{shim}{os.pathsep}{real}{os.pathsep}{os.environ['PATH']}"

    def said(*words: str) -> str:
        return subprocess.run(
            [str(shim / "uvx"), *words],
            env={"PATH": path, "HOME": str(machine.home)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    start = (
        "--python",
        "3.13",
        "--with",
        "onnxruntime>=1.20",
        "--with",
        "protobuf<7",
        "--from",
        "chroma-mcp==0.2.6",
        "chroma-mcp",
    )
    assert "recollect chroma" in said(*start, "--help")
    assert said("ruff", "check", "a b") == "real|ruff|check|a b|"
    assert said("--from", "chroma-mcp", "python", "-V") == "real|--from|chroma-mcp|python|-V|"
    remote = (*start, "--client-type", "http", "--host", "h")
    assert said(*remote) == "|".join(("real", *remote, ""))
    assert machine.recollect("chroma", "--install-shim", str(shim), "--remove").code == 0
    assert not shim.exists()
