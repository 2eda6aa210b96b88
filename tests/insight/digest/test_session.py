"""A digest tells what happened, each statement with the entry it is from, the same each time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.insight.digest.told import FOLDER, Told

from recollect.insight.digest.session import digest_of, times
from recollect.insight.digest.title import CHARS_MAX, EMPTY, LINE_CHARS_MAX, short
from recollect.insight.digest.troubles import errors_of
from recollect.values.digests import Checks, Outcome, Statement, Trouble
from recollect.values.records import Entry, Flag, Kind, Relation, SessionFacts
from recollect.values.stored import StoredEntry
from recollect.values.titles import TITLE_CUSTOM


def story() -> Told:
    told = Told().asks("Make the token store honour clock skew").edits("src/token.py", "a", "b\nc")
    told.runs("pytest -q", "E  AssertionError: skew\n1 failed", failed=True).edits("src/token.py")
    told.runs("pytest -q", "12 passed").runs(
        "git commit -am 'auth: honour skew'", "[main 50d8160] auth: honour skew"
    )
    return told.says("Done. Not pushed yet.")


def test_a_digest_tells_what_was_asked_done_and_how_it_ended() -> None:
    told = story().digest
    assert told.asked == (Statement("Make the token store honour clock skew", "e0"),)
    assert [(each.path, each.added, each.removed) for each in told.files] == [("src/token.py", 3, 2)]
    assert told.tests == Checks(2, "passed", "e8")
    assert [each.hash for each in told.commits] == ["50d8160"]
    assert told.errors == (Trouble("E  AssertionError: skew", 1, "e4", "e8"),)
    assert told.retries == 1
    assert told.ending.outcome == Outcome.SUCCESS
    assert [each.text for each in told.open] == ["Done. Not pushed yet."]
    assert dict(told.tools) == {"Bash": 3, "Edit": 2}
    assert dict(told.patterns) == {"code writing": 1, "error recovery": 1, "testing": 1}
    assert told.commands[-1].text == "git commit -am 'auth: honour skew'"


def test_short_pauses_are_work_and_long_ones_are_not() -> None:
    minute = 60_000
    assert times([0, 1, 1 + 5 * minute, 1 + 16 * minute]) == (5 * minute, 11 * minute)
    assert times([]) == (0, 0)


def test_what_a_person_did_is_counted() -> None:
    told = Told().asks("a").says("b").asks("c").stops()
    told.add(Kind.IMAGE, "")
    assert (told.digest.interventions, told.digest.screenshots) == (2, 1)


def test_copies_and_what_recollect_put_in_are_nobodys_words() -> None:
    told = Told().asks("a")
    told.add(Kind.PROMPT, "again", int(Flag.COPY))
    told.add(Kind.PROMPT, "recalled", int(Flag.INJECTED))
    told.add(Kind.CALL, '{"command": "make"}', int(Flag.COPY), "Bash", "c")
    assert [each.text for each in told.digest.asked] == ["a"]
    assert told.digest.tools == ()


def test_decisions_are_choices_that_the_person_made() -> None:
    told = Told().asks("Add a cache").calls("AskUserQuestion", 'answered: "Where?"="In Redis"', questions=[])
    told.says("I would keep the old name.").asks("Use httpx instead of requests.").says("Done.")
    assert [(each.text, each.entry) for each in told.digest.decisions] == [
        ("In Redis (Where?)", "e2"),
        ("Use httpx instead of requests.", "e4"),
    ]


def decided(answer: str, reply: str) -> list[str]:
    told = Told().asks("Mend the gauge").says(answer).asks(reply).says("Done.")
    return [each.text for each in told.digest.decisions]


def test_an_answer_to_a_question_with_alternatives_is_a_decision_with_its_question() -> None:
    question = "Want me to mend the float, or put in a new one?"
    assert decided(f"It is broken. {question}", "mend it properly") == [f"mend it properly ({question})"]
    assert decided("1. Mend the float\n2. Put in a **new** one\nWhich one?", "2") == ["2 (Put in a new one)"]
    assert decided("Shall I commit or push?", "commit") == []
    assert decided(question, "what does that cost?") == []
    assert decided("It is mended.", "mend it properly") == []


def test_a_prompt_about_something_else_answers_no_question() -> None:
    question = "Want me to mend the float, or put in a new one?"
    assert decided(question, "cargo package --list") == []
    assert decided("Is there anything else to mend or to check?", "the float of the mast shows nothing") == []


def test_what_is_only_thought_of_and_what_a_subagent_is_told_is_no_decision() -> None:
    thought = ("maybe we don't need to add the float", "I thought the cell should not be used")
    assert [Told().asks(each).says("Done.").digest.decisions for each in thought] == [(), ()]
    told = Told().asks("Use a float instead of a cell.").says("Done.")
    facts = SessionFacts("claude", "s", relation=Relation.SUBAGENT)
    assert len(digest_of(told.entries, SessionFacts("claude", "s")).decisions) == 1
    assert digest_of(told.entries, facts).decisions == ()


def test_what_is_not_to_be_done_for_a_reason_is_a_decision() -> None:
    asked = "yes and do not wrap long lines as that ruins how it is shown"
    assert decided("Want me to fold that in?", asked) == [asked]


def test_yes_is_said_to_what_was_proposed_and_not_to_routine() -> None:
    proposal = "Want me to read the gauge in chunks the same way as the float?"
    assert decided(f"That was slow. {proposal}", "yes go ahead") == [f"yes go ahead ({proposal})"]
    recommended = "I recommend a float instead of a pressure cell."
    assert decided(f"{recommended} Shall I?", "Y") == [f"Y ({recommended})"]
    assert decided("All is in place. Want me to commit this and push it to the branch?", "yes") == []
    assert decided("The gauge is mended.", "yes") == []


def test_a_decision_is_told_with_its_reason_and_a_question_is_none() -> None:
    told = Told().asks("Let's use a float. Because cells drift in salt water. Then test it.").says("Done.")
    (kept,) = told.digest.decisions
    assert kept.text == "Let's use a float. Because cells drift in salt water."
    for asked in ("Check whether the float should be closed", "can you see if it should not be red"):
        assert Told().asks(asked).says("Done.").digest.decisions == ()
    (japanese,) = Told().asks("固定ボタンは不要。").says("はい").digest.decisions
    assert japanese.text == "固定ボタンは不要。"


def test_what_is_pasted_decides_nothing_and_a_pick_does() -> None:
    told = Told().asks("See:\n" + "x " * 300 + "Use a instead of b. " * 80).says("Option 1 or option 2?")
    assert [each.text for each in told.asks("2").says("Done.").digest.decisions] == ["2"]


def test_an_error_that_nothing_solved_stands_first() -> None:
    told = Told().asks("a").runs("make a", "error: a", failed=True).runs("make b", "error: b", failed=True)
    told.runs("make b", "ok")
    errors, retries = errors_of(told.steps)
    assert [(each.text, each.solved) for each in errors] == [("error: a", ""), ("error: b", "e6")]
    assert retries == 1


def test_an_error_of_a_wrapper_is_solved_by_what_it_was_told_to_run() -> None:
    told = (
        Told().asks("a").runs("rtk bun run test", "error: no 'bun'", failed=True).runs("bun run test", "ok")
    )
    assert [bool(each.solved) for each in errors_of(told.steps)[0]] == [True]
    told = Told().asks("a").runs("docker ps", "error: no daemon", failed=True).runs("ps aux", "ok")
    assert [bool(each.solved) for each in errors_of(told.steps)[0]] == [False]


def test_a_title_is_what_was_asked_or_the_persons_own() -> None:
    assert story().digest.title.startswith("Make the token store honour clock skew")
    facts = SessionFacts("claude", "s", title="Token skew", title_rank=TITLE_CUSTOM, cwd=FOLDER)
    assert digest_of(story().entries, facts).title == "Token skew"
    assert Told().digest.title == EMPTY


def test_a_prompt_that_says_nothing_gives_way_to_the_commit_and_the_words_of_the_work() -> None:
    told = (
        Told()
        .asks("go on")
        .says("The tokens expire.")
        .runs("git commit -m x", "[main 50d8160] fix: expire tokens")
    )
    assert told.says("Tokens expire now.").digest.title == "expire tokens"


@given(st.text(max_size=600))
def test_any_text_makes_a_short_title(text: str) -> None:
    assert len(short(text)) <= CHARS_MAX + 1
    assert len(Told().asks(text).says(text).digest.title) <= LINE_CHARS_MAX + CHARS_MAX
    assert "\n" not in short(text)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(list(Kind)), st.text(max_size=60), st.integers(0, 255), st.sampled_from("ab")
        ),
        max_size=12,
    )
)
def test_any_entries_have_one_digest(made: list[tuple[Kind, str, int, str]]) -> None:
    entries = [
        StoredEntry(f"e{row}", "s", "", Entry(kind, text, flags, row, "Bash", call), row)
        for row, (kind, text, flags, call) in enumerate(made)
    ]
    told = digest_of(entries, SessionFacts("claude", "s"))
    assert told == digest_of(entries, SessionFacts("claude", "s"))
    known = {"", *(each.id for each in entries)}
    assert {told.ending.entry, told.tests.entry, *(each.entry for each in (*told.asked, *told.open))} <= known
