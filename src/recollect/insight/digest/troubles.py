"""The errors of a session, each with the run that then worked: what `cure.py` calls one, in a single pass."""

from __future__ import annotations

import re
from collections.abc import Iterable

from recollect.insight.commands import is_piped, work_parts
from recollect.insight.cure import Work, shows_failure, work_of
from recollect.insight.digest.steps import Step, once
from recollect.insight.shell import COMMAND_CHARS_MAX, without_heredocs
from recollect.values.digests import Trouble

OPEN_MAX = 32  # errors that are followed at a time: what was not solved by then is not looked for again
_TEXT_CHARS = 160
_TAIL_CHARS = 8_000
_END_CHARS = 2_000


class Troubles:
    """Errors met so far. `retries` counts the runs that did again what had failed."""

    def __init__(self) -> None:
        self.retries = 0
        self._open: dict[frozenset[tuple[str, ...]], tuple[Trouble, Work]] = {}
        self._commands: dict[frozenset[tuple[str, ...]], list[str]] = {}
        self._ended: list[Trouble] = []

    def take(self, step: Step) -> Trouble | None:
        """Note how a step ended; the last error that it solved, if it did."""
        if not step.is_ended or step.is_refused:
            return None
        failed = step.has_failed or fails_behind_pipe(step)
        if not failed and not self._open:
            return None
        if failed and _is_no_error(step):
            return None
        work = work_done(step)
        again = [parts for parts, (_, tried) in self._open.items() if tried.is_part_of(work)]
        if not failed:
            again += [parts for parts in self._open if parts not in again and self._is_rest(step, parts)]
        self.retries += bool(again)
        if failed:
            self._note(step, work)
            return None
        solved = [parts for parts in again if self._proves(step, work, self._open[parts][1])]
        for parts in solved:
            trouble, _ = self._open.pop(parts)
            self._ended.append(Trouble(trouble.text, trouble.times, trouble.entry, step.results[-1].id))
        return self._ended[-1] if solved else None

    def all(self) -> list[Trouble]:
        """Every error: first those that were not solved, the last one first."""
        return [trouble for trouble, _ in reversed(self._open.values())] + self._ended

    def _note(self, step: Step, work: Work) -> None:
        known = self._open.pop(work.parts, None)
        if known is None and len(self._open) >= OPEN_MAX:
            oldest, _ = self._open.pop(next(iter(self._open)))
            self._ended.append(oldest)
        times = known[0].times + 1 if known else 1
        text = gist(step.output) or " ".join(step.command[:_END_CHARS].split())[:_TEXT_CHARS] or step.tool
        self._commands[work.parts] = step.command.split()
        self._open[work.parts] = Trouble(text, times, step.results[-1].id), work

    def _is_rest(self, step: Step, parts: frozenset[tuple[str, ...]]) -> bool:
        """Whether a command is what one that failed was told to run: `bun test` of `nice bun test`."""
        words = step.command.split()
        return len(words) > 1 and self._commands.get(parts, [])[1:] == words

    @staticmethod
    def _proves(step: Step, work: Work, tried: Work) -> bool:
        return tried.is_piped or not work.is_piped or not shows_failure(step.output[-_TAIL_CHARS:])


@once
def fails_behind_pipe(step: Step) -> bool:
    """Whether a run ends with an error that a pipe's exit code hides."""
    if not any(part.piped for part in step.parts) or step.only_reads:
        return False
    return bool(_HIDDEN.search(step.output[-_END_CHARS:]))


@once
def work_done(step: Step) -> Work:
    """What a step was for, by which it is known again."""
    if not step.command:
        return work_of(step.call.entry)
    command = without_heredocs(step.command[:COMMAND_CHARS_MAX])
    return Work(work_parts(command), is_piped(command))


def errors_of(steps: Iterable[Step]) -> tuple[list[Trouble], int]:
    """The errors of some steps, and how often something that had failed was tried again."""
    troubles = Troubles()
    for step in steps:
        troubles.take(step)
    return troubles.all(), troubles.retries


def gist(text: str) -> str:
    """The line of an error that says most."""
    first = ""
    for line in text[:_TAIL_CHARS].splitlines():
        line = line.strip()
        if line and not _HEADING.match(line):
            if _TELLING.search(line):
                return line[:_TEXT_CHARS]
            first = first or line
    return first[:_TEXT_CHARS]


def _is_no_error(step: Step) -> bool:
    """Whether a failure says nothing: a search without a match, a call that was only put wrongly."""
    return step.is_trifle or (step.only_reads and len(step.output) < 40)


_HIDDEN = re.compile(
    r"^error(?:\[\w{1,12}\])?: |^(?:\w{2,20} )?(?:fatal|FAILED|ELIFECYCLE)\b|exit(?:ed with)? code:? [1-9]"
    r"|^make: \*\*\*|Found [1-9]\d* errors?\b|^\w{1,40}Error: |could not compile|command not found$"
    r"|^test result: FAILED",
    re.MULTILINE,
)
_HEADING = re.compile(
    r"[=#*-]{2,}.{0,80}$"  # what a script prints between its parts
    r"|Exit code:? \d+$|Wall time:|Chunk ID:|Process exited|Original token count|Output:$|Total output lines"
)
_TELLING = re.compile(
    r"\b(?:\w{0,40}(?:error|exception)|failed|failure|fatal|panic(?:ked)?|cannot|not found|denied|refused)\b",
    re.IGNORECASE,
)
