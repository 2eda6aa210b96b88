"""What Claude.ai and ChatGPT give out, at the command line."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.support import DATA

TIDES = "6800000a-0000-4000-8000-000000000000"


@pytest.fixture
def export(tmp_path: Path) -> Path:
    path = tmp_path / "chatgpt-export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.write(DATA / "chatgpt" / "conversations.json", "conversations.json")
        made.writestr("chat.html", "<html>")
    return path


def test_a_zip_is_taken_searched_and_given_back(recollect: Any, export: Path, tmp_path: Path) -> None:
    answer = recollect("ingest", str(export))
    assert answer.code == 0
    assert "other file in a zip (1)" in answer.out
    listed = recollect("sessions", "--agent", "chatgpt", "--json").json["sessions"]
    assert {each["title"] for each in listed} >= {"High tide in the harbor", "Red boat name"}
    assert "high tide is at 14:20" in recollect("search", "when is high tide").out.lower()
    assert "Ember" not in recollect("show", "6800000b-0000-4000-8000-000000000000").out
    raw = tmp_path / "raw.json"
    assert recollect("export", TIDES, "--to", "raw", "-o", str(raw)).code == 0
    whole = (DATA / "chatgpt" / "conversations.json").read_bytes()
    assert raw.read_bytes() in whole
    assert json.loads(raw.read_bytes()) == json.loads(whole)[0]


def test_no_new_conversation_is_told_of_it(recollect: Any, export: Path) -> None:
    recollect("ingest", str(export))
    assert "tide" not in recollect("catalog").out.lower()


def test_a_damaged_zip_is_a_sentence_and_a_next_step(recollect: Any, export: Path) -> None:
    export.write_bytes(export.read_bytes()[:-30])
    answer = recollect("ingest", str(export))
    assert answer.code == 8
    assert "not readable as a zip" in answer.err
    assert "fetch it again" in answer.err
    assert "Traceback" not in answer.err
