"""A year day by day, and what was dangerous in it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
from tests.support.claude_talk import Talk, remembered

from recollect.insight.activity import WEEKS, activity
from recollect.memory import Memory
from recollect.values.days import Activity

LAST = date(2026, 3, 18)  # a Wednesday


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def year(memory: Memory, project: str = "", count: int = 7) -> Activity:
    with memory.view() as view:
        return activity(view, LAST, project, count)


def worked(number: int, asked: str, cwd: str = "/home/ada/harbor", answers: int = 1) -> Talk:
    talk = Talk(number, cwd)
    talk.user(asked)
    for n in range(answers):
        talk.assistant(f"Answer {n}.")
    return talk


def moved(talk: Talk, at: int, moment: str) -> None:
    """Let the lines from one on be of another moment."""
    for n in range(at, len(talk._lines)):
        talk._lines[n] = json.dumps({**json.loads(talk._lines[n]), "timestamp": moment})


def test_each_day_has_its_entries_and_the_first_week_begins_on_a_monday(folder: Path) -> None:
    with remembered(folder, worked(1, "Mend it", answers=3), worked(5, "Again")) as memory:
        found = year(memory)
        assert found.days == (("2026-03-02", 4), ("2026-03-06", 2))
        first = date.fromisoformat(found.first)
        assert first.weekday() == 0
        assert LAST - first == timedelta(days=7 * (WEEKS - 1) + 2)
        assert found.last == "2026-03-18"


def test_what_went_on_for_days_counts_on_each_and_what_is_too_old_on_none(folder: Path) -> None:
    long, old = worked(1, "Mend it", answers=3), worked(2, "Long ago")
    moved(long, 2, "2026-03-09T08:00:00.000Z")
    moved(old, 0, "2024-03-09T08:00:00.000Z")
    with remembered(folder, long, old) as memory:
        assert year(memory).days == (("2026-03-02", 2), ("2026-03-09", 2))


def test_a_day_on_which_nothing_was_asked_or_called_is_none(folder: Path) -> None:
    said = Talk(3, "/home/ada/harbor")
    said.assistant("Nobody asked, and nothing is done.")
    with remembered(folder, worked(1, "Mend it"), said) as memory:
        found = year(memory)
        assert found.days == (("2026-03-02", 2),)
        assert [day.day for day in found.chronicle] == ["2026-03-02"]
        assert not memory.today(date(2026, 3, 4)).projects


def test_days_with_work_are_known_where_digests_cannot_be_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Talk(3, "/home/ada/harbor")
    said.assistant("Nobody asked, and nothing is done.")
    with remembered(folder, worked(1, "Mend it"), said) as memory:
        monkeypatch.setattr("recollect.search.digest_rows.DigestRows.row_of", lambda self, session: None)
        assert year(memory).days == (("2026-03-02", 2),)


def test_days_are_those_of_the_persons_time_zone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with remembered(folder, worked(1, "Mend it")) as memory:
        monkeypatch.setenv("TZ", "UTC+3")  # three hours behind: it is still the day before
        time.tzset()
        assert year(memory).days == (("2026-03-01", 2),)


def test_the_chronicle_names_what_most_was_done_in_the_latest_day_first(folder: Path) -> None:
    talks = [worked(3, f"Mend pier {n}", answers=n) for n in range(1, 6)]
    talks = [talk.fork(30 + n) for n, talk in enumerate(talks)]
    later = worked(8, "Paint it", "/home/ada/boat")
    with remembered(folder, *talks, later) as memory:
        latest, before = year(memory).chronicle
        assert (latest.day, latest.projects, latest.sessions) == ("2026-03-09", ("boat",), 1)
        assert (before.entries, before.sessions) == (20, 5)
        assert [title for _, title in before.works] == ["Mend pier 5", "Mend pier 4", "Mend pier 3"]
        assert len(year(memory, count=1).chronicle) == 1
        assert len(year(memory, count=0).chronicle) == 2
        assert [day for day, _ in year(memory, "boat").days] == ["2026-03-09"]


def test_dangers_come_latest_first_once_and_masked(folder: Path) -> None:
    token = "ghp_Zk3uV9xQ2mB7nL5rT8wY1cD4fG6hJ0pSaE2R"
    first, second = Talk(1, "/home/ada/harbor"), Talk(2, "/home/ada/boat")
    for talk in (first, second):
        talk.user("Clean up")
        talk.call("Bash", "", command="rm -rf data")
        talk.call("Bash", "", command="rm -rf data")
        talk.call("Bash", "no", failed=True, command=f"git push --force https://{token}@github.com/a/b main")
    with remembered(folder, first, second, first.fork(9)) as memory:
        found = memory.dangers()
        told = [(each.session.facts.project, each.danger.kind, each.danger.came_of_it) for each in found]
        one = [("force push", "failed"), ("recursive delete", "done")]
        assert told == [("boat", *each) for each in one] + [("harbor", *each) for each in one]
        assert not any(token in each.danger.command for each in found)
        assert "redacted" in found[0].danger.command
        assert [each.time_ms for each in found] == sorted((each.time_ms for each in found), reverse=True)
        assert len(memory.dangers(1)) == 1
        assert len(memory.dangers(0)) == 4
        assert len(memory.dangers(project="boat")) == 2
