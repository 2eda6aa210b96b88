"""Cline's conversations are remembered as they were had, while it runs and after it was killed."""

from __future__ import annotations

import json
from collections.abc import Iterator

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
from tests.clients.standin import StandIn, text, use

pytestmark = pytest.mark.agents

COUNTED = (*ANSWERED[:5], 0)  # it does not tell what was spent on thinking


@pytest.fixture
def cline(machine: Machine, needs: Needs) -> Iterator[Driver]:
    needs("cline")
    driver = DRIVERS["cline"]
    driver.prepare(machine)
    yield driver
    driver.stop(machine)


def in_lists(told: list[Told]) -> list[Told]:
    """Its shell takes a list of commands."""
    return [
        (kind, json.dumps({"commands": [said]}, separators=(",", ":")) if kind == "CALL" else said)
        for kind, said in told
    ]


def begun(cline: Driver, machine: Machine, standin: StandIn) -> str:
    picture = machine.work / "red.png"
    picture.write_bytes(conversation.PICTURE)
    return cline.ask(machine, conversation.first(cline, standin), image=picture)


def had() -> list[Told]:
    """The first part of the conversation: it names a picture behind the prompt it was given with."""
    return in_lists(first_told(f"play:first {conversation.FIRST} [image: red.png]"))


def test_a_conversation_is_remembered_once_in_order_and_nothing_else(
    cline: Driver, machine: Machine, standin: StandIn
) -> None:
    session = begun(cline, machine, standin)
    assert remembered(machine, session) == had()
    cline.ask(machine, conversation.second(standin), resume=session)
    assert remembered(machine, session) == [*had(), *second_told()], "it saved all of it again"
    assert spent(machine) == [COUNTED] * 3
    with memory_of(machine) as memory:
        (listed,) = memory.sessions()
    assert (listed.facts.cwd, listed.facts.model) == (str(machine.work), "stand-in")
    newest = {name: data for name, data in cline.files(machine).items() if name.endswith(".messages.json")}
    assert {name: kept(machine)[name] for name in newest} == newest


def test_the_session_itself_says_the_same_of_its_tokens(
    cline: Driver, machine: Machine, standin: StandIn
) -> None:
    """Its input has what the cache held in it."""
    session = begun(cline, machine, standin)
    remembered(machine, session)
    path = machine.home / f".cline/data/sessions/{session}/{session}.json"
    total = json.loads(path.read_bytes())["metadata"]["usage"]
    fresh, output, read, written, _, _ = (sum(column) for column in zip(*spent(machine), strict=True))
    assert [fresh + read + written, output, read, written] == [
        total[name] for name in ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    ]


def test_a_conversation_that_runs_is_read_and_one_that_is_killed_stays(
    cline: Driver, machine: Machine, standin: StandIn
) -> None:
    flag = machine.work / "running"
    process = cline.start(machine, conversation.doomed(cline, standin, flag))
    wait_for(flag.exists, "the call never ran")
    wait_for(
        lambda: not conversation.missing(cline.files(machine), conversation.CUT_SHORT),
        "it is not in its files",
    )
    machine.recollect("ingest")
    with memory_of(machine) as memory:
        (listed,) = memory.sessions()
    session = listed.facts.id
    told = in_lists(doomed_told(f"touch {flag}; while [ -e {flag} ]; do sleep 0.1; done"))
    wait_for(lambda: remembered(machine, session) == told, "not all of it is in its document")
    kill(process)
    flag.unlink()
    cline.stop(machine)
    assert remembered(machine, session) == told


def test_a_subagent_is_a_session_of_its_own(cline: Driver, machine: Machine, standin: StandIn) -> None:
    near = standin.script("near", [text("One boat.")])
    task = {"systemPrompt": "You count.", "task": f"{near} Count the boats."}
    more = standin.script("more", [use("spawn_agent", **task)], [text("Counted.")])
    session = cline.ask(machine, f"{more} Send one.")
    remembered(machine, session)
    with memory_of(machine) as memory, memory.view() as view:
        (sent,) = [each for each in view.sessions() if each.facts.parent == session]
        said = [each.entry for each in view.entries(sent)]
    assert [entry.text for entry in said] == [f"{near} Count the boats.", "One boat."]
    assert not said[0].is_said
    assert sent.facts.cwd == str(machine.work)
    assert spent(machine) == [COUNTED] * 3


def test_its_settings_start_our_server(cline: Driver, machine: Machine, standin: StandIn) -> None:
    machine.recollect("ingest")
    machine.recollect("init", "--yes", "--agent", "cline", "--no-ingest")
    cline.ask(machine, f"{standin.script('quiet', [text('So be it.')])} Say nothing.")
    offered = {name for request in standin.requests for name in request.tools}
    assert "recollect__search_memory" in offered
