"""A past that was carried into an agent is its own: the next request holds exactly what was written.

Compared are the file and the request, turn by turn; the request and what was once said; and, where an agent
gets its own conversation back, the request and the one it makes when it resumes the original.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.clients import sessions
from tests.clients.clients import CLAUDES, Ended, Machine
from tests.clients.sessions import FREE, TOOLS, Source, bash, signed
from tests.clients.standin import Block, Request, StandIn, message, text
from tests.clients.turns import (
    GO_ON,
    Carried,
    Turn,
    as_sent,
    asked,
    check_pairs,
    check_told,
    thoughts,
    written,
)

pytestmark = [pytest.mark.agents, pytest.mark.usefixtures("claude", "codex")]

GOING_ON = "I go on."
_NOTICE = '[{"type": "text", "text": "<task-notification>'
AGENTS = ("claude", "codex")
ANSWER_TOKENS = {"claude": 440, "codex": 1050}  # what the stand-in says that an answer took
WHOLE = (
    sessions.rich,
    sessions.parallel,
    sessions.compacted,
    sessions.pictured,
    sessions.delegated,
    sessions.codex_rich,
    sessions.codex_compacted,
)

Have = Callable[[Machine, StandIn], Source]


def carry(machine: Machine, *words: str) -> Carried:
    """Have a session written by a command of ours."""
    answer = machine.recollect(*words, "--json").json
    done = answer["delivered"] if words[0] == "assemble" else answer
    path = Path(done["path"])
    assert path.stat().st_mode & 0o777 == 0o600
    return Carried(done["agent"], done["session_id"], path.read_bytes(), done["masked"])


def opened(machine: Machine, standin: StandIn, carried: Carried, *options: str) -> list[Turn]:
    """What a written session is to its agent: no more and no less than what was written."""
    turns = asked(carried.agent, go_on(machine, standin, carried.agent, carried.session, *options))
    assert turns == written(carried)
    check_pairs(carried.agent, turns)
    return turns


def go_on(machine: Machine, standin: StandIn, agent: str, session: str, *options: str) -> Request:
    """Resume a session; what its client then asked the model. The client has nothing to complain about."""
    name = f"on{len(standin.requests)}"
    if agent == "claude":
        play = standin.script(name, [text(GOING_ON)])
        ended = machine.claude(f"{play} {GO_ON}", "--resume", session, *options)
        said = [ended.json[key] for key in ("subtype", "is_error", "result")]
        assert said == ["success", False, GOING_ON]
    else:
        play = standin.script(name, [message(GOING_ON)])
        ended = machine.codex(FREE, *options, "resume", session, f"{play} {GO_ON}")
        assert said_by_codex(ended) == [GOING_ON]
    assert ended.session == session
    (request,) = standin.asked(name)
    return request


def said_by_codex(ended: Ended) -> list[str]:
    """What the model answered; anything that went wrong fails, but for the model's name being unknown."""
    events = [json.loads(line) for line in ended.out.splitlines()]
    assert {event["type"] for event in events} <= {
        "thread.started",
        "turn.started",
        "item.started",
        "item.completed",
        "turn.completed",
    }, events
    items = [event["item"] for event in events if event["type"] == "item.completed"]
    assert all("Model metadata" in item["message"] for item in items if item["type"] == "error"), items
    return [item["text"] for item in items if item["type"] == "agent_message"]


def without_notices(turns: list[Turn]) -> list[Turn]:
    """The newest client tells of subagents that ended beside the turns; what we wrote tells it in one."""
    return [turn for turn in turns if not json.dumps(turn[1]).startswith(_NOTICE)]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("have", WHOLE, ids=lambda have: have.__name__)
@pytest.mark.parametrize("claude_client", CLAUDES)
def test_a_whole_session_is_opened_as_it_was_written(
    machine: Machine, standin: StandIn, have: Have, agent: str
) -> None:
    source = have(machine, standin)
    machine.recollect("ingest")
    turns = opened(machine, standin, carry(machine, "resume", source.session, "--to", agent))
    check_told(source, turns)
    if agent == source.agent:
        assert thoughts(turns) == list(source.thoughts)
        its_own = asked(agent, go_on(machine, standin, agent, source.session))
        assert as_sent(without_notices(turns)) == as_sent(without_notices(its_own))


@pytest.mark.parametrize("agent", AGENTS)
def test_what_was_assembled_of_three_sessions_is_opened_as_it_was_written(
    machine: Machine, standin: StandIn, agent: str
) -> None:
    *wanted, other = sessions.lighthouses(machine, standin)
    machine.recollect("ingest")
    words = ("assemble", "lighthouse lens, lighthouse oil, lighthouse horn", "--budget-tokens", "6000")
    carried = carry(machine, *words, "--export", agent)
    turns = opened(machine, standin, carried)
    for source in wanted:
        check_told(source, turns)
        assert f"[from session {source.session[:8]}" in json.dumps(turns)
    check_told(Source("", "", told=tuple(source.told[0] for source in wanted), lost=other.told), turns)
    machine.recollect("ingest")
    check_linked(machine, carried, wanted[0])  # an agent's log can name one origin
    assert thoughts(turns) == [each for source in wanted if source.agent == agent for each in source.thoughts]


@pytest.mark.corpus
@pytest.mark.skipif(not os.environ.get("RECOLLECT_CORPUS"), reason="RECOLLECT_CORPUS names no corpus")
@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("logs", ["claude/**/*-*-*-*-*.jsonl", "codex/**/rollout-*.jsonl"])
def test_real_sessions_are_opened_as_they_were_written(
    machine: Machine, standin: StandIn, logs: str, agent: str
) -> None:
    found = sorted(Path(os.environ["RECOLLECT_CORPUS"]).glob(logs), key=lambda path: path.stat().st_size)
    chosen = [found[len(found) * part // 10] for part in (3, 5, 7, 9)]
    machine.recollect("ingest", *map(str, chosen))
    for path in chosen:
        carried = carry(machine, "resume", path.stem[-36:], "--to", agent)
        assert opened(machine, standin, carried, *same_model(carried)), path


def same_model(carried: Carried) -> list[str]:
    """Claude Code leaves out what another model thought: signatures are of one model."""
    models = {record["message"].get("model") for record in carried.records if record["type"] == "assistant"}
    return [word for model in models - {"<synthetic>"} for word in ("--model", model)]


@pytest.mark.parametrize(
    "have", [sessions.compacted, sessions.codex_compacted], ids=lambda have: have.__name__
)
def test_a_session_is_opened_as_it_was_before_it_was_compacted(
    machine: Machine, standin: StandIn, have: Have
) -> None:
    source = have(machine, standin)
    machine.recollect("ingest")
    words = ("resume", source.session, "--to", source.agent, "--before-compaction")
    turns = opened(machine, standin, carry(machine, *words))
    told = ("An old question.", "echo forgotten", "forgotten", "An old answer.")
    check_told(replace(source, told=told, lost=("A new question.", "in the stand-in's words")), turns)
    assert thoughts(turns) == ["b2xk"]


def test_a_session_is_opened_as_it_was_at_an_entry_in_another_folder(
    machine: Machine, standin: StandIn
) -> None:
    source = sessions.rich(machine, standin)
    machine.recollect("ingest")
    (entry,) = machine.recollect("search", '"and a nul"', "--mode", "text", "--json").json["hits"]
    elsewhere = replace(machine, work=machine.work.with_name("other folder"))
    elsewhere.work.mkdir()
    until = ("--until", entry["id"], "--into", str(elsewhere.work))
    carried = carry(machine, "resume", source.session, "--to", "claude", *until)
    turns = opened(elsewhere, standin, carried)
    check_told(replace(source, told=source.told[:-2], lost=source.told[-2:]), turns)
    assert thoughts(turns) == list(source.thoughts[:-1])


@pytest.mark.parametrize("agent", AGENTS)
def test_a_secret_reaches_no_other_conversation(machine: Machine, standin: StandIn, agent: str) -> None:
    """A signed thought cannot be changed: one that says a secret stays out, the others stay as they are."""
    secret = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fG3hJ5"
    play = standin.script(
        "spill",
        [signed("Look.", "c3BpbGww"), bash(f"echo token {secret}")],
        [signed(f"It is {secret}.", "c3BpbGwx"), text(f"The token is {secret}, it works.")],
    )
    session = machine.claude(f"{play} Try {secret} please.", *TOOLS).session
    machine.recollect("ingest")
    carried = carry(machine, "resume", session, "--to", agent)
    turns = opened(machine, standin, carried)
    assert secret not in json.dumps(standin.requests[-1].body)
    assert sum(carried.masked.values()) >= 1
    check_told(Source("claude", session, ("Try ", "echo token ", "The token is ", ", it works.")), turns)
    assert thoughts(turns) == (["c3BpbGww"] if agent == "claude" else [])


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("have", [sessions.parallel, sessions.codex_rich], ids=lambda have: have.__name__)
def test_what_goes_on_is_captured_and_belongs_to_where_it_came_from(
    installed: Machine, standin: StandIn, have: Have, agent: str
) -> None:
    """Nobody runs `ingest` here."""
    source = have(installed, standin)
    installed.settle()
    before = spent(installed)
    carried = carry(installed, "resume", source.session, "--to", agent)
    go_on(installed, standin, agent, carried.session)
    installed.settle()
    assert installed.lacks() == {}
    check_linked(installed, carried, source)
    # What was carried over was paid for once; the one answer since then was paid for too.
    assert spent(installed) - before == ANSWER_TOKENS[agent]


def check_linked(machine: Machine, carried: Carried, source: Source) -> None:
    """A session that goes on is a fork of the one it came from, and one thread with it."""
    (copy,) = (one for one in listed(machine, "sessions") if one["id"] == carried.session)
    assert (copy["parent"], copy["root"], copy["relation"]) == (source.session, source.session, "fork")
    (thread,) = (one for one in listed(machine, "threads") if source.session in one["sessions"])
    assert thread["sessions"] == [source.session, carried.session]


def listed(machine: Machine, what: str) -> list[Block]:
    found: list[Block] = machine.recollect(what, "--json").json[what]
    return found


def spent(machine: Machine) -> int:
    return sum(session["tokens"] for session in listed(machine, "sessions"))
