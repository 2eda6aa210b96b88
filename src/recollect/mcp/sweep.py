"""Taking in the agents' logs while the server goes on: one sweep at a time, in a thread with its own memory.

Killing it loses work and no lines, so whoever asked need not wait for its end: after a while the answer is
how far it is.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING

from recollect.values.errors import StoreBusy

if TYPE_CHECKING:
    from recollect.mcp.answers import Answer
    from recollect.values.reports import Report

ANSWER_SECONDS = 45.0  # clients give up on a tool after a minute
BUSY_SECONDS = 0.5  # that another process may go on writing before it counts as sweeping
TOLD_SECONDS = 0.5

Tell = Callable[[float, float | None, str], Awaitable[None]]


class Sweeps:
    """The sweeps of one server."""

    def __init__(self, store: str | None) -> None:
        self._store = store
        self._last: _Sweep | None = None

    async def answer(self, tell: Tell) -> Answer:
        """What a new sweep did; or how far one is that takes long, or that someone else began."""
        from recollect.mcp.answers import ingested
        from recollect.values.reports import Report

        if self._last is not None and not self._last.ended.done():
            return ingested(Report(), "already running", *self._last.far)
        sweep = self._last = _Sweep(self._store)
        try:
            report = await sweep.wait(tell)
        except StoreBusy:
            return ingested(Report(), "already running", *sweep.far)
        return ingested(report or Report(), "done" if report else "running", *sweep.far)


class _Sweep:
    """One pass over the logs. `far`: bytes done, bytes in all, seconds since it began."""

    def __init__(self, store: str | None) -> None:
        self.ended: Future[Report] = Future()
        self._store, self._began = store, time.monotonic()
        self._done = self._total = 0
        threading.Thread(target=self._run, daemon=True).start()

    @property
    def far(self) -> tuple[int, int, float]:
        return self._done, self._total, time.monotonic() - self._began

    async def wait(self, tell: Tell) -> Report | None:
        """What it did, None if that is not known in time."""
        ended = asyncio.wrap_future(self.ended)
        while not ended.done() and self.far[2] < ANSWER_SECONDS:
            await asyncio.wait({ended}, timeout=TOLD_SECONDS)
            await tell(self._done, self._total or None, "taking in logs")
        return ended.result() if ended.done() else None

    def _run(self) -> None:
        try:
            self.ended.set_result(self._sweep())
        except BaseException as error:
            self.ended.set_exception(error)

    def _sweep(self) -> Report:
        from recollect.config import load_config
        from recollect.memory import Memory

        with Memory.open(config=load_config(self._store)) as memory:
            memory.checkpoint(timeout=BUSY_SECONDS)  # a sweep itself would wait for a minute
            report = memory.ingest(progress=self._progress)
            memory.index()
        return report

    def _progress(self, path: str, done: int, total: int) -> None:
        self._done, self._total = done, total
