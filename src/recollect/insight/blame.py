"""Blame: which conversations read or changed a file, what was asked of them, and which brought some words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from recollect.agents.registry import all_tools
from recollect.insight.turns import Turns
from recollect.search.query import AnyOf, Is, Node
from recollect.search.run import Search
from recollect.search.text.fields import files_of, path_term
from recollect.values.history import Change, Touch
from recollect.values.records import Entry
from recollect.values.stored import StoredEntry

TOUCHES_MAX = 5_000  # calls that name a file, the newest


@dataclass(frozen=True, slots=True)
class _Call:
    """A call that names the file, and what it made of it."""

    stored: StoredEntry
    edits: tuple[Change, ...]
    is_change: bool


def blame(search: Search, path: str, limit: int, words: str = "") -> list[Touch]:
    """Every session that read or changed a file, or brought words into it, the most recent first."""
    rows = search.rows(_naming(path), TOUCHES_MAX)
    calls = [_call(search, each, path) for each in search.view.entries_at(rows.tolist())]
    turns = Turns(search.view)
    done = [each for each in calls if each is not None and not _has_failed(turns, each)]
    by_session: dict[int, list[_Call]] = {}
    for call in done:
        by_session.setdefault(call.stored.session_row, []).append(call)
    chosen = _brought(done, words) if words else {row: _last(each) for row, each in by_session.items()}
    newest = sorted(chosen.values(), key=_recency, reverse=True)[:limit]
    return [_touch(search, each, by_session[each.stored.session_row]) for each in newest]


def _naming(path: str) -> Node:
    """Calls that name this path, or any shorter end of an absolute one."""
    names = path_term(path).split("/")
    ends = ["/".join(names[at:]) for at in range(len(names))] if path.startswith(("/", "~")) else []
    return AnyOf(tuple(Is("file", end) for end in ends or [path_term(path)]))


def _call(search: Search, stored: StoredEntry, path: str) -> _Call | None:
    """A call that really means this file: a relative name is one below the session's folder."""
    wanted = "/" + path_term(path)
    folder = path_term(search.sessions[stored.session_row].facts.cwd)

    def is_meant(named: str) -> bool:
        whole = "/" + (path_term(named) if _is_absolute(named) else f"{folder}/{path_term(named)}")
        return whole.endswith(wanted)

    if not any(map(is_meant, files_of(stored.entry))):
        return None
    edits = tuple(each for each in _edits(stored.entry) if is_meant(each.path))
    return _Call(stored, edits, stored.entry.tool.lower() in all_tools().change)


def _edits(call: Entry) -> list[Change]:
    return [change for edited in all_tools().edited for change in edited(call.text)]


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "~", "\\")) or path[1:3] in (":\\", ":/")


def _has_failed(turns: Turns, call: _Call) -> bool:
    """Whether a change was refused, so that the file is as it was."""
    course = turns[call.stored.session_row]
    result = course.result_of(call.stored.row) if call.is_change else None
    return result is not None and course.has_failed(result)


# -- which of the calls ----------------------------------------------------------------------------


def _recency(call: _Call) -> tuple[int, int]:
    return call.stored.entry.time_ms, call.stored.row


def _last(calls: list[_Call]) -> _Call:
    """The last change, or the last look where there is none."""
    return max([each for each in calls if each.is_change] or calls, key=lambda each: each.stored.row)


def _brought(calls: Iterable[_Call], words: str) -> dict[int, _Call]:
    """By session, the change that brought the words: as they stand, or else all of them in any order."""
    changes = sorted((each for each in calls if each.edits), key=_recency)
    phrase = " ".join(words.casefold().split())
    each_word = phrase.split()
    for has in (lambda text: phrase in text, lambda text: all(word in text for word in each_word)):
        found = _first_brought(changes, has)
        if found:
            return found
    return {}


def _first_brought(changes: list[_Call], has: Callable[[str], bool]) -> dict[int, _Call]:
    """Those that made a file have what it had not; what repeats an earlier change brought nothing."""
    found: dict[int, _Call] = {}
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


def _touch(search: Search, call: _Call, calls: list[_Call]) -> Touch:
    stored = call.stored
    began = search.view.entries_at(search.view.turn_of(stored.row)[:1])[0]
    asked = began if began.entry.is_said else None
    changes = {each.edits or each.stored.row for each in calls if each.is_change}
    looks = sum(not each.is_change for each in calls)
    return Touch(search.sessions[stored.session_row], stored, asked, len(changes), looks, call.edits)
