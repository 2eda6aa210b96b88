"""`search` as a person reads it: by conversation, each head on one line, however wide the terminal."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.claude_talk import Talk

from recollect.cli.columns import PROJECT, TITLE, Column, fit
from recollect.values.text import cells

PROMPT = "Why does the gauge at the far end of the long pier in the old harbour read nothing, and since when?"
CAUSE = "The walrus had moved the gauge, and its float was dry."
ID = r"[0-9a-f]{12}(?:\.\d+)?"


@pytest.fixture
def asked(recollect: Any, tmp_path: Path) -> Any:
    """Two long conversations of one project: a question, a failed run, what it came to; and a later one."""
    for number, name in enumerate(("kelp", "moss"), 1):
        talk = Talk(number, "/home/ada/a-harbor-with-a-rather-long-name-on-the-northern-coast")
        talk.user(f"Sort the {name} boats, the long ones first, and tell the walrus of it \x1b[31m")
        talk.assistant(f"Sorted {name}.")
        talk.user(f"{PROMPT} {name}")
        talk.call(
            "mcp__harbour_service__read_gauge",
            f"walrus {name}: dry\x1b[2J " * 40,
            failed=True,
            pier=f"walrus {name}",
        )
        talk.assistant(CAUSE if number == 1 else "Nothing of it.")
        talk.write(tmp_path / "logs")
    recollect("ingest", tmp_path / "logs")
    return recollect


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def on_terminal(asked: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    def told(width: int, *words: str) -> list[str]:
        with monkeypatch.context() as patch:
            stream = _Terminal()
            patch.setenv("COLUMNS", str(width))
            patch.setenv("TERM", "xterm-256color")
            patch.setenv("NO_COLOR", "1")
            patch.setattr(sys, "stdout", stream)
            assert asked(*words).code == 0
        return re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue()).splitlines()

    return told


def test_a_session_is_headed_by_its_title_then_the_question_what_it_came_to_and_the_hits(asked: Any) -> None:
    lines = asked("search", "walrus gauge kind:result", "--mode", "text").out.splitlines()
    heads = [n for n, line in enumerate(lines) if not line.startswith(" ")]
    assert len(heads) == 2
    first = next(n for n in heads if lines[n].endswith("  00000001-0000"))
    assert re.match(r"Sort the kelp boats.*  a-harbor\S*  claude  imported  \d+ \w+  ", lines[first])
    assert lines[first + 1] == f"  asked   {PROMPT} kelp"
    assert lines[first + 2] == f"  answer  {CAUSE}"
    assert re.match(rf"  {ID}  result mcp__harbour_service__read_g\S*  \(error\)  walrus", lines[first + 3])


def test_a_prompt_that_the_title_tells_is_not_told_again(asked: Any) -> None:
    said = asked("search", "sorted kelp", "--mode", "text").out
    assert "Sort the kelp boats" in said
    assert "asked" not in said


def test_a_conclusion_that_is_the_next_hit_is_not_told_twice(asked: Any) -> None:
    words = "walrus kelp dry -sorted -kind:prompt -kind:call session:00000001"
    both = asked("search", words, "--mode", "text", "--no-collapse").out
    assert re.findall(rf"^  {ID}  (\w+)", both, re.MULTILINE) == ["result", "answer"]
    assert both.count(CAUSE) == 1


def test_hits_are_listed_one_by_one_when_asked_for(asked: Any) -> None:
    lines = asked("search", "walrus", "--mode", "text", "--flat").out.splitlines()
    assert re.match(rf"{ID}  \w+", lines[0])
    assert "answer  " not in "".join(lines[1::2])
    by_fields = asked("search", "walrus", "--mode", "text", "--fields", "id").out.splitlines()
    assert all(re.fullmatch(ID, line) for line in by_fields)


def test_json_has_the_sessions_beside_the_hits(asked: Any) -> None:
    words = ("search", "walrus gauge", "--mode", "text", "--json")
    found = asked(*words).json
    ids = [hit["id"] for hit in found["hits"]]
    assert sorted(id_ for each in found["sessions"] for id_ in each["hits"]) == sorted(ids)
    assert found["sessions"][0]["hits"][0] == ids[0]
    one = next(
        each
        for each in asked("search", "walrus kind:result", "--json").json["sessions"]
        if each["conclusion"] == CAUSE
    )
    assert one["session"]["id"].startswith("00000001")
    assert (one["asked"], bool(re.fullmatch(ID, one["prompt"]))) == (f"{PROMPT} kelp", True)
    assert re.fullmatch(ID, one["answer"])
    flat = asked(*words, "--flat").json
    assert flat["sessions"] == []
    assert [hit["id"] for hit in flat["hits"]] == ids


def test_what_does_not_fit_a_budget_is_in_no_session_either(asked: Any) -> None:
    found = asked("search", "walrus gauge", "--mode", "text", "--json", "--max-tokens", "250").json
    assert found["left_out"]
    assert found["hits"]
    assert [id_ for each in found["sessions"] for id_ in each["hits"]] == [hit["id"] for hit in found["hits"]]
    alone = asked("search", "walrus gauge", "--mode", "text", "--json", "--max-tokens", "250", "--flat").json
    assert len(alone["hits"]) > len(found["hits"]), "what is said of sessions is counted too"


@pytest.mark.parametrize("width", [60, 80, 100, 160, 200])
def test_a_head_is_one_line_with_its_ids_and_times_whole(
    on_terminal: Callable[..., list[str]], width: int
) -> None:
    grouped = on_terminal(width, "search", "walrus gauge", "--mode", "text")
    assert all(cells(line) <= width for line in grouped)
    heads = [line for line in grouped if not line.startswith(" ")]
    assert len(heads) == 2
    assert all(re.search(r"  imported  \d+ \w+  0000000\d-0000$", head) for head in heads)
    flat = on_terminal(width, "search", "walrus gauge", "--mode", "text", "--flat")
    assert all(cells(line) <= width for line in flat)
    heads = [line for line in flat if not line.startswith(" ")]
    assert all(re.match(rf"{ID}  .*  imported  \d+ \w+(?:  \+\d+ folded)?$", head) for head in heads)
    assert len(heads) > 2
    asked_line = next(line for line in grouped if line.startswith("  asked"))
    assert f"{PROMPT} kelp".startswith(asked_line[10:].rstrip("…"))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_what_was_done_before_is_headed_by_one_line_too(
    on_terminal: Callable[..., list[str]], width: int
) -> None:
    fixed = [line for line in on_terminal(width, "fix", "walrus moss: dry") if not line.startswith(" ")]
    assert fixed
    assert all(re.match(ID, line) and cells(line) <= width for line in fixed)


def test_a_title_leaves_a_head_that_has_no_room_for_it() -> None:
    columns = [
        Column("outcome"),
        Column("project", gives=PROJECT),
        Column("title", gives=TITLE),
        Column("id"),
    ]
    assert fit(columns, [40, 30, 30, 12], 64) == {0: 40, 1: 8, 3: 12}
    assert fit(columns, [40, 30, 30, 12], 70) == {0: 40, 1: 8, 2: 4, 3: 12}
