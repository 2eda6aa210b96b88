"""`entity`: one thing that conversations speak of: since when, where, and beside what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.columns import TITLE, Column
from recollect.cli.entities import note_unread, type_option
from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Part, Screen, Styled
from recollect.cli.words import add_command
from recollect.present.digests import shown_title, thread_heading
from recollect.present.entities import bars, day_name, profile_object
from recollect.present.short_ids import short_ids
from recollect.values.entities import ENTITY_TYPES
from recollect.values.text import many, moment, one_line
from recollect.values.titles import UNTITLED

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from recollect.values.digests import Heading
    from recollect.values.entities import EntityProfile
    from recollect.values.history import Thread
    from recollect.values.stored import Session

_NAME_WIDTH = 120
_WEEKS = 26
_DECIDED_CELLS = 160
_MEANT_CELLS = 54
_THREAD_CELLS = 32
_LINKS = {"defined-in": "defined in", "fails-with": "fails with", "fixed-by": "fixed by"}


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "entity",
        "one thing that conversations speak of: since when, where, beside what",
        "A file by its path or the end of it, anything else by its name. Of several things of that name the "
        "most mentioned, unless --type says which.",
        (
            "recollect entity src/auth/token.py",
            "recollect entity PostgreSQL",
            "recollect entity main --type branch --json",
        ),
    )
    command.add_argument("name", metavar="NAME", help="what it is called")
    type_option(command)
    command.add_argument("--project", default="", metavar="P", help="only in projects whose name contains P")


def entity(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        found = memory.entity(args.name, args.type, project=args.project)
        names = short_ids(session.facts.id for session in memory.sessions())
        listed = [session for thread, _ in found.threads for session in thread.sessions]
        headings = memory.headings([*listed, *(session for session, _ in found.sessions)])
    if screen.json:
        screen.object("entity", profile_object(found, names))
        return 0
    _print(found, names, headings, screen)
    note_unread(found.unread, screen)
    return 0


def _print(
    found: EntityProfile, names: dict[str, str], headings: Mapping[str, Heading], screen: Screen
) -> None:
    thing = found.entity
    screen.line(Styled(one_line(thing.name, _NAME_WIDTH), "bold"), f"  {ENTITY_TYPES[thing.type]}")
    sessions = many(found.session_count, "session")
    screen.line(f"{many(thing.mentions, 'mention')} in {sessions}, {_span(found)}")
    if found.namesakes:
        also = [f"{one_line(name, 40)} ({ENTITY_TYPES[type_]})" for type_, name in found.namesakes]
        screen.line(_lead("also"), ", ".join(also))
    if len(found.days) > 1:
        screen.line(_lead("by week"), _curve(found))
    if any(name for name, _ in found.projects):
        listed = [f"{one_line(name, 40) or '(none)'} {count:,}" for name, count in found.projects[:5]]
        screen.line(_lead("projects"), ", ".join(listed))
    _print_links(found, screen)
    for number, each in enumerate(found.neighbours):
        screen.line(
            _lead("beside", number),
            one_line(each.name, 48),
            Styled(f"  {ENTITY_TYPES[each.type]}, {each.shared:,} times", "dim"),
        )
    for lead, others in (("at first", found.then), ("lately", found.now)):
        if others:
            screen.line(_lead(lead), ", ".join(one_line(each.name, 40) for each in others))
    if (meant := found.meaning) is not None and meant.has_changed:
        for lead, said in (("first meant", meant.then), ("now meant", meant.now)):
            screen.line(_lead(lead), one_line(said.text, _MEANT_CELLS), Styled(f"  {said.entry}", "dim"))
        alike = f"{meant.likeness:.2f} alike; {meant.usual:.2f} if time made no difference"
        screen.line(_lead(""), Styled(alike, "dim"))
    for number, (thread, count) in enumerate(each for each in found.threads if each[1] > 1):
        screen.line(_lead("threads", number), *_thread(thread, count, names, headings))
    screen.table(
        [Column("session"), Column("when"), Column("mentions", right=True), Column("title", gives=TITLE)],
        [_row(session, count, names, headings) for session, count in found.sessions],
    )


def _print_links(found: EntityProfile, screen: Screen) -> None:
    """What it is tied to, each with the entry that shows it."""
    told = _LINKS | ({"fails-with": "met by"} if found.entity.type == "error" else {})
    before = ""
    for link in found.links:
        times = f", {link.times:,} times" if link.times > 1 else ""
        screen.line(
            _lead(told[link.kind], link.kind == before),
            one_line(link.name, 48),
            Styled(f"  {ENTITY_TYPES[link.type]}{times}, {link.entry}", "dim"),
        )
        before = link.kind
    for number, each in enumerate(found.decisions):
        screen.line(
            _lead("decided", number), one_line(each.text, _DECIDED_CELLS), Styled(f"  {each.entry}", "dim")
        )


def _lead(word: str, number: int = 0) -> str:
    """What begins a line: the word, once for several lines."""
    return f"{'' if number else word:12}"


def _thread(
    thread: Thread, count: int, names: dict[str, str], headings: Mapping[str, Heading]
) -> tuple[Part, ...]:
    heading = thread_heading(thread, headings)
    title = (heading.title if heading else "") or thread.title or UNTITLED
    told = f"  {count:,} mentions" + (
        f", {len(thread.sessions):,} sessions" if len(thread.sessions) > 1 else ""
    )
    return (
        Styled(names.get(thread.id, thread.id), "cyan"),
        f"  {one_line(title, _THREAD_CELLS)}",
        Styled(told, "dim"),
    )


def _row(session: Session, count: int, names: dict[str, str], headings: Mapping[str, Heading]) -> list[Part]:
    return [
        Styled(names.get(session.facts.id, session.facts.id), "cyan"),
        Styled(moment(session.facts.ended_ms, "%Y-%m-%d"), "dim"),
        f"{count:,}",
        one_line(shown_title(session, headings.get(session.facts.id)), 72),
    ]


def _span(found: EntityProfile) -> str:
    first, last = day_name(found.entity.first_day), day_name(found.entity.last_day)
    return f"on {first or 'an unknown day'}" if first == last else f"from {first} to {last}"


def _curve(found: EntityProfile) -> str:
    """The mentions of the last weeks up to the last one, as bars."""
    last = found.entity.last_day // 7
    weeks = [0] * _WEEKS
    for day, count in found.days:
        back = last - day // 7
        if day and back < _WEEKS:
            weeks[_WEEKS - 1 - back] += count
    shown = weeks[next((at for at, count in enumerate(weeks) if count), 0) :]
    return bars(shown)
