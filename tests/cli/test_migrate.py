"""`migrate` as a person runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.foreign_memories import chunks_database, foreign_database

from recollect.cli import main


def test_a_memory_comes_in_and_is_found(recollect: Any, tmp_path: Path) -> None:
    database = foreign_database(tmp_path / "palace.db", "mempalace")
    said = recollect("migrate", database)
    assert said.code == 0
    assert "MemPalace: 3 rows" in said.out
    assert "not read: meta" in said.out
    assert "`recollect notes` lists them" in said.err
    found = recollect("search", "which installer uv", "--json").json["hits"]
    assert found[0]["session"].startswith("palace/harbor")
    told = recollect("migrate", database, "--json").json
    assert told["schema"] == "recollect.migration/1"
    assert told["schema_name"] == "MemPalace"
    counted = told["tables"]["documents"]
    assert (counted["added"], counted["unchanged"], counted["vectors"]) == (0, 3, 3)
    assert counted["fields"]["metadata_json"] == {"to": "metadata", "filled": 3, "aside": 0}


def test_columns_are_told_where_asked_for_and_rows_that_are_not_taken_always(
    recollect: Any, tmp_path: Path
) -> None:
    rows = [(n, b"\xff\x1b[31m", b"", "api", 1.0, "s", "", 0) for n in range(1, 13)]
    database = chunks_database(tmp_path / "old.db", rows)
    said = recollect("migrate", database, "--verbose", "--compression", "--compression-level", "9")
    assert "memory_chunks.embedding" in said.out
    assert "not taken: memory_chunks 1: it has no text" in said.out
    assert said.out.count("not taken:") == 10
    assert "12 rows were not taken" in said.err
    assert "\x1b" not in said.out


def test_the_words_of_the_program_it_replaces_are_understood(recollect: Any, tmp_path: Path) -> None:
    row = (1, "words", b"\0\0\x80\x3f" * 4, "api", 1.0, "s", "", 0)
    database = chunks_database(tmp_path / "old.db", [row, (2, "gone", *row[2:7], 1)])
    said = recollect(
        "migrate", "--sqlite", database, "--agent-id", "a7", "--embedder", "toy", "--embedding-dim", "2",
        "--skip-deleted", "--float16",
    )  # fmt: skip
    assert said.code == 0, said.err
    (note,) = recollect("notes", "--json").json["notes"]
    assert (note["author"], note["vector_dims"]) == ("a7", 2)


def test_wrong_words_say_what_to_type(recollect: Any, tmp_path: Path) -> None:
    assert recollect("migrate").code == 2
    assert recollect("migrate", "a.db", "--sqlite", "b.db").code == 2
    missing = recollect("migrate", tmp_path / "none.db")
    assert (missing.code, "no such file" in missing.err) == (8, True)


@pytest.mark.on_disk("it is about which files there are")
def test_another_store_is_made_and_a_dry_run_makes_none(recollect: Any, tmp_path: Path) -> None:
    database = foreign_database(tmp_path / "claude-mem.db", "claude_mem")
    out = tmp_path / "out.h5"
    said = recollect("migrate", database, "-o", out, "--dry-run")
    assert "claude-mem: 12 rows (dry run)" in said.out
    assert not out.exists()
    assert not Path(tmp_path / "memory.h5").exists()
    assert recollect("migrate", database, "-o", out).code == 0
    assert main(["--store", str(out), "check"]) == 0
    assert not Path(tmp_path / "memory.h5").exists()
    (tmp_path / "bad.db").write_text("x" * 5000)
    assert recollect("migrate", tmp_path / "bad.db", "-o", tmp_path / "bad.h5").code == 8
    assert not (tmp_path / "bad.h5").exists()
