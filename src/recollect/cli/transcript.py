"""A session's entries as a person reads them, line by line."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from recollect.cli.screen import Part, Screen, Styled
from recollect.present.diffs import change_of
from recollect.present.history import call_summary
from recollect.values.records import Entry, Flag, Kind
from recollect.values.text import ellipsis, many, moment, one_line, printable
from recollect.values.titles import UNTITLED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from recollect.values.stored import Session, StoredEntry

Line = list[Part]


_LINE_CELLS = 400  # of one line of a long text

# The line above the entry that was asked for: a pager opens here.
_POINT: Line = [Styled(">>", "bold yellow")]

_MARGIN = " " * 10
_PATH_CELLS = 160
_UNTOLD = (Kind.THOUGHT, Kind.CONTEXT, Kind.ANSWER, Kind.SUMMARY)  # nothing to see without a text
_CHANGES = {"+": "green", "-": "red", "@": "cyan", "*": "bold"}


_STYLES = {
    Kind.PROMPT: "bold green",
    Kind.ANSWER: "bold blue",
    Kind.CALL: "cyan",
    Kind.RESULT: "dim",
    Kind.THOUGHT: "italic dim",
    Kind.SUMMARY: "bold magenta",
    Kind.NOTE: "bold yellow",
}


def is_wanted(args: argparse.Namespace, screen: Screen) -> Callable[[StoredEntry], bool] | None:
    """What to leave out; None for nothing. People are spared the bookkeeping, programs get it all."""
    if args.kind:
        kinds = {Kind[name.upper()] for name in args.kind}
        return lambda each: each.entry.kind in kinds
    if screen.json or args.all:
        return None
    return lambda each: each.entry.kind != Kind.EVENT and not each.entry.flags & Flag.COPY


def say(lines: Iterable[Line], screen: Screen, hang: int | None = None) -> None:
    for line in lines:
        if line is _POINT:
            screen.point()
        screen.line(*line, hang=hang)


def session_line(session: Session) -> Line:
    facts = session.facts
    whose = "  imported" if session.imported else ""
    return [Styled(facts.id, "bold"), f"  {one_line(facts.headline or UNTITLED, 72)}{whose}"]


def transcript_lines(
    session: Session, found: Iterable[StoredEntry], args: argparse.Namespace, *, whole: int = -1
) -> Iterator[Line]:
    """A session's entries as lines; the one of the row `whole` is pointed at and printed whole.

    Of an imported session its own line says so; in any other, each entry that is.
    """
    day = ""
    for stored in found:
        entry, strange = stored.entry, stored.imported and not session.imported
        if entry.kind in _UNTOLD and not entry.text.strip() and stored.row != whole:
            continue  # as a thought of which only the signature was logged
        today = moment(entry.time_ms, "%Y-%m-%d")
        if today and today != day:
            day = today
            yield []
            yield [Styled(f"-- {day} --", "dim")]
        if entry.flags & Flag.BOUNDARY:
            yield []
            yield [Styled("-- the model's context restarts here --", "magenta")]
        if whole >= 0 and stored.row == whole:
            yield _POINT
            yield from _entry(entry, strange, argparse.Namespace(**{**vars(args), "full": True}))
        else:
            yield from _entry(entry, strange, args)


def _entry(entry: Entry, strange: bool, args: argparse.Namespace) -> Iterator[Line]:
    marks = [
        word
        for bit, word in ((Flag.ERROR, "error"), (Flag.SIDECHAIN, "sidechain"), (Flag.SPILLED, "preview"))
        if entry.flags & bit
    ]
    marks += ["imported"] if strange else []
    clock = Styled(f"{moment(entry.time_ms, '%H:%M:%S'):<8}  ", "dim")
    head: Line = [clock, Styled(entry.kind.name.lower(), _STYLES.get(entry.kind, ""))]
    if entry.tool:
        head.append(Styled(f" {one_line(entry.tool, 60)}", "cyan"))
    if marks:
        head.append(Styled(f" ({', '.join(marks)})", "red" if entry.flags & Flag.ERROR else "dim"))
    change = change_of(entry.text) if entry.kind == Kind.CALL else None
    if change is not None:
        yield [*head, f"  {one_line(change[0], _PATH_CELLS)}"]
        yield from _changes(change[1], 0 if args.full else args.lines)
        return
    if entry.kind == Kind.CALL and not args.full:
        yield [*head, f"  {call_summary(entry.text)}"]
        return
    if entry.kind not in (Kind.CALL, Kind.RESULT):
        yield []
    yield head
    whole = args.full or entry.kind in (Kind.PROMPT, Kind.ANSWER, Kind.NOTE)
    for line in _body(entry.text, 0 if whole else args.lines):
        yield [_MARGIN, line] if line else []


def _changes(lines: list[str], lines_max: int) -> Iterator[Line]:
    """A diff: what came green, what went red."""
    for line in lines[: lines_max or None]:
        cut = ellipsis(printable(line), _LINE_CELLS) if lines_max else printable(line)
        yield [_MARGIN, Styled(cut, _CHANGES.get(line[:1], ""))]
    if lines_max and len(lines) > lines_max:
        yield [_MARGIN, _more(len(lines) - lines_max)]


def _body(text: str, lines_max: int) -> Iterator[Part]:
    lines = printable(text.strip("\n")).split("\n") if text.strip() else []
    if not lines_max:
        yield from lines
        return
    for line in lines[:lines_max]:
        yield ellipsis(line, _LINE_CELLS)
    if len(lines) > lines_max:
        yield _more(len(lines) - lines_max)


def _more(lines: int) -> Styled:
    return Styled(f"... {many(lines, 'more line')}; --full prints them", "dim")
