"""Conversations of Claude Code, both versions, and of Codex are remembered as they were had."""

from __future__ import annotations

import json

import pytest
from tests.clients import conversation
from tests.clients.clients import Machine, kill, wait_for
from tests.clients.conftest import Needs
from tests.clients.drivers import DRIVERS, Driver
from tests.clients.remembered import (
    ANSWERED,
    Told,
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

OF_CLAUDE = (100, 40, 300, 0, 0, 0)  # what an answer takes
# What Claude Code says itself when it finds a call without a result.
_HARNESS = ("[Tool call interrupted", "No response requested.")


@pytest.fixture(params=["claude", "claude-newest", "codex"])
def driver(request: pytest.FixtureRequest, machine: Machine, needs: Needs) -> Driver:
    needs(request.param)
    driver = DRIVERS[request.param]
    driver.prepare(machine)
    return driver


def answers(driver: Driver, count: int) -> list[tuple[int, ...]]:
    return [ANSWERED if driver.name == "codex" else OF_CLAUDE] * count


def in_words(driver: Driver, told: list[Told]) -> list[Told]:
    """The calls as the client writes them: of Codex, all that its shell is given."""
    if driver.name != "codex":
        return told
    return [
        (kind, json.dumps(driver.shell(said)["input"]) if kind == "CALL" else said) for kind, said in told
    ]


def test_a_conversation_is_remembered_once_in_order_and_nothing_else(
    driver: Driver, machine: Machine, standin: StandIn
) -> None:
    picture = machine.work / "red.png"
    picture.write_bytes(conversation.PICTURE)
    asked = conversation.first(driver, standin)
    session = driver.ask(machine, asked, image=picture)
    first = in_words(driver, first_told(asked if driver.name == "codex" else f"{asked} @{picture}"))
    assert remembered(machine, session) == first
    assert driver.ask(machine, conversation.second(standin), resume=session) == session
    assert remembered(machine, session) == [*first, *second_told()]
    assert spent(machine) == answers(driver, 3)
    assert {path: data for path, data in kept(machine).items() if path.endswith(".jsonl")} == {
        path: data for path, data in driver.files(machine).items() if path.endswith(".jsonl")
    }
    with memory_of(machine) as memory:
        (listed,) = memory.sessions()
    assert listed.facts.cwd == str(machine.work)


def test_a_conversation_killed_half_way_is_remembered_and_goes_on(
    driver: Driver, machine: Machine, standin: StandIn
) -> None:
    flag = machine.work / "running"
    process = driver.start(machine, conversation.doomed(driver, standin, flag))
    wait_for(flag.exists, "the call never ran")
    wait_for(
        lambda: not conversation.missing(driver.files(machine), conversation.CUT_SHORT),
        "it is not in its files",
    )
    told = in_words(driver, doomed_told(f"touch {flag}; while [ -e {flag} ]; do sleep 0.1; done"))
    (path,) = driver.files(machine)
    session = path.removesuffix(".jsonl")[-36:]
    wait_for(lambda: remembered(machine, session) == told, "not all of it is in its log")
    kill(process)
    flag.unlink()
    machine.settle()
    assert remembered(machine, session) == told
    driver.ask(machine, conversation.second(standin), resume=session)
    after = [each for each in remembered(machine, session) if not each[1].startswith(_HARNESS)]
    assert after == [*told, *second_told()]
    assert spent(machine) == answers(driver, 2)
