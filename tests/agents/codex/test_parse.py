"""Codex's records, era by era. The fixtures are invented; their shapes are real."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support import DATA, corpus

from recollect.agents.codex.agent import AGENT as CODEX
from recollect.agents.contract import Parser
from recollect.light.project import remote_name
from recollect.testing.agents import AgentContract, AgentCorpus, head_of, read_records
from recollect.values.records import Entry, Flag, Kind, Parsed, Relation, SessionFacts, SourceFile, Usage

FOLDER = DATA / "codex"
PARENT = "019d0000-aaaa-7000-8000-000000000001"
FORK = "019d0000-bbbb-7000-8000-000000000002"
SUBAGENT = "019d0000-cccc-7000-8000-000000000003"
PAGINATED = "019d0000-dddd-7000-8000-000000000004"
INFORMED = "019d0000-eeee-7000-8000-000000000007"
RECORDED = "019d0000-ffff-7000-8000-000000000008"
BARE = "5e0f3c9a-1d2b-4c3d-8e4f-000000000005"
DOCUMENT = "0f0f0f0f-0000-4000-8000-000000000006"


class TestCodex(AgentContract):
    agent = CODEX
    fixtures = FOLDER
    envelopes = (
        {"type": "soothsayer", "payload": {}},
        {"type": "response_item", "payload": {"type": "soothsayer"}},
        {"type": "event_msg", "payload": {"type": "soothsayer"}},
        {"type": "event_msg", "payload": {"type": "item_completed", "item": {"type": "soothsayer"}}},
        {"record_type": "soothsayer"},
        {"type": "soothsayer"},
    )


@pytest.mark.corpus
class TestCodexCorpus(AgentCorpus):
    agent = CODEX
    corpus = corpus("codex")

    def test_the_corpus_usage_adds_up_to_the_final_totals(self) -> None:
        """One file of 132 lacks one event: its total grew by two requests at once."""
        wrong = []
        for source, lines in self.corpus_sources():
            parser = CODEX.parser(source, {})
            usages = [usage for line in lines if (usage := parser.parse(line).usage)]
            totals = [total for line in lines if (total := total_of(line))]
            if totals and summed(usages) != totals[-1]:
                wrong.append(source.path)
        assert len(wrong) <= 1


def total_of(record: Any) -> tuple[int, ...]:
    payload = record["payload"]
    info = payload.get("info") if payload.get("type") == "token_count" else None
    names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
    return tuple(info["total_token_usage"][name] for name in names) if info else ()


def summed(usages: list[Usage]) -> tuple[int, ...]:
    return (
        sum(usage.input + usage.cache_read + usage.cache_write_5m for usage in usages),
        sum(usage.cache_read for usage in usages),
        sum(usage.output for usage in usages),
        sum(usage.reasoning for usage in usages),
    )


def path_of(session: str) -> Path:
    return next(path for path in FOLDER.iterdir() if session in path.name)


def read(session: str) -> tuple[list[Parsed], SessionFacts]:
    path = path_of(session)
    source = CODEX.recognise(path, head_of(path))
    assert source is not None
    parser = CODEX.parser(source, {})
    return [parser.parse(record) for record in read_records(path)], parser.facts


def entries_of(session: str) -> list[Entry]:
    return [entry for line in read(session)[0] for entry in line.entries]


def of(entries: list[Entry], kind: Kind) -> list[Entry]:
    return [entry for entry in entries if entry.kind is kind]


def fresh() -> Parser:
    return CODEX.parser(SourceFile("codex", "/x/rollout-1.jsonl"), {})


def item(**payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-04-01T08:00:00Z", "type": "response_item", "payload": payload}


def event(**payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-04-01T08:00:00Z", "type": "event_msg", "payload": payload}


def message(role: str, *texts: str) -> dict[str, Any]:
    return item(type="message", role=role, content=[{"type": "input_text", "text": text} for text in texts])


def token_count(total: tuple[int, int, int], last: tuple[int, int, int], **more: int) -> dict[str, Any]:
    def usage(numbers: tuple[int, int, int]) -> dict[str, int]:
        asked, cached, output = numbers
        numbers_of = {"input_tokens": asked, "cached_input_tokens": cached, "output_tokens": output}
        return {**numbers_of, **more}

    info = {"total_token_usage": usage(total), "last_token_usage": usage(last)}
    return event(type="token_count", info=info)


def test_what_is_written_twice_is_said_once() -> None:
    entries = entries_of(PARENT)
    assert [entry.text for entry in of(entries, Kind.PROMPT)] == [
        "Why does the nightly sync of harbor stop after one page?"
    ]
    assert [entry.text[:20] for entry in of(entries, Kind.ANSWER)] == [
        "I will read the page",
        "The cursor was never",
    ]
    assert [entry.text for entry in of(entries, Kind.THOUGHT)] == ["**Looking at the pager**", ""]


def test_an_item_with_a_role_and_no_type_is_a_message() -> None:
    parser = fresh()
    words = [{"type": "input_text", "text": "Add a lint target."}]
    asked = parser.parse(item(role="user", content=words))
    answered = parser.parse(item(role="assistant", content=words))
    assert [each.entries[0].kind for each in (asked, answered)] == [Kind.PROMPT, Kind.ANSWER]
    assert asked.known
    assert not parser.parse(item(content=words)).known


def test_the_same_words_twice_are_two_prompts() -> None:
    parser = fresh()
    kinds = []
    for _ in range(2):
        for record in (message("user", "go on"), event(type="user_message", message="go on")):
            kinds += [entry.kind for entry in parser.parse(record).entries]
    assert kinds == [Kind.PROMPT, Kind.EVENT, Kind.PROMPT, Kind.EVENT]


def test_a_text_has_one_twin_only() -> None:
    parser = fresh()
    typed = event(type="user_message", message="go on")
    kinds = [parser.parse(record).entries[0].kind for record in (message("user", "go on"), typed, typed)]
    assert kinds == [Kind.PROMPT, Kind.EVENT, Kind.PROMPT]


def test_an_event_without_its_item_is_the_record() -> None:
    (entry,) = fresh().parse(event(type="agent_message", message="Only the screen saw this.")).entries
    assert (entry.kind, entry.text, entry.flags) == (Kind.ANSWER, "Only the screen saw this.", 0)
    (entry,) = fresh().parse(event(type="user_message", message="typed")).entries
    assert (entry.kind, entry.text) == (Kind.PROMPT, "typed")


def test_an_event_flattens_the_texts_of_a_prompt() -> None:
    parser = fresh()
    parser.parse(message("user", "look at this: ", "<image name=[Image #1]>", "</image>", "why?"))
    (entry,) = parser.parse(event(type="user_message", message="look at this: why?")).entries
    assert (entry.kind, entry.flags) == (Kind.EVENT, Flag.COPY)


@pytest.mark.parametrize(
    "text",
    [
        "<environment_context>\n</environment_context>",
        "<user_instructions>be kind</user_instructions>",
        "# AGENTS.md instructions for /x",
        "<permissions instructions>ask</permissions instructions>",
        "<turn_aborted>\nThe user interrupted",
    ],
)
def test_what_the_client_says_in_the_users_place_is_context(text: str) -> None:
    (entry,) = fresh().parse(message("user", text)).entries
    assert entry.kind is Kind.CONTEXT
    assert entry.flags & Flag.META


def test_what_a_developer_says_is_context() -> None:
    (entry,) = fresh().parse(message("developer", "Be careful.")).entries
    assert (entry.kind, entry.flags) == (Kind.CONTEXT, Flag.META)


def test_calls_are_as_written_and_results_know_their_tool() -> None:
    entries = entries_of(PARENT)
    calls = of(entries, Kind.CALL)
    assert [call.tool for call in calls] == [
        "exec_command",
        "shell",
        "apply_patch",
        "mcp__wiki__ask_question",
        "web_search",
    ]
    assert calls[1].text == '{"command":["pytest","-q"]}'
    assert calls[2].text.startswith("*** Begin Patch\n")
    assert calls[4].text == '{"type":"search","query":"cursor pagination"}'
    assert all(call.model == "gpt-5.3-codex" for call in calls)
    results = of(entries, Kind.RESULT)
    assert [result.tool for result in results] == [call.tool for call in calls[:4]]
    assert [result.flags for result in results] == [0, Flag.ERROR, 0, 0]
    assert results[3].text == "The cursor is opaque."
    assert [(image.tool, image.call) for image in of(entries, Kind.IMAGE)] == [
        ("mcp__wiki__ask_question", "call_4")
    ]


def test_an_output_keeps_every_character_nul_too() -> None:
    failed = of(entries_of(PARENT), Kind.RESULT)[1]
    assert failed.text.startswith('{"output":"1 failed\\n\\u0000')
    (entry,) = fresh().parse(item(type="function_call_output", call_id="c", output="a\x00b")).entries
    assert entry.text == "a\x00b"


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ("Exit code: 0\nWall time: 1 seconds\nOutput:\nok", False),
        ("Exit code: 2\nWall time: 1 seconds\nOutput:\nno", True),
        (
            "Chunk ID: a\nWall time: 1\nProcess exited with code 0\nOutput:\nProcess exited with code 1\n",
            False,
        ),
        ("Chunk ID: a\nWall time: 1\nProcess exited with code 127\nOutput:\n", True),
        ("Chunk ID: a\nWall time: 1\nProcess running with session ID 5\nOutput:\n", False),
        ('{"output":"x","metadata":{"exit_code":0,"duration_seconds":1.0}}', False),
        ('{"output":"\\"exit_code\\":1","metadata":{"exit_code":0,"duration_seconds":1.0}}', False),
        ('{"output":"x","metadata":{"exit_code":-1,"duration_seconds":1.0}}', True),
        ({"content": "x", "success": False}, True),
        ("aborted by user", False),
        ("unsupported call: update_plan", True),
        ("unsupported custom tool call: apply_patch", True),
        ("failed to parse function arguments: missing field `cmd` at line 1 column 12", True),
        ('exec_command failed: CreateProcess { message: "Rejected" }', True),
        ("write_stdin failed: Unknown process id 99999", True),
        ("unable to locate image at `/nope.png`: No such file or directory", True),
    ],
)
def test_a_failed_command_is_an_error_in_every_era(output: Any, failed: bool) -> None:
    (entry,) = fresh().parse(item(type="function_call_output", call_id="c", output=output)).entries
    assert bool(entry.flags & Flag.ERROR) is failed


def test_how_a_tool_ended_repeats_its_result() -> None:
    parsed, _ = read(PARENT)
    ended = [
        line for line in parsed if line.type in ("event_msg/exec_command_end", "event_msg/patch_apply_end")
    ]
    assert [(line.entries[0].call, line.entries[0].flags) for line in ended] == [
        ("call_2", Flag.COPY | Flag.ERROR),
        ("call_3", Flag.COPY),
    ]


def test_a_call_shown_as_failed_gives_an_error_whatever_its_output_says() -> None:
    results = of(entries_of(RECORDED), Kind.RESULT)
    assert [(entry.tool, bool(entry.flags & Flag.ERROR)) for entry in results] == [
        ("mcp__timer__start", True),
        ("exec_command", False),
    ]


def test_a_call_that_fails_after_its_output_leaves_nothing_behind() -> None:
    parser = fresh()
    parser.parse(item(type="function_call", name="exec_command", arguments="{}", call_id="c"))
    output = item(type="function_call_output", call_id="c", output="Chunk ID: a\nProcess running\nOutput:\n")
    failed = {"type": "CommandExecution", "id": "c", "status": "failed", "exit_code": -1}
    parser.parse(output)
    parser.parse(event(type="item_completed", item=failed))
    (entry,) = parser.parse(output).entries
    assert not entry.flags & Flag.ERROR


def test_session_facts() -> None:
    _, facts = read(PARENT)
    assert facts.id == facts.root == PARENT
    assert facts.title == "Why does the nightly sync of harbor stop after one page?"
    assert (facts.cwd, facts.branch, facts.project) == ("/home/ada/harbor", "main", "github.com/ada/harbor")
    assert (facts.model, facts.version) == ("gpt-5.3-codex", "0.118.0")
    assert 0 < facts.started_ms < facts.ended_ms


@pytest.mark.parametrize(
    ("url", "project"),
    [
        ("https://github.com/ada/harbor.git", "github.com/ada/harbor"),
        ("https://ada:s3cr3t@GitHub.com/ada/harbor", "github.com/ada/harbor"),
        ("https://ada:s3/cr3t@github.com/ada/harbor", "github.com/ada/harbor"),
        ("ssh://git@git.example.org:2222/team/sub/harbor.git/", "git.example.org/team/sub/harbor"),
        ("git@github.com:ada/harbor.git", "github.com/ada/harbor"),
        ("file:///srv/git/harbor.git", ""),
        ("/srv/git/harbor.git", ""),
        ("../harbor", ""),
        (r"C:\src\harbor", ""),
        ("", ""),
    ],
)
def test_a_project_is_its_remote_without_credentials(url: str, project: str) -> None:
    assert remote_name(url) == project


def test_the_title_is_what_was_asked_not_what_an_editor_added() -> None:
    parser = fresh()
    parser.parse(
        message(
            "user",
            "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n"
            "## My request for Codex:\nfix the clock\n",
        )
    )
    assert parser.facts.title == "fix the clock"


def test_usage_is_one_a_request_in_disjoint_parts() -> None:
    parsed, _ = read(PARENT)
    usages = [line.usage for line in parsed if line.usage]
    assert [(u.input, u.cache_read, u.output, u.reasoning) for u in usages] == [
        (5000, 0, 120, 64),
        (400, 5000, 130, 26),
        (600, 5000, 150, 30),
    ]
    assert summed(usages) == (16000, 10000, 400, 120)
    assert {usage.model for usage in usages} == {"gpt-5.3-codex"}


def test_a_fork_gives_a_replayed_request_the_key_it_had() -> None:
    parent, _ = read(PARENT)
    fork, facts = read(FORK)
    parent_keys = [line.usage.key for line in parent if line.usage]
    fork_keys = [line.usage.key for line in fork if line.usage]
    assert fork_keys[:3] == parent_keys
    assert len(fork_keys) == 4
    assert (facts.id, facts.parent, facts.root) == (FORK, PARENT, PARENT)
    assert facts.relation is Relation.FORK
    assert (facts.title, facts.version) == ("Pagination of the syncs", "0.140.0")


def test_a_fork_of_a_fork_goes_back_to_the_first() -> None:
    def meta(id: str, **more: str) -> dict[str, Any]:
        return {"type": "session_meta", "payload": {"id": id, **more}}

    chain = [meta("c", forked_from_id="b"), meta("b", forked_from_id="a"), meta("a")]
    count = token_count((10, 0, 1), (10, 0, 1))
    keys = set()
    for start in (0, 1, 2):
        parser = fresh()
        for record in chain[start:]:
            parser.parse(record)
        usage = parser.parse(count).usage
        assert usage is not None
        keys.add(usage.key)
        assert parser.facts.root == "a"
    assert len(keys) == 1


def test_a_subagent_that_began_fresh_has_keys_of_its_own() -> None:
    parsed, facts = read(SUBAGENT)
    assert (facts.relation, facts.parent, facts.root) == (Relation.SUBAGENT, PARENT, PARENT)
    (usage,) = (line.usage for line in parsed if line.usage)
    assert usage.key.startswith(f"codex:{SUBAGENT}:")
    assert usage.key not in {line.usage.key for line in read(PARENT)[0] if line.usage}


def test_in_a_subagent_nobody_types() -> None:
    parsed, facts = read(SUBAGENT)
    entries = [entry for line in parsed for entry in line.entries]
    assert all(entry.flags & Flag.SIDECHAIN for entry in entries)
    assert [entry.text for entry in of(entries, Kind.CONTEXT)] == ["List every caller of pages()"]
    assert not of(entries, Kind.PROMPT)
    assert facts.title == "List every caller of pages()"


def test_a_subagent_that_was_given_its_parents_history_counts_it_once() -> None:
    parsed, facts = read(INFORMED)
    keys = [line.usage.key for line in parsed if line.usage]
    assert keys[0] == next(line.usage.key for line in read(PARENT)[0] if line.usage)
    assert keys[1].startswith(f"codex:{PARENT}:")
    assert (facts.id, facts.relation) == (INFORMED, Relation.SUBAGENT)


def test_a_subagent_that_replays_its_parent_shares_its_keys() -> None:
    parser = fresh()
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": "p", "depth": 1}}}
    parser.parse({"type": "session_meta", "payload": {"id": "s", "source": spawn}})
    parser.parse({"type": "session_meta", "payload": {"id": "p"}})
    usage = parser.parse(token_count((10, 0, 1), (10, 0, 1))).usage
    assert usage is not None
    assert usage.key.startswith("codex:p:")
    assert parser.facts.id == "s"


def test_a_recorded_response_is_counted_by_its_record_alone() -> None:
    """The client died before the first token_count, and its totals lack that response ever after."""
    parsed, facts = read(RECORDED)
    usages = [line.usage for line in parsed if line.usage]
    assert summed(usages) == (1900, 1000, 50, 15)
    assert [line.type for line in parsed if line.usage] == ["token_usage_record"] * 2
    assert all(usage.key.startswith(f"codex:{RECORDED}:") for usage in usages)
    assert {usage.model for usage in usages} == {"gpt-5.5"}
    assert (facts.relation, facts.parent, facts.root) == (Relation.SUBAGENT, PARENT, PARENT)


def test_a_replayed_record_keeps_the_key_its_thread_gave_it() -> None:
    record = next(r for r in read_records(path_of(RECORDED)) if r["type"] == "token_usage_record")
    own = next(line.usage for line in read(RECORDED)[0] if line.usage)
    fork = fresh()
    fork.parse({"type": "session_meta", "payload": {"id": "f", "forked_from_id": RECORDED}})
    usage = fork.parse(record).usage
    assert own is not None
    assert usage is not None
    assert usage.key == own.key


def test_the_title_of_a_subagent_is_its_task_not_what_its_parent_was_asked() -> None:
    parsed, facts = read(RECORDED)
    contexts = of([entry for line in parsed for entry in line.entries], Kind.CONTEXT)
    assert [entry.text for entry in contexts] == ["Make the syncs faster", "Measure one sync"]
    assert facts.title == "Measure one sync"


@pytest.mark.parametrize("count", [-1, 2**70, 1e300, float("nan"), True, "12", None, [1]])
def test_what_cannot_be_a_count_counts_nothing(count: Any) -> None:
    usage = fresh().parse(token_count((10, 0, 1), (count, 0, 1))).usage
    assert usage is not None
    assert usage.input == 0


def test_tokens_written_to_the_cache_are_taken_out_of_input_that_holds_them() -> None:
    within = token_count((100, 60, 5), (100, 60, 5), cache_write_input_tokens=30, total_tokens=105)
    usage = fresh().parse(within).usage
    assert usage is not None
    assert (usage.input, usage.cache_read, usage.cache_write_5m) == (10, 60, 30)
    apart = token_count((100, 60, 5), (100, 60, 5), cache_write_input_tokens=30, total_tokens=135)
    usage = fresh().parse(apart).usage
    assert usage is not None
    assert (usage.input, usage.cache_read, usage.cache_write_5m) == (40, 60, 30)


def test_compaction_is_a_boundary_and_does_not_say_everything_again() -> None:
    parsed, _ = read(FORK)
    (line,) = (line for line in parsed if line.type == "compacted")
    (entry,) = line.entries
    assert (entry.kind, entry.text, entry.flags) == (Kind.SUMMARY, "", Flag.BOUNDARY)


def test_a_turn_item_is_an_entry_unless_it_repeats_a_response_item() -> None:
    entries = entries_of(PAGINATED)
    assert [entry.text for entry in of(entries, Kind.PROMPT)] == ["Explain the retry policy"]
    assert [entry.text for entry in of(entries, Kind.ANSWER)] == [
        "Five tries, doubling waits.",
        "1. Cap the wait\n2. Add jitter",
        "Only the screen saw this.",
    ]


def test_a_turn_item_does_not_claim_the_id_of_the_item_it_shows() -> None:
    parsed, _ = read(PAGINATED)
    ids = [line.uuid for line in parsed if line.uuid]
    assert ids == ["msg_u1", "msg_a1"]


def test_the_bare_era() -> None:
    parsed, facts = read(BARE)
    assert (facts.id, facts.cwd) == (BARE, "/home/ada/harbor")
    assert (facts.project, facts.title) == ("github.com/ada/harbor", "Add a --version flag to harbor")
    kinds = [entry.kind for line in parsed for entry in line.entries]
    assert kinds == [
        Kind.EVENT,
        Kind.EVENT,
        Kind.CONTEXT,
        Kind.PROMPT,
        Kind.THOUGHT,
        Kind.CALL,
        Kind.RESULT,
        Kind.CALL,
        Kind.RESULT,
        Kind.EVENT,
        Kind.ANSWER,
    ]
    assert all(line.known for line in parsed)


def test_the_document_era() -> None:
    path = path_of(DOCUMENT)
    source = CODEX.recognise(path, head_of(path))
    assert source is not None
    parser = CODEX.parser(source, {})
    parsed = parser.document(path.read_bytes())
    assert [entry.kind for entry in parsed.entries] == [Kind.PROMPT, Kind.CALL, Kind.RESULT, Kind.ANSWER]
    assert parsed.known
    assert (parser.facts.id, parser.facts.title) == (DOCUMENT, "Rename harbor.util to harbor.text")
    assert not parser.document(b"not json").known


def test_errors_and_interruptions_are_events() -> None:
    parsed, _ = read(SUBAGENT)
    assert [(line.entries[0].text, line.entries[0].flags) for line in parsed[-2:]] == [
        ("interrupted", Flag.SIDECHAIN),
        ("stream disconnected", Flag.ERROR | Flag.SIDECHAIN),
    ]


def test_a_review_and_a_turn_that_failed_say_so() -> None:
    parsed, _ = read(RECORDED)
    assert all(line.known for line in parsed)
    assert [(line.entries[0].text, line.entries[0].flags) for line in parsed[-2:]] == [
        ("Nothing to fix.", Flag.SIDECHAIN),
        ("The server said no.", Flag.ERROR | Flag.SIDECHAIN),
    ]


def test_unknown_types_are_counted_by_name() -> None:
    parsed, _ = read(FORK)
    assert [line.type for line in parsed if not line.known] == [
        "hologram_state",
        "event_msg/tea_ready",
        "response_item/mind_reading",
    ]
