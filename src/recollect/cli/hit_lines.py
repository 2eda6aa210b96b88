"""A hit, and where an entry stands, as lines for a person."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from recollect.cli.screen import Part, Styled
from recollect.values.records import Flag
from recollect.values.text import age, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.values.hits import Hit
    from recollect.values.stored import Session, StoredEntry


def hit_head(hit: Hit) -> list[Part]:
    """Id, kind, project, thread, age: one line."""
    entry, facts = hit.stored.entry, hit.session.facts
    kind = entry.kind.name.lower() + (f" {one_line(entry.tool, 30)}" if entry.tool else "")
    failed = [Styled(" (error)", "red")] if entry.flags & Flag.ERROR else []
    place = "  ".join(filter(None, (one_line(facts.project, 40), one_line(facts.headline, 48))))
    when = age(entry.time_ms, now_ms=time.time_ns() // 1_000_000) if entry.time_ms else ""
    more = f"+{hit.folded} folded" if hit.folded else ""
    whose = "imported" if hit.stored.imported else ""
    return [
        Styled(hit.id, "cyan"),
        "  ",
        Styled(kind, "bold"),
        *failed,
        "  ",
        place,
        Styled("  ".join(("", *filter(None, (whose, when, more)))), "dim"),
    ]


def snippet_parts(hit: Hit) -> Iterator[Part]:
    """The snippet, its matches marked on a terminal."""
    before, behind = hit.snippet.cut
    if before:
        yield "... "
    for part, marked in hit.snippet.parts:
        yield Styled(part, "bold yellow") if marked else part
    if behind:
        yield " ..."


def place_parts(stored: StoredEntry, session: Session) -> list[Part]:
    facts = session.facts
    when = age(stored.entry.time_ms, now_ms=time.time_ns() // 1_000_000) if stored.entry.time_ms else ""
    whose = "imported" if stored.imported else ""
    told = (one_line(facts.project, 40), one_line(facts.headline, 48), whose)
    return [Styled(stored.id, "cyan"), "  ", "  ".join(filter(None, told)), Styled(f"  {when}", "dim")]
