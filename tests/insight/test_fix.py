"""Fix names where an error appeared, and what ended it."""

from __future__ import annotations

from recollect.memory import Memory


def test_what_ended_an_error_is_told_first(memory: Memory) -> None:
    found = memory.fix("psycopg.OperationalError: connection refused on port 5433")
    assert [each.hit.session.facts.id[:8] for each in found] == ["00000002", "00000003"]
    best = found[0]
    assert best.ended_by == "pytest -q tests/auth"
    assert [step.entry.tool for step in best.steps] == ["Edit", "Bash"]
    assert best.answer is not None
    assert "now listens on 5433" in best.answer.entry.text


def test_an_error_that_nothing_ended_says_so(memory: Memory) -> None:
    unsolved = memory.fix("psycopg.OperationalError: connection refused on port 5433")[1]
    assert (unsolved.ended_by, unsolved.answer) == ("", None)


def test_the_text_is_no_query(memory: Memory) -> None:
    assert memory.fix('error: "unclosed (and -odd: OR') is not None
