"""`show`: a session's entries as a person reads them, or as JSON.

A store's readers keep writers waiting, and whoever reads our output may take hours (`| less`).
So everything is read first, in its printed form, and said when the store is closed again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Screen, Styled
from recollect.cli.transcript import Line, is_wanted, say, session_line, transcript_lines
from recollect.cli.words import add_command, count, session_argument, transcript_options
from recollect.present.retention import evicted_object, evicted_text
from recollect.present.sessions import entry_object, relation_text, session_object
from recollect.present.short_ids import short_ids
from recollect.values.retention import Elsewhere
from recollect.values.text import many, moment, one_line
from recollect.values.titles import UNTITLED

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from recollect.values.stored import Session, StoredEntry


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "show",
        "read a session from start to end",
        "The transcript as a person reads it: who spoke, when, which tool was called with what, and the "
        "beginning of what it gave back. With --json every entry is there, whole. Given the id of a hit, it "
        "shows that entry whole and its neighbours.",
        (
            "recollect show b9ce875c6a31 --around 5",
            "recollect show 3f2a9c01 --kind prompt --kind answer",
            "recollect show 3f2a9c01 --full | less",
        ),
    )
    session_argument(command)
    command.add_argument(
        "--around",
        type=count,
        default=3,
        metavar="N",
        help="with an entry's id: how many entries before and after it (default: 3)",
    )
    command.add_argument(
        "--restore",
        action="store_true",
        help="first take back what was evicted of the session, from where it came from",
    )
    transcript_options(command)


_HANG = 11  # of what is told of a session, behind its name


def show(args: argparse.Namespace, screen: Screen) -> int:
    """A session from start to end; or an entry, whole, among its neighbours."""
    wanted = is_wanted(args, screen)
    if args.restore:
        with open_memory(args) as memory:
            memory.restore(args.session)
    with open_memory(args) as memory, memory.view():
        session, point = memory.find(args.session)
        if point is not None:
            near = memory.around(point, args.around, args.around)
            return _show_around(session, point, near, args, screen)
        everyone = memory.sessions()
        children = [each for each in everyone if each.facts.parent == session.facts.id]
        found = filter(wanted, memory.show(session.facts.id))
        evicted = memory.evicted(session.facts.id)
        where = None if evicted is None else memory.elsewhere(session.facts.id)
        altered = memory.altered(session.facts.id)
        if screen.json:
            told = {
                "session": session_object(session),
                "children": [_child(each) for each in children],
                "evicted": evicted_object(evicted, *where) if evicted and where else None,
                "altered": altered,
            }
            spool = screen.spool("show", told, "entries", map(entry_object, found))
        else:
            names = short_ids(each.facts.id for each in everyone)
            head = list(
                _header(
                    session,
                    children,
                    names,
                    evicted_text(evicted, where[0]) if evicted and where else "",
                    f"{many(len(altered), 'line')}: secrets in them were erased" if altered else "",
                )
            )
            lines = list(transcript_lines(session, found, args))
    if screen.json:
        screen.pour(spool)
        return 0
    say(head, screen, hang=_HANG)
    say(lines, screen)
    if where is not None and where[0] is Elsewhere.THERE:
        screen.note(f"recollect show {names.get(session.facts.id, session.facts.id)} --restore takes it back")
    return 0


def _show_around(
    session: Session, point: StoredEntry, near: list[StoredEntry], args: argparse.Namespace, screen: Screen
) -> int:
    if screen.json:
        entries = [entry_object(each) for each in near]
        screen.object("show-entry", {"session": session_object(session), "id": point.id, "entries": entries})
        return 0
    say([session_line(session), *transcript_lines(session, near, args, whole=point.row)], screen)
    return 0


def _child(session: Session) -> dict[str, Any]:
    return {"id": session.facts.id, "relation": session.facts.relation.name.lower()}


def _header(
    session: Session, children: list[Session], names: dict[str, str], evicted: str, altered: str
) -> Iterator[Line]:
    facts = session.facts
    yield [Styled(facts.id, "bold")]
    began, ended = moment(facts.started_ms, "%Y-%m-%d %H:%M"), moment(facts.ended_ms, "%Y-%m-%d %H:%M")
    told = (
        ("title", facts.headline or UNTITLED),
        ("slug", facts.slug),
        ("agent", f"{facts.agent} {facts.version}"),
        ("model", facts.model),
        ("project", facts.project),
        ("folder", facts.cwd),
        ("branch", facts.branch),
        ("host", session.host),
        ("log", "imported" if session.imported else ""),
        ("time", f"{began} to {ended}" if began else ""),
        ("relation", relation_text(session, names)),
        ("entries", f"{session.entries:,}"),
        ("evicted", evicted),
        ("altered", altered),
    )
    for name, value in told:
        if value := one_line(value, 200):
            yield [Styled(f"  {name:<9}", "dim"), value]
    for each in children:
        title = one_line(each.facts.headline or UNTITLED, 72)
        words = f"{each.facts.relation.name.lower()} {names[each.facts.id]}  {title}"
        yield [Styled("  led to   ", "dim"), words]
