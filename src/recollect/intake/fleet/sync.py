"""Many hosts at once: each is visited by a thread of its own, what comes is taken in by this one.

A host that is slow, silent or gone keeps nobody waiting but itself. The store is written to only while
something is taken, so that hooks and searches go on beside it.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from recollect.agents.registry import agents
from recollect.intake.checkpoints import Checkpoints
from recollect.intake.erased import erased as what_was_erased
from recollect.intake.fleet.channel import HostTrouble, ssh_program
from recollect.intake.fleet.cksum import Cksum
from recollect.intake.fleet.kept import HostFolder, Kept, shortened
from recollect.intake.fleet.load import Load
from recollect.intake.fleet.retention import doomed_next
from recollect.intake.fleet.take import Visited, needs_writer, note_own, take_load
from recollect.intake.fleet.visit import Visit, visit
from recollect.store.contract import Store, Writer
from recollect.values.errors import RecollectError
from recollect.values.fleet import FleetHost, FleetSettings, HostState
from recollect.values.reports import Progress
from recollect.values.stored import Source, source_bytes

_TICK_SECONDS = 0.2


@dataclass(slots=True)
class _Handed:
    """A load on the desk, and what its visit waits for."""

    visited: Visited
    load: Load
    done: threading.Event
    error: BaseException | None = None


class _Desk:
    """Where visits hand over what came; the thread that syncs takes it from here."""

    def __init__(self, store: Store, hosts: Sequence[FleetHost], stop: threading.Event) -> None:
        self._store, self._stop = store, stop
        self.handed: queue.Queue[_Handed] = queue.Queue()
        self.ended: queue.Queue[Visit] = queue.Queue()
        self.bytes = self.expected = 0
        names = {host.name for host in hosts}
        self._sources: dict[str, list[Source]] = {name: [] for name in names}
        with store.view() as view:
            self.erased = what_was_erased(view)
            for source in view.sources():
                if source.host in names and not source.superseded:
                    self._sources[source.host].append(source)

    def sources(self, host: str) -> list[Source]:
        return self._sources[host]

    def summed(self, source: Source) -> Cksum:
        """The one that was noted with it; else what is stored is read once more.

        Only a log that has grown is asked about. What was evicted or erased of one cannot be read.
        """
        sums = Checkpoints.split(source.cursor.state, source.cursor.offset)[1]
        if sums is not None and sums.posix is not None:
            return Cksum(sums.posix, source.cursor.offset)
        made = Cksum()
        with self._store.view() as view:
            left = source.cursor.offset
            for piece in source_bytes(source, view.lines(source)):
                made.add(piece[:left])
                left -= len(piece[:left])
        return made

    def take(self, visited: Visited, load: Load) -> None:
        handed = _Handed(visited, load, threading.Event())
        self.handed.put(handed)
        while not handed.done.wait(_TICK_SECONDS):
            if self._stop.is_set():
                raise HostTrouble("stopped", "stopped", "the next sync goes on where this one was")
        if handed.error is not None:
            raise handed.error

    def expect(self, count: int) -> None:
        self.expected += count  # for the progress shown; nothing depends on it

    def moved(self, count: int) -> None:
        self.bytes += count


class Sync:
    """One visit to each of some hosts."""

    def __init__(
        self,
        store: Store,
        settings: FleetSettings,
        folder: Path,
        *,
        writer: Callable[[], AbstractContextManager[Writer]],
        environ: Mapping[str, str],
        progress: Progress | None = None,
    ) -> None:
        """`writer` opens the store to write."""
        self._store, self._settings, self._folder = store, settings, folder
        self._writer, self._environ = writer, environ
        self._progress = progress or (lambda path, done, total: None)
        self._stop = threading.Event()

    def run(self, hosts: Sequence[FleetHost]) -> list[tuple[HostState, Visit]]:
        """How each stands afterwards, in the order of the hosts."""
        ssh = ssh_program(self._environ)
        desk = _Desk(self._store, hosts, self._stop)
        kept = {host.name: self._kept(host) for host in hosts}
        waiting = queue.SimpleQueue[FleetHost]()
        for host in hosts:
            waiting.put(host)

        def work() -> None:
            while not self._stop.is_set():
                try:
                    host = waiting.get_nowait()
                except queue.Empty:
                    return
                desk.ended.put(self._visit(host, kept[host.name], desk, ssh))

        count = min(self._settings.at_once, len(hosts))
        threads = [threading.Thread(target=work, name=f"fleet-{n}", daemon=True) for n in range(count)]
        for thread in threads:
            thread.start()
        done: dict[str, tuple[HostState, Visit]] = {}
        try:
            for ended in self._served(desk, len(hosts)):
                done[ended.host.name] = self._end(ended, kept[ended.host.name]), ended
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()
        return [done[host.name] for host in hosts if host.name in done]

    def _kept(self, host: FleetHost) -> Kept:
        kept = HostFolder(self._folder, host.name).read()
        reader = " ".join(f"{agent.name}:{agent.version}" for agent in agents())
        if kept.reader != reader:  # what is no log to one may be one to another
            kept.reader, kept.strangers, kept.databases, kept.erased = reader, {}, {}, {}
        return kept

    def _visit(self, host: FleetHost, kept: Kept, desk: _Desk, ssh: str) -> Visit:
        folder = HostFolder(self._folder, host.name)
        try:
            return visit(
                host, self._settings, folder, kept, desk, ssh=ssh, environ=self._environ, stop=self._stop
            )
        except RecollectError as error:
            made = Visit(host)
            made.trouble = HostTrouble("here", str(error), error.hint)
            return made
        except Exception as error:  # what is wrong with one host, or with what we make of it, is its own
            made = Visit(host)
            made.trouble = HostTrouble("bug", f"this is a bug: {type(error).__name__}: {error}")
            return made

    def _served(self, desk: _Desk, count: int) -> Iterator[Visit]:
        """Take in what is handed over until all visits ended; gives them as they do."""
        while count:
            with contextlib.suppress(queue.Empty):
                self._take(desk.handed.get(timeout=_TICK_SECONDS))
            self._progress("", min(desk.bytes, desk.expected), desk.expected)
            while not desk.ended.empty():
                yield desk.ended.get()
                count -= 1

    def _take(self, handed: _Handed) -> None:
        try:
            if needs_writer(handed.load):
                with self._writer() as writer:
                    take_load(writer, handed.visited, handed.load)
            else:
                for wanted in handed.load.unsteady:
                    handed.visited.plan.was_unsteady(wanted)
                for wanted, why in handed.load.refused:
                    handed.visited.plan.was_refused(wanted, why)
        except RecollectError as error:
            handed.error = error
        except BaseException as error:
            handed.error = error
            raise
        finally:
            handed.done.set()

    def _sources_of(self, visited: Visited) -> list[Source]:
        """What the store has of a host now."""
        if not visited.report.sources:
            return list(visited.plan.sources.values())
        with self._store.view() as view:
            found = [each for each in view.sources() if each.host == visited.host.name]
        return [each for each in found if not each.superseded]

    def _end(self, ended: Visit, kept: Kept) -> HostState:
        """Note how a host stands."""
        visited, now_ms = ended.visited, time.time_ns() // 1_000_000
        state = replace(kept.state, tried_ms=now_ms, received=ended.received, taken=0)
        if ended.host.own and visited is not None and any(each.imported for each in visited.plan.unchanged):
            with self._writer() as writer:
                note_own(writer, ended.host, visited.plan.unchanged)
        if visited is not None and ended.hello is not None and ended.listing is not None:
            sources = self._sources_of(visited)
            files = ended.listing.files
            names = {_bytes(each.file.read_path) for each in sources}
            there = [stat for name in names if (stat := files.get(name)) is not None]
            doomed, soon = doomed_next(
                ended.hello, ended.listing, sources, beside=visited.folder.beside, now_ms=now_ms
            )
            state = replace(
                state,
                system=ended.hello.system,
                sources=len(sources),
                bytes=sum(each.size for each in there),
                newest_ms=max((each.mtime_ns // 1_000_000 for each in there), default=0),
                gone=len(names) - len(there),
                taken=visited.report.bytes_parsed,
                doomed=doomed,
                soon=soon,
            )
            stale = {path for path in kept.strangers if _bytes(path) not in files}
            kept.strangers = {path: mark for path, mark in kept.strangers.items() if path not in stale}
            if ended.trouble is None:
                visited.plan.forget_others()
        trouble = ended.trouble
        state = replace(
            state,
            synced_ms=now_ms if trouble is None else state.synced_ms,
            kind=trouble.kind if trouble else "",
            trouble=str(trouble) if trouble else "",
            hint=(trouble.hint if trouble else "").replace("HOST", ended.host.address),
            failed=shortened(ended.failed),
        )
        kept.state = state
        HostFolder(self._folder, ended.host.name).write(kept)
        return state


def _bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")
