"""Names in a payload lead nowhere but to the agent's own transcripts."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.hook_calls import EVENTS, Desk, tree
from tests.support.logs import said, uuid_of

from recollect.light.journal import journal_path

SECRET = "kept-from-everyone"
OTHER = f"{uuid_of(77)}.jsonl"


@pytest.fixture
def canary(folder: Path) -> Path:
    """A tree beside the home, shaped as an agent's own, with what nobody may read or change."""
    projects = folder / "outside" / ".claude" / "projects" / "-srv-demo"
    projects.mkdir(parents=True)
    (projects / OTHER).write_bytes(said(1, SECRET, 77) + b"\n")
    (folder / "outside" / "id_rsa").write_text(SECRET)
    return folder / "outside"


@pytest.fixture
def desk(desk: Desk) -> Desk:
    desk.write(1, 2)
    (desk.transcript.parent / "plain.txt").write_text(SECRET)
    return desk


def paths(desk: Desk, canary: Path) -> dict[str, Any]:
    """What a payload may claim to be a transcript."""
    projects = desk.transcript.parent
    stranger = canary / ".claude" / "projects" / "-srv-demo" / OTHER
    (projects / "link").symlink_to(stranger.parent)
    (projects / OTHER).symlink_to(stranger)
    os.mkfifo(projects / f"{uuid_of(78)}.jsonl")
    (projects / f"{uuid_of(79)}.jsonl").mkdir()
    os.link(stranger, canary / "hard.jsonl")
    up = os.path.relpath(stranger, projects)
    return {
        "absolute": str(stranger),
        "up": f"{projects}/{up}",
        "relative": up,
        "relative to cwd": os.path.relpath(stranger, desk.home),
        "escaped": f"{projects}/%2e%2e/%2e%2e/{OTHER}",
        "backslashes": f"{projects}\\..\\..\\{OTHER}",
        "nul": f"{stranger}\0.jsonl",
        "nul in ours": f"{projects}/{OTHER}\0",
        "newline": f"{projects}/\n{stranger}",
        "long": f"{projects}/{'x' * 4096}.jsonl",
        "deep": f"{projects}/{'x/' * 2048}{OTHER}",
        "key": str(canary / "id_rsa"),
        "zero": "/dev/zero",
        "random": "/dev/urandom",
        "stdin": "/dev/stdin",
        "own descriptor": "/proc/self/fd/0",
        "environment": "/proc/self/environ",
        "tty": "/dev/tty",
        "windows device": "CON",
        "link": str(projects / OTHER),
        "link above": str(projects / "link" / OTHER),
        "fifo": str(projects / f"{uuid_of(78)}.jsonl"),
        "folder": str(projects / f"{uuid_of(79)}.jsonl"),
        "no transcript": str(projects / "plain.txt"),
        "missing": str(projects / f"{uuid_of(80)}.jsonl"),
        "root": "/",
        "nothing": "",
        "surrogate": "\ud800",
        "number": 7,
        "list": [str(stranger)],
    }


def told(desk: Desk) -> set[str]:
    """Every byte that anything of ours could have kept of what it read."""
    ours = [desk.store, journal_path(desk.store), *(desk.home / "cache").rglob("*")]
    return {str(path) for path in ours if path.is_file() and SECRET.encode() in path.read_bytes()}


@pytest.mark.parametrize("event", EVENTS)
def test_a_transcript_is_a_plain_file_in_the_agents_own_folder(desk: Desk, canary: Path, event: str) -> None:
    claimed = paths(desk, canary)
    before = tree(canary)
    for name, path in claimed.items():
        done = desk.call(event, transcript_path=path)
        assert done.harmless, (name, done)
        assert told(desk) == set(), name
    assert tree(canary) == before
    assert desk.call("Stop").harmless
    assert desk.remembered() == ["line 1 of this talk", "line 2 of this talk"]


HOSTILE = [
    "../../outside/x", "/etc/passwd", "a\0b", "a\nb", "x" * 4096, "..", ".", "", "$(touch outside/x)", "`id`",
    "; id", "%2e%2e%2f", "..\\..\\x", "\ud800", "\u202e", "CON", 7, None, ["x"], {"a": 1},
]  # fmt: skip


FIELDS = ["session_id", "cwd", "hook_event_name", "source", "agent_id", "agent_transcript_path"]


@pytest.mark.parametrize("field", FIELDS)
def test_no_other_field_leads_anywhere(desk: Desk, canary: Path, field: str) -> None:
    before = tree(canary), {path.name for path in desk.store.parent.parent.iterdir()}
    for value in HOSTILE:
        done = desk.call("SessionStart", **{field: value})
        assert done.harmless, (value, done)
    assert (tree(canary), {path.name for path in desk.store.parent.parent.iterdir()}) == before
    assert desk.call("Stop").harmless
    assert desk.remembered() == ["line 1 of this talk", "line 2 of this talk"]


def test_a_folder_that_becomes_a_link_is_not_followed(desk: Desk, canary: Path) -> None:
    """Between two calls someone puts a link in the place of the project's folder."""
    assert desk.call("Stop").harmless
    stranger = canary / ".claude" / "projects" / "-srv-demo"
    (stranger / desk.transcript.name).write_bytes(desk.transcript.read_bytes() + said(3, SECRET) + b"\n")
    shutil.rmtree(desk.transcript.parent)
    desk.transcript.parent.symlink_to(stranger)
    assert desk.call("Stop").harmless
    assert told(desk) == set()
    assert desk.remembered() == ["line 1 of this talk", "line 2 of this talk"]


def test_what_lies_beside_a_transcript_is_taken_only_when_it_lies_there_itself(
    desk: Desk, canary: Path
) -> None:
    """Subagents and spilled results have a folder of their own, in which links may lie."""
    beside = desk.transcript.with_suffix("")
    for name in ("subagents/agent-1.jsonl", "subagents/agent-1.meta.json", "tool-results/toolu_1.txt"):
        (beside / name).parent.mkdir(parents=True, exist_ok=True)
        (beside / name).symlink_to(canary / "id_rsa")
    os.mkfifo(beside / "subagents" / "agent-2.jsonl")
    other = Desk(desk.home, desk.store, session=2)
    other.write(1)
    other.transcript.with_suffix("").symlink_to(canary)
    (canary / "subagents").mkdir()
    (canary / "subagents" / "agent-3.jsonl").write_bytes(said(1, SECRET) + b"\n")
    before = tree(canary)
    for each in (desk, other):
        for event in EVENTS:
            assert each.call(event).harmless
    assert tree(canary) == before
    assert told(desk) == set()
    assert SECRET not in " ".join(desk.remembered())
