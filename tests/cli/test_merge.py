"""`merge` and `export --to store`: what a person sees, and what is refused before anything is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support import DATA
from tests.support.logs import claude_path, said, uuid_of, write

TOKEN = "ghp_Zk3uV9xQ2mB7nL5rT8wY1cD4fG6hJ0pSaE2R"

pytestmark = pytest.mark.on_disk("other stores are files")


@pytest.fixture
def other(recollect: Any, tmp_path: Path) -> Path:
    path = tmp_path / "other.h5"
    assert recollect("convert", DATA / "codex", "-o", path).code == 0
    return path


def test_another_store_comes_in_once(recollect: Any, other: Path, store: str) -> None:
    first = recollect("merge", other)
    assert first.code == 0
    assert "came new" in first.out
    assert recollect("merge", other).out.startswith("everything was here already\n")
    told = recollect("merge", other, "--json").json
    assert (told["sources"], told["lines"], told["store"]) == (0, 0, store)
    inside = recollect("inspect", other, "--json").json["counts"]
    assert recollect("inspect", store, "--json").json["counts"] == inside


def test_stores_become_one_of_its_own(recollect: Any, other: Path, tmp_path: Path) -> None:
    more, out = tmp_path / "more.h5", tmp_path / "out.h5"
    assert recollect("convert", DATA / "claude", "-o", more).code == 0
    told = recollect("merge", other, more, "-o", out, "--json").json
    assert told["store"] == str(out)
    counts = [recollect("inspect", path, "--json").json["counts"] for path in (other, more, out)]
    assert counts[2]["lines"] == counts[0]["lines"] + counts[1]["lines"]
    assert not (tmp_path / "memory.h5").exists()


def test_what_is_refused_makes_nothing(recollect: Any, other: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.h5"
    for words, code in (
        (["merge", other, tmp_path / "none.h5", "-o", out], 4),
        (["merge", DATA / "codex", "-o", out], 4),
        (["merge", other, "-o", tmp_path / "no" / "out.h5"], 2),
        (["export", "--to", "store", "-o", out], 2),
        (["export", "--project", "p", "--to", "raw", "-o", out], 2),
        (["export", "--to", "raw", "-o", out], 2),
        (["export", "a1b2", "--to", "store", "-o", "-"], 2),
        (["export", "a1b2", "--to", "store", "--force", "-o", out], 2),
    ):
        answer = recollect(*words)
        assert answer.code == code, (words, answer.err)
        assert "try: " in answer.err
    assert recollect("merge", other, "-o", other).code == 2
    assert not out.exists()


def test_a_part_is_a_store_without_secrets(recollect: Any, tmp_path: Path) -> None:
    write(claude_path(tmp_path / "logs", 1), said(1, f"token {TOKEN}", cwd="/srv/alpha") + b"\n")
    write(claude_path(tmp_path / "logs", 2), said(2, "other", session=2, cwd="/srv/beta") + b"\n")
    assert recollect("ingest", tmp_path / "logs").code == 0
    part = tmp_path / "part.h5"
    made = recollect("export", "--project", "alpha", "--to", "store", "-o", part)
    assert made.code == 0
    assert "1 session, 1 entries" in made.out
    assert "1 secret found in it and masked" in made.out
    shown = recollect("--store", part, "show", uuid_of(1)).out
    assert "[redacted:github-token]" in shown
    assert TOKEN not in shown
    again = recollect("export", "--project", "alpha", "--to", "store", "-o", part)
    assert (again.code, "already exists" in again.err) == (2, True)
    none = recollect("export", "--project", "gamma", "--to", "store", "-o", tmp_path / "none.h5")
    assert none.code == 3
    assert not (tmp_path / "none.h5").exists()
    exact = tmp_path / "exact.h5"
    words = ["--since", "2026-01-02", "--until", "2026-01-02", "--to", "store", "-o", exact, "--no-redact"]
    assert recollect("export", *words, "--json").json["sessions"] == 2
    assert TOKEN in recollect("--store", exact, "show", uuid_of(1)).out
