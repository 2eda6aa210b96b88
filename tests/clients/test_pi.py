"""pi's conversations are remembered as they were had, and what is written for it is its own past."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.clients import conversation
from tests.clients.clients import Machine, binary, ended, kill, wait_for
from tests.clients.conftest import Needs
from tests.clients.drivers import DRIVERS, Driver
from tests.clients.remembered import (
    ANSWERED,
    doomed_told,
    first_told,
    kept,
    memory_of,
    remembered,
    second_told,
    spent,
)
from tests.clients.standin import StandIn, text
from tests.support import DATA

from recollect.values.records import Relation

pytestmark = pytest.mark.agents

OLD = "01a1e200-0000-7000-8000-00000000000c"


@pytest.fixture
def pi(machine: Machine, needs: Needs) -> Driver:
    needs("pi")
    driver = DRIVERS["pi"]
    driver.prepare(machine)
    return driver


def begun(pi: Driver, machine: Machine, standin: StandIn) -> str:
    picture = machine.work / "red.png"
    picture.write_bytes(conversation.PICTURE)
    return pi.ask(machine, conversation.first(pi, standin), image=picture)


def going_on(pi: Driver, machine: Machine, standin: StandIn, session: str) -> list[dict[str, Any]]:
    """Resume a session; what pi then asked the model, without the instructions and the new prompt."""
    name = f"on{len(standin.requests)}"
    play = standin.script(name, [text("I go on.")])
    assert pi.ask(machine, f"{play} Go on.", resume=session) == session
    (request,) = standin.asked(name)
    said = [each for each in request.messages if each["role"] not in ("system", "developer")]
    assert "Go on." in json.dumps(said.pop())
    return said


def test_a_conversation_is_remembered_once_in_order_and_nothing_else(
    pi: Driver, machine: Machine, standin: StandIn
) -> None:
    session = begun(pi, machine, standin)
    assert remembered(machine, session) == first_told()
    assert pi.ask(machine, conversation.second(standin), resume=session) == session
    assert remembered(machine, session) == [*first_told(), *second_told()]
    assert spent(machine) == [ANSWERED] * 3
    logs = {path: data for path, data in pi.files(machine).items() if path.endswith(".jsonl")}
    assert kept(machine) == logs
    with memory_of(machine) as memory:
        (listed,) = memory.sessions()
    assert (listed.facts.cwd, listed.facts.model) == (str(machine.work), "stand-in")


def test_a_conversation_killed_half_way_is_remembered_and_goes_on(
    pi: Driver, machine: Machine, standin: StandIn
) -> None:
    flag = machine.work / "running"
    process = pi.start(machine, conversation.doomed(pi, standin, flag))
    wait_for(flag.exists, "the call never ran")
    wait_for(
        lambda: not conversation.missing(pi.files(machine), conversation.CUT_SHORT), "it is not in its files"
    )
    command = str(pi.shell(f"touch {flag}; while [ -e {flag} ]; do sleep 0.1; done")["input"]["command"])
    (path,) = (machine.home / ".pi/agent/sessions").rglob("*.jsonl")
    session = path.stem.partition("_")[2]
    assert remembered(machine, session) == doomed_told(command)
    kill(process)
    flag.unlink()
    machine.settle()
    assert remembered(machine, session) == doomed_told(command)
    pi.ask(machine, conversation.second(standin), resume=session)
    assert remembered(machine, session) == [*doomed_told(command), *second_told()]
    assert spent(machine) == [ANSWERED] * 2


def test_a_fork_is_a_session_of_its_own_and_what_it_copied_is_there_once(
    pi: Driver, machine: Machine, standin: StandIn
) -> None:
    session = begun(pi, machine, standin)
    words = [str(binary("pi")), "--fork", session, *pi.words(conversation.second(standin), "", None)]
    ended(machine.start(words, pi.environment(machine.model)))
    fork = next(
        path.stem.partition("_")[2]
        for path in (machine.home / ".pi/agent/sessions").rglob("*.jsonl")
        if session not in path.name
    )
    assert remembered(machine, fork) == [*first_told(), *second_told()]
    assert remembered(machine, session) == first_told()
    assert spent(machine) == [ANSWERED] * 3
    with memory_of(machine) as memory, memory.view() as view:
        facts = view.find_session(fork).facts
    assert (facts.parent, facts.relation) == (session, Relation.FORK)


def test_a_file_of_version_1_that_it_rewrites_is_remembered_once(
    pi: Driver, machine: Machine, standin: StandIn
) -> None:
    folder = machine.home / ".pi/agent/sessions" / f"--{str(machine.work)[1:].replace('/', '-')}--"
    folder.mkdir(parents=True)
    (source,) = (DATA / "pi").rglob(f"*{OLD}.jsonl")
    file = folder / source.name
    shutil.copy(source, file)
    file.write_text(file.read_text().replace("/home/ada/harbor", str(machine.work)))
    before = remembered(machine, OLD)
    assert [told for _, told in before if "boats" in told]
    assert pi.ask(machine, conversation.second(standin), resume=OLD) == OLD
    assert '"version":3' in file.read_text(), "it was not rewritten"
    assert remembered(machine, OLD) == [*before, *second_told()]
    assert spent(machine) == sorted([(40, 8, 0, 0, 0, 0), (60, 9, 0, 0, 0, 0), ANSWERED])


def test_its_own_session_is_opened_as_it_was(pi: Driver, machine: Machine, standin: StandIn) -> None:
    """A copy of ours is to the model what the session itself is, thoughts and all."""
    session = begun(pi, machine, standin)
    machine.recollect("ingest")
    copy = machine.recollect("resume", session, "--to", "pi", "--json").json
    assert going_on(pi, machine, standin, copy["session_id"]) == going_on(pi, machine, standin, session)
    assert remembered(machine, copy["session_id"]) == [("PROMPT", "play:on2 Go on."), ("ANSWER", "I go on.")]


def test_another_agents_session_is_opened_whole(pi: Driver, machine: Machine, standin: StandIn) -> None:
    source = DATA / "claude/a1b2c3d4-1111-4aaa-8bbb-000000000001.jsonl"
    machine.recollect("ingest", str(source))
    copy = machine.recollect("resume", source.stem, "--to", "pi", "--json").json
    written = [json.loads(line) for line in Path(copy["path"]).read_text().splitlines()]
    said = [part for each in going_on(pi, machine, standin, copy["session_id"]) for part in _sent(each)]
    assert said == [part for each in written for part in _told(each)]
    assert {role for role, _ in said} == {"user", "assistant", "tool"}


def _told(record: dict[str, Any]) -> list[tuple[str, str]]:
    """What a record says, calls by their ids, pictures by their bytes, as OpenAI's API has it.

    A result is one text there, and its pictures come behind it, from the user.
    """
    message = record.get("message", record)
    blocks = message.get("content", ())
    words = [next(str(b[name]) for name in ("text", "thinking", "data", "id") if name in b) for b in blocks]
    if message.get("role") != "toolResult":
        return [("assistant" if message.get("role") == "assistant" else "user", each) for each in words]
    pictures = [each for each, block in zip(words, blocks, strict=True) if block["type"] == "image"]
    behind = ["Attached image(s) from tool result:", *pictures] if pictures else []
    texts = [each for each in words if each not in pictures]
    return [("tool", "\n".join(texts)), *(("user", each) for each in behind)]


def _sent(message: dict[str, Any]) -> list[tuple[str, str]]:
    content = message.get("content") or []
    parts = [{"text": content}] if isinstance(content, str) else content
    words = [part.get("text") or part["image_url"]["url"].partition(",")[2] for part in parts]
    calls = [call["id"] for call in message.get("tool_calls") or ()]
    return [(message["role"], each) for each in (*words, *calls)]
