"""One small life of a store, told in steps, and what must be true of it wherever it is cut.

The sources lie outside the store's folder and are never cut. `Story.states[n]` is what
a reader sees after step n of an undisturbed run; a store found after a crash must show
the state of the last acknowledged step, or of the one that was under way. A step that commits several
times is held to each commit that returned: `Story.between[n]` is what is seen after each of step n.

`stories.py` tells other lives.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

from tests.support import DATA

from recollect.config import Config
from recollect.intake.discover import discover
from recollect.intake.notes import decisions
from recollect.light.disk import Disk
from recollect.light.journal import Journal
from recollect.memory import Memory
from recollect.recall.saved import saved
from recollect.store.contract import View
from recollect.store.derived import DerivedTable, Rewrite
from recollect.store.hdf5.check import check_path
from recollect.store.hdf5.engine import Hdf5Store
from recollect.testing.derived import COLUMNS, ROWS, listed, make
from recollect.values.errors import RecollectError, StoreMissing
from recollect.values.records import Segment
from recollect.values.stored import source_bytes

HOST = "here"
STORE = "memory.h5"
TEMPORARY = (
    ".tmp",
    ".tmp-redo",
    ".tmp-redo-new",
    ".new",
    ".new-redo",
    ".new-redo-new",
)  # what a killed writer leaves; test_failing_calls asks after those

CARRIED = DerivedTable("carried", 1, COLUMNS, Rewrite.CARRY)

State = dict[str, Any]


class QuietDisk(Disk):
    """The real file system without waiting for it: no test here cuts the power for real."""

    def sync(self, fd: int) -> None: ...

    def sync_data(self, fd: int) -> None: ...

    def sync_folder(self, folder: Path) -> None: ...


def memory(store: Hdf5Store) -> Memory:
    """The product over a store whose disk is ours."""
    return Memory(store, Config(store.path, HOST))


def ingest(store: Hdf5Store, paths: list[Path]) -> None:
    memory(store).ingest(paths)


def only_recover(store: Hdf5Store) -> None:
    """What any next writer does first."""
    with store.writer():
        pass


def derive(store: Hdf5Store) -> None:
    """Bring a derived table up to date that a rewrite drops, and one that it carries."""
    with store.writer() as writer:
        built = {table.name: table.built_to for table in writer.view().derived_tables()}
        for table in (ROWS, CARRIED):
            if built.get(table.name, 0) < 40:  # a commit that failed may have been made all the same
                writer.add_derived(table, make(writer.view(), 0, 40), built_to=40)
        writer.commit()


def state_of(store: Hdf5Store) -> State:
    """Everything a reader can see, in an order that does not depend on how it got there."""
    with memory(store).view() as seen:
        return state_of_view(seen)


def state_of_view(seen: View) -> State:
    sources, sessions = {}, {}
    for source in seen.sources():
        data = b"".join(source_bytes(source, seen.lines(source)))
        assert source.thinned or source.cursor.offset <= len(data), (
            f"{source.file.path}: the cursor is ahead of the data"
        )
        place = source.host, source.file.path
        older = sum(each[:2] == place for each in sources) + 1
        key = *place, older if source.superseded else 0
        assert key not in sources, f"{source.file.path} is there twice"
        sources[key] = (hashlib.sha256(data).hexdigest(), len(data), source.lines)
    for session in seen.sessions():
        shown = [(e.id, e.type, e.entry) for e in seen.entries(session)]
        assert len(shown) == session.entries, (
            f"{session.facts.id}: {len(shown)} entries, not {session.entries}"
        )
        # Sorted: a session shows its transcript and its spilled results in the order they were taken.
        digest = hashlib.sha256(repr(sorted(map(repr, shown))).encode("utf-8", "surrogatepass")).hexdigest()
        assert session.facts.id not in sessions, f"session {session.facts.id} is there twice"
        sessions[session.facts.id] = (len(shown), digest)
    info, usage = seen.info(), seen.usage()
    return {
        "sources": sources,
        "sessions": sessions,
        "lines": info.lines,
        "entries": info.entries,
        "responses": info.responses,
        "tokens": int(usage.input.sum()) + int(usage.output.sum()),
        "derived": [
            (table, table.rows, table.built_to, listed(seen.derived(table)))
            for table in seen.derived_tables()
        ],
        "vectors": {
            model.name: hashlib.sha256(b"".join(part.tobytes() for part in seen.vectors(model))).hexdigest()
            for model in seen.vector_models()
        },
        "saved": [(thread.id, thread.name, len(thread.pieces)) for thread in saved(seen)],
        "decided": decisions(seen, seen.session_clues()),
    }


@dataclass
class Story:
    """Sources that grow, and the steps that bring them into a store. A told folder is used again."""

    folder: Path
    states: list[State | None] = field(default_factory=list)
    between: dict[int, list[State | None]] = field(default_factory=dict)
    final: State = field(default_factory=dict)

    name: ClassVar[str] = "life"
    grown_from: ClassVar[int] = 7  # the first step before which the sources are whole
    kept: ClassVar[tuple[str, ...]] = (
        "derived",
        "vectors",
        "saved",
        "decided",
    )  # what an ingest neither makes nor loses
    is_repeatable: ClassVar[bool] = True  # a step that failed may simply be taken again
    told_as: ClassVar[tuple[str, ...]] = (STORE,)  # what an error must name one of
    raises: ClassVar[tuple[type[Exception], ...]] = (RecollectError,)  # what a step that fails may raise

    def __post_init__(self) -> None:
        self.swept, self.live, self.probed = (self.folder / n for n in ("swept", "live", "probed"))
        codex = sorted((DATA / "codex").glob("*.jsonl"))
        self.live_file, self.probe_file = self.live / codex[1].name, self.probed / codex[2].name
        if not self.folder.exists():
            shutil.copytree(DATA / "claude", self.swept)
            self.live.mkdir()
            self.probed.mkdir()
            shutil.copy(codex[1], self.live)
            shutil.copy(codex[2], self.probed)
        claude = DATA / "claude"
        self.whole = {
            self.swept / p.relative_to(claude): p.read_bytes() for p in sorted(claude.rglob("*.jsonl"))
        }

    @property
    def everything(self) -> list[Path]:
        return [self.swept, self.live, self.probed]

    def steps(self) -> list[Callable[[Hdf5Store], object]]:
        """What happens after the store was made, one acknowledgement each."""
        pieces = self.segments(self.live_file, 5)
        return [
            lambda store: ingest(store, [self.swept]),
            lambda store: store.append(pieces[0]),
            lambda store: store.append(pieces[1]),
            lambda store: memory(store).checkpoint(),
            lambda store: store.append(pieces[2]),
            lambda store: self.grow() or ingest(store, [self.swept]),
            lambda store: derive(store),
            lambda store: store.append(pieces[3]),
            lambda store: memory(store).compact(),
            lambda store: store.append(pieces[4]),
            lambda store: memory(store).checkpoint(),
        ]

    def prepare(self, step: int) -> None:
        """Sources as they are before a step."""
        self.grow() if step >= self.grown_from else self.shrink()

    def shrink(self) -> None:
        """Sources as they are when the story begins: half of every transcript."""
        for path, data in self.whole.items():
            path.write_bytes(data[: data.rfind(b"\n", 0, len(data) // 2) + 1])

    def grow(self) -> None:
        for path, data in self.whole.items():
            path.write_bytes(data)

    def segments(self, path: Path, count: int) -> list[Segment]:
        """A file's lines as that many journal segments."""
        (found,) = discover([path]).found
        lines = path.read_bytes().splitlines(keepends=True)
        size = max(len(lines) // count, 1)
        pieces, at = [], 0
        for n in range(count):
            data = b"".join(lines[n * size : (n + 1) * size if n < count - 1 else None])
            pieces.append(Segment(found.file, HOST, at, data))
            at += len(data)
        return pieces

    @contextlib.contextmanager
    def set_up(self, disk: Disk) -> Iterator[None]:
        """What is otherwise than in the product while this story is played."""
        yield

    def play(self, path: Path, disk: Disk, tell: Callable[[str, int], object], *, last: int = 99) -> None:
        """Make the store and take every step, telling of each one's start, commits and acknowledgement."""
        self.shrink()
        with self.set_up(disk), telling_commits(path, tell):
            tell("start", 0)
            with Hdf5Store.open(path, create=True, disk=disk) as store:
                tell("ack", 0)
                for n, step in enumerate(self.steps()[:last], 1):
                    tell("start", n)
                    step(store)
                    tell("ack", n)

    def act(self, step: int, path: Path, disk: Disk) -> None:
        """One step alone, from opening the store to closing it."""
        self.prepare(step)
        with self.set_up(disk), Hdf5Store.open(path, create=step == 0, disk=disk) as store:
            if step:
                self.steps()[step - 1](store)

    def learn(self, scratch: Path) -> None:
        """An undisturbed run: what a reader sees after each step and commit, and at the very end."""

        def look(what: str, step: int) -> None:
            if what == "ack":
                self.states.append(self.seen(scratch / STORE))
            elif what == "commit" and self.states:
                self.between.setdefault(len(self.states), []).append(self.seen(scratch / STORE))

        scratch.mkdir()
        self.play(scratch / STORE, QuietDisk(), look)
        self.grow()
        with Hdf5Store.open(scratch / "clean.h5", create=True, disk=QuietDisk()) as store:
            ingest(store, self.everything)
            self.final = state_of(store)

    def seen(self, path: Path) -> State | None:
        """What a reader finds there; None for no store."""
        with Hdf5Store(path, disk=QuietDisk()) as store:
            try:
                return state_of(store)
            except StoreMissing:
                return None

    def allowed(self, acked: int, under_way: int, commits: int | None = None) -> list[State | None]:
        """What may be seen after a crash: all of what was acknowledged, all or nothing of the rest.

        `commits`: how many of the step under way had returned, where that is known.
        """
        before = self.states[acked] if acked >= 0 else None
        if under_way == acked:
            return [before]
        ladder = [before, *self.between.get(under_way, [])]
        last = None if commits is None else commits + 2
        return _distinct([*ladder[commits or 0 : last], self.states[under_way]])

    def recoveries(self) -> list[Callable[[Hdf5Store], None]]:
        """What may follow a crash: a writer that writes nothing, or one that takes in everything."""
        return [only_recover, self.ingest_again]

    def ingest_again(self, store: Hdf5Store) -> None:
        self.grow()
        ingest(store, self.everything)

    def completed(self, allowed: list[State | None]) -> list[State | None]:
        """What `ingest_again` makes of any of these."""
        return [
            self.final | {part: state[part] for part in self.kept} for state in allowed if state is not None
        ]

    def is_allowed(self, seen: State | None, allowed: list[State | None]) -> bool:
        return seen in allowed

    def check(self, folder: Path, allowed: list[State | None], *, complete: bool = True) -> None:
        """A folder found after a crash: nothing acknowledged is lost, and the next run completes it."""
        before = hashes(folder)
        seen = self.seen(folder / STORE)
        assert self.is_allowed(seen, allowed), difference(seen, allowed)
        assert hashes(folder) == before, "a reader changed a file"
        if complete:
            self.complete(folder / STORE)

    def complete(self, path: Path, disk: Disk | None = None) -> None:
        """The next append and the next ingest give exactly what a clean run gives."""
        self.grow()
        if path.exists():
            assert [finding for finding in check_path(path) if finding.level == "error"] == []
        with Hdf5Store.open(path, create=True, disk=disk or QuietDisk()) as store:
            (probe,) = self.segments(self.probe_file, 1)
            number = store.append(probe)
            assert number in [n for n, _ in store.pending()], "a fresh append counts as folded already"
            ingest(store, self.everything)
            self.check_complete(state_of(store))
            assert list(store.pending()) == []
        left = sorted(p.name for p in path.parent.iterdir() if not self.may_stay(p))
        assert left == [], f"left behind: {left}"

    def check_complete(self, seen: State) -> None:
        final = self.final | {part: seen[part] for part in self.kept}
        assert seen == final, difference(seen, [final])

    def may_stay(self, path: Path) -> bool:
        """Whether a file may lie in the store's folder when everything is done."""
        return path.name == STORE or path.name.endswith(TEMPORARY)


@contextlib.contextmanager
def telling_commits(path: Path, tell: Callable[[str, int], object]) -> Iterator[None]:
    """Have each commit, each append and each rewrite of a store told the moment it returns."""
    commit_really, append_really, replace_really = Hdf5Store._commit, Journal.append, Hdf5Store.replacement

    def commit(self: Hdf5Store, *given: Any) -> None:
        commit_really(self, *given)
        if self.path.name == path.name:
            tell("commit", 0)

    def append(self: Journal, payload: bytes) -> int:
        number = append_really(self, payload)
        tell("commit", 0)
        return number

    @contextlib.contextmanager
    def replacement(self: Hdf5Store, *given: Any, **named: Any) -> Iterator[Any]:
        with replace_really(self, *given, **named) as made:
            yield made
        tell("commit", 0)

    with (
        mock.patch.object(Hdf5Store, "_commit", commit),
        mock.patch.object(Hdf5Store, "replacement", replacement),
        mock.patch.object(Journal, "append", append),
    ):
        yield


def _distinct(states: list[State | None]) -> list[State | None]:
    return [state for n, state in enumerate(states) if state not in states[:n]]


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() + oct(p.stat().st_mode)
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def difference(seen: State | None, allowed: list[State | None]) -> str:
    """The parts in which a state is none of the allowed ones."""
    if seen is None or None in allowed:
        return f"saw {'no store' if seen is None else 'a store'}"
    parts = [k for k in seen if all(a is None or seen[k] != a.get(k) for a in allowed)]
    return "".join(f"\n{k}: {seen[k]}\nallowed: {[a and a.get(k) for a in allowed]}" for k in parts or seen)
