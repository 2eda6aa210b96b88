"""OpenCode's conversations are remembered as they were had, while it runs and after it was killed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
from tests.clients.standin import StandIn, text, use
from tests.support import DATA

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


def taken(opencode: Driver, machine: Machine, copy: dict[str, str]) -> str:
    """A document of ours, handed to the client as we tell people to; the session it then has."""
    words = [str(binary("opencode")), "import", copy["path"]]
    assert f"opencode import {copy['path']} &&" in copy["command"]
    assert copy["session_id"] in ended(machine.start(words, opencode.environment(machine.model))).out
    return copy["session_id"]


def going_on(opencode: Driver, machine: Machine, standin: StandIn, session: str) -> list[dict[str, Any]]:
    """Resume a session; what it then asked the model, without the instructions and the new prompt."""
    name = f"on{len(standin.requests)}"
    assert (
        opencode.ask(machine, f"{standin.script(name, [text('I go on.')])} Go on.", resume=session) == session
    )
    (request,) = standin.asked(name)
    said = [each for each in request.messages if each["role"] not in ("system", "developer")]
    assert "Go on." in json.dumps(said.pop())
    return said


def test_its_own_session_is_opened_as_it_was(opencode: Driver, machine: Machine, standin: StandIn) -> None:
    """A copy of ours is to the model what the session itself is."""
    session = begun(opencode, machine, standin)
    machine.recollect("ingest")
    copy = machine.recollect("resume", session, "--to", "opencode", "--json").json
    there = going_on(opencode, machine, standin, taken(opencode, machine, copy))
    told = [_sent(each) for each in there]
    assert told == [_sent(each) for each in going_on(opencode, machine, standin, session)]
    went_on = remembered(machine, copy["session_id"])
    assert [each for each in went_on if each[0] in ("PROMPT", "ANSWER")][-1:] == [("ANSWER", "I go on.")]
    assert len(went_on) == 2, "what was copied is not told a second time"


def test_another_agents_session_is_opened_whole(opencode: Driver, machine: Machine, standin: StandIn) -> None:
    source = DATA / "claude/a1b2c3d4-1111-4aaa-8bbb-000000000001.jsonl"
    machine.recollect("ingest", str(source))
    copy = machine.recollect("resume", source.stem, "--to", "opencode", "--json").json
    written = json.loads(Path(copy["path"]).read_text())["messages"]
    texts = [part["text"] for each in written for part in each["parts"] if part["type"] == "text"]
    calls = [part["callID"] for each in written for part in each["parts"] if part["type"] == "tool"]
    assert texts
    assert calls
    sent = going_on(opencode, machine, standin, taken(opencode, machine, copy))
    said = [words for each in sent for words in _words(each)]
    assert [words for words in texts if words not in said] == []
    assert [call["id"] for each in sent for call in each.get("tool_calls") or ()] == calls


def _words(message: dict[str, Any]) -> list[str]:
    content = message.get("content") or []
    parts = [{"text": content}] if isinstance(content, str) else content
    return [part["text"] for part in parts if "text" in part]


def _sent(message: dict[str, Any]) -> tuple[str, str, list[str]]:
    calls = [call["function"]["arguments"] for call in message.get("tool_calls") or ()]
    return message["role"], json.dumps(message.get("content"), ensure_ascii=False), calls


def test_it_asks_its_memory_and_what_it_was_told_is_not_remembered_again(
    opencode: Driver, machine: Machine, standin: StandIn
) -> None:
    begun(opencode, machine, standin)
    settings = machine.home / ".config/opencode/opencode.json"
    before = settings.read_bytes()
    machine.recollect("init", "--yes", "--agent", "opencode")
    call = use("recollect_search_memory", query="gulls or lanterns")
    play = standin.script("asks", [call], [text("So it was.")])
    session = opencode.ask(machine, f"{play} What was lit?")
    _, answered = standin.asked("asks")
    assert any("<recollect-memory" in each for each in answered.results.values())
    assert remembered(machine, session) == [("PROMPT", '"play:asks What was lit?"'), ("ANSWER", "So it was.")]
    machine.recollect("init", "--remove", "--yes", "--agent", "opencode")
    assert settings.read_bytes() == before


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
