"""TOML files of others: our entries go in and come out, every other byte stays.

tomlkit says where an entry is and writes ours; what the others wrote is never written anew. Each edit is
read back, and refused unless the file then says exactly what was meant. No comment marks what is ours:
Codex rewrites its file and moves comments about; a pair of marks could come to enclose what is
another's.
"""

from __future__ import annotations

import copy
import difflib
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.agents.editing.change import Change, read_backup, read_settings
from recollect.values.errors import SettingsRefused

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

Value = str | bool | Sequence[str]
Steps = tuple[str, str]

# What an editor is told about the file, which it looks for at the top.
_DIRECTIVES = re.compile(r"(?:#:.*\n)*")
_REMARK = re.compile(r"[ \t]*(?:#.*)?\r?\n?")
_BLANK = re.compile(r"[ \t]*\r?\n")


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
        meant = {**self.value, name: _plain(value)}
        if name in self.value:
            return self._edit(lambda document: document.update({name: _plain(value)}), meant)
        found = _DIRECTIVES.match(self.text)
        at = found.end() if found else 0
        return self._checked(self.text[:at] + self._rendered({name: value}) + self.text[at:], meant)

    def drop_key(self, name: str) -> Toml:
        """Take out a key that stands in no table."""
        meant = {key: value for key, value in self.value.items() if key != name}
        return self._edit(lambda document: document.remove(name), meant)

    def put_table(self, steps: Steps, members: Mapping[str, Value]) -> Toml:
        """Set these members of a table and leave its others; a new table comes last."""
        plain = {name: _plain(value) for name, value in members.items()}
        meant = copy.deepcopy(self.value)
        outer = meant.setdefault(steps[0], {})
        if not isinstance(outer, dict) or not isinstance(outer.get(steps[1], {}), dict):
            raise self._refusal()
        is_new = steps[1] not in outer
        outer[steps[1]] = outer.get(steps[1], {}) | plain
        if is_new:
            return self._checked(self.text + self._gap + self._rendered({steps[0]: {steps[1]: plain}}), meant)
        return self._edit(lambda document: document[steps[0]][steps[1]].update(plain), meant)

    def drop_table(self, steps: Steps) -> Toml:
        """Take a table out, and every table below it; remarks that stand after it stay."""
        outer = {name: table for name, table in self.value[steps[0]].items() if name != steps[1]}
        rest = {name: value for name, value in self.value.items() if name != steps[0]}
        # Empty now: there still if it was written as a table of its own, gone if only our name made it.
        meant = ({**rest, steps[0]: outer}, *(() if outer else (rest,)))
        cut = self._edit(lambda document: document[steps[0]].pop(steps[1]), *meant)
        return self._checked(_without(self.text, cut.text), *meant)

    def _edit(self, act: Callable[[TOMLDocument], object], *meant: dict[str, Any]) -> Toml:
        import tomlkit

        try:
            document = tomlkit.parse(self.text)
            act(document)
            edited = document.as_string()
            if not _is_in_order(self.text, edited):
                raise self._refusal()
            return self._checked(edited, *meant)
        except SettingsRefused:
            raise
        except Exception as error:  # what tomlkit cannot edit it says in errors that share no class
            raise self._refusal() from error

    def _checked(self, text: str, *meant: dict[str, Any]) -> Toml:
        """This text, if it says one of the things that may be meant."""
        try:
            value = _read(text)
        except ValueError as error:
            raise self._refusal() from error
        if value not in meant:
            raise self._refusal()
        return Toml(self.path, text, value)

    def _refusal(self) -> SettingsRefused:
        return SettingsRefused(
            self.path,
            "it is written in a way that could not be edited safely",
            hint="make that entry by hand, as docs/codex.md shows it, or give it a table of its own",
        )

    def _rendered(self, entries: Mapping[str, Any]) -> str:
        """Entries of ours as lines that end as the file's do."""
        import tomlkit

        return tomlkit.dumps(entries).replace("\n", self._newline)

    @property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    @property
    def _gap(self) -> str:
        """What comes before a new table: an empty line."""
        lines = _lines(self.text)
        if not lines or _BLANK.fullmatch(lines[-1]):
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


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text)  # `splitlines` also ends a line where TOML does not


def _plain(value: Value) -> str | bool | list[str]:
    return value if isinstance(value, str | bool) else list(value)


def _is_in_order(text: str, edited: str) -> bool:
    """Whether the lines that both have stand in the same order in both."""
    old, new = _lines(text), _lines(edited)
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) == (Counter(old) & Counter(new)).total()


def _without(text: str, cut: str) -> str:
    """The text without the lines that the cut one lacks, but with the remarks that end such a stretch.

    To tomlkit they belong to the table above them; to whoever wrote them, to what comes below.
    """
    old, new = _lines(text), _lines(cut)
    kept: list[str] = []
    for kind, start, end, at, to in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            _join(kept, old[start:end], is_first=not start)
        else:
            _join(kept, [*new[at:to], *_remarks_below(old[start:end])])
    return "".join(kept[:-1] if kept and _BLANK.fullmatch(kept[-1]) else kept)


def _remarks_below(lines: list[str]) -> list[str]:
    count = next((n for n, line in enumerate(reversed(lines)) if not _REMARK.fullmatch(line)), len(lines))
    return lines[len(lines) - count :]


def _join(kept: list[str], more: list[str], *, is_first: bool = False) -> None:
    """Add lines, without the second of two empty ones that now meet; the file's own first line stays."""
    before = _BLANK.fullmatch(kept[-1]) if kept else not is_first
    meet = bool(more) and _BLANK.fullmatch(more[0]) and before
    kept += more[1:] if meet else more
