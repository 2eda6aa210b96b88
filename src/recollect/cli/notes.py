"""`notes`: what was saved by `remember` or by code: list it, look at it, change it, take it back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from recollect.cli.columns import PROJECT, TITLE, Column
from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Part, Screen, Styled
from recollect.cli.words import add_command, limit
from recollect.present.notes import note_object
from recollect.values.errors import UsageError
from recollect.values.text import age, many, moment, one_line, printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from recollect.memory import Memory
    from recollect.values.notes import Note


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "notes",
        "what was saved: list, look at, change, delete",
        "Without words it lists what `remember` and programs saved, the latest last. With an action: "
        "show ID; edit ID TEXT; delete ID; undo ID, which takes back the last change, whoever made it. "
        "A deleted note is neither shown nor found; `compact` gives back its room, and `erase` proves "
        "that it is gone.",
        (
            "recollect notes --tag preference",
            "recollect notes edit 3f2a90c1d2e4b5a6 'we install with uv'",
            "recollect notes delete 3f2a90c1d2e4b5a6",
        ),
    )
    command.add_argument("words", nargs="*", metavar="WORD", help="an action, and what it is about")
    command.add_argument("--tag", default="", metavar="T", help="only those with this tag")
    command.add_argument("--channel", default="", metavar="C", help="only those of this channel")
    command.add_argument("--project", default="", metavar="P", help="only those of this project")
    command.add_argument("--session", default="", metavar="S", help="only those of this session")
    limit(command, 40, "notes")


# What each action takes, in the order it is typed.
_TAKES: dict[str, tuple[str, ...]] = {
    "show": ("ID",), "edit": ("ID", "TEXT"), "delete": ("ID",), "undo": ("ID",),
}  # fmt: skip


def notes(args: argparse.Namespace, screen: Screen) -> int:
    """Without words all of them, else what the first word says."""
    with open_memory(args) as memory:
        if not args.words:
            return _list(memory, args, screen)
        action, given = args.words[0], args.words[1:]
        if action not in _TAKES:
            raise UsageError(f"notes has no action {action!r}", hint="actions: " + ", ".join(_TAKES))
        if len(given) != len(_TAKES[action]):
            raise UsageError(
                f"notes {action} takes {many(len(_TAKES[action]), 'word')}, not {len(given)}",
                hint=f"recollect notes {action} {' '.join(_TAKES[action])}; a text stands in quotes",
            )
        if action == "undo":
            return _undo(memory, given[0], args.session, screen)
        note = memory.get(given[0], session=args.session)
        if action == "edit":
            note = memory.update(note.id, session=note.session, text=given[1])
        elif action == "delete":
            memory.delete(note.id, session=note.session)
    if screen.json:
        told = {"note": note_object(note)}
        screen.object("note", told | {"deleted": True} if action == "delete" else told)
    elif action == "delete":
        screen.line(f"deleted {note.id}: {one_line(note.text, 60)}")
    else:
        _show(note, screen)
    return 0


def _undo(memory: Memory, id_: str, session: str, screen: Screen) -> int:
    note = memory.undo(id_, session=session)
    if screen.json:
        screen.object("note", {"note": note_object(note)} if note else {"note": None, "deleted": True})
    elif note is None:
        screen.line(f"deleted {one_line(id_)}: there was nothing before it")
    else:
        _show(note, screen)
    return 0


def _list(memory: Memory, args: argparse.Namespace, screen: Screen) -> int:
    found = [
        note
        for note in memory.notes(session=args.session, tag=args.tag, channel=args.channel)
        if not args.project or args.project.casefold() in note.project.casefold()
    ]
    found.sort(key=lambda note: note.time_ms)
    shown = found[-args.limit :] if args.limit else found
    if screen.json:
        screen.object("notes", {"total": len(found), "notes": [note_object(each) for each in shown]})
        return 0
    if shown:
        _print(shown, time.time_ns() // 1_000_000, screen)
    else:
        screen.note("no notes fit; `recollect remember 'what to keep'` saves one")
    if len(shown) < len(found):
        screen.note(f"{len(shown):,} of {many(len(found), 'note')}; --limit 0 lists all")
    return 0


def _print(found: Sequence[Note], now_ms: int, screen: Screen) -> None:
    columns = [
        Column("id"),
        Column("when", right=True),
        Column("project", gives=PROJECT, drops=2),
        Column("tags", gives=TITLE, drops=1),
        Column("note", gives=TITLE),
    ]
    rows: list[list[Part]] = [
        [
            Styled(note.id, "dim"),
            Styled(age(note.time_ms, now_ms=now_ms), "dim"),
            Styled(one_line(note.project, 60), "cyan"),
            one_line(", ".join(note.tags), 60),
            one_line(note.text, 200),
        ]
        for note in found
    ]
    screen.table(columns, rows)


def _show(note: Note, screen: Screen) -> None:
    told = {
        "session": note.session,
        "project": note.project,
        "role": note.role if note.role != "note" else "",
        "tags": ", ".join(note.tags),
        "channel": note.channel,
        "author": note.author,
        "changed": moment(note.updated_ms) if note.updated_ms != note.time_ms else "",
        "artifacts": ", ".join(each.name for each in note.artifacts),
    }
    parts = [f"{name} {one_line(value)}" for name, value in told.items() if value]
    screen.line(Styled(note.id, "bold"), f"  {moment(note.time_ms)}  " + "  ".join(parts))
    for line in printable(note.text).splitlines():
        screen.line(f"  {line}")
