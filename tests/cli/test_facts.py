"""`facts` as a person reads and changes them, and as a model is asked for more."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.claude_talk import Talk
from tests.support.fake_client import FakeClient


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    made = FakeClient(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return made


@pytest.fixture
def asked(recollect: Any, machine: Path) -> Any:
    """A memory of one conversation, this person's own."""
    talk = Talk(1, "/home/ada/harbor")
    talk.user("Let's use httpx instead of requests. Always install with uv.")
    talk.assistant("Done: every deploy goes \x1b[31mthrough staging first.")
    talk.write(machine / ".claude/projects/-home-ada-harbor")
    assert recollect("ingest").code == 0
    return recollect


FACT = {"in": "through staging first", "text": "Deploys go through staging first."}


def test_facts_are_listed_by_tag_with_what_shows_them(asked: Any) -> None:
    asked("remember", "tea at four", "--tag", "config", "--project", "harbor")
    said = asked("facts").out
    assert (
        said.index("decision")
        < said.index("httpx instead")
        < said.index("config")
        < said.index("tea at four")
    )
    told = asked("facts", "--project", "harbor", "--json").json
    assert told["schema"] == "recollect.facts/1"
    assert {each["origin"] for each in told["facts"]} == {"rule", "note"}
    for each in told["facts"]:
        assert asked("show", each["entries"][0]).code == 0
    only = asked("facts", "--tag", "config", "--json").json
    assert [each["text"] for each in only["facts"]] == ["tea at four"]
    assert "no project's name has 'nosuch'" in asked("facts", "--project", "nosuch").err


def test_a_model_is_asked_only_when_a_person_says_so(asked: Any, client: FakeClient) -> None:
    client.plan({"facts": [FACT], "cost": 0.02})
    planned = asked("facts", "extract", "--dry-run")
    assert "1 conversation in 1 part" in planned.err
    assert "budget: $1.00" in planned.err
    assert "price at list: about $0.0" in planned.err
    refused = asked("facts", "extract")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert client.asked == []
    done = asked("facts", "extract", "--yes", "--budget-usd", "0.5")
    assert "decision: Deploys go through staging first." in done.out
    assert "1 part read, 1 fact kept" in done.err
    assert "$0.02" in done.err
    listed = asked("facts").out
    assert "told by a model (claude-toy)" in listed
    assert "\x1b" not in listed
    assert "nothing that was not read already" in asked("facts", "extract", "--yes").err
    assert "price at list: unknown" not in planned.err


def test_what_a_model_told_is_edited_and_deleted(asked: Any, client: FakeClient) -> None:
    client.plan({"facts": [FACT, {**FACT, "text": "Never mind this one.", "quote": "made up by nobody"}]})
    told = asked("facts", "extract", "--yes", "--json").json
    assert told["schema"] == "recollect.facts_extracted/1"
    assert told["plan"]["sessions"] == 1
    assert told["done"]["dropped"] == {"quotes words that are not there": 1}
    (fact,) = told["done"]["facts"]
    edited = asked("facts", "edit", fact["id"], "deploys go by boat", "--json").json
    assert (edited["fact"]["text"], edited["fact"]["origin"]) == ("deploys go by boat", "note")
    assert asked("facts", "delete", fact["id"][:8]).out.startswith("deleted")
    assert asked("facts", "delete", fact["id"]).code == 3


def test_wrong_words_say_what_to_type(asked: Any, client: FakeClient) -> None:
    for words in (("gossip",), ("edit", "a"), ("extract", "x"), ("extract", "--budget-usd", "-1")):
        assert asked("facts", *words).code == 2
    assert asked("facts", "extract", "--agent", "gemini").code == 2
    assert asked("facts", "--tag", "gossip").code == 2
