"""What the versions that several stores have of one source come to.

A store's *chain* is what it has of a source: versions, the oldest first, of which the last is how far it saw
the file. A version that another one begins with is in that one; all others stay. The newest is one that no
store knows to be replaced. What comes out depends on the chains alone, not on their order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

import numpy as np

from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import count_of, dict_of
from recollect.intake.exports import noted_origin
from recollect.intake.masked import as_altered, masked_facts
from recollect.intake.reparse import kept_of
from recollect.store.contract import Array, PackedLines, PacksLines, View
from recollect.values.erasures import NOTHING_ERASED, Erased
from recollect.values.ids import line_key
from recollect.values.records import Cursor, Framing, KeptLine, SessionFacts
from recollect.values.stored import Source, StoredLine, source_bytes


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a source in one store, and what that store knows of its session.

    `part` is the number of the store; the first one is that in which all come together. `seen`: what the
    store says of how the file looked is believed. `altered`: what lines became whose secrets were erased, by
    their keys. `said`: its lines, where they are not those of the store.
    """

    part: int
    view: View
    source: Source
    before: SessionFacts
    seen: bool = True
    erased: Erased = NOTHING_ERASED
    altered: Mapping[bytes, bytes] = field(default_factory=dict)
    said: tuple[StoredLine, ...] = field(default=(), kw_only=True)

    def lines(self) -> Iterator[StoredLine]:
        """Its lines, without those that were erased, and without their secrets where these were."""
        lines = iter(self.said) if self.said else self.view.lines(self.source)
        if self.erased.has_masks:
            masked = (as_altered(line, self.erased, self.altered) for line in self._unerased(lines))
            return (line for line in masked if line is not None)
        return self._unerased(lines)

    def _unerased(self, lines: Iterator[StoredLine]) -> Iterator[StoredLine]:
        if not self.source.thinned or self.said:
            return without_erased(lines, self.erased)
        if not self.erased.has_lines:
            return lines
        pairs = zip(lines, self.view.line_keys(self.source), strict=True)  # an evicted line still has its key
        return (line for line, key in pairs if not _is_erased(self.erased, line, key))

    def packed(self, bytes_max: int) -> PackedLines | None:
        """The lines of the store for another process, erased ones too; None where they are others here."""
        if self.said or self.source.thinned or self.erased.has_masks:
            return None
        if not hasattr(self.view, "packed_lines"):
            return None
        return cast("PacksLines", self.view).packed_lines(self.source, bytes_max)

    def keys(self) -> Array:
        """The first half of each line's key, as the store says: enough to see which may be equal."""
        keys = (line_key(line.data) for line in self.said) if self.said else self.view.line_keys(self.source)
        return np.frombuffer(b"".join(keys), "<u8")[::2]

    def kept(self) -> Sequence[KeptLine]:
        """What is left of its evicted lines, without those that were erased."""
        kept = () if self.said else kept_of(self.view, self.source)
        return [each for each in kept if not self.erased.has_line(each.key)]

    def thinned(self) -> Version:
        """The same, known to be not its file any more where lines of it were erased."""
        asked = self.erased.has_lines or self.erased.has_masks
        keys = self.view.line_keys(self.source) if asked else iter(())
        if not any(self.erased.has_line(key) or self.erased.is_masked(key) for key in keys):
            return self
        lines = list(self.lines())
        count = len(lines)
        if count == self.source.lines and not any(line.key for line in lines):
            return self
        cursor = replace(self.source.cursor, thinned=True)
        before = masked_facts(self.before) if any(line.key for line in lines) else self.before
        return replace(self, before=before, source=replace(self.source, lines=count, cursor=cursor))

    @property
    def is_evicted(self) -> bool:
        """Whether the store let bytes of it go, or altered them."""
        return self.source.thinned and any(
            line.is_evicted or line.key for line in self.view.lines(self.source)
        )

    @property
    def name(self) -> tuple[str, str]:
        return self.source.host, self.source.file.path

    @property
    def imported(self) -> bool:
        return self.source.imported


Chain = Sequence[Version]


class Content(NamedTuple):
    """What stands for all bytes of a version."""

    length: int
    digest: bytes


class Contents:
    """The contents of the versions of one source, each read once, or twice where some differ in length."""

    def __init__(self, versions: Iterable[Version]) -> None:
        self._known: list[tuple[Version, Content]] = [(each, _content(each)) for each in versions]
        self._beginnings: dict[Content, set[bytes]] = {}

    def of(self, version: Version) -> Content:
        return next(content for known, content in self._known if known is version)

    def begins_with(self, longer: Content, shorter: Content) -> bool:
        """Whether one content is the other and more; a document is whole or it is another one."""
        if longer.length <= shorter.length:
            return False
        if longer not in self._beginnings:
            version = next(known for known, content in self._known if content == longer)
            lengths = sorted({content.length for _, content in self._known if content.length < longer.length})
            self._beginnings[longer] = set(_beginnings(version, lengths))
        return shorter.digest in self._beginnings[longer]


def without_erased(lines: Iterator[StoredLine], erased: Erased) -> Iterator[StoredLine]:
    """Lines without those that were erased."""
    return (line for line in lines if not _is_erased(erased, line)) if erased.has_lines else lines


def _is_erased(erased: Erased, line: StoredLine, key: bytes = b"") -> bool:
    is_blank = not (line.is_evicted or line.data.strip())
    return not is_blank and erased.has_line(key if line.is_evicted else line.key or line_key(line.data))


def unevicted(chains: Sequence[Chain]) -> Sequence[Chain]:
    """The chains of stores that still have the bytes, where one of them has as many lines as any other."""
    whole = [chain for chain in chains if not chain[-1].is_evicted]
    most = max((chain[-1].source.lines for chain in whole), default=-1)
    return [c for c in chains if c in whole or c[-1].source.lines > most] if whole else chains


def join_chains(chains: Sequence[Chain], contents: Contents) -> list[Version]:
    """The versions that several stores have of one source, the newest last."""
    best = _best(chains, contents)
    replaced = {contents.of(each) for chain in chains for each in chain[:-1]}
    kept = [each for each in best if not any(contents.begins_with(other, each) for other in best)]
    orders = {_order(chain, kept, contents) for chain in chains} - {()}
    if len(orders) == 1:
        (order,) = orders
    else:
        ends = {contents.of(chain[-1]) for chain in chains} & set(kept)
        newest = max((ends - replaced) or ends or set(kept), key=lambda each: _age(best[each], each))
        order = tuple(sorted(kept, key=lambda each: (each == newest, *_age(best[each], each))))
    return [best[content] for content in order]


def join_notes(chains: Sequence[Chain]) -> Version:
    """What was noted in several stores: every line of them once, in the order in which they were written."""
    lines = {line.data: line for chain in chains for each in chain for line in each.lines()}
    said = tuple(sorted(lines.values(), key=lambda line: (_noted_ms(line.data), line.data)))
    newest = max((each for chain in chains for each in chain), key=_rank)
    source = replace(newest.source, lines=len(said), cursor=Cursor())
    return replace(newest, source=source, seen=False, said=said)


def _order(chain: Chain, kept: Sequence[Content], contents: Contents) -> tuple[Content, ...]:
    """What is kept in the order of a chain that has all of it and ends with some of it; else nothing."""
    held = [contents.of(each) for each in chain]
    return tuple(each for each in held if each in kept) if {*kept, held[-1]} <= {*held} & {*kept} else ()


def _best(chains: Sequence[Chain], contents: Contents) -> dict[Content, Version]:
    """Of versions that are equal the one whose store knows most, with what all of them know."""
    equal: dict[Content, list[Version]] = {}
    for chain in chains:
        for each in chain:
            equal.setdefault(contents.of(each), []).append(each)
    return {content: _most(versions) for content, versions in equal.items()}


def _most(versions: Sequence[Version]) -> Version:
    best = max(versions, key=_rank)
    before = replace(
        best.before,
        project=max(each.before.project for each in versions),
        parent=max(each.before.parent for each in versions),
    )
    return replace(best, before=before)


def _rank(version: Version) -> tuple[object, ...]:
    source, cursor = version.source, version.source.cursor
    file = source.file
    known = len(cursor.state), str(noted_origin(cursor.state))
    seen = cursor.mtime_ns, cursor.ctime_ns, cursor.size, cursor.inode, cursor.window, known
    return file.provenance, version.seen, seen, file.agent, int(file.role), source.session, source.parser


def _age(version: Version, content: Content) -> tuple[int, Content]:
    """When the file was last changed, as far as that is known."""
    return version.source.cursor.mtime_ns, content


def _content(version: Version) -> Content:
    total, length = hashlib.blake2b(digest_size=16), 0
    for piece in source_bytes(version.source, version.lines()):
        total.update(piece)
        length += len(piece)
    return Content(length, total.digest())


def _beginnings(version: Version, lengths: Sequence[int]) -> Iterator[bytes]:
    """The digests of a version's beginnings of these lengths, which rise."""
    if version.source.file.framing == Framing.DOCUMENT:
        return
    wanted, total, at = list(lengths), hashlib.blake2b(digest_size=16), 0
    for piece in source_bytes(version.source, version.lines()):
        start = 0
        while wanted and wanted[0] <= at + len(piece):
            stop = wanted.pop(0) - at
            total.update(piece[start:stop])
            start = stop
            yield total.digest()
        if not wanted:
            return
        total.update(piece[start:])
        at += len(piece)


_MOMENTS = ("updated_ms", "time_ms", "created_ms")  # when a line was written, the first that it tells


def _noted_ms(data: bytes) -> int:
    try:
        record = dict_of(decode(data)[0])
    except BadLine:
        return 0
    return next(filter(None, (count_of(record.get(name)) for name in _MOMENTS)), 0)
