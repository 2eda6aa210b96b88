"""What an agent did over and over without getting further, each time with where it begins and ends.

    looked again    within one exchange, three looks or more at one file that show nearly nothing but lines
                    that were shown before, while nothing changed that file
    same answer     within one exchange, the same call five times or more with the same answer, while nothing
                    was changed: two calls in turn are told as two
    same failure    the same work ended four times or more with the same error, and never worked in between
    found nothing   four calls of one tool or program in a row, in one exchange, each about some of the same
                    words as the one before, and none found or did anything

Calls that were made before the answer to the last one was there are no tries of their own, and whoever waits
for something may ask again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from recollect.agents.registry import all_tools
from recollect.insight.digest.changes import touches
from recollect.insight.digest.steps import Exchange, Step
from recollect.insight.digest.troubles import gist, work_done
from recollect.insight.entities.mention import fingerprint
from recollect.search.text.fields import files_of
from recollect.values.digests import Thrash
from recollect.values.text import one_line

LOOKS_AGAIN = 3
ANSWERS = 5
FAILURES = 4
NOTHINGS = 4
THRASH_MAX = 6
_SHOWN = 0.8  # of the lines of a look, that were shown before
_LINES_MIN, _LINES_MAX = 8, 400
_LINE_CHARS_MIN = 9
_ANSWER_CHARS = 20_000
_NOTHING_CHARS = 200
_TEXT_CHARS = 160
_VIEWERS = ("cat", "sed", "nl", "head", "tail", "bat")


def thrash(made: Sequence[Exchange]) -> list[Thrash]:
    """What led nowhere, the most often done first."""
    found = [each for exchange in made for each in _within(exchange)]
    found += _failures(step for exchange in made for step in exchange.steps)
    return sorted(found, key=lambda each: -each.times)[:THRASH_MAX]


def _within(exchange: Exchange) -> Iterator[Thrash]:
    done = [step for step in exchange.steps if step.is_ended and not step.is_refused]
    if len(done) >= min(LOOKS_AGAIN, ANSWERS, NOTHINGS):
        yield from _looks(done)
        yield from _answers(done)
        yield from _nothings(done)


def _looks(steps: Iterable[Step]) -> Iterator[Thrash]:
    looks: dict[str, list[Step]] = {}
    ended: list[tuple[str, list[Step]]] = []
    for step in steps:
        for touch in touches(step):
            name = _plain(touch.path)
            for path in [each for each in looks if each.endswith(name) or name.endswith(each)]:
                ended.append((path, looks.pop(path)))
        if not step.has_failed and (path := _looked_at(step)):
            looks.setdefault(path, []).append(step)
    for path, several in (*ended, *looks.items()):
        repeated = _repeating(several) if len(several) > LOOKS_AGAIN else []
        if len(repeated) >= LOOKS_AGAIN:
            yield _told("looked again", path, repeated)


def _repeating(looks: Iterable[Step]) -> list[Step]:
    """Those that show what the ones before have shown."""
    found, seen = [], set[str]()
    for step in looks:
        lines = _lines(step)
        if len(lines) >= _LINES_MIN and len(lines & seen) >= _SHOWN * len(lines):
            found.append(step)
        seen |= lines
    return found


def _looked_at(step: Step) -> str:
    """The one file that a step shows, "" for none."""
    if step.tool in all_tools().read:
        return _plain(next(iter(files_of(step.call.entry)), ""))
    if not step.parts or not step.only_reads or step.parts[0].program not in _VIEWERS or len(step.parts) > 2:
        return ""
    named = [word for word in step.parts[0].arguments if _FILE.search(word)]
    return _plain(named[0]) if len(named) == 1 else ""


def _lines(step: Step) -> set[str]:
    told = (_NUMBERED.sub("", line).strip() for line in step.output[:_ANSWER_CHARS].splitlines()[:_LINES_MAX])
    return {line for line in told if len(line) >= _LINE_CHARS_MIN and not _AROUND.match(line)}


def _answers(steps: Iterable[Step]) -> Iterator[Thrash]:
    asked: dict[tuple[str, str], list[Step]] = {}
    ended: list[list[Step]] = []
    for step in steps:
        if touches(step):
            ended += asked.values()
            asked.clear()
        else:
            asked.setdefault((step.tool, _call(step)), []).append(step)
    for several in (*ended, *asked.values()):
        if len(several) >= ANSWERS and not _waits(several[0]):
            for _, group in groupby(several, key=_answer):
                if len(same := list(group)) >= ANSWERS:
                    yield _told("same answer", _shown(same[0]), same)


def _answer(step: Step) -> str:
    return _AROUND.sub("", step.output[:_ANSWER_CHARS])


def _failures(steps: Iterable[Step]) -> Iterator[Thrash]:
    met: dict[object, dict[str, list[Step]]] = {}
    ended: list[tuple[str, list[Step]]] = []
    for step in steps:
        if not step.command or not step.is_ended or step.is_refused or not (step.has_failed or met):
            continue
        work = work_done(step).parts
        if not step.has_failed:
            ended += met.pop(work, {}).items()
        elif not step.only_reads and not _waits(step) and (error := gist(step.output)):
            met.setdefault(work, {}).setdefault(fingerprint(error), []).append(step)
    every = (*ended, *(each for errors in met.values() for each in errors.items()))
    yield from (
        _told("same failure", gist(same[0].output), same) for _, same in every if len(same) >= FAILURES
    )


def _nothings(steps: Iterable[Step]) -> Iterator[Thrash]:
    tries: list[Step] = []
    for step in steps:
        if not _finds_nothing(step):
            yield from _nothing(tries)
            tries = []
        elif tries and not (
            _program(tries[-1]) == _program(step)
            and _words(tries[-1]) & _words(step)
            and step.call.row > tries[-1].results[-1].row
        ):
            yield from _nothing(tries)
            tries = [step]
        else:
            tries.append(step)
    yield from _nothing(tries)


def _nothing(tries: Sequence[Step]) -> Iterator[Thrash]:
    if len(tries) >= NOTHINGS and len({_call(step) for step in tries}) > 1:
        yield _told("found nothing", _shown(tries[0]), tries)


def _finds_nothing(step: Step) -> bool:
    """Whether a search or a look came to nothing: what changes files may well say nothing."""
    output = "" if step.has_failed else step.output[:_NOTHING_CHARS]
    if step.is_trifle or not (step.has_failed or _NOTHING.match(_AROUND.sub("", output).strip())):
        return False
    looks = step.only_reads if step.command else step.tool not in all_tools().change
    return looks and not _waits(step)


def _waits(step: Step) -> bool:
    """Whether a step waits for something, or looks how far it is."""
    if step.tool in all_tools().follow or step.tool in all_tools().plan or _WAITING.search(step.tool):
        return True
    return bool(_WAITING.search(step.command[:2_000]) or _RUNNING.search(step.output[:_NOTHING_CHARS]))


def _program(step: Step) -> str:
    return step.parts[0].program if step.parts else step.tool


def _words(step: Step) -> set[str]:
    return {word for word in _WORD.findall(_call(step)) if word != _program(step)}


def _call(step: Step) -> str:
    return step.command or step.call.entry.text


def _shown(step: Step) -> str:
    """A call as a person reads it: a command, or a tool with what it was given."""
    return step.command or f"{step.call.entry.tool} {_PUNCTUATION.sub(' ', step.call.entry.text)}"


def _told(kind: str, text: str, steps: Sequence[Step]) -> Thrash:
    return Thrash(kind, one_line(text, _TEXT_CHARS), len(steps), steps[0].call.id, steps[-1].call.id)


def _plain(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./")


_FILE = re.compile(r"\w\.\w{1,8}$")
_NUMBERED = re.compile(r"^\s*\d+(?:[→:\t|]| {2})")
_AROUND = re.compile(
    r"^(?:Chunk ID|Wall time|Original token count|Process exited|Exit code|Output:|Total output lines)"
    r"[^\n]*\n?",
    re.MULTILINE,
)
_NOTHING = re.compile(r"(?:no (?:matches|files|results|entries)(?: were)? found|found 0 |$)", re.IGNORECASE)
_WAITING = re.compile(r"\b(?:sleep|wait|watch|poll|tail -f|status|date)\b|wait$", re.IGNORECASE)
_RUNNING = re.compile(r"\b(?:still running|process running|in progress|pending|queued)\b", re.IGNORECASE)
_PUNCTUATION = re.compile(r'[{}"\\]+')
_WORD = re.compile(r"[^\W\d]\w{3,}")
