"""Text for people: what a log holds, made safe, short and even enough to print.

Nothing from a log may steer a terminal. The rule goes by character class, not by a list
of escape sequences: every control, format and surrogate character becomes a visible
escape, and only newline and tab stay what they are.
"""

from __future__ import annotations

import json
import re
import time
import unicodedata
from typing import Any

_HOSTILE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_BLANKS = re.compile(r"[ \t\n]+")
_SECOND_MS = 1000
_YEAR_10000_MS = 253_402_300_800_000
_AGES = (
    ("y", 365 * 86_400 * _SECOND_MS),
    ("mo", 30 * 86_400 * _SECOND_MS),
    ("d", 86_400 * _SECOND_MS),
    ("h", 3_600 * _SECOND_MS),
    ("min", 60 * _SECOND_MS),
)


def printable(text: str) -> str:
    """The text with everything that could act on a terminal shown as an escape (`\\x1b`, `\\u202e`).

    A line break written as CR LF becomes a plain newline; any other CR is shown.
    """
    if text.isprintable():
        return text
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
    shown = {ord(each): visible(each) for each in set(text) if _is_hostile(each)}
    return text.translate(shown) if shown else text


def visible(character: str) -> str:
    """One character as the escape a programmer would write for it."""
    if character == "\r":
        return "\\r"
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def ascii_json(value: Any) -> str:
    """JSON in printable ASCII: whatever a log holds arrives escaped."""
    return json.dumps(value, separators=(",", ":"))


def one_line(text: str, width: int = 0) -> str:
    """The text on one printable line, runs of blanks as one space, cut at `width` cells unless 0."""
    # A field may hold megabytes, and only its beginning is wanted.
    head = text[: width * 16] if width else text
    line = printable(_BLANKS.sub(" ", head.replace("\r\n", "\n")).strip())
    return ellipsis(line, width) if width else line


def ellipsis(text: str, width: int, *, front: bool = False) -> str:
    """The text in at most `width` terminal cells; what is missing, at the `front` if asked, is a `…`."""
    if len(text) * 2 <= width or cells(text) <= width:
        return text
    kept = used = 0
    for each in reversed(text) if front else text:
        used += _cell(each)
        if used > width - 1:
            break
        kept += 1
    if not front:
        return text[:kept].rstrip() + "…"
    end = text[len(text) - kept :]
    name = end.find("/", 0, kept // 2 + 1)  # better half a name less than half a name
    return "…" + end[max(name, 0) :].lstrip()


def cells(text: str) -> int:
    """How many terminal cells a printable text takes."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def age(time_ms: int, *, now_ms: int) -> str:
    """How long ago a moment was, in its largest unit: `3 d`, `12 min`; "" for an unknown one."""
    if time_ms <= 0:
        return ""
    passed = now_ms - time_ms
    for unit, length in _AGES:
        if passed >= length:
            return f"{passed // length} {unit}"
    return "now"


def duration(seconds: float) -> str:
    """How long something takes, as people say it: `40 s`, `12 min`, `1 h 20 min`."""
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes = round(whole / 60)
    hours = f"{minutes // 60} h" if minutes >= 60 else ""
    return " ".join(filter(None, (hours, f"{minutes % 60} min" if minutes % 60 else "")))


def moment(time_ms: int, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """A moment in the person's own time zone; "" for an unknown one, or one no calendar reaches."""
    if not 0 < time_ms < _YEAR_10000_MS:
        return ""
    try:
        return time.strftime(form, time.localtime(time_ms // _SECOND_MS))
    except (OverflowError, ValueError, OSError):
        return ""


def dollars(microdollars: int) -> str:
    """Money from whole micro-dollars, in cents; four places where a cent would hide it."""
    if 0 < microdollars < 10_000:
        return f"${microdollars // 100 / 10_000:.4f}" if microdollars >= 100 else "<$0.0001"
    cents = (microdollars + 5_000) // 10_000
    return f"${cents // 100:,}.{cents % 100:02}"


def short(count: int) -> str:
    """A large number in three digits: `950`, `12.3k`, `4.5M`."""
    if count < 1000:
        return str(count)
    value, power = count / 1000, 0
    while value >= 999.5 and power < 3:
        value, power = value / 1000, power + 1
    return f"{value:.1f}{'kMGT'[power]}" if value < 99.95 else f"{value:.0f}{'kMGT'[power]}"


def size(count: int) -> str:
    """A number of bytes as people say it: `512 B`, `1.5 MB`, decimal units."""
    if count < 1000:
        return f"{count} B"
    number = short(count)
    return f"{number[:-1]} {number[-1]}B"


def tokens(text: str) -> int:
    """About how many tokens a model counts for a text: one for 3.5 letters, as code and English mix."""
    return -(-len(text.encode("utf-8", "surrogatepass")) * 2 // 7)


def many(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun: `1 session`, `12,003 sessions`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def hyphenated(words: str) -> str:
    """Words as the one that is written in a query: `error-recovery`."""
    return "-".join(words.lower().split())


def _is_hostile(character: str) -> bool:
    return unicodedata.category(character) in _HOSTILE and character not in "\n\t"


def _cell(character: str) -> int:
    if unicodedata.combining(character) or "\ufe00" <= character <= "\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
