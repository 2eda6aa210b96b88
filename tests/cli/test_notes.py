"""`remember` and `notes`: kept by hand, listed, changed, taken back."""

from __future__ import annotations

import io
from typing import Any

import pytest


def test_what_is_remembered_is_found_listed_changed_and_deleted(recollect: Any) -> None:
    told = recollect(
        "remember", "deploys go through staging first", "--project", "harbor", "--tag", "decision"
    )
    assert told.code == 0
    id_ = told.out.split()[-1]
    assert "staging" in recollect("search", "staging tag:decision").out
    (note,) = recollect("notes", "--json").json["notes"]
    assert (note["id"], note["project"], note["tags"], note["author"]) == (
        id_,
        "harbor",
        ["decision"],
        "person",
    )
    assert "staging" in recollect("notes", "--project", "harb").out
    assert recollect("notes", "--tag", "nothing", "--json").json["total"] == 0
    assert "deploys" in recollect("notes", "show", id_).out
    assert recollect("notes", "edit", id_, "deploys wait a day", "--json").json["note"]["text"] == (
        "deploys wait a day"
    )
    assert "wait a day" in recollect("notes").out
    assert recollect("notes", "delete", id_, "--json").json["deleted"]
    assert recollect("notes", "--json").json["notes"] == []
    assert "no notes" in recollect("notes").err


def test_a_note_with_an_id_of_its_own_is_replaced(recollect: Any) -> None:
    recollect("remember", "pip", "--id", "installer")
    note = recollect("remember", "uv", "--id", "installer", "--json").json["note"]
    assert (note["id"], note["text"]) == ("installer", "uv")
    assert [each["text"] for each in recollect("notes", "--json").json["notes"]] == ["uv"]


def test_standard_input_is_taken(recollect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("from a pipe\n"))
    assert recollect("remember", "-", "--json").json["note"]["text"] == "from a pipe"


def test_hostile_notes_do_not_steer_a_terminal(recollect: Any) -> None:
    recollect("remember", "red \x1b[31m alert", "--id", "x")
    for told in (recollect("notes"), recollect("notes", "show", "x"), recollect("notes", "delete", "x")):
        assert "\x1b" not in told.out
        assert "\\x1b" in told.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["remember", "  "], "nothing to remember"),
        (["remember", "x", "--tag", "a\x1bb"], "control character"),
        (["notes", "fold"], "no action"),
        (["notes", "edit", "x"], "takes 2 words"),
        (["notes", "show", "nobody"], "no note"),
    ],
)
def test_what_cannot_be_done_is_told(recollect: Any, words: list[str], told: str) -> None:
    recollect("remember", "one", "--id", "one")
    answer = recollect(*words)
    assert answer.code != 0
    assert told in answer.err
    assert len(recollect("notes", "--json").json["notes"]) == 1
