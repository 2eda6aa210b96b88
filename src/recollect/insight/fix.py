"""Fix: where an error appeared, and what ended it."""

from __future__ import annotations

from dataclasses import replace

from recollect.agents.registry import all_tools
from recollect.insight.commands import command_of, is_shell, only_reads
from recollect.insight.cure import Run, Work, runs_again, work_of
from recollect.insight.turns import Course, Turns
from recollect.search.query import QUERY_CHARS_MAX, AllOf, AnyOf, Is, Node, Phrase
from recollect.search.run import Request, Search
from recollect.search.text.fields import files_of
from recollect.values.history import Fix
from recollect.values.hits import Hit
from recollect.values.records import Entry, Kind
from recollect.values.stored import StoredEntry

ERRORS_READ = 40
FOLLOWED_ENTRIES = 400  # of a session, after an error
STEPS_MAX = 8


def fix(search: Search, error: str, limit: int) -> list[Fix]:
    """Where an error appeared, one answer a session, those where it was overcome first."""
    hits, exact = _appearances(search, error[:QUERY_CHARS_MAX])
    by_session: dict[int, list[Hit]] = {}
    for hit in hits:
        by_session.setdefault(hit.stored.session_row, []).append(hit)
    # An error that merely shares a word or two with this one was not this one.
    best = max((hit.score for hit in hits), default=0.0)
    close = [each for each in by_session.values() if each[0].score >= best / 2]
    turns = Turns(search.view, silent=())
    found = [_fix(search, turns, each, exact) for each in close]
    return sorted(found, key=lambda each: (not each.ended_by, -each.hit.score))[:limit]


def _appearances(search: Search, text: str) -> tuple[list[Hit], bool]:
    """Where the very words are said, else where some of them are; and which of both it is."""
    shown: Node = AnyOf((Is("is", "error"), Is("kind", "result"), Is("kind", "prompt")))
    request = Request(text, mode="text", plain=True, limit=ERRORS_READ, collapse=False)
    quoted = search.run(replace(request, only=AllOf((shown, Phrase(text))))).hits
    if quoted:
        return list(quoted), True
    return list(search.run(replace(request, only=shown)).hits), False


def _fix(search: Search, turns: Turns, hits: list[Hit], exact: bool) -> Fix:
    """The steps from an error's last appearance in a session to what worked."""
    last = max((hit.stored for hit in hits), key=lambda stored: stored.row)
    course = turns[last.session_row]
    rows = course.only(course.rows_after(last.row, FOLLOWED_ENTRIES), Kind.CALL, Kind.ANSWER)
    after = search.view.entries_at(rows)
    again = runs_again(_tried(search, course, last.row), _runs(course, after))
    cure = again.runs[-1].call if again.is_cured else None
    steps = [each for each in after if (cure is None or each.row < cure.row) and _is_step(each.entry)]
    answers = [each for each in after if each.entry.kind == Kind.ANSWER and each.entry.text.strip()]
    told = next((each for each in answers if cure is None or each.row > cure.row), None)
    kept = steps[:STEPS_MAX] if cure is None else steps[-STEPS_MAX:]
    return Fix(hits[0], len(hits), exact, kept, _named(cure.entry) if cure else "", told)


def _tried(search: Search, course: Course, row: int) -> Work:
    """What was tried when an error appeared; a log that was read shows errors too, and tried nothing."""
    call = course.call_of(row)
    if call is None or not course.has_failed(row):
        return Work()
    return work_of(search.view.entries_at([call])[0].entry)


def _runs(course: Course, after: list[StoredEntry]) -> list[Run]:
    """The calls that came to an end, in the order they did."""
    results = [(course.result_of(each.row), each) for each in after if each.entry.kind == Kind.CALL]
    runs = [Run(each, row, course.has_failed(row)) for row, each in results if row is not None]
    return sorted(runs, key=lambda run: run.result_row)


def _is_step(entry: Entry) -> bool:
    """Whether a call changes something."""
    if is_shell(entry):
        return not only_reads(command_of(entry))
    return entry.kind == Kind.CALL and entry.tool.lower() in all_tools().change


def _named(call: Entry) -> str:
    return command_of(call) if is_shell(call) else " ".join((call.tool, *files_of(call)[:1]))
