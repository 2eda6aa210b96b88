"""A machine for each test: an empty home, a model that says what it is told, and no process left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.clients.clients import Machine, binary
from tests.clients.standin import StandIn

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
def machine(tmp_path: Path, standin: StandIn) -> Iterator[Machine]:
    """A home in which both clients talk to the stand-in and nothing of ours is installed."""
    made = Machine(tmp_path / "home", tmp_path / "harbor", standin.url)
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


@pytest.fixture
def claude() -> None:
    _needs("claude")


@pytest.fixture
def codex() -> None:
    _needs("codex")


def _needs(agent: str) -> None:
    if sys.platform != "linux":
        pytest.skip("what is left running is looked for in /proc")
    if binary(agent) is None:
        pytest.skip(f"{agent} is not installed where RECOLLECT_AGENTS points; `make test-agents` installs it")
