"""What each tool answers, from an open memory and checked arguments.

Every answer that holds words of a log is one fence, from its first character to its last: what a model reads
of the past is marked as such, and our adapters know it again when it turns up in a transcript.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recollect.light.project import project_of
from recollect.mcp.tools import SEARCH_TOKENS
from recollect.present.digests import digest_statements, effort_text, pattern_text, thread_heading, usage_text
from recollect.present.fenced import fenced_blocks
from recollect.present.hits import behind_note
from recollect.values.budgets import RECALL_TOKENS
from recollect.values.records import Flag
from recollect.values.text import age, many, moment, one_line, printable

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.values.digests import Digest, Heading
    from recollect.values.history import Thread
    from recollect.values.hits import Fresh, Hit, Results
    from recollect.values.reports import Report
    from recollect.values.stored import Session
    from recollect.values.usage import SessionUsage


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool says: text for a model or, where nothing comes from a log, values for anyone."""

    text: str = ""
    values: dict[str, Any] | None = None


def memory_status(memory: Memory) -> Answer:
    """Numbers, and no word from inside a log."""
    now_ms = time.time_ns() // 1_000_000
    info, risk = memory.info(), memory.standing()
    fresh = memory.fresh()
    last_ms = max((each.facts.ended_ms for each in memory.sessions()), default=0)
    return Answer(
        values={
            "store": printable(memory.name),
            "sessions": len(memory.sessions()),
            "subagents": info.subagents,
            "entries": info.entries,
            "lines": info.lines,
            "last_activity": moment(last_ms, _MINUTES),
            "last_activity_age": age(last_ms, now_ms=now_ms),
            "appends_waiting": fresh.waiting,
            "sources_changed": risk.changed,
            "entries_unindexed": fresh.unindexed,
            "entries_without_vector": fresh.entries - fresh.vectors,
            "cleanup_days": risk.cleanup_days,
            "sessions_deleted_soon": risk.soon,
            "sessions_only_here": risk.gone,
            "advice": _advice(risk.changed, fresh),
        }
    )


def search_memory(
    memory: Memory, *, query: str, mode: str, k: int, offset: int, budget_tokens: int, project: str
) -> Answer:
    """An index of hits: enough to choose which to read."""

    def search() -> Results:
        return memory.search(query, mode=mode, limit=k, offset=offset, project_boost=project or _here())

    found, busy = _patiently(search, memory.is_busy)
    return Answer(_index(found, offset, budget_tokens, busy=busy))


def _patiently(search: Callable[[], Results], is_busy: Callable[[], bool]) -> tuple[Results, bool]:
    """What is found, and whether there may be more: nothing counts only once nobody is writing any more."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        found = search()
        behind = not found.hits and bool(found.fresh.unindexed or found.fresh.waiting or is_busy())
        if not behind or time.monotonic() >= deadline:
            return found, behind
        time.sleep(PAUSE_SECONDS)


def read_memory(
    memory: Memory, *, id: str, before: int, after: int, whole: bool, offset: int, budget_tokens: int
) -> Answer:
    """An entry among its neighbours, or a page of it."""
    reading = memory.read(
        id, before=before, after=after, whole=whole, budget_tokens=budget_tokens, offset=offset
    )
    return Answer(reading.text)


def recall_context(
    memory: Memory,
    *,
    search_terms: list[str],
    question: str,
    project: str,
    strict_project: str,
    budget_tokens: int = RECALL_TOKENS,
) -> Answer:
    """A wall of excerpts."""
    found = memory.recall(
        search_terms,
        question,
        budget_tokens=budget_tokens,
        project=project or _here(),
        strict_project=strict_project,
    )
    return Answer(found.text)


def search_conversation_memory(
    memory: Memory, *, query: str, project: str, strict_project: str, max_results: int
) -> Answer:
    """What an older memory server called a search: its arguments, our index of hits."""
    only = strict_project.replace('"', " ").strip()
    if only:
        # Its queries are words: what our language would read into them must not widen the filter.
        words = query.translate(str.maketrans('"()', "   ")).split()
        query = " ".join([*(f'"{word}"' for word in words), f'project:"{only}"'])
    return search_memory(
        memory,
        query=query,
        mode="hybrid",
        k=max_results,
        offset=0,
        budget_tokens=SEARCH_TOKENS,
        project=project,
    )


def read_digest(memory: Memory, *, session: str, budget_tokens: int) -> Answer:
    """What happened in a session, as much of it as fits."""
    found, made = memory.digest(session)
    usage = memory.session_usage(found.facts.id)
    blocks = list(_digest_head(found, made, usage))
    head = len(blocks)
    blocks += [f"{what}: {one_line(text, _STATEMENT_CELLS)} [{entry}]" for what, text, entry in _told(made)]

    def foot(shown: int) -> list[str]:
        left = f"; {many(len(blocks) - max(shown, head), 'more statement')} would not fit budget_tokens"
        return ["read_memory with an [id] shows the place" + (left if shown < len(blocks) else "")]

    return Answer(fenced_blocks(blocks, foot, budget_tokens, kind="digest", session=found.facts.id))


def list_threads(memory: Memory, *, project: str, limit: int, budget_tokens: int) -> Answer:
    """Pieces of work, the newest first."""
    threads = memory.threads(project)
    headings = memory.headings(session for thread in threads[:limit] for session in thread.sessions)
    blocks = [_thread(each, headings) for each in threads[:limit]]

    def foot(shown: int) -> list[str]:
        older = f"; {len(threads) - shown:,} older ones are not shown" if shown < len(threads) else ""
        return [f"{many(len(threads), 'thread')}{older}"]

    return Answer(fenced_blocks(blocks, foot, budget_tokens, kind="threads", project=project))


def ingested(report: Report, state: str, done: int, total: int, seconds: float) -> Answer:
    """How far a sweep is, or what it did."""
    return Answer(
        values={
            "state": state,
            "sources": report.sources,
            "sources_changed": report.changed,
            "lines_taken": report.taken,
            "entries_taken": report.entries,
            "lines_bad": report.bad,
            "sources_failed": len(report.failed),
            "done_bytes": done,
            "total_bytes": total,
            "seconds": round(seconds, 3),
        }
    )


# Of one type each: arguments that fit a tool's schema are the keywords of its function.
ANSWERS: Mapping[str, Callable[..., Answer]] = {
    "memory_status": memory_status,
    "search_memory": search_memory,
    "read_memory": read_memory,
    "recall_context": recall_context,
    "recall_get_context": recall_context,
    "read_digest": read_digest,
    "list_threads": list_threads,
    "search_conversation_memory": search_conversation_memory,
}


# -- how they read -------------------------------------------------------------------------

PATIENCE_SECONDS = 3.0  # of a search that finds nothing while somebody is writing
PAUSE_SECONDS = 0.2
_MINUTES = "%Y-%m-%d %H:%M"
_SNIPPET_CELLS = 320
_STATEMENT_CELLS = 240
_REPORT_CELLS = 600
_NOTE_CELLS = 160
_NOTES_MAX = 4
_TITLES_MAX = 3


def _index(results: Results, offset: int, budget_tokens: int, *, busy: bool) -> str:
    notes = [one_line(note, _NOTE_CELLS) for note in results.notes[:_NOTES_MAX]]
    if busy:
        notes.append("this may be incomplete: new conversations are being taken in; ask again in a moment")
    if results.fresh.unindexed or results.fresh.waiting:
        notes.append(behind_note(results.fresh))
    return fenced_blocks(
        [_hit(hit) for hit in results.hits],
        lambda shown: [_more(results, shown, offset), *notes],
        budget_tokens,
        kind="search",
    )


def _hit(hit: Hit) -> str:
    entry, facts = hit.stored.entry, hit.session.facts
    error = "(error)" if entry.flags & Flag.ERROR else ""
    head = _spaced(
        hit.id,
        " ".join(filter(None, (entry.kind.name.lower(), one_line(entry.tool, 30), error))),
        one_line(facts.project, 60),
        moment(entry.time_ms, _MINUTES),
        f"session {one_line(hit.stored.session, 40)}",
        f"{hit.tokens:,} tokens",
        f"+{hit.folded} alike" if hit.folded else "",
        "imported" if hit.stored.imported else "",
    )
    before, behind = hit.snippet.cut
    snippet = one_line(hit.snippet.text, _SNIPPET_CELLS)
    return f"{head}\n    {'... ' if before else ''}{snippet}{' ...' if behind else ''}"


def _more(results: Results, shown: int, offset: int) -> str:
    """How much more there is, and how to get it."""
    if not results.hits:
        return "no hits from there on" if offset else "nothing found"
    total = f" of {results.total:,}" if results.total >= 0 else ""
    told = f"{many(shown, 'hit')}{total}; read_memory with an id shows what was said around it"
    left = len(results.hits) - shown
    return f"{told}; {left} more would not fit budget_tokens" if left else told


def _digest_head(session: Session, digest: Digest, usage: SessionUsage) -> Iterator[str]:
    facts, ending = session.facts, digest.ending
    place = (facts.agent, facts.project, facts.branch, moment(facts.started_ms, _MINUTES))
    yield one_line(digest.title, 120)
    yield _spaced(*(one_line(part, 60) for part in place), "imported" if session.imported else "")
    shown = f" [{ending.entry}]" if ending.entry else ""
    yield f"{ending.outcome}: {one_line(ending.why, _STATEMENT_CELLS)}{shown}"
    yield "; ".join(filter(None, (effort_text(digest), usage_text(usage), pattern_text(digest))))


def _told(digest: Digest) -> Iterator[tuple[str, str, str]]:
    """What, text and entry of each statement; how it closed first, where a budget cuts last."""
    if digest.report is not None:
        yield "closing answer", digest.report.text, digest.report.entry
    yield from digest_statements(digest)


def _thread(thread: Thread, headings: Mapping[str, Heading]) -> str:
    ordered = sorted(thread.sessions, key=lambda each: (each.facts.ended_ms, each.facts.id))
    heading = thread_heading(thread, headings)
    last = ordered[-1].facts.id
    head = _spaced(
        moment(thread.ended_ms, _MINUTES),
        str(heading.outcome) if heading else "",
        one_line(heading.title if heading else thread.title, 100) or "(no title)",
        one_line(thread.project, 60),
        one_line(thread.branch, 40),
        "imported" if thread.imported else "",
    )
    sessions, inside = many(len(thread.sessions), "session"), many(thread.subagents, "subagent")
    held = f"{sessions}{f' and {inside}' if thread.subagents else ''}"
    held = f"{held}, {many(thread.entries, 'entry', 'entries')}"
    titles = {one_line(each.facts.headline, 60) for each in thread.sessions} - {
        "",
        one_line(thread.title, 60),
    }
    also = f"\n    also: {'; '.join(sorted(titles)[:_TITLES_MAX])}" if titles else ""
    agents = f"{', '.join(thread.agents)}," if len(thread.agents) > 1 else ""
    newest = f"last session {one_line(last, 60)}" if last != thread.id else ""
    place = _spaced(f"thread:{one_line(thread.id, 60)}", agents, held, newest)
    return f"{head}\n    {place}{also}"


def _spaced(*parts: str) -> str:
    return "  ".join(filter(None, parts))


def _advice(changed: int, fresh: Fresh) -> str:
    if changed:
        return f"{many(changed, 'log')} changed since; ingest_sessions takes that in"
    return behind_note(fresh) if fresh.unindexed or fresh.waiting else ""


def _here() -> str:
    """The project of the folder this server runs in: a client starts it where its person works."""
    try:
        return project_of(os.getcwd())
    except OSError:  # the folder is gone
        return ""
