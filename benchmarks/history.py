"""`fix`, `how` and `blame` measured on real logs: `python -m benchmarks.history --corpus DIR | --store FILE`.

The questions are drawn from the logs themselves, the same for the same seed, and the answers are where they
were drawn from:

    fix     a line of a failed result -> its session is found; a run or an answer tells what ended it
    how     what a call says it is for -> the command it ran, in any variant
    blame   a line that a change brought -> that change
    why     a line of a file that was written whole and then edited, as it stood in the end -> the change that
            brought it: the file is put together again from the calls of all sessions, line by line

Nothing of the logs is printed but counts, unless `--show` asks for the misses.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect import Memory
from recollect.config import load_config
from recollect.insight.commands import command_of, is_shell
from recollect.insight.turns import Turns
from recollect.insight.variants import plain_form, variant_key
from recollect.search.sentences import is_narration
from recollect.store.contract import View
from recollect.values.records import Flag, Kind
from recollect.values.stored import StoredEntry

_ERROR = re.compile(
    r"\b\w*(?:Error|Exception)\b\s*[:(]|\berror(?:\[\w+\])?:|\bfatal:|\bpanic:|\bFAILED\b|[Ff]ailed to|"
    r"[Cc]annot|not found|No such|undefined|denied|refused"
)
_PURPOSE = re.compile(r'"description":"([^"\\]{12,120})"')

Question = tuple[str, StoredEntry]
Row = tuple[str, str]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--corpus", type=Path)
    where.add_argument("--store", type=Path)
    parser.add_argument("--count", type=int, default=90, help="questions of each kind")
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--show", action="store_true", help="print each miss")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        store = args.store
        if store is None:
            os.environ["RECOLLECT_CACHE"] = f"{scratch}/cache"
            store = Path(scratch) / "memory.h5"
        with Memory.open(store, config=load_config(str(store))) as memory:
            if args.corpus:
                memory.ingest([args.corpus])
            memory.index()
            for rows in (_fix, _how, _blame, _why):
                for name, figure in rows(memory, random.Random(args.seed), args.count, args.show):
                    print(f"{name:40} {figure}")
    return 0


def _fix(memory: Memory, draw: random.Random, count: int, show: bool) -> Iterator[Row]:
    questions = _drawn(memory, draw, count, lambda each: _error_line(each, draw))
    first = found = run = told = cured = narrated = 0
    timer = _Timer()
    for line, stored in questions:
        answers = timer.time(lambda line=line: memory.fix(line))  # type: ignore[misc]
        sessions = [each.hit.stored.session for each in answers]
        first += sessions[:1] == [stored.session]
        found += stored.session in sessions
        if answers:
            run += bool(answers[0].ended_by)
            told += answers[0].is_told
            cured += answers[0].is_cured
            narrated += is_narration(answers[0].quote)
        _miss(show and stored.session not in sessions, "fix", line)
    yield "fix: questions", str(len(questions))
    yield "fix: its session among five / first", f"{_share(found, questions)} / {_share(first, questions)}"
    yield "fix: cured by a run / told / either", " / ".join(_share(n, questions) for n in (run, told, cured))
    yield "fix: the quote says only what comes next", _share(narrated, questions)
    yield "fix: median", timer.median


def _how(memory: Memory, draw: random.Random, count: int, show: bool) -> Iterator[Row]:
    questions = _drawn(memory, draw, count, _purpose)
    places, keys = list[int](), 0
    timer = _Timer()
    for purpose, stored in questions:
        wanted = _key_of(memory, stored)
        found = [variant_key(each.text) for each in timer.time(lambda said=purpose: memory.how(said))]  # type: ignore[misc]
        keys += len(found) - len(set(found))
        places.append(found.index(wanted) if wanted in found else 10)
        _miss(show and wanted not in found, "how", f"{purpose} -> {wanted}")
    yield "how: questions", str(len(questions))
    yield (
        "how: the command is first / in three / in ten",
        " / ".join(_share(sum(place < depth for place in places), questions) for depth in (1, 3, 10)),
    )
    yield "how: variants shown apart", str(keys)
    yield "how: median", timer.median


def _blame(memory: Memory, draw: random.Random, count: int, show: bool) -> Iterator[Row]:
    questions = _drawn(memory, draw, count, lambda each: _brought_line(each, draw))
    right = named = 0
    timer = _Timer()
    for asked, stored in questions:
        path, _, words = asked.partition("\n")
        found = timer.time(lambda path=path, words=words: memory.blame(path, words=words))  # type: ignore[misc]
        ids = {each.last.id for each in found}
        same = any(_edited(each.last) == _edited(stored) for each in found)
        earlier = any(each.last.entry.time_ms < stored.entry.time_ms for each in found)
        right += stored.id in ids or same or earlier
        named += any(each.prompt is not None for each in found)
        _miss(show and not (stored.id in ids or same or earlier), "blame", f"{path}: {words}")
    yield "blame: questions", str(len(questions))
    yield "blame: that change, or an earlier one", _share(right, questions)
    yield "blame: with the prompt that asked for it", _share(named, questions)
    yield "blame: median", timer.median


def _why(memory: Memory, draw: random.Random, count: int, show: bool) -> Iterator[Row]:
    """In a folder of their own, so that neither git nor a project's name helps."""
    files = _rebuilt(memory)
    places = [
        (file, at) for file in files for at, owner in enumerate(file.owners) if owner and file.is_asked(at)
    ]
    draw.shuffle(places)
    right, asked, reasons = dict[str, int](), dict[str, int](), 0
    timer = _Timer()
    with tempfile.TemporaryDirectory() as scratch:
        for file, at in places[: 4 * count]:
            path = Path(scratch) / file.name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(file.lines))
            with contextlib.chdir(scratch):
                found = timer.time(lambda name=file.name, at=at: memory.why(name.lstrip("/"), at + 1))  # type: ignore[misc]
            kind = "one edit" if len(file.brought[file.lines[at].strip()]) == 1 else "several edits"
            is_right = found.touch is not None and found.touch.last.id in file.same[file.owners[at]]
            asked[kind] = asked.get(kind, 0) + 1
            right[kind] = right.get(kind, 0) + is_right
            reasons += found.reason is not None
            _miss(show and not is_right, "why", f"{file.name}:{at + 1} {file.lines[at].strip()}")
    yield "why: files put together again / questions", f"{len(files)} / {sum(asked.values())}"
    for kind in sorted(asked):
        share = f"{right[kind]} of {asked[kind]} ({100 * right[kind] / asked[kind]:.0f} %)"
        yield f"why: that very edit, lines in {kind}", share
    yield "why: with a reason given", f"{reasons} of {sum(asked.values())}"
    yield "why: median", timer.median


@dataclass
class _File:
    """A file as calls made it: its lines, and for each the id of the call that brought it.

    `brought` has for each line's text the calls whose new text has it; `same` for each call those that make
    the very same change.
    """

    name: str
    lines: list[str]
    owners: list[str]
    brought: dict[str, set[str]]
    same: dict[str, set[str]]

    def is_asked(self, at: int) -> bool:
        return len(self.lines[at].strip()) >= 8


def _rebuilt(memory: Memory) -> list[_File]:
    """The files of which every change is known, since they were written whole and every edit fits."""
    changes: dict[str, list[tuple[int, str, Any]]] = {}
    with memory.view() as view:
        for row in range(len(view.session_rows())):
            course = Turns(view)[row]
            for stored in view.entries_at(course.all(Kind.CALL)):
                result = course.result_of(stored.row)
                for edit in _edited(stored) if result is not None and not course.has_failed(result) else ():
                    if edit.path.startswith("/"):
                        moment = stored.entry.time_ms
                        changes.setdefault(edit.path, []).append((moment, stored.id, edit))
    made = (_replayed(path, sorted(each, key=lambda one: one[0])) for path, each in sorted(changes.items()))
    return [file for file in made if file is not None]


def _replayed(path: str, changes: list[tuple[int, str, Any]]) -> _File | None:
    file: _File | None = None
    for _, call, edit in changes:
        if edit.is_whole:
            old = file or _File(path, [], [], {}, {})
            new = edit.new
        elif file is None or "\n".join(file.lines).count(edit.old) != 1 or not edit.old:
            return None  # what it changed is not what is known
        else:
            old, new = file, "\n".join(file.lines).replace(edit.old, edit.new)
        lines = new.split("\n")
        owners = [call] * len(lines)
        for block in difflib.SequenceMatcher(None, old.lines, lines, autojunk=False).get_matching_blocks():
            owners[block.b : block.b + block.size] = old.owners[block.a : block.a + block.size]
        for line in edit.new.split("\n"):
            old.brought.setdefault(line.strip(), set()).add(call)
        old.same.setdefault(call, {each for _, each, other in changes if other == edit})
        file = _File(path, lines, owners, old.brought, old.same)
    return file if file is not None and len(changes) > 2 else None


# -- questions -------------------------------------------------------------------------------------


def _drawn(
    memory: Memory, draw: random.Random, count: int, question: Callable[[StoredEntry], str]
) -> list[Question]:
    """At most one question a session, no two alike."""
    found: dict[str, StoredEntry] = {}
    with memory.view() as view:
        sessions = list(range(len(view.session_rows())))
        draw.shuffle(sessions)
        for session in sessions:
            asked = next(
                filter(None, (_asked(each, question) for each in _entries(view, session, draw))), None
            )
            if asked and asked[0] not in found:
                found[asked[0]] = asked[1]
            if len(found) == count:
                break
    return list(found.items())


def _asked(stored: StoredEntry, question: Callable[[StoredEntry], str]) -> Question | None:
    text = question(stored)
    return (text, stored) if text else None


def _entries(view: View, session: int, draw: random.Random) -> Iterator[StoredEntry]:
    columns = view.session_columns(session, "row", "kind")
    rows = columns["row"][(columns["kind"] == Kind.CALL) | (columns["kind"] == Kind.RESULT)].tolist()
    draw.shuffle(rows)
    return (view.entries_at([row])[0] for row in rows[:60])


def _error_line(stored: StoredEntry, draw: random.Random) -> str:
    if stored.entry.kind != Kind.RESULT or not stored.entry.flags & Flag.ERROR:
        return ""
    lines = [line.strip() for line in stored.entry.text.splitlines()]
    fitting = [line for line in lines if 20 <= len(line) <= 240 and _ERROR.search(line)]
    return draw.choice(fitting) if fitting else ""


def _purpose(stored: StoredEntry) -> str:
    found = _PURPOSE.search(stored.entry.text) if is_shell(stored.entry) else None
    return re.sub(r"[^\w\s]", " ", found[1]) if found else ""


def _brought_line(stored: StoredEntry, draw: random.Random) -> str:
    lines = [
        f"{edit.path}\n{line.strip()}"
        for edit in _edited(stored)
        for line in edit.new.splitlines()
        if len(line.strip()) >= 24 and line.strip() not in edit.old
    ]
    return draw.choice(lines) if lines else ""


def _edited(stored: StoredEntry) -> list[Any]:
    from recollect.agents.registry import all_tools

    if stored.entry.kind != Kind.CALL or stored.entry.tool.lower() not in all_tools().change:
        return []
    return [change for edited in all_tools().edited for change in edited(stored.entry.text)]


def _key_of(memory: Memory, stored: StoredEntry) -> str:
    folder = memory.session(stored.session).facts.cwd
    return variant_key(plain_form(command_of(stored.entry), folder))


# -- figures ---------------------------------------------------------------------------------------


class _Timer:
    def __init__(self) -> None:
        self._seconds = list[float]()

    def time(self, ask: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        answer = ask()
        self._seconds.append(time.perf_counter() - started)
        return answer

    @property
    def median(self) -> str:
        return f"{statistics.median(self._seconds) * 1000:.0f} ms" if self._seconds else "none"


def _share(count: int, questions: Sequence[Question]) -> str:
    return f"{100 * count / max(len(questions), 1):.0f} %"


def _miss(is_one: bool, kind: str, what: str) -> None:
    if is_one:
        print(f"  {kind} missed: {what[:200]!r}")


if __name__ == "__main__":
    raise SystemExit(main())
