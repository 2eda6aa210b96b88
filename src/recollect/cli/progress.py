"""Progress of long work, on stderr: a bar on a terminal, a line now and then in a pipe.

Once work has begun, the first Ctrl-C is only noted and raised at the next report of progress,
where no half-done HDF5 call is on the stack; a second one is raised at once. The store survives
either.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from recollect.cli.screen import Screen, is_terminal
from recollect.values.text import one_line, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress as Bar

_BAR_AFTER_SECONDS = 0.3
_BAR_EVERY_SECONDS = 0.1
_LINE_EVERY_SECONDS = 5.0


class Progress:
    """Takes `(path, done, in all)` and shows it, if it takes long enough to be of interest.

    What is counted are bytes, or whatever `unit` names.
    """

    def __init__(self, screen: Screen, *, unit: str = "bytes") -> None:
        self._screen = screen
        self._unit = unit
        self._terminal = is_terminal(sys.stderr)
        self._began = self._shown = time.monotonic()
        self._bar: Bar | None = None
        self._task: Any = None
        self._working = self._stopped = False

    def __call__(self, path: str, done: int, total: int) -> None:
        self._working = True
        if self._stopped:
            raise KeyboardInterrupt
        if self._screen.quiet:
            return
        now = time.monotonic()
        if self._terminal and now - self._began >= _BAR_AFTER_SECONDS:
            self._draw(path, done, total, now)
        elif not self._terminal and now - self._shown >= _LINE_EVERY_SECONDS:
            self._shown = now
            rate = self._amount(int(done / max(now - self._began, 0.001)))
            self._screen.note(f"{self._amount(done)} of {self._amount(total)}, {rate}/s: {one_line(path)}")

    @contextmanager
    def running(self) -> Iterator[Progress]:
        """Show progress and take care of Ctrl-C while the work inside goes on."""
        mine = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGINT, self._interrupt) if mine else None
        try:
            yield self
        finally:
            if mine:
                signal.signal(signal.SIGINT, before)
            if self._bar is not None:
                self._bar.stop()

    def _amount(self, count: int) -> str:
        return size(count) if self._unit == "bytes" else f"{count:,} {self._unit}"

    def _interrupt(self, number: int, frame: object) -> None:
        if self._stopped or not self._working:
            raise KeyboardInterrupt
        self._stopped = True

    def _draw(self, path: str, done: int, total: int, now: float) -> None:
        if self._bar is None:
            self._bar = self._make_bar()
            self._task = self._bar.add_task("", total=total, file="")
            self._bar.start()
        elif now - self._shown < _BAR_EVERY_SECONDS and done < total:
            return
        self._shown = now
        name = path.replace("\\", "/").rsplit("/", 1)[-1]
        self._bar.update(self._task, completed=done, total=total, file=one_line(name, 32), refresh=True)

    def _make_bar(self) -> Bar:
        from rich import progress

        bytes_ = self._unit == "bytes"
        counted = (
            (progress.DownloadColumn(), progress.TransferSpeedColumn())
            if bytes_
            else (progress.MofNCompleteColumn(),)
        )
        return progress.Progress(
            progress.TextColumn("{task.fields[file]}", markup=False),
            progress.BarColumn(),
            *counted,
            progress.TimeRemainingColumn(compact=True),
            console=self._screen.console_for(sys.stderr),
            auto_refresh=False,
            transient=True,
        )
