"""Lessons: what keeps going wrong over sessions and agents, what ended it, and a line to write down.

    recurring error   of one fingerprint, in several conversations: only those that say something of the
                      machine, the tools or the project's rules; a test that fails while it is being written
                      teaches nothing, nor does a look at a file that is not there
    retry storm       conversations that ran again what had failed, ten times or more
    tool thrash       conversations that did the same over and over and got nowhere (`digest/thrash.py`)
    edit before read  changes that a client refused because the file had not been read, or had changed since
    cost              conversations dearer than nine tenths of all

A line quotes what logs hold: on one line, short, without marks that would end the quotation, secrets masked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from recollect.insight.commands import command_of, is_shell
from recollect.insight.digest.kept import Digests
from recollect.insight.entities.mention import fingerprint
from recollect.insight.habits import (
    ENTRIES,
    QUOTE_CHARS,
    Prices,
    costs,
    files_of_agents,
    quoted,
    storms,
    thrash,
    unread,
)
from recollect.insight.period import counts_as_work
from recollect.insight.turns import Turns
from recollect.redact import redact
from recollect.search.projects import worked_out
from recollect.search.run import Search
from recollect.store.contract import View
from recollect.values.digests import Digest, Trouble
from recollect.values.errors import NotFound
from recollect.values.lessons import Lesson
from recollect.values.records import Kind
from recollect.values.stored import Session, StoredEntry
from recollect.values.text import many, one_line

ERROR = "recurring error"
_COMMAND_CHARS = 400
_LOOKED = 3  # places where an error was met, to find what was run
_FOLLOWED = 12  # entries behind each, to find what worked instead


@dataclass
class _Met:
    """One error wherever it was met."""

    text: str
    times: int = 0
    works: dict[tuple[str, str], Session] = field(default_factory=dict)  # by project and title
    latest: list[Trouble] = field(default_factory=list)
    recovered: list[Trouble] = field(default_factory=list)

    def take(self, session: Session, digest: Digest, trouble: Trouble) -> None:
        work = session.facts.project, digest.title
        if work not in self.works:
            self.works[work] = session
            self.times += trouble.times
            self.latest.append(trouble)
            self.recovered += [trouble] if trouble.solved else []


def lessons(search: Search, project: str, least: int, limit: int, prices: Prices) -> list[Lesson]:
    """What was met in at least so many conversations, the most frequent first, errors before the rest."""
    view = search.view
    every = dict(view.session_rows().items())
    wanted = [each for each in every.values() if counts_as_work(each, project)]
    latest = sorted(wanted, key=lambda each: -each.facts.ended_ms)
    digests = worked_out(view, Digests)
    met = [each for each in _errors(digests, latest) if len(each.works) >= least]
    met.sort(key=lambda each: (-len(each.works), -each.times, each.text))
    habits = (
        *storms(digests, latest),
        *thrash(digests, latest),
        *unread(search, {each.facts.id for each in wanted}, every),
        *costs(view, every, latest, prices),
    )
    told = [each for each in habits if len(each.sessions) >= least][: limit or None]
    room = limit - len(told) if limit else None
    errors = _once(map(_Teller(view).error, met[:room]))
    return [_masked(each) for each in (*errors, *told)]


# -- errors that come back -------------------------------------------------------------------------


def _errors(digests: Digests, sessions: Iterable[Session]) -> Iterable[_Met]:
    found: dict[str, _Met] = {}
    for session, digest in digests.telling("errors", sessions):
        for trouble in digest.errors:
            if teaches(trouble.text):
                found.setdefault(_key(trouble.text), _Met(trouble.text)).take(session, digest, trouble)
    return found.values()


def teaches(error: str) -> bool:
    """Whether an error says something of the machine, a tool or a rule, that the next one could know."""
    return bool(_TEACHES.search(error)) and not _LOOKS.search(error)


def _key(error: str) -> str:
    """Its fingerprint, and the one name it is about: `go` is missing, or `bun`."""
    named = _NAME.search(error)
    return f"{fingerprint(error)} {next(filter(None, named.groups())).lower() if named else ''}"


class _Teller:
    """Reads what was run where an error was met, and what then worked."""

    def __init__(self, view: View) -> None:
        self._view, self._turns = view, Turns(view)

    def error(self, met: _Met) -> Lesson:
        command, ended_by = self._cure(met)
        sessions = tuple(met.works.values())
        return Lesson(
            kind=ERROR,
            text=one_line(met.text),
            times=met.times,
            sessions=sessions,
            entries=tuple(each.entry for each in met.latest[:ENTRIES]),
            line=_error_line(met, command, ended_by),
            files=files_of_agents(sessions),
            recovered=len(met.recovered),
            command=command,
            ended_by=ended_by,
        )

    def _cure(self, met: _Met) -> tuple[str, str]:
        """What was run, and what then worked: that work again, else a run much like it soon after."""
        for trouble in met.recovered[:1]:
            call, cure = self._call(trouble.entry), self._call(trouble.solved)
            if call is not None and cure is not None:
                return _told(call), _told(cure)
        calls = [call for trouble in met.latest[:_LOOKED] if (call := self._call(trouble.entry)) is not None]
        for call in calls:
            if other := self._instead(call):
                return _told(call), _told(other)
        return (_told(calls[0]) if calls else ""), ""

    def _call(self, result: str) -> StoredEntry | None:
        """The command of which this is the result."""
        try:
            stored = self._view.find_entry(result)
        except NotFound:  # the digest outlives its entries
            return None
        row = self._turns[stored.session_row].call_of(stored.row)
        call = self._view.entries_at([row])[0] if row is not None else None
        return call if call is not None and is_shell(call.entry) else None

    def _instead(self, call: StoredEntry) -> StoredEntry | None:
        """A command that worked within the next few, made of about the same words."""
        course = self._turns[call.session_row]
        words = set(_plain(_told(call)).split())
        after = course.only(course.rows_after(call.row, _FOLLOWED), Kind.CALL)
        for other in self._view.entries_at(after):
            result = course.result_of(other.row)
            if result is not None and not course.has_failed(result) and is_shell(other.entry):
                shared = words & set(_plain(_told(other)).split())
                if len(shared) > 1 and 2 * len(shared) >= len(words):
                    return other
        return None


def _told(call: StoredEntry) -> str:
    return _plain(one_line(command_of(call.entry), _COMMAND_CHARS))


def _once(told: Iterable[Lesson]) -> list[Lesson]:
    """Without those that are about a command of which more is told already."""
    found: dict[str, Lesson] = {}
    for each in told:
        found.setdefault(each.command or each.text, each)
    return list(found.values())


def _error_line(met: _Met, command: str, ended_by: str) -> str:
    run = f"`{quoted(command)}`" if command else "It"
    error, often = quoted(met.text), many(len(met.works), "session")
    if command and _CHECKS.search(met.text):
        return f"Run {run} before you commit or say that you are done: it failed first in {often}."
    if command and ended_by and ended_by != command:
        failed, worked = map(quoted, _apart(command, ended_by))
        return f'`{failed}` fails here with "{error}" ({often}); `{worked}` then worked.'
    if met.recovered:
        return f'{run} fails here at first with "{error}" ({often}); see what ended it before you try again.'
    return f'{run} fails here with "{error}" ({often}), and no run of it is known to have worked: ask first.'


def _apart(one: str, other: str) -> tuple[str, str]:
    """Two long commands from shortly before where they differ."""
    same = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0)
    start = max(same - QUOTE_CHARS // 3, 0) if same > QUOTE_CHARS // 2 else 0
    return ("…" * bool(start)) + one[start:], ("…" * bool(start)) + other[start:]


def _plain(command: str) -> str:
    return " ".join(_AROUND.sub(" ", command).split())


def _masked(lesson: Lesson) -> Lesson:
    texts = (lesson.text, lesson.line, lesson.command, lesson.ended_by)
    text, line, command, ended_by = (redact(each).text for each in texts)
    return replace(lesson, text=text, line=line, command=command, ended_by=ended_by)


_TEACHES = re.compile(
    r"command not found|\w: not found$|\bis not recognized\b|unrecogni[sz]ed (?:sub)?command"
    r"|unrecogni[sz]ed (?:option|argument)|unknown (?:option|command|flag|argument|subcommand|json field)"
    r"|unexpected argument|(?:invalid|illegal) option|no such (?:command|option)|missing script"
    r"|no module named|cannot find (?:module|package) '?[@\w.-]+(?:'|$)"
    r"|permission denied|\beacces\b|\beaddrinuse\b|address already in use|\beconnrefused\b|connection refused"
    r"|authentication failed|not authori[sz]ed|unauthori[sz]ed|no matches found:|is being deprecated"
    r"|would be overwritten by|not installed|no space left|out of memory"
    r"|(?:fmt|format|lint\S*|clippy|prettier|eslint|biome|ruff|mypy|tsc)\b.{0,40}\b(?:failed|exited with)"
    r"|^\$ \S+ (?:check|lint|format)\b|still a draft",
    re.IGNORECASE,
)
_LOOKS = re.compile(
    r"^(?:\S*/)?(?:ls|cat|sed|head|tail|grep|rg|find|stat|wc|diff|file|tree|du)(?:\.exe)?:|\bcd: "
    r"|\b0 failed\b|^\d+:\d+\s",
    re.IGNORECASE,
)
_CHECKS = re.compile(
    r"(?:fmt|format|lint\S*|clippy|prettier|eslint|biome|ruff|mypy|tsc)\b.{0,40}\b(?:failed|exited with)"
    r"|^\$ \S+ (?:check|lint|format)\b",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"['\"`]([@\w.:-]{1,40})['\"`]|(?:^|: )([@\w.-]{1,40}): (?:command )?not found"
    r"|not found: ([@\w.-]{1,40})$"
)
_AROUND = re.compile(r"\bcd \S+ (?:&&|;)|2>&1|\|\s*(?:head|tail)(?: -\S+)*(?: \d+)?")
