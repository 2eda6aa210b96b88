"""Whoever finds nothing is told why, and whoever pastes anything is answered."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.claude_talk import Talk, remembered
from tests.support.memories import open_memory

from recollect.memory import Memory
from recollect.search.run import BY_MEANING
from recollect.search.unfound import NO_WORD, NOT_HERE
from recollect.values.errors import NotFound
from recollect.values.records import Kind

CORPUS = os.environ.get("RECOLLECT_CORPUS", "")


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    talks = [Talk(number, f"/home/ada/{name}") for number, name in ((1, "harbor"), (2, "lantern"))]
    talks[0].user("The walrus sleeps in the bay")
    talks[0].call("Read", "walrus", file_path="/home/ada/harbor/walrus.py")
    talks[1].user("The lamp is lit")
    with remembered(folder, *talks) as opened:
        yield opened


def notes(memory: Memory, query: str, **options: object) -> tuple[str, ...]:
    found = memory.search(query, mode="text", **options)  # type: ignore[arg-type]
    assert not found.hits
    return found.notes


def test_words_that_occur_nowhere_are_told_from_filters_that_hide_them(memory: Memory) -> None:
    assert notes(memory, "zyzzyva xylophone") == (NO_WORD,)
    assert notes(memory, "zyzzyva", plain=True) == (NO_WORD,)
    assert notes(memory, "walrus project:lantern") == (NOT_HERE,)
    assert notes(memory, "walrus -walrus") == ()
    assert notes(memory, "zyzzyva kind:prompt") == (NO_WORD,)


def test_by_meaning_the_nearest_are_shown_and_said_to_be_that(memory: Memory) -> None:
    found = memory.search("sea mammal zyzzyva")
    assert found.notes == (BY_MEANING,)
    assert found.hits


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("walrus project:harbr", "nothing has project:harbr; did you mean project:harbor?"),
        ("project:moon", "nothing has project:moon"),
        ("tool:Raed walrus", "nothing has tool:Raed; did you mean tool:read?"),
        ("file:warlus.py", "nothing has file:warlus.py; did you mean file:walrus.py?"),
        ("session:00000101", "nothing has session:00000101; did you mean session:0000000"),
    ],
)
def test_a_filter_that_fits_nothing_is_named_and_what_was_probably_meant(
    memory: Memory, query: str, told: str
) -> None:
    (note,) = notes(memory, query)
    assert note.startswith(told)


def test_of_a_session_that_is_not_there_the_nearest_is_named_and_of_several_none(memory: Memory) -> None:
    with pytest.raises(NotFound) as raised:
        memory.session("00000101")
    assert "did you mean 0000000" in raised.value.hint
    for prefix in ("0000000", "99999999"):
        with pytest.raises(NotFound) as raised:
            memory.session(prefix)
        assert "did you mean" not in raised.value.hint


def test_what_must_not_be_or_need_not_be_there_is_no_reason(memory: Memory) -> None:
    assert notes(memory, "walrus (project:moon OR project:sun)") == ()
    assert notes(memory, "project:moon OR project:sun") == ()


def test_an_answer_needs_no_reason_and_a_page_behind_the_last_is_none(memory: Memory) -> None:
    assert memory.search("walrus", mode="text").notes == ()
    assert notes(memory, "zyzzyva", offset=5) == ()


def test_how_a_query_was_read_is_told_with_its_answer(memory: Memory) -> None:
    found = memory.search('walrus (in "the bay', mode="text")
    assert found.hits
    assert len(found.notes) == 2
    assert memory.search('walrus (in "the bay', mode="text", plain=True).notes == ()
    long = memory.search("walrus " * 5_000, mode="text")
    assert long.hits
    assert "only its beginning" in long.notes[0]


PASTED = (
    "TypeError: Cannot read properties of undefined (reading 'map')",
    "error[E0277]: the trait bound `Tide: Copy` is not satisfied",
    'psycopg.errors.UndefinedTable: relation "tides" does not exist LINE 1: SELECT * FROM "tides"',
    "src/pier.ts(52,11): error TS7034: Variable 'gauge' implicitly has type 'any'",
    "-rw-r--r-- 1 ada ada 120 Mar 3 12:00 tides.log",
    "--- FAIL: TestTide (0.00s)",
    "npm ERR! 404  '@pier/gauge@^1.2' is not in this registry.",
    'File "/home/ada/harbor/pier.py", line 3, in <module>',
    "bash: syntax error near unexpected token `)' (while reading /etc/profile)",
    "fatal: ambiguous argument 'main..': unknown revision OR path not in the working tree.",
    'is:dry last:night on:fire time:0.3s kind:of session: "tool: "',
    "/usr/bin/ld: cannot find -lgauge: No such file or directory /[a-z/ /(/",
    'Traceback (most recent call last): [Errno 2] ("\'")',
    "expected `;`, found `}` AND",
    "E   assert {'a': [1, (2, \"x\")]} == {'a': [1, (2, 'y')]}",
    "error: pathspec 'pier:gauge' did not match any file(s) known to git",
    "[31;1mFAILED[0m tests/test_pier.py::test_gauge[-1] - OR (",
    'WARN  time:>tide agnt:claude projct:"harbor',
)


def test_pasted_lines_whole_and_torn_are_answered(memory: Memory) -> None:
    draw = random.Random(12)
    torn = [line[draw.randrange(len(line)) :][: draw.randrange(5, 60)] for line in PASTED for _ in range(4)]
    lines = [*PASTED, *torn]
    assert len(lines) == 90
    for line in filter(str.strip, lines):
        for mode in ("text", "hybrid"):
            memory.search(line, mode=mode, limit=1)
        memory.how(line, 1)
        memory.fix(line, 1)


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS, reason="RECOLLECT_CORPUS names no corpus")
def test_real_error_lines_can_be_pasted(folder: Path) -> None:
    logs = sorted(Path(CORPUS).rglob("*.jsonl"), key=lambda path: path.stat().st_size)
    with open_memory(folder / "memory.h5") as memory:
        memory.ingest(logs[-40:-10])
        erring = re.compile(r"[Ee]rror|[Ff]ailed|cannot|not found|denied")
        lines = sorted({line.strip()[:2_000] for line in _lines(memory) if erring.search(line)})
        for line in random.Random(12).sample(lines, 90):
            assert memory.search(line, mode="text", limit=1).hits is not None
            assert memory.how(line, 1) is not None


def _lines(memory: Memory) -> Iterator[str]:
    for session in memory.sessions():
        for stored in memory.show(session.facts.id):
            if stored.entry.kind in (Kind.RESULT, Kind.PROMPT):
                yield from stored.entry.text.splitlines()[:200]
