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
