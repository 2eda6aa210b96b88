"""Several stores become one: each line once, each source with all its versions.

All of it is taken anew into an empty store, in an order that what is merged alone decides: what is own
before what is imported, then by host, agent, role and path, as an ingest of all the logs would have it. So it
does not matter which store came first, and what is merged twice is there once.

Another person's store may say anything. Nothing in it is own, and what it has of a log that is own here is
kept apart, under a name that no file has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from recollect.intake.carry import carry_tables, carry_vectors
from recollect.intake.erased import erased_in, erasures
from recollect.intake.forks import note_forks
from recollect.intake.masked import altered_lines
from recollect.intake.refill import Refill
from recollect.intake.reparse import Again
from recollect.intake.versions import Chain, Contents, Version, join_chains, join_notes, unevicted
from recollect.light.sources import is_noted
from recollect.store.contract import Array, View, Writer
from recollect.values.erasures import Erased, Erasure
from recollect.values.records import Provenance, SessionFacts
from recollect.values.reports import MergeReport, Progress
from recollect.values.stored import Source

APART = "#imported"  # behind the path of an own log: what an imported source has of it

Name = tuple[str, str]  # of a source: its host and path


@dataclass(frozen=True, slots=True)
class Part:
    """A store that is merged. `own`: what it says of whose its sources are is believed; else all are
    imported.

    The marks of a person's own stores are their own word; anyone may have made another one.
    """

    view: View
    own: bool


class Merge:
    """What some stores come to; the first of them is the one that the others are merged into."""

    def __init__(self, parts: Sequence[Part], progress: Progress | None = None) -> None:
        self.report = MergeReport()
        self._parts = parts
        self._progress = progress or (lambda path, done, total: None)
        self._named: dict[Name, list[Chain]] = {}
        self._erased = erased = erased_in(part.view for part in parts if part.own)
        altered = altered_lines(part.view for part in parts if part.own) if erased.has_masks else {}
        for number, part in enumerate(parts):
            for name, chain in _chains(number, part, erased, altered).items():
                self._named.setdefault(name, []).append(chain)
        self._in_all = sum(each.source.lines for chains in self._named.values() for c in chains for each in c)
        self._held = set(_names(self._named, 0))
        self._keep_apart()
        joined = [self._joined(name, chains) for name, chains in self._named.items()]
        self._planned = sorted(joined, key=_place)

    @property
    def brought(self) -> list[Erasure]:
        """What was erased in another own store: of that, what was made here may still have something."""
        here = {each.id for each in erasures(self._parts[0].view)}
        return [each for each in self._erased.erasures if each.id not in here]

    def fill(self, writer: Writer, keys_of: Callable[[View], Array]) -> MergeReport:
        """Take everything into an empty store; `keys_of`: the keys of the vectors that its texts may have."""
        report, here = self.report, self._parts[0].view
        report.entries_before, report.sessions_before = here.info().entries, here.info().sessions
        size = sum(part.view.info().line_bytes for part in self._parts)
        refill = Refill(writer, report, self._progress, self._in_all, self._erased)
        refill.take(_again(self._planned), size)
        self._progress("", report.lines, report.lines)
        note_forks(writer, [versions[-1].name for versions in self._planned])
        writer.commit()
        # A store may have vectors of what was erased in another one.
        only = keys_of(writer.view()) if self._erased else None
        carry_vectors(here, [part.view for part in self._parts[1:]], writer, only=only)
        carry_tables([part.view for part in self._parts if part.own], writer, self._erased)
        writer.commit()
        report.sessions_after = writer.view().info().sessions
        report.entries_after = writer.view().info().entries
        return report

    def _keep_apart(self) -> None:
        """Let imported sources that would change an own one go by another name, if they have more in them."""
        for name, chains in list(self._named.items()):
            own = [chain for chain in chains if not chain[-1].imported]
            if not 0 < len(own) < len(chains):
                continue
            contents = Contents(each for chain in chains for each in chain)
            held = {contents.of(each) for chain in own for each in chain}
            for chain in chains:
                told = {contents.of(each) for each in chain} - held
                covered = all(any(contents.begins_with(other, each) for other in held) for each in told)
                if chain[-1].imported and not covered:
                    self._named.setdefault((name[0], name[1] + APART), []).append(_moved(chain))
            self._named[name] = own

    def _joined(self, name: Name, chains: Sequence[Chain]) -> list[Version]:
        """What becomes of a source, counted."""
        self._progress(name[1], 0, self._in_all)
        here = [chain for chain in chains if chain[0].part == 0]
        if len(chains) == 1:
            joined = list(chains[0])
        elif all(is_noted(each.source.file.agent) for chain in chains for each in chain):
            joined = [join_notes(chains)]
        else:
            kept = unevicted(chains)
            joined = join_chains(kept, Contents(each for chain in kept for each in chain))
        if not here and name in self._held:
            self.report.marked += 1
        elif not here:
            self.report.apart += name[1].endswith(APART)
            self.report.sources += not name[1].endswith(APART)
        elif len(chains) > 1:
            self._compare(here[0], joined)
        return joined

    def _compare(self, here: Chain, joined: Sequence[Version]) -> None:
        contents = Contents([*here, *joined])
        before, after = ([contents.of(each) for each in versions] for versions in (here, joined))
        before = [each for each in before if each in after or each == before[-1]]
        if contents.begins_with(after[-1], before[-1]) or (joined[-1].said and before != after):
            self.report.grown += 1
        elif before != after:
            self.report.versioned += 1
        elif here[-1].source.file.provenance != joined[-1].source.file.provenance:
            self.report.marked += 1


def _again(planned: Sequence[Sequence[Version]]) -> Iterator[Again]:
    """All versions in order, each with whether lines of it may be in one before."""
    repeats = _repeating([each for versions in planned for each in versions])
    at = 0
    for versions in planned:
        for number, each in enumerate(versions):
            yield Again(
                each.source,
                each.lines(),
                each.before,
                each.kept(),
                number > 0,
                each.seen,
                repeats=bool(repeats[at]),
                packed=each.packed,
            )
            at += 1


def _repeating(versions: Sequence[Version]) -> Array:
    """Which versions have a line that one before them has, as the keys in their stores say.

    A store may lie about these. That costs time: what is taken is compared by the bytes themselves.
    """
    keys = [each.keys() for each in versions]
    owners = np.repeat(np.arange(len(keys)), [len(each) for each in keys])
    told = np.concatenate([np.zeros(0, "<u8"), *keys])
    _, first, which = np.unique(told, return_index=True, return_inverse=True)
    repeating = np.zeros(len(keys), bool)
    repeating[owners[owners != owners[first][which]]] = True
    return repeating


def _chains(number: int, part: Part, erased: Erased, altered: Mapping[bytes, bytes]) -> dict[Name, Chain]:
    """What a store has of each source, the oldest version first; nothing of sessions that were erased."""
    sessions = {(s.facts.agent, s.host, s.facts.id): s.facts for s in part.view.sessions()}
    chains: dict[Name, list[Version]] = {}
    for source in part.view.sources():
        if erased and erased.has_session(source.file.agent, source.host, source.session):
            continue
        blank = SessionFacts(source.file.agent, source.session)
        before = sessions.get((source.file.agent, source.host, source.session), blank)
        marked = source if part.own else _imported(source)
        version = Version(number, part.view, marked, before, part.own, erased, altered).thinned()
        chains.setdefault(version.name, []).append(version)
    return dict(chains)


def _names(named: Mapping[Name, Sequence[Chain]], part: int) -> Iterator[Name]:
    """The sources that one of the stores has."""
    return (name for name, chains in named.items() if any(chain[0].part == part for chain in chains))


def _imported(source: Source) -> Source:
    return replace(source, file=replace(source.file, provenance=Provenance.IMPORTED))


def _moved(chain: Chain) -> list[Version]:
    """The same versions, under a name that no file has."""
    return [
        replace(each, seen=False, source=replace(each.source, file=replace(file, path=file.path + APART)))
        for each in chain
        for file in (each.source.file,)
    ]


def _place(versions: Sequence[Version]) -> tuple[bool, str, str, int, str]:
    """Where a source stands among all of them."""
    source = versions[-1].source
    return source.imported, source.host, source.file.agent, int(source.file.role), source.file.path
