"""`today`, `week` and `activity` as a person reads them."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.claude_talk import Talk

from recollect.values.text import cells


@pytest.fixture
def asked(recollect: Any, tmp_path: Path) -> Any:
    """A store with fifteen projects, much of it on one day."""
    for number in range(1, 16):
        talk = Talk(1, f"/home/ada/harbor{number:02}")
        talk.id = talk.id.replace("00000001", f"{number:08d}")
        talk.user(f"Let the \x1b[31mtides run \u202e at pier {number} " + "with a long wish " * 9)
        for n in range(12):
            talk.call("Bash", f"[main {number:02}{n:02}abc] pier: {n}", command="git commit -am x")
        talk.assistant("Done. Not pushed yet.")
        talk.write(tmp_path / "logs")
    recollect("ingest", tmp_path / "logs")
    return recollect


def test_a_day_reads_well_in_eighty_columns_and_two_screens(asked: Any) -> None:
    said = asked("today", "--day", "2026-03-02").out
    lines = said.splitlines()
    assert lines[0].startswith("Monday, 2026-03-02  15 sessions, 15 projects, ")
    assert 20 < len(lines) <= 80
    assert all(cells(line) <= 80 for line in lines[:-1])
    assert lines[-1].startswith("and 5 more projects: ")
    assert "\x1b" not in said
    assert "\u202e" not in said


def test_every_line_names_what_can_be_looked_at(asked: Any) -> None:
    said = asked("today", "--day", "2026-03-02", "--project", "harbor01").out
    told = {line.split()[0]: line.split()[-1] for line in said.splitlines()[4:]}
    assert set(told) == {"done", "commit", "open"}
    assert asked("digest", told.pop("done")).code == 0
    for entry in told.values():
        assert asked("show", entry).code == 0


def test_where_nothing_was_done_the_last_day_and_its_command_are_named(asked: Any) -> None:
    assert "recollect today --day 2026-03-02" in asked("today").err
    assert "recollect week --day 2026-03-02 --project r02" in asked("week", "--project", "r02").err
    assert asked("today").out == ""
    assert "nor before" in asked("today", "--day", "2020-01-01").err
    assert "no project's name has 'nosuch'" in asked("today", "--project", "nosuch").err
    assert asked("today", "--day", "yesterday").code == 2


@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01", "1970-01-01", "2026-13-01", "soon"])
def test_a_day_that_no_clock_tells_is_refused(asked: Any, day: str) -> None:
    answer = asked("today", "--day", day)
    assert answer.code == 2
    assert "is no day" in answer.err


def test_a_week_as_json(asked: Any) -> None:
    told = asked("week", "--day", "2026-03-08", "--json").json
    assert (told["schema"], told["first"], told["last"]) == ("recollect.week/1", "2026-03-02", "2026-03-08")
    assert len(told["projects"]) == 15
    assert len(told["projects"][0]["commits"]) == 12


@pytest.fixture
def lately(recollect: Any, tmp_path: Path) -> Any:
    """A store with work of this month."""
    now = datetime.datetime.now(datetime.UTC)
    talk = Talk(1, "/home/ada/harbor")
    talk.user("Let the \x1b[31mtides run \u202e")
    talk.call("Bash", "", command="rm -rf \x1b[31mdata")
    talk._lines = [
        json.dumps({**json.loads(line), "timestamp": now.isoformat().replace("+00:00", "Z")})
        for line in talk._lines
    ]
    talk.write(tmp_path / "logs")
    recollect("ingest", tmp_path / "logs")
    return recollect


def test_a_year_is_drawn_week_by_week_with_its_months(lately: Any) -> None:
    said = lately("activity").out
    lines = said.splitlines()
    assert all(cells(line) <= 80 for line in lines)
    assert [line[:3] for line in lines[1:8]] == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    drawn = "".join(line[5:] for line in lines[1:8])
    assert drawn.count("█") == 1
    assert 52 * 7 < len(drawn.rstrip()) <= 53 * 7
    today = datetime.datetime.now(datetime.UTC)
    assert len(lines[1 + today.weekday()].rstrip()) == 5 + 53
    months = lines[0].split()
    assert len(months) >= 11
    assert f"{today:%b}" in months or f"{today - datetime.timedelta(days=31):%b}" in months
    assert "1 day with work" in said
    assert "\x1b" not in said


def test_without_shades_letters_are_drawn(lately: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    said = lately("activity").out
    assert "less .-+x# more" in said
    assert said.split("Sun")[0].count("#") == 1


def test_the_year_as_json_and_of_nobody(lately: Any) -> None:
    told = lately("activity", "--json").json
    assert [each["entries"] for each in told["days"]] == [3]
    assert told["chronicle"][0]["works"][0]["session"]["project"] == "harbor"
    assert "no project's name has 'nosuch'" in lately("activity", "--project", "nosuch").err


def test_what_was_dangerous_is_listed_with_what_came_of_it(lately: Any) -> None:
    head, command = lately("activity", "--dangerous").out.splitlines()
    assert head.split()[1:4] == ["done", "recursive", "delete"]
    assert command == "    rm -rf \\x1b[31mdata"
    (told,) = lately("activity", "--dangerous", "--json").json["dangers"]
    assert (told["kind"], told["came_of_it"]) == ("recursive delete", "done")
    assert lately("show", told["entry"]).code == 0
    assert "no project's name" in lately("activity", "--dangerous", "--project", "nosuch").err
