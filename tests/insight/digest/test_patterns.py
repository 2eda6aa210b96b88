"""What an exchange was is told by what was done in it, with the entry that shows it."""

from __future__ import annotations

import pytest
from tests.insight.digest.told import FOLDER, Told

from recollect.insight.digest.patterns import patterns_of
from recollect.values.digests import PATTERNS


def patterns(told: Told) -> dict[str, str]:
    return {each.name: each.entry for each in patterns_of(told.exchanges[-1], FOLDER)}


def reads(told: Told, count: int) -> Told:
    for number in range(count):
        told.calls("Read", "text", file_path=f"{FOLDER}/src/{number}.py")
    return told


def test_there_are_eleven() -> None:
    assert len(PATTERNS) == 11


def test_an_exchange_that_fits_none_has_none() -> None:
    assert patterns(Told().asks("what is in here?").runs("ls", "a").says("A file.")) == {}


def test_code_is_written_where_code_changes_and_prose_is_not() -> None:
    assert patterns(Told().asks("x").edits("src/a.py").says("Done.")) == {"code writing": "e1"}
    assert "code writing" not in patterns(Told().asks("x").edits("README.md").edits("Cargo.toml", "1", "2"))
    assert "code writing" not in patterns(Told().asks("x").edits("src/a.py", failed=True))
    assert "code writing" not in patterns(Told().asks("x").writes("probe.py").runs("rm probe.py"))


def test_an_error_that_a_later_run_overcomes_is_recovery() -> None:
    told = Told().asks("x").runs("cargo build", "error: x", failed=True).edits("src/a.rs")
    assert "error recovery" not in patterns(told)
    assert patterns(told.runs("cargo build", "Finished"))["error recovery"] == "e2"


def test_an_error_that_a_pipe_hides_is_one_too() -> None:
    told = (
        Told()
        .asks("x")
        .runs("pnpm lint | tail", "Found 3 errors.")
        .edits("a.ts")
        .runs("pnpm lint | tail", "ok")
    )
    assert "error recovery" in patterns(told)


def test_a_search_without_a_match_and_a_call_put_wrongly_are_no_errors() -> None:
    told = Told().asks("x").runs("grep x y", "", failed=True).runs("grep x y", "x")
    told.calls("Edit", "<tool_use_error>File has not been read yet", failed=True, file_path="a.py")
    told.calls("Edit", "done", file_path="a.py", old_string="a", new_string="b")
    assert "error recovery" not in patterns(told)


def test_a_dangerous_command_is_shown() -> None:
    assert patterns(Told().asks("clean up").runs("rm -rf data"))["dangerous operation"] == "e1"


def test_wide_reading_without_edits_is_research() -> None:
    assert "deep research" not in patterns(reads(Told().asks("x"), 7).says("So."))
    assert patterns(reads(Told().asks("x"), 8).says("So."))["deep research"] == "e1"
    assert "deep research" not in patterns(reads(Told().asks("x"), 8).edits("src/a.py"))
    assert "deep research" in patterns(
        Told().asks("x").calls("WebSearch", "a", q="b").calls("WebFetch", "a", url="b")
    )


@pytest.mark.parametrize(
    "command",
    [
        "npm publish",
        "gh release create v1",
        "git tag v1.2.0 && git push --tags",
        "wrangler deploy",
        "./deploy.sh",
        "scp app root@harbor.example:/srv/",
        "kubectl apply -f x.yaml",
    ],
)
def test_putting_something_live_is_deployment(command: str) -> None:
    assert "deployment" in patterns(Told().asks("go on").runs(command))


def test_a_push_is_deployment_only_where_that_was_asked_for() -> None:
    assert "deployment" not in patterns(Told().asks("commit it").runs("git push"))
    assert "deployment" in patterns(Told().asks("deploy it").runs("git push"))


def test_tests_that_run_or_change_and_a_change_that_is_tried_are_testing() -> None:
    assert "testing" in patterns(Told().asks("x").runs("pytest", "3 passed"))
    assert "testing" in patterns(Told().asks("x").edits("tests/test_a.py"))
    assert "testing" in patterns(Told().asks("x").edits("a.py").runs("curl localhost:8000"))
    assert "testing" not in patterns(Told().asks("x").runs("curl localhost:8000"))


def test_looking_for_the_cause_of_what_a_person_reports_is_debugging() -> None:
    told = Told().asks("Why does the login fail?").runs("cat app.log", "boom")
    assert patterns(told.says("The cause is a stale token."))["debugging"] == "e1"
    assert "debugging" not in patterns(Told().asks("Add a login").says("Done, because you asked."))


def test_moving_and_renaming_code_is_refactoring() -> None:
    assert "refactoring" in patterns(Told().asks("x").runs("git mv a.py b.py"))
    assert "refactoring" in patterns(Told().asks("rename Store to Vault").edits("a.py"))
    assert "refactoring" not in patterns(Told().asks("rename the chapter").edits("README.md"))


def test_laying_out_steps_is_planning_and_carrying_out_a_given_plan_is_not() -> None:
    assert "planning" in patterns(Told().asks("x").calls("ExitPlanMode", "ok", plan="# P"))
    items = [{"content": str(number), "status": "pending"} for number in range(3)]
    assert "planning" in patterns(Told().asks("x").calls("TodoWrite", "ok", todos=items))
    assert "planning" not in patterns(Told().asks("x").calls("TodoWrite", "ok", todos=items[:2]))
    given = Told().asks("Implement the following plan:\n# P").calls("TodoWrite", "ok", todos=items)
    assert "planning" not in patterns(given)
    assert "planning" in patterns(Told().asks("what is the plan?").says("1. a\n2. b\n3. c"))


def test_weighing_a_lasting_choice_is_an_architecture_decision() -> None:
    told = Told().asks("Should we call it manifest or would that be unclear?")
    said = "I'd call it index: a plain manifest is ambiguous, and the schema has three already."
    assert patterns(told.says(said))["architecture decision"] == "e1"
    assert "architecture decision" not in patterns(Told().asks("Should we go on?").says("Yes."))


def test_judging_work_is_review() -> None:
    assert "review" in patterns(Told().asks("please review the diff").says("Two findings."))
    assert "review" not in patterns(Told().asks("x").runs("gh pr view 3", "open").says("It is open."))
