"""A part of a store as a store of its own: the logs of some sessions, with all that was made of them.

Unless told otherwise secrets are masked in the lines themselves, one line at a time: what stands in the part
is then not byte for byte what the logs had. A vector goes along where the text it was made of does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import orjson

from recollect.agents.decode import BadLine, decode
from recollect.export.masked import put_back, without_pictures
from recollect.intake.forks import note_forks
from recollect.intake.refill import Refill
from recollect.intake.reparse import Again, kept_of
from recollect.redact import redact, redact_object
from recollect.search.vectors.pieces import piece_keys
from recollect.store.contract import Array, View, Writer
from recollect.values.records import LineFlag, Relation
from recollect.values.reports import Progress, ReparseReport, SplitReport
from recollect.values.stored import Session, Source, StoredLine
from recollect.values.text import ascii_json

_VECTORS_AT_ONCE = 1 << 15


def split(
    view: View,
    sessions: Sequence[Session],
    writer: Writer,
    *,
    redacted: bool,
    progress: Progress | None = None,
) -> SplitReport:
    """Fill an empty store with the logs of some sessions and of the subagents that were started in them."""
    chosen = with_subagents(sessions, view.sessions())
    known = {(each.facts.agent, each.host, each.facts.id): each.facts for each in chosen}
    sources = [source for each in chosen for source in view.sources(each)]
    sources.sort(key=_place)
    report, masked = ReparseReport(), Counter[str]()
    seen: set[tuple[str, str]] = set()

    def walk() -> Iterator[Again]:
        for source in sources:
            name = source.host, source.file.path
            facts = known[source.file.agent, source.host, source.session]
            lines = view.lines(source)
            lines = mask_lines(lines, masked) if redacted else lines
            yield Again(source, lines, facts, kept_of(view, source), name in seen, not redacted)
            seen.add(name)

    in_all = sum(source.lines for source in sources)
    Refill(writer, report, progress, in_all).take(walk(), sum(source.cursor.offset for source in sources))
    note_forks(writer, seen)
    writer.commit()
    _carry_vectors(view, writer)
    writer.commit()
    info = writer.view().info()
    return SplitReport(info.sessions, info.sources, report.lines, info.entries, masked)


def with_subagents(sessions: Iterable[Session], every: Sequence[Session]) -> list[Session]:
    """Sessions, and the subagents that were started in them, and in those."""
    found = {_name(each): each for each in sessions}
    children: dict[tuple[str, str, str], list[Session]] = {}
    for each in every:
        if each.facts.relation is Relation.SUBAGENT:
            children.setdefault((each.facts.agent, each.host, each.facts.parent), []).append(each)
    todo = list(found)
    while todo:
        for child in children.get(todo.pop(), ()):
            if _name(child) not in found:
                found[_name(child)] = child
                todo.append(_name(child))
    return list(found.values())


def mask_lines(lines: Iterable[StoredLine], found: Counter[str]) -> Iterator[StoredLine]:
    """Lines with their secrets masked; `found` counts these by kind."""
    for line in lines:
        masked, kinds = mask_line(line.data)
        found.update(kinds)
        # Nor does the key go along of what a line was before its secrets were erased.
        line = replace(line, key=b"") if line.key else line
        yield StoredLine(masked, line.flags | LineFlag.ALTERED, line.type) if kinds else line


def mask_line(data: bytes) -> tuple[bytes, Counter[str]]:
    """A line with every secret in it masked, and how many of each kind; pictures stay as they are."""
    try:
        value, _ = decode(data)
    except BadLine:
        text = redact(data.decode("utf-8", "surrogateescape"))
        return text.text.encode("utf-8", "surrogateescape"), text.found
    changed, found = redact_object(without_pictures(value))
    if not found:
        return data, found
    whole = put_back(changed, value)
    try:
        return orjson.dumps(whole), found
    except orjson.JSONEncodeError:  # half of a surrogate pair, a number that is too long
        return ascii_json(whole).encode("ascii"), found


def _carry_vectors(view: View, writer: Writer) -> None:
    """Copy the vectors of texts that are in the part, and of no others."""
    if not view.vector_models():
        return
    wanted = piece_keys(writer.view())
    for model in {model.name: model for model in view.vector_models()}.values():
        seen: Array = np.zeros(0, "<u8")
        for start in range(0, model.rows, _VECTORS_AT_ONCE):
            keys, vectors = view.vectors(model, start, start + _VECTORS_AT_ONCE)
            good = np.flatnonzero(np.isin(keys, wanted) & ~np.isin(keys, seen))
            fresh = good[np.sort(np.unique(keys[good], return_index=True)[1])]
            writer.add_vectors(model, keys[fresh], vectors[fresh])
            seen = np.concatenate([seen, keys[fresh]])


def _name(session: Session) -> tuple[str, str, str]:
    return session.facts.agent, session.host, session.facts.id


def _place(source: Source) -> tuple[bool, str, str, int, str]:
    """Where a source stands; its versions stay in their order."""
    return source.imported, source.host, source.file.agent, int(source.file.role), source.file.path
