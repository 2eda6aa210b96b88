"""Kiro's sessions. The fixtures are invented, their shapes from public test data: no client was run."""

from __future__ import annotations

from pathlib import Path

from tests.support import DATA
from tests.support.memories import open_memory

from recollect.agents.kiro.agent import AGENT as KIRO
from recollect.testing.agents import AgentContract
from recollect.values.records import Flag, Kind, Relation

FOLDER = DATA / "kiro"
SESSION = "0b5376f2-7e2f-4981-bcbc-671955866000"


class TestKiro(AgentContract):
    agent = KIRO
    fixtures = FOLDER
    envelopes = (
        {"kind": "soothsayer"},
        {"kind": "Prompt", "data": {"content": [{"kind": "soothsayer"}]}},
        {"soothsayer": 1},
    )


def test_a_session_is_told_in_order_and_its_document_says_the_rest(folder: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([FOLDER])
        with memory.view() as view:
            facts = view.find_session(SESSION).facts
            entries = [each.entry for each in view.entries(view.find_session(SESSION))]
    assert report.unknown_types == {}
    assert [(entry.kind.name, entry.text) for entry in entries if entry.kind is not Kind.EVENT] == [
        ("PROMPT", "Who mends the nets?"),
        ("IMAGE", ""),
        ("THOUGHT", "Ask the list."),
        ("ANSWER", "I look."),
        ("CALL", '{"command":"cat nets"}'),
        ("CALL", '{"path":"nets.md"}'),
        ("CALL", '{"command":"mend"}'),
        ("RESULT", "Ada\n"),
        ("RESULT", "no such file"),
        ("RESULT", "no needle"),
        ("ANSWER", "Ada does."),
    ]
    results = [entry for entry in entries if entry.kind is Kind.RESULT]
    assert [entry.tool for entry in results if entry.flags & Flag.ERROR] == ["fs_read", "shell"]
    assert [entry.call for entry in results] == [e.call for e in entries if e.kind is Kind.CALL]
    assert (facts.title, facts.cwd, facts.model) == ("Nets", "/work/harbor", "tide-1")
    assert facts.parent == "98cb06e6-28da-4ba8-8ebe-be6bf1684000"
    assert facts.relation is Relation.SUBAGENT
    assert entries[0].time_ms == 1780841667000
