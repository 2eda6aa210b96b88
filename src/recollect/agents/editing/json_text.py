"""JSON files of others, edited in place: only the members we name change, every other byte stays.

A file is never written anew from its parsed form: that would lose its indent, its way of
writing numbers and its escapes. Values are found in the text by position. Whatever would
not survive that (comments, a name twice in one object) is refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect.values.errors import SettingsRefused

Step = str | int

_BLANK = " \t\r\n"
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Document:
    """A file's JSON object as text. `value` is what it says; edits give a new document."""

    path: Path
    text: str
    value: dict[str, Any]

    @classmethod
    def parse(cls, path: Path, data: bytes | None) -> Document:
        """A file's bytes, None or blank for an empty object; refused if they are anything else."""
        try:
            text = (data or b"").decode("utf-8")
            return cls(path, text, _strict(text))
        except RecursionError as error:
            raise SettingsRefused(path, "its JSON is nested too deep") from error
        except ValueError as error:
            raise SettingsRefused(path, f"it is not valid JSON: {error}") from error

    @property
    def data(self) -> bytes:
        return self.text.encode("utf-8")

    def put(self, steps: Sequence[Step], value: Any) -> Document:
        """Set a member, or an element of a list; one past the end appends. What holds it must be there."""
        if not self.text.strip(_BLANK + _BOM):
            return self._with_piece(len(self.text), len(self.text), "{}\n").put(steps, value)
        box = _box(self.text, steps[:-1])
        found = box.find(steps[-1])
        if found is not None:
            return self._with_piece(found.start, found.end, self._text_of(value, box, found.start))
        return self._with_value(box, steps[-1], value)

    def drop(self, steps: Sequence[Step]) -> Document:
        """Take a member or an element out, with its comma."""
        box = _box(self.text, steps[:-1])
        items, found = box.items, box.find(steps[-1])
        assert found is not None
        at = items.index(found)
        if len(items) == 1:
            return self._with_piece(box.start + 1, box.end - 1, "")
        if at + 1 < len(items):
            return self._with_piece(found.head, items[at + 1].head, "")
        return self._with_piece(items[at - 1].end, found.end, "")

    def _with_value(self, box: _Box, step: Step, value: Any) -> Document:
        name = json.dumps(step, ensure_ascii=False) + ": " if isinstance(step, str) else ""
        if box.items:
            last = box.items[-1]
            gap = self._gap(box)
            rendered = self._text_of(value, box, box.items[0].head)
            return self._with_piece(last.end, last.end, f",{gap}{name}{rendered}")
        if self._is_flat():
            return self._with_piece(box.start + 1, box.end - 1, name + _dump(value))
        outer = _indent(self.text, box.start)
        inner = outer + self._unit()
        rendered = self._json_of(value, inner)
        line = self._newline()
        return self._with_piece(box.start + 1, box.end - 1, f"{line}{inner}{name}{rendered}{line}{outer}")

    def _text_of(self, value: Any, box: _Box, at: int) -> str:
        """A value in the manner of its neighbours: over several lines where they have lines of their own."""
        on_own_line = "\n" in self.text[box.start : box.items[0].head]
        return self._json_of(value, _indent(self.text, at)) if on_own_line else _dump(value)

    def _gap(self, box: _Box) -> str:
        """What stands between a comma and the next item."""
        head = box.items[0].head
        if "\n" in self.text[box.start : head]:
            return self._newline() + _indent(self.text, head)
        return " " if len(box.items) < 2 or self.text[box.items[1].head - 1] in _BLANK else ""

    def _json_of(self, value: Any, indent: str) -> str:
        return _dump(value, self._unit()).replace("\n", self._newline() + indent)

    def _is_flat(self) -> bool:
        """Whether the whole file is written on one line."""
        return bool(self.value) and "\n" not in self.text.strip(_BLANK + _BOM)

    def _unit(self) -> str:
        """One step of the file's indent."""
        first = _box(self.text, ()).items[:1]
        return (_indent(self.text, first[0].head) if first else "") or "  "

    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _with_piece(self, start: int, end: int, piece: str) -> Document:
        text = self.text[:start] + piece + self.text[end:]
        return Document(self.path, text, _strict(text))


@dataclass(frozen=True, slots=True)
class _Item:
    """A member or element: where it begins (a member with its name), and its value's span."""

    step: Step
    head: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Box:
    """An object or a list in the text, brackets included."""

    start: int
    end: int
    items: tuple[_Item, ...]

    def find(self, step: Step) -> _Item | None:
        return next((item for item in self.items if item.step == step), None)


def _strict(text: str) -> dict[str, Any]:
    body = text.removeprefix(_BOM)
    if not body.strip(_BLANK):
        return {}
    value = json.loads(body, object_pairs_hook=_object, parse_constant=_no_constant)
    if not isinstance(value, dict):
        raise ValueError("the outermost value is not an object")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _box(text: str, steps: Sequence[Step]) -> _Box:
    """The object or list that `steps` lead to. The text is valid JSON."""
    box = _open(text, _skip(text, len(_BOM) if text.startswith(_BOM) else 0))
    for step in steps:
        found = box.find(step)
        assert found is not None
        box = _open(text, found.start)
    return box


def _open(text: str, start: int) -> _Box:
    items: list[_Item] = []
    at = _skip(text, start + 1)
    while text[at] not in "}]":
        head = at
        name: Step = len(items)
        if text[start] == "{":
            name, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)  # the colon
        end = _DECODER.raw_decode(text, at)[1]
        items.append(_Item(name, head, at, end))
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return _Box(start, at + 1, tuple(items))


_DECODER = json.JSONDecoder()


def _skip(text: str, at: int) -> int:
    while text[at] in _BLANK:
        at += 1
    return at


def _indent(text: str, at: int) -> str:
    """The blanks that the line of a position begins with."""
    line = text[text.rfind("\n", 0, at) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _dump(value: Any, indent: str | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)
