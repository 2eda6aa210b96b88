"""Which files an adapter takes, by name and by the look of their first records."""

from __future__ import annotations

from pathlib import PurePosixPath as Path
from typing import Any

import pytest

from recollect.agents.head import Head
from recollect.agents.registry import agent_of, agents, built_in
from recollect.testing.agents import head_with
from recollect.values.records import Framing, Role, SourceFile

UUID = "a1b2c3d4-1111-4aaa-8bbb-000000000001"
PROJECT = f"/home/ada/.claude/projects/-home-ada-harbor/{UUID}"
CLAUDE_LINE = {"type": "user", "uuid": "u", "sessionId": UUID, "message": {"role": "user", "content": "hi"}}
COPILOT_LINE = {"type": "session.start", "data": {"sessionId": UUID}, "id": "1", "parentId": None}
STATE = f"/home/ada/.copilot/session-state/{UUID}"
CODEX_LINE = {"timestamp": "2026-04-01T08:00:00Z", "type": "session_meta", "payload": {"id": UUID}}


def recognise(path: str, *head: Any) -> SourceFile | None:
    found = [source for a in agents() if (source := a.recognise(Path(path), head_with(*head)))]
    assert len(found) <= 1
    return found[0] if found else None


def unread() -> Head:
    return Head(lambda: pytest.fail("the name settles it: the file must not be read"))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"{PROJECT}.jsonl", SourceFile("claude", f"{PROJECT}.jsonl", session=UUID)),
        (
            f"{PROJECT}/subagents/agent-7c01.jsonl",
            SourceFile(
                "claude",
                f"{PROJECT}/subagents/agent-7c01.jsonl",
                Role.SUBAGENT,
                Framing.LINES,
                "agent-7c01",
                UUID,
            ),
        ),
        (
            f"{PROJECT}/subagents/workflows/wf1/agent-9.jsonl",
            SourceFile(
                "claude",
                f"{PROJECT}/subagents/workflows/wf1/agent-9.jsonl",
                Role.SUBAGENT,
                Framing.LINES,
                "agent-9",
                UUID,
            ),
        ),
        (
            f"{PROJECT}/subagents/agent-7c01.meta.json",
            SourceFile(
                "claude",
                f"{PROJECT}/subagents/agent-7c01.meta.json",
                Role.SIDECAR,
                Framing.DOCUMENT,
                "agent-7c01",
                UUID,
            ),
        ),
        (
            f"{PROJECT}/tool-results/toolu_1.txt",
            SourceFile("claude", f"{PROJECT}/tool-results/toolu_1.txt", Role.SPILL, Framing.DOCUMENT, UUID),
        ),
        (
            f"/c/sessions/2026/04/01/rollout-2026-04-01T10-00-00-{UUID}.jsonl",
            SourceFile(
                "codex", f"/c/sessions/2026/04/01/rollout-2026-04-01T10-00-00-{UUID}.jsonl", session=UUID
            ),
        ),
        (
            f"/c/rollout-2026-04-01T10-00-00-{UUID}_019dffff.jsonl",
            SourceFile("codex", f"/c/rollout-2026-04-01T10-00-00-{UUID}_019dffff.jsonl", session=UUID),
        ),
        (
            f"/c/rollout-2026-04-01T10-00-00-{UUID}.jsonl.zst",
            SourceFile(
                "codex", f"/c/rollout-2026-04-01T10-00-00-{UUID}.jsonl", session=UUID, compressed=True
            ),
        ),
        (
            f"/c/rollout-2025-05-01-{UUID}.json",
            SourceFile("codex", f"/c/rollout-2025-05-01-{UUID}.json", framing=Framing.DOCUMENT, session=UUID),
        ),
    ],
)
def test_a_name_that_settles_the_matter_costs_no_read(path: str, expected: SourceFile) -> None:
    assert agent_of(expected.agent).recognise(Path(path), unread()) == expected


def test_a_compressed_rollout_is_the_same_source_with_other_bytes() -> None:
    plain = recognise(f"/c/rollout-2026-04-01T10-00-00-{UUID}.jsonl")
    packed = recognise(f"/c/rollout-2026-04-01T10-00-00-{UUID}.jsonl.zst")
    assert plain is not None
    assert packed is not None
    assert packed.path == plain.path
    assert packed.read_path == plain.path + ".zst"


@pytest.mark.parametrize(
    ("agent", "head"),
    [
        ("claude", [CLAUDE_LINE]),
        ("claude", [{"type": "summary", "summary": "s", "leafUuid": "u"}]),
        ("claude", [{"type": "mode", "mode": "normal", "sessionId": UUID}, CLAUDE_LINE]),
        ("codex", [CODEX_LINE]),
        ("codex", [{"timestamp": "t", "type": "response_item", "payload": {"type": "message"}}]),
        ("codex", [{"id": UUID, "timestamp": "t", "instructions": None}, {"record_type": "state"}]),
    ],
)
@pytest.mark.parametrize("name", [UUID, "full", "00"])
def test_any_other_name_is_told_by_its_records(agent: str, head: list[Any], name: str) -> None:
    source = recognise(f"/backup/{name}.jsonl", *head)
    assert source is not None
    assert source.agent == agent
    assert source.session


def test_a_uuid_name_is_the_session_of_a_claude_transcript_whatever_its_records_say() -> None:
    other = {**CLAUDE_LINE, "sessionId": "ffffffff-1111-4aaa-8bbb-000000000009"}
    source = recognise(f"/backup/{UUID}.jsonl", other)
    assert source is not None
    assert source.session == UUID


@pytest.mark.parametrize(
    ("path", "role", "framing"),
    [
        (f"{STATE}/events.jsonl", Role.MAIN, Framing.LINES),
        (f"{STATE}.jsonl", Role.MAIN, Framing.LINES),
        (f"{STATE}/workspace.yaml", Role.SIDECAR, Framing.DOCUMENT),
    ],
)
def test_a_session_of_events_is_known_by_its_place(path: str, role: Role, framing: Framing) -> None:
    source = agent_of("copilot").recognise(Path(path), unread())
    assert source == SourceFile("copilot", path, role, framing, UUID)


def test_events_elsewhere_are_known_by_the_first_of_them() -> None:
    source = recognise("/backup/00.jsonl", COPILOT_LINE)
    assert source == SourceFile("copilot", "/backup/00.jsonl", session=UUID)


def test_a_rollout_is_the_session_its_first_meta_names() -> None:
    item = {"timestamp": "t", "type": "response_item", "payload": {"type": "message", "id": "msg_1"}}
    source = recognise("/backup/00.jsonl", item, CODEX_LINE, {**CODEX_LINE, "payload": {"id": "parent"}})
    assert source is not None
    assert source.session == UUID


def test_a_flat_subagent_file_names_its_parent_by_its_records() -> None:
    source = recognise("/backup/agent-7c01.jsonl", CLAUDE_LINE)
    assert source is not None
    assert (source.role, source.session, source.parent) == (Role.SUBAGENT, "agent-7c01", UUID)


@pytest.mark.parametrize(
    ("path", "head"),
    [
        ("/home/ada/.claude/history.jsonl", [{"display": "hi", "timestamp": 1, "sessionId": UUID}]),
        ("/home/ada/.claude/projects/-p/sessions-index.json", [{"version": 1, "entries": []}]),
        ("/home/ada/.claude/projects/-p/memory/MEMORY.md", []),
        ("/home/ada/.claude/projects/-p/memory/log.jsonl", [CLAUDE_LINE]),
        ("/home/ada/.codex/history.jsonl", [{"session_id": UUID, "ts": 1, "text": "hi"}]),
        ("/home/ada/.codex/session_index.jsonl", [{"id": UUID, "thread_name": "n", "updated_at": "t"}]),
        (f"/x/{UUID}.jsonl", []),
        (f"/x/{UUID}.jsonl", [1, None, "text", [], {}]),
        (f"/x/{UUID}.json", [{"info": {"id": "s1"}, "messages": []}]),
        (f"/x/{UUID}.jsonl", [{"type": "session.start", "data": {}, "id": "1", "parentId": None}]),
        (f"{STATE}/files/notes.yaml", []),
        (f"{STATE}/checkpoints/index.md", []),
        (f"{STATE}/session.db", []),
        (
            "/x/qwen.jsonl",
            [{"type": "user", "uuid": "u", "sessionId": UUID, "message": {"role": "user", "parts": []}}],
        ),
        (
            "/x/stream.jsonl",
            [{"type": "assistant", "session_id": UUID, "uuid": "u", "message": {"content": []}}],
        ),
        ("/x/talk.jsonl", [{"role": "user", "content": []}]),
        ("/x/page.html", []),
    ],
)
def test_what_is_neither_is_left_alone(path: str, head: list[Any]) -> None:
    assert recognise(path, *head) is None


def test_roots_follow_the_agents_own_variables() -> None:
    home = Path("/home/ada")
    roots = {a.name: [str(root) for root in a.roots(home, {})] for a in built_in()}
    assert roots["claude"] == ["/home/ada/.claude/projects"]
    assert roots["codex"] == ["/home/ada/.codex/sessions", "/home/ada/.codex/archived_sessions"]
    moved = {"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x"}
    roots = {a.name: [str(root) for root in a.roots(home, moved)] for a in built_in()}
    assert roots["claude"] == ["/c/projects"]
    assert roots["codex"] == ["/x/sessions", "/x/archived_sessions"]
