"""`recollect projects`: listing, deciding, undoing, and what cannot be decided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.homes import put, rollout
from tests.support.logs import uuid_of

from recollect.config import load_config
from recollect.hooks.state import read_catalog

HARBOR = "github.com/ada/harbor"


def listed(filled: Any) -> dict[str, Any]:
    return {each["name"]: each for each in filled("projects", "--json").json["projects"]}


def test_it_lists_each_project_once_with_its_names(filled: Any) -> None:
    found = filled("projects", "--json").json
    sessions = filled("sessions", "--all", "--limit", "0", "--json").json["sessions"]
    assert found["total"] == len(found["projects"])
    assert sum(each["sessions"] for each in found["projects"]) == sum(
        bool(each["project"]) for each in sessions
    )
    table = filled("projects", "--limit", "0").out
    assert all(name.rpartition("/")[2] in table for name in listed(filled))


def test_deciding_and_undoing(filled: Any) -> None:
    one, two, *_ = sorted(listed(filled))
    before = listed(filled)
    joined = filled("projects", "join", one, two, "--json").json["project"]
    assert (joined["name"], two in joined["aliases"]) == (one, True)
    assert two not in listed(filled)
    assert filled("projects", "rename", one, "Quay", "--json").json["project"]["name"] == "Quay"
    assert filled("projects", "label", "quay", "domain=keys", "--json").json["project"]["labels"] == [
        "domain=keys"
    ]
    assert [each["name"] for each in filled("projects", "--label", "keys", "--json").json["projects"]] == [
        "Quay"
    ]
    assert "domain=keys" in filled("projects").out
    assert {each["project"] for each in filled("sessions", "--label", "keys", "--json").json["sessions"]} == {
        "Quay"
    }
    assert filled("threads", "--label", "nothing", "--json").json["total"] == 0
    assert "domain=keys" in {row["group"] for row in filled("usage", "--by", "label", "--json").json["rows"]}
    filled("projects", "label", "quay", "domain=")
    filled("projects", "rename", "quay", one)
    filled("projects", "unjoin", two)
    after = listed(filled)
    assert "Quay" in after[one]["aliases"]
    after[one]["aliases"].remove("Quay")
    assert after == before


def test_a_catalog_that_is_asked_for_is_ready_by_the_names_of_folders_alone(recollect: Any) -> None:
    own = rollout(uuid_of(1), "Mend the quay. Never push to main.", cwd="/srv/harbor", minute=1)
    put(Path.home() / ".codex" / "sessions" / "2026", own, uuid_of(1))
    recollect("ingest")
    state = load_config().state
    state.mkdir(parents=True, exist_ok=True)
    recollect("projects", "rename", "harbor", "Quay")
    text = recollect("catalog", "--project", "quay", "--json").json["text"]
    assert read_catalog(str(state), "harbor") == text != ""
    assert not read_catalog(str(state), "Quay")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["fold", "a"], "no action"),
        (["join", "harbor"], "takes 2 words"),
        (["join", "nobody-here", "harbor"], "no project's name"),
        (["rename", HARBOR, "a\x1b[31mb"], "printable"),
        (["rename", HARBOR, "x" * 1_000], "printable"),
        (["label", HARBOR, "domain"], "KEY=VALUE"),
        (["label", HARBOR, "domain=" + "x" * 1_000], "printable"),
        (["split", HARBOR], "not another name"),
    ],
)
def test_what_cannot_be_decided_is_told(filled: Any, words: list[str], told: str) -> None:
    before = listed(filled)
    answer = filled("projects", *words)
    assert answer.code != 0
    assert told in answer.err
    assert "\x1b" not in answer.err
    assert listed(filled) == before
