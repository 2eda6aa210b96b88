"""Gemini CLI, run for real: what it kept is in the store once, and what we write is its own past."""

from __future__ import annotations

import json
import re

import pytest
from tests.clients import conversation
from tests.clients.asking import CATALOG
from tests.clients.clients import Machine, kill, wait_for
from tests.clients.conftest import Needs
from tests.clients.drivers import DRIVERS, Driver, Gemini
from tests.clients.remembered import ANSWERED, spent, told, unknown_types
from tests.clients.standin import Request, StandIn, text, thinking, use

pytestmark = pytest.mark.agents

_PRINTED = re.compile(r"Output: (\w+)")


@pytest.fixture
def gemini(machine: Machine, needs: Needs) -> Gemini:
    needs("gemini")
    driver = Gemini()
    driver.prepare(machine)
    return driver


def first_part(driver: Gemini, prompt: str) -> list[tuple[str, str, bool]]:
    made = [driver.shell(command)["input"] for command in conversation.COMMANDS]
    calls = [("CALL", json.dumps(given, separators=(",", ":")), False) for given in made]
    results = [("RESULT", conversation.PRINTED[0], False), ("RESULT", conversation.PRINTED[1], True)]
    return [
        ("PROMPT", prompt, False),
        ("IMAGE", "", False),
        ("THOUGHT", conversation.THOUGHTS[0], False),
        ("ANSWER", conversation.TEXTS[0], False),
        *(entry for pair in zip(calls, results, strict=True) for entry in pair),
        ("THOUGHT", conversation.THOUGHTS[1], False),
        ("ANSWER", conversation.TEXTS[1], False),
    ]


def kept(machine: Machine, session: str) -> list[tuple[str, str, bool]]:
    """As `told`, but of a result only what the command printed."""
    return [
        (kind, printed[1] if kind == "RESULT" and (printed := _PRINTED.search(text)) else text, failed)
        for kind, text, failed in told(machine, session)
    ]


def test_what_was_said_in_two_runs_is_in_the_store_once(
    gemini: Gemini, machine: Machine, standin: StandIn
) -> None:
    picture = machine.work / "red.png"
    picture.write_bytes(conversation.PICTURE)
    asked = conversation.first(gemini, standin)
    session = gemini.ask(machine, asked, image=picture)
    machine.recollect("ingest")
    begun = first_part(gemini, f"{asked} @{picture}")
    assert kept(machine, session) == begun
    assert spent(machine) == [ANSWERED] * 2

    again = conversation.second(standin)
    gemini.ask(machine, again, resume=session)
    for _ in range(2):
        machine.recollect("ingest")
        assert kept(machine, session) == [
            *begun,
            ("PROMPT", again, False),
            ("THOUGHT", conversation.THOUGHTS[2], False),
            ("ANSWER", conversation.TEXTS[2], False),
        ]
        assert spent(machine) == [ANSWERED] * 3
    assert unknown_types(machine) == []
    # Two files, where the second run was in another minute than the first.
    chats = {
        str(machine.home / name): data for name, data in gemini.files(machine).items() if "/chats/" in name
    }
    assert {path: data for path, data in machine.kept().items() if path in chats} == chats


def test_what_was_said_before_it_is_killed_is_there_and_it_goes_on_behind(
    gemini: Gemini, machine: Machine, standin: StandIn
) -> None:
    flag = machine.work / "running"
    asked = conversation.doomed(gemini, standin, flag)
    process = gemini.start(machine, asked)
    wait_for(flag.exists, "the call never ran")
    wait_for(
        lambda: not conversation.missing(gemini.files(machine), conversation.CUT_SHORT),
        "its files do not say what was said",
    )
    machine.recollect("ingest")
    kill(process)
    flag.unlink()
    machine.settle()
    machine.recollect("ingest")
    path = min((machine.home / ".gemini/tmp").glob("*/chats/*.jsonl"))
    session = json.loads(path.read_text().splitlines()[0])["sessionId"]
    _, thought, said = conversation.CUT_SHORT
    # It writes a call only with its result, so this one is in no file.
    before = [("PROMPT", asked, False), ("THOUGHT", thought, False), ("ANSWER", said, False)]
    assert kept(machine, session) == before
    assert spent(machine) == [ANSWERED]

    again = conversation.second(standin)
    gemini.ask(machine, again, resume=session)
    machine.recollect("ingest")
    assert kept(machine, session) == [
        *before,
        ("PROMPT", again, False),
        ("THOUGHT", conversation.THOUGHTS[2], False),
        ("ANSWER", conversation.TEXTS[2], False),
    ]
    assert spent(machine) == [ANSWERED] * 2


def test_a_subagent_and_a_result_that_is_too_long_are_whole(
    gemini: Gemini, machine: Machine, standin: StandIn
) -> None:
    agent = use("invoke_agent", agent_name="generalist", prompt="play:near Count the boats.")
    play = standin.script("lead", [gemini.shell("seq 1 20000")], [agent], [text("Counted.")])
    standin.script("near", [thinking("A boat."), gemini.shell("echo boat | tr a e")], [text("One boat.")])
    session = gemini.ask(machine, f"{play} Count.")
    machine.recollect("ingest")
    assert unknown_types(machine) == []
    found = told(machine, session)
    assert [kind for kind, _, _ in found].count("PROMPT") == 1
    assert any(kind == "RESULT" and "\n10000\n" in text for kind, text, _ in found)
    (path,) = (machine.home / ".gemini/tmp").glob("*/chats/*/*.jsonl")
    inside = told(machine, path.stem)
    # It is asked once more for its answer, by the client, as it said it without the tool for that.
    assert [kind for kind, _, _ in inside] == ["THOUGHT", "CALL", "RESULT", "ANSWER", "ANSWER"]
    assert spent(machine) == [ANSWERED] * 6


def test_its_hooks_capture_and_tell_and_it_asks_its_memory(
    gemini: Gemini, machine: Machine, standin: StandIn
) -> None:
    settings = machine.home / ".gemini/settings.json"
    before = settings.read_bytes()
    machine.recollect("init", "--yes", "--agent", "gemini")
    play = standin.script("hang", [text("Behind the blue curtain.")])
    prompt = f"{play} Where do the quinces hang?"
    session = gemini.ask(machine, prompt)
    machine.settle()
    assert kept(machine, session) == [
        ("PROMPT", prompt, False),
        ("ANSWER", "Behind the blue curtain.", False),
    ]

    play = standin.script("ask", [use("mcp_recollect_search_memory", query="quinces")], [text("I see.")])
    prompt = f"{play} And this year?"
    session = gemini.ask(machine, prompt)
    begun, answered = standin.asked("ask")
    assert CATALOG in begun.words.replace("&quot;", '"')
    assert "Behind the blue curtain." in "\n".join(answered.results.values())
    machine.settle()
    machine.recollect("ingest")
    assert [kind for kind, _, _ in kept(machine, session)] == ["PROMPT", "ANSWER"]
    assert kept(machine, session)[0][1] == prompt
    machine.recollect("init", "--remove", "--yes", "--agent", "gemini")
    assert settings.read_bytes() == before


def sent(request: Request) -> list[tuple[str, str]]:
    """The parts of a request, in order: what they are, and their words or the command of a call."""
    found = []
    for message in request.messages:
        for part in message["parts"]:
            if "functionCall" in part:
                found.append(("call", part["functionCall"]["args"]["command"]))
            elif "functionResponse" in part:
                found.append(("result", json.dumps(part["functionResponse"]["response"])))
            elif "text" in part:
                found.append((message["role"], part["text"]))
    return found


@pytest.mark.parametrize("origin", ["gemini", "copilot"])
def test_a_session_that_was_written_for_it_is_its_own_past(
    gemini: Gemini, machine: Machine, standin: StandIn, needs: Needs, origin: str
) -> None:
    needs(origin)
    had: Driver = DRIVERS[origin]
    had.prepare(machine)
    asked = conversation.first(had, standin)
    session = had.ask(machine, asked)
    machine.recollect("ingest")
    done = machine.recollect("resume", session, "--to", "gemini", "--json").json
    assert done["session_id"] != session

    play = standin.script("on", [text("I go on.")])
    assert gemini.ask(machine, f"{play} Go on.", resume=done["session_id"]) == done["session_id"]
    (request,) = standin.asked("on")
    (_, context), *past = sent(request)
    assert context.startswith("<session_context>")
    results = [(kind, text) for kind, text in past if kind == "result"]
    assert [kind for kind, _ in past] == [
        "user",
        "model",
        "call",
        "call",
        "result",
        "result",
        "model",
        "user",
    ]
    assert [text for kind, text in past if kind != "result"] == [  # thoughts the client keeps to itself
        asked,
        conversation.TEXTS[0],
        *conversation.COMMANDS,
        conversation.TEXTS[1],
        f"{play} Go on.",
    ]
    assert all(printed in text for printed, (_, text) in zip(conversation.PRINTED, results, strict=True))

    machine.recollect("ingest")
    assert unknown_types(machine) == []
    assert spent(machine) == [ANSWERED] * 3
    found = machine.recollect("search", "lantern lit", "--mode", "text", "--json").json
    assert len([hit for hit in found["hits"] if hit["kind"] == "answer"]) == 1
