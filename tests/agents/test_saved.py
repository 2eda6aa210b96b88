"""The lines of saved threads as a source: any of them parses, and none is searched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.registry import agent_of, agents
from recollect.agents.saved import SavedThreads, curated_file
from recollect.light.sources import is_conversation
from recollect.testing.agents import (
    JSON,
    assert_resumes,
    assert_well_formed,
    head_with,
    in_pieces,
    mutated,
    whole,
)
from recollect.values.records import Flag, Kind

FILE = curated_file("3f2a9c01-0000-4000-8000-000000000001")
THREAD = {
    "type": "thread", "id": FILE.session, "name": "auth", "description": "OAuth tokens", "created_ms": 5_000,
    "budget_tokens": 900, "project": "harbor",
    "pieces": [{"ids": ["aa", "bb.1"], "cuts": {"aa": [0, 9]}, "tokens": 12, "score": 0.5}],
}  # fmt: skip
EDITS: list[dict[str, Any]] = [
    {"type": "edit", "time_ms": 6_000, "op": "pin", "piece": 1, "name": "not a title"},
    {"type": "edit", "time_ms": 7_000, "op": "rename", "name": "auth flow"},
    {"type": "edit", "time_ms": 8_000, "op": "move", "piece": 1, "to": 1},
]
ADAPTER = SavedThreads()


def test_it_is_known_by_name_but_finds_nothing_on_a_disk() -> None:
    assert agent_of("recollect").version == ADAPTER.version
    assert ADAPTER not in agents()
    assert ADAPTER.roots(Path("/home/ada"), {}) == []
    assert ADAPTER.recognise(Path(FILE.path), head_with(THREAD)) is None
    assert [is_conversation(agent) for agent in ("claude", "codex", "recollect")] == [True, True, False]


def test_a_thread_is_a_session_with_its_last_name_and_times() -> None:
    *_, (_, facts) = whole(ADAPTER, FILE, [THREAD, EDITS[0]])
    assert facts.title == "auth"
    *_, (_, facts) = whole(ADAPTER, FILE, [THREAD, *EDITS])
    assert (facts.agent, facts.id, facts.root) == ("recollect", FILE.session, FILE.session)
    assert (facts.title, facts.project) == ("auth flow", "harbor")
    assert (facts.started_ms, facts.ended_ms) == (5_000, 8_000)


def test_nothing_of_it_is_searched() -> None:
    for parsed, _ in whole(ADAPTER, FILE, [THREAD, *EDITS]):
        assert parsed.known
        assert [entry.kind for entry in parsed.entries] == [Kind.EVENT]
        assert all(entry.flags & Flag.INJECTED for entry in parsed.entries)


def test_numbers_and_names_out_of_all_bounds_are_cut() -> None:
    parsed, facts = whole(ADAPTER, FILE, [{**THREAD, "created_ms": 2**53, "project": "x" * 9_999}])[0]
    assert_well_formed(parsed)
    assert len(facts.project) == 1_000


@given(JSON)
def test_what_is_no_record_of_ours_has_no_text(record: Any) -> None:
    parsed = ADAPTER.parser(FILE, {}).parse(record)
    assert_well_formed(parsed)
    assert not parsed.known
    assert not any(entry.text for entry in parsed.entries)


@given(data=st.data())
def test_a_record_with_anything_in_it_parses_and_goes_on_from_any_line(data: st.DataObject) -> None:
    drawn = data.draw(st.lists(st.sampled_from([THREAD, *EDITS]), min_size=1, max_size=5))
    records = [mutated(data, record) for record in drawn]
    cuts = data.draw(st.lists(st.integers(1, 5), max_size=3))
    outcome = whole(ADAPTER, FILE, records)
    for parsed, _ in outcome:
        assert_well_formed(parsed)
    assert repr(in_pieces(ADAPTER, FILE, records, cuts)) == repr(outcome)
    parser = ADAPTER.parser(FILE, {})
    for record in records:
        parser.parse(record)
    assert_resumes(ADAPTER, FILE, json.loads(json.dumps(parser.state())))
