"""Sources that say the same again in other bytes do not bring a secret back that was erased in them."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support import DATA
from tests.support.canaries import ERASED, ours, places_with, record, write
from tests.support.canary_secrets import GITHUB
from tests.support.databases import make_database, written

from recollect.memory import Memory
from recollect.values.erasures import Wanted

TOLD = f"GITHUB_TOKEN={GITHUB} for the harbour"


def put_in(value: Any) -> Any:
    """JSON with a secret in every text of a message."""
    if isinstance(value, dict):
        return {key: TOLD if key == "text" and each else put_in(each) for key, each in value.items()}
    return [put_in(each) for each in value] if isinstance(value, list) else value


def cline(folder: Path) -> Path:
    shutil.copytree(DATA / "cline" / "tasks", folder / "tasks")
    for path in folder.rglob("api_conversation_history.json"):
        path.write_text(json.dumps(put_in(json.loads(path.read_bytes()))))
    return folder


def grow_cline(folder: Path) -> None:
    for path in folder.rglob("api_conversation_history.json"):
        told = json.loads(path.read_bytes())
        told.append({"role": "user", "content": [{"type": "text", "text": f"{TOLD}, once more"}]})
        path.write_text(json.dumps(told))


def say(client: sqlite3.Connection, text: str, *, version: int) -> None:
    data = json.dumps({"type": "text", "text": text})
    client.execute("UPDATE part SET data = ?, time_updated = ? WHERE id = 'prt_01'", (data, version))
    client.execute("UPDATE event_sequence SET seq = seq + 1 WHERE aggregate_id = 'ses_pier'")


def opencode(folder: Path) -> Path:
    path = make_database(folder / "opencode.db")
    with written(path) as client:
        say(client, TOLD, version=1790000009500)
    return path


def grow_opencode(path: Path) -> None:
    with written(path) as client:
        say(client, f"{TOLD}, as I said", version=1790000009600)


def talks() -> list[Any]:
    found: list[Any] = json.loads((DATA / "chatgpt" / "conversations.json").read_bytes())
    return found


def chatgpt(folder: Path) -> Path:
    told = json.loads(json.dumps(talks()).replace(json.dumps(first_part())[1:-1], json.dumps(TOLD)[1:-1]))
    path = folder / "conversations.json"
    path.write_text(json.dumps(told))
    return path


def first_part() -> str:
    found: list[str] = [
        part
        for node in talks()[0]["mapping"].values()
        for part in ((node.get("message") or {}).get("content") or {}).get("parts", [])
        if isinstance(part, str) and len(part) > 10
    ]
    return found[0]


def grow_chatgpt(path: Path) -> None:
    told = json.loads(path.read_bytes())
    for each in told:
        last = each["current_node"]
        content = {"content_type": "text", "parts": ["There is more."]}
        message = {"author": {"role": "assistant"}, "content": content}
        each["mapping"][last]["children"] = ["more"]
        each["mapping"]["more"] = {"id": "more", "parent": last, "children": [], "message": message}
        each |= {"current_node": "more", "update_time": 1_900_000_000.0}
    path.write_text(json.dumps(told))


@pytest.mark.parametrize(
    ("make", "grow"),
    [(cline, grow_cline), (opencode, grow_opencode), (chatgpt, grow_chatgpt)],
    ids=["document", "database", "export"],
)
def test_what_is_saved_again_as_a_whole_is_masked_again(
    tmp_path: Path, make: Callable[[Path], Path], grow: Callable[[Path], None]
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    path = make(logs)
    with Memory.open(config=ours(tmp_path / "ours")) as memory:
        memory.ingest([path])
        assert places_with(memory, GITHUB)
        sessions = {each.facts.id: each.entries for each in memory.sessions()}
        _, receipt = memory.erase(Wanted(secrets=True))
        assert places_with(memory, GITHUB) == set()
        after = {each.facts.id: each.entries for each in memory.sessions()}
        assert {id_: after[id_] for id_ in sessions} == sessions
        assert memory.ingest([path]).taken == 0
        memory.reparse()
        assert places_with(memory, GITHUB) == set()
        assert memory.ingest([path]).taken == 0
        grow(path)
        assert memory.ingest([path]).taken
        assert places_with(memory, GITHUB) == set()
        assert memory.check() == []
        memory.forget_erasure(receipt["id"])
        memory.ingest([path])
        assert places_with(memory, GITHUB)
        assert memory.check() == []
        shown = [each.entry.text for id_ in sessions for each in memory.show(id_)]
        assert not any("[redacted:" in each for each in shown)


def test_a_line_that_was_half_written_is_masked_when_it_is_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "logs" / f"{ERASED}.jsonl", [record(ERASED, 0, "user", "hello")])
    line = json.dumps(record(ERASED, 1, "user", f"{TOLD} and all that belongs to it"))
    with path.open("a") as file:
        file.write(line[:-20])
    with Memory.open(config=ours(tmp_path / "ours")) as memory:
        memory.ingest([path])
        assert places_with(memory, GITHUB)
        memory.erase(Wanted(secrets=True))
        assert places_with(memory, GITHUB) == set()
        with path.open("a") as file:
            file.write(line[-20:] + "\n" + json.dumps(record(ERASED, 2, "user", "bye")) + "\n")
        memory.ingest([path])
        assert places_with(memory, GITHUB) == set()
        assert [each.entry.text for each in memory.show(ERASED)][2:] == ["bye"]
        assert memory.check() == []
