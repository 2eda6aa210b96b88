"""Claude Code: `~/.claude/projects/<project>/<session>.jsonl` and what lies beside it.

The surprise: a name alone rarely tells. Other agents name their transcripts by uuid too,
so outside of a `projects/<project>/` folder the first records decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import PurePath
from typing import Any, Final

from recollect.agents.claude.parse import TYPES, ClaudeParser
from recollect.agents.fields import dict_of, text_of
from recollect.light.paths import claude_folder, claude_place, is_uuid
from recollect.values.records import Framing, Role, SourceFile

_HEAD_RECORDS_MAX: Final = 40
_CHAIN_TYPES: Final = frozenset({"user", "assistant", "system", "progress", "attachment"})
_NOT_SESSIONS: Final = frozenset({"history.jsonl", "journal.jsonl", "session_index.jsonl"})


class ClaudeAdapter:
    """Transcripts, subagent transcripts, their sidecars and spilled tool results."""

    name: Final = "claude"
    version: Final = 3

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        return [PurePath(claude_folder(str(home), environ)) / "projects"]

    def recognise(self, path: PurePath, head: Iterable[Any]) -> SourceFile | None:
        place = claude_place(path.parts)
        if place is not None:
            role, framing, session, parent = place
            return SourceFile(self.name, str(path), Role(role), Framing(framing), session, parent)
        if path.suffix != ".jsonl" or path.name in _NOT_SESSIONS or "memory" in path.parent.parts[-1:]:
            return None
        records = list(islice(head, _HEAD_RECORDS_MAX))
        if path.stem.startswith("agent-"):
            return self._subagent(path, records)
        return self._main(path, records)

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> ClaudeParser:
        return ClaudeParser(source, state)

    def _subagent(self, path: PurePath, records: list[Any]) -> SourceFile | None:
        """A subagent's transcript in the parent's own folder, as it was before 2.0."""
        if not any(map(_is_ours, records)) and not (_in_projects(path) and not records):
            return None
        parent = _first_session(records)
        return SourceFile(self.name, str(path), Role.SUBAGENT, Framing.LINES, path.stem, parent)

    def _main(self, path: PurePath, records: list[Any]) -> SourceFile | None:
        if not any(map(_is_ours, records)):
            return None
        session = path.stem if is_uuid(path.stem) else _first_session(records) or path.stem
        return SourceFile(self.name, str(path), session=session)


def _in_projects(path: PurePath) -> bool:
    """Whether a path is `projects/<project>/<file>`, where Claude Code keeps transcripts."""
    folders = path.parent.parts
    return len(folders) >= 2 and folders[-2] == "projects"


def _first_session(records: list[Any]) -> str:
    for record in records:
        session = text_of(dict_of(record).get("sessionId"))
        if session:
            return session
    return ""


def _is_ours(record: Any) -> bool:
    """Whether a record can only be Claude Code's (others use the same words for other shapes)."""
    body = dict_of(record)
    name = text_of(body.get("type"))
    if name not in TYPES:
        return False
    if name in ("user", "assistant"):
        return "content" in dict_of(body.get("message")) and type(body.get("sessionId")) is str
    if name in _CHAIN_TYPES:
        return type(body.get("uuid")) is str and type(body.get("sessionId")) is str
    return any(key in body for key in ("sessionId", "leafUuid", "messageId"))
