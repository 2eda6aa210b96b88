"""Qwen Code's transcripts. The fixtures are invented; their shapes are real."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from tests.support import DATA
from tests.support.memories import open_memory

from recollect.agents.qwen.agent import AGENT as QWEN
from recollect.testing.agents import AgentContract, head_with, read_records
from recollect.values.records import Entry, Flag, Kind, Relation, Role, SourceFile

FOLDER = DATA / "qwen"
PROJECT = FOLDER / "projects" / "-home-ada-harbor"
TALK = "5a1e0000-0000-4000-8000-00000000000a"
FORK = "5a1e0000-0000-4000-8000-00000000000b"


class TestQwen(AgentContract):
    agent = QWEN
    fixtures = FOLDER
    envelopes = (
        {"type": "soothsayer", "uuid": "x"},
        {"type": "system", "subtype": "soothsayer", "systemPayload": {}},
    )


def parsed() -> list[Entry]:
    path = PROJECT / "chats" / f"{TALK}.jsonl"
    parser = QWEN.parser(SourceFile("qwen", str(path), session=TALK), {})
    return [entry for record in read_records(path) for entry in parser.parse(record).entries]


def told(entries: list[Entry]) -> list[tuple[str, str]]:
    """What is said; bookkeeping without words tells nothing."""
    return [(e.kind.name, e.text) for e in entries if e.text or e.kind is not Kind.EVENT]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with open_memory(tmp_path / "memory.h5") as memory:
        memory.ingest([FOLDER])
        assert memory.check() == []
    return tmp_path / "memory.h5"


def shown(store: Path, session: str) -> list[tuple[str, str]]:
    with open_memory(store) as memory, memory.view() as view:
        return told([each.entry for each in view.entries(view.find_session(session))])


def test_a_conversation_is_what_was_said_thought_called_and_answered(store: Path) -> None:
    assert shown(store, TALK) == [
        ("PROMPT", "Why does the foghorn stay silent? ☃ @red.png"),
        ("CONTEXT", "\n--- Content from referenced files ---"),
        ("CONTEXT", "\nContent from red.png:\n"),
        ("IMAGE", ""),
        ("CONTEXT", "\n--- End of content ---"),
        ("THOUGHT", "The horn needs steam."),
        ("ANSWER", "I look."),
        ("CALL", '{"file_path":"/home/ada/harbor/horn.py"}'),
        ("CALL", '{"command":"make horn"}'),
        ("RESULT", "horn = 0"),
        ("IMAGE", ""),
        ("RESULT", "Command: make horn\nOutput: ImportError: no module named steam\nExit Code: 2"),
        ("CALL", '{"file_path":"/home/ada/harbor/horn.py","old_string":"horn = 0","new_string":"horn = 1"}'),
        ("RESULT", "The file was edited."),
        ("ANSWER", "The foghorn sounds again."),
        ("PROMPT", "Louder, please"),
        ("CONTEXT", "<task-notification>The kettle is done.</task-notification>"),
        ("PROMPT", "Oil the horn instead"),
        ("CONTEXT", "<qwen:user-prompt-submit-context>\nfog tonight\n</qwen:user-prompt-submit-context>"),
        ("EVENT", "429 quota exceeded"),
        ("ANSWER", "Oiled."),
        ("EVENT", "/compress"),
        ("SUMMARY", "<state_snapshot>The foghorn was mended and oiled.</state_snapshot>"),
        ("EVENT", "Foghorn repair"),
        ("PROMPT", "And who hears it?"),
        ("CALL", '{"file_path":"/home/ada/harbor/log.txt","content":"heard: gulls\\n"}'),
    ]


def test_what_was_rewound_is_kept_and_neither_shown_nor_found(store: Path) -> None:
    assert ("PROMPT", "Paint the horn green") in told(parsed())
    assert not [text for _, text in shown(store, TALK) if "green" in text]
    with open_memory(store) as memory:
        assert memory.search("green", mode="text").hits == []
        assert memory.search("foghorn", mode="text").hits


def test_a_rewind_to_a_prompt_that_is_forgotten_takes_nothing_back() -> None:
    parser = QWEN.parser(SourceFile("qwen", "/x.jsonl", session=TALK), {})
    record = {"type": "system", "subtype": "rewind", "uuid": "r", "parentUuid": "p", "systemPayload": {}}
    assert parser.parse(record).rewinds == ""
    for number in range(151):
        said = {"role": "user", "parts": [{"text": "hm"}]}
        parser.parse({"type": "user", "uuid": f"u{number}", "parentUuid": f"p{number}", "message": said})
    assert parser.parse({**record, "parentUuid": "p0"}).rewinds == ""
    assert parser.parse({**record, "parentUuid": "p1"}).rewinds == "u1"


def test_results_name_their_calls_and_only_what_a_person_said_is_a_prompt() -> None:
    entries = parsed()
    results = [(e.call, e.tool, e.flags & Flag.ERROR) for e in entries if e.kind is Kind.RESULT]
    assert results == [
        ("call_1", "read_file", 0),
        ("call_2", "run_shell_command", Flag.ERROR),
        ("call_3", "edit", 0),
    ]
    for entry in entries:
        assert bool(entry.flags & Flag.META) is (entry.kind in (Kind.CONTEXT, Kind.SUMMARY))
    assert [e.text for e in entries if e.kind is Kind.EVENT and e.flags & Flag.ERROR] == [
        "429 quota exceeded"
    ]
    assert [e.kind for e in entries if e.flags & Flag.BOUNDARY] == [Kind.SUMMARY]


def test_a_tool_that_is_called_by_another_is_the_one_that_is_called() -> None:
    parser = QWEN.parser(SourceFile("qwen", "/x.jsonl", session=TALK), {})
    bridge = {"name": "mcp__recollect__search_memory", "arguments": {"query": "fog"}}
    call = {"functionCall": {"id": "c", "name": "tool_call", "args": bridge}}
    (asked,) = parser.parse({"type": "assistant", "message": {"parts": [call]}}).entries
    given = {
        "id": "c",
        "name": "tool_call",
        "response": {"output": "<recollect-memory>fog</recollect-memory>"},
    }
    (got,) = parser.parse(
        {"type": "tool_result", "message": {"parts": [{"functionResponse": given}]}}
    ).entries
    assert (asked.tool, asked.text) == ("mcp__recollect__search_memory", '{"query":"fog"}')
    assert got.tool == asked.tool
    assert asked.flags & got.flags & Flag.INJECTED


def test_tokens_are_counted_once_and_own_requests_of_the_client_too(store: Path) -> None:
    names = ("input", "output", "cache_read", "reasoning")
    with open_memory(store) as memory, memory.view() as view:
        columns = view.usage()
        counted = sorted(zip(*(getattr(columns, name).tolist() for name in names), strict=True))
    answers = [(300, 10), (320, 8), (330, 6), (340, 5), (100, 9), (55, 5), (90, 3)]
    assert counted == sorted([(600, 50, 400, 20), (600, 30, 100, 0), *((i, o, 0, 0) for i, o in answers)])


def test_thoughts_that_are_counted_beside_the_answer_are_output_too() -> None:
    parser = QWEN.parser(SourceFile("qwen", "/x.jsonl", session=TALK), {})
    numbers = {
        "promptTokenCount": 9,
        "candidatesTokenCount": 4,
        "thoughtsTokenCount": 3,
        "totalTokenCount": 16,
    }
    (usage,) = parser.parse({"type": "assistant", "uuid": "u", "usageMetadata": numbers}).usages
    assert (usage.input, usage.output, usage.reasoning) == (9, 7, 3)


def test_a_session_knows_its_folder_branch_title_and_those_around_it(store: Path) -> None:
    with open_memory(store) as memory, memory.view() as view:
        talk, fork, scout = (view.find_session(id_).facts for id_ in (TALK, FORK, "agent-scout-7"))
    assert (talk.cwd, talk.branch, talk.version) == ("/home/ada/harbor", "main", "0.24.4")
    assert (talk.title, talk.model, talk.relation) == ("Foghorn repair", "qwen3-coder-plus", Relation.NONE)
    assert (fork.parent, fork.relation) == (TALK, Relation.FORK)
    assert (scout.parent, scout.relation, scout.title) == (TALK, Relation.SUBAGENT, "Watch the horizon")
    assert shown(store, "agent-scout-7")[:2] == [
        ("CONTEXT", "Look for fog on the horizon"),
        ("ANSWER", "I look out."),
    ]


def test_blame_how_and_fix_know_its_tools(store: Path) -> None:
    with open_memory(store) as memory:
        touches = memory.blame("/home/ada/harbor/horn.py")
        assert (touches[0].edits[0].old, touches[0].edits[0].new) == ("horn = 0", "horn = 1")
        assert [t.session.facts.id for t in memory.blame("/home/ada/harbor/log.txt")] == [TALK]
        assert memory.how("make horn")
        assert memory.fix("ImportError: no module named steam")


# -- which files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"projects/-srv/chats/{TALK}.jsonl", (Role.MAIN, TALK, "")),
        (f"projects/-srv/chats/archive/{TALK}.jsonl", (Role.MAIN, TALK, "")),
        (f"projects/-srv/subagents/{TALK}/agent-a_1.jsonl", (Role.SUBAGENT, "agent-a_1", TALK)),
        (f"projects/-srv/subagents/{TALK}/agent-a_1.meta.json", (Role.SIDECAR, "agent-a_1", TALK)),
        (f"projects/-srv/chats/{TALK}.runtime.json", None),
        ("usage/token-usage-2026-11.jsonl", None),
        ("usage_record.jsonl", None),
    ],
)
def test_a_file_is_known_by_its_place(path: str, expected: tuple[Role, str, str] | None) -> None:
    found = QWEN.recognise(PurePosixPath("/home/ada/.qwen") / path, head_with({"sessionId": TALK}))
    assert (found and (found.role, found.session, found.parent)) == expected


@pytest.mark.parametrize("changed", [{"type": "note"}, {"message": {"content": []}}, {"version": 3}])
def test_elsewhere_it_is_known_by_its_records(changed: dict[str, Any]) -> None:
    record = read_records(PROJECT / "chats" / f"{TALK}.jsonl")[1]
    found = QWEN.recognise(PurePosixPath("/backup/old.jsonl"), head_with(record))
    assert found == SourceFile("qwen", "/backup/old.jsonl", session=TALK)
    assert QWEN.recognise(PurePosixPath("/backup/old.jsonl"), head_with({**record, **changed})) is None


def test_hooks_find_what_lies_beside_a_transcript_and_back() -> None:
    hooks = QWEN.hooks()
    transcript = str(PROJECT / "chats" / f"{TALK}.jsonl")
    beside = list(hooks.beside(transcript))
    assert [Path(path).name for path in beside] == ["agent-scout-7.jsonl", "agent-scout-7.meta.json"]
    assert {hooks.transcript_of(path) for path in [transcript, *beside]} == {transcript}
    assert hooks.transcript_of("/elsewhere/notes.jsonl") == ""
    assert list(hooks.beside(str(PROJECT / "chats" / f"{FORK}.jsonl"))) == []
