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
