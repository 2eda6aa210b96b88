"""Grok's sessions as logs of updates. The fixtures are invented; their shapes are real."""

from __future__ import annotations

import shutil
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from tests.support import DATA
from tests.support.memories import content, open_memory

from recollect.agents.grok.agent import AGENT as GROK
from recollect.agents.grok.tools import TOOLS
from recollect.config import Config
from recollect.memory import Memory
from recollect.setup.agents import commands_of
from recollect.testing.agents import AgentContract, head_with
from recollect.values.errors import SettingsRefused
from recollect.values.records import (
    HIDDEN,
    Entry,
    Flag,
    Kind,
    Parsed,
    Relation,
    Role,
    SessionFacts,
    SourceFile,
)
from recollect.values.titles import TITLE_CUSTOM

FOLDER = DATA / "grok"
CRANE, BOATS, WINCH = (f"019fa000-0000-7000-8000-00000000000{n}" for n in (1, 2, 3))
MODELS = ("inputTokens", "outputTokens", "cachedReadTokens", "cacheCreationTokens", "reasoningTokens")


def update(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "method": "session/update",
        "params": {"sessionId": "s", "update": {"sessionUpdate": name, **fields}},
    }


class TestGrok(AgentContract):
    agent = GROK
    fixtures = FOLDER
    envelopes = (
        update("soothsayer"),
        update("user_message_chunk", content={"type": "soothsayer"}),
        update("agent_message_chunk", content={"type": "soothsayer"}),
        {"method": "soothsayer", "params": {}},
    )


def parse(*records: dict[str, Any], role: Role = Role.MAIN) -> tuple[list[Parsed], SessionFacts]:
    parser = GROK.parser(SourceFile("grok", "/x/s/updates.jsonl", role, session="s"), {})
    return [parser.parse(record) for record in records], parser.facts


def said(text: str, kind: str = "message", **meta: Any) -> dict[str, Any]:
    record = update(f"agent_{kind}_chunk", content={"type": "text", "text": text})
    record["params"]["_meta"] = {"eventId": "s-1", "agentTimestampMs": 1_785_600_000_000, **meta}
    return record


def prompt(text: str, index: int, **meta: Any) -> dict[str, Any]:
    content = {"type": "text", "text": text}
    return update("user_message_chunk", content=content, _meta={"promptIndex": index, **meta})


def shown(memory: Memory, session: str) -> list[Entry]:
    with memory.view() as view:
        return [each.entry for each in view.entries(view.find_session(session))]


def told(entries: list[Entry]) -> list[tuple[str, str]]:
    """What is not mere bookkeeping."""
    return [(e.kind.name, e.text) for e in entries if e.kind is not Kind.EVENT]


def facts_of(memory: Memory, session: str) -> SessionFacts:
    with memory.view() as view:
        return view.find_session(session).facts


# -- a session -------------------------------------------------------------------------------------

ASKED = [
    ("PROMPT", "Look at the crane and oil it."),
    ("IMAGE", ""),
    ("CONTEXT", "file:///code/harbor/crane.md"),
    ("THOUGHT", "The clock first."),
    ("ANSWER", "I look at both of them."),
    ("CALL", '{"command":"cat clock.txt"}'),
    ("CALL", '{"command":"make oil"}'),
    ("RESULT", "exit: 0\n12:00\n"),
    ("RESULT", "exit: 2\nno rule\n"),
    ("CALL", '{"file_path":"/code/harbor/crane.md","old_string":"dry","new_string":"oiled"}'),
    ("RESULT", "The file /code/harbor/crane.md has been updated."),
    ("CALL", '{"pattern":"oil"}'),
    ("RESULT", "crane.md: oiled é\n"),
    ("CALL", '{"target_file":"/code/harbor/crane.png"}'),
    ("RESULT", ""),
    ("IMAGE", ""),
    ("CALL", '{"merge":false,"todos":[{"id":"1","content":"Oil it","status":"in_progress"}]}'),
    ("RESULT", "- [in_progress] 1: Oil it\n"),
    ("CALL", '{"a":1}'),
    ("RESULT", "Failed to parse arguments for tool `no_such_tool`"),
    ("CALL", '{"tool_name":"recollect__search_memory","tool_input":{"query":"oil"}}'),
    ("RESULT", "<recollect-memory>nothing</recollect-memory>"),
    ("CALL", '{"prompt":"Count the boats.","description":"count"}'),
    ("RESULT", "One boat."),
    ("ANSWER", "The crane is oiled."),
    ("SUMMARY", "The crane was oiled."),
]


def test_a_session_is_told_in_order(folder: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([FOLDER])
        entries = shown(memory, CRANE)
        crane, boats = facts_of(memory, CRANE), facts_of(memory, BOATS)
        assert memory.check() == []
    assert report.unknown_types == {}
    assert told(entries) == [
        *ASKED,
        ("PROMPT", "Now paint it blue."),
        ("SUMMARY", "The crane is oiled."),
        ("CONTEXT", "<system-reminder>A task is over.</system-reminder>"),
        ("PROMPT", "Stop at noon."),
    ]
    failed = [entry.tool for entry in entries if entry.kind is Kind.RESULT and entry.flags & Flag.ERROR]
    assert failed == ["run_terminal_command", "no_such_tool"]
    own = [entry.tool for entry in entries if entry.flags & Flag.INJECTED]
    assert own == ["mcp__recollect__search_memory"] * 2, "what we were asked and said is not found again"
    events = [entry.text for entry in entries if entry.kind is Kind.EVENT and not entry.flags & HIDDEN]
    assert [text for text in events if "tide is out" in text] == ["API error (status 500): The tide is out."]
    assert {"/compact", "Turn cancelled"} <= set(events)
    assert [e.text for e in entries if e.flags & Flag.BOUNDARY] == ["The crane is oiled."]
    assert (crane.title, crane.cwd, crane.branch) == ("The crane and its oil", "/code/harbor", "dry-dock")
    assert (crane.model, crane.relation, crane.root) == ("tide-5", Relation.NONE, CRANE)
    assert (boats.parent, boats.relation, boats.title) == (CRANE, Relation.SUBAGENT, "count")


def test_results_name_the_tool_of_their_call(folder: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([FOLDER])
        entries = shown(memory, CRANE)
    calls = {entry.call: entry.tool for entry in entries if entry.kind is Kind.CALL}
    assert len(calls) == 9
    assert {entry.call: entry.tool for entry in entries if entry.kind is Kind.RESULT} == calls


def test_what_a_turn_cost_is_counted_once_with_its_subagents_and_its_forks(folder: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([FOLDER])
        with memory.view() as view:
            usage = view.usage()
    columns = (usage.input, usage.output, usage.cache_read, usage.reasoning)
    rows = sorted(zip(*(column.tolist() for column in columns), strict=True))
    assert rows == [(50, 5, 0, 0), (100, 20, 300, 0), (200, 30, 500, 10), (400, 100, 600, 30)]


def test_a_turn_without_models_counts_for_the_one_that_is_known() -> None:
    usage = dict(zip(MODELS, (1000, 50, 400, 100, 20), strict=True))
    (_, parsed), _ = parse(
        prompt("Hello.", 0, modelId="tide-4"),
        update("turn_completed", prompt_id="p", stop_reason="end_turn", usage=usage),
    )
    (counted,) = parsed.usages
    assert (counted.key, counted.model) == ("grok:p:tide-4", "tide-4")
    assert (counted.input, counted.cache_read, counted.cache_write_5m) == (500, 400, 100)
    assert (counted.output, counted.reasoning) == (50, 20)
    (parsed,), _ = parse(update("turn_completed", prompt_id="p", usage=usage), role=Role.SUBAGENT)
    assert parsed.usages == ()


def test_a_fork_is_one_of_its_parent_and_lasts_from_its_own_beginning(folder: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([FOLDER])
        fork = facts_of(memory, WINCH)
        entries = shown(memory, WINCH)
    assert (fork.parent, fork.root, fork.relation) == (CRANE, CRANE, Relation.FORK)
    assert (fork.title, fork.title_rank) == ("The winch", TITLE_CUSTOM)
    assert fork.started_ms == 1_785_600_000_500
    assert told(entries)[-2:] == [("PROMPT", "And the winch?"), ("ANSWER", "The winch is dry.")]


def test_a_fork_is_known_by_its_log_alone() -> None:
    own = said("Three.", eventId="s-2", agentTimestampMs=1_785_600_000_009)
    _, facts = parse(said("One.", eventId="first-4"), said("Two.", eventId="second-5"), own)
    assert (facts.started_ms, facts.ended_ms) == (1_785_600_000_009, 1_785_600_000_009)
    assert (facts.root, facts.parent, facts.relation) == ("first", "second", Relation.FORK)


# -- in pieces -------------------------------------------------------------------------------------


def test_a_log_that_grows_line_by_line_is_what_it_is_at_once(folder: Path) -> None:
    whole = FOLDER / "sessions/%2Fcode%2Fharbor" / CRANE
    path = folder / CRANE / "updates.jsonl"
    shutil.copytree(whole, path.parent)
    with open_memory(folder / "once.h5") as memory:
        memory.ingest([path])
        expected = content(memory)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"")
    with open_memory(folder / "grown.h5") as memory:
        for line in lines:
            with path.open("ab") as file:
                file.write(line)
            memory.ingest([path])
        assert content(memory) == expected


def test_a_message_in_several_lines_is_one_and_stands_where_it_began() -> None:
    stream = {"promptId": "p", "streamStartMs": 7}
    one, between, two, other = parse(
        said("The crane ", **stream),
        update("hook_execution", event_name="stop"),
        said("is dry.", eventId="s-3", **stream),
        said("Another.", eventId="s-4", promptId="p", streamStartMs=8),
    )[0]
    assert [each.entries[0].text for each in (one, two, other)] == [
        "The crane ",
        "The crane is dry.",
        "Another.",
    ]
    assert (two.uuid, two.replaces) == (one.uuid, (one.uuid,))
    assert (other.replaces, between.replaces) == ((), ())
    assert other.uuid != one.uuid


def test_what_is_said_after_a_call_is_another_message() -> None:
    _, _, second = parse(said("I look."), update("tool_call", toolCallId="c"), said("I saw."))[0]
    assert second.entries[0].text == "I saw."
    assert second.replaces == ()


def test_a_long_message_is_not_stated_anew_without_end() -> None:
    pieces = [said("x" * 900, eventId=f"s-{n}") for n in range(9)]
    texts = [each.entries[0].text for each in parse(*pieces)[0]]
    assert max(map(len, texts)) == 1800
    replaced = [each.uuid for each in parse(*pieces)[0] if each.replaces]
    kept = {each.uuid: each.entries[0].text for each in parse(*pieces)[0]}
    assert sum(map(len, kept.values())) == 9 * 900, "nothing is left out or there twice"
    assert len(replaced) == 4


def test_a_picture_before_the_words_stays_when_they_go_on() -> None:
    picture = prompt("", 0)
    picture["params"]["update"]["content"] = {"type": "image", "data": ""}
    shown_, one, two = parse(picture, prompt("Look ", 0), prompt("here.", 0))[0]
    assert (shown_.uuid, one.uuid) == ("prompt:0", "prompt:0.1")
    assert two.entries[0].text == "Look here."
    assert two.replaces == ("prompt:0.1",)


# -- whose words -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "kind", "flags"),
    [
        (prompt("Oil it.", 0), Kind.PROMPT, 0),
        (prompt("/compact", 0, hostTurn=True), Kind.EVENT, Flag.META),
        (prompt("Go on.", 0, hideFromScrollback=True), Kind.CONTEXT, Flag.META),
        (prompt("<system-reminder>x</system-reminder>", 0), Kind.CONTEXT, Flag.META),
    ],
)
def test_only_what_a_person_said_is_a_prompt(record: dict[str, Any], kind: Kind, flags: int) -> None:
    (entry,) = parse(record)[0][0].entries
    assert (entry.kind, entry.flags) == (kind, flags)


def test_a_call_that_was_refused_or_ran_too_long_failed() -> None:
    given = [{"status": "failed"}, {"rawOutput": {"exit_code": 1}}, {"rawOutput": {"timed_out": True}}, {}]
    for fields in given:
        result = parse(update("tool_call_update", toolCallId="c", **{"status": "completed", **fields}))[0][0]
        assert bool(result.entries[0].flags & Flag.ERROR) is bool(fields), fields


# -- which files, which tools, which settings ------------------------------------------------------


def test_a_log_is_known_by_its_first_record_whatever_its_name() -> None:
    for name in ("/x/updates.jsonl", "/x/copy.jsonl"):
        found = GROK.recognise(PurePosixPath(name), head_with(said("Hello.")))
        assert found is not None
        assert (found.session, found.role) == ("s", Role.MAIN)
    assert GROK.recognise(PurePosixPath("/x/updates.jsonl"), head_with({"method": "other"})) is None
    assert GROK.recognise(PurePosixPath("/x/summary.json"), head_with({"info": {"id": "s"}})) is None


def test_the_plan_is_replaced_or_changed_in_part() -> None:
    plan = TOOLS.plan["todo_write"]
    whole = {
        "merge": False,
        "todos": [{"id": "1", "content": "Oil", "status": "pending"}, {"content": "Paint"}],
    }
    tasks = plan({"9": ("old", "")}, whole, True)
    assert tasks == {"1": ("Oil", "pending"), "item 1": ("Paint", "")}
    changed = plan(tasks, {"merge": True, "todos": [{"id": "1", "status": "completed"}]}, True)
    assert changed == {"1": ("Oil", "completed"), "item 1": ("Paint", "")}


def test_it_deletes_nothing_unless_it_was_told_to(tmp_path: Path) -> None:
    path = tmp_path / ".grok" / "config.toml"
    path.parent.mkdir()
    for text, days in (("", None), ("[storage]\ncleanup_ttl_days = 0\n", None), ("[sto", None)):
        path.write_text(text)
        assert GROK.deletes_after_days(tmp_path, {}) == days
    path.write_text("[storage]\ncleanup_ttl_days = 14\n")
    assert GROK.deletes_after_days(tmp_path, {}) == 14
    assert GROK.deletes_after_days(tmp_path, {"GROK_HOME": str(tmp_path)}) is None


def test_another_server_of_that_name_is_left_alone(tmp_path: Path) -> None:
    """The state says what is there; what is another's is refused with a reason."""
    path = tmp_path / ".grok" / "config.toml"
    path.parent.mkdir()
    path.write_text('[mcp_servers.recollect]\ncommand = "/bin/other"\n')
    commands = commands_of("grok", Config(tmp_path / "m.h5", "here", cache=tmp_path / "cache"))
    settings = GROK.settings(commands, home=tmp_path, environ={}, folder=tmp_path)
    assert settings.state().mcp == ()
    with pytest.raises(SettingsRefused, match="another MCP server"):
        settings.changes(hooks=True, mcp=True, project=False)
    assert settings.removal(project=False) == []
