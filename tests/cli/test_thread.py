"""`thread` and `threads --tree` as a person reads them: within 80 columns, and nothing of a log but text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.claude_talk import Talk

from recollect.values.text import cells

HOSTILE = "\x1b[31mBasin \u202e of the harbor"
PLAN = f"# Plan: Dredge the {HOSTILE}\n\n" + "Scoop the silt, carry it out to sea. " * 20


@pytest.fixture
def asked(recollect: Any, tmp_path: Path) -> Any:
    """A store in which a plan was made in one conversation and carried out in the next."""
    first = Talk(1, "/home/ada/harbor")
    first.user(f"Plan how to dredge the {HOSTILE}")
    first.call("ExitPlanMode", "The user doesn't want to proceed with this tool use.", failed=True, plan=PLAN)
    second = Talk(2, "/home/ada/harbor")
    second.user(f"Implement the following plan:\n\n{PLAN}")
    for n in range(12):
        path = f"/home/ada/harbor/src/{'deep/' * 12}basin{n}.py"
        second.call("Edit", "done", file_path=path, old_string="a", new_string="b")
    second.call("Bash", "[main 50d8160] basin: dredged", command="git commit -am x")
    second.assistant("Dredged. Not pushed yet.")
    for talk in (first, second):
        talk.write(tmp_path / "logs")
    recollect("ingest", tmp_path / "logs")
    recollect("index")
    return recollect


def test_a_thread_says_what_was_planned_done_and_how_each_session_ended(asked: Any) -> None:
    said = asked("thread", "00000001").out
    for part in (
        "2 sessions",
        "Plan: Dredge the",
        "50d8160 basin: dredged",
        "and 5 more files",
        "abandoned",
        "success",
        "carries out the plan (0.95)",
        "Not pushed",
    ):
        assert part in said


@pytest.mark.parametrize("words", [("thread", "00000001"), ("threads", "--tree")])
def test_it_fits_80_columns_and_holds_no_control_character(asked: Any, words: tuple[str, ...]) -> None:
    said = asked(*words).out
    assert all(cells(line) <= 80 for line in said.splitlines()), said
    assert len(said.splitlines()) <= 60
    assert "\x1b" not in said
    assert "\u202e" not in said


def test_every_statement_names_an_entry_that_can_be_shown(asked: Any) -> None:
    told = asked("thread", "00000002", "--json").json
    entries = [
        each["entry"] for name in ("plans", "asked", "files", "commits", "outcomes") for each in told[name]
    ]
    assert len(entries) >= 17
    for entry in entries:
        assert asked("show", entry, "--json").json["schema"] == "recollect.show-entry/1"


def test_nodes_and_edges_are_those_of_the_tree(asked: Any) -> None:
    (tree,) = asked("threads", "--tree", "--json").json["threads"]
    assert [(node["id"][:8], node["kind"]) for node in tree["nodes"]] == [
        ("00000001", "session"),
        ("00000002", "session"),
    ]
    (edge,) = tree["edges"]
    assert (edge["from"][:8], edge["to"][:8], edge["how"], edge["confidence"]) == (
        "00000001",
        "00000002",
        "plan",
        0.95,
    )
    (listed,) = asked("threads", "--json").json["threads"]
    assert "nodes" not in listed
