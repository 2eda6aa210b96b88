"""droid's sessions and their settings. The fixtures are invented; their shapes are real."""

from __future__ import annotations

import json
import shutil
from pathlib import Path, PurePosixPath
from typing import Any

from tests.support import DATA
from tests.support.memories import open_memory

from recollect.agents.droid.agent import AGENT as DROID
from recollect.agents.droid.tools import edited
from recollect.memory import Memory
from recollect.testing.agents import AgentContract, head_with
from recollect.values.history import Change
from recollect.values.records import Entry, Flag, Kind, Relation, SessionFacts
from recollect.values.titles import TITLE_CUSTOM

FOLDER = DATA / "droid"
CRANE, BOATS, WINCH = (f"d401d000-0000-4000-8000-00000000000{n}" for n in (1, 2, 3))
LOG = FOLDER / "sessions/-code-harbor" / f"{CRANE}.jsonl"


class TestDroid(AgentContract):
    agent = DROID
    fixtures = FOLDER
    envelopes = (
        {"type": "soothsayer", "id": "x"},
        {"type": "message", "message": {"role": "soothsayer", "content": []}},
        {"type": "message", "message": {"role": "user", "content": [{"type": "soothsayer"}]}},
    )


def shown(memory: Memory, session: str) -> list[Entry]:
    with memory.view() as view:
        return [each.entry for each in view.entries(view.find_session(session))]


def told(entries: list[Entry]) -> list[tuple[str, str]]:
    """What is not mere bookkeeping."""
    return [(e.kind.name, e.text) for e in entries if e.kind is not Kind.EVENT]


def facts_of(memory: Memory, session: str) -> SessionFacts:
    with memory.view() as view:
        return view.find_session(session).facts


def spent(memory: Memory) -> list[tuple[Any, ...]]:
    with memory.view() as view:
        usage = view.usage()
    columns = (usage.input, usage.output, usage.cache_read, usage.cache_write_5m, usage.reasoning)
    return list(zip(*(column.tolist() for column in columns), strict=True))


BEGUN = [
    ("CONTEXT", "<system-reminder>The tools are listed below.</system-reminder>"),
    ("PROMPT", "Oil the crane."),
    ("IMAGE", ""),
    ("THOUGHT", "The clock first."),
    ("ANSWER", "I look."),
    ("CALL", '{"command":"cat clock.txt","riskLevel":"low"}'),
    ("CALL", '{"command":"make oil","riskLevel":"low"}'),
    ("RESULT", "12:00\n\n[Process exited with code 0]"),
    ("RESULT", "Error: Command failed (exit code: 2)\nno rule"),
]


def test_a_session_is_told_in_order(folder: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([FOLDER])
        entries = shown(memory, CRANE)
        crane, boats, winch = (facts_of(memory, id_) for id_ in (CRANE, BOATS, WINCH))
        fork = told(shown(memory, WINCH))
        assert memory.check() == []
    assert report.unknown_types == {}
    assert told(entries) == [
        *BEGUN,
        ("CALL", '{"file_path":"/code/harbor/crane.md","old_str":"dry","new_str":"oiled"}'),
        ("CALL", '{"file_path":"/code/harbor/crane.png"}'),
        ("RESULT", '{"success":true}'),
        ("RESULT", "Image file: crane.png"),
        ("IMAGE", ""),
        ("ANSWER", "The crane is oiled."),
        ("SUMMARY", "The crane was oiled."),
        ("PROMPT", "Open the gate."),
        ("PROMPT", "Stop at noon."),
    ]
    failed = [(e.kind.name, e.text) for e in entries if e.flags & Flag.ERROR]
    assert failed == [
        ("RESULT", "Error: Command failed (exit code: 2)\nno rule"),
        ("EVENT", "BYOK Error: 400 The harbor is closed."),
        ("EVENT", "Turn model_request_rejected"),
    ]
    assert "Turn cancelled" in [entry.text for entry in entries if entry.kind is Kind.EVENT]
    assert [e.text for e in entries if e.flags & Flag.BOUNDARY] == ["The crane was oiled."]
    calls = {entry.call: entry.tool for entry in entries if entry.kind is Kind.CALL}
    assert {entry.call: entry.tool for entry in entries if entry.kind is Kind.RESULT} == calls
    assert (crane.title, crane.cwd, crane.model) == ("The crane and its oil", "/code/harbor", "tide-4")
    assert crane.relation is Relation.NONE
    assert (boats.parent, boats.relation, boats.title) == (CRANE, Relation.SUBAGENT, "Count the boats.")
    assert (winch.parent, winch.relation, winch.title_rank) == (CRANE, Relation.FORK, TITLE_CUSTOM)
    assert fork == [*BEGUN, ("PROMPT", "And the winch?"), ("ANSWER", "The winch is dry.")]


def test_what_a_session_cost_is_the_newest_total_and_no_childs(folder: Path) -> None:
    shutil.copytree(FOLDER, folder / "droid")
    (settings,) = (folder / "droid").rglob("*.settings.json")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder / "droid"])
        assert spent(memory) == [(600, 50, 400, 5, 7)]
        whole = json.loads(settings.read_text())
        whole["tokenUsage"].update(inputTokens=1200, outputTokens=100, cacheReadTokens=800)
        settings.write_text(json.dumps(whole))
        memory.ingest([folder / "droid"])
        assert spent(memory) == [(1200, 100, 800, 5, 7)]


def test_a_title_that_is_written_into_the_first_line_changes_nothing_else(folder: Path) -> None:
    path = folder / LOG.name
    shutil.copy(LOG, path)
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([path])
        before = told(shown(memory, CRANE))
        path.write_text(path.read_text().replace("The crane and its oil", "Oil for the crane", 1))
        memory.ingest([path])
        assert told(shown(memory, CRANE)) == before
        assert facts_of(memory, CRANE).title == "Oil for the crane"
        assert memory.check() == []


def test_a_session_is_known_by_its_first_record_and_settings_by_their_name() -> None:
    start = {"type": "session_start", "id": "s", "title": "x"}
    found = DROID.recognise(PurePosixPath("/x/any.jsonl"), head_with(start))
    assert found is not None
    assert found.session == "s"
    assert DROID.recognise(PurePosixPath("/x/any.jsonl"), head_with({"type": "session_start"})) is None
    for name, known in (("s.settings.json", True), ("settings.json", False), ("s.json", False)):
        found = DROID.recognise(PurePosixPath(f"/x/{name}"), head_with({"tokenUsage": {}}))
        assert (found is not None) is known, name
    assert DROID.recognise(PurePosixPath("/x/s.settings.json"), head_with({"a": 1})) is None


def test_an_edit_says_what_becomes_of_a_file() -> None:
    one = {"file_path": "/a", "old_str": "x", "new_str": "y"}
    assert edited(json.dumps(one)) == [Change("/a", "x", "y")]
    assert edited(json.dumps({"file_path": "/a", "changes": [one]})) == [Change("/a", "x", "y")]
    assert edited('{"old_str"') == []
