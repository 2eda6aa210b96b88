"""Finding sources: in a stable order, each once, with a count of everything passed over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import zstandard
from tests.support import DATA
from tests.support.logs import claude_path, codex_path, said, uuid_of, write

from recollect.intake.discover import agent_roots, discover
from recollect.values.errors import SourceError


def test_parents_come_before_their_subagents_and_older_rollouts_before_newer(tmp_path: Path) -> None:
    session = claude_path(tmp_path, 1)
    write(session.with_suffix("") / "subagents" / "agent-1.jsonl", said(1, "sub") + b"\n")
    write(session.with_suffix("") / "subagents" / "agent-1.meta.json", b"{}")
    write(session.with_suffix("") / "tool-results" / "toolu_1.txt", b"spilled")
    write(session, said(1, "main") + b"\n")
    write(claude_path(tmp_path, 9), said(1, "other") + b"\n")
    for day in ("03", "01", "02"):
        write(tmp_path / "sessions" / f"rollout-2026-01-{day}T00-00-00-{uuid_of(int(day))}.jsonl", b"{}\n")
    found = discover([tmp_path])
    names = [Path(each.file.path).name for each in found.found]
    assert names == [
        f"{uuid_of(1)}.jsonl",
        f"{uuid_of(9)}.jsonl",
        "agent-1.jsonl",
        "agent-1.meta.json",
        "toolu_1.txt",
        *(f"rollout-2026-01-{day}T00-00-00-{uuid_of(int(day))}.jsonl" for day in ("01", "02", "03")),
    ]
    assert [each.size for each in found.found] == [os.stat(each.file.path).st_size for each in found.found]
    assert not found.skipped


def test_the_order_does_not_depend_on_how_the_paths_were_given() -> None:
    folders = [DATA / "claude", DATA / "codex"]
    forth, back = discover(folders), discover(folders[::-1])
    assert forth.found == back.found == discover([*folders, *folders, folders[0] / "."]).found


def test_a_file_is_found_once_through_any_number_of_paths(tmp_path: Path) -> None:
    path = write(claude_path(tmp_path, 1), said(1, "x") + b"\n")
    (tmp_path / "link").symlink_to(path)
    paths = [tmp_path, path, path.parent, path.parent / ".." / path.parent.name, tmp_path / "link"]
    assert [each.file.path for each in discover(paths).found] == [str(path)]


def test_what_is_passed_over_is_counted_by_reason(tmp_path: Path) -> None:
    write(tmp_path / "readme.md", b"")
    write(tmp_path / "other.jsonl", b'{"role":"user"}\n')
    write(tmp_path / "empty.jsonl", b"")
    write(codex_path(tmp_path, 1), b"{}\n")
    write(Path(f"{codex_path(tmp_path, 1)}.zst"), zstandard.compress(b"{}\n"))
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "other.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    found = discover([tmp_path])
    assert len(found.found) == 1
    assert dict(found.skipped) == {
        "other file": 1,
        "not a known log": 2,
        "compressed copy of a plain file": 1,
        "link": 1,
        "not a regular file": 1,
    }


def test_a_name_that_settles_the_matter_costs_no_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(5):
        write(claude_path(tmp_path, n), said(n, "x") + b"\n")

    def refuse(path: Path) -> None:
        raise AssertionError(f"{path} was opened")

    monkeypatch.setattr("recollect.intake.discover.open_source", refuse)
    assert len(discover([tmp_path]).found) == 5


def test_a_very_deep_tree_needs_no_recursion(tmp_path: Path) -> None:
    before, depth = os.getcwd(), 1200
    try:
        os.chdir(tmp_path)
        for _ in range(depth):
            os.mkdir("d")
            os.chdir("d")
        assert discover([tmp_path]).found == []
    finally:
        # Taken down step by step: pytest's own clean-up recurses.
        for _ in range(depth):
            os.chdir("..")
            os.rmdir("d")
        os.chdir(before)


@pytest.mark.parametrize("name", ["nothing here", "x" * 300, "a\0b"])
def test_a_path_that_cannot_be_is_named_in_the_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError, match=r"nothing here|xxx|a.b") as caught:
        discover([tmp_path / name])
    assert caught.value.hint


def test_only_folders_that_exist_are_searched(tmp_path: Path) -> None:
    (tmp_path / ".codex" / "sessions").mkdir(parents=True)
    moved = tmp_path / "moved" / "projects"
    moved.mkdir(parents=True)
    assert agent_roots(tmp_path, {}) == [tmp_path / ".codex" / "sessions"]
    environment = {"CLAUDE_CONFIG_DIR": str(moved.parent), "CODEX_HOME": str(tmp_path / "gone")}
    assert agent_roots(tmp_path, environment) == [moved]
