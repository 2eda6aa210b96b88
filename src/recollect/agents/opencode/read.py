"""OpenCode's sessions as conversations: as the agent itself would go on with them, or entry by entry.

What a person took back (`revert`) is left out, as it is by OpenCode once somebody speaks again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from recollect.agents.cut import thing_in
from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import dict_of, list_of, text_of
from recollect.agents.opencode.part import moment
from recollect.agents.opencode.paths import stored_kind
from recollect.agents.opencode.rows import data_of, session_of
from recollect.agents.sessions import StoredFile
from recollect.values.conversation import Block, Conversation, Message
from recollect.values.errors import NotFound
from recollect.values.ids import entry_id
from recollect.values.records import Framing, Kind

if TYPE_CHECKING:
    from recollect.values.stored import Session, StoredEntry

_AGENT = "opencode"


@dataclass(slots=True)
class _Part:
    """A part, the line it is on, and the number of its first entry there."""

    body: dict[str, Any]
    line: bytes
    entry: int = 0


@dataclass(slots=True)
class _Said:
    """A message and its parts."""

    info: dict[str, Any]
    parts: dict[str, _Part] = field(default_factory=dict)

    @property
    def created(self) -> int:
        return moment(dict_of(self.info.get("time")).get("created"))

    @property
    def is_compaction(self) -> bool:
        return any(part.body.get("type") == "compaction" for part in self.parts.values())

    @property
    def is_summary(self) -> bool:
        return self.info.get("summary") is True and not self.info.get("error")


def conversation(
    session: Session,
    files_of: Callable[[str], Sequence[StoredFile]],
    *,
    until: StoredEntry | None = None,
    before_compaction: bool = False,
) -> Conversation:
    """A whole session as it would be resumed; at the entry `until`, or before it was last compacted."""
    facts = session.facts
    left_out: Counter[str] = Counter()
    said = _session_said(facts.id, files_of, left_out)
    if until is not None:
        said = _until(said, until, facts.id)
    compacted = max((n for n, each in enumerate(said) if each.is_summary), default=-1)
    if before_compaction:
        if compacted < 0:
            raise NotFound(f"session {facts.id} was never compacted", hint="leave out --before-compaction")
        said = said[: compacted - 1] if compacted and said[compacted - 1].is_compaction else said[:compacted]
    elif compacted > 0:
        left_out["message before a compaction"] += compacted
        said = said[compacted:]
    messages = [message for each in said for message in _messages(each, facts.id)]
    return Conversation(
        tuple(messages),
        title=facts.headline,
        cwd=facts.cwd,
        project=facts.project,
        branch=facts.branch,
        agents=(_AGENT,),
        left_out=left_out,
    )


def message_of(stored: StoredEntry, line: bytes, again: bytes = b"", /) -> Message | None:
    """The message that one entry is, None where it is no part of a conversation."""
    if stored.entry.kind is Kind.EVENT:
        return None
    number = int(stored.id.partition(".")[2] or 0)
    parts = [part for part in _parts_on(line) if part.entry <= number][-1:]
    is_answer = stored.entry.kind in (Kind.ANSWER, Kind.THOUGHT, Kind.CALL)
    said = _Said({"role": "assistant" if is_answer else "user", "modelID": stored.entry.model})
    said.parts = {str(n): part for n, part in enumerate(parts)}
    for message in _messages(said, stored.session):
        wanted = stored.entry.kind is Kind.RESULT
        if wanted == any(block.type == "tool_result" for block in message.blocks):
            return message
    return None


# -- lines -----------------------------------------------------------------------------------------


def _session_said(
    session: str, files_of: Callable[[str], Sequence[StoredFile]], left_out: Counter[str]
) -> list[_Said]:
    """The messages of a session with their parts, in order, each as it was last."""
    found: dict[str, _Said] = {}
    parts: dict[str, tuple[str, _Part]] = {}
    reverted = ""
    for file in files_of(session):
        if file.source.superseded:
            continue
        for table, key, body, part in _records(file):
            if table == "session":
                reverted = text_of(dict_of(body.get("revert")).get("messageID"))
            elif table == "message":
                _put(found, key, None if not body else _Said(body))
            elif part is not None:
                _put(parts, key, (text_of(body.get("messageID")), part) if body else None)
    for key, (message, part) in sorted(parts.items()):
        if message in found:
            found[message].parts[key] = part
    said = sorted(found.items(), key=lambda each: (each[1].created, each[0]))
    kept = [each for id_, each in said if not reverted or id_ < reverted]
    left_out["message that was taken back"] += len(said) - len(kept)
    return kept


def _put(into: dict[str, Any], key: str, value: Any) -> None:
    into.pop(key, None)
    if value is not None:
        into[key] = value


def _records(file: StoredFile) -> Iterator[tuple[str, str, dict[str, Any], _Part | None]]:
    """What each line tells: of what, under which key, with which fields; none where it is gone."""
    kind = stored_kind(file.source.file.path)
    for line in file.lines():
        if file.source.file.framing is Framing.ROWS:
            yield from _row(line.data)
        elif kind:
            body = _object(line.data)
            yield kind, text_of(body.get("id")), body, _Part(body, line.data)
        else:
            told = _listed(line.data)
            info = dict_of(told.get("info"))
            if text_of(info.get("id")):
                yield "message", text_of(info.get("id")), info, None
            for part in _exported_parts(told, line.data):
                body = {**part.body, "messageID": text_of(info.get("id"))}
                yield "part", text_of(body.get("id")), body, part


def _row(line: bytes) -> Iterator[tuple[str, str, dict[str, Any], _Part | None]]:
    record = _object(line)
    table, key, row = text_of(record.get("table")), text_of(record.get("key")), record.get("row")
    if type(row) is not dict:
        yield table, key, {}, _Part({}, line)
    elif table == "session":
        yield table, key, {**session_of(row), "revert": data_of(row, "revert")}, None
    elif table == "message":
        yield table, key, {**data_of(row), "id": key}, None
    elif table == "part":
        body = {**data_of(row), "id": key, "messageID": text_of(row.get("message_id"))}
        yield table, key, body, _Part(body, line)


def _parts_on(line: bytes) -> list[_Part]:
    """The parts on one line, whatever form it is of."""
    record = _object(line)
    if "table" in record:
        return [part for _, _, body, part in _row(line) if part is not None and body]
    if "messageID" in record:
        return [_Part(record, line)]
    return list(_exported_parts(_listed(line), line))


def _exported_parts(told: dict[str, Any], line: bytes) -> Iterator[_Part]:
    at = 1  # the message's own entry comes first
    for body in map(dict_of, list_of(told.get("parts"))):
        yield _Part(body, line, at)
        at += _entries(body)


def _entries(body: dict[str, Any]) -> int:
    """How many entries the parser makes of a part."""
    state = dict_of(body.get("state"))
    if body.get("type") != "tool" or state.get("status") not in ("completed", "error"):
        return 1
    files = [each for each in list_of(state.get("attachments")) if dict_of(each).get("type") == "file"]
    return 2 + len(files)


def _object(line: bytes) -> dict[str, Any]:
    try:
        return dict_of(decode(line)[0])
    except BadLine:
        return {}


def _listed(line: bytes) -> dict[str, Any]:
    try:
        return dict_of(thing_in(line))
    except BadLine:
        return {}


def _until(said: list[_Said], until: StoredEntry, session: str) -> list[_Said]:
    """Up to the part that has this entry, and that too."""
    wanted = until.id.partition(".")[0]
    for n, each in enumerate(said):
        keys = list(each.parts)
        for at, key in enumerate(keys):
            if entry_id(each.parts[key].line, 0) == wanted:
                kept = {k: each.parts[k] for k in keys[: at + 1]}
                return [*said[:n], _Said(each.info, kept)]
    raise NotFound(
        f"entry {until.id} is no part of the conversation of session {session}",
        hint="`recollect show SESSION` lists its entries",
    )


# -- what is said ----------------------------------------------------------------------------------


def _messages(said: _Said, session: str) -> Iterator[Message]:
    """A message; behind an answer, what its calls gave back."""
    blocks: list[Block] = []
    results: list[Block] = []
    is_answer = said.info.get("role") == "assistant"
    for part in said.parts.values():
        for is_result, block in _blocks(part, is_answer=is_answer):
            (results if is_result else blocks).append(block)
    model, time_ms = text_of(said.info.get("modelID")), said.created
    if blocks and is_answer and said.is_summary:
        yield Message("user", tuple(blocks), _AGENT, session, time_ms, note=True)
    elif blocks and is_answer:
        yield Message(
            "assistant", tuple(blocks), _AGENT, session, time_ms, model, text_of(said.info.get("id"))
        )
    elif blocks:
        typed = [part for part in said.parts.values() if part.body.get("type") == "text"]
        made_up = bool(typed) and all(part.body.get("synthetic") is True for part in typed)
        yield Message("user", tuple(blocks), _AGENT, session, time_ms, meta=made_up)
    if results:
        yield Message("user", tuple(results), _AGENT, session, time_ms)


def _blocks(part: _Part, *, is_answer: bool) -> Iterator[tuple[bool, Block]]:
    """The blocks of a part, and whether each is what a call gave back."""
    body, kind = part.body, part.body.get("type")
    time_ms = moment(dict_of(body.get("time")).get("start"))

    def block(told: dict[str, Any], number: int = 0) -> Block:
        return Block(told, entry_id(part.line, part.entry + number), None, text_of(body.get("id")), time_ms)

    if kind == "text" and body.get("ignored") is not True:
        yield False, block({"type": "text", "text": text_of(body.get("text"))})
    elif kind == "reasoning" and is_answer:
        yield False, block({"type": "thinking", "thinking": text_of(body.get("text")), "signature": ""})
    elif kind == "file" and (picture := _picture(body)):
        yield False, block(picture)
    elif kind == "tool":
        state = dict_of(body.get("state"))
        call = text_of(body.get("callID")) or text_of(body.get("id"))
        name = text_of(body.get("tool"))
        yield False, block({"type": "tool_use", "id": call, "name": name, "input": state.get("input")})
        if state.get("status") in ("completed", "error"):
            failed = state.get("status") == "error"
            words = {"type": "text", "text": text_of(state.get("error" if failed else "output"))}
            pictures = [_picture(dict_of(each)) for each in list_of(state.get("attachments"))]
            content = [words, *filter(None, pictures)]
            told = {"type": "tool_result", "tool_use_id": call, "content": content}
            yield True, block({**told, "is_error": True} if failed else told, 1)


def _picture(body: dict[str, Any]) -> dict[str, Any] | None:
    """A picture that is in the part itself, not a file that it names."""
    kind, _, data = text_of(body.get("url")).partition(";base64,")
    if not kind.startswith("data:image/") or not data:
        return None
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": kind.removeprefix("data:"), "data": data},
    }
