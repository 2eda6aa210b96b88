"""Regular expressions over texts, all of them within one time.

`regex` is told how much time is left and looks at it between its steps. A step can take as long as the
text is long (seen: 0.07 s in 100,000 characters, 1 s in a million), so a longer text is given to a process
that can be ended: this very module, run as a program. How long it takes to make a pattern ready is bounded
by its length, in `query.py`.
"""

from __future__ import annotations

import contextlib
import functools
import pickle
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from subprocess import DEVNULL, PIPE, Popen
from threading import Timer
from typing import Any

from recollect.light.processes import start_python

TEXT_CHARS_HERE = 100_000
MARKS_MAX = 200
GRACE_SECONDS = 0.1  # for a process to notice itself that the time is up

Span = tuple[int, int]


class Patterns:
    """What a text must match (True) and must not, asked until the time is up: then `TimeoutError`."""

    def __init__(self, wanted: Sequence[tuple[str, bool]]) -> None:
        self._wanted = wanted
        self._apart = _Apart()

    def __bool__(self) -> bool:
        return bool(self._wanted)

    @property
    def have_marks(self) -> bool:
        """Whether anything must be matched, so that it can be shown."""
        return any(positive for _, positive in self._wanted)

    def fit(self, text: str, deadline: float) -> bool:
        """Whether a text has everything it must and nothing it must not."""
        return all(
            self._ask(is_in, pattern, text, deadline) == positive for pattern, positive in self._wanted
        )

    def marks(self, text: str, deadline: float) -> list[tuple[int, int, str]]:
        """Where what a text must match is, as far as that can be told in time."""
        found: list[tuple[int, int, str]] = []
        with contextlib.suppress(TimeoutError):
            for pattern, positive in self._wanted:
                spans: list[Span] = self._ask(spans_of, pattern, text, deadline) if positive else []
                found += [(*span, pattern) for span in spans]
        return sorted(found)[:MARKS_MAX]

    def close(self) -> None:
        self._apart.close()

    def _ask(self, question: Callable[..., Any], pattern: str, text: str, deadline: float) -> Any:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        ask = question if len(text) <= TEXT_CHARS_HERE else self._apart.asker(question)
        return ask(pattern, text, left)


@functools.lru_cache(8)
def _compiled(pattern: str) -> Any:
    """A pattern made ready; `regex` itself would keep hundreds of them."""
    import regex

    return regex.compile(pattern, cache_pattern=False)


def is_in(pattern: str, text: str, seconds: float) -> bool:
    """Whether a pattern matches anywhere, be it nothing at all."""
    return _compiled(pattern).search(text, timeout=seconds) is not None


def spans_of(pattern: str, text: str, seconds: float) -> list[Span]:
    """Where a pattern matches something: the first ones, of those that are found in time."""
    return list(islice(_matched(pattern, text, time.monotonic() + seconds), MARKS_MAX))


def _matched(pattern: str, text: str, deadline: float) -> Iterator[Span]:
    compiled, at = _compiled(pattern), 0
    with contextlib.suppress(TimeoutError):
        while (left := deadline - time.monotonic()) > 0 and at <= len(text):
            match = compiled.search(text, at, timeout=left)
            if match is None:
                return
            if match[0]:
                yield match.span()
            at = match.end() + (not match[0])


class _Apart:
    """The same questions to a process that is ended when it does not answer."""

    def __init__(self) -> None:
        self._process: Popen[bytes] | None = None

    def asker(self, question: Callable[..., Any]) -> Callable[[str, str, float], Any]:
        return lambda pattern, text, seconds: self._ask(question.__name__, pattern, text, seconds)

    def _ask(self, question: str, pattern: str, text: str, seconds: float) -> Any:
        process = self._process = self._process or _start()
        assert process.stdin is not None
        assert process.stdout is not None
        end = Timer(seconds + GRACE_SECONDS, process.kill)
        end.daemon = True
        end.start()
        try:
            pickle.dump((question, pattern, text, seconds), process.stdin, protocol=5)
            process.stdin.flush()
            in_time, answer = pickle.load(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError) as error:  # it was ended
            self.close()
            raise TimeoutError from error
        finally:
            end.cancel()
        if not in_time:
            raise TimeoutError
        return answer

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with contextlib.suppress(OSError):  # what was not sent is not wanted any more
                process.communicate()


def _start() -> Popen[bytes]:
    return start_python(__name__, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)


_QUESTIONS = {question.__name__: question for question in (is_in, spans_of)}


def main() -> None:
    """Answer until nobody asks any more."""
    incoming, outgoing = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            question, *given = pickle.load(incoming)
        except EOFError:
            return
        answer: tuple[bool, object]
        try:
            answer = True, _QUESTIONS[question](*given)
        except (TimeoutError, MemoryError):
            answer = False, None
        pickle.dump(answer, outgoing, protocol=5)
        outgoing.flush()
