"""What was exported for an agent never comes back as memory, until somebody goes on in it.

Each file is as the client leaves it: opened and closed again, gone on in, forked, resumed under a new id.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.config import Config
from recollect.memory import Memory
from recollect.values.records import Flag, Kind

Record = dict[str, Any]

ORIGINAL = "0b0b0b0b-1111-4222-8333-444444444444"
NEW_ID = "0c0c0c0c-1111-4222-8333-444444444444"
LATER = "2126-03-02T10:00:00.000Z"
ENVELOPE = {"cwd": "/srv/quay", "version": "2.1.197", "gitBranch": "main", "isSidechain": False}


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    """One conversation of Claude Code, about a lantern."""
    monkeypatch.setenv("HOME", str(tmp_path))
    asked, answered = (
        claude("user", "Which oil does the lantern burn?", ORIGINAL, at="2026-03-01T10:00:00.000Z"),
        claude("assistant", "The lantern burns colza oil.", ORIGINAL, at="2026-03-01T10:00:05.000Z"),
    )
    original = [asked, {**answered, "parentUuid": asked["uuid"]}]
    write(tmp_path / ".claude/projects/-srv-quay" / f"{ORIGINAL}.jsonl", original)
    config = Config(tmp_path / "memory.h5", "here", cache=tmp_path / "cache")
    with Memory.open(config=config) as opened:
        opened.ingest()
        yield opened


def claude(role: str, text: str, session: str, *, at: str = LATER) -> Record:
    said = text if role == "user" else [{"type": "text", "text": text}]
    told = {"role": role, "content": said, **({"model": "claude-x", "id": text} if role != "user" else {})}
    record = {"type": role, "uuid": str(uuid.uuid4()), "parentUuid": None, "timestamp": at, "message": told}
    return {**ENVELOPE, **record, "sessionId": session}


def codex(role: str, text: str) -> Record:
    part = "input_text" if role == "user" else "output_text"
    payload = {"type": "message", "role": role, "content": [{"type": part, "text": text}]}
    return {"timestamp": LATER, "type": "response_item", "payload": payload}


def pi(role: str, text: str) -> Record:
    said = {"role": role, "content": [{"type": "text", "text": text}], "model": "pi-x", "timestamp": 1}
    return {
        "type": "message",
        "id": uuid.uuid4().hex[:8],
        "parentId": None,
        "timestamp": LATER,
        "message": said,
    }


def qwen(role: str, text: str, session: str) -> Record:
    said = {"role": "user" if role == "user" else "model", "parts": [{"text": text}]}
    record = {
        "type": role,
        "uuid": str(uuid.uuid4()),
        "parentUuid": None,
        "timestamp": LATER,
        "message": said,
    }
    return {"sessionId": session, "cwd": "/srv/quay", "version": "0.24.4", **record}


CODEX_TURN: Record = {"timestamp": LATER, "type": "event_msg", "payload": {"type": "task_started"}}
GONE_ON: dict[str, Callable[[str], list[Record]]] = {
    "claude": lambda id_: [
        claude("user", "And the wick of the lantern?", id_),
        claude("assistant", "The wick is cotton.", id_),
    ],
    "codex": lambda _: [
        CODEX_TURN,
        codex("user", "And the wick of the lantern?"),
        codex("assistant", "The wick is cotton."),
    ],
    "pi": lambda _: [pi("user", "And the wick of the lantern?"), pi("assistant", "The wick is cotton.")],
    "qwen": lambda id_: [
        qwen("user", "And the wick of the lantern?", id_),
        qwen("assistant", "The wick is cotton.", id_),
    ],
}
OPENED: dict[str, Callable[[str], list[Record]]] = {
    "claude": lambda id_: [
        {"type": "permission-mode", "permissionMode": "default", "sessionId": id_},
        {
            **ENVELOPE,
            "type": "attachment",
            "attachment": {"type": "hook_success", "content": "ready"},
            "uuid": str(uuid.uuid4()),
            "timestamp": LATER,
            "sessionId": id_,
        },
    ],
    "codex": lambda _: [
        {"timestamp": LATER, "type": "event_msg", "payload": {"type": "thread_settings_applied"}}
    ],
    "pi": lambda _: [
        {"type": "model_change", "id": "f00d0001", "parentId": None, "timestamp": LATER, "modelId": "pi-x"}
    ],
    "qwen": lambda id_: [
        {
            **{name: value for name, value in qwen("user", "", id_).items() if name != "message"},
            "type": "system",
            "subtype": "attribution_snapshot",
            "systemPayload": {},
        }
    ],
}


def write(path: Path, records: list[Record]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def read(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def exported(memory: Memory, agent: str, tmp_path: Path) -> tuple[str, Path]:
    conversation = memory.conversation(ORIGINAL)
    folder = tmp_path / "quay"
    folder.mkdir()
    made = memory.deliver(conversation, agent, folder=str(folder))
    memory.ingest()
    assert made.path is not None
    return made.session_id, made.path


def forked(agent: str, records: list[Record], old: str) -> list[Record]:
    """As the client's own fork has them: under another id, and nothing else of ours but the records."""
    if agent == "pi":
        head = {"type": "session", "version": 3, "id": NEW_ID, "timestamp": LATER, "cwd": "/srv/quay"}
        return [{**head, "parentSession": f"/sessions/2026-03-01T10-00-00-000Z_{old}.jsonl"}, *records[1:]]
    if agent in ("claude", "qwen"):
        return [
            {
                **each,
                "sessionId": NEW_ID,
                "forkedFrom": {"sessionId": old, "messageUuid": each.get("uuid", "")},
            }
            for each in records
        ]
    begun = {**records[0]["payload"], "id": NEW_ID, "originator": "codex-tui", "forked_from_id": old}
    meta = {"timestamp": LATER, "type": "session_meta", "payload": {**begun, "timestamp": LATER}}
    return [meta, *({**each, "timestamp": LATER} for each in records)]


def resumed_under_a_new_id(_: str, records: list[Record], __: str) -> list[Record]:
    """As Claude Code did it up to 2.0.3x."""
    return [
        {key: value for key, value in each.items() if key != "forkedFrom"} | {"sessionId": NEW_ID}
        for each in records
    ]


def seen(memory: Memory) -> object:
    """All that any face shows of what is remembered."""
    return (
        # In any order: a fork's own first record is one more, and weights words a little otherwise.
        {hit.stored.id for hit in memory.search("lantern oil", collapse=False).hits},
        [hit.stored.id for hit in memory.search("kind:prompt OR kind:answer", limit=50).hits],
        [(each.facts.id, each.facts.ended_ms) for each in memory.sessions()],
        [(each.id, [s.facts.id for s in each.sessions], each.ended_ms) for each in memory.threads()],
        [line for told in memory.catalog("quay").sections.values() for line in told if "as of" not in line],
        [memory.recall(["lantern", "oil"]).blocks, memory.recall(["lantern", "oil"]).shown],
        memory.usage("session").rows,
        memory.projects(),
    )


AGENTS = pytest.mark.parametrize("agent", sorted(GONE_ON))


@AGENTS
def test_a_copy_is_not_remembered(memory: Memory, tmp_path: Path, agent: str) -> None:
    before = seen(memory)
    exported(memory, agent, tmp_path)
    assert seen(memory) == before


@AGENTS
def test_a_copy_that_was_only_opened_is_not_remembered(memory: Memory, tmp_path: Path, agent: str) -> None:
    id_, path = exported(memory, agent, tmp_path)
    write(path, read(path) + OPENED[agent](id_))
    memory.ingest()
    assert [each.facts.id for each in memory.sessions()] == [ORIGINAL]
    assert len(memory.threads()[0].sessions) == 1


@pytest.mark.parametrize(
    ("agent", "copied"), [(agent, forked) for agent in GONE_ON] + [("claude", resumed_under_a_new_id)]
)
def test_a_copy_of_a_copy_is_not_remembered(
    memory: Memory, tmp_path: Path, agent: str, copied: Callable[[str, list[Record], str], list[Record]]
) -> None:
    before = seen(memory)
    id_, path = exported(memory, agent, tmp_path)
    write(path.with_name(path.name.replace(id_, NEW_ID)), copied(agent, read(path), id_))
    memory.ingest()
    assert NEW_ID in {each.facts.id for each in whole(memory)}
    assert seen(memory) == before


@AGENTS
@pytest.mark.parametrize("by_fork", [False, True])
def test_of_a_copy_that_was_gone_on_in_only_what_is_new_counts(
    memory: Memory, tmp_path: Path, agent: str, by_fork: bool
) -> None:
    (before,) = memory.projects()
    id_, path = exported(memory, agent, tmp_path)
    if by_fork:
        path, records, id_ = (
            path.with_name(path.name.replace(id_, NEW_ID)),
            forked(agent, read(path), id_),
            NEW_ID,
        )
    else:
        records = read(path)
    write(path, records + GONE_ON[agent](id_))
    memory.ingest()
    shown = [each.entry for each in memory.show(id_) if not each.entry.flags & Flag.COPY]
    said = [entry.text for entry in shown if entry.kind in (Kind.PROMPT, Kind.ANSWER)]
    assert said == ["And the wick of the lantern?", "The wick is cotton."]
    found = {hit.stored.entry.text for hit in memory.search("lantern wick").hits}
    assert {"And the wick of the lantern?", "Which oil does the lantern burn?"} <= found
    assert sum("burns colza" in hit.stored.entry.text for hit in memory.search("colza").hits) == 1
    newest = memory.sessions()[-1].facts
    assert (newest.id, newest.started_ms) == (id_, newest.ended_ms)
    (thread,) = memory.threads()
    assert {session.facts.id for session in thread.sessions} == {ORIGINAL, id_}
    assert sum(each.entries for each in memory.projects()) == before.entries + len(shown)


def whole(memory: Memory) -> list[Any]:
    with memory.view() as view:
        return list(view.sessions())


# -- a copy of what is not there


def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *files: Path) -> Memory:
    """The memory of another machine, to which only these files were brought."""
    other = tmp_path / "other"
    for file in files:
        target = other / file.relative_to(tmp_path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    monkeypatch.setenv("HOME", str(other))
    return Memory.open(config=Config(other / "memory.h5", "there", cache=other / "cache"))


def said_in(memory: Memory, query: str) -> list[str]:
    return sorted(hit.stored.entry.text for hit in memory.search(query, collapse=False, limit=50).hits)


BOTH = ["The lantern burns colza oil.", "Which oil does the lantern burn?"]


@AGENTS
def test_a_copy_that_is_all_there_is_is_the_conversation(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    id_, path = exported(memory, agent, tmp_path)
    with elsewhere(tmp_path, monkeypatch, path) as other:
        other.ingest()
        assert said_in(other, "kind:prompt OR kind:answer") == BOTH
        assert {"The lantern burns colza oil."} <= set(said_in(other, "colza"))
        (session,) = other.sessions()
        assert session.facts.id == id_
        assert session.facts.headline
        assert session.facts.ended_ms
        (thread,) = other.threads()
        assert thread.id == id_
        (project,) = other.projects()
        assert project.entries >= 2
        assert project.ended_ms
        assert other.recall(["lantern", "oil"]).blocks


@AGENTS
def test_all_of_a_copy_counts_that_was_gone_on_in_where_it_is_all_there_is(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    id_, path = exported(memory, agent, tmp_path)
    write(path, read(path) + GONE_ON[agent](id_))
    with elsewhere(tmp_path, monkeypatch, path) as other:
        other.ingest()
        new = ["And the wick of the lantern?", "The wick is cotton."]
        assert said_in(other, "kind:prompt OR kind:answer") == sorted(BOTH + new)


@AGENTS
@pytest.mark.parametrize("gone_on", [False, True])
@pytest.mark.parametrize("mode", ["text", "hybrid", "vector"])
def test_a_copy_is_one_again_once_the_original_comes(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str, gone_on: bool, mode: str
) -> None:
    id_, path = exported(memory, agent, tmp_path)
    new = ["And the wick of the lantern?", "The wick is cotton."] if gone_on else []
    if gone_on:
        write(path, read(path) + GONE_ON[agent](id_))
    original = tmp_path / ".claude/projects/-srv-quay" / f"{ORIGINAL}.jsonl"
    with elsewhere(tmp_path, monkeypatch, path) as other:
        other.ingest()
        assert said_in(other, "kind:prompt OR kind:answer") == sorted(BOTH + new)
        assert other.search("lantern oil", mode=mode).hits
    with elsewhere(tmp_path, monkeypatch, original) as other:
        other.ingest()
        found = other.search("lantern oil", mode=mode, collapse=False).hits
        copied = {hit.stored.entry.text for hit in found if hit.session.facts.id == id_}
        assert copied <= set(new)
        assert {hit.stored.entry.text for hit in found if hit.session.facts.id == ORIGINAL} == set(BOTH)
        assert said_in(other, "kind:prompt OR kind:answer") == sorted(BOTH + new)
        assert [each.facts.id for each in other.sessions()] == [ORIGINAL, *([id_] if gone_on else [])]


@AGENTS
def test_of_a_copy_and_its_fork_without_the_original_one_counts(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    id_, path = exported(memory, agent, tmp_path)
    fork = path.with_name(path.name.replace(id_, NEW_ID))
    write(fork, forked(agent, read(path), id_))
    with elsewhere(tmp_path, monkeypatch, path, fork) as other:
        other.ingest()
        assert [each.facts.id for each in other.sessions()] == [id_]
        assert said_in(other, "kind:prompt OR kind:answer") == BOTH


@AGENTS
def test_a_fork_of_a_copy_that_is_gone_is_a_copy_of_the_original(
    memory: Memory, tmp_path: Path, agent: str
) -> None:
    before = seen(memory)
    made = memory.deliver(memory.conversation(ORIGINAL), agent, folder=str(tmp_path))
    assert made.path is not None
    records = read(made.path)
    made.path.unlink()
    path = made.path.with_name(made.path.name.replace(made.session_id, NEW_ID))
    write(path, forked(agent, records, made.session_id))
    memory.ingest()
    assert NEW_ID in {each.facts.id for each in whole(memory)}
    assert seen(memory) == before


def test_copies_that_say_they_come_from_each_other_are_both_shown(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_, path = exported(memory, "claude", tmp_path)
    names = {"writtenFrom": NEW_ID, "forkedFrom": {"sessionId": NEW_ID, "messageUuid": ""}}
    one = [{**each, **names} if "uuid" in each else each for each in read(path)]
    names = {"writtenFrom": id_, "forkedFrom": {"sessionId": id_, "messageUuid": ""}}
    two = [{**each, "sessionId": NEW_ID, **(names if "uuid" in each else {})} for each in read(path)]
    write(path, one)
    other_path = path.with_name(f"{NEW_ID}.jsonl")
    write(other_path, two)
    with elsewhere(tmp_path, monkeypatch, path, other_path) as other:
        other.ingest()
        assert {each.facts.id for each in other.sessions()} == {id_, NEW_ID}


@AGENTS
def test_what_strangers_wrote_is_not_own_for_being_copied(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    _, path = exported(memory, agent, tmp_path)
    with elsewhere(tmp_path, monkeypatch, path) as other:
        other.ingest()
        other.ingest([tmp_path / ".claude/projects/-srv-quay" / f"{ORIGINAL}.jsonl"])
        assert [(each.facts.id, each.imported) for each in other.sessions()] == [(ORIGINAL, True)]
        assert said_in(other, "lantern oil -is:imported") == []


def test_a_copy_is_not_hidden_for_a_file_beside_its_lost_original(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_, path = exported(memory, "claude", tmp_path)
    spill = tmp_path / ".claude/projects/-srv-quay" / ORIGINAL / "tool-results" / "toolu_1.txt"
    spill.parent.mkdir(parents=True)
    spill.write_text("colza")
    with elsewhere(tmp_path, monkeypatch, path, spill) as other:
        other.ingest()
        assert {each.facts.id for each in whole(other)} == {ORIGINAL, id_}
        assert id_ in {each.facts.id for each in other.sessions()}


def test_a_fork_of_claude_code_itself_is_shown_even_without_a_time(memory: Memory, tmp_path: Path) -> None:
    records = [claude("user", "And a lantern of tin?", NEW_ID), claude("assistant", "Tin rusts.", NEW_ID)]
    told = {"forkedFrom": {"sessionId": ORIGINAL, "messageUuid": "x"}}
    bare = [{key: value for key, value in each.items() if key != "timestamp"} | told for each in records]
    write(tmp_path / ".claude/projects/-srv-quay" / f"{NEW_ID}.jsonl", bare)
    memory.ingest()
    assert {each.facts.id for each in memory.sessions()} == {ORIGINAL, NEW_ID}
    assert "Tin rusts." in said_in(memory, "tin")
