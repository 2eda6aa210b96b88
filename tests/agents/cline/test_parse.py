"""Cline's sessions and tasks. The fixtures are invented; those of sessions have the shapes of real ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.support import DATA
from tests.support.memories import open_memory, sources_of

from recollect.agents.cline.agent import AGENT as CLINE
from recollect.agents.cline.tools import edited
from recollect.memory import Memory
from recollect.testing.agents import AgentContract
from recollect.values.history import Change
from recollect.values.records import Flag, Kind, Relation, SessionFacts
from recollect.values.stored import StoredEntry

FOLDER = DATA / "cline"
QUAY = "1790000000000_quay1"
SESSION = FOLDER / "sessions" / QUAY
TASK = FOLDER / "tasks" / "1760000000000"


class TestCline(AgentContract):
    agent = CLINE
    fixtures = FOLDER
    envelopes = ({"role": "soothsayer"}, {"role": "user", "content": [{"type": "soothsayer"}]})


def shown(memory: Memory, session: str) -> list[StoredEntry]:
    with memory.view() as view:
        return list(view.entries(view.find_session(session)))


def facts_of(memory: Memory, session: str) -> SessionFacts:
    with memory.view() as view:
        return view.find_session(session).facts


def told(entries: list[StoredEntry]) -> list[tuple[str, str]]:
    """What is not mere bookkeeping, or a copy."""
    seen = [e.entry for e in entries if e.entry.kind is not Kind.EVENT and not e.entry.flags & Flag.COPY]
    return [(entry.kind.name, entry.text) for entry in seen]


SQUEAK = [
    ("PROMPT", "Why does the quay crane squeak? 中文 [image: crane.png]"),
    ("IMAGE", ""),
    ("THOUGHT", "Grease, perhaps."),
    ("ANSWER", "I look at the log."),
    ("CALL", '{"commands":["cat crane.log","make grease"]}'),
    ("CALL", '{"files":[{"path":"/code/harbor/crane.png"}]}'),
    ("RESULT", "squeak\n\n[Command exited with code 2]\nno rule\n"),
    ("RESULT", "Successfully read image"),
    ("IMAGE", ""),
    ("CALL", '{"path":"/code/harbor/crane.md","old_text":"dry","new_text":"greased"}'),
    ("CALL", '{"to":"island"}'),
    ("RESULT", "Edited /code/harbor/crane.md"),
    ("RESULT", "Tool call ferry was rejected before execution: there is none"),
    ("ANSWER", "The crane is greased."),
    ("CONTEXT", "You have not verified it."),
    ("CONTEXT", "<mode_notice>The user switched from act mode to plan mode.</mode_notice>"),
    ("PROMPT", "And the gulls?"),
]


# -- the command line --------------------------------------------------------------------------


def test_a_session_is_told_in_order_and_its_documents_are_kept_whole(folder: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([SESSION])
        entries, facts = shown(memory, QUAY), facts_of(memory, QUAY)
        kept = sources_of(memory)
        assert memory.check() == []
    assert report.unknown_types == {}
    assert told(entries) == [*SQUEAK, ("SUMMARY", "The crane squeaked and was greased.")]
    failed = [(e.entry.kind.name, e.entry.tool) for e in entries if e.entry.flags & Flag.ERROR]
    assert failed == [("RESULT", "run_commands"), ("RESULT", "ferry"), ("EVENT", "")]
    assert [e.entry.text for e in entries if e.entry.flags & Flag.BOUNDARY] == [
        "The crane squeaked and was greased."
    ]
    calls = {e.entry.call for e in entries if e.entry.kind is Kind.CALL}
    assert {e.entry.call for e in entries if e.entry.kind is Kind.RESULT} <= calls
    assert (facts.title, facts.cwd) == ("The squeaking crane", "/code/harbor")
    assert (facts.model, facts.version) == ("tide-1", "3.0.65")
    assert kept == {str(path): path.read_bytes() for path in sorted(SESSION.iterdir())}


def test_a_subagent_is_told_by_no_person_and_works_where_its_session_does(folder: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([SESSION])
        id_ = f"{QUAY}__agent_1790000000450_abc"
        entries, facts = shown(memory, id_), facts_of(memory, id_)
    assert told(entries) == [("CONTEXT", "Count the buckets of grease."), ("ANSWER", "Four buckets.")]
    assert (facts.parent, facts.relation, facts.cwd) == (QUAY, Relation.SUBAGENT, "/code/harbor")


def test_what_answers_took_is_counted_as_the_session_counts_it(folder: Path) -> None:
    """Its own sum has what the cache read and was given in the input; here each token is in one place."""
    path = SESSION / f"{QUAY}.messages.json"
    total = json.loads((SESSION / f"{QUAY}.json").read_bytes())["metadata"]["usage"]
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([path])
        with memory.view() as view:
            usage = view.usage()
    assert usage.input.tolist() == [30] * 3
    sums = [int(column.sum()) for column in (usage.output, usage.cache_read, usage.cache_write_5m)]
    assert sums == [total[name] for name in ("outputTokens", "cacheReadTokens", "cacheWriteTokens")]
    assert int(usage.input.sum()) + sums[1] + sums[2] == total["inputTokens"]


def test_a_document_that_is_saved_again_shows_each_message_once(folder: Path) -> None:
    copy = folder / QUAY / f"{QUAY}.messages.json"
    copy.parent.mkdir()
    whole = json.loads((SESSION / copy.name).read_bytes())
    with open_memory(folder / "m.h5") as memory:
        for count in (1, 2, 4, len(whole["messages"])):
            saved = {**whole, "updated_at": f"step {count}", "messages": whole["messages"][:count]}
            copy.write_text(json.dumps(saved, indent=2))
            memory.ingest([copy])
        entries = shown(memory, QUAY)
        with memory.view() as view:
            assert len(view.usage().input) == 3
        assert memory.check() == []
    assert told([e for e in entries if not e.entry.flags & Flag.REPLACED]) == SQUEAK


# -- the extension -----------------------------------------------------------------------------

BUOY = [
    ("PROMPT", "Paint the buoy red"),
    ("THOUGHT", "Which red?"),
    ("ANSWER", "I read the chart first."),
    ("CALL", '{"path":"chart.md"}'),
    ("RESULT", "Buoys are green."),
    ("ANSWER", "Now I paint."),
    (
        "CALL",
        '{"path":"buoy.css","diff":"<<<<<<< SEARCH\\ncolor: green;\\n=======\\n'
        'color: red;\\n>>>>>>> REPLACE"}',
    ),
    (
        "RESULT",
        "The user denied this operation and provided the following feedback:\n"
        "<feedback>\nAsk the harbor master.\n</feedback>",
    ),
    ("CALL", '{"command":"ring master"}'),
    ("RESULT", "The tool execution failed with the following error:\n<error>\nno bell\n</error>"),
    ("ANSWER", "The buoy stays green."),
    ("PROMPT", "Then paint the pier."),
    ("PROMPT", "Use blue."),
]


def test_a_task_is_told_once_with_the_calls_in_its_texts(folder: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([TASK])
        entries, facts = shown(memory, "1760000000000"), facts_of(memory, "1760000000000")
        with memory.view() as view:
            usage = view.usage()
    assert report.unknown_types == {}
    assert [each for each in told(entries) if each[0] != "CONTEXT"] == BUOY
    failed = [(e.entry.kind.name, e.entry.tool) for e in entries if e.entry.flags & Flag.ERROR]
    assert sorted(failed) == [("EVENT", ""), ("RESULT", "execute_command"), ("RESULT", "replace_in_file")]
    calls = [e.entry.call for e in entries if e.entry.kind is Kind.CALL]
    assert len(set(calls)) == len(calls)
    assert {e.entry.call for e in entries if e.entry.kind is Kind.RESULT} <= set(calls)
    assert (facts.cwd, facts.title) == ("/code/harbor", "Paint the buoy red")
    assert (facts.model, facts.version, facts.started_ms) == ("tide-1", "3.40.0", 1760000000000)
    columns = (usage.input, usage.output, usage.cache_read, usage.cache_write_5m)
    assert [column.tolist() for column in columns] == [[30], [5], [200], [4]]


def test_what_was_shown_before_the_first_message_was_saved_is_no_second_prompt(folder: Path) -> None:
    task = folder / "tasks" / "1760000000000"
    task.mkdir(parents=True)
    shutil.copy(TASK / "ui_messages.json", task)
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([task])
        assert ("PROMPT", "Paint the buoy red") in told(shown(memory, task.name))
        shutil.copy(TASK / "api_conversation_history.json", task)
        memory.ingest([task])
        prompts = [each for each in told(shown(memory, task.name)) if each[0] == "PROMPT"]
    assert prompts == [each for each in BUOY if each[0] == "PROMPT"]


def test_what_was_shown_is_the_conversation_where_nothing_else_is_left(folder: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([FOLDER / "shown"])
        entries = shown(memory, "1750000000000")
        with memory.view() as view:
            assert view.usage().input.tolist() == [11]
    assert report.unknown_types == {}
    assert told(entries) == [
        ("PROMPT", "Where is the anchor?"),
        ("IMAGE", ""),
        ("THOUGHT", "Under the boat?"),
        ("ANSWER", "Let me look."),
        ("CALL", '{"command":"ls anchors"}'),
        ("RESULT", "one anchor"),
        ("ANSWER", "Is it this one?"),
        ("PROMPT", "Yes."),
        ("ANSWER", "Found."),
        ("SUMMARY", "An anchor was found."),
    ]
    assert [e.entry.text for e in entries if e.entry.flags & Flag.ERROR] == ["the rope broke"]


def test_what_an_edit_makes_of_a_file_is_known() -> None:
    assert edited(SQUEAK[9][1]) == [Change("/code/harbor/crane.md", "dry", "greased")]
    assert edited(BUOY[6][1]) == [Change("buoy.css", "color: green;\n", "color: red;\n")]
    assert edited('{"path":"a","content":"all"}') == [Change("a", "", "all", is_whole=True)]
    assert edited('{"path":"a","diff":"<<<<<<< SEARCH\\nhalf"}') == []
    placed = "<<<<<<< SEARCH\n:start_line:7\n-------\nold\n=======\nnew\n>>>>>>> REPLACE"
    assert edited(json.dumps({"path": "a", "diff": placed})) == [Change("a", "old\n", "new\n")]


# -- Roo Code ----------------------------------------------------------------------------------

PLANKS = "5f0e0000-0000-4000-8000-000000000001"


def test_a_task_of_roo_is_told_once(folder: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([FOLDER / "roo"])
        entries, facts = shown(memory, PLANKS), facts_of(memory, PLANKS)
        with memory.view() as view:
            assert view.usage().input.tolist() == [21]
    assert report.unknown_types == {}
    assert [each for each in told(entries) if each[0] != "CONTEXT"] == [
        ("PROMPT", "Count the planks"),
        ("CALL", '{"command":"wc -l planks"}'),
        ("RESULT", "Command executed in terminal. Exit code: 0\n12 planks"),
        ("SUMMARY", "Planks were counted."),
        ("ANSWER", "Twelve."),
    ]
    assert (facts.cwd, facts.model) == ("/code/pier", "tide-2")
    assert (facts.parent, facts.relation) == (PLANKS[:-1] + "0", Relation.SUBAGENT)


def test_what_roo_showed_first_is_what_was_asked(folder: Path) -> None:
    task = folder / "tasks" / PLANKS
    task.mkdir(parents=True)
    shutil.copy(next((FOLDER / "roo").rglob("ui_messages.json")), task)
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([task])
        first, *_ = shown(memory, PLANKS)
    assert (first.entry.kind, first.entry.text) == (Kind.PROMPT, "Count the planks")
