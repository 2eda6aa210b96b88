"""Threads that a person keeps: an assembly under a name, to be opened, edited and exported again.

A thread is lines in the store, and only ever appended to: what was saved, then every edit; the state is
what they come to. It holds ids, not texts, so what is told is always what the store has. A piece keeps
the number it was saved with, whatever is moved or dropped, so that two people who look at the same list
mean the same piece.
"""

from __future__ import annotations

import contextlib
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import dict_of
from recollect.agents.saved import DELETE, EDIT, RENAME, THREAD, curated_file, edit_of, thread_of
from recollect.intake.erased import erased
from recollect.intake.notes import note
from recollect.light.sources import NOTES
from recollect.recall.assemble.compose import compose as compose_assembly
from recollect.recall.assemble.compose import separator
from recollect.recall.assemble.weigh import ENTRY_TOKENS, told, weight
from recollect.recall.excerpt import NAME_CHARS
from recollect.values.assembly import Assembly, Facet, Piece, Plan, Share, Window
from recollect.values.errors import NotFound, RecollectError, UsageError
from recollect.values.hits import Fresh
from recollect.values.names import checked_name
from recollect.values.records import Kind
from recollect.values.saved import Edit, OpenedPiece, SavedPiece, SavedThread
from recollect.values.text import many, one_line, tokens

if TYPE_CHECKING:
    from recollect.store.contract import View, Writer
    from recollect.values.conversation import Conversation
    from recollect.values.erasures import Erased
    from recollect.values.stored import Source, StoredEntry

DROP, PIN, UNPIN, MOVE = "drop", "pin", "unpin", "move"
OPERATIONS = (DROP, PIN, UNPIN, MOVE, RENAME, DELETE)
SAYS_CELLS = 200

__all__ = [
    "OPERATIONS",
    "Edit",
    "OpenedPiece",
    "SavedPiece",
    "SavedThread",
    "applied",
    "checked_name",
    "compose",
    "edit",
    "find",
    "opened",
    "replay",
    "save",
    "saved",
]


# -- reading --------------------------------------------------------------------------------------


def saved(view: View) -> list[SavedThread]:
    """Every thread that is kept, the last one edited first."""
    found = [thread for _, thread in _threads(view)]
    return sorted(found, key=lambda thread: (-thread.edited_ms, thread.id))


def find(view: View, name: str) -> SavedThread:
    """The thread of this name, or whose id starts so."""
    return _find(view, name)[1]


def replay(lines: Iterable[bytes]) -> SavedThread | None:
    """What a thread's lines come to; None for one that was deleted, or never was.

    A line that says nothing, or that cannot be done, changes nothing.
    """
    thread: SavedThread | None = None
    for record in _records(lines):
        kind = record.get("type")
        if kind == THREAD and thread is None:
            thread = thread_of(record)
        elif kind == EDIT and thread is not None:
            edit, time_ms = edit_of(record)
            if edit.op == DELETE:
                return None
            with contextlib.suppress(RecollectError):
                thread = replace(applied(thread, edit), edited_ms=max(time_ms, thread.edited_ms))
    return thread


def applied(thread: SavedThread, edit: Edit) -> SavedThread:
    """A thread after an edit, which leaves a deleted one as it was; an error for one that cannot be."""
    if edit.op == RENAME:
        return replace(thread, name=checked_name(edit.name))
    if edit.op == DELETE:
        return thread
    pieces = list(thread.pieces)
    at = next((n for n, piece in enumerate(pieces) if piece.number == edit.piece), -1)
    if at < 0:
        raise NotFound(f"{thread.name!r} has no piece {edit.piece}", hint="`recollect saved show` lists them")
    piece = pieces.pop(at)
    if edit.op in (PIN, UNPIN):
        pieces.insert(at, replace(piece, pinned=edit.op == PIN))
    elif edit.op == MOVE and 1 <= edit.to <= len(thread.pieces):
        pieces.insert(edit.to - 1, piece)
    elif edit.op == MOVE:
        raise UsageError(f"{thread.name!r} has the places 1 to {len(thread.pieces)}, not {edit.to}")
    elif edit.op != DROP:
        raise UsageError(f"there is no edit {edit.op!r}", hint="edits: " + ", ".join(OPERATIONS))
    elif piece.pinned:
        raise UsageError(f"piece {piece.number} is pinned", hint="unpin it first")
    return replace(thread, pieces=tuple(pieces))


# -- opening --------------------------------------------------------------------------------------


def opened(view: View, thread: SavedThread) -> list[OpenedPiece]:
    """A thread's pieces, in order."""
    known = erased(view)
    return [_opened_piece(view, piece, known) for piece in thread.pieces]


def compose(view: View, thread: SavedThread, *, budget_tokens: int = 0) -> tuple[Assembly, Conversation]:
    """A thread as an assembly and as one conversation, within the budget it was made for, or another one.

    Pieces that are pinned stay, the others by what they are worth.
    """
    budget = budget_tokens or thread.budget_tokens
    found = opened(view, thread)
    there = [each for each in found if each.piece is not None]
    away = sum(each.erased for each in found)
    if not there:
        why = "all of it was erased" if away else "nothing of it is left"
        raise NotFound(f"{thread.name!r}: {why}", hint="assemble it anew")
    kept = _fitting(there, budget)
    if not kept:
        raise UsageError(f"no piece of it fits {budget:,} tokens", hint="give a larger --budget-tokens")
    gone = sum(each.gone for each in found)
    notes = (
        f"{many(gone, 'entry', 'entries')} of it are no longer in the memory" if gone > away else "",
        f"{many(away, 'entry', 'entries')} of it were erased" if away else "",
        f"{many(len(there) - len(kept), 'piece')} did not fit the budget" if len(kept) < len(there) else "",
    )
    assembly = _assembly(view, thread, kept, budget, tuple(filter(None, notes)))
    pinned = [each.piece for each in kept if each.piece is not None and each.saved.pinned]
    made = compose_assembly(view, assembly, pinned=pinned)
    left_out = made.left_out + Counter({"entry that is no longer stored": gone})
    return assembly, replace(made, title=one_line(thread.name, NAME_CHARS), left_out=left_out)


def _opened_piece(view: View, saved: SavedPiece, known: Erased) -> OpenedPiece:
    entries = [entry for id_ in saved.ids if (entry := _entry(view, id_)) is not None]
    gone = len(saved.ids) - len(entries)
    there = {each.id for each in entries}
    away = sum(known.has_entry(id_) for id_ in saved.ids if id_ not in there)
    if not entries:
        return OpenedPiece(saved, None, gone, "(erased)" if away else "", away)
    windows = {
        each.row: (min(start, len(each.entry.text)), min(stop, len(each.entry.text)))
        for each in entries
        for id_, (start, stop) in saved.cuts
        if id_ == each.id
    }
    piece = Piece(
        session=view.session_rows()[entries[0].session_row],
        session_row=entries[0].session_row,
        time_ms=next((each.entry.time_ms for each in entries if each.entry.time_ms), 0),
        rows=tuple(each.row for each in entries),
        ids=tuple(each.id for each in entries),
        hits=(),
        tokens=sum(_weight(each, windows.get(each.row)) for each in entries),
        score=saved.score,
        facet=0,
        why=("pinned" if saved.pinned else "saved",),
        cuts=tuple(windows.items()),
    )
    first = next((each for each in entries if each.entry.kind == Kind.PROMPT), entries[0])
    return OpenedPiece(saved, piece, gone, one_line(first.entry.text, SAYS_CELLS), away)


def _entry(view: View, id_: str) -> StoredEntry | None:
    try:
        found = view.find_entry(id_)
    except NotFound:
        return None
    return found if found.id == id_ else None  # it is asked for by its beginning


def _weight(stored: StoredEntry, window: Window | None) -> int:
    entry = stored.entry
    return weight(entry.kind, entry.tool, told(entry.text, window))


def _fitting(found: list[OpenedPiece], budget_tokens: int) -> list[OpenedPiece]:
    """What is pinned and, the best first, what there is room for; in order."""
    numbers = {each.saved.number for each in found if each.saved.pinned}
    for each in sorted(found, key=lambda each: (-each.saved.score, each.saved.number)):
        more = numbers | {each.saved.number}
        if _tokens(_pieces(_of(found, more))) <= budget_tokens:
            numbers = more
    return _of(found, numbers)


def _of(found: Iterable[OpenedPiece], numbers: set[int]) -> list[OpenedPiece]:
    return [each for each in found if each.saved.number in numbers]


def _pieces(found: Iterable[OpenedPiece]) -> tuple[Piece, ...]:
    return tuple(each.piece for each in found if each.piece is not None)


def _tokens(pieces: tuple[Piece, ...]) -> int:
    """What pieces take, with a line over each run of one session."""
    starts = [
        p
        for before, p in zip((None, *pieces), pieces, strict=False)
        if before is None or before.session_row != p.session_row
    ]
    lines = sum(ENTRY_TOKENS + tokens(separator(piece.session, piece.time_ms)) for piece in starts)
    return lines + sum(piece.tokens for piece in pieces)


def _assembly(
    view: View, thread: SavedThread, kept: list[OpenedPiece], budget_tokens: int, notes: tuple[str, ...]
) -> Assembly:
    """The same as what `assemble` makes, without a search."""
    pieces, entries = _pieces(kept), view.info().entries
    spent = _tokens(pieces)
    return Assembly(
        thread.description,
        budget_tokens,
        Plan(thread.description, (Facet(thread.description, ()),)),
        (),
        (Share(thread.description, budget_tokens, spent, len(pieces)),),
        pieces,
        spent,
        len(thread.pieces),
        Fresh(entries, entries, entries),
        notes,
    )


# -- what is erased --------------------------------------------------------------------------------


def ids_saved(view: View) -> set[str]:
    """The entries that saved threads name."""
    return {id_ for _, thread in _threads(view) for piece in thread.pieces for id_ in piece.ids}


def naming(
    view: View, projects: Collection[str]
) -> Iterator[tuple[Source, list[bytes], list[dict[str, Any]]]]:
    """The threads that say they are of some projects: the lines that do, and all records without it."""
    for source, _ in list(_threads(view)):
        lines = [line.data for line in view.lines(source)]
        saying = [data for data in lines for each in _records([data]) if each.get("project") in projects]
        if saying:
            records = [{**each, "project": ""} if "project" in each else each for each in _records(lines)]
            yield source, saying, records


# -- writing --------------------------------------------------------------------------------------


def save(writer: Writer, host: str, assembly: Assembly, name: str, *, now_ms: int) -> SavedThread:
    """Keep an assembly under a name that no other thread has; the caller commits."""
    name = checked_name(name)
    if not assembly.pieces:
        raise NotFound("nothing was found, so there is nothing to save", hint="use other words")
    _refuse_taken(writer.view(), name)
    id_ = str(uuid.uuid4())
    newest = max(assembly.pieces, key=lambda piece: (piece.time_ms, piece.rows)).session.facts
    record = {
        "type": THREAD,
        "id": id_,
        "name": name,
        "description": assembly.description,
        "budget_tokens": assembly.budget_tokens,
        "created_ms": now_ms,
        "project": newest.project,
        "pieces": list(_piece_records(assembly)),
    }
    note(writer, curated_file(id_), host, record)
    made = thread_of(record)
    assert made is not None
    return made


def edit(writer: Writer, name: str, change: Edit, *, now_ms: int) -> SavedThread:
    """Change a thread; returns it as it is then, a deleted one as it was. The caller commits.

    The writer is the only one there is, so what is checked here holds when it is replayed.
    """
    source, thread = _find(writer.view(), name)
    changed = applied(thread, change)
    if changed.name != thread.name:
        _refuse_taken(writer.view(), changed.name)
    told = {"piece": change.piece, "to": change.to, "name": changed.name if change.op == RENAME else ""}
    record = {"type": EDIT, "time_ms": now_ms, "op": change.op, **{k: v for k, v in told.items() if v}}
    note(writer, source.file, source.host, record)
    return replace(changed, edited_ms=max(now_ms, thread.edited_ms))


def _piece_records(assembly: Assembly) -> Iterator[dict[str, Any]]:
    for piece in assembly.pieces:
        ids = dict(zip(piece.rows, piece.ids, strict=True))
        cuts = {ids[row]: list(window) for row, window in piece.cuts}
        yield {"ids": list(piece.ids), "cuts": cuts, "tokens": piece.tokens, "score": piece.score}


def _refuse_taken(view: View, name: str) -> None:
    if any(thread.name == name for _, thread in _threads(view)):
        raise UsageError(f"there is a saved thread {name!r} already", hint="take another name")


# -- lines ----------------------------------------------------------------------------------------


def _threads(view: View) -> Iterator[tuple[Source, SavedThread]]:
    for source in view.sources():
        if source.file.agent == NOTES and not source.superseded:
            thread = replay(line.data for line in view.lines(source))
            if thread is not None:
                yield source, thread


def _find(view: View, name: str) -> tuple[Source, SavedThread]:
    kept = list(_threads(view))
    found = [each for each in kept if each[1].name == name]
    found = found or [each for each in kept if name and each[1].id.startswith(name)]
    found = [each for each in found if not each[0].imported] or found  # another's shadows none of one's own
    if len(found) != 1:
        several = f"{len(found)} saved threads are called {name!r}"
        none = f"there is no saved thread {name!r}"
        raise NotFound(several if found else none, hint="`recollect saved` lists them, with ids")
    return found[0]


def _records(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        with contextlib.suppress(BadLine):
            yield dict_of(decode(line)[0])
