"""Qwen Code's conversations are remembered as they were had; hooks and server reach it; what is
written for it is its own past.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.clients import conversation
from tests.clients.clients import Machine, kill, wait_for
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

pytestmark = pytest.mark.agents


@pytest.fixture
def qwen(machine: Machine, needs: Needs) -> Driver:
    needs("qwen")
    driver = DRIVERS["qwen"]
    driver.prepare(machine)
    return driver


def begun(qwen: Driver, machine: Machine, standin: StandIn) -> str:
    picture = machine.work / "red.png"
    picture.write_bytes(conversation.PICTURE)
    return qwen.ask(machine, conversation.first(qwen, standin), image=picture)


def transcripts(qwen: Driver, machine: Machine) -> dict[str, bytes]:
    files = qwen.files(machine).items()
    return {path: data for path, data in files if "/chats/" in path and path.endswith(".jsonl")}


def test_a_conversation_is_remembered_once_in_order_and_nothing_else(
    qwen: Driver, machine: Machine, standin: StandIn
) -> None:
    session = begun(qwen, machine, standin)
    # Now and then it loses what a command printed: what it told the model is what counts.
    results = list(standin.asked("first")[1].results.values())
    first = first_told(f"play:first {conversation.FIRST} @{machine.work / 'red.png'}", results)
    assert remembered(machine, session) == first
    assert spent(machine) == [ANSWERED] * 2
    assert qwen.ask(machine, conversation.second(standin), resume=session) == session
    assert remembered(machine, session) == [*first, *second_told()]
    # It asked for its own memory besides, and notes that in the transcript.
    own = sum("managed-" in line for line in _lines(qwen, machine) if "api_response" in line)
    assert spent(machine) == [ANSWERED] * (3 + own)
    assert kept(machine) == transcripts(qwen, machine)
    with memory_of(machine) as memory:
        (listed,) = memory.sessions()
    assert (listed.facts.cwd, listed.facts.version) == (str(machine.work), "0.24.4")


def test_a_conversation_killed_half_way_is_remembered_and_goes_on(
    qwen: Driver, machine: Machine, standin: StandIn
) -> None:
    flag = machine.work / "running"
    process = qwen.start(machine, conversation.doomed(qwen, standin, flag))
    wait_for(flag.exists, "the call never ran")
    wait_for(
        lambda: not conversation.missing(qwen.files(machine), conversation.CUT_SHORT),
        "it is not in its files",
    )
    command = str(qwen.shell(f"touch {flag}; while [ -e {flag} ]; do sleep 0.1; done")["input"]["command"])
    (path,) = transcripts(qwen, machine)
    session = path.rpartition("/")[2].removesuffix(".jsonl")
    assert remembered(machine, session) == doomed_told(command)
    kill(process)
    flag.unlink()
    machine.settle()
    assert remembered(machine, session) == doomed_told(command)
    qwen.ask(machine, conversation.second(standin), resume=session)
    told = remembered(machine, session)
    assert told[:4] == doomed_told(command)
    assert told[-3:] == second_told()
    assert kept(machine) == transcripts(qwen, machine)


def test_hooks_keep_a_conversation_and_a_new_one_is_told_of_it(
    qwen: Driver, machine: Machine, standin: StandIn
) -> None:
    """Nobody runs `ingest` here."""
    (machine.home / ".qwen").mkdir(exist_ok=True)
    machine.recollect("init", "--yes", "--agent", "qwen")
    machine.settle()
    # What a hook had no time for, and what is noted after the last one, is taken by whatever looks next:
    # but only of sessions that a hook left word of.
    begun(qwen, machine, standin)
    machine.settle()
    machine.recollect("sessions")
    assert kept(machine) == transcripts(qwen, machine)
    qwen.ask(machine, conversation.second(standin))
    machine.settle()
    machine.recollect("sessions")
    assert kept(machine) == transcripts(qwen, machine)
    # Asked with -p it tells no hook of a conversation's end: what was said is told one conversation later.
    qwen.ask(machine, f"{standin.script('third', [text('Here.')])} Who is there?")
    (request,) = standin.asked("third")
    told = json.dumps(request.body)
    assert "SessionStart additional context" in told
    assert conversation.FIRST in told
    assert "mcp__recollect__search_memory" in told


def going_on(qwen: Driver, machine: Machine, standin: StandIn, session: str) -> list[dict[str, Any]]:
    """Resume a session; what the model was then asked, without the harness's words and the new prompt."""
    name = f"on{len(standin.requests)}"
    play = standin.script(name, [text("I go on.")])
    assert qwen.ask(machine, f"{play} Go on.", resume=session) == session
    (request,) = standin.asked(name)
    said = [each for each in request.messages if each["role"] != "system" and _words(each)]
    assert "Go on." in "".join(_words(said.pop()))
    return said


def test_its_own_session_is_opened_as_it_was(qwen: Driver, machine: Machine, standin: StandIn) -> None:
    """A copy of ours is to the model what the session itself is."""
    session = begun(qwen, machine, standin)
    machine.recollect("ingest")
    copy = machine.recollect("resume", session, "--to", "qwen", "--json").json
    said = going_on(qwen, machine, standin, copy["session_id"])
    # What it gave one part each comes back in one message, joined or not.
    assert _all_words(said) == _all_words(going_on(qwen, machine, standin, session))
    assert conversation.TEXTS[1] in _all_words(said)
    assert remembered(machine, copy["session_id"])[-1] == ("ANSWER", "I go on.")
    assert len(remembered(machine, copy["session_id"])) == 2


def test_another_agents_session_is_opened_whole(qwen: Driver, machine: Machine, standin: StandIn) -> None:
    source = DATA / "claude/a1b2c3d4-1111-4aaa-8bbb-000000000001.jsonl"
    machine.recollect("ingest", str(source))
    copy = machine.recollect("resume", source.stem, "--to", "qwen", "--json").json
    records = [json.loads(line) for line in Path(copy["path"]).read_text().splitlines()]
    said = _all_words(going_on(qwen, machine, standin, copy["session_id"]))
    told = [
        word for each in records for part in each.get("message", {}).get("parts", ()) for word in _told(part)
    ]
    assert len(told) > 10
    at = 0
    for word in told:
        assert word in said[at:], word
        at = said.index(word, at)


def _told(part: dict[str, Any]) -> list[str]:
    """What a part of a transcript says, calls and results by their ids too."""
    if call := part.get("functionCall"):
        return [call["id"]]
    if given := part.get("functionResponse"):
        return [*(word for word in given["response"].values() if word), given["id"]]
    return [] if part.get("thought") or "text" not in part else [part["text"]]


def _words(message: dict[str, Any]) -> list[str]:
    """What a message says, without what the harness tells each conversation anew."""
    content = message.get("content") or []
    parts = [{"text": content}] if isinstance(content, str) else content
    words = [part.get("text") or str(part.get("image_url", {}).get("url", "")) for part in parts]
    words += [call["id"] for call in message.get("tool_calls") or ()]
    words += [message["tool_call_id"]] if "tool_call_id" in message else []
    return [each for each in words if each and not each.startswith("<system-reminder>")]


def _all_words(messages: list[dict[str, Any]]) -> str:
    return "\n".join(word for message in messages for word in _words(message))


def _lines(qwen: Driver, machine: Machine) -> list[str]:
    return [line for data in transcripts(qwen, machine).values() for line in data.decode().splitlines()]
