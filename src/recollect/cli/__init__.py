"""The `recollect` command: parse the words, run one command, answer with an exit code.

    0    done                                  4    no store there, or not one we can read
    1    `check` found damage                  5    the store is damaged
    2    the command's words are off           6    another process is writing
    3    no such session, or several           7    the disk refused a write
    8    some source could not be read         70   a bug in Recollect
    9    an embedder gave no vectors           10   an agent's settings are left as they were
    130  stopped by Ctrl-C                     141  whoever read our output went away

stdout carries data only; progress, notes and errors go to stderr. With --json stdout carries
exactly one object, also for a failure (`recollect.error/1`). This module and the parser import
nothing heavy, so that `--help` and a typing error answer at once; numpy, h5py and rich come
with the command that needs them.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
from typing import TYPE_CHECKING

from recollect.cli.pager import PAGED
from recollect.cli.parser import build_parser
from recollect.cli.screen import OutputGone, Screen
from recollect.values.errors import RecollectError

if TYPE_CHECKING:
    from collections.abc import Sequence

_REFUSED = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    # Until the words are parsed, this is all that is known of the person's wishes.
    screen = Screen(json="--json" in words, color=False, quiet=False)
    try:
        args = build_parser(words).parse_args(words)
        paged = getattr(args, "command", "") in PAGED and not args.no_pager
        screen = Screen(json=args.json, color=not args.no_color, quiet=args.quiet, paged=paged)
        command = getattr(importlib.import_module(args.module), args.function)
        code: int = command(args, screen)
        screen.finish()
        return code
    except SystemExit as done:  # --help and --version; everything else raises
        return _flush(screen, int(done.code or 0))
    except RecollectError as error:
        return _report_failure(screen, type(error).__name__, str(error), error.hint, error.exit_code)
    except KeyboardInterrupt:
        return _report_failure(screen, "Interrupted", "stopped", "", 130)
    except OutputGone:
        return _gone(141)
    except OSError as error:
        if error.errno in _REFUSED:
            _gone(7)
            return _report_failure(screen, "OSError", f"could not write: {error.strerror}", "", 7)
        return _bug(screen, error)
    except Exception as error:
        return _bug(screen, error)


def _report_failure(screen: Screen, name: str, message: str, hint: str, code: int) -> int:
    try:
        screen.error(name, message, hint, code)
    except OutputGone:
        return _gone(code)
    return code


def _bug(screen: Screen, error: Exception) -> int:
    if os.environ.get("RECOLLECT_DEBUG"):
        import traceback

        screen.traceback("".join(traceback.format_exception(error)))
    message = f"this is a bug: {type(error).__name__}: {error}"
    return _report_failure(
        screen, "Bug", message, "run it again with RECOLLECT_DEBUG=1 for the traceback", 70
    )


def _flush(screen: Screen, code: int) -> int:
    try:
        screen.flush()
    except OutputGone:
        return _gone(141)
    return code


def _gone(code: int) -> int:
    """Nobody reads stdout any more: say nothing, also not when the interpreter flushes at exit."""
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError):
        return code
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
    return code
