"""`saved`: the threads that were assembled and kept: what there is, what is in one, and editing it.

Pieces are named by the number they were saved with, which they keep.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from recollect.cli.columns import PROJECT, TITLE, Column
from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Part, Screen, Styled
from recollect.cli.words import add_command
from recollect.present.assembly import piece_object, saved_object
from recollect.present.short_ids import short_ids
from recollect.values.errors import UsageError
from recollect.values.text import age, many, moment, one_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from recollect.memory import Memory
    from recollect.values.saved import OpenedPiece, SavedThread


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "saved",
        "threads you assembled and kept: list, look into, edit",
        "Without words it lists the threads that `assemble --save` kept. With an action: show NAME, "
        "drop NAME PIECE, pin NAME PIECE, unpin NAME PIECE, move NAME PIECE TO, rename NAME NEW, "
        "delete NAME. A piece keeps its number; TO is a place in the order, from 1. What is pinned "
        "cannot be dropped, and stays when a smaller budget has no room for everything.",
        ("recollect saved", "recollect saved show auth", "recollect saved move auth 7 1"),
    )
    command.add_argument("words", nargs="*", metavar="WORD", help="an action, and what it is about")


# What each action takes, in the order it is typed.
_TAKES: dict[str, tuple[str, ...]] = {
    "show": ("NAME",), "drop": ("NAME", "PIECE"), "pin": ("NAME", "PIECE"), "unpin": ("NAME", "PIECE"),
    "move": ("NAME", "PIECE", "TO"), "rename": ("NAME", "NEW"), "delete": ("NAME",),
}  # fmt: skip


def saved(args: argparse.Namespace, screen: Screen) -> int:
    """Without words all threads, else what the first word says."""
    if not args.words:
        return _list(args, screen)
    action, given = args.words[0], _words_by_name(args.words)
    with open_memory(args) as memory:
        if action == "show":
            return _show(memory, given["NAME"], screen)
        thread = memory.edit_thread(
            given["NAME"],
            action,
            piece=_number(given.get("PIECE")),
            to=_number(given.get("TO")),
            new_name=given.get("NEW", ""),
        )
        if action == "delete":
            return _print_deleted(thread, screen)
        return _show(memory, thread.id, screen)


def _words_by_name(words: Sequence[str]) -> dict[str, str]:
    """An action's words by what they are."""
    action, given = words[0], words[1:]
    names = _TAKES.get(action)
    if names is None:
        raise UsageError(f"saved has no action {action!r}", hint="actions: " + ", ".join(_TAKES))
    if len(given) != len(names):
        raise UsageError(
            f"saved {action} takes {many(len(names), 'word')}, not {len(given)}",
            hint=f"recollect saved {action} {' '.join(names)}; a name with blanks stands in quotes",
        )
    return dict(zip(names, given, strict=True))


def _number(text: str | None) -> int:
    if text is None:
        return 0
    if not (text.isascii() and text.isdigit()) or len(text) > 9 or not int(text):
        raise UsageError(f"{text!r} is not a whole number from 1 on")
    return int(text)


# -- all of them ----------------------------------------------------------------------------------


def _list(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        threads = memory.saved_threads()
    names = short_ids(each.id for each in threads)
    if screen.json:
        screen.object("saved", {"threads": [saved_object(each, names[each.id]) for each in threads]})
        return 0
    if not threads:
        screen.note("no saved threads; keep one: recollect assemble DESCRIPTION --save NAME")
        return 0
    now_ms = time.time_ns() // 1_000_000
    columns = [
        Column("id"),
        Column("name", gives=PROJECT),
        Column("project", gives=PROJECT, drops=3),
        Column("edited", right=True),
        Column("pieces", right=True, drops=1),
        Column("tokens", right=True, drops=4),
        Column("description", gives=TITLE, drops=2),
    ]
    screen.table(columns, [_row(each, names[each.id], now_ms) for each in threads])
    return 0


def _row(thread: SavedThread, name: str, now_ms: int) -> list[Part]:
    return [
        Styled(one_line(name, 40), "cyan"),
        one_line(thread.name, 40),
        one_line("/".join(thread.project.split("/")[-2:]), 28),
        Styled(age(thread.edited_ms, now_ms=now_ms), "dim"),
        f"{len(thread.pieces):,}",
        f"{thread.tokens:,}",
        one_line(thread.description, 72),
    ]


# -- one of them ----------------------------------------------------------------------------------


def _show(memory: Memory, name: str, screen: Screen) -> int:
    with memory.view():
        thread, pieces = memory.saved_thread(name), memory.saved_pieces(name)
    if screen.json:
        fields = {**saved_object(thread, thread.id[:8]), "pieces": [piece_object(each) for each in pieces]}
        screen.object("saved-thread", {"thread": fields})
        return 0
    screen.line(Styled(one_line(thread.name), "bold"))
    screen.pairs(
        (
            ("id", thread.id),
            ("about", one_line(thread.description)),
            ("project", one_line(thread.project)),
            ("saved", moment(thread.created_ms)),
            ("edited", moment(thread.edited_ms) if thread.edited_ms > thread.created_ms else ""),
            ("size", f"{thread.tokens:,} tokens of {thread.budget_tokens:,}"),
        )
    )
    _print_pieces(pieces, screen)
    return 0


def _print_pieces(pieces: list[OpenedPiece], screen: Screen) -> None:
    columns = [
        Column("piece", right=True),
        Column(""),
        Column("session"),
        Column("date"),
        Column("entries", right=True, drops=1),
        Column("tokens", right=True, drops=2),
        Column("begins", gives=TITLE),
    ]
    screen.table(columns, [_piece_row(each) for each in pieces])
    erased = sum(each.erased for each in pieces)
    gone = sum(each.gone for each in pieces) - erased
    if gone:
        screen.note(f"{many(gone, 'entry', 'entries')} of it are no longer in the memory")
    if erased:
        screen.note(f"{many(erased, 'entry', 'entries')} of it were erased")


def _piece_row(each: OpenedPiece) -> list[Part]:
    piece = each.piece
    return [
        Styled(str(each.saved.number), "cyan"),
        "pinned" if each.saved.pinned else "",
        one_line(piece.session.facts.id[:8], 16) if piece else "",
        moment(piece.time_ms, "%Y-%m-%d") if piece else "",
        f"{len(each.saved.ids):,}",
        f"{piece.tokens if piece else 0:,}",
        one_line(each.says, 72),
    ]


def _print_deleted(thread: SavedThread, screen: Screen) -> int:
    if screen.json:
        screen.object("saved-deleted", {"id": thread.id, "name": thread.name})
    screen.note(f"deleted {one_line(thread.name)}; the conversations it was made of are as they were")
    return 0
