"""How names the commands that were run for something, and whether they worked."""

from __future__ import annotations

from pathlib import Path

from tests.support.claude_talk import Talk, remembered

from recollect.memory import Memory


def test_commands_are_counted_by_how_they_ended(memory: Memory) -> None:
    found = {each.text: (each.worked, each.failed) for each in memory.how("run the auth tests")}
    assert found["pytest -q tests/auth"] == (1, 1)


def test_what_was_run_after_a_fitting_prompt_counts(memory: Memory) -> None:
    assert memory.how("deploy site to staging")[0].text == "make upload ENV=staging"


def test_every_run_of_a_command_is_counted_and_the_last_is_shown(folder: Path) -> None:
    talks = []
    for number, failed in ((1, False), (2, True), (3, False)):
        talk = Talk(number, f"/home/ada/harbor{number}")
        talk.user("go on")
        talk.call("Bash", "x", failed=failed, command="calibrate  the gauge")
        talks.append(talk)
    talks[2].call("Bash", "", command="calibrate the gauge")
    talks[2].forget()
    with remembered(folder, *talks) as memory:
        (found,) = memory.how("calibrate the gauge")
        assert (found.text, found.worked, found.failed, found.unknown) == ("calibrate the gauge", 2, 1, 1)
        assert found.session.facts.id[7] == "3"


def test_what_holds_the_words_and_was_asked_for_comes_before_what_only_has_one_of_both(folder: Path) -> None:
    both, named, asked = (Talk(n, "/home/ada/harbor") for n in (1, 2, 3))
    both.user("calibrate the gauge")
    both.call("Bash", "x", command="./gauge --calibrate")
    named.user("go on")
    named.call("Bash", "x", command="./gauge --calibrate --dry")
    asked.user("calibrate the gauge")
    asked.call("Bash", "x", command="make depth")
    with remembered(folder, both, named, asked) as memory:
        found = [each.text for each in memory.how("calibrate gauge")]
        assert found == ["./gauge --calibrate", "./gauge --calibrate --dry", "make depth"]
        assert len(memory.how("calibrate gauge", limit=2)) == 2


def test_what_came_of_the_next_prompt_or_before_this_one_was_not_run_for_it(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("wake up")
    talk.call("Bash", "x", command="uptime")
    talk.user("calibrate the gauge")
    talk.call("Bash", "x", command="make depth")
    talk.call("Read", "x", file_path="/w/a.py")
    talk.user("now sleep")
    talk.call("Bash", "x", command="poweroff")
    with remembered(folder, talk) as memory:
        assert [each.text for each in memory.how("calibrate the gauge")] == ["make depth"]


def test_what_only_sounds_alike_is_no_recipe(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("start the database")
    talk.call("Bash", "x", command="docker compose up postgres")
    with remembered(folder, talk) as memory:
        assert memory.how("boot sql server") == []


def ran(number: int, *runs: tuple[str, str], failed: bool = False) -> Talk:
    """A session of nothing but runs, each with its result."""
    talk = Talk(number, "/home/ada/harbor")
    talk.user("go on")
    for command, result in runs:
        talk.call("Bash", result, failed=failed, command=command)
    return talk


def test_variants_of_a_command_are_one_shown_as_it_worked_most_often(folder: Path) -> None:
    first = ran(1, ("cd /w && make gauge 2>&1 | tail -3", "ok"), ("make gauge", "ok"))
    second = ran(2, ("A=1 make gauge src/b.py", "ok"), ("make gauge /home/ada/harbor/src/c.py", "ok"))
    with remembered(folder, first, second) as memory:
        (found,) = memory.how("make gauge")
        assert (found.text, found.worked, found.variants) == ("make gauge", 4, 3)
        assert found.last.session[7] == "2"


def test_of_variants_that_worked_as_often_the_shortest_is_shown(folder: Path) -> None:
    runs = ("make gauge -k deep", "ok"), ("make gauge", "ok"), ("make gauge src/pier.py", "ok")
    with remembered(folder, ran(1, *runs)) as memory:
        assert memory.how("make gauge")[0].text == "make gauge"
    seldom = ran(2, ("make gauge", "ok"), *[("make gauge src/pier.py", "ok")] * 2)
    with remembered(folder / "other", seldom) as memory:
        assert memory.how("make gauge")[0].text == "make gauge src/pier.py"


def test_what_worked_more_often_comes_first_and_what_never_did_last(folder: Path) -> None:
    talks = (
        *(ran(number, ("calibrate gauge --often", "x")) for number in (1, 2, 3)),
        ran(4, ("calibrate gauge --once", "x")),
        ran(5, ("calibrate gauge --never", "x"), failed=True),
    )
    with remembered(folder, *talks) as memory:
        found = [each.text.rpartition("--")[2] for each in memory.how("calibrate gauge")]
        assert found == ["often", "once", "never"]


def test_what_worked_lately_counts_more_than_what_worked_long_ago(folder: Path) -> None:
    def score(days: tuple[int, int], at: Path) -> float:
        talks = [ran(day, ("calibrate gauge", "x")) for day in days]
        with remembered(at, *talks, ran(30, ("calibrate gauge --other", "x"))) as memory:
            return {each.text: each.score for each in memory.how("calibrate gauge")}["calibrate gauge"]

    assert score((28, 29), folder / "lately") > 1.01 * score((1, 2), folder / "long ago")


def test_behind_a_pipe_the_result_says_whether_it_worked(folder: Path) -> None:
    with remembered(
        folder, ran(1, ("make gauge | tail -3", "2 failed"), ("make gauge | tail -3", "ok"))
    ) as memory:
        (found,) = memory.how("make gauge")
        assert (found.worked, found.failed) == (1, 1)


def test_commands_that_stand_in_closing_answers_are_known(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("How do I calibrate the gauge?")
    talk.assistant("I could calibrate the gauge with `make wrong gauge`.")
    talk.assistant("To calibrate the gauge run:\n\n```sh\ncd pier && make calibration\n```")
    with remembered(folder, talk) as memory:
        (found,) = memory.how("calibrate gauge")
        assert (found.text, found.told, found.worked, found.unknown) == ("make calibration", 1, 0, 0)
        assert found.last.entry.text.startswith("To calibrate")


def test_what_only_shows_something_comes_behind_what_does_it(folder: Path) -> None:
    talks = ran(1, ("run gauge calibrate", "x")), ran(2, ("cat gauge calibrate", "x"))
    with remembered(folder, *talks) as memory:
        scores = {each.text: each.score for each in memory.how("calibrate gauge")}
        assert scores["cat gauge calibrate"] < 0.8 * scores["run gauge calibrate"]


def test_what_names_the_words_itself_comes_before_a_path_that_has_them(folder: Path) -> None:
    talks = ran(1, ("touch /calibrate/gauge", "x")), ran(2, ("gauge calibrate", "x"))
    with remembered(folder, *talks) as memory:
        assert [each.text for each in memory.how("calibrate gauge")] == [
            "gauge calibrate",
            "touch /calibrate/gauge",
        ]


def test_a_command_that_never_worked_is_worth_less_than_one_that_was_only_told(folder: Path) -> None:
    talk = ran(1, ("make depth gauge", "x"), failed=True)
    talk.user("How else?")
    talk.assistant("Make the depth gauge with `make depth --gauge`.")
    with remembered(folder, talk) as memory:
        assert [each.text for each in memory.how("make depth gauge")][-1] == "make depth gauge"


def test_words_of_grammar_are_not_looked_for_in_a_command(folder: Path) -> None:
    talks = ran(1, ("gauge calibrate", "x")), ran(2, ("gauge how do the", "x"))
    with remembered(folder, *talks) as memory:
        scores = {each.text: each.score for each in memory.how("how do the gauge")}
        assert scores["gauge calibrate"] > 0.8 * scores["gauge how do the"]
