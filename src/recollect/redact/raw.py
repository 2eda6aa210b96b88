"""Secrets masked in the bytes of a line: nothing else of it changes, not a space, an escape or a digit.

In JSON only what stands inside of strings is touched, so that what was JSON still is. A string is read as it
is meant, and what a mask takes the place of is found again in the way it was written. A piece of a document
that was cut between its strings is read like JSON; anything else as plain text.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from recollect.redact.assignments import field_kind
from recollect.redact.engine import MASK, field_name, settle


@dataclass(frozen=True, slots=True)
class RawMasked:
    """A line without its secrets, how many of each kind were masked, and each with its kind."""

    data: bytes
    found: Counter[str] = field(default_factory=Counter)
    secrets: Mapping[str, str] = field(default_factory=dict)


def mask_raw(data: bytes, known: Mapping[str, str] | None = None) -> RawMasked:
    """A line with every secret in it masked, and each of those that are `known` (with its kind) as well."""
    (masked,), found, secrets = mask_pieces([data], known)
    return RawMasked(masked, found, secrets)


def mask_pieces(
    pieces: Sequence[bytes], known: Mapping[str, str] | None = None
) -> tuple[list[bytes], Counter[str], Mapping[str, str]]:
    """The pieces that one line was cut into, read together and masked each where it stands."""
    text = b"".join(pieces).decode("utf-8", "surrogateescape")
    strings = _strings(text)
    read = [text] if strings is None else [each.text for each in strings]
    kinds = [""] if strings is None else _kinds(strings)
    settled, found, secrets = settle(read, kinds, known or {})
    if not found:
        return list(pieces), found, {}
    places = [_Written(0, text)] if strings is None else [each.written(text) for each in strings]
    edits = [
        edit
        for before, after, written in zip(read, settled, places, strict=True)
        if before != after
        for edit in written.edits(before, after)
    ]
    return _edited(pieces, edits), found, secrets


# -- where strings stand --------------------------------------------------------------------------

_TOKEN = re.compile(
    r"[ \t\r\n]*+(?:(?P<mark>[{}\[\]:,])|\"(?P<held>(?:[^\"\\]|\\.)*+)\""
    r"|(?:true|false|null|NaN|-?Infinity|-?\d++(?:\.\d++)?(?:[eE][+-]?\d++)?)(?![^ \t\r\n,:\]}]))",
    re.DOTALL,
)
_SPACE = re.compile(r"[\ufeff \t\r\n]*")
_PICTURE = re.compile(r"(?:data:[a-z/+.-]{3,40};base64,)?(?:iVBORw0KGgo|/9j/|R0lGOD|UklGR|JVBERi0)")
_PICTURE_CHARS = 200


@dataclass(slots=True)
class _String:
    """A string of JSON: what it says, where it stands, and in what."""

    text: str
    start: int
    end: int
    place: Any = None
    key: Any = None  # None of a key itself

    def written(self, text: str) -> _Written:
        return _Written(self.start, text[self.start : self.end])


def _strings(text: str) -> list[_String] | None:
    """Every string of some JSON, or of a piece of it; None where it is anything else."""
    found: list[_String] = []
    open_: list[Any] = [[]]
    name: _String | None = None  # the key whose value comes next
    at, end = _behind_space(text, 0), len(text.rstrip(" \t\r\n"))
    if at == end or text[at] not in '{}[]:,"':
        return None
    while at < end:
        token = _TOKEN.match(text, at)
        if token is None:
            return None
        at, mark = token.end(), token["mark"]
        if mark in ("{", "["):
            child: Any = {} if mark == "{" else []
            _put(open_[-1], name, child)
            open_.append(child)
            name = None
        elif mark in ("}", "]"):
            open_[1:] = open_[1:-1]
            name = None
        elif mark == ":":
            name = found[-1] if found else None
            if name is not None and name.key is not None:
                _take_back(name)
        elif mark is None and token["held"] is not None:
            said = _read(token["held"])
            if said is None:
                return None
            string = _String(said, *token.span("held"), open_[-1])
            string.key = _put(open_[-1], name, said)
            if not (_PICTURE.match(said) and len(said) > _PICTURE_CHARS):
                found.append(string)
            name = None
        elif mark is None:
            _put(open_[-1], name, None)
            name = None
    return found


def _behind_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _put(place: Any, name: _String | None, value: Any) -> Any:
    """Put a value where it stands; returns what it is found by there."""
    if isinstance(place, list):
        place.append(value)
        return len(place) - 1
    if name is not None:
        place[name.text] = value
        return name.text
    place[""] = value  # a key, as its colon will show, or what has none in a piece that was cut
    return ""


def _take_back(name: _String) -> None:
    """What was taken for a value is a key."""
    if isinstance(name.place, list):
        name.place.pop()
    else:
        name.place.pop("", None)
    name.key = None


def _read(held: str) -> str | None:
    """What a string says; None where it is none."""
    if "\\" not in held:
        return held
    try:
        said: str = json.loads(f'"{held}"', strict=False)
    except ValueError:
        return None
    return said


def _kinds(strings: Sequence[_String]) -> list[str]:
    """Which strings are a secret as a whole, by the name of their field or by the option before them."""
    kinds = []
    for each in strings:
        name = None if each.key is None else field_name(each.place, each.key)
        kinds.append(field_kind(name, each.text) if isinstance(name, str) else "")
    return kinds


# -- where a mask goes ----------------------------------------------------------------------------

_LETTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL
)
_Edit = tuple[int, int, str]  # from, to, what stands there then


@dataclass(frozen=True, slots=True)
class _Written:
    """A text as it is written, from `start` on."""

    start: int
    text: str

    def edits(self, before: str, after: str) -> Iterator[_Edit]:
        """What makes a text that says `before` say `after`, which has masks in it."""
        places = self._places(before)
        for first, last, mask in _gaps(before, after):
            yield self.start + places[first], self.start + places[last], mask

    def _places(self, said: str) -> Sequence[int]:
        """Where each letter of what is said begins, and the end."""
        if len(said) == len(self.text):
            return range(len(said) + 1)
        return [*(each.start() for each in _LETTER.finditer(self.text)), len(self.text)]


def _gaps(before: str, after: str) -> Iterator[_Edit]:
    """Which parts of a text became masks: what stands between the masks is looked for, in order."""
    parts = MASK.split(after)
    texts, masks = parts[::2], parts[1::2]
    at = len(texts[0])
    for n, mask in enumerate(masks):
        last = n == len(masks) - 1
        following = len(before) - len(texts[n + 1]) if last else before.find(texts[n + 1], at)
        if before[at:following] != mask:
            yield at, following, mask
        at = following + len(texts[n + 1])


def _edited(pieces: Sequence[bytes], edits: Sequence[_Edit]) -> list[bytes]:
    """Each piece with the edits that are in it; of one over an edge, the mask stands in the first piece."""
    texts = [each.decode("utf-8", "surrogateescape") for each in pieces]
    if "".join(texts) != b"".join(pieces).decode("utf-8", "surrogateescape"):
        return _edited_bytes(pieces, edits)
    ends, total = [], 0
    for text in texts:
        total += len(text)
        ends.append(total)
    made: list[list[str]] = [[] for _ in pieces]

    def keep(start: int, stop: int) -> None:
        while start < stop:
            n = bisect_right(ends, start)
            base = ends[n] - len(texts[n])
            until = min(stop, ends[n])
            made[n].append(texts[n][start - base : until - base])
            start = until

    at = 0
    for first, last, mask in sorted(edits):
        keep(at, first)
        made[min(bisect_right(ends, first), len(pieces) - 1)].append(mask)
        at = last
    keep(at, total)
    return ["".join(each).encode("utf-8", "surrogateescape") for each in made]


def _edited_bytes(pieces: Sequence[bytes], edits: Sequence[_Edit]) -> list[bytes]:
    """The same where a letter is cut in two: by its bytes."""
    whole = b"".join(pieces).decode("utf-8", "surrogateescape")

    def size(at: int) -> int:
        return len(whole[:at].encode("utf-8", "surrogateescape"))

    plain = [each.decode("latin-1") for each in pieces]
    moved = [(size(first), size(last), mask) for first, last, mask in edits]
    made = _edited([each.encode("utf-8") for each in plain], moved)
    return [each.decode("utf-8").encode("latin-1") for each in made]
