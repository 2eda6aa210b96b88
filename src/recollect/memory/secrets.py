"""Which lines hold secrets, by row: what redaction finds in each, and the same again wherever it stands.

A line is read by itself, as it is when it is exported. What was found anywhere and nobody would write by
chance is looked for in all other lines too, where nothing says what it is.
"""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from recollect.agents.erasures import ERASURES
from recollect.light.pool import WORKERS_MAX, Pool, serve
from recollect.light.sources import is_conversation
from recollect.memory.needles import Needles
from recollect.redact.raw import mask_pieces
from recollect.values.records import LineFlag

if TYPE_CHECKING:
    from recollect.store.contract import View
    from recollect.values.stored import StoredLine

_WORTH_BYTES = 24 << 20  # less than this is read before a worker has started
_TASK_BYTES = 2 << 20
_SURE_CHARS = 16  # what is as long as this, letters and digits, nobody writes by chance

Group = list[tuple[int, bytes]]  # the rows and bytes of one line, which a long one has several of
Told = tuple[Counter[str], dict[str, str]]


@dataclass(slots=True)
class Read:
    """What redaction said of each line that it was asked about, by a keyed hash of the line's bytes."""

    key: bytes = field(default_factory=lambda: os.urandom(16))
    told: dict[bytes, Told | None] = field(default_factory=dict)

    def name_of(self, group: Group) -> bytes:
        name = hashlib.blake2b(key=self.key, digest_size=16)
        for _, data in group:
            name.update(len(data).to_bytes(8, "little"))
            name.update(data)
        return name.digest()


@dataclass(slots=True)
class Secrets:
    """The rows that hold secrets with what is found in each; each secret with its kind."""

    rows: dict[int, Counter[str]] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    here: dict[int, dict[str, str]] = field(default_factory=dict)  # what else is known to be one, by row
    read: Read = field(default_factory=lambda: Read())

    @property
    def kinds(self) -> Counter[str]:
        return sum(self.rows.values(), Counter())

    def mask(self, group: Sequence[tuple[int, bytes]]) -> list[bytes]:
        """The bytes of a line, masked as far as it is one of these."""
        pieces = [data for _, data in group]
        if not any(row in self.rows for row, _ in group):
            return pieces
        known = {text: kind for row, _ in group for text, kind in self.here.get(row, {}).items()}
        return mask_pieces(pieces, known)[0]


def find_secrets(
    view: View,
    may: Callable[[int, int], bool],
    forms_of: Callable[[str], list[bytes]],
    progress: Callable[[int], None],
    read: Read | None = None,
) -> Secrets:
    """The secrets of a view's lines, of those that `may` be masked by their session's row and their own.

    `read`: what an earlier look was told; redaction, which takes most of the time, reads only what is new.
    """
    found = Secrets(read=read or Read())
    told: dict[int, Told] = {}

    def take(group: Group, answer: Told | None) -> None:
        if answer is not None:
            kinds, known = told[group[0][0]] = answer
            found.known |= known
            found.rows |= {row: Counter() for row, _ in group}
            found.rows[group[0][0]] = kinds

    def unread() -> Iterator[list[Group]]:
        for batch in _batches(view, may, progress):
            new = []
            for group in batch:
                name = found.read.name_of(group)
                if name in found.read.told:
                    take(group, found.read.told[name])
                else:
                    new.append(group)
            if new:
                yield new

    for groups, results in _read(unread(), view.raw_sizes().total):
        for group, (kinds, known) in zip(groups, results, strict=True):
            answer = (kinds, known) if kinds else None
            found.read.told[found.read.name_of(group)] = answer
            take(group, answer)
    sure = {text: kind for text, kind in found.known.items() if _is_sure(text)}
    needles = Needles((form, text) for text in sure for form in forms_of(text))
    for groups in _batches(view, may, lambda size: None) if needles else ():
        _look_again(groups, needles, sure, told, found)
    return found


def _look_again(
    groups: Sequence[Group],
    needles: Needles,
    sure: Mapping[str, str],
    told: Mapping[int, Told],
    found: Secrets,
) -> None:
    """Find known secrets in lines where redaction by itself would not."""
    joined = b"\n".join(data for group in groups for _, data in group)
    ends = list(accumulate(sum(len(data) + 1 for _, data in group) for group in groups))
    hits: dict[int, dict[str, str]] = {}
    for place, text in needles.found_in(joined):
        hits.setdefault(bisect_right(ends, place), {})[text] = sure[text]
    for n, known in hits.items():
        group = groups[n]
        if told.get(group[0][0], (None, {}))[1].keys() >= known.keys():
            continue
        kinds = mask_pieces([data for _, data in group], known)[1]
        if kinds:
            for row, _ in group:
                found.rows.setdefault(row, Counter())
                found.here[row] = known
            found.rows[group[0][0]] = kinds


def _is_sure(text: str) -> bool:
    return (
        len(text) >= _SURE_CHARS
        and any(map(str.isdigit, text))
        and any(map(str.isalpha, text))
        and "[redacted:" not in text
    )


def lines_of(rows: Sequence[int], lines: Iterable[StoredLine]) -> Iterator[list[tuple[int, StoredLine]]]:
    """The rows of a source, those of one long line together."""
    group: list[tuple[int, StoredLine]] = []
    for row, line in zip(rows, lines, strict=True):
        group.append((row, line))
        if not line.flags & LineFlag.CONTINUES:
            yield group
            group = []
    if group:
        yield group


def _batches(
    view: View, may: Callable[[int, int], bool], progress: Callable[[int], None]
) -> Iterator[list[Group]]:
    """All lines that may be looked at, each once, a few megabytes at a time."""
    batch: list[Group] = []
    size, seen = 0, set[int]()
    for session_row, session in view.session_rows().items():
        if session.facts.id == ERASURES and not is_conversation(session.facts.agent):
            continue
        for source in view.sources(session):
            for group in lines_of(view.line_rows(source).tolist(), view.lines(source)):
                rows = [row for row, line in group if line.data.strip()]
                if not rows or seen.issuperset(rows) or not any(may(session_row, row) for row in rows):
                    continue
                seen.update(rows)
                batch.append([(row, line.data) for row, line in group])
                size += sum(len(line.data) for _, line in group)
                if size >= _TASK_BYTES:
                    progress(size)
                    yield batch
                    batch, size = [], 0
    if batch:
        progress(size)
        yield batch


def _read(batches: Iterator[list[Group]], size: int) -> Iterator[tuple[list[Group], list[Told]]]:
    """What is found in each line, with workers where that pays."""
    if size < _WORTH_BYTES:
        yield from ((batch, _answer(_pieces(batch))) for batch in batches)
        return
    pool: Pool[list[list[bytes]], list[Told]] = Pool(__name__, max(2, min(os.cpu_count() or 1, WORKERS_MAX)))
    try:
        waiting: list[tuple[int, list[Group]]] = []
        for number, batch in enumerate(batches):
            pool.send(number, _pieces(batch))
            waiting.append((number, batch))
            while len(waiting) > pool.size + 2:
                done, groups = waiting.pop(0)
                yield groups, pool.result(done)
        for done, groups in waiting:
            yield groups, pool.result(done)
    finally:
        pool.close()


def _pieces(batch: Sequence[Group]) -> list[list[bytes]]:
    return [[data for _, data in group] for group in batch]


def _answer(groups: Sequence[Sequence[bytes]]) -> list[Told]:
    found = []
    for pieces in groups:
        _, kinds, known = mask_pieces(pieces)
        found.append((kinds, dict(known)))
    return found


def main() -> None:
    """Be a worker."""
    serve(_answer)
