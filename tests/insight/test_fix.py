"""Fix names where an error appeared, and what ended it."""

from __future__ import annotations

from pathlib import Path

from tests.support.claude_talk import Talk, remembered

from recollect.insight.fix import STEPS_MAX
from recollect.memory import Memory

ERROR = "harbour.TideError: the gauge at pier nine is dry"


def failing(number: int, error: str = ERROR, command: str = "make tides") -> Talk:
    """A session in which an error has just appeared."""
    talk = Talk(number, "/home/ada/harbor")
    talk.user("Let the tides run")
    talk.call("Bash", error, failed=True, command=command)
    return talk


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


def test_the_very_words_are_told_from_words_that_are_alike(folder: Path) -> None:
    with remembered(
        folder, failing(1), failing(2, "harbour.TideError: the gauge at pier two is wet")
    ) as memory:
        exact = memory.fix(ERROR)
        assert [(each.hit.session.facts.id[7], each.exact) for each in exact] == [("1", True)]
        found = memory.fix("harbour.TideError: the gauge at pier four is lost")
        assert {each.hit.session.facts.id[7] for each in found} == {"1", "2"}
        assert not any(each.exact for each in found)


def test_a_line_that_was_never_met_is_found_by_the_code_it_names(folder: Path) -> None:
    code, words = failing(1, "tides: ERR_GAUGE_DRY"), failing(2, "net: the tides at pier nine came in 200 ok")
    with remembered(folder, code, words) as memory:
        found = memory.fix("net::ERR_GAUGE_DRY the tides at pier nine 200 (OK)")
        assert [(each.hit.session.facts.id[7], each.exact) for each in found] == [("1", False)]


def test_a_name_that_is_no_code_of_an_error_finds_no_other(folder: Path) -> None:
    named, words = failing(1, "ran with NODE_ENV=test"), failing(2, "Error: the gauge plugin is missing")
    with remembered(folder, named, words) as memory:
        found = memory.fix("Error: NODE_ENV the gauge plugin is missing there")
        assert found[0].hit.session.facts.id[7] == "2"


def test_an_error_that_shares_a_word_or_two_was_another_one(folder: Path) -> None:
    with remembered(folder, failing(1), failing(2, "the printer at the gate is out of paper")) as memory:
        found = memory.fix("TideError: the gauge at pier seven is dry")
        assert [each.hit.session.facts.id[7] for each in found] == ["1"]


def test_appearances_in_a_session_are_counted_and_one_answer_a_session_is_given(folder: Path) -> None:
    talk = failing(1)
    talk.call("Bash", ERROR, failed=True, command="make tides")
    with remembered(folder, talk, failing(2)) as memory:
        found = {each.hit.session.facts.id[7]: each.times for each in memory.fix(ERROR)}
        assert found == {"1": 2, "2": 1}
        assert len(memory.fix(ERROR, limit=1)) == 1


def test_sessions_that_overcame_an_error_come_before_those_that_did_not(folder: Path) -> None:
    stuck, cured = failing(1), failing(2, f"much else stands before it here\n{ERROR}")
    cured.call("Bash", "12 tides", command="make tides")
    with remembered(folder, stuck, cured) as memory:
        assert [each.ended_by for each in memory.fix(ERROR)] == ["make tides", ""]


def test_steps_are_what_changed_something_between_the_last_appearance_and_the_cure(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("Let the tides run")
    talk.call("Edit", "done", file_path="/w/before.py", old_string="a", new_string="b")
    talk.call("Bash", ERROR, failed=True, command="make tides")
    talk.assistant("I will look.")
    talk.call("Read", "x", file_path="/w/gauge.py")
    talk.call("Bash", "x", command="cat gauge.py; ls")
    talk.call("Edit", "done", file_path="/w/gauge.py", old_string="a", new_string="b")
    talk.call("Bash", "ok", command="./calibrate pier 9")
    talk.call("Bash", "12 tides", command="make tides")
    talk.call("Edit", "done", file_path="/w/after.py", old_string="a", new_string="b")
    talk.assistant("The gauge was dry.")
    with remembered(folder, talk) as memory:
        (found,) = memory.fix(ERROR)
        assert [step.entry.text.count("gauge.py") for step in found.steps] == [1, 0]
        assert "calibrate" in found.steps[1].entry.text
        assert found.ended_by == "make tides"
        assert found.answer is not None
        assert found.answer.entry.text == "The gauge was dry."


def test_of_many_steps_the_last_before_the_cure_are_told_and_the_first_where_there_is_none(
    folder: Path,
) -> None:
    def tried(number: int) -> Talk:
        talk = failing(number)
        for n in range(3 * STEPS_MAX):
            talk.call("Edit", "done", file_path=f"/w/{n}.py", old_string="a", new_string="b")
        return talk

    cured = tried(1)
    cured.call("Bash", "12 tides", command="make tides")
    with remembered(folder, cured, tried(2)) as memory:
        last, first = memory.fix(ERROR)
        assert 4 <= len(last.steps) == len(first.steps) <= 12
        assert f"/w/{3 * STEPS_MAX - 1}.py" in last.steps[-1].entry.text
        assert "/w/0.py" in first.steps[0].entry.text


def test_a_log_that_was_read_shows_an_error_and_tried_nothing(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("What does the log say?")
    talk.call("Bash", ERROR, command="cat tides.log")
    talk.call("Bash", "fine", command="cat tides.log")
    with remembered(folder, talk) as memory:
        assert [each.ended_by for each in memory.fix(ERROR)] == [""]


def test_a_tool_that_failed_on_a_file_is_cured_by_itself_on_that_file(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("Change the gauge")
    change = {"old_string": "a", "new_string": "b"}
    talk.call("Edit", ERROR, failed=True, file_path="/w/gauge.py", **change)
    talk.call("Edit", "done", file_path="/w/other.py", **change)
    talk.call("Edit", "done", file_path="/w/gauge.py", **change)
    with remembered(folder, talk) as memory:
        (found,) = memory.fix(ERROR)
        assert found.ended_by == "Edit /w/gauge.py"
        assert [step.entry.text.count("other.py") for step in found.steps] == [1]


def test_what_a_person_pastes_is_an_appearance_and_what_the_model_says_is_none(folder: Path) -> None:
    asked, said = Talk(1, "/home/ada/harbor"), Talk(2, "/home/ada/harbor")
    asked.user(f"I get this: {ERROR}")
    said.user("What did you see?")
    said.assistant(f"I saw this: {ERROR}")
    with remembered(folder, asked, said) as memory:
        assert [each.hit.session.facts.id[7] for each in memory.fix(ERROR)] == ["1"]


def test_the_conclusion_is_quoted_and_not_the_first_reply(folder: Path) -> None:
    talk = failing(1)
    talk.assistant("Let me check the gauge at pier nine.")
    talk.call("Edit", "done", file_path="/w/gauge.py", old_string="a", new_string="b")
    talk.call("Bash", "12 tides", command="make tides")
    talk.assistant("It runs. Let me look at the rest.")
    talk.assistant("Done.\n\nThe gauge at pier nine was missing a float, which gauge.py now adds.")
    talk.user("Thanks, and now the lighthouse")
    talk.assistant("The lamp was fixed.")
    with remembered(folder, talk) as memory:
        (found,) = memory.fix(ERROR)
        assert found.quote == "The gauge at pier nine was missing a float, which gauge.py now adds."
        assert (found.is_told, found.ended_by) == (True, "make tides")


def test_a_cure_that_is_only_told_counts_as_one(folder: Path) -> None:
    told, stuck = failing(1, f"{ERROR} and more"), failing(2)
    told.assistant("The gauge at pier nine was missing a float.")
    stuck.assistant("I could not find out more.")
    with remembered(folder, stuck, told) as memory:
        first, second = memory.fix(ERROR)
        assert (first.is_told, first.is_cured, first.ended_by) == (True, True, "")
        assert (second.is_told, second.is_cured) == (False, False)
        assert second.quote == "I could not find out more."


def test_where_nothing_is_told_the_turn_that_ended_it_has_the_last_word(folder: Path) -> None:
    talk = failing(1)
    talk.call("Bash", "12 tides", command="make tides")
    talk.assistant("Let me see.")
    talk.assistant("The tides run.")
    talk.user("And now the lighthouse")
    talk.assistant("The lamp burns.")
    with remembered(folder, talk) as memory:
        (found,) = memory.fix(ERROR)
        assert (found.is_told, found.quote) == (False, "The tides run.")


def test_a_cure_may_be_told_in_a_later_turn(folder: Path) -> None:
    talk = failing(1)
    talk.assistant("I do not know yet.")
    talk.user("And now?")
    talk.assistant("The gauge at pier nine was missing a float.")
    with remembered(folder, talk) as memory:
        (found,) = memory.fix(ERROR)
        assert (found.is_told, found.quote) == (True, "The gauge at pier nine was missing a float.")


def test_source_code_and_pages_that_hold_the_words_are_no_error(folder: Path) -> None:
    source = f'raise TideError("{ERROR}")'
    talk = Talk(1, "/home/ada/harbor")
    talk.user("look around")
    talk.call("Read", source, file_path="/w/gauge.py")
    talk.call("Grep", source, pattern="TideError")
    talk.call("Bash", source, command="cd /w && cat gauge.py | head -3")
    talk.call("Bash", source, command="git -C /w diff")
    talk.call("Edit", source, file_path="/w/gauge.py", old_string="a", new_string="b")
    talk.call("WebFetch", source, url="https://harbour.example/errors")
    with remembered(folder, talk) as memory:
        assert memory.fix(ERROR) == []


def test_logs_and_runs_that_show_an_error_are_one_whatever_their_exit_code(folder: Path) -> None:
    calls: list[tuple[str, dict[str, str]]] = [
        ("Read", {"file_path": "/w/tides.log"}),
        ("Bash", {"command": "cat /var/logs/tides"}),
        ("Bash", {"command": "make tides | tail -3"}),
        ("mcp__page__console", {}),
    ]
    talks = []
    for number, (tool, arguments) in enumerate(calls, 1):
        talk = Talk(number, "/home/ada/harbor")
        talk.user("go on")
        talk.call(tool, ERROR, **arguments)
        talks.append(talk)
    with remembered(folder, *talks) as memory:
        assert {each.hit.session.facts.id[7] for each in memory.fix(ERROR, limit=9)} == {"1", "2", "3", "4"}


def test_a_run_behind_a_pipe_is_judged_by_what_it_shows(folder: Path) -> None:
    def tried(number: int, *results: str) -> Talk:
        talk = Talk(number, "/home/ada/harbor")
        talk.user("go on")
        for result in results:
            talk.call("Bash", result, command=f"make tides 2>&1 | tail -{number}")
        return talk

    talks = tried(1, ERROR, "12 tides"), tried(2, ERROR, f"again: {ERROR}"), failing(3)
    talks[2].call("Bash", "3 failed", command="make tides | tail -3")
    talks[2].call("Bash", "all good", command="make tides | tail -4")
    with remembered(folder, *talks) as memory:
        found = {each.hit.session.facts.id[7]: each.ended_by for each in memory.fix(ERROR)}
        assert found == {"1": "make tides 2>&1 | tail -1", "2": "", "3": "make tides | tail -4"}


def test_what_a_fork_repeats_is_told_once(folder: Path) -> None:
    talks = [failing(1), failing(2)]
    for talk in talks:
        talk.assistant("The gauge at pier nine was missing a float.")
    with remembered(folder, *talks, failing(3)) as memory:
        assert len(memory.fix(ERROR)) == 2
