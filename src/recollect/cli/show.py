"""`show` and `tail`: a session's entries as a person reads them, or as JSON.

The surprise: a store's readers keep writers waiting, and whoever reads our output may
take hours (`| less`). So everything is read first, in its printed form, and said when
the store is closed again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from recollect.cli.ids import short_ids
from recollect.cli.opening import open_memory
from recollect.cli.screen import Part, Screen, Styled
from recollect.cli.sessions import relation_text
from recollect.present.objects import entry_object, session_object
from recollect.store.contract import View
from recollect.values.errors import NotFound
from recollect.values.records import Entry, Flag, Kind
from recollect.values.stored import Session, StoredEntry
from recollect.values.text import ellipsis, many, moment, one_line, printable

Line = list[Part]

_LINE_CELLS = 400  # of one line of a long text
_SUMMARY_CELLS = 160  # of a call on its one line
_ARGUMENTS = (
    "command",
    "cmd",
    "file_path",
    "notebook_path",
    "pattern",
    "query",
    "path",
    "url",
    "skill",
    "description",
    "prompt",
    "subject",
    "input",
)
_STYLES = {
    Kind.PROMPT: "bold green",
    Kind.ANSWER: "bold blue",
    Kind.CALL: "cyan",
    Kind.RESULT: "dim",
    Kind.THOUGHT: "italic dim",
    Kind.SUMMARY: "bold magenta",
}


def show(args: argparse.Namespace, screen: Screen) -> int:
    """A session from start to end."""
    wanted = _wanted(args, screen)
    with open_memory(args) as memory, memory.view() as view:
        session, point = _named(view, args.session)
        if point is not None:
            return _show_around(view, session, point, args, screen)
        everyone = view.sessions()
        children = [each for each in everyone if each.facts.parent == session.facts.id]
        found = filter(wanted, view.entries(session))
        if screen.json:
            head = {"session": session_object(session), "children": [_child(each) for each in children]}
            spool = screen.spool("show", head, "entries", map(entry_object, found))
        else:
            names = short_ids(each.facts.id for each in everyone)
            lines = [*_header(session, children, names), *_transcript(found, args)]
    if screen.json:
        screen.pour(spool)
        return 0
    _say(lines, screen)
    return 0


def tail(args: argparse.Namespace, screen: Screen) -> int:
    """The last entries of a session."""
    wanted = _wanted(args, screen)
    with open_memory(args) as memory, memory.view() as view:
        session, _ = _named(view, args.session)
        found = _last(view, session, args.count, wanted)
    if screen.json:
        entries = [entry_object(each) for each in found]
        screen.object("tail", {"session": session_object(session), "entries": entries})
        return 0
    _say([_head(session), *_transcript(found, args)], screen)
    return 0


# -- which entries -------------------------------------------------------------------------


def _named(view: View, id_: str) -> tuple[Session, StoredEntry | None]:
    """A session by its id, or by the id of an entry in it."""
    try:
        return view.find_session(id_), None
    except NotFound as error:
        try:
            entry = view.find_entry(id_)
        except NotFound:
            raise error from None
        return view.session_rows()[entry.session_row], entry


def _show_around(
    view: View, session: Session, point: StoredEntry, args: argparse.Namespace, screen: Screen
) -> int:
    """One entry, whole, and what was said just before and after it in its session."""
    near = view.neighbours(point.row, args.around, args.around)
    if screen.json:
        entries = [entry_object(each) for each in near]
        screen.object("show-entry", {"session": session_object(session), "id": point.id, "entries": entries})
        return 0
    _say([_head(session), *_transcript(near, args, whole=point.row)], screen)
    return 0


def _wanted(args: argparse.Namespace, screen: Screen) -> Callable[[StoredEntry], bool] | None:
    """What to leave out; None for nothing. People are spared the bookkeeping, programs get it all."""
    if args.kind:
        kinds = {Kind[name.upper()] for name in args.kind}
        return lambda each: each.entry.kind in kinds
    if screen.json or args.all:
        return None
    return lambda each: each.entry.kind != Kind.EVENT and not each.entry.flags & Flag.COPY


def _last(
    view: View, session: Session, count: int, wanted: Callable[[StoredEntry], bool] | None
) -> list[StoredEntry]:
    """The last `count` entries that are wanted; looks back further until there are enough."""
    if not count:
        return []
    reach = count
    while True:
        found = list(filter(wanted, view.entries(session, last=reach)))
        if len(found) >= count or reach >= session.entries:
            return found[-count:]
        reach = min(reach * 4, session.entries)


def _child(session: Session) -> dict[str, Any]:
    return {"id": session.facts.id, "relation": session.facts.relation.name.lower()}


# -- how they look -------------------------------------------------------------------------


def _say(lines: Iterable[Line], screen: Screen) -> None:
    for line in lines:
        screen.line(*line)


def _head(session: Session) -> Line:
    facts = session.facts
    return [Styled(facts.id, "bold"), f"  {one_line(facts.title or facts.slug, 72)}"]


def _header(session: Session, children: list[Session], names: dict[str, str]) -> Iterator[Line]:
    facts = session.facts
    yield [Styled(facts.id, "bold")]
    began, ended = moment(facts.started_ms, "%Y-%m-%d %H:%M"), moment(facts.ended_ms, "%Y-%m-%d %H:%M")
    told = (
        ("title", facts.title),
        ("slug", facts.slug),
        ("agent", f"{facts.agent} {facts.version}"),
        ("model", facts.model),
        ("project", facts.project),
        ("folder", facts.cwd),
        ("branch", facts.branch),
        ("host", session.host),
        ("time", f"{began} to {ended}" if began else ""),
        ("relation", relation_text(session, names)),
        ("entries", f"{session.entries:,}"),
    )
    for name, value in told:
        if value := one_line(value, 200):
            yield [Styled(f"  {name:<9}", "dim"), value]
    for each in children:
        words = f"{each.facts.relation.name.lower()} {names[each.facts.id]}  {one_line(each.facts.title, 72)}"
        yield [Styled("  led to   ", "dim"), words.rstrip()]


def _transcript(found: Iterable[StoredEntry], args: argparse.Namespace, *, whole: int = -1) -> Iterator[Line]:
    """Entries as lines; the one of the row `whole` is pointed at and printed whole."""
    day = ""
    for stored in found:
        entry = stored.entry
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
            yield from _entry(entry, argparse.Namespace(**{**vars(args), "full": True}))
        else:
            yield from _entry(entry, args)


def _entry(entry: Entry, args: argparse.Namespace) -> Iterator[Line]:
    marks = [
        word
        for bit, word in ((Flag.ERROR, "error"), (Flag.SIDECHAIN, "sidechain"), (Flag.SPILLED, "preview"))
        if entry.flags & bit
    ]
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


def call_summary(text: str) -> str:
    """A tool call on one line: its main argument, or its whole input when none stands out."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return one_line(text, _SUMMARY_CELLS)
    if isinstance(value, dict):
        for name in _ARGUMENTS:
            if value.get(name):
                return one_line(_words(value[name]), _SUMMARY_CELLS)
    return one_line(text, _SUMMARY_CELLS)


def _words(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        # ["bash", "-lc", "..."]: what matters is what the shell was told.
        return value[2] if len(value) == 3 and value[1] in ("-lc", "-c") else " ".join(value)
    return json.dumps(value)


def _body(text: str, lines_max: int) -> Iterator[Part]:
    lines = printable(text.strip("\n")).split("\n") if text.strip() else []
    if not lines_max:
        yield from lines
        return
    for line in lines[:lines_max]:
        yield ellipsis(line, _LINE_CELLS)
    if len(lines) > lines_max:
        yield Styled(f"... {many(len(lines) - lines_max, 'more line')}; --full prints them", "dim")
