"""Regular expressions as Chroma reads them, on the engine that we have.

Chroma's engine knows neither looking around nor references back, and its `$` is the very end of a text. A
pattern is read once: what that engine refuses is refused here, and what both write differently is written
over. Ours can take very long where theirs cannot, so all texts of a call share one time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Final

from recollect.chroma.refusals import Refused

SECONDS_MAX: Final = 10.0  # for all texts of a call
_MANY_LINES: Final = re.compile(r"\(\?[a-zA-Z]*m")
_AROUND: Final = ("(?=", "(?!", "(?<=", "(?<!")
_FOREIGN: Final = ("(?>", "(?|", "(?(", "(?R", "(?&", "(?P>", "(?P=")  # that ours has and theirs has not


def pattern(text: str) -> Callable[[str], bool]:
    """Whether something matches anywhere in a text."""
    import regex

    try:
        made = regex.compile(_written_over(text), regex.VERSION1)
    except regex.error as error:
        raise _wrong(text, str(error)) from error
    ends = time.monotonic() + SECONDS_MAX

    def found(within: str) -> bool:
        try:
            return made.search(within, timeout=max(ends - time.monotonic(), 0.001)) is not None
        except TimeoutError as error:
            raise Refused(f"the pattern took longer than {SECONDS_MAX:.0f} seconds: {text}") from error

    return found


def _written_over(text: str) -> str:
    """The pattern in the words of our engine."""
    many_lines = _MANY_LINES.search(text) is not None
    made, at, depth = [], 0, 0  # depth: of brackets
    while at < len(text):
        here = text[at]
        if here == "\\":
            made.append(_escape(text, at))
            at += 2
            continue
        if here == "[":
            depth += 1
        elif here == "]" and depth:
            depth -= 1
        elif here == "(" and not depth:
            _refuse_group(text, at)
        made.append(r"\Z" if here == "$" and not depth and not many_lines else here)
        at += 1
    return "".join(made)


def _escape(text: str, at: int) -> str:
    pair = text[at : at + 2]
    if pair[1:].isdigit():
        raise _wrong(text, "backreferences are not supported")
    if pair[1:] in ("Z", "K", "G", "X", "R", "N", "L", "m", "M"):
        raise _wrong(text, "unrecognized escape sequence")
    return r"\Z" if pair == r"\z" else pair


def _refuse_group(text: str, at: int) -> None:
    if text.startswith(_AROUND, at):
        raise _wrong(text, "look-around, including look-ahead and look-behind, is not supported")
    if text.startswith(_FOREIGN, at):
        raise _wrong(text, "unrecognized flag")


def _wrong(text: str, why: str) -> Refused:
    return Refused(f"Regex syntax errror: regex parse error:\n    {text}\nerror: {why}")
