"""A session's entries as a person reads them, line by line."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from recollect.cli.screen import Part, Screen, Styled
from recollect.present.history import call_summary
from recollect.values.records import Entry, Flag, Kind
from recollect.values.text import ellipsis, many, moment, one_line, printable
from recollect.values.titles import UNTITLED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from recollect.values.stored import Session, StoredEntry

Line = list[Part]


_LINE_CELLS = 400  # of one line of a long text


_STYLES = {
    Kind.PROMPT: "bold green",
    Kind.ANSWER: "bold blue",
    Kind.CALL: "cyan",
    Kind.RESULT: "dim",
    Kind.THOUGHT: "italic dim",
    Kind.SUMMARY: "bold magenta",
}


def is_wanted(args: argparse.Namespace, screen: Screen) -> Callable[[StoredEntry], bool] | None:
    """What to leave out; None for nothing. People are spared the bookkeeping, programs get it all."""
    if args.kind:
        kinds = {Kind[name.upper()] for name in args.kind}
        return lambda each: each.entry.kind in kinds
    if screen.json or args.all:
        return None
    return lambda each: each.entry.kind != Kind.EVENT and not each.entry.flags & Flag.COPY


def say(lines: Iterable[Line], screen: Screen) -> None:
    for line in lines:
        screen.line(*line)


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
        if entry.kind == Kind.THOUGHT and not entry.text:
            continue  # only its signature was logged
        today = moment(entry.time_ms, "%Y-%m-%d")
        if today and today != day:
            day = today
            yield []
            yield [Styled(f"-- {day} --", "dim")]
        if entry.flags & Flag.BOUNDARY:
            yield []
            yield [Styled("-- the model's context restarts here --", "magenta")]
        if whole >= 0 and stored.row == whole:
            yield [Styled(">>", "bold yellow")]
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
    if entry.kind == Kind.CALL and not args.full:
        yield [*head, f"  {call_summary(entry.text)}"]
        return
    if entry.kind not in (Kind.CALL, Kind.RESULT):
        yield []
    yield head
    whole = args.full or entry.kind in (Kind.PROMPT, Kind.ANSWER)
    for line in _body(entry.text, 0 if whole else args.lines):
        yield ["          ", line] if line else []


def _body(text: str, lines_max: int) -> Iterator[Part]:
    lines = printable(text.strip("\n")).split("\n") if text.strip() else []
    if not lines_max:
        yield from lines
        return
    for line in lines[:lines_max]:
        yield ellipsis(line, _LINE_CELLS)
    if len(lines) > lines_max:
        yield Styled(f"... {many(len(lines) - lines_max, 'more line')}; --full prints them", "dim")
