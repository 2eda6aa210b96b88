"""Fix: where an error appeared, and what ended it."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable
from dataclasses import replace

from recollect.agents.registry import all_tools
from recollect.insight.commands import command_of, is_shell, only_reads
from recollect.insight.cure import Run, Work, runs_again, shows_failure, work_of
from recollect.insight.told import Listener, Told
from recollect.insight.turns import Course, Turns
from recollect.search.query import QUERY_CHARS_MAX, AllOf, AnyOf, Is, Node, Phrase
from recollect.search.run import Request, Search
from recollect.search.text.fields import files_of
from recollect.values.history import Fix
from recollect.values.hits import Hit
from recollect.values.records import Entry, Flag, Kind
from recollect.values.stored import StoredEntry

ERRORS_READ = 80
FOLLOWED_ENTRIES = 400  # of a session, after an error
STEPS_MAX = 8
CODES_ASKED = 3  # of an error's text, the longest first


def fix(search: Search, error: str, limit: int) -> list[Fix]:
    """Where an error appeared, one answer a session, those where it was overcome first."""
    turns = Turns(search.view, silent=())
    hits, exact = _appearances(search, turns, error[:QUERY_CHARS_MAX])
    by_session: dict[int, list[Hit]] = {}
    for hit in hits:
        by_session.setdefault(hit.stored.session_row, []).append(hit)
    # An error that merely shares a word or two with this one was not this one.
    best = max((hit.score for hit in hits), default=0.0)
    close = [each for each in by_session.values() if each[0].score >= best / 2]
    found = [_fix(search, turns, each, error, exact) for each in close]
    return _once(sorted(found, key=lambda each: (not each.is_cured, -each.hit.score)))[:limit]


def _once(found: list[Fix]) -> list[Fix]:
    """Without what a resumed or forked session repeats: the same error, and the same said of it."""
    kept: dict[tuple[str, str], Fix] = {}
    for each in found:
        said = each.answer.entry.text if each.answer else each.hit.stored.session
        kept.setdefault((each.hit.stored.entry.text, said), each)
    return list(kept.values())


# -- where it appeared ---------------------------------------------------------------------------


def _appearances(search: Search, turns: Turns, text: str) -> tuple[list[Hit], bool]:
    """Where the very words are said, else the code they name, else some of them; and whether all are."""
    shown: Node = AnyOf((Is("is", "error"), Is("kind", "result"), Is("kind", "prompt")))
    request = Request(text, mode="text", plain=True, limit=ERRORS_READ, collapse=False)
    codes = sorted(set(_CODE.findall(text)), key=lambda code: (-len(code), code))[:CODES_ASKED]
    for words in (text, *codes, ""):
        only = AllOf((shown, Phrase(words))) if words else shown
        hits = search.run(replace(request, only=only)).hits
        met = [hit for hit in hits if _is_met(search, turns, hit.stored)]
        if met:
            return met, words == text
    return [], False


def _is_met(search: Search, turns: Turns, stored: StoredEntry) -> bool:
    """Whether an entry shows an error that happened, and not a source or a page that speaks of it."""
    if stored.entry.kind != Kind.RESULT or stored.entry.flags & Flag.ERROR:
        return True
    row = turns[stored.session_row].call_of(stored.row)
    if row is None:
        return True
    call = search.view.entries_at([row])[0].entry
    if is_shell(call):
        command = command_of(call)
        return not only_reads(command) or bool(_LOG.search(command))
    known = all_tools()
    if call.tool.lower() in known.change | known.look_in or _ABOUT_PAGES.search(call.text):
        return False
    return all(_LOG.search(path) for path in files_of(call))


# ERR_MODULE_NOT_FOUND, ENOENT, E0382, TS2345, ModuleNotFoundError, and not NODE_ENV, SHA256 or PR-1234.
_CODE = re.compile(
    r"\b(?:ERR_[A-Z0-9_]{3,80}|[A-Z0-9_]{2,80}_(?:ERROR|FAILED|FAILURE|FOUND|DENIED|REFUSED|TIMEOUT|INVALID)"
    r"|(?:TS|CS|E|LNK|MSB|ORA-|CVE-\d{4}-)\d{3,6}|[A-Z]\w{3,80}(?:Error|Exception)"
    rf"|{'|'.join(sorted(errno.errorcode.values()))})\b"
)
_LOG = re.compile(r"\.(?:log|out|output|err|stderr|trace)\b|\blogs?/|\blogs?\b", re.IGNORECASE)
_ABOUT_PAGES = re.compile(r'"(?:url|query|subagent_type)"\s*:')


# -- what ended it -------------------------------------------------------------------------------


def _fix(search: Search, turns: Turns, hits: list[Hit], error: str, exact: bool) -> Fix:
    """The steps from an error's last appearance in a session to what worked, and what was said of it."""
    last = max((hit.stored for hit in hits), key=lambda stored: stored.row)
    course = turns[last.session_row]
    rows = course.only(course.rows_after(last.row, FOLLOWED_ENTRIES), Kind.CALL, Kind.ANSWER)
    after = search.view.entries_at(rows)
    tried = _tried(search, course, last.row)
    again = runs_again(tried, _runs(search, course, tried, after))
    cure = again.runs[-1].call if again.is_cured else None
    steps = [each for each in after if (cure is None or each.row < cure.row) and _is_step(each.entry)]
    kept = steps[:STEPS_MAX] if cure is None else steps[-STEPS_MAX:]
    told = _told(
        search,
        course,
        after,
        cure or last,
        Listener(
            error,
            [path for step in steps for path in files_of(step.entry)],
            lambda text: search.text.analyze("body", text),
            lambda stem: search.text.rarity("body", stem),
            asked=last.entry.kind == Kind.PROMPT,
        ),
    )
    ended_by = _named(cure.entry) if cure else ""
    if told is None:
        return Fix(hits[0], len(hits), exact, kept, ended_by)
    return Fix(hits[0], len(hits), exact, kept, ended_by, told.answer, told.quote, told.is_telling)


def _told(
    search: Search, course: Course, after: list[StoredEntry], end: StoredEntry, listener: Listener
) -> Told | None:
    """What is said of an error: in the turn that ended it, else later, else how that turn closes."""
    answers = [each for each in after if each.entry.kind == Kind.ANSWER and each.entry.text.strip()]
    turn, closing = course.turn_at(end.row), course.closing_answers()
    inside = [each for each in answers if course.turn_at(each.row) <= turn]
    told = listener.best(inside, closing)
    if told is not None and told.is_telling:
        return told
    later = listener.best([each for each in answers if course.turn_at(each.row) > turn], closing)
    if later is not None and later.is_telling:
        return later
    return listener.best(inside[-1:], closing)


def _tried(search: Search, course: Course, row: int) -> Work:
    """What was tried when an error appeared; a log that was read shows errors too, and tried nothing."""
    row_of_call = course.call_of(row)
    if row_of_call is None:
        return Work()
    call = search.view.entries_at([row_of_call])[0].entry
    has_run = is_shell(call) and not only_reads(command_of(call))
    return work_of(call) if has_run or course.has_failed(row) else Work()


def _runs(search: Search, course: Course, tried: Work, after: Iterable[StoredEntry]) -> list[Run]:
    """The calls that did the same work and came to an end, in the order they did, their results read."""
    same = [each for each in after if each.entry.kind == Kind.CALL and tried.is_part_of(work_of(each.entry))]
    calls = {row: each for each in same if (row := course.result_of(each.row)) is not None}
    results = search.view.entries_at(sorted(calls))
    return [
        Run(calls[each.row], each.row, course.has_failed(each.row), not shows_failure(each.entry.text))
        for each in results
    ]


def _is_step(entry: Entry) -> bool:
    """Whether a call changes something."""
    if is_shell(entry):
        return not only_reads(command_of(entry))
    return entry.kind == Kind.CALL and entry.tool.lower() in all_tools().change


def _named(call: Entry) -> str:
    return command_of(call) if is_shell(call) else " ".join((call.tool, *files_of(call)[:1]))
