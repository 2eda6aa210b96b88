"""`Engine`: Recollect as a retriever that an evaluation harness can drive.

    engine = Engine()
    engine.index([{"id": "d1", "text": "...", "timestamp": "2026-01-01", "session": "s1", "role": "user"}])
    engine.query("what was decided", 10)  # ids of documents, best first

The whole way of a conversation is taken: documents become an agent's transcripts on disk, are ingested
into a scratch store, indexed, and searched for as a person would. A document is known again by its
place in its session, so nothing of its id is ever in the store.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from recollect.config import Config
from recollect.memory import Memory
from recollect.search.query import QUERY_CHARS_MAX
from recollect.values.records import Kind

Doc = Mapping[str, str]

TURN = timedelta(seconds=1)  # documents of a session share its date; their order must stay visible


class Engine:
    """One corpus in one scratch store. `close` removes everything it wrote."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="recollect-engine-")
        self._memory: Memory | None = None
        self._docs: dict[str, str] = {}

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def index(self, docs: Sequence[Doc]) -> None:
        """Write the documents as transcripts, take them in and index them; once per engine."""
        assert self._memory is None, "an engine holds one corpus: make another"
        root = Path(self._folder.name)
        logs = root / "projects" / "-evaluation"
        logs.mkdir(parents=True)
        sessions = _sessions(docs)
        for session, turns in sessions.items():
            (logs / f"{session}.jsonl").write_bytes(b"".join(_transcript(session, turns)))
        config = Config(store=root / "memory.h5", host="evaluation", cache=root / "cache")
        self._memory = Memory.open(config.store, config=config)
        self._memory.ingest([logs])
        self._memory.index()
        for session, turns in sessions.items():
            said = (shown.id for shown in self._memory.show(session) if shown.entry.kind != Kind.CALL)
            self._docs.update(zip(said, (turn["id"] for turn in turns), strict=True))

    def query(self, text: str, k: int, now: datetime | None = None) -> list[str]:
        """The ids of the k best documents, best first."""
        assert self._memory is not None, "index something first"
        words = text[:QUERY_CHARS_MAX]
        if not words.strip():
            return []
        asked = _moment(now) if now is not None else None
        found = self._memory.search(words, plain=True, limit=k, collapse=False, now=asked)
        return [self._docs[hit.id] for hit in found.hits if hit.id in self._docs]

    def close(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory = None
        self._folder.cleanup()


def _sessions(docs: Iterable[Doc]) -> dict[str, list[Doc]]:
    """Documents by the id their session gets, in the order given."""
    grouped: dict[str, list[Doc]] = {}
    for doc in docs:
        grouped.setdefault(_uuid("session", doc["session"]), []).append(doc)
    return grouped


def _transcript(session: str, turns: Sequence[Doc]) -> Iterator[bytes]:
    """A session's lines: one entry a document, and the call before what a tool gave back."""
    parent = None
    for number, turn in enumerate(turns):
        head = {"sessionId": session, "cwd": "/evaluation", "version": "2.1.197", **_time(turn, number)}
        for type_, content in _messages(turn):
            uuid = _uuid(turn["id"], type_)
            message = {"role": type_, "content": content} | _model(type_)
            record = {"type": type_, "uuid": uuid, "parentUuid": parent, **head, "message": message}
            yield json.dumps(record).encode() + b"\n"
            parent = uuid


def _messages(turn: Doc) -> Iterator[tuple[str, Any]]:
    """A document as messages. Whoever is neither the assistant nor a tool is a person."""
    text = turn["text"]
    if turn["role"] == "tool":
        call = "toolu_" + _uuid(turn["id"], "call").replace("-", "")[:24]
        yield "assistant", [{"type": "tool_use", "id": call, "name": "Read", "input": {}}]
        yield "user", [{"type": "tool_result", "tool_use_id": call, "content": text}]
    elif turn["role"] == "assistant":
        yield "assistant", [{"type": "text", "text": text}]
    else:
        yield "user", text


def _model(type_: str) -> dict[str, str]:
    return {"model": "evaluation"} if type_ == "assistant" else {}


def _time(turn: Doc, number: int) -> dict[str, str]:
    """A record's time, later with every turn; none where the document has none."""
    if not turn["timestamp"]:
        return {}
    said = _moment(datetime.fromisoformat(turn["timestamp"])) + number * TURN
    return {"timestamp": said.strftime("%Y-%m-%dT%H:%M:%S.000Z")}


def _moment(time: datetime) -> datetime:
    """A time in UTC. Harnesses speak of naive times, and all of them are taken for that."""
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _uuid(*names: str) -> str:
    return str(uuid5(NAMESPACE_OID, "\0".join(names)))
