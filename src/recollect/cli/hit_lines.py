"""A hit, a session's hits, and where an entry stands, as lines for a person."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from recollect.cli.columns import MODEL, PROJECT, TITLE, Column
from recollect.cli.screen import Part, Styled, part_text
from recollect.present.sessions import last_names
from recollect.present.short_ids import short_id
from recollect.values.records import Flag
from recollect.values.text import age, moment, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.values.hits import Hit, SessionHits
    from recollect.values.recalled import Said
    from recollect.values.stored import Session, StoredEntry

Cells = list[tuple[Column, Part]]

_ID_CELLS = 40
_QUOTE_CELLS = 140  # of what was asked, and of what it came to: two lines of 80, less their names


def hit_head(hit: Hit) -> Cells:
    """Id, kind, project, thread, age: one line."""
    return [
        *_kind(hit),
        *_place(hit.session),
        *_standing(hit.stored, imported=hit.stored.imported),
        *_more(hit),
    ]


def place(stored: StoredEntry, session: Session) -> Cells:
    """Id, project, thread, age: one line."""
    return [_id(stored), *_place(session), *_standing(stored, imported=stored.imported)]


def snippet_parts(hit: Hit) -> Iterator[Part]:
    """The snippet, its matches marked on a terminal."""
    before, behind = hit.snippet.cut
    if before:
        yield "... "
    for part, marked in hit.snippet.parts:
        yield Styled(part, "bold yellow") if marked else part
    if behind:
        yield " ..."


def said_parts(said: Said) -> list[Part]:
    """Id and date of an entry, and a sentence of it."""
    when = moment(said.stored.entry.time_ms, "%Y-%m-%d")
    told = "  ".join(filter(None, (when, "imported" if said.stored.imported else "")))
    return [Styled(said.stored.id, "cyan"), Styled(f"  {told}" if told else "", "dim"), "  ", said.text]


# -- by session ------------------------------------------------------------------------------


def session_head(session: Session, title: str = "") -> Cells:
    """What a conversation is called, its project, agent, age and id: one line."""
    facts = session.facts
    return [
        (Column("title", gives=TITLE), Styled(one_line(title or facts.headline, 72) or "(no title)", "bold")),
        (Column("project", gives=PROJECT), one_line(last_names(facts.project), 40)),
        (Column("agent", drops=1), one_line(facts.agent, 12)),
        (Column("log"), Styled("imported" if session.imported else "", "dim")),
        (Column("when"), Styled(_age(facts.ended_ms), "dim")),
        (Column("id"), Styled(one_line(short_id(facts.id), _ID_CELLS), "cyan")),
    ]


def asked_cells(found: SessionHits) -> Cells:
    """What was asked where the best hit stands: one line, and none where the title says it."""
    title = one_line(found.session.facts.headline).rstrip("….")
    asked = one_line(found.prompt.entry.text, _QUOTE_CELLS) if found.prompt else ""
    if found.prompt is None or not asked or (title and asked.startswith(title)):
        return []
    label = Styled(f"asked{_strange(found.prompt, found.session) or ' '}", "dim")
    return [(Column("label"), label), (Column("asked", gives=TITLE), asked)]


def conclusion_parts(found: SessionHits) -> list[Part]:
    """What it came to: two lines of 80, and none where that answer is shown right below."""
    if found.answer is None or found.answer.id in {hit.id for hit in found.hits[:2]}:
        return []
    said = one_line(found.conclusion, _QUOTE_CELLS)
    label = Styled(f"  answer{_strange(found.answer, found.session)}  ", "dim")
    return [label, said] if said else []


def hit_in_session(hit: Hit) -> Iterator[Part]:
    """Id, kind and snippet; what the session's own line says is not said again."""
    when = _age(hit.stored.entry.time_ms)
    is_told = when == _age(hit.session.facts.ended_ms)
    imported = bool(_strange(hit.stored, hit.session))
    standing = _standing(hit.stored, imported=imported)[: 1 if is_told else 2]
    yield "  "
    for _, part in (*_kind(hit), *standing):
        if part_text(part):
            yield from (part, "  ")
    yield from snippet_parts(hit)
    if hit.folded:
        yield Styled(f"  {_folded(hit)}", "dim")


# -- parts -----------------------------------------------------------------------------------


def _id(stored: StoredEntry) -> tuple[Column, Part]:
    return Column("id"), Styled(stored.id, "cyan")


def _kind(hit: Hit) -> Cells:
    entry = hit.stored.entry
    kind = entry.kind.name.lower() + (f" {one_line(entry.tool, 30)}" if entry.tool else "")
    failed = "(error)" if entry.flags & Flag.ERROR else ""
    return [
        _id(hit.stored),
        (Column("kind", gives=MODEL), Styled(kind, "bold")),
        (Column("failed"), Styled(failed, "red")),
    ]


def _place(session: Session) -> Cells:
    facts = session.facts
    return [
        (Column("project", gives=PROJECT), one_line(facts.project, 40)),
        (Column("title", gives=TITLE), one_line(facts.headline, 48)),
    ]


def _standing(stored: StoredEntry, *, imported: bool) -> Cells:
    return [
        (Column("log"), Styled("imported" if imported else "", "dim")),
        (Column("when"), Styled(_age(stored.entry.time_ms), "dim")),
    ]


def _strange(stored: StoredEntry, session: Session) -> str:
    """Said of an entry that only an imported log has, where its session is own."""
    return " (imported)" if stored.imported and not session.imported else ""


def _more(hit: Hit) -> Cells:
    return [(Column("folded", drops=1), Styled(_folded(hit), "dim"))]


def _folded(hit: Hit) -> str:
    return f"+{hit.folded} folded" if hit.folded else ""


def _age(time_ms: int) -> str:
    return age(time_ms, now_ms=time.time_ns() // 1_000_000) if time_ms else ""
