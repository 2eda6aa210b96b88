"""The places of `places.toml`: where a command, a statement or a setting gives a password.

The file is read with the first text that is masked; what its heads are made of is below.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from recollect.redact import assignments, commands, contexts, statements
from recollect.redact.contexts import anchored_spans
from recollect.redact.nonvalues import is_given
from recollect.redact.plausible import is_filler, is_password
from recollect.redact.tokens import Span

PLACE_CHARS = 20_000  # what is longer is a file or what a program prints, and hardly a command
OWN_CHARS = 2_000  # the same, where nothing else that a secret has is in it


def place_spans(text: str, lowered: str, present: tuple[str, ...]) -> Iterator[Span]:
    """Every value in such a place; `lowered` is the text in small letters, `present` the gates in it."""
    for gate in present:
        for finer, anchors in places().get(gate, {}).items():
            if finer == gate or finer in lowered:
                for anchor, rules in anchors.items():
                    if anchor in lowered:
                        yield from anchored_spans(anchor, rules, text, lowered)


_QUOTE = r"[\"']"
_PARTS = {
    "{value}": r"(?:\\{0,3}\"(?P<double>)|'(?P<single>))?(?P<secret>(?P<body>(?(double)[^\"\\\n]{4,200}"
    r"|(?(single)[^'\n]{4,200}|[^\s\"'`\\<>|;@]{4,200}))))",
    "{string}": r"N?(?:\\{0,3}\"(?P<double>)|')"
    r"(?P<secret>(?P<body>(?(double)[^\"\\\n]{4,200}|[^'\n]{4,200})))"
    rf"\\{{0,3}}{_QUOTE}",
    "{uuid}": r"(?P<secret>(?P<body>[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}))",
    "{word}": r"(?:\"[^\"\n]{1,80}\"|'[^'\n]{1,80}'|[^\s\"'|;]{1,100})",
    "{options}": r"(?:--?[\w-]{1,30}(?:=\S{1,60})? ){0,4}",
    "{command}": r"(?<![\w.-])",
    "{quote}": _QUOTE,
    "{close}": rf"\\{{0,3}}{_QUOTE}?",
}


@dataclass(frozen=True)
class Place:
    """One row: its head is compiled when its anchor first occurs in a text, which for most is never."""

    head_text: str
    kind = "password"
    tail = re.compile("")

    @cached_property
    def head(self) -> re.Pattern[str]:
        head = self.head_text
        for name, part in _PARTS.items():
            head = head.replace(name, part)
        return re.compile(head, re.IGNORECASE)

    def accepts(self, match: re.Match[str]) -> bool:
        value = match["body"]
        if is_password(value) or is_given(value):
            return True
        return _DRAWN.fullmatch(value) is not None and not is_filler(value)


_DRAWN = re.compile(r"[0-9a-f-]{36}|[A-Za-z0-9+/]{8,400}={0,2}|[0-9a-f\s]{60,800}")

FILE = Path(__file__).with_name("places.toml")


@cache
def places() -> dict[str, dict[str, dict[str, tuple[Place, ...]]]]:
    """The rows of the file by a gate, a finer one, and their anchor.

    A gate that holds one of the other rules' is the finer one: `passw` is looked for where `pass` is.
    """
    found: dict[str, dict[str, dict[str, tuple[Place, ...]]]] = {}
    for row in tomllib.loads(FILE.read_text("utf-8"))["place"]:
        gate, anchor = row["gate"], row["anchor"]
        first = next((each for each in SHARED if each in gate), gate)
        anchors = found.setdefault(first, {}).setdefault(gate, {})
        anchors[anchor] = (*anchors.get(anchor, ()), Place(row["head"]))
    return found


# The gates of the other rules: these are looked for in any text.
SHARED = tuple(dict.fromkeys((*contexts.GATES, *statements.GATES, *commands.GATES, *assignments.ANCHORS)))


@cache
def gates(of_ascii: bool) -> tuple[str, ...]:
    """All gates, those in other scripts only where a text is not in ASCII."""
    return (*SHARED, *(gate for gate in places() if gate not in SHARED and (gate.isascii() or not of_ascii)))
