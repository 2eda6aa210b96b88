"""Large ingests: other processes parse and compress, the writer adopts what they made.

A worker (`light/pool.py`) opens no store and holds no lock. What it hands back is exactly what the
same code makes in-process: it runs the same `Ingest`, on a writer that only collects.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

from recollect.agents.registry import agent_of
from recollect.intake.discover import Found
from recollect.intake.ingest import Ingest
from recollect.intake.own import OwnLogs
from recollect.light.pool import WORKERS_MAX, Pool, serve
from recollect.store.contract import BulkWriter, Collector, Writer
from recollect.values.erasures import NOTHING_ERASED, Erased
from recollect.values.records import Framing, SourceFile
from recollect.values.reports import Report

WORTH_BYTES = 24 << 20  # less than this is done before a worker has started
PARCEL_BYTES = 6 << 20
FILE_BYTES_MAX = 24 << 20  # a larger file is streamed by the writer's own process

# host, (agent, file, size), what does not come back
_Task = tuple[type[Collector], str, list[tuple[str, SourceFile, int]], Erased]
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
    known = [_is_compared(each) or writer.has_source(host, each.file.path) for each in found]
    new = [each for each, is_known in zip(found, known, strict=True) if not is_known]
    if sum(each.size for each in new if each.size <= FILE_BYTES_MAX) < WORTH_BYTES:
        ingest.sweep(found)
        return
    ingest.sweep([each for each, is_known in zip(found, known, strict=True) if is_known])
    groups = parcelled(new)
    # In the order found: of two files with the same lines, the first one's session is charged for them.
    parcels = [group for group in groups if not _streamed(group)]
    with contextlib.closing(work(writer.collector, host, parcels, ingest.erased)) as results:
        for group in groups:
            if _streamed(group):
                ingest.sweep(group)
                continue
            parcel, report = next(results)
            if writer.adopt(parcel):
                ingest.adopt(report, group[-1].file.path, sum(each.size for each in group))
                ingest.began += [(host, each.file.path) for each in group]
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


def _is_compared(found: Found) -> bool:
    """Whether what is new in it is known only beside what is stored."""
    return found.file.framing in (Framing.ROWS, Framing.EXPORT)


def _streamed(group: Sequence[Found]) -> bool:
    return group[0].size > FILE_BYTES_MAX


def work(
    collector: type[Collector], host: str, groups: Sequence[Sequence[Found]], erased: Erased = NOTHING_ERASED
) -> Generator[_Result, None, None]:
    """The groups' parcels, in the order of the groups. Closing the iterator ends the workers."""
    pool: Pool[_Task, _Result] = Pool(__name__, max(2, min(os.cpu_count() or 1, WORKERS_MAX)))
    try:
        sent = 0
        for done in range(len(groups)):
            while sent < len(groups) and sent < done + pool.size + 2:
                task = [(f.agent.name, f.file, f.size) for f in groups[sent]]
                pool.send(sent, (collector, host, task, erased))
                sent += 1
            yield pool.result(done)
    finally:
        pool.close()


def main() -> None:
    """Be a worker."""
    serve(_answer)


def _answer(task: _Task) -> _Result:
    collector, host, files, erased = task
    writer = collector()
    ingest = Ingest(writer, host, erased=erased)
    ingest.sweep([Found(agent_of(agent), file, size) for agent, file, size in files])
    return writer.parcel(), ingest.report
