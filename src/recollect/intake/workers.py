"""Large ingests: other processes parse and compress, the writer adopts what they made.

A worker is this very module run as a program. It reads tasks from its standard input and
ends when that closes, so none outlives the process that started it, however that ends; it
opens no store and holds no lock. What a worker hands back is exactly what the same code
makes in-process: it runs the same `Ingest`, on a writer that only collects.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import sys
import threading
from collections.abc import Generator, Sequence
from dataclasses import replace
from subprocess import PIPE, Popen
from typing import Any, BinaryIO

from recollect.agents.registry import agent_of
from recollect.intake.discover import Found
from recollect.intake.ingest import Ingest
from recollect.intake.own import OwnLogs
from recollect.light.processes import start_python
from recollect.store.contract import BulkWriter, Collector, Writer
from recollect.values.errors import RecollectError
from recollect.values.records import SourceFile
from recollect.values.reports import Report

WORTH_BYTES = 24 << 20  # less than this is done before a worker has started
PARCEL_BYTES = 6 << 20
FILE_BYTES_MAX = 24 << 20  # a larger file is streamed by the writer's own process

_NEW_PROCESS_GROUP = 0x200  # of Windows

_Task = tuple[type[Collector], str, list[tuple[str, SourceFile, int]]]  # host, (agent, file, size)
_Result = tuple[Any, Report]  # a parcel, and what is in it


def sweep(
    ingest: Ingest, writer: Writer, host: str, found: Sequence[Found], own: OwnLogs | None = None
) -> None:
    """As `Ingest.sweep`, with workers where the engine has a use for them and enough is new."""
    if own is not None:  # a worker does not know whose it reads
        found = [replace(each, file=own.marked(each.file, host)) for each in found]
    ingest.plan(sum(each.size for each in found))
    if not isinstance(writer, BulkWriter):
        ingest.sweep(found)
        return
    known = [writer.has_source(host, each.file.path) for each in found]
    new = [each for each, is_known in zip(found, known, strict=True) if not is_known]
    if sum(each.size for each in new if each.size <= FILE_BYTES_MAX) < WORTH_BYTES:
        ingest.sweep(found)
        return
    ingest.sweep([each for each, is_known in zip(found, known, strict=True) if is_known])
    groups = parcelled(new)
    # In the order found: of two files with the same lines, the first one's session is charged for them.
    parcels = [group for group in groups if not _streamed(group)]
    with contextlib.closing(work(writer.collector, host, parcels)) as results:
        for group in groups:
            if _streamed(group):
                ingest.sweep(group)
                continue
            parcel, report = next(results)
            if writer.adopt(parcel):
                ingest.adopt(report, group[-1].file.path, sum(each.size for each in group))
            else:
                ingest.sweep(group)


def parcelled(found: Sequence[Found]) -> list[list[Found]]:
    """Files in order, grouped to parcels of a few megabytes; a file too large for a worker is alone."""
    groups: list[list[Found]] = []
    filled = 0
    for each in found:
        if not groups or filled + each.size > PARCEL_BYTES:
            groups.append([])
            filled = 0
        groups[-1].append(each)
        filled += each.size
    return groups


def _streamed(group: Sequence[Found]) -> bool:
    return group[0].size > FILE_BYTES_MAX


def work(
    collector: type[Collector], host: str, groups: Sequence[Sequence[Found]]
) -> Generator[_Result, None, None]:
    """The groups' parcels, in the order of the groups. Closing the iterator ends the workers."""
    pool = _Pool(max(2, min(os.cpu_count() or 1, 8)))
    try:
        sent = 0
        for done in range(len(groups)):
            while sent < len(groups) and sent < done + pool.size + 2:
                task = [(f.agent.name, f.file, f.size) for f in groups[sent]]
                pool.send(sent, (collector, host, task))
                sent += 1
            yield pool.result(done)
    finally:
        pool.close()


class _Pool:
    """A few worker processes, each served by a thread that only waits."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._tasks: queue.SimpleQueue[tuple[int, _Task] | None] = queue.SimpleQueue()
        self._results: dict[int, _Result | BaseException] = {}
        self._ready = threading.Condition()
        self._processes = [_start() for _ in range(size)]
        self._threads = [
            threading.Thread(target=self._serve, args=(process,), daemon=True) for process in self._processes
        ]
        for thread in self._threads:
            thread.start()

    def send(self, number: int, task: _Task) -> None:
        self._tasks.put((number, task))

    def result(self, number: int) -> _Result:
        with self._ready:
            while number not in self._results:
                self._ready.wait()
            result = self._results.pop(number)
        if isinstance(result, BaseException):
            raise result
        return result

    def close(self) -> None:
        for _ in self._threads:
            self._tasks.put(None)
        for process in self._processes:
            process.kill()
            process.wait()
        for thread in self._threads:
            thread.join()
        for process in self._processes:
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                with contextlib.suppress(BrokenPipeError):  # a task that a dead worker never read
                    pipe.close()

    def _serve(self, process: Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        while (item := self._tasks.get()) is not None:
            number, task = item
            result: _Result | BaseException
            try:
                pickle.dump(task, process.stdin, protocol=5)
                process.stdin.flush()
                result = pickle.load(process.stdout)
            except Exception as error:  # whatever it is, somebody waits for this result
                result = RecollectError(
                    f"a worker process ended early (exit {process.poll()})",
                    hint="run the same command again; everything saved before is still there",
                )
                result.__cause__ = error
            with self._ready:
                self._results[number] = result
                self._ready.notify_all()


def _start() -> Popen[bytes]:
    # Out of the terminal's group: Ctrl-C is for us to handle, and we end the workers.
    posix = os.name == "posix"
    return start_python(
        __name__,
        stdin=PIPE,
        stdout=PIPE,
        bufsize=1 << 20,
        process_group=0 if posix else None,
        creationflags=0 if posix else _NEW_PROCESS_GROUP,
    )


def main() -> None:
    """Be a worker."""
    import gc

    # What a worker makes is freed by counting; looking for cycles in it costs a tenth of the time.
    gc.disable()
    incoming, outgoing = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            task = pickle.load(incoming)
        except EOFError:
            return
        _answer(outgoing, *task)


def _answer(
    outgoing: BinaryIO, collector: type[Collector], host: str, task: list[tuple[str, SourceFile, int]]
) -> None:
    writer = collector()
    ingest = Ingest(writer, host)
    ingest.sweep([Found(agent_of(agent), file, size) for agent, file, size in task])
    pickle.dump((writer.parcel(), ingest.report), outgoing, protocol=5)
    outgoing.flush()
