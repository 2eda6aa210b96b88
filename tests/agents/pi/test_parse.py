"""pi's sessions, of version 1 and as trees. The fixtures are invented; their shapes are real."""

from __future__ import annotations

import json
import shutil
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from tests.support import DATA, corpus
from tests.support.memories import open_memory, sources_of

from recollect.agents.pi.agent import AGENT as PI
from recollect.agents.pi.paths import session_folder, session_in
from recollect.testing.agents import AgentContract, AgentCorpus, head_with, read_records
from recollect.values.records import Entry, Flag, Kind, Relation, SourceFile

FOLDER = DATA / "pi"
PROJECT = FOLDER / "--home-ada-harbor--"
TREE, FORK, OLD = (
    "01a1e000-0000-7000-8000-00000000000a",
    "01a1e100-0000-7000-8000-00000000000b",
    "01a1e200-0000-7000-8000-00000000000c",
)


class TestPi(AgentContract):
    agent = PI
    fixtures = FOLDER
    envelopes = (
        {"type": "soothsayer", "id": "x"},
        {"type": "message", "id": "x", "message": {"role": "soothsayer", "content": []}},
        {"type": "message", "message": {"role": "user", "content": [{"type": "soothsayer"}]}},
        {"type": "message", "message": {"role": "assistant", "content": [{"type": "soothsayer"}]}},
    )


@pytest.mark.corpus
class TestPiCorpus(AgentCorpus):
    agent = PI
    corpus = corpus("pi")


def parsed(name: str) -> list[Entry]:
    path = next(PROJECT.glob(f"*{name}.jsonl"))
    parser = PI.parser(SourceFile("pi", str(path), session=name), {})
    return [entry for record in read_records(path) for entry in parser.parse(record).entries]


def told(entries: list[Entry]) -> list[tuple[str, str]]:
    return [(entry.kind.name, entry.text) for entry in entries]


def ingest(store: Path, *paths: Path) -> None:
    with open_memory(store) as memory:
        memory.ingest(list(paths))
        assert memory.check() == []


def shown(store: Path, session: str) -> list[tuple[str, str]]:
    with open_memory(store) as memory, memory.view() as view:
        return told([each.entry for each in view.entries(view.find_session(session))])


def usage(store: Path) -> list[tuple[int, ...]]:
    names = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning")
    with open_memory(store) as memory, memory.view() as view:
        columns = view.usage()
        return sorted(zip(*(getattr(columns, name).tolist() for name in names), strict=True))


# -- what is said ----------------------------------------------------------------------------------


def test_a_conversation_is_what_was_said_thought_called_and_answered() -> None:
    entries = parsed(TREE)
    assert told(entries)[:16] == [
        ("EVENT", ""),
        ("EVENT", "claude-sonnet-4-5"),
        ("EVENT", "medium"),
        ("CONTEXT", "You keep a lighthouse.\n<tools>\n- bash\n</tools>"),
        ("CONTEXT", '<file name="/home/ada/harbor/lamp.py">\nlamp = "off"\n</file>'),
        ("CONTEXT", '<file name="/home/ada/harbor/red.png"></file>'),
        ("PROMPT", "Why is the lamp of the lighthouse off? ☃"),
        ("IMAGE", ""),
        ("THOUGHT", "Look at the lamp first."),
        ("ANSWER", "I look."),
        ("CALL", '{"path":"lamp.py"}'),
        ("CALL", '{"command":"make lamp"}'),
        ("RESULT", 'lamp = "off"'),
        ("IMAGE", ""),
        ("RESULT", "ImportError: no module named wick\n\nCommand exited with code 2"),
        ("CALL", entries[15].text),
    ]
    assert told(entries)[16:] == [
        ("RESULT", "Successfully replaced 1 block(s)"),
        ("ANSWER", "The lamp is on now."),
        ("PROMPT", "And the bell? Ring it twice."),
        ("THOUGHT", ""),
        ("ANSWER", "The bell rang twi"),
        ("EVENT", "Request was aborted."),
        ("EVENT", "$ ring --once\nbell: rope missing"),
        ("PROMPT", "Try once more"),
        ("EVENT", "429 too many requests"),
        ("EVENT", "cache_warm"),
        ("EVENT", "tide-clock"),
        ("EVENT", "lamp works"),
        ("SUMMARY", "The bell was tried, its rope is missing."),
        ("CONTEXT", entries[29].text),
        ("PROMPT", "When is the next high tide?"),
        ("CONTEXT", "It is full moon today."),
        ("ANSWER", "At noon."),
        ("SUMMARY", "The lamp was switched on; high tide is at noon."),
        ("EVENT", "At noon, or so."),
        ("EVENT", "Lamp and tides"),
        ("PROMPT", "Write it on the board"),
        ("CALL", '{"path":"/home/ada/harbor/board.txt","content":"high tide: noon\\n"}'),
    ]


def test_each_result_names_its_call_and_tool_and_says_whether_it_failed() -> None:
    results = [entry for entry in parsed(TREE) if entry.kind is Kind.RESULT]
    assert [(e.call, e.tool, e.flags & Flag.ERROR) for e in results] == [
        ("toolu_1", "read", 0),
        ("toolu_2", "bash", Flag.ERROR),
        ("toolu_3", "edit", 0),
    ]


def test_only_what_a_person_said_is_a_prompt_and_what_restarts_the_context_says_so() -> None:
    entries = parsed(TREE)
    for entry in entries:
        put_there = entry.kind in (Kind.CONTEXT, Kind.SUMMARY) or entry.text.startswith("$ ring")
        assert bool(entry.flags & Flag.META) is put_there
    assert [e.text[:8] for e in entries if e.flags & Flag.BOUNDARY] == ["The lamp"]
    failed = [e.text for e in entries if e.flags & Flag.ERROR and e.kind is Kind.EVENT]
    assert failed == ["$ ring --once\nbell: rope missing", "429 too many requests"]


def test_version_1_has_no_ids_and_says_the_same() -> None:
    assert told(parsed(OLD)) == [
        ("EVENT", ""),
        ("PROMPT", "Count the boats in the harbor"),
        ("ANSWER", "I count."),
        ("CALL", '{"path":"boats"}'),
        ("RESULT", "heron\ntern"),
        ("SUMMARY", "Boats are counted."),
        ("CONTEXT", "A buoy drifts by."),
        ("ANSWER", "Two boats: heron and tern."),
    ]


def test_a_session_knows_its_folder_name_model_and_parent(tmp_path: Path) -> None:
    ingest(tmp_path / "memory.h5", FOLDER)
    with open_memory(tmp_path / "memory.h5") as memory, memory.view() as view:
        tree, fork, old = (view.find_session(id_).facts for id_ in (TREE, FORK, OLD))
    assert (tree.cwd, tree.title, tree.model) == ("/home/ada/harbor", "Lamp and tides", "claude-sonnet-4-5")
    assert (tree.parent, tree.relation, tree.ended_ms - tree.started_ms) == ("", Relation.NONE, 27 * 5_000)
    assert (fork.parent, fork.relation, fork.model) == (TREE, Relation.FORK, "gpt-5-2026-03-01")
    assert fork.ended_ms - fork.started_ms == 120_000, "what was copied tells no time of the fork"
    assert (old.title, old.model) == ("Count the boats in the harbor", "claude-sonnet-4-5")


# -- counted once ----------------------------------------------------------------------------------


def test_tokens_are_counted_once_whoever_used_them(tmp_path: Path) -> None:
    """Answers, summaries, tools that ask a model, a cache kept warm; in a fork nothing a second time."""
    ingest(tmp_path / "memory.h5", FOLDER)
    assert usage(tmp_path / "memory.h5") == sorted(
        [
            (600, 50, 400, 100, 20, 20),
            *[(i, o, 0, 0, 0, 0) for i, o in [(100, 30), (11, 3), (200, 12), (70, 7), (300, 4), (900, 80)]],
            (0, 0, 5000, 0, 0, 0),
            *[(i, o, 0, 0, 0, 0) for i, o in [(400, 20), (50, 5), (40, 8), (60, 9)]],
        ]
    )


def test_a_fork_shows_all_of_it_and_its_parents_words_are_found_once(tmp_path: Path) -> None:
    ingest(tmp_path / "memory.h5", FOLDER)
    assert shown(tmp_path / "memory.h5", FORK)[1:] == [
        *told(parsed(TREE))[1:18],
        ("PROMPT", "Paint the lighthouse blue instead"),
        ("ANSWER", "It is blue."),
    ]
    with open_memory(tmp_path / "memory.h5") as memory:
        assert len(memory.search('"lamp of the lighthouse off"', mode="text").hits) == 1


def migrated(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As pi rewrites a file of version 1 when it opens it."""
    head, *others = records
    made: list[dict[str, Any]] = [{**head, "version": 3}]
    for number, record in enumerate(others):
        body = json.loads(json.dumps(record).replace("hookMessage", "custom"))
        if body.pop("firstKeptEntryIndex", 0):
            body["firstKeptEntryId"] = "c0000001"
        made.append({**body, "id": f"c000000{number}", "parentId": made[-1]["id"] if number else None})
    return made


def test_a_file_of_version_1_that_pi_rewrote_is_shown_once_and_goes_on(tmp_path: Path) -> None:
    file = tmp_path / f"2025-11-20T08-00-00-000Z_{OLD}.jsonl"
    shutil.copy(next(PROJECT.glob(f"*{OLD}.jsonl")), file)
    ingest(tmp_path / "memory.h5", file)
    before, spent = shown(tmp_path / "memory.h5", OLD), usage(tmp_path / "memory.h5")
    more = {
        "type": "message",
        "id": "c0000009",
        "parentId": "c0000005",
        "timestamp": "2026-02-01T08:00:00.000Z",
        "message": {"role": "user", "content": "And the gulls?", "timestamp": 1769932800000},
    }
    lines = [*migrated(read_records(file)), more]
    file.write_text("".join(json.dumps(each) + "\n" for each in lines))
    ingest(tmp_path / "memory.h5", file)
    after = shown(tmp_path / "memory.h5", OLD)
    assert [each for each in after if each != ("EVENT", "")] == [*before[1:], ("PROMPT", "And the gulls?")]
    assert usage(tmp_path / "memory.h5") == spent


# -- what else is asked of it ----------------------------------------------------------------------


def test_blame_how_and_fix_know_its_tools(tmp_path: Path) -> None:
    ingest(tmp_path / "memory.h5", FOLDER)
    with open_memory(tmp_path / "memory.h5") as memory:
        touches = memory.blame("/home/ada/harbor/lamp.py")
        assert [(t.session.facts.id, t.changes) for t in touches] == [(TREE, 1)]
        assert [(edit.old, edit.new) for edit in touches[0].edits] == [('lamp = "off"', 'lamp = "on"')]
        board = memory.blame("/home/ada/harbor/board.txt")
        assert [edit.new for touch in board for edit in touch.edits] == ["high tide: noon\n"]
        assert memory.how("make lamp")
        assert memory.fix("ImportError: no module named wick")


@pytest.mark.parametrize(
    "first",
    [
        {"type": "session", "id": 7, "timestamp": "2026-01-01T00:00:00.000Z"},
        {"type": "session", "id": "x"},
        {"type": "session_meta", "id": "x", "timestamp": "2026-01-01T00:00:00.000Z"},
    ],
)
def test_a_file_that_does_not_begin_with_a_session_is_not_pis(first: dict[str, Any]) -> None:
    assert PI.recognise(PurePosixPath("/x/a.jsonl"), head_with(first)) is None


def test_a_session_is_known_by_its_first_record_whatever_its_name() -> None:
    head = head_with({"type": "session", "id": "s1", "timestamp": "2026-01-01T00:00:00.000Z"})
    found = PI.recognise(PurePosixPath("/backup/notes.jsonl"), head)
    assert found == SourceFile("pi", "/backup/notes.jsonl", session="s1")
    assert PI.recognise(PurePosixPath("/backup/notes.txt"), head) is None


@pytest.mark.parametrize(
    ("path", "session"),
    [
        (f"/home/ada/x/2026-05-04T09-00-00-000Z_{TREE}.jsonl", TREE),
        (r"C:\Users\ada\2026-05-04T09-00-00-000Z_my.own_id.jsonl", "my.own_id"),
        ("/home/ada/named.jsonl", "named"),
    ],
)
def test_a_parent_is_named_by_its_file(path: str, session: str) -> None:
    assert session_in(path) == session


def test_sessions_are_looked_for_where_pi_is_told_to_keep_them(tmp_path: Path) -> None:
    agent = tmp_path / ".pi" / "agent"
    usual = agent / "sessions"
    assert PI.roots(tmp_path, {}) == [usual]
    assert session_folder(tmp_path, {}, "/srv/a:b") == usual / "--srv-a-b--"
    assert PI.roots(tmp_path, {"PI_CODING_AGENT_DIR": "~/other"}) == [tmp_path / "other" / "sessions"]
    agent.mkdir(parents=True)
    for written, found in (("~/talks", [usual, tmp_path / "talks"]), ("talks", [usual]), (7, [usual])):
        (agent / "settings.json").write_text(json.dumps({"sessionDir": written}))
        assert PI.roots(tmp_path, {}) == found
    (agent / "settings.json").write_text('{"sessionDir": "/talks"}')
    assert session_folder(tmp_path, {}, "/srv") == PurePosixPath("/talks")
    assert PI.roots(tmp_path, {"PI_CODING_AGENT_SESSION_DIR": "/said"}) == [PurePosixPath("/said")]


@pytest.mark.corpus
def test_real_sessions_come_back_and_cost_what_pi_says(tmp_path: Path) -> None:
    folder = corpus("pi")
    if folder is None:
        pytest.skip("there is no folder of real logs here")
    files = sorted(folder.rglob("*.jsonl"))
    ingest(tmp_path / "memory.h5", folder)
    with open_memory(tmp_path / "memory.h5") as memory:
        assert sources_of(memory) == {str(file): file.read_bytes() for file in files}
        with memory.view() as view:
            assert all(known for _, known in view.types().values())
    records = [record for file in files for record in read_records(file)]
    spent = [record["message"]["usage"] for record in records if "usage" in record.get("message", {})]
    counted = usage(tmp_path / "memory.h5")
    assert len(counted) == sum(any(type(each) is int and each for each in n.values()) for n in spent)
    assert sum(row[0] for row in counted) == sum(numbers["input"] for numbers in spent)
    assert sum(row[1] for row in counted) == sum(numbers["output"] for numbers in spent)
    assert sum(row[2] for row in counted) == sum(numbers["cacheRead"] for numbers in spent)
