"""How a session ended is told by what happened last, and by a word only where something bears it out."""

from __future__ import annotations

import pytest
from tests.insight.digest.told import Told

from recollect.insight.digest.endings import ending
from recollect.values.digests import Ending, Outcome
from recollect.values.records import Flag, Kind

GREEN, RED = "12 passed in 1s", "1 failed, 11 passed in 1s"


def end(told: Told) -> Ending:
    return ending(told.exchanges)


def outcome(told: Told) -> Outcome:
    return end(told).outcome


def work() -> Told:
    return Told().asks("Make the token store honour clock skew").edits("src/token.py")


# -- what no answer closes


def test_where_nothing_was_asked_nothing_is_known() -> None:
    assert end(Told().commands("/clear")) == Ending(Outcome.UNKNOWN, "nothing was asked")
    assert outcome(Told()) == Outcome.UNKNOWN


def test_a_prompt_without_an_answer_was_left() -> None:
    told = work().says("Done.").asks("And the tests?")
    assert end(told) == Ending(Outcome.ABANDONED, "the last prompt was not answered", "e4")


def test_an_interrupt_amid_the_work_is_leaving() -> None:
    assert outcome(work().stops()) == Outcome.ABANDONED
    assert outcome(work().says("Let me run the tests:").stops()) == Outcome.ABANDONED


def test_an_interrupt_behind_the_closing_answer_stopped_nothing() -> None:
    assert outcome(work().says("Done: the store allows thirty seconds of skew.").stops()) == Outcome.SUCCESS


def test_a_request_taken_back_at_once_says_nothing_of_the_work_before() -> None:
    assert outcome(work().says("Done.").asks("also rename it").stops()) == Outcome.SUCCESS
    assert outcome(Told().asks("rename it").stops()) == Outcome.ABANDONED


def test_a_refused_plan_as_the_last_act_is_leaving() -> None:
    told = (
        work().says("Done.").asks("plan the rest").says("Here it is.").refuses("ExitPlanMode", plan="# Rest")
    )
    assert end(told).why == "the plan was refused"
    assert outcome(told) == Outcome.ABANDONED


def test_a_question_of_the_agent_that_nobody_answers_is_leaving() -> None:
    assert outcome(work().calls("AskUserQuestion", None, questions=[])) == Outcome.ABANDONED


def test_an_error_of_the_agent_at_the_end_failed_and_one_that_was_overcome_did_not() -> None:
    limit = work().says("Done.").asks("next")
    limit.add(Kind.ANSWER, "You've hit your limit", int(Flag.ERROR))
    assert outcome(limit) == Outcome.FAILED
    lost = work()
    lost.add(Kind.EVENT, "ECONNRESET", int(Flag.ERROR), type="system/api_error")
    assert outcome(lost) == Outcome.FAILED
    assert outcome(lost.edits("src/b.py").says("Done.")) == Outcome.SUCCESS


def test_a_hook_that_fails_is_no_error_of_the_agent() -> None:
    told = work().says("Done.")
    told.add(Kind.EVENT, "marvin: not found", int(Flag.ERROR), type="attachment/hook_non_blocking_error")
    assert outcome(told) == Outcome.SUCCESS


def test_a_turn_that_ends_without_an_answer_failed() -> None:
    told = work().says("Done.").asks("write it down")
    told.add(Kind.EVENT, "", type="event_msg/task_complete")
    assert outcome(told) == Outcome.FAILED


def test_a_log_cut_amid_the_work_tells_nothing_but_at_the_commit() -> None:
    assert outcome(work().runs("pytest", None)) == Outcome.UNKNOWN
    assert outcome(work().runs("pytest", RED)) == Outcome.UNKNOWN
    assert outcome(work().runs("git add . && git commit -m x", None)) == Outcome.SUCCESS


def test_a_result_that_comes_after_the_next_prompt_cuts_nothing() -> None:
    told = work()
    told.add(Kind.CALL, '{"command": "make"}', tool="Bash", call="late")
    told.asks("how far is it?").says("Nearly done.")
    told.add(Kind.RESULT, "built", tool="Bash", call="late")
    assert outcome(told) == Outcome.SUCCESS


# -- what an answer closes


def test_a_closing_report_is_a_success() -> None:
    assert (
        outcome(work().runs("pytest", GREEN).says("The store honours skew now; all tests pass."))
        == Outcome.SUCCESS
    )


def test_the_word_failed_alone_fails_nothing() -> None:
    said = "Done. The failed login test is renamed; 0 failed, and the build that failed before is fixed."
    assert outcome(work().runs("pytest", GREEN).says(said)) == Outcome.SUCCESS


def test_a_red_check_that_the_agent_admits_failed() -> None:
    told = work().runs("pytest", RED, failed=True).says("The tests still fail: the clock cannot be set here.")
    assert outcome(told) == Outcome.FAILED


def test_a_red_check_that_nobody_attends_to_failed_and_an_unrelated_one_did_not() -> None:
    told = work().runs("pytest", RED, failed=True)
    entries = list(told.entries)
    assert outcome(told.says("The store looks at the skew.")) == Outcome.FAILED
    told.entries = entries
    assert (
        outcome(told.says("The store looks at the skew. The failing test is unrelated.")) == Outcome.SUCCESS
    )


def test_a_red_check_before_a_green_one_is_over() -> None:
    told = work().runs("pytest", RED, failed=True).edits("src/token.py").runs("pytest", GREEN)
    assert outcome(told.says("The skew is honoured.")) == Outcome.SUCCESS


def test_a_review_that_finds_red_tests_is_delivered() -> None:
    told = Told().asks("review this").runs("npm test", RED, failed=True)
    assert (
        outcome(told.says("The lock file lacks two packages, so the tests cannot start.")) == Outcome.SUCCESS
    )


def test_a_person_who_says_that_it_does_not_work_is_believed() -> None:
    told = work().says("Done.").asks("nope, I still don't see it").runs("ls", "x")
    assert (
        outcome(told.says("It didn't work because the folder is not scanned. Want me to try another?"))
        == Outcome.FAILED
    )


def test_work_that_was_taken_back_failed() -> None:
    told = work().says("Done.").asks("revert all of this").runs("git checkout .").says("Reverted.")
    assert end(told) == Ending(Outcome.FAILED, "the work was taken back", "e4")


def test_thanks_are_a_success() -> None:
    assert outcome(
        work().runs("pytest", RED, failed=True).says("Hm.").asks("great, thanks!").says("Gladly.")
    ) == (Outcome.SUCCESS)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("I looked at it. Shall I also rename the module?", Outcome.SUCCESS),
        ("There are two ways. Which one do you prefer?", Outcome.ABANDONED),
        ("Could you paste the log?", Outcome.ABANDONED),
    ],
)
def test_an_offer_is_no_question_that_holds_the_work_up(said: str, expected: Outcome) -> None:
    assert outcome(Told().asks("make the login faster").runs("ls", "x").says(said)) == expected


def test_an_offer_made_because_something_is_in_the_way_holds_it_up() -> None:
    told = Told().asks("commit it").runs("git commit -m x", "hook failed", failed=True)
    assert outcome(told.says("The hook fails. Should I skip it?")) == Outcome.ABANDONED


def test_a_subagent_is_judged_by_what_it_was_told() -> None:
    told = Told()
    told.add(Kind.CONTEXT, "# instructions", int(Flag.META | Flag.SIDECHAIN))
    told.add(Kind.CONTEXT, "Count the files", int(Flag.META | Flag.SIDECHAIN))
    told.add(Kind.ANSWER, "There are seven.", int(Flag.SIDECHAIN))
    assert outcome(told) == Outcome.SUCCESS
    assert told.exchanges[0].asked == "Count the files"
