"""Blame: which conversations read or changed a file, and what was asked of them."""

from __future__ import annotations

from recollect.agents.registry import all_tools
from recollect.search.query import AnyOf, Is, Node
from recollect.search.run import Search
from recollect.search.text.fields import files_of, path_term
from recollect.values.history import Touch
from recollect.values.stored import StoredEntry

TOUCHES_MAX = 5_000  # calls that name a file, the newest


def blame(search: Search, path: str, limit: int) -> list[Touch]:
    """Every session that read or changed a file, the most recent first."""
    rows = search.rows(_naming(path), TOUCHES_MAX)
    by_session: dict[int, list[StoredEntry]] = {}
    for each in search.view.entries_at(rows.tolist()):
        if _is_of(search, each, path):
            by_session.setdefault(each.session_row, []).append(each)
    newest = sorted(by_session.values(), key=_recency, reverse=True)[:limit]
    return [_touch(search, calls) for calls in newest]


def _naming(path: str) -> Node:
    """Calls that name this path, or any shorter end of an absolute one."""
    names = path_term(path).split("/")
    ends = ["/".join(names[at:]) for at in range(len(names))] if path.startswith(("/", "~")) else []
    return AnyOf(tuple(Is("file", end) for end in ends or [path_term(path)]))


def _is_of(search: Search, stored: StoredEntry, path: str) -> bool:
    """Whether a call really means this file: a relative name is one below the session's folder."""
    wanted = "/" + path_term(path)
    folder = path_term(search.sessions[stored.session_row].facts.cwd)
    for named in files_of(stored.entry):
        whole = "/" + (path_term(named) if _is_absolute(named) else f"{folder}/{path_term(named)}")
        if whole.endswith(wanted):
            return True
    return False


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "~", "\\")) or path[1:3] in (":\\", ":/")


def _recency(calls: list[StoredEntry]) -> tuple[int, int]:
    last = _last(calls)
    return last.entry.time_ms, last.row


def _last(calls: list[StoredEntry]) -> StoredEntry:
    """The last change, or the last look where there is none."""
    return max(_changes(calls) or calls, key=lambda each: each.row)


def _changes(calls: list[StoredEntry]) -> list[StoredEntry]:
    return [each for each in calls if each.entry.tool.lower() in all_tools().change]


def _touch(search: Search, calls: list[StoredEntry]) -> Touch:
    last, changes = _last(calls), len(_changes(calls))
    began = search.view.entries_at(search.view.turn_of(last.row)[:1])[0]
    asked = began if began.entry.is_said else None
    return Touch(search.sessions[last.session_row], last, asked, changes, len(calls) - changes)
