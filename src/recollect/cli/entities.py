"""`entities`: what conversations speak of, the most mentioned first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.columns import PATH, PROJECT, Column
from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Part, Screen, Styled
from recollect.cli.words import Parser, add_command, count, day, limit
from recollect.present.entities import bars, day_name, listed_object, momentum_object
from recollect.values.entities import ENTITY_TYPES
from recollect.values.errors import UsageError
from recollect.values.text import many, one_line

if TYPE_CHECKING:
    import argparse

    from recollect.values.entities import Entity, Momentum, Move


_NAME_CELLS = 200
_DAYS = 7
_HOW = {"trending": "how", "unusual": "day"}
_THING = [Column("type", drops=2), Column("name", gives=PATH)]
_IN = Column("in", gives=PROJECT, drops=1)


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "entities",
        "what conversations speak of: files, functions, libraries, errors, people and more",
        "The most mentioned first. Things are found in what was said, called and printed, by rules and word "
        "lists; `index` looks for new ones, and so does every ingest. --trending, --fading and --unusual "
        "tell how they move: in the last days that have anything, against the days before.",
        (
            "recollect entities --type file --project harbor",
            "recollect entities --trending",
            "recollect entities --unusual --type error --until 2026-03-31 --json",
        ),
    )
    how = command.add_mutually_exclusive_group()
    how.add_argument(
        "--trending", action="store_true", help="what is new, is back, or is spoken of more than before"
    )
    how.add_argument("--fading", action="store_true", help="what is spoken of less than before")
    how.add_argument(
        "--unusual", action="store_true", help="what was spoken of on one day far more than on its other days"
    )
    command.add_argument(
        "--days",
        type=count,
        metavar="N",
        help=f"how many days are looked at (default: {_DAYS}), up to the newest one that has anything",
    )
    command.add_argument("--until", type=day, metavar="DAY", help="up to this day instead, as in 2026-03-31")
    type_option(command, "only of this type: ")
    command.add_argument("--project", default="", metavar="P", help="only in projects whose name contains P")
    limit(command, 20, "things")


def type_option(command: Parser, lead: str = "what it is: ") -> None:
    command.add_argument(
        "--type", default="", choices=list(ENTITY_TYPES), metavar="T", help=lead + ", ".join(ENTITY_TYPES)
    )


def entities(args: argparse.Namespace, screen: Screen) -> int:
    kind = next((name for name in ("trending", "fading", "unusual") if getattr(args, name)), "")
    if kind:
        return _moving(args, kind, screen)
    if args.days is not None or args.until is not None:
        raise UsageError(
            "--days and --until go with --trending, --fading and --unusual",
            hint="recollect entities --trending --days 30",
        )
    with open_memory(args) as memory:
        found = memory.entities(args.type, project=args.project, limit=args.limit)
    if screen.json:
        listed = [listed_object(each) for each in found.entities]
        screen.object("entities", {"total": found.total, "unread": found.unread, "entities": listed})
        return 0
    if found.entities:
        columns = [*_THING, Column("mentions", right=True), Column("last"), _IN]
        rows = [
            [*_thing(each), f"{each.mentions:,}", Styled(day_name(each.last_day), "dim"), _where(each)]
            for each in found.entities
        ]
        screen.table(columns, rows)
    elif not found.unread:
        screen.note("nothing that fits is mentioned")
    _note_more(len(found.entities), found.total, screen)
    note_unread(found.unread, screen)
    return 0


def _moving(args: argparse.Namespace, kind: str, screen: Screen) -> int:
    with open_memory(args) as memory:
        found = memory.momentum(
            kind,
            type_=args.type,
            project=args.project,
            days=_DAYS if args.days is None else args.days,
            until=args.until and args.until.date(),
            limit=args.limit,
        )
    if screen.json:
        screen.object("momentum", {"kind": kind, **momentum_object(found)})
        return 0
    if found.last_day:
        screen.line(_told(kind, found))
    if found.moves:
        columns = [
            *_THING,
            *([Column(_HOW[kind])] if kind in _HOW else []),
            Column("mentions", right=True),
            Column("usually", right=True),
            Column("curve", drops=3),
            _IN,
        ]
        screen.table(columns, [_row(each, kind) for each in found.moves])
    elif not found.unread:
        screen.note(f"nothing that fits is {kind}" if found.last_day else "nothing that fits is mentioned")
    _note_more(len(found.moves), found.total, screen)
    note_unread(found.unread, screen)
    return 0


def _told(kind: str, found: Momentum) -> str:
    """Which days are looked at, and what they are compared with."""
    window = f"{day_name(found.first_day)} to {day_name(found.last_day)}, the newest day there is"
    if kind == "unusual":
        return f"{window}, against all other days with mentions before"
    days = found.first_day - found.before_day
    return f"{window}, against the {many(days, 'day')} before" if days > 0 else f"{window}; nothing is before"


def _row(each: Move, kind: str) -> list[Part]:
    told: dict[str, Part] = {"unusual": Styled(day_name(each.day), "dim"), "trending": each.state}
    return [
        *_thing(each.entity),
        *([told[kind]] if kind in told else []),
        f"{each.mentions:,}",
        f"{each.usual:,.0f}",
        Styled(bars(each.curve), "dim"),
        _where(each.entity),
    ]


def _thing(entity: Entity) -> list[Part]:
    return [Styled(ENTITY_TYPES[entity.type], "dim"), Styled(one_line(entity.name, _NAME_CELLS), "cyan")]


def _where(entity: Entity) -> Styled:
    """The project that a path is of; several have one of the same name."""
    others = f" +{len(entity.projects) - 1}" if len(entity.projects) > 1 else ""
    return Styled(f"{one_line(entity.projects[0], 40)}{others}" if entity.projects else "", "dim")


def _note_more(shown: int, total: int, screen: Screen) -> None:
    if shown < total:
        screen.note(f"{shown:,} of {many(total, 'thing')}; --limit 0 lists all")


def note_unread(unread: int, screen: Screen) -> None:
    """Say that more may be mentioned."""
    if unread:
        screen.note(f"{many(unread, 'entry', 'entries')} not looked at yet: recollect index")
