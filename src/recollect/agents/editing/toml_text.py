"""TOML files of others, edited as text: our lines go in and come out, every other byte stays.

Lines are found by their look, which a string of several lines could fool. So each edit is
read back, and refused unless the file then says exactly what was meant. What surprises:
we leave no comment as a mark. Codex rewrites its file and moves comments about; a pair of
marks could come to enclose what is another's.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect.agents.editing.change import Change, read_backup, read_settings
from recollect.values.errors import SettingsRefused

Value = str | Sequence[str]
Steps = tuple[str, str]
Span = tuple[int, int]

_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)
# What an editor is told about the file, which it looks for at the top.
_DIRECTIVES = re.compile(r"(?:#:.*\n)*")
_SAYS_NOTHING = re.compile(r"[ \t]*(?:#.*)?\r?\n?")
_BLANK_LAST = re.compile(r"(?<![^\n])[ \t]*\r?\n\Z")
_BLANK_FIRST = re.compile(r"[ \t]*\r?\n")


def toml_change(path: Path, edit: Callable[[Toml], Toml]) -> list[Change]:
    """A file with our entries in it; nothing where they are there already."""
    before = read_settings(path)
    found = Toml.parse(path, before)
    after = edit(found)
    return [] if after.text == found.text else [Change(path, before, after.data)]


def toml_removal(path: Path, edit: Callable[[Toml], Toml], left: Callable[[Toml], bool]) -> list[Change]:
    """A file without them: the original's own bytes, where nothing else has changed since.

    `left`: whether something of ours is still in it; the backup stays as long.
    """
    before = read_settings(path)
    if before is None:
        return []
    found = Toml.parse(path, before)
    edited = edit(found)
    if edited.text == found.text:
        return []
    if left(edited):
        return [Change(path, before, edited.data)]
    return [Change(path, before, _original(edited.data, read_backup(path)), undo=True)]


@dataclass(frozen=True, slots=True)
class Toml:
    """A file's TOML as text. `value` is what it says; edits give a new one."""

    path: Path
    text: str
    value: dict[str, Any]

    @classmethod
    def parse(cls, path: Path, data: bytes | None) -> Toml:
        """A file's bytes, None for an empty file; refused if they are no TOML."""
        try:
            text = (data or b"").decode("utf-8")
            return cls(path, text, _read(text))
        except RecursionError as error:
            raise SettingsRefused(path, "its TOML is nested too deep") from error
        except ValueError as error:
            raise SettingsRefused(path, f"it is not valid TOML: {error}") from error

    @property
    def data(self) -> bytes:
        return self.text.encode("utf-8")

    def put_key(self, name: str, value: Value) -> Toml:
        """Set a key that stands in no table; a new one comes first, before any table begins."""
        line = self._line(name, value)
        meant = {**self.value, name: _plain(value)}
        if name in self.value:
            return self._either([_spliced(self.text, span, line) for span in self._lines_of(name)], meant)
        found = _DIRECTIVES.match(self.text)
        at = found.end() if found else 0
        return self._either([_spliced(self.text, (at, at), line)], meant)

    def drop_key(self, name: str) -> Toml:
        meant = {key: value for key, value in self.value.items() if key != name}
        return self._either([_spliced(self.text, span, "") for span in self._lines_of(name)], meant)

    def put_table(self, steps: Steps, members: Mapping[str, Value]) -> Toml:
        """Set these members of a table and leave its others; a new table comes last."""
        meant = copy.deepcopy(self.value)
        outer = meant.setdefault(steps[0], {})
        if not isinstance(outer, dict) or not isinstance(outer.get(steps[1], {}), dict):
            raise self._refusal()
        is_new = steps[1] not in outer
        outer[steps[1]] = outer.get(steps[1], {}) | {name: _plain(value) for name, value in members.items()}
        lines = {name: self._line(name, value) for name, value in members.items()}
        if is_new:
            header = f"[{steps[0]}.{steps[1]}]{self._newline}"
            return self._either([self.text + self._gap + header + "".join(lines.values())], meant)
        spans = self._sections(steps)
        return self._either([_with_lines(self.text, span, lines) for span in spans], meant)

    def drop_table(self, steps: Steps) -> Toml:
        """Take a table out, and every table below it."""
        outer = {name: table for name, table in self.value[steps[0]].items() if name != steps[1]}
        rest = {name: value for name, value in self.value.items() if name != steps[0]}
        spans = self._sections(steps)
        # The first of them may only look like it, inside a string: ours came last.
        texts = [_without(self.text, spans[at:]) for at in range(len(spans))]
        # Empty now: there still if it was written as a table of its own, gone if only our name made it.
        return self._either(texts, {**rest, steps[0]: outer}, *(() if outer else (rest,)))

    def _either(self, texts: Sequence[str], *meant: dict[str, Any]) -> Toml:
        """The first of these texts that says one of the things that may be meant."""
        for text in texts:
            try:
                value = _read(text)
            except ValueError:
                continue
            if value in meant:
                return Toml(self.path, text, value)
        raise self._refusal()

    def _refusal(self) -> SettingsRefused:
        return SettingsRefused(
            self.path,
            "it is written in a way that could not be edited safely",
            hint="make that entry by hand, as docs/codex.md shows it, or give it a table of its own",
        )

    def _lines_of(self, name: str) -> list[Span]:
        """The lines that could be this key's: one inside a table or a string looks the same."""
        return [found.span() for found in re.finditer(rf"^[ \t]*{name}[ \t]*=.*\n?", self.text, re.MULTILINE)]

    def _sections(self, steps: Steps) -> list[Span]:
        """From each header of this table and those below it to the last line that says something."""
        path = r"[ \t]*\.[ \t]*".join(rf"""(?:{step}|"{step}"|'{step}')""" for step in steps)
        header = re.compile(rf"^[ \t]*\[[ \t]*{path}[ \t]*(?:\..*)?\].*\n?", re.MULTILINE)
        spans = [found.span() for found in header.finditer(self.text)]
        return [(start, end + _body_length(self.text[end:])) for start, end in spans]

    def _line(self, name: str, value: Value) -> str:
        # Strings of JSON are strings of TOML; what is not would be read back as something else.
        return f"{name} = {json.dumps(_plain(value), ensure_ascii=False)}{self._newline}"

    @property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    @property
    def _gap(self) -> str:
        """What comes before a new table: an empty line."""
        if not self.text or _BLANK_LAST.search(self.text):
            return ""
        return self._newline if self.text.endswith("\n") else self._newline * 2


def _original(left: bytes, kept: bytes | None) -> bytes | None:
    if kept is None:
        return left if left.strip() else None  # we made this file
    # Not compared by what they say: a comment that came since says nothing, and must stay.
    return kept if kept.rstrip() == left.rstrip() else left


def _read(text: str) -> dict[str, Any]:
    # As they are written: not a number is not equal to itself.
    return tomllib.loads(text, parse_float=str)


def _plain(value: Value) -> str | list[str]:
    return value if isinstance(value, str) else list(value)


def _spliced(text: str, span: Span, piece: str) -> str:
    return text[: span[0]] + piece + text[span[1] :]


def _with_lines(text: str, span: Span, lines: Mapping[str, str]) -> str:
    """A table's lines with these in the place of the members' old ones, else right below the header."""
    section = text[slice(*span)]
    for name, line in lines.items():
        old = re.search(rf"^[ \t]*{name}[ \t]*=.*\n?", section, re.MULTILINE)
        head = section.find("\n") + 1
        section = _spliced(section, old.span() if old else (head, head), line)
    return _spliced(text, span, section)


def _without(text: str, spans: Sequence[Span]) -> str:
    for start, end in reversed(spans):
        text = _closed(text[:start], text[end:])
    return text


def _body_length(rest: str) -> int:
    """How much of what follows a header is its table's: what stands above the next header is that one's."""
    header = _HEADER.search(rest)
    lines = rest[: header.start() if header else len(rest)].splitlines(keepends=True)
    while lines and _SAYS_NOTHING.fullmatch(lines[-1]):
        lines.pop()
    return sum(map(len, lines))


def _closed(before: str, after: str) -> str:
    """Both parts, without the second of two empty lines that now meet, and without one at the end."""
    last, first = _BLANK_LAST.search(before), _BLANK_FIRST.match(after)
    if first and (last or not before):
        return before + after[first.end() :]
    return before[: last.start()] if last and not after else before + after
