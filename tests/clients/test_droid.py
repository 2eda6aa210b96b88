"""Factory droid's conversations are remembered as they were had."""

from __future__ import annotations

import json

import pytest
from tests.clients import conversation
from tests.clients.clients import Machine, binary, ended, kill, wait_for
from tests.clients.conftest import Needs
from tests.clients.drivers import DRIVERS, Driver
from tests.clients.remembered import (
    COUNTED,
    doomed_told,
    first_told,
    kept,
    memory_of,
    remembered,
    second_told,
    spent,
)
from tests.clients.standin import StandIn

pytestmark = pytest.mark.agents


@pytest.fixture
def droid(machine: Machine, needs: Needs) -> Driver:
    needs("droid")
    driver = DRIVERS["droid"]
    driver.prepare(machine)
    return driver


def answered(count: int) -> list[tuple[int, ...]]:
    """What so many answers take together: it tells a session's total, and nothing of what was thought."""
    told = {"input": 600, "output": 50, "cache_read": 400}
    return [tuple(count * told.get(name, 0) for name in COUNTED)]


def test_a_conversation_is_remembered_once_in_order_and_nothing_else(
    droid: Driver, machine: Machine, standin: StandIn
) -> None:
    session = droid.ask(machine, conversation.first(droid, standin))
    assert remembered(machine, session) == first_told(shown=False)
    assert droid.ask(machine, conversation.second(standin), resume=session) == session
    assert remembered(machine, session) == [*first_told(shown=False), *second_told()]
    assert spent(machine) == answered(3)
    read = (f"{session}.jsonl", f"{session}.settings.json")
    assert kept(machine) == {path: data for path, data in droid.files(machine).items() if path.endswith(read)}
    with memory_of(machine) as memory:
        (listed,) = memory.sessions()
    assert listed.facts.cwd == str(machine.work)
    assert "stand-in" in listed.facts.model


def test_a_conversation_killed_half_way_is_remembered_and_goes_on(
    droid: Driver, machine: Machine, standin: StandIn
) -> None:
    flag = machine.work / "running"
    process = droid.start(machine, conversation.doomed(droid, standin, flag))
    wait_for(flag.exists, "the call never ran")
    wait_for(
        lambda: not conversation.missing(droid.files(machine), conversation.CUT_SHORT),
        "it is not in its files",
    )
    command = str(droid.shell(f"touch {flag}; while [ -e {flag} ]; do sleep 0.1; done")["input"]["command"])
    (path,) = (machine.home / ".factory/sessions").rglob("*.jsonl")
    assert remembered(machine, path.stem) == doomed_told(command)
    kill(process)
    flag.unlink()
    machine.settle()
    assert remembered(machine, path.stem) == doomed_told(command)


def test_a_title_that_it_writes_in_place_is_taken_and_nothing_is_there_twice(
    droid: Driver, machine: Machine, standin: StandIn
) -> None:
    """As the client itself does it: the first line anew, the others as they are."""
    session = droid.ask(machine, conversation.first(droid, standin))
    before = remembered(machine, session)
    (path,) = (machine.home / ".factory/sessions").rglob("*.jsonl")
    first, *others = path.read_text().split("\n")
    path.write_text("\n".join([json.dumps({**json.loads(first), "title": "The lantern"}), *others]))
    assert remembered(machine, session) == before
    assert droid.ask(machine, conversation.second(standin), resume=session) == session
    assert remembered(machine, session) == [*before, *second_told()]
    with memory_of(machine) as memory:
        (listed,) = memory.sessions()
    assert listed.facts.title == "The lantern"


def test_it_knows_our_server_once_it_was_told_of_it_and_is_left_as_it_was(
    droid: Driver, machine: Machine
) -> None:
    path = machine.home / ".factory/mcp.json"
    machine.recollect("init", "--yes", "--agent", "droid", "--no-ingest")
    words = [str(binary("droid")), "mcp", "list"]
    assert "recollect" in ended(machine.start(words, droid.environment(machine.model))).out
    machine.recollect("init", "--remove", "--yes", "--agent", "droid")
    assert not path.exists() or "recollect" not in path.read_text()
