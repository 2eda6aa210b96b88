"""Facts asked of the real clients: no tools, no hooks, no transcript of it, and an answer that is kept."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.clients.clients import CLAUDES, Ended, Machine, binary, claude_environment, ended
from tests.clients.standin import FACTS, Request, StandIn, message, text, use

from recollect.memory import Memory

pytestmark = pytest.mark.agents

PROMPT = "We always install with uv, never with pip."
_SHOWN = re.compile(r"^\[([0-9a-f.]+) user[^\]]*\]\n  (.*install with uv.*)$", re.MULTILINE)


def told(request: Request) -> dict[str, Any]:
    """The facts that the scripted model finds in what it is shown; one of them it makes up."""
    (shown,) = set(_SHOWN.findall(request.words))
    good = {"entry": shown[0], "quote": "install with uv, never with pip"}
    made_up = {"entry": shown[0], "quote": "install with conda, always"}
    return {
        "facts": [
            {"text": "It installs with uv.", "tag": "preference", "citations": [good], "supersedes": []},
            {"text": "It installs with conda.", "tag": "config", "citations": [made_up], "supersedes": []},
        ]
    }


def extracted(machine: Machine, agent: str, program: Path, **environment: str) -> dict[str, Any]:
    """`facts extract` with a client that is on the PATH under its own name."""
    folder = machine.home / "bin"
    folder.mkdir(exist_ok=True)
    (folder / agent).symlink_to(program)
    path = f"{folder}:{machine.environment()['PATH']}"
    words = ["-m", "recollect", "facts", "extract", "--yes", "--json", "--agent", agent]
    started = machine.start([sys.executable, *words], {**environment, "PATH": path})
    done: Ended = ended(started)
    machine.settle()
    return done.json


def conversation(machine: Machine, standin: StandIn, agent: str) -> None:
    """One conversation that says how to install."""
    if agent == "claude":
        script = standin.script("first", [text("Understood.")])
        machine.claude(f"{script} {PROMPT}")
    else:
        script = standin.script("first", [message("Understood.")])
        machine.codex(f"{script} {PROMPT}")
    machine.settle()


def check(machine: Machine, standin: StandIn, made: dict[str, Any], before: dict[str, bytes]) -> Request:
    request, *_ = standin.asked(FACTS)
    done = made["done"]
    assert [each["text"] for each in done["facts"]] == ["It installs with uv."]
    assert done["dropped"] == {"quotes words that are not there": 1}
    assert machine.written() == before, "nothing of it is logged"
    machine.recollect("ingest")
    sessions = machine.recollect("sessions", "--json").json["sessions"]
    assert sorted(each["agent"] for each in sessions) == sorted([made["plan"]["agent"], "memory"])
    listed = machine.recollect("facts", "--json").json["facts"]
    (fact,) = [each for each in listed if each["origin"] == "model"]
    assert machine.recollect("show", fact["entries"][0]).code == 0
    again = machine.recollect("facts", "extract", "--dry-run", "--json").json
    assert again["plan"]["chunks"] == 0
    with Memory.open(machine.store, create=False) as memory:
        assert memory.check() == []
    return request


@pytest.mark.usefixtures("claude")
@pytest.mark.parametrize("claude_client", CLAUDES)
def test_claude_is_asked_without_tools_hooks_or_a_transcript(installed: Machine, standin: StandIn) -> None:
    conversation(installed, standin, "claude")
    before = installed.written()
    standin.script(FACTS, lambda request: [use("StructuredOutput", **told(request))], [text("done")])
    program = binary(installed.claude_client)
    assert program is not None
    made = extracted(installed, "claude", program, **claude_environment(standin.url))
    request = check(installed, standin, made, before)
    assert set(request.tools) <= {"StructuredOutput", "DeferredToolPlaceholder"}
    assert made["done"]["dollars"] > 0
    assert "recollect-memory" in request.words
    assert "What is remembered of" not in json.dumps(request.body), "no hook of ours told it anything"


@pytest.mark.usefixtures("codex")
def test_codex_is_asked_without_a_shell_hooks_or_a_rollout(installed: Machine, standin: StandIn) -> None:
    conversation(installed, standin, "codex")
    before = installed.written()
    standin.script(FACTS, lambda request: [message(json.dumps(told(request)))])
    program = binary("codex")
    assert program is not None
    made = extracted(installed, "codex", program, OPENAI_API_KEY="dummy")
    request = check(installed, standin, made, before)
    assert not {"shell", "exec_command", "write_stdin", "apply_patch", "view_image"} & set(request.tools)
    assert not [each for each in request.tools if "recollect" in each or "web_search" in each]
