"""What was done about a file, for a purpose, against an error: three questions to the past.

    blame   which conversations read or changed a file, and what was asked of them
    how     which commands were run for something, and whether they worked
    fix     where an error appeared, and what ended it

All three walk from hits to what stands around them in the conversation: the prompt before a call, the
result of a call, the calls that follow an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from recollect.agents.registry import all_tools
from recollect.search.query import QUERY_CHARS_MAX, AllOf, AnyOf, Is, Node, Phrase
from recollect.search.run import Request, Search
from recollect.search.text.fields import files_of, path_term
from recollect.values.history import Command, Fix, Touch
from recollect.values.hits import Hit
from recollect.values.records import Entry, Flag, Kind
from recollect.values.stored import StoredEntry

TOUCHES_MAX = 5_000  # calls that name a file, the newest
CALLS_READ = 120  # shell calls that fit a question
PROMPTS_READ = 8  # prompts that fit it, whose commands count too
PROMPT_WEIGHT = 0.6  # of a command that was only run after a fitting prompt
ERRORS_READ = 40
FOLLOWED_ROWS = 400  # after an error, of all sessions
STEPS_MAX = 8
READERS = frozenset({"cat", "find", "grep", "head", "ls", "nl", "pwd", "rg", "sed", "tail", "wc", "which"})


def blame(search: Search, path: str, limit: int) -> list[Touch]:
    """Every session that read or changed a file, the most recent first."""
    rows = search.rows(_naming(path), TOUCHES_MAX)
    past = _Past(search)
    touched = [e for e in search.view.entries_at(rows.tolist()) if _is_of(search, e, path)]
    by_session: dict[int, list[StoredEntry]] = {}
    for each in touched:
        by_session.setdefault(each.session_row, []).append(each)
    found = [_touch(search, past, calls) for calls in by_session.values()]
    return sorted(found, key=lambda touch: (-touch.last.entry.time_ms, -touch.last.row))[:limit]


def how(search: Search, query: str, limit: int) -> list[Command]:
    """Commands that were run for something, those that fit best first."""
    past = _Past(search)
    shells = AnyOf(tuple(Is("tool", name) for name in sorted(all_tools().run)))
    calls = AllOf((Is("kind", "call"), shells))
    scored = [
        (hit.stored, hit.score)
        for hit in search.run(Request(query, limit=CALLS_READ, collapse=False, only=calls)).hits
        if _has_words(hit)
    ]
    asked = Request(query, limit=PROMPTS_READ, only=Is("kind", "prompt"))
    for hit in filter(_has_words, search.run(asked).hits):
        after = search.view.entries_at(past.following(hit.stored.row, until_prompt=True))
        scored += [(each, hit.score * PROMPT_WEIGHT) for each in after if _is_shell(each.entry)]
    return _commands(search, past, scored)[:limit]


def fix(search: Search, error: str, limit: int) -> list[Fix]:
    """Where an error appeared, one answer a session, those where it was overcome first."""
    past = _Past(search)
    shown: Node = AnyOf((Is("is", "error"), Is("kind", "result"), Is("kind", "prompt")))
    text = error[:QUERY_CHARS_MAX]
    request = Request(text, mode="text", plain=True, limit=ERRORS_READ, collapse=False)
    quoted = replace(request, only=AllOf((shown, Phrase(text))))
    hits = search.run(quoted).hits
    exact = bool(hits)
    if not exact:
        hits = search.run(replace(request, only=shown)).hits
    by_session: dict[int, list[Hit]] = {}
    for hit in hits:
        by_session.setdefault(hit.stored.session_row, []).append(hit)
    found = [_fix(search, past, each, exact) for each in by_session.values()]
    best = max((each.hit.score for each in found), default=0.0)
    # An error that merely shares a word or two with this one was not this one.
    close = [each for each in found if each.hit.score >= best / 2]
    return sorted(close, key=lambda each: (not each.ended_by, -each.hit.score))[:limit]


def command_of(entry: Entry) -> str:
    """What a shell was told to do."""
    try:
        value = json.loads(entry.text)
    except (ValueError, RecursionError):
        return entry.text.strip()
    named = [value.get(name) for name in all_tools().commands] if isinstance(value, dict) else []
    said = next(filter(None, named), "")
    if isinstance(said, list):
        # ["bash", "-lc", "..."]: what matters is what the shell was told.
        words = [str(word) for word in said]
        said = words[2] if len(words) == 3 and words[1] in ("-lc", "-c") else " ".join(words)
    return str(said).strip()


# -- walking ---------------------------------------------------------------------------------


class _Past:
    """Columns of all entries, to go from one to those around it without reading their texts."""

    def __init__(self, search: Search) -> None:
        columns = search.view.entry_columns("session", "kind", "flags", "call")
        self._session, self._kind = columns["session"], columns["kind"]
        self._flags, self._call = columns["flags"], columns["call"]

    def prompt_before(self, row: int) -> int:
        """The row of the last thing a person said in a session before a row, -1 for none."""
        own = np.flatnonzero(self._session[:row] == self._session[row])
        said = own[(self._kind[own] == Kind.PROMPT) & (self._flags[own] & _NOT_SAID == 0)]
        return int(said[-1]) if len(said) else -1

    def results(self, rows: Sequence[int]) -> dict[int, int]:
        """The row of the result of each call that has one."""
        keys = {int(self._call[row]): row for row in rows if self._call[row]}
        found = np.flatnonzero((self._kind == Kind.RESULT) & np.isin(self._call, list(keys)))
        return {keys[int(self._call[row])]: int(row) for row in found[::-1].tolist()}

    def call_of(self, row: int) -> int:
        """The row of the call that a result is of, -1 for none."""
        key = self._call[row]
        if not key:
            return -1
        found = np.flatnonzero((self._call[:row] == key) & (self._kind[:row] == Kind.CALL))
        return int(found[-1]) if len(found) else -1

    def failed(self, row: int) -> bool:
        return bool(self._flags[row] & Flag.ERROR)

    def following(self, row: int, *, until_prompt: bool = False) -> list[int]:
        """The rows that come next in the same session."""
        stop = row + 1 + FOLLOWED_ROWS
        rows = row + 1 + np.flatnonzero(self._session[row + 1 : stop] == self._session[row])
        if until_prompt:
            said = (self._kind[rows] == Kind.PROMPT) & (self._flags[rows] & _NOT_SAID == 0)
            rows = rows[: int(np.argmax(said))] if said.any() else rows
        return [int(each) for each in rows]


_NOT_SAID = int(Flag.META | Flag.COPY | Flag.INJECTED | Flag.REPLACED)


# -- blame -----------------------------------------------------------------------------------


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


def _touch(search: Search, past: _Past, calls: list[StoredEntry]) -> Touch:
    changes = [each for each in calls if each.entry.tool.lower() in all_tools().change]
    last = max(changes or calls, key=lambda each: each.row)
    prompt = past.prompt_before(last.row)
    asked = search.view.entries_at([prompt])[0] if prompt >= 0 else None
    return Touch(search.sessions[last.session_row], last, asked, len(changes), len(calls) - len(changes))


# -- how -------------------------------------------------------------------------------------


def _has_words(hit: Hit) -> bool:
    """Whether any word was found: what only sounds alike is no recipe."""
    return hit.parts.get("text", 1.0) > 0


def _is_shell(entry: Entry) -> bool:
    return entry.kind == Kind.CALL and entry.tool.lower() in all_tools().run


def _commands(search: Search, past: _Past, scored: list[tuple[StoredEntry, float]]) -> list[Command]:
    """Each command once. One that fits and was run after a fitting prompt has the score of both."""
    calls = {stored.row: stored for stored, _ in scored}
    results = past.results(list(calls))
    found: dict[str, Command] = {}
    for row, stored in calls.items():
        score = sum(each for other, each in scored if other.row == row)
        text = " ".join(command_of(stored.entry).split())
        if not text:
            continue
        command = found.get(text)
        if command is None:
            session = search.sessions[stored.session_row]
            command = found[text] = Command(text, score, stored, session)
        command.score = max(command.score, score)
        if stored.row > command.last.row:
            command.last, command.session = stored, search.sessions[stored.session_row]
        _count(command, past, results.get(stored.row))
    return sorted(found.values(), key=lambda each: (-each.score, -each.last.row))


def _count(command: Command, past: _Past, result: int | None) -> None:
    if result is None:
        command.unknown += 1
    elif past.failed(result):
        command.failed += 1
    else:
        command.worked += 1


# -- fix -------------------------------------------------------------------------------------


def _fix(search: Search, past: _Past, hits: list[Hit], exact: bool) -> Fix:
    """The steps from an error's last appearance in a session to what worked."""
    best, last = hits[0], max(hit.stored.row for hit in hits)
    after = search.view.entries_at(past.following(last))
    call = past.call_of(last)
    # A log that was read shows errors too; only of a run that failed can another run be the cure.
    failed = call >= 0 and past.failed(last)
    tried = command_of(search.view.entries_at([call])[0].entry) if failed else ""
    steps, ended, at = _until_it_worked(past, after, tried)
    answer = next((e for e in after[at:] if e.entry.kind == Kind.ANSWER and e.entry.text.strip()), None)
    return Fix(best, len(hits), exact, steps[-STEPS_MAX:] if ended else steps[:STEPS_MAX], ended, answer)


def _until_it_worked(past: _Past, after: list[StoredEntry], tried: str) -> tuple[list[StoredEntry], str, int]:
    """Changes and commands up to the first run that worked of what had failed, and where that is."""
    results = past.results([each.row for each in after if each.entry.kind == Kind.CALL])
    steps: list[StoredEntry] = []
    for n, each in enumerate(after):
        if each.entry.tool.lower() in all_tools().change and each.entry.kind == Kind.CALL:
            steps.append(each)
        elif _is_shell(each.entry):
            result = results.get(each.row)
            command = command_of(each.entry)
            if steps and result is not None and not past.failed(result) and _same_work(command, tried):
                return steps, command, n
            if not _only_reads(command):
                steps.append(each)
    return steps, "", 0


def _same_work(command: str, tried: str) -> bool:
    """Whether a command does what another tried: the same program with the same first argument."""
    heads = list(_heads(tried))[:1]
    # Behind a pipe the exit code is that of `tail`, and says nothing.
    return bool(heads) and "|" not in command and list(_heads(command))[:1] == heads


def _only_reads(command: str) -> bool:
    return all(words[0] in READERS for words in _heads(command))


def _heads(command: str) -> Iterator[tuple[str, ...]]:
    """Program and first argument of the parts of a command, without changing folders."""
    for part in command.replace("&&", "\n").replace(";", "\n").split("\n"):
        words = [word for word in part.split() if "=" not in word]
        if words and words[0] != "cd":
            yield tuple(words[:2])
