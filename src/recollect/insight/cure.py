"""The one rule of what cured an error: the first later run that does the same work and does not fail.

A run does the same work if it is of the same programs with the same first arguments, and maybe of more, or
of the same tool on the same file. Behind a pipe the exit code is that of `tail`, so such a run proves
nothing, unless the one that failed stood behind a pipe too, or its result was read and shows no failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from recollect.insight.commands import command_of, is_piped, is_shell, work_parts
from recollect.search.text.fields import files_of
from recollect.values.records import Entry
from recollect.values.stored import StoredEntry


@dataclass(frozen=True, slots=True)
class Work:
    """What a call tries to do; nothing where that is not known."""

    parts: frozenset[tuple[str, ...]] = frozenset()
    is_piped: bool = False

    def is_part_of(self, other: Work) -> bool:
        return bool(self.parts) and self.parts <= other.parts


@dataclass(frozen=True, slots=True)
class Run:
    """A call that came to an end. `is_clean`: its result was read, and shows no failure."""

    call: StoredEntry
    result_row: int
    has_failed: bool
    is_clean: bool = False


@dataclass(frozen=True, slots=True)
class Again:
    """The later runs of some work, and whether the last of them is the cure."""

    runs: tuple[Run, ...] = ()
    is_cured: bool = False


def work_of(call: Entry) -> Work:
    """What a call tries to do."""
    if not is_shell(call):
        return Work(frozenset({(call.tool, *files_of(call)[:1])}))
    command = command_of(call)
    return Work(work_parts(command), is_piped(command))


def runs_again(tried: Work, later: Iterable[Run]) -> Again:
    """Those of the later runs that do the same work, up to the cure, if there is one."""
    again: tuple[Run, ...] = ()
    for run in later:
        work = work_of(run.call.entry)
        if tried.is_part_of(work):
            again += (run,)
            if not run.has_failed and (run.is_clean or tried.is_piped or not work.is_piped):
                return Again(again, is_cured=True)
    return Again(again)


def shows_failure(text: str) -> bool:
    """Whether a result reads like that of a run that failed."""
    return bool(_FAILURE.search(text))


_FAILURE = re.compile(
    r"\b[1-9]\d*\s+(?:failed|failing|failures?|errors?)\b|^\s*(?:\S+:\s+)?(?:error|fatal|panic)\b|"
    r"Traceback \(most|\bFAIL(?:ED|URE)?\b|command not found|exit(?:ed with)? code:? [1-9]",
    re.MULTILINE | re.IGNORECASE,
)
