"""What is found about a question: by what is asked, by terms, and by both, as one list of entries."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.recall.blocks import Found
from recollect.recall.excerpt import has_text
from recollect.recall.fitting import relevant_hits
from recollect.search.query import QUERY_CHARS_MAX, Is
from recollect.values.errors import UsageError
from recollect.values.records import HIDDEN, Kind
from recollect.values.stored import StoredEntry

if TYPE_CHECKING:
    from recollect.search.run import Search
    from recollect.values.hits import Fresh, Results

HITS_MIN, HITS_MAX = 10, 32  # of one search: to read one may take a millisecond
HIT_TOKENS = 160  # of the budget, for each hit of a search
SHARE_MIN = 0.15  # of the best hit's score: what is further behind would only fill


def found(
    search: Search,
    terms: Sequence[str],
    question: str,
    budget_tokens: int,
    project: str,
    strict_project: str,
    now: datetime.datetime | None,
    spread: bool = False,
) -> tuple[list[Found], Fresh, tuple[str, ...]]:
    """Entries, best first, as many as a budget may need; how much was searched, and what limits it."""
    from recollect.search.run import Request

    said, named = question.strip(), " ".join(terms).strip()
    if not said and not named:
        raise UsageError("nothing to recall", hint="give a question, terms, or both")
    limit = min(max(budget_tokens // HIT_TOKENS, HITS_MIN), HITS_MAX)
    only = Is("project", strict_project) if strict_project else None
    both = f"{said} {named}".strip()[:QUERY_CHARS_MAX]
    # By what is asked, by the terms as they are written, and by both: each finds what the others miss.
    asked = [
        Request(
            both,
            limit=limit,
            plain=True,
            project_boost=project,
            collapse=False,
            now=now,
            only=only,
            spread=spread,
        )
    ]
    if said and named:
        fewer = replace(asked[0], limit=limit // 2)
        asked.append(replace(fewer, query=said[:QUERY_CHARS_MAX]))
        asked.append(replace(fewer, query=named[:QUERY_CHARS_MAX], mode="text"))
    results = [search.run(each) for each in asked]
    notes = tuple(dict.fromkeys(note for each in results for note in each.notes))
    return _fused(results), results[0].fresh, notes


def _fused(results: Sequence[Results]) -> list[Found]:
    """What the searches found together, best first: scores are of one scale, so they are added."""
    found: dict[int, Found] = {}
    for each in results:
        for hit in relevant_hits(each):
            if _may_be_shown(hit.stored):
                known = found.get(hit.stored.row)
                score = hit.score / len(results) + (known.score if known else 0.0)
                found[hit.stored.row] = Found(hit.stored, hit.session, score)
    best = sorted(found.values(), key=lambda each: (-round(each.score, 6), -each.stored.row))
    # Each search folds what says the same, but not into what another one found.
    once = {each.stored.entry.text: each for each in reversed(best)}
    return [
        each
        for each in best
        if each.score >= best[0].score * SHARE_MIN and once[each.stored.entry.text] is each
    ]


def _may_be_shown(stored: StoredEntry) -> bool:
    return stored.entry.kind != Kind.EVENT and not stored.entry.flags & HIDDEN and has_text(stored)
