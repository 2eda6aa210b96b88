"""A machine for each test: an empty home, a model that says what it is told, and no process left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.clients.clients import Machine, binary
from tests.clients.standin import StandIn
from tools.clients import trouble

_CODEX_SETTINGS = """\
# Which model answers, set by hand.
model = "gpt-5"
model_provider = "local"

[model_providers.local]
name = "local"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
"""


@pytest.fixture
def standin() -> Iterator[StandIn]:
    with StandIn() as standin:
        yield standin
    assert not standin.troubles


@pytest.fixture
def claude_client() -> str:
    """The version of Claude Code that is run; `parametrize` with `CLAUDES` gives both."""
    return "claude"


@pytest.fixture
def machine(tmp_path: Path, standin: StandIn, claude_client: str) -> Iterator[Machine]:
    """A home in which both clients talk to the stand-in and nothing of ours is installed."""
    made = Machine(tmp_path / "home", tmp_path / "harbor", standin.url, claude_client)
    for folder in (made.home / ".claude", made.home / ".codex", made.work):
        folder.mkdir(parents=True)
    (made.home / ".codex/config.toml").write_text(_CODEX_SETTINGS.format(url=standin.url))
    yield made
    try:
        made.settle()
    finally:
        for process in made.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


@pytest.fixture
def installed(machine: Machine) -> Machine:
    """The same after `recollect init --yes`."""
    machine.recollect("init", "--yes")
    machine.settle()
    return machine


Needs = Callable[[str], None]


@pytest.fixture
def needs(record_property: Callable[[str, object], None]) -> Needs:
    """Skip without a client; with it, the test tells of that client."""

    def needs(agent: str) -> None:
        record_property("agent", agent.removesuffix("-newest"))
        if sys.platform != "linux":
            pytest.skip("what is left running is looked for in /proc")
        if binary(agent) is None:
            folder = os.environ.get("RECOLLECT_AGENTS")
            why = trouble(Path(folder), agent) if folder else "`make test-agents` installs it"
            pytest.skip(f"no {agent}: {why}")

    return needs


@pytest.fixture
def claude(needs: Needs, claude_client: str) -> None:
    needs(claude_client)


@pytest.fixture
def codex(needs: Needs) -> None:
    needs("codex")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many agents were proven: each test that is about one passed, and there was one."""
    outcomes: dict[str, set[str]] = {}
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.getreports(outcome):
            for agent in (value for name, value in report.user_properties if name == "agent"):
                outcomes.setdefault(str(agent), set()).add(outcome)
    if outcomes:
        proven = sorted(agent for agent, found in outcomes.items() if found == {"passed"})
        terminalreporter.write_line(
            f"{len(proven)} of {len(outcomes)} agents proven with their clients: {', '.join(proven)}"
        )
