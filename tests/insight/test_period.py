"""What was done on a day: by its entries, in the person's time zone, project by project."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from tests.support.claude_talk import Talk, remembered

from recollect.values.days import Period, ProjectWork

DAY = date(2026, 3, 2)  # that of the first talk


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def worked(number: int, cwd: str = "/home/ada/harbor", asked: str = "Let the tides run") -> Talk:
    talk = Talk(number, cwd)
    talk.user(asked)
    talk.call("Edit", "done", file_path=f"{cwd}/gauge.py", old_string="a", new_string="b")
    talk.call("Bash", "3 passed", command="pytest -q")
    talk.call("Bash", f"[main 50d816{number}] gauge: a float", command="git commit -am x")
    talk.assistant("Done. Not pushed yet.")
    return talk


def over_midnight() -> Talk:
    """Asked and committed before midnight of the second, asked and committed again after it."""
    talk = Talk(1, "/home/ada/harbor")
    for n, (hour, hash_) in enumerate((("2026-03-02T23", "1111111"), ("2026-03-03T00", "2222222"))):
        talk.user(f"Let's use httpx{n} instead of requests.")
        talk.call("Bash", f"[main {hash_}] gauge: {hash_}", command="git commit -am x")
        talk.assistant("Done. Not pushed yet.")
        for at in range(len(talk._lines) - 4, len(talk._lines)):
            record = json.loads(talk._lines[at])
            record["timestamp"] = f"{hour}:5{at % 4}:00.000Z" if n == 0 else f"{hour}:0{at % 4}:00.000Z"
            talk._lines[at] = json.dumps(record)
    return talk


def one(period: Period) -> ProjectWork:
    (project,) = period.projects
    return project


def test_a_day_tells_what_was_done_decided_and_left(folder: Path) -> None:
    with remembered(folder, worked(1)) as memory:
        found = one(memory.today(DAY))
        assert found.project == "harbor"
        (work,) = found.works
        assert (work.title, str(work.outcome), work.goes_on) == ("Let the tides run", "success", False)
        assert (work.files, work.tests.runs, found.test_runs) == (1, 1, 1)
        assert [each.hash for each in found.commits] == ["50d8161"]
        assert ["Not pushed" in each.text for each in found.open] == [True]
        assert found.active_ms == work.active_ms == 7 * 60_000


def test_what_says_nothing_without_what_stood_before_it_is_left_out(folder: Path) -> None:
    talk = worked(1)
    talk.user("do it")  # and nothing came of it
    with remembered(folder, talk) as memory:
        assert "do it" in [each.text for each in memory.digest(talk.id)[1].open]
        assert [each.text for each in one(memory.today(DAY)).open] == ["Done. Not pushed yet."]


def test_of_a_session_over_days_the_last_day_is_one_on_which_something_was_said(folder: Path) -> None:
    talk = over_midnight()
    record = json.loads(talk._lines[-1])
    talk._lines[-1] = json.dumps(record | {"timestamp": "2026-03-20T12:00:00.000Z"})
    with remembered(folder, talk) as memory:
        assert memory.today(date(2026, 3, 10)).last_day == "2026-03-03"


def test_the_same_asked_twice_is_two_sessions(folder: Path) -> None:
    with remembered(folder, worked(1), worked(1, "/home/ada/harbor").fork(8), worked(2)) as memory:
        begun = {work.session.facts.started_ms for work in one(memory.week(date(2026, 3, 5))).works}
        assert len(begun) == len(one(memory.week(date(2026, 3, 5))).works) == 2


def test_other_days_have_nothing_and_name_the_last_with_work(folder: Path) -> None:
    with remembered(folder, worked(1), worked(3)) as memory:
        for day, last in ((date(2026, 3, 9), "2026-03-04"), (date(2026, 3, 3), "2026-03-02")):
            assert memory.today(day).projects == ()
            assert memory.today(day).last_day == last
        assert memory.today(date(2026, 3, 1)).last_day == ""
        assert memory.today(DAY).last_day == ""


def test_a_week_is_seven_days(folder: Path) -> None:
    with remembered(folder, worked(1), worked(7), worked(8)) as memory:
        week = memory.week(date(2026, 3, 8))
        assert (week.first, week.last) == ("2026-03-02", "2026-03-08")
        assert [each.hash for each in one(week).commits] == ["50d8161", "50d8167"]
        assert [each.hash for each in one(memory.week(date(2026, 3, 9))).commits] == ["50d8167", "50d8168"]


def test_over_midnight_each_day_has_its_own_part(folder: Path) -> None:
    with remembered(folder, over_midnight()) as memory:
        before, after = one(memory.today(DAY)), one(memory.today(date(2026, 3, 3)))
        assert [each.hash for each in before.commits] == ["1111111"]
        assert [each.hash for each in after.commits] == ["2222222"]
        assert [each.text[10:16] for each in before.decided] == ["httpx0"]
        assert [each.text[10:16] for each in after.decided] == ["httpx1"]
        assert [work.goes_on for work in before.works] == [True]
        assert [work.goes_on for work in after.works] == [False]
        assert (len(before.open), len(after.open)) == (0, 1)
        both = one(memory.week(date(2026, 3, 3)))
        assert before.active_ms + after.active_ms < both.active_ms


def test_over_midnight_a_run_of_tests_is_told_on_its_own_day(folder: Path) -> None:
    talk = over_midnight()
    for hour, came in (
        ("2026-03-02T23", "1 failed"),
        ("2026-03-02T23", "2 passed"),
        ("2026-03-03T00", "3 failed"),
    ):
        talk.call("Bash", came, command="pytest -q")
        for at in (-2, -1):
            record = json.loads(talk._lines[at])
            talk._lines[at] = json.dumps(record | {"timestamp": f"{hour}:5{6 + at}:30.000Z"})
    with remembered(folder, talk) as memory:
        before, after = one(memory.today(DAY)), one(memory.today(date(2026, 3, 3)))
        assert [(work.tests.runs, work.tests.last) for work in before.works] == [(2, "passed")]
        assert [(work.tests.runs, work.tests.last) for work in after.works] == [(1, "failed")]
        assert (before.test_runs, after.test_runs) == (2, 1)
        assert one(memory.week(date(2026, 3, 3))).test_runs == 3


def test_days_are_those_of_the_persons_time_zone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with remembered(folder, over_midnight()) as memory:
        monkeypatch.setenv("TZ", "UTC-5")  # five hours ahead
        time.tzset()
        assert memory.today(DAY).projects == ()
        assert len(one(memory.today(date(2026, 3, 3))).commits) == 2


def test_projects_with_most_work_come_first_and_one_can_be_asked_for(folder: Path) -> None:
    pier = worked(2, "/home/ada/pier", "Mend the pier").fork(12)
    pier.user("And more")
    pier.assistant("Done.")
    with remembered(folder, worked(1), worked(2), pier) as memory:
        assert [each.project for each in memory.today(date(2026, 3, 3)).projects] == ["pier", "harbor"]
        assert [each.project for each in memory.today(date(2026, 3, 3), project="HARB").projects] == [
            "harbor"
        ]
        # They were worked on side by side, and that time counts once.
        assert memory.today(date(2026, 3, 3)).active_ms == 9 * 60_000


def test_what_a_fork_repeats_is_told_once(folder: Path) -> None:
    talk = worked(1)
    with remembered(folder, talk, talk.fork(9)) as memory:
        found = one(memory.today(DAY))
        assert len(found.works) == 1
        assert len(found.commits) == 1
        assert len(found.open) == 1


def test_a_session_in_which_nothing_happened_is_none(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.assistant("Hello.")
    with remembered(folder, talk) as memory:
        assert memory.today(DAY).projects == ()
        assert memory.today(date(2026, 3, 9)).last_day == ""
