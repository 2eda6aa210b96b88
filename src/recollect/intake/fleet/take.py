"""What came from a host, into the store: in one commit with how far each of its logs was taken."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from recollect.agents.contract import Agent
from recollect.agents.head import Head
from recollect.agents.registry import agent_of
from recollect.intake.checkpoints import Checkpoints
from recollect.intake.fleet.cksum import Cksum
from recollect.intake.fleet.kept import HostFolder, Kept, mark_of
from recollect.intake.fleet.load import Fetched, Load
from recollect.intake.fleet.plan import Plan, Wanted, Way, cursor_of
from recollect.intake.forks import note_forks
from recollect.intake.ingest import Ingest
from recollect.intake.news import Copy, OtherContent, is_plain
from recollect.intake.reader import chunks, open_source
from recollect.store.contract import Writer
from recollect.values.erasures import hash_of_path
from recollect.values.errors import SourceError
from recollect.values.fleet import FleetHost
from recollect.values.records import Cursor, Framing, Provenance, SourceFile
from recollect.values.reports import Report
from recollect.values.stored import Source


@dataclass(slots=True)
class Visited:
    """A host on its way: what is left to be asked of it, and what is kept of it."""

    host: FleetHost
    folder: HostFolder
    kept: Kept
    plan: Plan
    report: Report = field(default_factory=Report)


def take_load(writer: Writer, visited: Visited, load: Load) -> None:
    """Take everything that came, and commit."""
    plan, taking = visited.plan, _Taking(writer, visited)
    for each in load.fetched:
        taking.take(each)
    taking.finish()
    for wanted in load.unsteady:
        plan.was_unsteady(wanted)
    for wanted, why in load.refused:
        plan.was_refused(wanted, why)


def needs_writer(load: Load) -> bool:
    """Whether anything came that may be a log."""
    return any(each.wanted.way is not Way.TOLD for each in load.fetched)


def put_told(folder: HostFolder, kept: Kept, load: Load) -> None:
    """Keep the files beside the logs that came."""
    for each in load.fetched:
        folder.put_beside(each.wanted.path, each.path)
        kept.told[each.wanted.path] = mark_of(each.wanted.stat)


def note_own(writer: Writer, host: FleetHost, unchanged: Iterable[Source]) -> None:
    """Let what was taken while a host was another's count as own, now that it is this person's."""
    ingest = Ingest(writer, host.name)
    for source in unchanged:
        file = replace(source.file, provenance=Provenance.OWN)
        ingest.note_own(agent_of(file.agent), file)
    if ingest.dirty:
        writer.commit()


class _Taking:
    """One load on its way into the store."""

    def __init__(self, writer: Writer, visited: Visited) -> None:
        self._writer, self._visited = writer, visited
        self._ingest = Ingest(writer, visited.host.name)
        self._databases: list[Wanted] = []

    def take(self, fetched: Fetched) -> None:
        wanted, plan = fetched.wanted, self._visited.plan
        if wanted.erased_as and fetched.start:
            self._ingest.report.bytes_source += fetched.end - fetched.start
            self._leave_out(fetched, wanted.erased_as)
            return
        known = self._recognised(fetched)
        if known is None:
            plan.is_strange(wanted)
            return
        agent, file = known
        is_other = wanted.erased_as and not is_plain(file)
        if (
            wanted.way is Way.HEAD
            or is_other
            or (file.framing is Framing.ROWS and wanted.way is not Way.DATABASE)
        ):
            plan.is_known(wanted, agent, file)
            return
        try:
            self._take(agent, file, fetched)
        except OtherContent:
            plan.needs_all(wanted)
            return
        except SourceError as error:
            told = str(error).replace(str(fetched.path), wanted.path)
            plan.failed[wanted.path] = told
        if fetched.end >= fetched.whole or wanted.path in plan.failed:
            plan.has_come(wanted)

    def finish(self) -> None:
        """Make it last, and note what is only worth noting then."""
        visited, ingest = self._visited, self._ingest
        note_forks(self._writer, ingest.began)
        if ingest.dirty:
            self._writer.commit()
        for wanted in self._databases:
            visited.kept.databases[wanted.path] = visited.plan.database_marks(wanted.name)
        add_report(visited.report, ingest.report)

    def _take(self, agent: Agent, file: SourceFile, fetched: Fetched) -> None:
        visited, wanted = self._visited, fetched.wanted
        whose = Provenance.OWN if visited.host.own else Provenance.IMPORTED
        file = replace(file, provenance=whose)
        seen = cursor_of(wanted.stat) if fetched.is_all else Cursor(inode=wanted.stat.inode)
        copy = Copy(str(fetched.path), seen, fetched.start, str(visited.folder.beside))
        changed = self._ingest.take_copy(agent, file, copy)
        self._ingest.report.changed += changed
        self._ingest.report.unchanged += not changed
        self._ingest.report.bytes_source += fetched.end - fetched.start
        if file.framing is Framing.ROWS:
            self._databases.append(wanted)
        elif (salt := self._ingest.left_out.get(file.path)) is not None:
            key = hash_of_path(salt, visited.host.name, wanted.path).hex()
            self._leave_out(fetched, key, is_whole=not is_plain(file))
        elif (held := self._writer.source(visited.host.name, file.path)) is not None:
            visited.plan.sources[file.path] = self._with_sum(held, fetched)

    def _leave_out(self, fetched: Fetched, key: str, *, is_whole: bool = False) -> None:
        """Note how far something was had of which nothing is taken, because its session was erased."""
        wanted, plan = fetched.wanted, self._visited.plan
        end = 0 if is_whole else fetched.end
        plan.was_erased(wanted, key, end, Cksum() if is_whole else _summed(fetched, end))
        if fetched.end >= fetched.whole:
            plan.has_come(wanted)

    def _with_sum(self, held: Source, fetched: Fetched) -> Source:
        """A source that knows the checksum of what was taken of it, whatever goes of that later."""
        cursor = held.cursor
        state, sums = Checkpoints.split(cursor.state, cursor.offset)
        if sums is None or not is_plain(held.file) or not fetched.start <= cursor.offset <= fetched.end:
            return held
        sums.posix = _summed(fetched, cursor.offset).crc
        cursor = replace(cursor, state=sums.joined(state))
        self._writer.touch(held.host, held.file.path, cursor)
        return replace(held, cursor=cursor)

    def _recognised(self, fetched: Fetched) -> tuple[Agent, SourceFile] | None:
        wanted = fetched.wanted
        if wanted.agent is not None and wanted.file is not None:
            return wanted.agent, wanted.file
        packed = wanted.path.endswith(".zst")
        try:
            return self._visited.plan.recognised(wanted.path, Head(partial(_beginning, fetched.path, packed)))
        except SourceError:
            return None


def _summed(fetched: Fetched, end: int) -> Cksum:
    """The checksum of a file up to a place in what came of it."""
    made = copy.copy(fetched.wanted.before) if fetched.start else Cksum()
    left = end - fetched.start
    with open_source(fetched.path) as file:
        for data in chunks(file, compressed=False):
            made.add(data[:left])
            left -= len(data[:left])
    return made


def add_report(whole: Report, part: Report) -> None:
    """Count what one load gave with the others."""
    for name in Report.__slots__:
        counted, more = getattr(whole, name), getattr(part, name)
        if isinstance(counted, int):
            setattr(whole, name, counted + more)
        elif isinstance(counted, Counter):
            counted.update(more)


def _beginning(path: Path, packed: bool) -> bytes:
    with open_source(path) as file:
        return next(chunks(file, compressed=packed), b"")
