"""Pages to read and share: one session, or an assembly of several, in the form that was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from recollect.export.neutral import neutral_entry
from recollect.export.pages.briefing import Briefing, brief, json_object, origin
from recollect.export.pages.briefing import markdown as briefing_markdown
from recollect.export.pages.html import html
from recollect.export.pages.markdown import markdown
from recollect.export.read import conversation
from recollect.redact import redact
from recollect.store.contract import View
from recollect.values.assembly import Assembly
from recollect.values.conversation import Conversation
from recollect.values.stored import Session, StoredEntry
from recollect.values.text import ascii_json


def session_page(view: View, session: Session, form: str, *, redacted: bool) -> Iterator[bytes]:
    """A session as markdown, entry by entry; as html or json, what its model had before it."""
    if form == "markdown":
        entries = map(neutral_entry, view.entries(session))
        yield from markdown(session, map(_masked, entries) if redacted else entries)
        return
    told = conversation(view, session)
    yield _written(form, brief(told, sessions=[origin(session)], redacted=redacted)).encode(
        "utf-8", "replace"
    )


def assembly_page(form: str, made: Assembly, told: Conversation, *, redacted: bool) -> tuple[str, int]:
    """An assembly as one briefing, and how many secrets were masked."""
    briefing = brief(
        told,
        description=made.description,
        sessions=[origin(each) for each in made.sessions],
        tokens=made.tokens,
        notes=made.notes,
        redacted=redacted,
    )
    return _written(form, briefing), sum((briefing.masked or {}).values())


def _written(form: str, made: Briefing) -> str:
    if form == "json":
        return ascii_json(json_object(made)) + "\n"
    return briefing_markdown(made) if form == "markdown" else html(made)


def _masked(stored: StoredEntry) -> StoredEntry:
    return replace(stored, entry=replace(stored.entry, text=redact(stored.entry.text).text))
