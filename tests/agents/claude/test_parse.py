"""Claude Code's records, era by era. The fixtures are invented; their shapes are real."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support import DATA, corpus

from recollect.agents.claude.agent import AGENT as CLAUDE
from recollect.agents.contract import Parser
from recollect.agents.fields import CALLS_OPEN_MAX
from recollect.testing.agents import AgentContract, AgentCorpus, head_of, records
from recollect.values.records import (
    Entry,
    Flag,
    Kind,
    Parsed,
    Relation,
    Role,
    SessionFacts,
    SourceFile,
    Usage,
)

FOLDER = DATA / "claude"
MODERN = "a1b2c3d4-1111-4aaa-8bbb-000000000001"
COMPACTED = "b2b2c3d4-2222-4aaa-8bbb-000000000002"
OLD = "c3b2c3d4-3333-4aaa-8bbb-000000000003"
FORK = "d4b2c3d4-4444-4aaa-8bbb-000000000004"
NEWEST = "e5b2c3d4-5555-4aaa-8bbb-000000000005"


class TestClaude(AgentContract):
    agent = CLAUDE
    fixtures = FOLDER
    envelopes = (
        {"type": "soothsayer", "content": "?"},
        {"type": "system", "subtype": "soothsayer", "uuid": "u"},
        {"type": "attachment", "attachment": {"type": "soothsayer"}},
        {"type": "progress", "data": {"type": "soothsayer"}},
        {"type": "assistant", "message": {"content": [{"type": "soothsayer"}]}},
        {"type": "user", "message": {"content": [{"type": "soothsayer"}]}},
    )


@pytest.mark.corpus
class TestClaudeCorpus(AgentCorpus):
    agent = CLAUDE
    corpus = corpus("claude")


def read(path: Path) -> tuple[list[Parsed], SessionFacts]:
    source = CLAUDE.recognise(path, head_of(path))
    assert source is not None
    parser = CLAUDE.parser(source, {})
    return [parser.parse(record) for record in records(path)], parser.facts


def session(name: str) -> tuple[list[Entry], SessionFacts]:
    parsed, facts = read(FOLDER / f"{name}.jsonl")
    return [entry for line in parsed for entry in line.entries], facts


def fresh(session: str = MODERN, role: Role = Role.MAIN) -> Parser:
    return CLAUDE.parser(SourceFile("claude", f"/x/{session}.jsonl", role, session=session), {})


def of(entries: list[Entry], kind: Kind) -> list[Entry]:
    return [entry for entry in entries if entry.kind is kind]


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "uuid": "u", "message": {"role": "user", "content": content}, **more}


def test_only_what_a_person_typed_is_a_prompt() -> None:
    entries, _ = session(MODERN)
    assert [entry.text.split(":")[0] for entry in of(entries, Kind.PROMPT)] == [
        "Users get logged out after an hour",
        "also add a regression test",
        "Here is what I see",
    ]


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (user("do it"), Kind.PROMPT),
        (user("do it", origin={"kind": "human"}), Kind.PROMPT),
        (user("do it", origin={"kind": "task-notification"}), Kind.CONTEXT),
        (user("do it", promptSource="system"), Kind.CONTEXT),
        (user("do it", isMeta=True), Kind.CONTEXT),
        (user("do it", isSidechain=True), Kind.CONTEXT),
        (user("<div> is not closed in index.html"), Kind.PROMPT),
        (user("\n<system-reminder>be brief</system-reminder>"), Kind.CONTEXT),
        (user("<teammate-message teammate_id='bob'>hi</teammate-message>"), Kind.CONTEXT),
        (user([{"type": "text", "text": "<ide_opened_file>a.py</ide_opened_file>"}]), Kind.CONTEXT),
        (user("<bash-input>ls</bash-input>"), Kind.EVENT),
        (user([{"type": "text", "text": "[Request interrupted by user for tool use]"}]), Kind.EVENT),
        (user("so far: all well", isCompactSummary=True), Kind.SUMMARY),
        (user("This session is being continued from a previous conversation that"), Kind.SUMMARY),
    ],
)
def test_who_speaks_in_the_users_place(record: dict[str, Any], kind: Kind) -> None:
    (entry,) = fresh().parse(record).entries
    assert entry.kind is kind
    assert bool(entry.flags & Flag.META) is (kind is not Kind.PROMPT)


@pytest.mark.parametrize(
    ("text", "model", "kind"),
    [
        ("No response requested.", "<synthetic>", Kind.EVENT),
        ("No response requested.", "claude-opus-4-8", Kind.ANSWER),
        ("Said by another agent, and written by us.", "<synthetic>", Kind.ANSWER),
    ],
)
def test_what_the_client_answers_itself_is_no_answer(text: str, model: str, kind: Kind) -> None:
    message = {"role": "assistant", "model": model, "content": [{"type": "text", "text": text}]}
    (entry,) = fresh().parse({"type": "assistant", "uuid": "a", "message": message}).entries
    assert (entry.kind, entry.text) == (kind, text)
    assert bool(entry.flags & Flag.META) is (kind is Kind.EVENT)


def test_text_that_recollect_put_there_is_marked() -> None:
    entries, _ = session(MODERN)
    assert [entry.kind for entry in entries if entry.flags & Flag.INJECTED] == [Kind.CONTEXT]


def test_a_result_names_the_tool_that_was_called_even_out_of_order() -> None:
    entries, _ = session(MODERN)
    calls = {entry.call: entry.tool for entry in of(entries, Kind.CALL)}
    results = {entry.call: entry.tool for entry in of(entries, Kind.RESULT)}
    assert results == calls
    assert calls["toolu_grep"] == "Grep"


def test_a_call_is_its_input_as_the_raw_line_has_it() -> None:
    path = FOLDER / f"{MODERN}.jsonl"
    raw = path.read_text(encoding="utf-8")
    entries, _ = session(MODERN)
    for entry in of(entries, Kind.CALL):
        assert entry.text in raw
    assert of(entries, Kind.CALL)[1].text == '{"pattern":"expires_at","path":"harbor","-n":true}'


def test_results_tell_errors_spills_and_images_apart() -> None:
    entries, _ = session(MODERN)
    results = {entry.call: entry for entry in of(entries, Kind.RESULT)}
    assert results["toolu_bash"].flags == Flag.ERROR
    assert results["toolu_big"].flags == Flag.SPILLED
    assert results["toolu_shot"].text == "The login page\nWebFetch"
    images = of(entries, Kind.IMAGE)
    assert [(image.tool, image.call) for image in images] == [
        ("mcp__browser__screenshot", "toolu_shot"),
        ("", ""),
    ]


def test_a_mentioned_file_is_its_text_and_a_mentioned_picture_an_image() -> None:
    text = {"type": "text", "file": {"filePath": "/h/a.py", "content": "import os"}}
    picture = {"type": "image", "file": {"base64": "iVBORw0KGgo="}}
    found = []
    for content in (text, picture):
        record = {"type": "attachment", "attachment": {"type": "file", "filename": "x", "content": content}}
        found += [(entry.kind, entry.text) for entry in fresh().parse(record).entries]
    assert found == [(Kind.CONTEXT, "import os"), (Kind.IMAGE, "")]


def test_a_spilled_result_is_read_whole_and_keeps_its_call() -> None:
    path = FOLDER / MODERN / "tool-results" / "toolu_big.txt"
    source = CLAUDE.recognise(path, head_of(path))
    assert source is not None
    parser = CLAUDE.parser(source, {})
    (entry,) = parser.document(path.read_bytes()).entries
    assert (entry.kind, entry.call) == (Kind.RESULT, "toolu_big")
    assert entry.text == path.read_text()
    assert parser.facts.id == MODERN
    assert parser.document(b"caf\xe9").entries[0].text == "caf\\xe9"


def test_an_api_error_is_an_answer_of_no_model_and_costs_nothing() -> None:
    parsed, _ = read(FOLDER / f"{MODERN}.jsonl")
    failed = [line for line in parsed if any(entry.flags & Flag.ERROR for entry in line.entries)]
    assert [line.type for line in failed] == ["user", "assistant", "system/api_error"]
    assert [line.usage for line in failed] == [None, None, None]
    assert failed[1].entries[0].model == ""
    assert failed[2].entries[0].text == "Overloaded"


def test_session_facts_of_a_modern_session() -> None:
    _, facts = session(MODERN)
    assert facts.id == facts.root == MODERN
    assert (facts.title, facts.title_rank) == ("Fix token refresh in harbor", 4)
    assert (facts.cwd, facts.branch, facts.slug) == ("/home/ada/harbor", "main", "quiet-amber-harbor")
    assert facts.project == "github.com/ada/harbor"
    assert (facts.model, facts.version) == ("claude-sonnet-4-5-20250929", "2.1.150")
    assert 0 < facts.started_ms < facts.ended_ms
    assert (facts.parent, facts.relation) == ("", Relation.NONE)


def test_titles_win_by_rank_then_by_being_last_and_the_first_prompt_stays() -> None:
    parser = fresh()
    seen = []
    for record in (
        user("first\nprompt " + "x" * 300),
        user("second prompt"),
        {"type": "summary", "summary": "summary", "leafUuid": "u"},
        {"type": "last-prompt", "lastPrompt": "last prompt"},
        {"type": "ai-title", "aiTitle": "ai one"},
        {"type": "ai-title", "aiTitle": "ai two"},
        {"type": "last-prompt", "lastPrompt": "later prompt"},
        {"type": "custom-title", "customTitle": "mine"},
        {"type": "ai-title", "aiTitle": "ai three"},
    ):
        parser.parse(record)
        seen.append(parser.facts.title)
    assert seen[0].startswith("first prompt xxx")
    assert len(seen[0]) == 200
    assert seen[1] == seen[0]
    assert seen[2:] == ["summary", "summary", "ai one", "ai two", "ai two", "mine", "mine"]


def answer(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    return {**user(""), "type": "assistant", "message": message}


def test_a_title_is_the_first_thing_that_says_what_it_is_about() -> None:
    parser = fresh()
    seen = []
    for record in (
        user("hi"),
        answer("Hello! How can I help?"),
        user("reacquaint"),
        answer("The harbor has three quays. One leaks."),
        {"type": "ai-title", "aiTitle": "Reacquaint with codebase"},
        user("continue"),
        user("mend the leaking quay"),
        user("paint the red buoy"),
        {"type": "last-prompt", "lastPrompt": "paint the red buoy"},
    ):
        parser.parse(record)
        seen.append(parser.facts.headline)
    quay = "mend the leaking quay"
    assert seen == ["", "", "", *["The harbor has three quays."] * 3, quay, quay, quay]


def test_a_repeated_title_is_a_copy() -> None:
    parser = fresh()
    flags = [
        parser.parse({"type": "custom-title", "customTitle": title}).entries[0].flags
        for title in ("mine", "mine", "yours")
    ]
    assert flags == [0, Flag.COPY, 0]


def test_compaction_restarts_the_context_and_keeps_its_summary() -> None:
    entries, facts = session(COMPACTED)
    assert [entry.text for entry in entries if entry.flags & Flag.BOUNDARY] == ["Conversation compacted"]
    assert "three modules remain" in of(entries, Kind.SUMMARY)[0].text
    assert facts.title == "aware datetimes"


def test_copies_of_a_subagents_messages_carry_no_text() -> None:
    parsed, _ = read(FOLDER / f"{COMPACTED}.jsonl")
    (copy,) = (line for line in parsed if line.type == "progress/agent_progress")
    assert [(entry.kind, entry.text, entry.flags) for entry in copy.entries] == [(Kind.EVENT, "", Flag.COPY)]
    assert copy.usage is None


def test_a_prompt_queued_before_attachments_were_written_is_not_lost() -> None:
    """Up to 2.1.90 a prompt taken in mid-turn stands nowhere but in the queue record."""
    entries, _ = session(COMPACTED)
    (queued,) = (entry for entry in entries if entry.text == "leave tests/legacy alone")
    assert (queued.kind, queued.flags) == (Kind.EVENT, 0)
    modern, _ = session(MODERN)
    flags = [entry.flags for entry in modern if entry.text == "also add a regression test"]
    assert flags == [Flag.COPY, 0]


def test_thoughts_may_be_empty_or_redacted() -> None:
    entries, _ = session(COMPACTED)
    assert [entry.text for entry in of(entries, Kind.THOUGHT)] == ["Three modules use naive times.", ""]


def test_a_history_copied_by_an_old_resume_makes_a_continuation() -> None:
    entries, facts = session(OLD)
    assert facts.id == OLD
    assert facts.relation is Relation.CONTINUATION
    assert facts.parent == facts.root == "c0c2c3d4-3333-4aaa-8bbb-000000000030"
    assert facts.title == "Write a Makefile for harbor"  # the leading summary is another session's
    assert [entry.text for entry in entries if entry.flags & Flag.SIDECHAIN] == ["Warmup", "Ready."]


def test_of_copies_of_copies_the_first_is_the_root_and_the_last_the_parent() -> None:
    parser = fresh("c")
    for session_id in ("a", "a", "b", "c", "z"):
        parser.parse(user("x", sessionId=session_id))
    assert (parser.facts.id, parser.facts.parent, parser.facts.root) == ("c", "b", "a")


def test_a_fork_knows_its_parent() -> None:
    _, facts = session(FORK)
    assert (facts.relation, facts.parent, facts.root) == (Relation.FORK, MODERN, MODERN)


def test_a_subagent_is_a_session_of_its_own() -> None:
    parsed, facts = read(FOLDER / MODERN / "subagents" / "agent-7c01.jsonl")
    assert (facts.id, facts.parent, facts.root) == ("agent-7c01", MODERN, MODERN)
    assert facts.relation is Relation.SUBAGENT
    assert facts.model == "claude-haiku-4-5-20251001"
    assert facts.title.startswith("Search harbor for every use")
    entries = [entry for line in parsed for entry in line.entries]
    assert all(entry.flags & Flag.SIDECHAIN for entry in entries)
    assert [entry.kind for entry in entries] == [Kind.CONTEXT, Kind.CALL, Kind.RESULT, Kind.ANSWER]


def test_a_sidecar_says_what_a_subagent_was_asked() -> None:
    path = FOLDER / MODERN / "subagents" / "agent-7c01.meta.json"
    source = CLAUDE.recognise(path, head_of(path))
    assert source is not None
    parser = CLAUDE.parser(source, {})
    (entry,) = parser.document(path.read_bytes()).entries
    assert (entry.text, entry.tool, entry.call) == ("Find naive datetimes", "Explore", "toolu_task")
    assert (parser.facts.id, parser.facts.parent) == ("agent-7c01", MODERN)
    assert (parser.facts.title, parser.facts.relation) == ("Find naive datetimes", Relation.SUBAGENT)
    parser.document(b'{"parentAgentId":"9d02","spawnDepth":2}')
    assert parser.facts.parent == "agent-9d02"


def test_the_rows_of_one_answer_share_a_key_and_the_last_is_the_largest() -> None:
    parsed, _ = read(FOLDER / f"{MODERN}.jsonl")
    usages = [line.usage for line in parsed if line.usage is not None]
    first = [usage for usage in usages if usage.key == "claude:msg_01:req_01"]
    assert [usage.output for usage in first] == [3, 3, 3, 241]
    assert first[-1] == Usage(
        "claude:msg_01:req_01",
        "claude-sonnet-4-5-20250929",
        first[-1].time_ms,
        input=12,
        output=241,
        cache_read=1200,
        cache_write_5m=600,
        cache_write_1h=300,
    )
    assert usages[-1].reasoning == 17
    assert {usage.key.split(":")[1] for usage in usages} == {"msg_01", "msg_02", "msg_03", "msg_04", "msg_05"}


@pytest.mark.parametrize(
    ("total", "nested", "expected"),
    [
        (900, None, (900, 0)),
        (900, (600, 300), (600, 300)),
        (0, (600, 300), (600, 300)),
        (900, (0, 300), (600, 300)),
        (900, (0, 0), (900, 0)),
    ],
)
def test_every_token_written_to_a_cache_counts_once(
    total: int, nested: tuple[int, int] | None, expected: tuple[int, int]
) -> None:
    usage: dict[str, Any] = {"cache_creation_input_tokens": total}
    if nested:
        names = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
        usage["cache_creation"] = dict(zip(names, nested, strict=True))
    message = {"id": "m", "model": "claude", "content": [], "usage": usage}
    found = fresh().parse({"type": "assistant", "message": message}).usage
    assert found is not None
    assert (found.cache_write_5m, found.cache_write_1h) == expected


def test_a_gateway_without_request_ids_still_has_keys() -> None:
    message = {"id": "m", "model": "claude", "content": [], "usage": {"output_tokens": 1}}
    usage = fresh().parse({"type": "assistant", "message": message}).usage
    assert usage is not None
    assert usage.key == "claude:m:"


def test_links_are_the_records_own() -> None:
    parsed, _ = read(FOLDER / f"{COMPACTED}.jsonl")
    chain = [line for line in parsed if line.uuid]
    assert chain[0].parent == ""
    assert chain[2].parent == chain[1].uuid
    assert all(
        not line.uuid for line in parsed if line.type in ("queue-operation", "custom-title", "summary")
    )


def test_calls_never_answered_do_not_pile_up() -> None:
    parser = fresh()
    for number in range(CALLS_OPEN_MAX * 2):
        block = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {}}
        parser.parse({"type": "assistant", "message": {"content": [block]}})
    assert len(parser.state()["calls"]) == CALLS_OPEN_MAX


def test_junk_lines_are_kept_and_counted() -> None:
    parsed, _ = read(FOLDER / f"{FORK}.jsonl")
    assert [line.type for line in parsed if not line.known] == [
        "assistant/hologram",
        "system/weather_report",
        "attachment/tomorrow",
        "telepathy",
        "json/int",
        "json/str",
        "json/NoneType",
        "json/list",
        "",
        "",
    ]
    assert parsed[-1].entries[0].text == "a bare string"


def test_the_newest_client_tells_much_and_says_it_once() -> None:
    """What it repeats of a request would be found a second time, and recalled text as if it were said."""
    parsed, facts = read(FOLDER / f"{NEWEST}.jsonl")
    assert all(line.known for line in parsed)
    entries = [entry for line in parsed for entry in line.entries]
    said = [(entry.kind, entry.text) for entry in entries if entry.text and not entry.flags & Flag.COPY]
    assert said == [
        (Kind.PROMPT, "When does the ferry horn sound in fog?"),
        (Kind.CONTEXT, "The harbour master is called Ines."),
        (Kind.CALL, '{"command":"grep -n horn tides.txt"}'),
        (Kind.RESULT, "4:horn twice a minute"),
        (Kind.ANSWER, "Twice a minute, as tides.txt says."),
        (Kind.CONTEXT, "Keep the harbour quiet."),
    ]
    usages = [usage for line in parsed for usage in line.usages]
    assert sum(usage.output for usage in usages) == 80
    assert (facts.id, facts.version) == (NEWEST, "2.1.325")


@pytest.mark.parametrize(
    "record",
    [
        {"type": "worktree-state", "worktreeSession": {"worktreeName": "wt1", "worktreeBranch": "wt1"}},
        {"type": "worktree-state", "worktreeSession": None},
        {"type": "relocated", "relocatedCwd": "/home/ada/elsewhere"},
        {"type": "isolation-latch", "side": "host"},
        {"type": "fork-context-ref", "parentSessionId": FORK, "parentLastUuid": "u1", "agentId": "a1"},
        {"type": "speculation-accept", "timestamp": "2026-11-15T08:00:00.000Z", "timeSavedMs": 12},
    ],
)
def test_bookkeeping_of_newer_clients_is_known(record: dict[str, Any]) -> None:
    parser = fresh()
    parsed = parser.parse({**record, "sessionId": MODERN})
    assert parsed.known
    assert [entry.kind for entry in parsed.entries] == [Kind.EVENT]
    assert parser.facts.id == MODERN
