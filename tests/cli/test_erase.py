"""`erase` shows what would go, asks, keeps a receipt, and says when something is still there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support import ROOT

from recollect.cli import main

SESSION = "019d2b00-5a5a-7c00-8000-00000000c0de"
OTHER = "5a3e1c00"


@pytest.fixture
def taken(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    shutil.copytree(ROOT / "src" / "recollect" / "sample", tmp_path / "logs")
    assert run(store, "ingest", str(tmp_path / "logs")) == 0
    capsys.readouterr()
    return store


def run(store: str, *words: str) -> int:
    return main(["--store", store, *words])


def listing(store: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    assert run(store, "sessions", "--json") == 0
    return sorted(each["id"][:8] for each in told(capsys)["sessions"])


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_dry_run_changes_nothing_and_says_nothing_of_what_was_said(
    taken: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(taken, "erase", "019d", "--dry-run") == 0
    shown = capsys.readouterr()
    assert SESSION[:13] in shown.out
    assert "regression" not in shown.out + shown.err
    assert listing(taken, capsys) == [SESSION[:8], OTHER]
    assert run(taken, "erase", "019d", "--dry-run", "--json") == 0
    assert told(capsys)["counts"]["lines"] == 9


def test_nobody_to_ask_means_no(taken: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(taken, "erase", "019d") == 2
    assert "--yes" in capsys.readouterr().err
    assert listing(taken, capsys) == [SESSION[:8], OTHER]


@pytest.mark.parametrize(
    "words", [(), ("019d", "--match", "x"), ("019d", "--project", "harbor"), ("--match", "a", "--regex", "b")]
)
def test_what_means_nothing_is_refused(taken: str, words: tuple[str, ...]) -> None:
    assert run(taken, "erase", *words, "--yes") == 2


def test_erased_listed_verified_and_taken_back(
    taken: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    receipt = tmp_path / "receipt.json"
    assert run(taken, "erase", "019d", "--yes", "-o", str(receipt)) == 0
    assert "found nothing" in capsys.readouterr().out.replace("\n", " ")
    assert receipt.stat().st_mode & 0o077 == 0
    assert "regression" not in receipt.read_text()
    assert run(taken, "erase", "019d", "--yes", "-o", str(receipt)) == 2, "a receipt is not written over"
    capsys.readouterr()
    assert run(taken, "erase", "--list", "--json") == 0
    (listed,) = told(capsys)["erasures"]
    assert (listed["by"], listed["counts"]["lines"]) == ("session", 9)
    assert run(taken, "erase", "--list") == 0
    assert listed["id"] in capsys.readouterr().out
    assert run(taken, "erase", "--verify", str(receipt), "--match", "Write a regression test") == 0
    assert run(taken, "ingest", str(tmp_path / "logs")) == 0
    assert listing(taken, capsys) == [OTHER]
    assert run(taken, "erase", "--forget-erasure", listed["id"]) == 0
    assert run(taken, "ingest", str(tmp_path / "logs")) == 0
    capsys.readouterr()
    assert run(taken, "erase", "--verify", str(receipt), "--json") == 1
    found = told(capsys)
    assert (found["remembered"], "lines" in found["found"]) == (False, True)
    assert run(taken, "erase", "--verify", str(tmp_path / "none.json")) != 0


def test_a_raw_export_says_that_something_is_missing(
    taken: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(taken, "export", OTHER, "--to", "raw", "-o", str(tmp_path / "whole.jsonl")) == 0
    assert "byte for byte" not in capsys.readouterr().err
    assert run(taken, "erase", "--match", "clock skew", "--yes") == 0
    assert run(taken, "export", OTHER, "--to", "raw", "-o", str(tmp_path / "raw.jsonl")) == 0
    assert "byte for byte" in " ".join(capsys.readouterr().err.split())
    whole, left = ((tmp_path / name).read_bytes().splitlines() for name in ("whole.jsonl", "raw.jsonl"))
    assert left == [line for line in whole if b"clock skew" not in line]
    assert len(left) < len(whole)


def test_the_agents_own_files_are_deleted_only_on_a_second_word(
    taken: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (log,) = (tmp_path / "logs" / "codex").rglob(f"*{SESSION}.jsonl")
    assert run(taken, "erase", SESSION, "--yes", "--sources", "--json") == 0
    assert told(capsys)["sources"] == [str(log)]
    assert log.exists()
    assert run(taken, "erase", OTHER, "--yes", "--sources", "--delete-sources", "--json") == 0
    deleted = told(capsys)["deleted"]
    assert len(deleted) == 1
    assert not Path(deleted[0]).exists()
    assert log.exists()


def test_a_repeated_erase_says_that_it_is_done(taken: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(taken, "erase", SESSION, "--yes") == 0
    capsys.readouterr()
    assert run(taken, "erase", SESSION, "--yes") == 0
    assert "already erased" in capsys.readouterr().out
    assert run(taken, "erase", SESSION, "--dry-run", "--json") == 0
    already = told(capsys)
    assert len(already["already"]) == 12
    assert already["completed"] == []
    assert run(taken, "erase", SESSION.replace("0", "1"), "--yes") != 0


def test_an_erase_that_was_cut_short_is_completed_by_the_next_one(
    taken: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as cut:
        cut.setattr("recollect.memory.erasing.note_cleared", interrupted)
        assert run(taken, "erase", SESSION, "--yes") == 70
    capsys.readouterr()
    assert run(taken, "erase", SESSION[:6], "--yes") == 0
    assert "cut short" in capsys.readouterr().err
    assert run(taken, "erase", SESSION[:6], "--yes") != 0, "only a whole id tells that it was erased"


def interrupted(*_: object, **__: object) -> None:
    raise ZeroDivisionError


def test_a_dry_run_by_text_shows_a_few_places(taken: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("--match", "clock skew"), ("--regex", "clock.skew")):
        assert run(taken, "erase", *words, "--dry-run") == 0
        shown = capsys.readouterr().out
        assert 1 <= shown.count("for example: ") <= 3
        assert "clock skew" in shown
        assert run(taken, "erase", *words, "--dry-run", "--json") == 0
        assert "clock skew" in told(capsys)["glimpses"][0]
    assert run(taken, "erase", "--regex", "(clock", "--dry-run") == 2
