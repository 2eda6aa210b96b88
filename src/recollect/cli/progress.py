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
from recollect.values.text import duration, one_line, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.progress import Progress as Bar

_BAR_AFTER_SECONDS = 0.3
_BAR_EVERY_SECONDS = 0.1
_LINE_EVERY_SECONDS = 5.0
_TELLING_SECONDS = 2.0
_TELLING_SHARE = 50  # one part in so many must be done before it tells how long the rest takes
_BAR_CELLS = 16
_FILE_CELLS = 18
_NONE: Mapping[str, str] = {}


class Progress:
    """Takes `(what, done, in all)` and shows it, if it takes long enough to be of interest.

    `doing` says what is being done; what is counted are bytes, or whatever `unit` names. Work in several
    parts has a name for each in `parts`, by what it is told of.
    """

    def __init__(
        self, screen: Screen, doing: str = "reading", *, unit: str = "bytes", parts: Mapping[str, str] = _NONE
    ) -> None:
        self._screen, self._doing, self._unit, self._parts = screen, doing, unit, parts
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
        doing = self._parts.get(path, self._doing)
        if doing != self._doing:
            self._doing, self._began = doing, now  # its own time tells how long it will take
        if self._terminal and now - self._began >= _BAR_AFTER_SECONDS:
            self._draw(path, done, total, now)
        elif not self._terminal and now - self._shown >= _LINE_EVERY_SECONDS:
            self._shown = now
            told = ", ".join(filter(None, (self._amounts(done, total), self._left(done, total, now))))
            name = "" if path in self._parts else f": {one_line(path)}"
            self._screen.note(f"{doing}: {told}{name}")

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

    def _amounts(self, done: int, total: int) -> str:
        if self._unit == "bytes":
            return f"{size(done)} of {size(total)}"
        return f"{done:,} of {total:,} {self._unit}"

    def _left(self, done: int, total: int, now: float) -> str:
        """How long it will take, once enough is done to say so."""
        passed = now - self._began
        if passed < _TELLING_SECONDS or done * _TELLING_SHARE < total or done >= total:
            return ""
        return f"about {duration(passed * (total - done) / done)} left"

    def _interrupt(self, number: int, frame: object) -> None:
        if self._stopped or not self._working:
            raise KeyboardInterrupt
        self._stopped = True

    def _draw(self, path: str, done: int, total: int, now: float) -> None:
        if self._bar is None:
            self._bar = self._make_bar()
            self._task = self._bar.add_task(self._doing, total=total, amounts="", left="", file="")
            self._bar.start()
        elif now - self._shown < _BAR_EVERY_SECONDS and done < total:
            return
        self._shown = now
        name = "" if path in self._parts else path.replace("\\", "/").rsplit("/", 1)[-1]
        self._bar.update(
            self._task,
            description=self._doing,
            completed=done,
            total=total,
            amounts=self._amounts(done, total),
            left=self._left(done, total, now),
            file=one_line(name, _FILE_CELLS),
            refresh=True,
        )

    def _make_bar(self) -> Bar:
        from rich import progress

        return progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(_BAR_CELLS),
            progress.TextColumn("{task.fields[amounts]}", markup=False),
            progress.TextColumn("{task.fields[left]}", markup=False),
            progress.TextColumn("{task.fields[file]}", markup=False, style="dim"),
            console=self._screen.console_for(sys.stderr),
            auto_refresh=False,
            transient=True,
        )
