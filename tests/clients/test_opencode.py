"""OpenCode's conversations are remembered as they were had, while it runs and after it was killed."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.clients import conversation
from tests.clients.clients import Machine, binary, ended, kill, wait_for
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


@pytest.fixture
def opencode(machine: Machine, needs: Needs) -> Iterator[Driver]:
    needs("opencode")
    driver = DRIVERS["opencode"]
    driver.prepare(machine)
    yield driver
    driver.stop(machine)


def quoted(told: list[Told]) -> list[Told]:
    """Its command line puts a prompt of several words into quotes before it sends it."""
    return [(kind, f'"{text}"' if kind == "PROMPT" else text) for kind, text in told]


def as_parts(told: list[Told]) -> list[Told]:
    """A file stands before the prompt it was given with; a call and its result are one part."""
    prompt, picture, *others = quoted(told)
    calls = [each for each in others if each[0] == "CALL"]
    results = [each for each in others if each[0].startswith("RESULT")]
    at = others.index(calls[0])
    pairs = [each for pair in zip(calls, results, strict=True) for each in pair]
    return [picture, prompt, *others[:at], *pairs, *others[at + len(pairs) :]]


def begun(opencode: Driver, machine: Machine, standin: StandIn) -> str:
    picture = machine.work / "red.png"
    picture.write_bytes(conversation.PICTURE)
    return opencode.ask(machine, conversation.first(opencode, standin), image=picture)


def test_a_conversation_is_remembered_once_in_order_and_nothing_else(
    opencode: Driver, machine: Machine, standin: StandIn
) -> None:
    session = begun(opencode, machine, standin)
    assert remembered(machine, session) == as_parts(first_told())
    assert opencode.ask(machine, conversation.second(standin), resume=session) == session
    assert remembered(machine, session) == [*as_parts(first_told()), *quoted(second_told())]
    assert spent(machine) == [ANSWERED] * 3
    with memory_of(machine) as memory:
        (listed,) = memory.sessions()
    assert (listed.facts.cwd, listed.facts.model) == (str(machine.work), "stand-in")


def test_the_session_itself_says_the_same_of_its_tokens(
    opencode: Driver, machine: Machine, standin: StandIn
) -> None:
    session = begun(opencode, machine, standin)
    remembered(machine, session)
    (lines,) = kept(machine).values()
    rows = [json.loads(line) for line in lines.splitlines()]
    last = [each["row"] for each in rows if each["table"] == "session"][-1]
    counted = [sum(column) for column in zip(*spent(machine), strict=True)]
    assert counted == [
        last["tokens_input"],
        last["tokens_output"] + last["tokens_reasoning"],
        last["tokens_cache_read"],
        last["tokens_cache_write"],
        0,
        last["tokens_reasoning"],
    ]


def test_a_conversation_that_runs_is_read_and_one_that_is_killed_goes_on(
    opencode: Driver, machine: Machine, standin: StandIn
) -> None:
    flag = machine.work / "running"
    process = opencode.start(machine, conversation.doomed(opencode, standin, flag))
    wait_for(flag.exists, "the call never ran")
    wait_for(
        lambda: not conversation.missing(opencode.files(machine), conversation.CUT_SHORT),
        "it is not in its files",
    )
    machine.recollect("ingest")
    with memory_of(machine) as memory:
        (listed,) = memory.sessions()
    session = listed.facts.id
    shell = opencode.shell(f"touch {flag}; while [ -e {flag} ]; do sleep 0.1; done")
    told = quoted(doomed_told(str(shell["input"]["command"])))
    wait_for(lambda: remembered(machine, session) == told, "not all of it is in its database")
    before = opencode.files(machine)
    remembered(machine, session)
    assert opencode.files(machine).keys() == before.keys(), "reading leaves no file behind"
    kill(process)
    flag.unlink()
    machine.settle()
    assert remembered(machine, session) == told
    opencode.ask(machine, conversation.second(standin), resume=session)
    after = remembered(machine, session)
    assert [each for each in after if each[0] != "RESULT, failed"] == [*told, *quoted(second_told())]


def test_an_exported_session_is_the_same_conversation(
    opencode: Driver, machine: Machine, standin: StandIn
) -> None:
    session = begun(opencode, machine, standin)
    words = [str(binary("opencode")), "export", session]
    told = ended(machine.start(words, opencode.environment(machine.model))).out
    exported = machine.home / "exported.json"
    exported.write_text(told[told.index("{") :])
    machine.recollect("--store", str(machine.home / "other.h5"), "ingest", str(exported))
    shown = machine.recollect("--store", str(machine.home / "other.h5"), "show", session, "--json").json
    texts = [entry["text"] for entry in shown["entries"] if entry["kind"] in ("prompt", "answer", "thought")]
    assert texts == [
        f'"play:first {conversation.FIRST}"',
        conversation.THOUGHTS[0],
        conversation.TEXTS[0],
        conversation.THOUGHTS[1],
        conversation.TEXTS[1],
    ]
