"""Secrets erased inside of their lines: everything is derived anew from lines without them.

The lines stay, known by what their sources have, so that a file is followed as before. What cannot be derived
again, as it is kept of lines that were evicted, is masked where it stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.intake.carry import carry_vectors
from recollect.intake.forks import note_forks
from recollect.intake.masked import MASKED_FACTS, masked_facts
from recollect.intake.refill import Refill
from recollect.intake.reparse import Again, kept_of
from recollect.light.sources import is_conversation
from recollect.memory.choosing import (
    CHOOSING,
    Chosen,
    ChosenSession,
    forms_of,
    session_rows_of,
    timed_lines,
    with_subagents,
)
from recollect.memory.secrets import Secrets, find_secrets, lines_of
from recollect.redact import redact
from recollect.redact.raw import mask_raw
from recollect.search.digest_rows import key_of
from recollect.search.evicted import Evicted
from recollect.search.projects import by_name, named
from recollect.search.vectors.pieces import piece_keys
from recollect.store.contract import REWRITING
from recollect.store.derived import NAME, TEXT, Column, Rewrite, rows_of
from recollect.store.leaving import NOTHING
from recollect.values.errors import DerivedDamaged, NotFound
from recollect.values.ids import line_key
from recollect.values.records import LineFlag, SessionFacts
from recollect.values.reports import ReparseReport
from recollect.values.stored import StoredLine

if TYPE_CHECKING:
    from recollect.store.contract import View, Writer
    from recollect.store.derived import DerivedTable
    from recollect.values.erasures import Wanted
    from recollect.values.reports import Progress
    from recollect.values.stored import Source

_ROWS_AT_ONCE = 1 << 14
_GLIMPSES_MAX = 200


def choose_secrets(
    view: View, wanted: Wanted, progress: Progress | None = None, would: Chosen | None = None
) -> Chosen:
    """The lines of a view that hold secrets, and what these are; `would`: what an earlier look found."""
    read = would.secrets.read if would is not None and would.secrets is not None else None
    found = find_secrets(view, _choice(view, wanted), forms_of, _counted(view, progress), read)
    beside = _beside(view) if not wanted.is_narrowed else Counter()
    if not found.rows and not beside:
        raise NotFound("no secret was found", hint="`erase --match TEXT` takes what redaction does not know")
    rows = np.array(sorted(found.rows), np.int64)
    sessions = tuple(_told(view, found, rows))
    kinds = found.kinds + beside
    counts = {
        "sessions": 0,
        "lines": len(rows),
        "bytes": int(view.line_lengths(rows.tolist()).sum()),
        "secrets": kinds.total(),
    }
    keys = tuple(line.key or line_key(line.data) for _, line in _lines_at(view, rows.tolist()))
    return Chosen(NOTHING, sessions, keys, (), (), counts, found, tuple(sorted(kinds.items())))


def take_masked(
    view: View, chosen: Chosen, writer: Writer, *, narrowed: bool, progress: Progress | None
) -> None:
    """Fill an empty store with all that another one has, without these secrets."""
    secrets = chosen.secrets
    assert secrets is not None
    known = {(each.facts.agent, each.host, each.facts.id): each.facts for each in view.sessions()}
    touched = {key_of(each.session) for each in chosen.sessions}
    seen: set[tuple[str, str]] = set()
    report, total = ReparseReport(), view.info().lines

    def walk() -> Iterator[Again]:
        for source in view.sources():
            name = source.host, source.file.path
            blank = SessionFacts(source.file.agent, source.session)
            facts = known.get((source.file.agent, source.host, source.session), blank)
            if not narrowed or (facts.agent, source.host, facts.id) in touched:
                facts = masked_facts(facts)
            yield Again(source, _masked(view, source, secrets), facts, kept_of(view, source), name in seen)
            seen.add(name)

    def told(path: str, done: int, in_all: int) -> None:
        if progress is not None:
            progress(REWRITING, min(done, total), total)

    Refill(writer, report, told, total).take(walk(), view.info().line_bytes)
    note_forks(writer, seen)
    writer.commit()
    carry_vectors(view, [], writer, only=piece_keys(writer.view()))
    _carry_tables(view, writer, touched, narrowed=narrowed)
    writer.commit()


def glimpses_of(view: View, chosen: Chosen, count: int, width: int) -> list[tuple[str, str]]:
    """The kind of some secrets, and what stands around each, masked."""
    from recollect.values.text import one_line

    secrets, found = chosen.secrets, dict[str, str]()
    assert secrets is not None
    rows = sorted(secrets.rows)[:_GLIMPSES_MAX]
    for row, line in _lines_at(view, rows):
        text = secrets.mask([(row, line.data)])[0].decode("utf-8", "replace")
        for kind in secrets.rows[row]:
            at = text.find(f"[redacted:{kind}]")
            if at >= 0 and kind not in found and len(found) < count:
                start = max(at - width // 3, 0)
                found[kind] = one_line(("…" if start else "") + text[start : start + 2 * width], width)
    return list(found.items())


def _choice(view: View, wanted: Wanted) -> Any:
    """Which lines are looked at, by the row of a session and their own."""
    if wanted.entry:
        line = int(view.columns_at([view.find_entry(wanted.entry).row], "line")["line"][0])
        return lambda session, row: row == line
    within = session_rows_of(by_name(named(view)), wanted)
    within = with_subagents(view, within) if within is not None else None
    timed = None
    if wanted.since_ms or wanted.until_ms:
        every = within if within is not None else {row for row, _ in view.session_rows().items()}
        timed = timed_lines(view, wanted, every)
    return lambda session, row: (within is None or session in within) and (timed is None or row in timed)


def _counted(view: View, progress: Progress | None) -> Any:
    done, total = 0, view.raw_sizes().total

    def passed(size: int) -> None:
        nonlocal done
        done += size
        if progress is not None:
            progress(CHOOSING, min(done, total), total)

    return passed


def _masked(view: View, source: Source, secrets: Secrets) -> Iterator[StoredLine]:
    """A source's lines, altered where they hold a secret."""
    for group in lines_of(view.line_rows(source).tolist(), view.lines(source)):
        made = secrets.mask([(row, line.data) for row, line in group])
        for (_, line), data in zip(group, made, strict=True):
            if data == line.data:
                yield line
            else:
                key = line.key or line_key(line.data)
                yield StoredLine(data, line.flags | LineFlag.ALTERED, line.type, key)


def _beside(view: View) -> Counter[str]:
    """The secrets in what is kept of sessions whose lines were evicted."""
    found = Counter[str]()
    gone = Evicted(view).sessions
    for _, session in view.session_rows().items() if gone else ():
        if key_of(session) in gone:
            for name in MASKED_FACTS:
                found += redact(getattr(session.facts, name)).found
    for table in _carried(view) if gone else ():
        for columns in _columns(view, table):
            for n in rows_of(table, columns, set(gone)):
                for name, kind in table.columns:
                    if kind == TEXT and name not in table.sessions:
                        found += mask_raw(_bytes(str(columns[name][n]))).found
    return found


def _carry_tables(view: View, writer: Writer, touched: set[Any], *, narrowed: bool) -> None:
    """Carry what is kept of sessions; of those that lost a secret only what cannot be made again, masked."""
    gone = Evicted(view).sessions
    for table in _carried(view):
        kinds = dict(table.columns)
        for columns in _columns(view, table):
            dropped = set(rows_of(table, columns, [each for each in touched if each not in gone]))
            of_evicted = rows_of(table, columns, [each for each in gone if not narrowed or each in touched])
            if touched and not table.sessions:
                continue  # it does not say whose its rows are
            kept = [n for n in range(len(next(iter(columns.values())))) if n not in dropped]
            masked = set(of_evicted)
            made: dict[str, Column] = {}
            for name, column in columns.items():
                if kinds[name] not in (NAME, TEXT):
                    made[name] = np.asarray(column)[kept]
                elif kinds[name] == TEXT and name not in table.sessions:
                    made[name] = [_masked_text(str(column[n])) if n in masked else column[n] for n in kept]
                else:
                    made[name] = [column[n] for n in kept]
            writer.add_derived(table, made, built_to=0)
        writer.commit()


def _carried(view: View) -> list[DerivedTable]:
    newest = {table.name: table for table in view.derived_tables()}
    return [table for table in newest.values() if table.rewrite == Rewrite.CARRY]


def _columns(view: View, table: DerivedTable) -> Iterator[Mapping[str, Column]]:
    for start in range(0, table.rows, _ROWS_AT_ONCE):
        try:
            yield view.derived(table, start, start + _ROWS_AT_ONCE)
        except DerivedDamaged:
            continue


def _masked_text(text: str) -> str:
    return mask_raw(_bytes(text)).data.decode("utf-8", "surrogatepass")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _told(view: View, found: Secrets, rows: Any) -> Iterator[ChosenSession]:
    """Each session with what of it is masked."""
    for _, session in view.session_rows().items():
        sources = view.sources(session)
        held = [view.line_rows(source) for source in sources]
        lines = np.unique(np.concatenate([np.zeros(0, np.int64), *held]))
        lost = lines[np.isin(lines, rows)].tolist()
        if lost:
            paths = {
                source.file.path
                for source, own in zip(sources, held, strict=True)
                if np.isin(own, rows).any() and is_conversation(source.file.agent)
            }
            kinds: Counter[str] = sum((found.rows[row] for row in lost), Counter())
            size = int(view.line_lengths(lost).sum())
            told = tuple(sorted(kinds.items()))
            shown = replace(session, facts=masked_facts(session.facts))
            yield ChosenSession(shown, False, len(lost), size, tuple(sorted(paths)), 0, told)


def _lines_at(view: View, rows: Sequence[int]) -> Iterator[tuple[int, StoredLine]]:
    for at in range(0, len(rows), 512):
        part = list(rows[at : at + 512])
        yield from zip(part, view.lines_at(part), strict=True)
