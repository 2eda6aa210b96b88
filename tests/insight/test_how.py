"""How names the commands that were run for something, and whether they worked."""

from __future__ import annotations

from recollect.memory import Memory


def test_commands_are_counted_by_how_they_ended(memory: Memory) -> None:
    found = {each.text: (each.worked, each.failed) for each in memory.how("run the auth tests")}
    assert found["pytest -q tests/auth"] == (1, 1)


def test_what_was_run_after_a_fitting_prompt_counts(memory: Memory) -> None:
    assert memory.how("deploy site to staging")[0].text == "make upload ENV=staging"
