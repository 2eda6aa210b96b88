"""`list_threads`: pieces of work, not single conversations."""

from __future__ import annotations

from pathlib import Path

from tests.support.claude_talk import Talk, remembered

from recollect.mcp.answers import list_threads

PLAN = "# Plan: Dredge the northern harbor basin\n\n" + "Scoop the silt, carry it out to sea. " * 20


def test_a_plan_and_the_conversation_that_carried_it_out_are_one(tmp_path: Path) -> None:
    first, second = Talk(1, "/home/ada/harbor"), Talk(2, "/home/ada/harbor")
    first.user("Think about how the silt gets out of the basin")
    first.call("ExitPlanMode", "The user doesn't want to proceed with this tool use.", failed=True, plan=PLAN)
    second.user(f"Implement the following plan:\n\n{PLAN}")
    second.assistant("Dredged.")
    with remembered(tmp_path, first, second) as memory:
        memory.index()
        told = list_threads(memory, project="", limit=5, budget_tokens=2000).text
    assert "Dredge the northern harbor basin" in told
    assert f"thread:{first.id}  2 sessions" in told
    assert "also: Think about how the silt gets out of the basin" in told
    assert "1 thread" in told
