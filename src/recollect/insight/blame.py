"""Blame: which conversations read or changed a file, what was asked of them, and which brought some words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from recollect.agents.registry import all_tools
from recollect.agents.tools import changes_in
from recollect.insight.turns import Turns
from recollect.search.query import AnyOf, Is, Node
from recollect.search.run import Search
from recollect.search.text.fields import files_of, path_term
from recollect.values.history import Change, Touch
from recollect.values.records import Entry
from recollect.values.stored import StoredEntry

TOUCHES_MAX = 5_000  # calls that name a file, the newest


@dataclass(frozen=True, slots=True)
class FileCall:
    """A call that names a file, and what it made of it."""

    stored: StoredEntry
    edits: tuple[Change, ...]
    is_change: bool


def blame(search: Search, path: str, limit: int, words: str = "") -> list[Touch]:
    """Every session that read or changed a file, or brought words into it, the most recent first."""
    done = calls_on(search, path)
    by_session: dict[int, list[FileCall]] = {}
    for call in done:
        by_session.setdefault(call.stored.session_row, []).append(call)
    chosen = _brought(done, words) if words else {row: _last(each) for row, each in by_session.items()}
    newest = sorted(chosen.values(), key=recency, reverse=True)[:limit]
    return [touch_of(search, each, by_session[each.stored.session_row]) for each in newest]


def calls_on(search: Search, path: str) -> list[FileCall]:
    """The calls that read or changed a file, without changes that were refused; the newest first."""
    rows = search.rows(_naming(path), TOUCHES_MAX)
    calls = [_call(search, each, path) for each in search.view.entries_at(rows.tolist())]
    turns = Turns(search.view)
    return [each for each in calls if each is not None and not _has_failed(turns, each)]


def recency(call: FileCall) -> tuple[int, int]:
    """What calls are ordered by."""
    return call.stored.entry.time_ms, call.stored.row


def touch_of(search: Search, call: FileCall, calls: list[FileCall]) -> Touch:
    """A call as what a session did to a file; `calls` are all of that session on it."""
    stored = call.stored
    began = search.view.entries_at(search.view.turn_of(stored.row)[:1])[0]
    asked = began if began.entry.is_said else None
    changes = {each.edits or each.stored.row for each in calls if each.is_change}
    looks = sum(not each.is_change for each in calls)
    return Touch(search.sessions[stored.session_row], stored, asked, len(changes), looks, call.edits)


def _naming(path: str) -> Node:
    """Calls that name this path, or any shorter end of an absolute one."""
    names = path_term(path).split("/")
    ends = ["/".join(names[at:]) for at in range(len(names))] if path.startswith(("/", "~")) else []
    return AnyOf(tuple(Is("file", end) for end in ends or [path_term(path)]))


def _call(search: Search, stored: StoredEntry, path: str) -> FileCall | None:
    """A call that really means this file: a relative name is one below the session's folder."""
    wanted = "/" + path_term(path)
    folder = path_term(search.sessions[stored.session_row].facts.cwd)

    def is_meant(named: str) -> bool:
        whole = "/" + (path_term(named) if _is_absolute(named) else f"{folder}/{path_term(named)}")
        return whole.endswith(wanted)

    if not any(map(is_meant, files_of(stored.entry))):
        return None
    edits = tuple(each for each in edits_of(stored.entry) if is_meant(each.path))
    return FileCall(stored, edits, stored.entry.tool.lower() in all_tools().change)


def edits_of(call: Entry) -> list[Change]:
    """What a call makes of the text of files."""
    return changes_in(all_tools(), call.text)


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "~", "\\")) or path[1:3] in (":\\", ":/")


def _has_failed(turns: Turns, call: FileCall) -> bool:
    """Whether a change was refused, so that the file is as it was."""
    course = turns[call.stored.session_row]
    result = course.result_of(call.stored.row) if call.is_change else None
    return result is not None and course.has_failed(result)


# -- which of the calls ----------------------------------------------------------------------------


def _last(calls: list[FileCall]) -> FileCall:
    """The last change, or the last look where there is none."""
    return max([each for each in calls if each.is_change] or calls, key=lambda each: each.stored.row)


def _brought(calls: Iterable[FileCall], words: str) -> dict[int, FileCall]:
    """By session, the change that brought the words: as they stand, or else all of them in any order."""
    changes = sorted((each for each in calls if each.edits), key=recency)
    phrase = " ".join(words.casefold().split())
    each_word = phrase.split()
    for has in (lambda text: phrase in text, lambda text: all(word in text for word in each_word)):
        found = _first_brought(changes, has)
        if found:
            return found
    return {}


def _first_brought(changes: list[FileCall], has: Callable[[str], bool]) -> dict[int, FileCall]:
    """Those that made a file have what it had not; what repeats an earlier change brought nothing."""
    found: dict[int, FileCall] = {}
    present: dict[str, bool] = {}
    known: set[tuple[Change, ...]] = set()
    for call in changes:
        for path in {each.path for each in call.edits}:
            edits = [each for each in call.edits if each.path == path]
            before = any(has(_folded(each.old)) for each in edits) or present.get(path, False)
            after = any(has(_folded(each.new)) for each in edits)
            if after and not before and call.edits not in known:
                found.setdefault(call.stored.session_row, call)
            if after or any(has(_folded(each.old)) or each.is_whole for each in edits):
                present[path] = after
        known.add(call.edits)
    return found


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
