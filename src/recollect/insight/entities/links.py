"""How things hang together, each link with the entry that shows it: rather none than a wrong one.

    defined in   a function or class, in the file that an edit or a look into it shows it declared in
    fails with   a command or a file, and the errors it met; an error, and what met it
    fixed by     an error, and the files changed between it and the run that then worked

All of it is found when it is asked for, in the latest entries that mention a thing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from recollect.agents.registry import all_signs, all_tools
from recollect.insight.commands import command_of, heads, is_reading, is_shell
from recollect.insight.digest.kept import Digests
from recollect.insight.entities.mention import fingerprint, path_name
from recollect.search.mentions import TYPES, Mentions
from recollect.search.text.fields import files_of
from recollect.store.contract import Array, SessionRows, View
from recollect.values.digests import Digest, Statement
from recollect.values.entities import Link
from recollect.values.errors import NotFound
from recollect.values.records import Flag, Kind
from recollect.values.stored import StoredEntry

LISTED = 3  # of each kind
_RUNS = 200  # of the latest: calls and results that are compared
_MENTIONS = 1_000  # of the latest
_READ = 6  # of the latest, or of the first: entries whose text is read
_SESSIONS = 12  # of the latest: digests that are looked through
_SAME = 0.6  # of their words that two errors share which are one
_RUNS_READ = 24  # of the latest: calls whose command is read
_FILES_FEW = 2  # that a failure names: of more nobody knows which one failed
_PROSE = (".md", ".mdx", ".txt", ".rst", ".json", ".jsonl")  # which show code, and are none
_CHANGES_MAX = 12  # of files, between an error and the run that worked
_STEPS_MAX = 200  # between an error and the run that worked

_DECLARED = (  # an import of a type declares nothing
    r"(?:\b|\\[nrt])(?:"
    r"(?:def|class|fn|func|function|struct|enum|trait|interface|type|record|protocol)[ \t]+"
    r"(?:\([^)\n]{{0,80}}\)[ \t]*)?{0}(?![\w$]|[ \t]*[,}}])"
    r"|(?:const|let|var)[ \t]+{0}[ \t]*=[ \t]*(?:async\b[ \t]*)?(?:\(|function\b))"
)


class Links:
    """The links of one thing, from the rows of the entries that mention it."""

    def __init__(self, view: View, mentions: Mentions, digests: Digests) -> None:
        self._view, self._mentions, self._digests = view, mentions, digests
        self._sessions: SessionRows = view.session_rows()

    def of(self, number: int, rows: Array, sessions: Sequence[int]) -> tuple[Link, ...]:
        """All that are known of the thing of this number; `sessions` that mention it, the latest first."""
        type_, name = TYPES[int(self._mentions.types[number])], self._mentions.name(number)
        if type_ in ("function", "class"):
            return tuple(self._defined_in(name, rows))
        if type_ == "command":
            return tuple(self._errors_of_runs(number, rows))
        if type_ == "file":
            return tuple(self._errors_beside(rows))
        if type_ == "error":
            return (*self._runs_of_error(rows), *self._fixed_by(name, rows, sessions))
        return ()

    def decisions(self, name: str, rows: Array, sessions: Sequence[int]) -> tuple[Statement, ...]:
        """What was decided about a thing, the latest first: what names it, in entries that mention it."""
        named = re.compile(rf"(?<![\w./-]){re.escape(name)}(?![\w/])")
        found = [
            statement
            for digest in self._digests_of(sessions)
            for statement in reversed(digest.decisions)
            if named.search(statement.text)
        ]
        mentioned = set(self._view.entry_ids(rows[-_MENTIONS:].tolist()) if found else ())
        return tuple([each for each in found if each.entry in mentioned][:LISTED])

    # -- defined in ------------------------------------------------------------------------------

    def _defined_in(self, name: str, rows: Array) -> Iterator[Link]:
        declared = re.compile(_DECLARED.format(re.escape(name)))
        kinds = self._view.columns_at(rows.tolist(), "kind")["kind"]
        calls = self._ends(rows[kinds == Kind.CALL])
        tools = all_tools()
        for stored in self._view.entries_at(calls):
            if stored.entry.tool.lower() in tools.change and _declares(stored.entry.text, declared):
                yield from self._file_link("defined-in", stored, stored)
                return
        halves = self._other_halves(rows[kinds == Kind.RESULT][-_RUNS:], Kind.CALL)
        results = {call: result for result, call in halves.items()}
        asked = self._ends(np.array(sorted(results), np.int64))
        seen = self._view.entries_at([results[call] for call in asked])
        for call, stored in zip(self._view.entries_at(asked), seen, strict=True):
            if call.entry.tool.lower() in tools.read and _declares(stored.entry.text, declared):
                yield from self._file_link("defined-in", call, stored)
                return

    def _file_link(self, kind: str, call: StoredEntry, shown: StoredEntry) -> Iterator[Link]:
        """A link to the one file that a call names; none where it names several."""
        paths = files_of(call.entry)
        root = self._sessions[call.session_row].facts.cwd
        name = path_name(paths[0], root.replace("\\", "/").rstrip("/")) if len(paths) == 1 else ""
        if name and not name.lower().endswith(_PROSE):
            yield Link(kind, "file", name, 1, shown.id)

    # -- fails with ------------------------------------------------------------------------------

    def _errors_of_runs(self, number: int, rows: Array) -> Iterator[Link]:
        kinds = self._view.columns_at(rows.tolist(), "kind")["kind"]
        results = self._other_halves(rows[kinds == Kind.CALL][-_RUNS:], Kind.RESULT)
        failed = self._failed(results.values())
        runs = {result: call for call, result in results.items() if result in failed}
        alone = self._alone(runs.values(), number)
        pairs = [
            (error, row) for row in failed if runs[row] in alone for error in self._mentioned(row, "error")
        ]
        own = self._mentions.name(number)
        yield from self._counted([pair for pair in pairs if _is_of(self._mentions.name(pair[0]), own)])

    def _errors_beside(self, rows: Array) -> Iterator[Link]:
        kinds = self._view.columns_at(rows.tolist(), "kind")["kind"]
        pairs = [
            (error, row)
            for row in self._failed(rows[kinds == Kind.RESULT][-_RUNS:].tolist())
            if len(self._mentioned(row, "file")) <= _FILES_FEW
            for error in self._mentioned(row, "error")
        ]
        yield from self._counted(pairs)

    def _runs_of_error(self, rows: Array) -> Iterator[Link]:
        failed = np.array(self._failed(rows[-_RUNS:].tolist()), np.int64)
        calls = self._other_halves(failed, Kind.CALL)
        alone = self._alone(calls.values())
        pairs = [(alone[call], row) for row, call in calls.items() if call in alone]
        yield from self._counted(pairs)

    def _alone(self, calls: Iterable[int], number: int = -1) -> dict[int, int]:
        """Of calls that run one command and nothing else that could fail, that command; only this one's."""
        told = {row: self._mentioned(row, "command") for row in calls}
        wanted = [row for row, found in told.items() if number < 0 or number in found]
        alone: dict[int, int] = {}
        for stored in self._view.entries_at(sorted(wanted)[-_RUNS_READ:]):
            if not is_shell(stored.entry):
                continue
            run = {" ".join(words[:2]) for words in heads(command_of(stored.entry)) if not is_reading(words)}
            names = {each: self._mentions.name(each) for each in told[stored.row]}
            fitting = [each for each, name in names.items() if len(run) == 1 and _runs(name, next(iter(run)))]
            if len(fitting) == 1 and number in (-1, fitting[0]):
                alone[stored.row] = fitting[0]
        return alone

    def _counted(self, pairs: list[tuple[int, int]]) -> Iterator[Link]:
        """The things that were met most often, each with the last entry that shows it."""
        times = Counter(number for number, _ in pairs)
        last = dict(sorted(pairs, key=lambda pair: pair[1]))
        best = sorted(times, key=lambda number: (-times[number], -last[number]))[:LISTED]
        told = all_signs().refused + all_signs().trifles
        for number, shown in zip(best, self._view.entries_at([last[each] for each in best]), strict=True):
            type_ = TYPES[int(self._mentions.types[number])]
            if not shown.entry.text.startswith(told):
                yield Link("fails-with", type_, self._mentions.name(number), times[number], shown.id)

    # -- fixed by --------------------------------------------------------------------------------

    def _fixed_by(self, name: str, rows: Array, sessions: Sequence[int]) -> Iterator[Link]:
        ids = dict(zip(self._view.entry_ids(rows[-_RUNS:].tolist()), rows[-_RUNS:].tolist(), strict=True))
        found: dict[str, Link] = {}
        for digest in self._digests_of(sessions):
            for trouble in digest.errors:
                if trouble.solved and trouble.entry in ids and _is_same(name, trouble.text):
                    for link in self._changes(ids[trouble.entry], trouble.solved):
                        known = found.get(link.name)
                        found[link.name] = link if known is None else _again(known)
        yield from sorted(found.values(), key=lambda link: -link.times)[:LISTED]

    def _changes(self, failed: int, solved: str) -> Iterator[Link]:
        """The files changed between an error and the run that then worked, where they are few."""
        try:
            worked = self._view.find_entry(solved)
        except NotFound:
            return
        columns = self._view.session_columns(worked.session_row, "row", "kind")
        between = (columns["row"] > failed) & (columns["row"] < worked.row) & (columns["kind"] == Kind.CALL)
        if int(between.sum()) > _STEPS_MAX:
            return
        calls = self._with_files(columns["row"][between][::-1], _CHANGES_MAX + 1)
        if len(calls) > _CHANGES_MAX:
            return
        change = all_tools().change
        made = [each for each in self._view.entries_at(calls) if each.entry.tool.lower() in change]
        links = [link for each in made for link in self._file_link("fixed-by", each, each)]
        if len({link.name for link in links}) <= _FILES_FEW:
            yield from {link.name: link for link in reversed(links)}.values()

    # -- rows ------------------------------------------------------------------------------------

    def _digests_of(self, sessions: Sequence[int]) -> Iterator[Digest]:
        """What is kept of the latest sessions; one that went on since is not worked out for this."""
        for row in sessions[:_SESSIONS]:
            if self._digests.row_of(session := self._sessions[row]) is not None:
                yield self._digests.of(session)

    def _mentioned(self, row: int, type_: str) -> list[int]:
        """The things of a type that an entry mentions."""
        ends = np.array([row, row + 1], self._mentions.entries.dtype)  # of another type, all would be copied
        first, last = np.searchsorted(self._mentions.entries, ends)
        things = self._mentions.things[first:last]
        found: list[int] = things[self._mentions.types[things] == TYPES.index(type_)].tolist()
        return found

    def _ends(self, rows: Array) -> list[int]:
        """The latest rows that mention a file, then the first: where it was moved to, or first declared."""
        return list(dict.fromkeys([*self._with_files(rows[::-1]), *self._with_files(rows)]))

    def _with_files(self, rows: Array, count: int = _READ) -> list[int]:
        """The first of some rows that mention a file."""
        found = (row for row in rows[:_RUNS].tolist() if self._mentioned(row, "file"))
        return list(islice(found, count))

    def _failed(self, rows: Iterable[int]) -> list[int]:
        wanted = sorted(rows)
        columns = self._view.columns_at(wanted, "kind", "flags")
        failed = (columns["kind"] == Kind.RESULT) & (columns["flags"] & Flag.ERROR != 0)
        return [row for row, is_failed in zip(wanted, failed.tolist(), strict=True) if is_failed]

    def _other_halves(self, rows: Array, kind: Kind) -> dict[int, int]:
        """For calls their results, for results their calls: of the sessions of the last rows."""
        own = self._view.columns_at(rows.tolist(), "session", "call")
        sessions = list(dict.fromkeys(own["session"][::-1].tolist()))[:_SESSIONS]
        found: dict[int, int] = {}
        for session in sessions:
            columns = self._view.session_columns(session, "row", "kind", "call")
            wanted = (columns["kind"] == kind) & (columns["call"] != 0)
            halves = dict(zip(columns["call"][wanted].tolist(), columns["row"][wanted].tolist(), strict=True))
            mine = own["session"] == session
            calls = zip(rows[mine].tolist(), own["call"][mine].tolist(), strict=True)
            found |= {row: halves[call] for row, call in calls if call in halves}
        return found


def _declares(text: str, declared: re.Pattern[str]) -> bool:
    """Whether a text declares a thing, not counting lines that a patch takes away."""
    for each in declared.finditer(text):
        at = each.start() + 2 * (text[each.start()] == "\\")  # in JSON a line ends with two characters
        line = max(text.rfind("\n", 0, at), text.rfind("\\n", 0, at) + 1) + 1
        if text[line] != "-":
            return True
    return False


def _again(link: Link) -> Link:
    return Link(link.kind, link.type, link.name, link.times + 1, link.entry)


def _is_same(name: str, said: str) -> bool:
    """Whether an error of this name is what a line says."""
    words, others = set(name.split()), set(fingerprint(said).split())
    return len(words & others) >= _SAME * max(len(words), len(others), 1)


def _is_of(error: str, command: str) -> bool:
    """Whether a command may have met an error: what begins with another program's name is that one's."""
    first = error.removeprefix("line ").partition(" ")[0]
    return first == command.partition(" ")[0] or not is_reading((first,))


def _runs(name: str, run: str) -> bool:
    """Whether a command of this name is what was run: the program alone, or with its first argument."""
    return run == name or run.partition(" ")[0] == name
