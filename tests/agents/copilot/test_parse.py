"""Copilot CLI's events. The fixtures are invented; their shapes are real."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import DATA, corpus
from tests.support.memories import open_memory

from recollect.agents.copilot.agent import AGENT as COPILOT
from recollect.agents.copilot.names import CONTEXTS, COPIES, ERRORS, EVENTS, READ
from recollect.agents.copilot.parse import _READERS
from recollect.agents.copilot.workspace import values_of
from recollect.testing.agents import AgentContract, AgentCorpus
from recollect.values.records import Flag, Kind, Parsed, Relation, SourceFile
from recollect.values.stored import StoredEntry

FOLDER = DATA / "copilot"
SESSION = "c0c0c0c0-0000-4000-8000-00000000000a"
OLDER = "c0c0c0c0-0000-4000-8000-00000000000b"


class TestCopilot(AgentContract):
    agent = COPILOT
    fixtures = FOLDER
    envelopes = ({"type": "soothsayer", "data": {}, "id": "x", "parentId": None}, {"soothsayer": 1})


@pytest.mark.corpus
class TestCopilotCorpus(AgentCorpus):
    agent = COPILOT
    corpus = corpus("copilot")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with open_memory(tmp_path / "memory.h5") as memory:
        memory.ingest([FOLDER])
        assert memory.check() == []
    return tmp_path / "memory.h5"


def shown(store: Path, session: str) -> list[StoredEntry]:
    with open_memory(store) as memory, memory.view() as view:
        return list(view.entries(view.find_session(session)))


def event(name: str, data: Any, **more: Any) -> dict[str, Any]:
    return {"type": name, "data": data, "id": "1", "timestamp": "2026-06-02T09:00:00Z", **more}


def parsed(*events: dict[str, Any]) -> list[Parsed]:
    parser = COPILOT.parser(SourceFile("copilot", "/x.jsonl", session="s"), {})
    return [parser.parse(each) for each in events]


# -- what was said ---------------------------------------------------------------------------------


def test_a_session_shows_what_was_said_thought_called_and_answered_once_and_in_order(store: Path) -> None:
    told = [
        (each.entry.kind.name, each.entry.text.partition("\n")[0], each.entry.tool)
        for each in shown(store, SESSION)
        if each.entry.kind is not Kind.EVENT and not each.entry.flags & Flag.COPY
    ]
    assert told == [
        ("CONTEXT", told[0][1], ""),
        ("PROMPT", "Why do the tide tables end in March?", ""),
        ("CONTEXT", "<system_reminder>", ""),
        ("IMAGE", "", ""),
        ("CONTEXT", "months = 3", ""),
        ("CONTEXT", "You are the GitHub Copilot CLI, a harbor master's clerk.", ""),
        ("THOUGHT", "A loop may end too early.", ""),
        ("ANSWER", "I make the tables and look.", ""),
        ("CALL", '{"command":"make tides","description":"Make the tables","mode":"sync"}', "bash"),
        ("CALL", told[9][1], "edit"),
        ("RESULT", "IndexError: no moon in April", "bash"),
        ("RESULT", "File /home/ada/harbor/tides.py updated", "edit"),
        ("CALL", told[12][1], "task"),
        ("CALL", '{"path":"/home/ada/harbor/nope.md"}', "view"),
        ("CONTEXT", "Count the gulls on the quay", ""),
        ("CALL", '{"command":"ls quay","description":"Look","mode":"sync"}', "bash"),
        ("RESULT", "gull gull", "bash"),
        ("ANSWER", "Two gulls.", ""),
        ("RESULT", "Two gulls.", "task"),
        ("RESULT", "Path does not exist", "view"),
        ("THOUGHT", "", ""),
        ("ANSWER", "The tables cover twelve months now. ☃", ""),
        ("SUMMARY", "The tide tables were mended.", ""),
        ("PROMPT", "And the lamps?", ""),
        ("THOUGHT", "Lamps burn oil.", ""),
        ("CALL", '{"query":"lamps"}', "recollect-search_memory"),
        ("CALL", '{"command":"rm lamps"}', "bash"),
        ("RESULT", told[27][1], "recollect-search_memory"),
        ("IMAGE", "", "recollect-search_memory"),
        ("RESULT", "The user rejected this tool call. User feedback: keep the lamps", "bash"),
        ("CALL", '{"command":"date"}', "bash"),
        ("RESULT", "today", "bash"),
        ("CONTEXT", "<system_notification>", ""),
        ("CONTEXT", "How lamps are lit.", ""),
        ("CONTEXT", "Go on until all is done", ""),
    ]


def test_a_result_has_the_id_of_its_call_and_says_whether_it_failed(store: Path) -> None:
    entries = [each.entry for each in shown(store, SESSION)]
    results = [entry for entry in entries if entry.kind is Kind.RESULT]
    calls = {entry.call: entry.text for entry in entries if entry.kind is Kind.CALL}
    assert len(calls) == len(results) == 8
    assert [calls[entry.call] for entry in results if entry.flags & Flag.ERROR] == [
        '{"command":"make tides","description":"Make the tables","mode":"sync"}',
        '{"path":"/home/ada/harbor/nope.md"}',
        '{"command":"rm lamps"}',
    ]
    older = [each.entry for each in shown(store, OLDER) if each.entry.kind is Kind.RESULT]
    assert [bool(entry.flags & Flag.ERROR) for entry in older] == [True]


def test_a_subagent_speaks_aside_in_the_file_of_its_session(store: Path) -> None:
    aside = [each.entry for each in shown(store, SESSION) if each.entry.flags & Flag.SIDECHAIN]
    assert [entry.kind.name for entry in aside if entry.kind is not Kind.EVENT] == [
        "CONTEXT",
        "CALL",
        "RESULT",
        "ANSWER",
    ]


def test_what_recollect_told_and_was_asked_is_not_found_again(store: Path) -> None:
    own = [each.entry for each in shown(store, SESSION) if each.entry.flags & Flag.INJECTED]
    assert [entry.kind.name for entry in own] == ["CONTEXT", "CALL", "RESULT"]


@pytest.mark.parametrize("source", ["skill-pdf", "agent-1", "jit-instruction"])
def test_only_what_a_person_typed_is_a_prompt(source: str) -> None:
    typed, injected = parsed(
        event("user.message", {"content": "Hoist the flag"}),
        event("user.message", {"content": "Hoist the flag", "source": source}),
    )
    assert [entry.kind for entry in typed.entries] == [Kind.PROMPT]
    assert [(entry.kind, entry.flags) for entry in injected.entries] == [(Kind.CONTEXT, Flag.META)]


def test_what_stands_around_a_prompt_is_context_and_the_time_of_day_nothing() -> None:
    sent = "<current_datetime>now</current_datetime>\n\nHoist it\n\n<tagged_files>a.py</tagged_files>"
    (found,) = parsed(event("user.message", {"content": "Hoist it", "transformedContent": sent}))
    assert [entry.text for entry in found.entries] == ["Hoist it", "<tagged_files>a.py</tagged_files>"]
    (other,) = parsed(event("user.message", {"content": "Hoist it", "transformedContent": "A reworded one"}))
    assert [entry.text for entry in other.entries] == ["Hoist it", "A reworded one"]


def test_a_call_that_no_message_made_is_a_call_where_it_begins() -> None:
    begun = {"toolCallId": "t", "toolName": "bash", "arguments": {"command": "ls"}}
    first, again = parsed(event("tool.execution_start", begun), event("tool.execution_start", begun))
    assert [entry.kind for entry in first.entries] == [Kind.CALL]
    assert [(entry.kind, entry.flags) for entry in again.entries] == [(Kind.EVENT, Flag.COPY)]


def test_a_compaction_that_failed_is_no_boundary() -> None:
    done, failed = parsed(
        event("session.compaction_complete", {"success": True, "summaryContent": "All of it"}),
        event("session.compaction_complete", {"success": False, "error": "no answer"}),
    )
    assert [(entry.kind, entry.flags) for entry in done.entries] == [(Kind.SUMMARY, Flag.BOUNDARY)]
    assert [(entry.kind, entry.flags, entry.text) for entry in failed.entries] == [
        (Kind.EVENT, Flag.ERROR, "no answer")
    ]


# -- names -----------------------------------------------------------------------------------------


def test_each_kind_of_event_has_one_place() -> None:
    assert set(_READERS) == set(READ)
    names = [*READ, *EVENTS, *ERRORS, *CONTEXTS, *COPIES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", sorted({*READ, *EVENTS, *ERRORS, *CONTEXTS, *COPIES}))
def test_every_named_event_is_known(name: str) -> None:
    (found,) = parsed(event(name, {}))
    assert found.known
    assert found.type == name


def test_what_is_never_kept_is_known_where_it_was_kept_all_the_same() -> None:
    (found,) = parsed(event("assistant.message_delta", {"deltaContent": "x"}, ephemeral=True))
    assert found.known
    assert [(entry.kind, entry.text) for entry in found.entries] == [(Kind.EVENT, "")]


# -- the session -----------------------------------------------------------------------------------


def test_the_session_is_called_as_its_person_called_it_and_is_where_it_began(store: Path) -> None:
    with open_memory(store) as memory, memory.view() as view:
        facts, older = view.find_session(SESSION).facts, view.find_session(OLDER).facts
    assert facts.title == "Tides, and the harbor's gulls"
    assert (facts.cwd, facts.branch, facts.project) == ("/home/ada/harbor", "gulls", "github.com/ada/harbor")
    assert (facts.model, facts.version) == ("gull-2", "1.0.102")
    assert (older.title, older.version) == ("Name the boats", "0.0.400")


def test_a_session_that_goes_on_from_another_names_it() -> None:
    parser = COPILOT.parser(SourceFile("copilot", "/x.jsonl", session="s"), {})
    parser.parse(event("session.start", {"sessionId": "s", "detachedFromSpawningParentSessionId": "p"}))
    assert (parser.facts.parent, parser.facts.relation) == ("p", Relation.CONTINUATION)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: A plain one: with a colon", "A plain one: with a colon"),
        ("name: 'It''s'", "It's"),
        ('name: "caf\\u00e9 \\"x\\""', 'café "x"'),
        ("name: |-\n  Two\n  lines\nother: x", "Two lines"),
        ("name:\n  Folded\nother: x", "Folded"),
        ("name: null", ""),
        ('name: "never closed', '"never closed'),
        ("# name: x\nname: y", "y"),
    ],
)
def test_a_name_is_read_in_each_form_that_yaml_has_for_it(text: str, expected: str) -> None:
    assert values_of(text.encode())["name"] == expected


@given(st.binary(max_size=200))
def test_any_workspace_is_read(data: bytes) -> None:
    assert all(type(value) is str for value in values_of(data).values())


# -- tokens ----------------------------------------------------------------------------------------


def tokens(store: Path, session: str) -> dict[str, int]:
    with open_memory(store) as memory:
        memory.ingest([path for path in FOLDER.rglob("*.jsonl") if session in str(path)])
        names = ("input", "output", "cache_read", "cache_write_5m", "reasoning")
        with memory.view() as view:
            usage = view.usage()
            return {name: int(getattr(usage, name).sum()) for name in names}


def test_each_response_is_counted_once_and_the_summary_that_the_totals_leave_out(tmp_path: Path) -> None:
    assert tokens(tmp_path / "memory.h5", SESSION) == {
        "input": 6 * 500 + 500,
        "output": 6 * 50 + 30,
        "cache_read": 6 * 400 + 200,
        "cache_write_5m": 6 * 100,
        "reasoning": 6 * 20,
    }


def test_an_older_session_comes_to_the_totals_of_its_last_run(tmp_path: Path) -> None:
    """Messages tell their output, two pieces of one the same; each run's end what the whole session took."""
    assert tokens(tmp_path / "memory.h5", OLDER) == {
        "input": 1500 - 700,
        "output": 55,
        "cache_read": 700,
        "cache_write_5m": 0,
        "reasoning": 8,
    }


def test_without_an_end_what_was_put_out_is_counted() -> None:
    found = parsed(event("assistant.message", {"apiCallId": "r", "model": "gull-2", "outputTokens": 7}))
    assert [(usage.output, usage.input) for usage in found[0].usages] == [(7, 0)]


def test_pieces_of_one_response_are_no_more_than_one_in_what_is_left_of_the_totals() -> None:
    piece = {"apiCallId": "r", "model": "gull-2", "outputTokens": 40}
    total = {"gull-2": {"usage": {"inputTokens": 10, "outputTokens": 100}}}
    *_, end = parsed(
        event("assistant.message", piece),
        event("assistant.message", piece),
        event("session.shutdown", {"modelMetrics": total}),
    )
    assert [(usage.input, usage.output) for usage in end.usages] == [(10, 60)]


# -- tools and signs -------------------------------------------------------------------------------


def test_blame_how_fix_and_digest_know_its_tools(store: Path) -> None:
    with open_memory(store) as memory:
        assert [each.session.facts.id for each in memory.blame("/home/ada/harbor/tides.py")] == [SESSION]
        assert memory.how("make tides")
        assert memory.fix("IndexError: no moon in April")
        _, digest = memory.digest(SESSION)
    assert [(file.path, file.added, file.removed) for file in digest.files] == [("tides.py", 1, 1)]


def test_a_list_of_things_to_do_is_read_as_it_is_written() -> None:
    planner = COPILOT.tools().plan["update_todo"]
    assert planner({}, {"todos": "- [x] Mend\n- [ ] Paint\nand so on"}, True) == {
        "item 0": ("Mend", "completed"),
        "item 1": ("Paint", "pending"),
    }
