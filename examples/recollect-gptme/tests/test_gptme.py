"""gptme's conversations. The samples are invented; their shapes are those that gptme's source describes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from recollect_gptme.agent import AGENT

from recollect import Kind, Memory
from recollect.config import Config
from recollect.testing import AgentContract
from recollect.values.records import Entry, Flag, SourceFile

DATA = Path(__file__).parent / "data"
GULLS = "2026-03-02-counting-gulls"


class TestGptme(AgentContract):
    agent = AGENT
    fixtures = DATA
    envelopes = ({"role": "soothsayer", "content": "", "timestamp": "2026-03-02T09:00:00"},)


def entries_of(session: str) -> list[Entry]:
    path = DATA / session / "conversation.jsonl"
    parser = AGENT.parser(SourceFile("gptme", str(path), session=session), {})
    lines = path.read_bytes().splitlines()
    return [entry for line in lines for entry in parser.parse(json.loads(line)).entries]


def told(session: str) -> list[tuple[str, str, str]]:
    return [(entry.kind.name, entry.tool, entry.text.partition("\n")[0]) for entry in entries_of(session)]


def test_a_conversation_is_told_in_order() -> None:
    patch = '{"path":"gulls.py","patch":"<<<<<<< ORIGINAL\\n    return min(count, 99)\\n=======\\n'
    assert told(GULLS) == [
        ("CONTEXT", "", "You are gptme, an agent in a terminal. Harbor is a site about boats."),
        ("PROMPT", "", "Why does the gull counter stop at 99? ☃"),
        ("THOUGHT", "", ""),
        ("ANSWER", "", "I will look at the counter."),
        ("CALL", "shell", '{"command":"grep -n 99 gulls.py"}'),
        ("RESULT", "shell", "Ran command: `grep -n 99 gulls.py`"),
        ("ANSWER", "", "It is cut off in line 4. I take that out and run the tests."),
        ("CALL", "patch", patch + '    return count\\n>>>>>>> UPDATED"}'),
        ("CALL", "shell", '{"command":"pytest -q"}'),
        ("RESULT", "patch", "Patch successfully applied to gulls.py"),
        ("RESULT", "shell", "Error: command timed out after 60 seconds"),
        ("ANSWER", "", entries_of(GULLS)[11].text),
        ("PROMPT", "", "Here is what the page looks like"),
        ("IMAGE", "", ""),
        ("ANSWER", "", "It shows 112 gulls."),
    ]
    failed = [entry.call for entry in entries_of(GULLS) if entry.flags & Flag.ERROR]
    assert failed == ["call-7f03"]


def test_without_call_ids_what_stands_behind_an_answer_is_a_result() -> None:
    assert [kind for kind, _, _ in told("2025-01-10-old-lamp")] == [
        "CONTEXT",
        "PROMPT",
        "ANSWER",
        "RESULT",
        "ANSWER",
    ]


@pytest.mark.parametrize(
    "text", ["@shell(call-1): {", '@shell(call-1): {"command": "l', "mail me @home(1): {}!"]
)
def test_what_is_no_whole_call_stays_in_the_answer(text: str) -> None:
    parser = AGENT.parser(SourceFile("gptme", "", session="s"), {})
    record: dict[str, Any] = {"role": "assistant", "content": text, "timestamp": ""}
    assert [(entry.kind, entry.text) for entry in parser.parse(record).entries] == [(Kind.ANSWER, text)]


def test_everything_about_it_can_be_asked(tmp_path: Path) -> None:
    config = Config(tmp_path / "memory.h5", "here", cache=tmp_path / "cache")
    with Memory.open(tmp_path / "memory.h5", config=config) as memory:
        memory.ingest([DATA])
        sessions = {session.facts.id: session.facts for session in memory.sessions()}
        assert sessions[GULLS].title == "Why does the gull counter stop at 99? ☃"
        assert sessions[GULLS].model == "anthropic/claude-sonnet-4-6"
        assert [touch.session.facts.id for touch in memory.blame("gulls.py")] == [GULLS]
        assert memory.how("pytest")
        with memory.view() as view:
            usage = view.usage()
        assert (sum(usage.input), sum(usage.output), sum(usage.cache_read)) == (420, 117, 3800)
