"""Why a line is in a file: the change that brought it, what asked for that, and the reason given.

A change brought a line if the text it wrote has that line and the text it replaced has not; a file that is
written anew brings only what it had not. Of several the one counts whose neighbouring lines are those that
stand around the line today, then the latest. Where no change of this file is known, one counts that brought
the line into another file, if the line says enough to be known again; then the commit that git says it is of.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recollect.agents.registry import all_tools
from recollect.insight.blame import FileCall, calls_on, edits_of, recency, touch_of
from recollect.insight.blame_commit import makers_of
from recollect.insight.commands import command_of, is_shell
from recollect.insight.preferences import gist, sentences
from recollect.insight.repository import Repository
from recollect.insight.shell import COMMAND_CHARS_MAX, simple_commands
from recollect.insight.turns import Turns
from recollect.search.query import AllOf, Is, Phrase
from recollect.search.run import Search
from recollect.values.digests import Statement
from recollect.values.history import Change, CommitBlame, Why
from recollect.values.records import Kind
from recollect.values.stored import StoredEntry

NEIGHBOURS = 3  # lines above and below that tell two places of the same text apart
ELSEWHERE_MAX = 200  # calls that are looked through for a line of another file
_TELLING_CHARS = 12  # a shorter line says too little to be known again elsewhere
_REASON_CHARS = 240


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file as it is now; `path` is what its repository calls the file, `folder` where it lies."""

    path: str
    folder: str
    number: int
    lines: Sequence[str]
    project: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def text(self) -> str:
        return self.lines[self.number - 1].strip()


def why(search: Search, line: Line, repository: Repository) -> Why:
    """The change that brought a line; `found_by` is "" where nobody can know."""
    calls = [each for each in calls_on(search, line.path) if each.edits]
    for found_by, found in _candidates(search, calls, line):
        if found:
            best = _best(found, line)
            touch = touch_of(search, best, [each for each in calls if _is_beside(each, best)] or [best])
            reason = _reason(search, best.stored)
            return Why(line.path, line.number, line.text, found_by, touch, reason, len(found) - 1)
    commit = repository.commit_of_line(line.name, line.number, line.lines)
    if commit is None:
        return Why(line.path, line.number, line.text, git_fails=not repository.is_read())
    made = tuple(makers_of(search.view, commit, commit.hash))
    found_by = "commit" if made else ""
    told = CommitBlame(commit.hash, commit, made)
    return Why(line.path, line.number, line.text, found_by, commit=told)


def _candidates(
    search: Search, calls: Sequence[FileCall], line: Line
) -> Iterator[tuple[str, list[FileCall]]]:
    """The changes that may have brought the line, the surest kind first, each looked for when asked for."""
    here = [each for each in calls if _is_here(search, each, line)]
    yield "edit", _brought(here, line)
    holding = _holding(search, line) if _tells(line) else []
    yield "edit", _in_shell(search, holding, line)
    if holding or "/" in line.path:  # a bare name is that of many files
        yield "text", _brought([each for each in calls if each not in here], line)
    yield "text", _elsewhere(search, holding, line)


def _is_here(search: Search, call: FileCall, line: Line) -> bool:
    """Whether a call is of the line's project, or was made in a folder that the file lies below."""
    facts = search.sessions[call.stored.session_row].facts
    below = facts.cwd.rstrip("/")
    return facts.project == line.project or (bool(below) and f"{line.folder}/".startswith(f"{below}/"))


def _is_beside(call: FileCall, other: FileCall) -> bool:
    return call.stored.session_row == other.stored.session_row


# -- which change ----------------------------------------------------------------------------------


def _brought(calls: Sequence[FileCall], line: Line) -> list[FileCall]:
    """The changes that brought the line and were not undone since; all that ever did where none is left."""
    alive: dict[str, list[FileCall]] = {}
    every: list[FileCall] = []
    counts: dict[str, int] = {}
    known: set[tuple[Change, ...]] = set()
    for call in sorted(calls, key=recency):
        for path in {each.path for each in call.edits}:
            edits = [each for each in call.edits if each.path == path]
            before, after = (
                sum(_count(text, line.text) for text in side)
                for side in ([each.old for each in edits], [each.new for each in edits])
            )
            if any(each.is_whole for each in edits):
                before = counts.get(path, 0)
            counts[path] = counts.get(path, 0) + after - before
            if after > before and call.edits not in known:
                alive.setdefault(path, []).append(call)
                every.append(call)
            elif after < before and counts[path] <= 0:
                alive.pop(path, None)
                counts[path] = 0
        known.add(call.edits)
    return [call for left in alive.values() for call in left] or every


def _count(text: str, line: str) -> int:
    return sum(each.strip() == line for each in text.splitlines()) if line in text else 0


def _best(found: Sequence[FileCall], line: Line) -> FileCall:
    around = _around(line.lines, line.number - 1)
    return max(found, key=lambda each: (_fit(each, line.text, around), *recency(each)))


def _fit(call: FileCall, text: str, around: set[tuple[str, str]]) -> float:
    """How much of what stands around the line today also stands around it in the change: in tenths."""
    best = 0.0
    for edit in call.edits:
        lines = edit.new.splitlines()
        for at, each in enumerate(lines):
            if each.strip() == text:
                beside = _around(lines, at)
                known = min(len(beside), len(around))
                best = max(best, (len(beside & around) + 0.5) / (known + 1))
    return round(best, 1)


def _around(lines: Sequence[str], at: int) -> set[tuple[str, str]]:
    """The nearest lines above and below that say something."""
    above = (lines[n].strip() for n in range(at - 1, -1, -1))
    below = (lines[n].strip() for n in range(at + 1, len(lines)))
    return {
        (side, line)
        for side, found in (("above", above), ("below", below))
        for line in itertools.islice((each for each in found if len(each) > 2), NEIGHBOURS)
    }


# -- in other places -------------------------------------------------------------------------------


def _tells(line: Line) -> bool:
    return len(line.text) >= _TELLING_CHARS and len(_WORD.findall(line.text)) > 1


def _holding(search: Search, line: Line) -> list[StoredEntry]:
    """The calls whose text has all words of the line in order, the newest first."""
    rows = search.rows(AllOf((Is("kind", "call"), Phrase(line.text))), ELSEWHERE_MAX)
    turns = Turns(search.view)
    return [
        each
        for each in search.view.entries_at(rows.tolist())
        if (result := (course := turns[each.session_row]).result_of(each.row)) is None
        or not course.has_failed(result)
    ]


def _in_shell(search: Search, holding: Sequence[StoredEntry], line: Line) -> list[FileCall]:
    """Commands of this project that wrote the line into a file of this name."""
    found: list[FileCall] = []
    for stored in holding:
        call = FileCall(stored, _written(stored, line), is_change=True)
        if call.edits and _is_here(search, call, line):
            found.append(call)
    return found


def _written(stored: StoredEntry, line: Line) -> tuple[Change, ...]:
    if not is_shell(stored.entry):
        return ()
    command = command_of(stored.entry)[:COMMAND_CHARS_MAX]
    if not _count(command, line.text):
        return ()
    targets = (
        path
        for part in simple_commands(command)
        for path in (*part.writes, *_teed(part.program, part.arguments))
    )
    return tuple(Change(path, "", command) for path in targets if path.rpartition("/")[2] == line.name)[:1]


def _teed(program: str, arguments: Sequence[str]) -> Sequence[str]:
    return arguments if program == "tee" else ()


def _elsewhere(search: Search, holding: Sequence[StoredEntry], line: Line) -> list[FileCall]:
    """Changes of other files that brought the line: it may have been moved, or the file renamed."""
    calls = [
        FileCall(each, tuple(edits_of(each.entry)), is_change=True)
        for each in holding
        if each.entry.tool.lower() in all_tools().change
    ]
    brought = _brought(calls, line)
    return [each for each in brought if _is_here(search, each, line)] or brought


# -- the reason ------------------------------------------------------------------------------------


def _reason(search: Search, call: StoredEntry) -> Statement | None:
    """What was said for a change in its turn: a sentence that gives a reason, else the last one before it."""
    course = Turns(search.view)[call.session_row]
    turn = course.rows_of(course.turn_at(call.row))
    answers = search.view.entries_at(course.only(turn, Kind.ANSWER))
    before = [each for each in answers if each.row < call.row][::-1]
    after = [each for each in answers if each.row > call.row]
    for said in (*before, *after):
        for sentence in sentences(said.entry.text):
            if _BECAUSE.search(sentence):
                return Statement(sentence, said.id)
    for said in (*before[:1], *after[-1:]):
        if text := gist(said.entry.text, 1):
            return Statement(text[:_REASON_CHARS], said.id)
    return None


_WORD = re.compile(r"\w{2,}")
_BECAUSE = re.compile(
    r"\b(?:because|so that|since (?:the|it|we|this)|otherwise|to (?:avoid|prevent|ensure|keep|make sure)"
    r"|in order to|(?:the|root) (?:cause|problem|issue|reason|bug) (?:is|was)"
    r"|this (?:ensures|prevents|fixes|avoids|way)|due to|which (?:means|caused|breaks|broke|led))\b"
    r"|ため|なので|原因",
    re.IGNORECASE,
)
