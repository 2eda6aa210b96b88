"""`watch`: take in what agents write while they write it, and keep it searchable.

The watcher itself only waits. Every round of work is done by a process of its own that ends
with it: days of watching cost no memory, and whatever goes wrong costs one round. After a
round it rests for some times as long as that took, so a busy day costs a bounded share of
one processor. Trouble is said once and the round is tried again; it never ends the watcher.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.watch_round import Stop, Told, nothing_told, work, work_apart
from recollect.cli.words import add_command, count
from recollect.config import Config, load_config
from recollect.light.journal import journal_path
from recollect.light.processes import command_words
from recollect.memory.machine import are_logs, follow_logs, log_folders, only_watcher
from recollect.values.errors import UsageError
from recollect.values.text import many, one_line

if TYPE_CHECKING:
    from recollect.cli.screen import Screen
    from recollect.values.reports import Batch


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "watch",
        "follow all agents' logs and keep everything fresh",
        "For agents without hooks, or as a safety net: takes in what is new the moment it is written, "
        "folds the journal and keeps the indexes up to date, until Ctrl-C. --install writes a service "
        "for systemd or launchd that does this in the background, and says how to start it.",
        ("recollect watch", "recollect watch --once", "recollect watch --install"),
    )
    command.add_argument("--poll", action="store_true", help="look at the files instead of being notified")
    command.add_argument(
        "--interval",
        type=_positive,
        default=5,
        metavar="SECONDS",
        help="between looks when polling (default: 5)",
    )
    action = command.add_mutually_exclusive_group()
    action.add_argument("--once", action="store_true", help="one round, then leave: for cron")
    action.add_argument("--install", action="store_true", help="write a user service for this")
    action.add_argument("--remove", action="store_true", help="take that service out")


def _positive(text: str) -> int:
    """A whole number from 1 on."""
    if not count(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return count(text)


_REST = 5  # times as long as the round took
_REST_SECONDS_MIN = 2.0
_REST_SECONDS_MAX = 60.0
_RETRY_SECONDS = 5.0
_RETRY_SECONDS_MAX = 300.0
_NAMED_MAX = 8
# Nothing that waiting could mend: told at the start, they end the watcher.
_HOPELESS = ("UsageError", "NotAStore", "StoreTooNew")

Round = Callable[[Sequence[Path] | None], Told]


def watch(args: argparse.Namespace, screen: Screen) -> int:
    """Follow until stopped: 130 after Ctrl-C, 0 after a polite signal."""
    if os.name == "nt":
        raise UsageError(
            "`watch` does not run on Windows", hint="let the task scheduler run `recollect ingest` instead"
        )
    if args.install or args.remove:
        return _service(args, screen)
    config = load_config(args.store)
    if args.once:
        return _once(config, screen)
    with only_watcher(config) as only, Stop() as stop:
        if not only:
            message = f"{config.store}: another process watches for this store already"
            screen.error("StoreBusy", message, "end it first; one is enough", 6)
            return 6
        folders = _folders(screen)
        batches = follow_logs(folders, stop=stop, poll=args.poll, poll_seconds=max(args.interval, 1))
        watcher = Watcher(config, screen, stop, lambda paths: work_apart(config, paths, stop))
        return watcher.run(batches)


class Watcher:
    """What waits to be done, and what is known to be wrong. Both are bounded."""

    def __init__(self, config: Config, screen: Screen, stop: Stop, work: Round) -> None:
        self._config, self._screen, self._stop, self._work = config, screen, stop, work
        self._everything = False
        self._paths: dict[Path, None] = {}
        self._indexing = False  # lines were taken, and something after that failed
        self._journal = 0, 0
        self._trouble = ""
        self._unreadable: dict[str, str] = {}
        self._failures = self._rounds = 0
        self._not_before = 0.0

    def run(self, batches: Iterable[Batch]) -> int:
        for batch in batches:
            if batch.trouble:
                self._say(f"the system cannot tell what changes ({batch.trouble}); looking now and then")
            self._add(batch)
            if self._is_due():
                journal = self._journal_state()  # before: what comes during the round is for the next one
                told = self._work(None if self._everything else list(self._paths))
                if self._stop.is_set():
                    break
                if (code := self._done(told)) is not None:
                    return code
                self._journal = journal if told["error"] is None else self._journal
                self._stop.rest(min(max(_REST_SECONDS_MIN, _REST * told["seconds"]), _REST_SECONDS_MAX))
        self._say("stopped")
        return 130 if self._stop.number == signal.SIGINT else 0

    def _add(self, batch: Batch) -> None:
        self._paths.update(dict.fromkeys(filter(are_logs, batch.paths)))
        self._everything |= batch.everything or len(self._paths) > batch.BURST_MAX
        if self._everything:
            self._paths.clear()

    def _is_due(self) -> bool:
        if time.monotonic() < self._not_before or self._stop.is_set():
            return False
        waiting = self._everything or self._paths or self._indexing
        return bool(waiting) or self._journal_state() not in (self._journal, (0, 0))

    def _journal_state(self) -> tuple[int, int]:
        """What changes when a hook appends; one that cannot be folded is not tried at every tick."""
        with contextlib.suppress(OSError):
            found = os.stat(journal_path(self._config.path)) if self._config.path else None
            return (found.st_ino, found.st_mtime_ns) if found else (0, 0)
        return 0, 0

    def _done(self, told: Told) -> int | None:
        """Note how a round ended; an exit code where there is no point in another one."""
        self._rounds += 1
        error = told["error"]
        self._indexing = error is not None and told["report"] is not None
        if told["report"] is not None:
            self._everything = False
            self._paths.clear()
        if error is not None and self._rounds == 1 and error["error"] in _HOPELESS:
            self._screen.error(error["error"], error["message"], error["hint"], error["exit_code"])
            return int(error["exit_code"])
        self._tell(told)
        return None

    # -- what is said ------------------------------------------------------------------------

    def _tell(self, told: Told) -> None:
        if self._screen.json:
            self._screen.object("watch", told)
            self._screen.flush()
        report, error = told["report"], told["error"]
        if report is not None and (report["taken"] or told["swept"] or self._rounds == 1):
            self._say(round_text(told))
        if report is not None:
            self._tell_unreadable(report["failed"], all_=told["paths"] is None)
        if error is not None:
            self._tell_trouble(error)
        elif self._trouble:
            self._say("it works again")
            self._trouble, self._failures, self._not_before = "", 0, 0.0

    def _tell_unreadable(self, failed: dict[str, str], *, all_: bool) -> None:
        fresh = [why for path, why in failed.items() if self._unreadable.get(path) != why]
        self._unreadable = failed if all_ else {**self._unreadable, **failed}
        for why in fresh[:_NAMED_MAX]:
            self._say(f"could not be read: {one_line(why)}")
        if len(fresh) > _NAMED_MAX:
            self._say(f"and {len(fresh) - _NAMED_MAX} more could not be read")

    def _tell_trouble(self, error: dict[str, Any]) -> None:
        wait = min(_RETRY_SECONDS * 2**self._failures, _RETRY_SECONDS_MAX)
        self._failures = min(self._failures + 1, 10)
        self._not_before = time.monotonic() + wait
        if error["message"] != self._trouble:
            self._trouble = error["message"]
            hint = f"{error['hint']}; " if error["hint"] else ""
            self._screen.error(error["error"], self._trouble, f"{hint}it is tried again on its own", 0)

    def _say(self, text: str) -> None:
        self._screen.note(f"{time.strftime('%H:%M:%S')} {text}")


def round_text(told: Told) -> str:
    """One line about what a round did."""
    report = told["report"]
    which = "all " if told["paths"] is None else ""
    return (
        f"{which}{many(report['sources'], 'source')}: {many(report['taken'], 'new line')}, "
        f"{many(report['entries'], 'entry', 'entries')}"
        + (f", {many(report['bad'], 'bad line')} kept as they are" if report.get("bad") else "")
        + f" ({told['seconds']:.1f} s)"
        + (f"; retention: {swept['text']}" if (swept := told.get("swept")) and swept["sessions"] else "")
    )


def _once(config: Config, screen: Screen) -> int:
    """A sweep and all that follows from it, in this process."""
    from recollect.cli.progress import Progress

    progress, began, told = Progress(screen, "reading logs"), time.monotonic(), nothing_told(None)
    with progress.running():
        work(config, None, told, progress)
    told["seconds"] = round(time.monotonic() - began, 3)
    if screen.json:
        screen.object("watch", told)
    else:
        screen.note(round_text(told))
        for why in list(told["report"]["failed"].values())[:_NAMED_MAX]:
            screen.note(f"could not be read: {one_line(why)}")
    return 8 if told["report"]["failed"] else 0


# -- what it needs -------------------------------------------------------------------------


def _folders(screen: Screen) -> list[Path]:
    folders = log_folders()
    for folder in folders:
        screen.note(f"watching {folder}" + ("" if folder.is_dir() else " (not there yet)"))
    return folders


def _service(args: argparse.Namespace, screen: Screen) -> int:
    """Write or remove the file that lets the system run the watcher; starting it is left to the person."""
    from recollect.setup import service

    config = load_config(args.store)
    local = config.embedder.partition(":")[0] in ("static", "minilm", "folder")
    wanted = service.service(sys.platform, Path.home(), os.environ, _command(args, config), network=not local)
    changed = service.remove(wanted) if args.remove else service.install(wanted)
    text, run = wanted.content.decode("utf-8", "replace"), wanted.end if args.remove else wanted.start
    if screen.json:
        told = {"path": str(wanted.path), "installed": not args.remove, "changed": changed}
        screen.object("watch-service", {**told, "text": "" if args.remove else text, "command": run})
        return 0
    if args.remove:
        screen.line(f"removed {wanted.path}" if changed else f"{wanted.path}: not there")
        screen.note(f"end it, if it runs: {run}")
    else:
        screen.line(f"{'written' if changed else 'already there'}: {wanted.path}")
        screen.line(text.rstrip("\n"))
        screen.note(f"start it: {run}")
    return 0


def _command(args: argparse.Namespace, config: Config) -> list[str]:
    """This very watcher, whatever folder and shell it is started from."""
    words = command_words("--store", config.url, "--quiet")
    return [*words, "watch", *(["--poll", "--interval", str(args.interval)] if args.poll else [])]
