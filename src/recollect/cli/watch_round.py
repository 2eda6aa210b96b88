"""One round of the watcher: take in what is new, then bring up to date what is derived from it.

It is done in a process of its own that ends with it. HDF5 and tantivy keep memory that a
watcher would hold for days, and a damaged file can crash either of them.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired
from typing import TYPE_CHECKING, Any

from recollect.config import Config, load_config
from recollect.light.processes import start_python
from recollect.present.hits import fresh_object
from recollect.present.reports import report_object
from recollect.present.retention import sweep_object, swept_text
from recollect.values.errors import RecollectError
from recollect.values.text import ascii_json, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.values.reports import Progress

_STEP_SECONDS = 0.5
_END_SECONDS = 20.0  # that a round has to come to a safe end once we are told to stop

Told = dict[str, Any]  # what a round did, as `recollect.watch/1` has it


class Stop:
    """Set by the first signal to leave; a second Ctrl-C acts at once.

    A plain field, and not an `Event`: setting one of those inside a handler can wait for itself.
    """

    def __init__(self) -> None:
        self.number = 0
        self._before: dict[int, Any] = {}

    def is_set(self) -> bool:
        return self.number != 0

    def rest(self, seconds: float) -> None:
        """Wait so long, or until told to stop."""
        until = time.monotonic() + seconds
        while not self.is_set() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _STEP_SECONDS))

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._signalled)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _signalled(self, number: int, frame: object) -> None:
        if self.number and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.number = self.number or number


def nothing_told(paths: Sequence[Path] | None) -> Told:
    """What there is to tell before a round has done anything; without paths it looks at everything."""
    count = None if paths is None else len(paths)
    nothing = {"report": None, "fresh": None, "swept": None, "error": None}
    return {"paths": count, "seconds": 0.0, "catalogs": 0, **nothing}


def work(config: Config, paths: Sequence[Path] | None, told: Told, progress: Progress) -> None:
    """Do a round here, and note in `told` how far it came.

    Without paths everything is looked at; with none in them, only the journal.
    """
    from recollect.hooks.settle import refresh_catalogs
    from recollect.memory import Memory

    with Memory.open(config=config) as memory:
        there = [path for path in paths or () if os.path.lexists(path)]
        everything = paths is None
        report = memory.ingest(there, progress=progress) if everything or there else memory.checkpoint()
        told["report"] = report_object(report)
        told["fresh"] = fresh_object(memory.index(progress=progress))
        swept = memory.sweep_if_due(progress=progress)
        if swept is not None:
            told["swept"] = {"text": swept_text(swept), **sweep_object(swept, applied=True)}
            if swept.file_bytes_after:
                told["fresh"] = fresh_object(memory.index(progress=progress))
        told["catalogs"] = refresh_catalogs(memory)


def work_apart(config: Config, paths: Sequence[Path] | None, stop: Stop) -> Told:
    """Do a round in a process that ends with it, or soon after we are told to stop."""
    began, told = time.monotonic(), nothing_told(paths)
    names = None if paths is None else [os.fspath(path) for path in paths]
    try:
        answer, complaint, code = _ask({"store": config.url, "paths": names}, stop)
        if not code:
            told = json.loads(answer)
        elif not stop.is_set():
            last = complaint.decode("utf-8", "replace").strip().rpartition("\n")[2]
            told["error"] = _error("Bug", f"a round ended early (exit {code}): {one_line(last, 300)}", "", 70)
    except OSError as error:  # no process to be had
        told["error"] = _error("OSError", str(error), "", 7)
    return {**told, "seconds": round(time.monotonic() - began, 3)}


def main() -> None:
    """Be the process of one round: a request on stdin, what was done on stdout."""
    request = json.load(sys.stdin)
    paths = None if request["paths"] is None else [Path(path) for path in request["paths"]]
    told = nothing_told(paths)
    with Stop() as stop:

        def progress(*_: object) -> None:
            if stop.is_set():
                raise KeyboardInterrupt

        try:
            work(load_config(request["store"]), paths, told, progress)
        except RecollectError as error:
            told["error"] = _error(type(error).__name__, str(error), error.hint, error.exit_code)
        except OSError as error:
            told["error"] = _error("OSError", str(error), "", 7)
        except KeyboardInterrupt:
            sys.exit(130)
    sys.stdout.write(ascii_json(told))


def _ask(request: Told, stop: Stop) -> tuple[bytes, bytes, int]:
    # Out of the terminal's group: Ctrl-C is for us to handle, and we end the round.
    with start_python(__name__, stdin=PIPE, stdout=PIPE, stderr=PIPE, process_group=0) as process:
        try:
            return *_answered(process, ascii_json(request).encode("ascii"), stop), process.returncode
        except BaseException:
            process.kill()
            raise


def _answered(process: Popen[bytes], request: bytes, stop: Stop) -> tuple[bytes, bytes]:
    left: bytes | None = request
    stopped_at = 0.0
    while True:
        try:
            return process.communicate(left, timeout=0.5)
        except TimeoutExpired:
            left = None
        if stop.is_set() and not stopped_at:
            stopped_at = time.monotonic()
            process.terminate()
        elif stopped_at and time.monotonic() - stopped_at > _END_SECONDS:
            process.kill()


def _error(name: str, message: str, hint: str, code: int) -> dict[str, Any]:
    return {"error": name, "message": message, "hint": hint, "exit_code": code}
