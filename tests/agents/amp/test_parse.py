"""Amp's threads. The fixture is invented, its shape from public descriptions: no client was run for it."""

from __future__ import annotations

from pathlib import Path

from tests.support import DATA
from tests.support.memories import open_memory, sources_of

from recollect.agents.amp.agent import AGENT as AMP
from recollect.agents.amp.tools import edited
from recollect.testing.agents import AgentContract
from recollect.values.history import Change
from recollect.values.records import Flag, Kind

FOLDER = DATA / "amp"
THREAD = "T-11111111-2222-4333-8444-555555555555"
EDIT = '{"path":"/code/ropes.md","old_str":"worn","new_str":"new"}'


class TestAmp(AgentContract):
    agent = AMP
    fixtures = FOLDER
    envelopes = ({"role": "soothsayer"}, {"role": "user", "content": [{"type": "soothsayer"}]})


def test_a_thread_is_told_in_order_and_kept_whole(folder: Path) -> None:
    path = FOLDER / "threads" / f"{THREAD}.json"
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([path])
        with memory.view() as view:
            facts = view.find_session(THREAD).facts
            entries = [each.entry for each in view.entries(view.find_session(THREAD))]
            usage = view.usage()
        assert sources_of(memory) == {str(path): path.read_bytes()}
    assert report.unknown_types == {}
    assert [(entry.kind.name, entry.text) for entry in entries] == [
        ("PROMPT", "Which ropes are worn?"),
        ("IMAGE", ""),
        ("THOUGHT", "Look first."),
        ("ANSWER", "I look."),
        ("CALL", '{"cmd":"ls ropes"}'),
        ("CALL", EDIT),
        ("CALL", '{"cmd":"burn rope"}'),
        ("RESULT", "two ropes"),
        ("RESULT", "no such file"),
        ("RESULT", "refused"),
        ("SUMMARY", "Two ropes were seen."),
        ("EVENT", "pwd"),
        ("ANSWER", "Both are worn."),
    ]
    results = [entry for entry in entries if entry.kind is Kind.RESULT]
    assert [entry.tool for entry in results if entry.flags & Flag.ERROR] == ["Bash", "edit_file", "Bash"]
    assert [entry.call for entry in results] == [e.call for e in entries if e.kind is Kind.CALL]
    assert (facts.title, facts.cwd, facts.branch) == ("Ropes on the pier", "/code/old harbor", "ropes")
    assert (facts.model, facts.version) == ("tide-1", "0.0.17")
    columns = (usage.input, usage.output, usage.cache_read, usage.cache_write_5m)
    assert [column.tolist() for column in columns] == [[9, 3], [40, 4], [2000, 0], [100, 0]]


def test_what_an_edit_makes_of_a_file_is_known() -> None:
    assert edited(EDIT) == [Change("/code/ropes.md", "worn", "new")]
    assert edited('{"path":"a"}') == []
