"""Codex: `~/.codex/sessions/**/rollout-*.jsonl`, plain, compressed, or the oldest `.json`.

The surprise: a cold rollout turns into `.jsonl.zst` between two looks. It stays the same
source: `path` is the plain name, `read_path` where the bytes are now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import PurePath
from typing import Any, Final

from recollect.agents.codex.parse import TYPES, CodexParser
from recollect.agents.fields import dict_of, text_of
from recollect.light.paths import codex_folder, codex_place
from recollect.values.records import Framing, Role, SourceFile

_HEAD_RECORDS_MAX: Final = 40


class CodexAdapter:
    """Rollouts of every era."""

    name: Final = "codex"
    version: Final = 3

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        root = PurePath(codex_folder(str(home), environ))
        return [root / "sessions", root / "archived_sessions"]

    def recognise(self, path: PurePath, head: Iterable[Any]) -> SourceFile | None:
        place = codex_place(path.name)
        if place is not None:
            role, framing, session, _ = place
            plain = str(path).removesuffix(".zst")
            return SourceFile(
                self.name, plain, Role(role), Framing(framing), session, compressed=plain != str(path)
            )
        if path.suffix != ".jsonl":
            return None
        records = list(islice(head, _HEAD_RECORDS_MAX))
        if not any(map(_is_ours, records)):
            return None
        return SourceFile(self.name, str(path), session=_first_session(records) or path.stem)

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> CodexParser:
        return CodexParser(source, state)


def _first_session(records: list[Any]) -> str:
    for record in map(dict_of, records):
        meta = dict_of(record.get("payload")) if record.get("type") == "session_meta" else record
        if _is_ours(record) and "type" not in meta:
            return text_of(meta.get("id"))
    return ""


def _is_ours(record: Any) -> bool:
    """Whether a record can only be Codex's."""
    body = dict_of(record)
    name = text_of(body.get("type"))
    if type(body.get("payload")) is dict:
        return name in TYPES
    if "record_type" in body:
        return text_of(body["record_type"]) == "state"
    return not name and type(body.get("id")) is str and {"timestamp", "instructions"} <= body.keys()
