"""Grok's conversations are remembered as they were had."""

from __future__ import annotations

import json

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
    second_told,
    spent,
)
from tests.clients.remembered import remembered as remembered_as_written
from tests.clients.standin import StandIn, text, use

from recollect.values.records import Kind, Relation

pytestmark = pytest.mark.agents

TWICE = tuple(2 * count for count in ANSWERED)  # it tells what a turn took, not an answer


@pytest.fixture
def grok(machine: Machine, needs: Needs) -> Driver:
    needs("grok")
    driver = DRIVERS["grok"]
    driver.prepare(machine)
    return driver


def begun(grok: Driver, machine: Machine, standin: StandIn) -> str:
    picture = machine.work / "red.png"
    picture.write_bytes(conversation.PICTURE)
    return grok.ask(machine, conversation.first(grok, standin), image=picture)


def remembered(machine: Machine, session: str) -> list[Told]:
    """What a session shows; of calls that ran at the same time, either may be over first."""
    told = remembered_as_written(machine, session)
    at = [n for n, (kind, _) in enumerate(told) if kind.startswith("RESULT")]
    for n, each in zip(at, sorted((told[n] for n in at), key=lambda one: one[0]), strict=True):
        told[n] = each
    return told


def own_totals(machine: Machine, session: str) -> tuple[int, int]:
    """What Grok itself counts of a session: all that was sent, and all that came back."""
    (path,) = (machine.home / ".grok/sessions").glob(f"*/{session}/usage.json")
    told = json.loads(path.read_text())["session"]
    return told["inputTokens"], told["outputTokens"]


def counted(rows: list[tuple[int, ...]]) -> tuple[int, int]:
    return sum(row[0] + sum(row[2:5]) for row in rows), sum(row[1] for row in rows)


def test_a_conversation_is_remembered_once_in_order_and_nothing_else(
    grok: Driver, machine: Machine, standin: StandIn
) -> None:
    session = begun(grok, machine, standin)
    assert remembered(machine, session) == first_told()
    assert grok.ask(machine, conversation.second(standin), resume=session) == session
    assert remembered(machine, session) == [*first_told(), *second_told()]
    assert spent(machine) == [ANSWERED, TWICE]
    assert counted(spent(machine)) == own_totals(machine, session)
    read = ("/updates.jsonl", "/summary.json")
    assert kept(machine) == {path: data for path, data in grok.files(machine).items() if path.endswith(read)}
    with memory_of(machine) as memory:
        (listed,) = memory.sessions()
    assert (listed.facts.cwd, listed.facts.model) == (str(machine.work), "stand-in")
    assert listed.facts.title, "it gave none"


def test_a_conversation_killed_half_way_is_remembered_and_goes_on(
    grok: Driver, machine: Machine, standin: StandIn
) -> None:
    flag = machine.work / "running"
    process = grok.start(machine, conversation.doomed(grok, standin, flag))
    wait_for(flag.exists, "the call never ran")
    wait_for(
        lambda: not conversation.missing(grok.files(machine), conversation.CUT_SHORT),
        "it is not in its files",
    )
    command = str(grok.shell(f"touch {flag}; while [ -e {flag} ]; do sleep 0.1; done")["input"]["command"])
    (path,) = (machine.home / ".grok/sessions").rglob("updates.jsonl")
    session = path.parent.name
    assert remembered(machine, session) == doomed_told(command)
    kill(process)
    flag.unlink()
    machine.settle()
    assert remembered(machine, session) == doomed_told(command)
    grok.ask(machine, conversation.second(standin), resume=session)
    assert remembered(machine, session) == [*doomed_told(command), *second_told()]
    assert spent(machine) == [ANSWERED], "of a turn that never ended it tells nothing"


def test_a_fork_is_a_session_of_its_own_and_what_it_copied_is_counted_once(
    grok: Driver, machine: Machine, standin: StandIn
) -> None:
    session = begun(grok, machine, standin)
    words = grok.words(conversation.second(standin), session, None)
    made = ended(
        machine.start([str(binary("grok")), "--fork-session", *words], grok.environment(machine.model))
    )
    fork = str(made.json["sessionId"])
    assert fork != session
    assert remembered(machine, fork) == [*first_told(), *second_told()]
    assert remembered(machine, session) == first_told()
    assert spent(machine) == [ANSWERED, TWICE]
    with memory_of(machine) as memory, memory.view() as view:
        facts = view.find_session(fork).facts
    assert (facts.parent, facts.relation) == (session, Relation.FORK)


def test_a_subagents_session_has_its_parent_and_is_paid_for_there(
    grok: Driver, machine: Machine, standin: StandIn
) -> None:
    near = standin.script("near", [grok.shell("echo boat | tr a e")], [text("One boat, counted.")])
    call = use("spawn_subagent", prompt=f"{near} Count the boats.", description="count", background=False)
    session = grok.ask(machine, f"{standin.script('more', [call], [text('Counted.')])} Count.")
    machine.recollect("ingest")
    with memory_of(machine) as memory, memory.view() as view:
        child = next(each for each in view.sessions() if each.facts.id != session)
        entries = [each.entry for each in view.entries(child)]
    assert (child.facts.parent, child.facts.relation) == (session, Relation.SUBAGENT)
    assert child.facts.title == "count"
    assert [e.text for e in entries if e.kind is Kind.ANSWER] == ["One boat, counted."]
    assert counted(spent(machine)) == own_totals(machine, session) == (4000, 200)


def test_what_was_cut_down_is_there_with_its_summary(
    grok: Driver, machine: Machine, standin: StandIn
) -> None:
    kept_words = "The crane is oiled and the boats are counted. " * 40
    play = standin.script("long", [text("Oiled.")], [text(f"<summary>{kept_words}</summary>")])
    session = grok.ask(machine, f"{play} Oil the crane.")
    grok.ask(machine, "/compact", resume=session)
    grok.ask(machine, conversation.second(standin), resume=session)
    asked = [("PROMPT", f"{play} Oil the crane."), ("ANSWER", "Oiled.")]
    assert remembered(machine, session) == [*asked, *second_told()]
    with memory_of(machine) as memory, memory.view() as view:
        entries = [each.entry for each in view.entries(view.find_session(session))]
    summaries = [n for n, entry in enumerate(entries) if entry.kind is Kind.SUMMARY]
    assert [entries[n].text.startswith(kept_words.strip()) for n in summaries] == [True]
    prompts = [n for n, entry in enumerate(entries) if entry.kind is Kind.PROMPT]
    assert prompts[0] < summaries[0] < prompts[1], "it stands where it was written"


def test_it_asks_our_server_once_it_was_told_of_it_and_is_left_as_it_was(
    grok: Driver, machine: Machine, standin: StandIn
) -> None:
    path = machine.home / ".grok/config.toml"
    before = path.read_bytes()
    machine.recollect("init", "--yes", "--agent", "grok", "--no-ingest")
    words = [str(binary("grok")), "mcp", "doctor"]
    assert "1 healthy, 0 failing" in ended(machine.start(words, grok.environment(machine.model))).out
    machine.recollect("init", "--remove", "--yes", "--agent", "grok")
    assert b"recollect" not in path.read_bytes()
    assert path.read_bytes().startswith(before), "what the client adds itself stays behind"
