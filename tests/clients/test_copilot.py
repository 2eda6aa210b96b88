"""Copilot CLI, run for real: what it kept of a conversation is in the store once, and nothing else is."""

from __future__ import annotations

import json

import pytest
from tests.clients import conversation
from tests.clients.asking import CATALOG
from tests.clients.clients import Machine, kill, wait_for
from tests.clients.conftest import Needs
from tests.clients.drivers import Copilot
from tests.clients.remembered import ANSWERED, spent, told, unknown_types
from tests.clients.standin import StandIn, text, use

pytestmark = pytest.mark.agents


@pytest.fixture
def copilot(machine: Machine, needs: Needs) -> Copilot:
    needs("copilot")
    driver = Copilot()
    driver.prepare(machine)
    (machine.home / ".copilot").mkdir()
    return driver


def calls_of(driver: Copilot) -> list[tuple[str, str, bool]]:
    made = [driver.shell(command)["input"] for command in conversation.COMMANDS]
    return [("CALL", json.dumps(given, separators=(",", ":")), False) for given in made]


def first_part(driver: Copilot, prompt: str) -> list[tuple[str, str, bool]]:
    return [
        ("PROMPT", prompt, False),
        ("IMAGE", "", False),
        ("THOUGHT", conversation.THOUGHTS[0], False),
        ("ANSWER", conversation.TEXTS[0], False),
        *calls_of(driver),
        ("RESULT", conversation.PRINTED[1], True),
        ("RESULT", conversation.PRINTED[0], False),
        ("THOUGHT", conversation.THOUGHTS[1], False),
        ("ANSWER", conversation.TEXTS[1], False),
    ]


def kept(machine: Machine, session: str) -> list[tuple[str, str, bool]]:
    """As `told`, without the line in which the client says how a command ended; the failed result first."""
    found = [
        (kind, text.partition("\n<shellId:")[0] if kind == "RESULT" else text, failed)
        for kind, text, failed in told(machine, session)
    ]
    at = [n for n, (kind, _, _) in enumerate(found) if kind == "RESULT"]
    results = sorted((found[n] for n in at), key=lambda result: not result[2])
    for n, result in zip(at, results, strict=True):  # two calls at once come back in any order
        found[n] = result
    return found


def test_what_was_said_in_two_runs_is_in_the_store_once(
    copilot: Copilot, machine: Machine, standin: StandIn
) -> None:
    picture = machine.work / "red.png"
    picture.write_bytes(conversation.PICTURE)
    asked = conversation.first(copilot, standin)
    session = copilot.ask(machine, asked, image=picture)
    machine.recollect("ingest")
    begun = first_part(copilot, asked)
    assert kept(machine, session) == begun
    assert spent(machine) == [ANSWERED] * 2

    again = conversation.second(standin)
    copilot.ask(machine, again, resume=session)
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
    (events,) = (data for name, data in copilot.files(machine).items() if name.endswith("events.jsonl"))
    assert machine.exported(session) == events


def test_what_was_said_before_it_is_killed_is_there_and_it_goes_on_behind(
    copilot: Copilot, machine: Machine, standin: StandIn
) -> None:
    flag = machine.work / "running"
    asked = conversation.doomed(copilot, standin, flag)
    process = copilot.start(machine, asked)
    wait_for(flag.exists, "the call never ran")
    wait_for(
        lambda: not conversation.missing(copilot.files(machine), conversation.CUT_SHORT),
        "its files do not say what was said",
    )
    machine.recollect("ingest")
    kill(process)
    flag.unlink()
    machine.settle()
    machine.recollect("ingest")
    (path,) = (machine.home / ".copilot/session-state").glob("*/events.jsonl")
    session = path.parent.name
    before = [(kind, text) for kind, text, _ in told(machine, session)]
    _, thought, said = conversation.CUT_SHORT
    assert before[:3] == [("PROMPT", asked), ("THOUGHT", thought), ("ANSWER", said)]
    assert [kind for kind, _ in before[3:]] == ["CALL"]
    assert spent(machine) == [ANSWERED]

    again = conversation.second(standin)
    copilot.ask(machine, again, resume=session)
    machine.recollect("ingest")
    after = [(kind, text) for kind, text, _ in told(machine, session)]
    assert after[: len(before)] == before
    assert [each for each in after[len(before) :] if each[0] != "RESULT"] == [
        ("PROMPT", again),
        ("THOUGHT", conversation.THOUGHTS[2]),
        ("ANSWER", conversation.TEXTS[2]),
    ]
    assert spent(machine) == [ANSWERED] * 2
    assert unknown_types(machine) == []


def test_a_subagent_and_a_compaction_leave_nothing_unknown(
    copilot: Copilot, machine: Machine, standin: StandIn
) -> None:
    task = use("task", description="count", prompt="play:count Count them.", agent_type="general-purpose")
    task["input"]["name"] = "counter"
    play = standin.script("lead", [task], [text("Both are back.")])
    standin.script("count", [copilot.shell("echo one")], [text("There is one.")])
    session = copilot.ask(machine, f"{play} Let it count.")
    copilot.ask(machine, "/compact", resume=session)
    machine.recollect("ingest")
    assert unknown_types(machine) == []
    found = [(kind, text) for kind, text, _ in told(machine, session)]
    assert found.count(("ANSWER", "There is one.")) == 1
    assert found.count(("PROMPT", f"{play} Let it count.")) == 1
    assert [kind for kind, _ in found].count("PROMPT") == 1
    assert spent(machine) == [(*ANSWERED[:5], 0)] + [ANSWERED] * 4  # a summary's thoughts are not told


def test_its_hooks_capture_and_tell_and_it_asks_its_memory(
    copilot: Copilot, machine: Machine, standin: StandIn
) -> None:
    machine.recollect("init", "--yes", "--agent", "copilot")
    play = standin.script("hang", [text("Behind the blue curtain.")])
    session = copilot.ask(machine, f"{play} Where do the quinces hang?")
    machine.settle()
    assert [kind for kind, _, _ in told(machine, session)] == ["PROMPT", "ANSWER"]

    play = standin.script("ask", [use("recollect-search_memory", query="quinces")], [text("I see.")])
    copilot.ask(machine, f"{play} And this year?")
    begun, answered = standin.asked("ask")
    assert CATALOG in begun.words
    assert "Behind the blue curtain." in "\n".join(answered.results.values())
    machine.settle()
    machine.recollect("init", "--remove", "--yes", "--agent", "copilot")
    assert not [
        name for name in copilot.files(machine) if name.endswith(("recollect.json", "mcp-config.json"))
    ]
