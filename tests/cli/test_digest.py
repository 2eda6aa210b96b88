"""`digest` as a person reads it: one screen, and nothing of a log but text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support import DATA
from tests.support.claude_talk import Talk

from recollect.values.text import cells


@pytest.fixture
def asked(recollect: Any, tmp_path: Path) -> Any:
    """A store in which something was mended and committed."""
    talk = Talk(1, "/home/ada/harbor")
    talk.user("Let the \x1b[31mtides run \u202e again")
    talk.call("Edit", "done", file_path="/home/ada/harbor/gauge.py", old_string="a", new_string="b\nc")
    talk.call("Bash", "1 failed", failed=True, command="pytest -q")
    talk.call("Bash", "3 passed", command="pytest -q")
    talk.call("Bash", "[main 50d8160] gauge: a float", command="git commit -am x")
    talk.assistant("Done. Not pushed yet.")
    talk.write(tmp_path / "logs")
    recollect("ingest", tmp_path / "logs")
    (session,) = recollect("sessions", "--json").json["sessions"]
    return lambda *words: recollect("digest", session["id"], *words)


def test_a_digest_says_what_was_done_and_how_it_ended(asked: Any) -> None:
    said = asked().out
    for part in (
        "success",
        "gauge.py +2 -1",
        "2 runs, the last one passed",
        "50d8160 gauge: a float",
        "Not pushed",
    ):
        assert part in said


def test_it_fits_a_screen_and_holds_no_control_character(asked: Any) -> None:
    said = asked().out
    lines = said.splitlines()
    assert len(lines) <= 50
    assert all(cells(line) <= 80 for line in lines)
    assert "\x1b" not in said
    assert "\u202e" not in said


def test_every_statement_names_an_entry_that_can_be_shown(asked: Any, recollect: Any) -> None:
    told = asked("--json").json
    entries = [
        each["entry"] for name in ("asked", "files", "commits", "open", "errors") for each in told[name]
    ]
    assert len(entries) == 5
    for entry in (*entries, told["entry"], told["tests"]["entry"]):
        assert recollect("show", entry, "--json").json["schema"] == "recollect.show-entry/1"


def test_tokens_and_cost_are_those_that_usage_tells(recollect: Any) -> None:
    recollect("ingest", DATA / "claude")
    by_session = {row["group"]: row for row in recollect("usage", "--by", "session", "--json").json["rows"]}
    sessions = recollect("sessions", "--json").json["sessions"]
    with_agents = [each for each in sessions if recollect("digest", each["id"], "--json").json["subagents"]]
    assert with_agents
    for each in sessions:
        told = recollect("digest", each["id"], "--json").json
        row = by_session.get(
            each["id"], {"tokens": 0, "cost_microdollars": told["usage"]["cost_microdollars"]}
        )
        assert {key: told["usage"][key] for key in ("tokens", "cost_microdollars")} == {
            key: row[key] for key in ("tokens", "cost_microdollars")
        }
        said = recollect("digest", each["id"]).out
        assert (" tokens, " in said) == bool(row["tokens"])
        assert ("subagent: " in said or "subagents: " in said) == bool(told["subagents_usage"]["responses"])


def test_sessions_are_listed_with_what_their_digests_say(recollect: Any, tmp_path: Path) -> None:
    recollect("ingest", DATA / "claude")
    listed = recollect("sessions", "--json").json["sessions"]
    assert len(listed) > 1
    for each in listed:
        told = recollect("digest", each["id"], "--json").json
        assert each["digest"] == {"title": told["title"], "outcome": told["outcome"]}


def test_digests_are_found_by_their_words(asked: Any, recollect: Any) -> None:
    said = recollect("digests", "gauge", "outcome:success").out
    assert "success  " in said
    assert "commit  50d8160 gauge: a float" in said
    assert "\x1b" not in said
    (told,) = recollect("digests", "gauge", "--json").json["digests"]
    assert told["statements"][0].keys() == {"what", "text", "entry"}
    for each in told["statements"]:
        assert recollect("show", each["entry"], "--json").json["schema"] == "recollect.show-entry/1"
    assert "nothing found" in recollect("digests", "zyzzyva").err
    assert recollect("digests", "tool:Bash").code == 2


def test_a_long_session_takes_forty_lines_of_statements(recollect: Any, tmp_path: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    for number in range(30):
        talk.user(f"Let's use gauge {number} instead of the float")
        talk.call("Write", "done", file_path=f"/home/ada/harbor/gauge{number}.py", content="a\n" * number)
        talk.call("Bash", f"error: tide {number}", failed=True, command=f"make tide{number}")
        talk.call("Bash", f"rm: gone {number}", command=f"rm -rf build{number}")
        talk.call("Bash", f"[main 50d816{number:02}] gauge {number}", command=f"git commit -m {number}")
        talk.call("Bash", f"https://github.com/ada/harbor/pull/{number}", command="gh pr create --fill")
        talk.call("Bash", "1 failed", failed=True, command="pytest -q")
    talk.assistant("The gauges still fail. Not pushed. " + "More to say of it. " * 100)
    talk.write(tmp_path / "logs")
    recollect("ingest", tmp_path / "logs")
    lines = recollect("digest", "00000001").out.splitlines()
    blank = lines.index("")
    assert 30 < blank <= 40
    assert all(cells(line) <= 80 for line in lines[:blank])
    assert cells(" ".join(lines[blank:])) <= 10 * 80


def test_an_error_without_words_is_told_by_what_failed(recollect: Any, tmp_path: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("Build the tide")
    talk.call("Bash", "", failed=True, command="make   tide")
    talk.call("Bash", "=== tide ===\nthe tide is out", failed=True, command="make gauge")
    talk.assistant("It does not build.")
    talk.write(tmp_path / "logs")
    recollect("ingest", tmp_path / "logs")
    told = recollect("digest", "00000001", "--json").json["errors"]
    assert {each["text"] for each in told} == {"make tide", "the tide is out"}
