"""Other lives of a store: what a person or a machine does with it, each step acknowledged.

Every story is recorded, cut, failed and killed by the same harness. A new way to write a store needs a story.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
from tests.faults.chroma import ChromaStory
from tests.faults.erasing import ErasingStory, JoinedErasureStory, MaskingStory
from tests.faults.mirroring import MirroringStory
from tests.faults.relating import RelatingStory
from tests.faults.saving import SavingStory
from tests.faults.story import (
    HOST,
    STORE,
    QuietDisk,
    State,
    Story,
    derive,
    difference,
    ingest,
    memory,
    only_recover,
    state_of,
)
from tests.faults.world import RecordingDisk
from tests.support import DATA
from tests.support.logs import said, uuid_of

from recollect.config import Config
from recollect.hooks.settle import follow_stored
from recollect.insight import understood as tables
from recollect.insight.derive import derive as derive_all
from recollect.insight.digest import kept
from recollect.insight.entities.profile import Entities
from recollect.intake import ingest as ingest_module
from recollect.intake import workers
from recollect.light import disk as disk_module
from recollect.light import journal as journal_module
from recollect.light.capture import Capture
from recollect.light.disk import Disk
from recollect.light.journal import journal_path
from recollect.light.journal_frames import AROUND_BYTES
from recollect.light.store_header import redo_path
from recollect.memory import Memory, retained
from recollect.recall.saved import Edit, edit, save
from recollect.search.digest_rows import DIGESTS, DigestRows
from recollect.search.evicted import EVICTIONS
from recollect.search.ties import kept_ties
from recollect.store import derived as derived_module
from recollect.store.hdf5 import engine, mend
from recollect.store.hdf5.check import check_path
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.assembly import Assembly, Facet, Piece, Plan, Share
from recollect.values.errors import RecollectError, StoreCorrupt
from recollect.values.hits import Fresh
from recollect.values.retention import RetentionSettings
from recollect.values.stored import VectorModel

Step = Callable[[Hdf5Store], object]


class BulkStory(Story):
    """A large ingest: other processes parse, and the writer commits many times before it is done."""

    name = "bulk"
    grown_from = 4

    def __post_init__(self) -> None:
        fresh = not self.folder.exists()
        super().__post_init__()
        self.bulk = self.folder / "bulk"
        if fresh:
            shutil.copytree(DATA / "codex", self.bulk)

    @property
    def everything(self) -> list[Path]:
        return [self.bulk, self.swept, self.live, self.probed]

    @contextlib.contextmanager
    def set_up(self, disk: Disk) -> Iterator[None]:
        with (
            mock.patch.object(ingest_module, "COMMIT_BYTES", 12 << 10),
            mock.patch.object(workers, "PARCEL_BYTES", 8 << 10),
        ):
            yield

    def steps(self) -> list[Step]:
        piece = self.segments(self.live_file, 1)[0]
        return [
            lambda store: ingest(store, [self.swept]),
            lambda store: store.append(piece),
            lambda store: self._ingest_with_workers(store),
            lambda store: memory(store).checkpoint(),
        ]

    def learn(self, scratch: Path) -> None:
        super().learn(scratch)
        assert len(self.between[3]) >= 4, "a large ingest commits as it goes"

    def _ingest_with_workers(self, store: Hdf5Store) -> None:
        self.grow()
        with mock.patch.object(workers, "WORTH_BYTES", 1):
            ingest(store, [self.bulk, self.swept])


class HeldStory(Story):
    """Readers keep commits from being put in place: these wait in the redo file, one or two."""

    name = "held"
    grown_from = 5

    @contextlib.contextmanager
    def set_up(self, disk: Disk) -> Iterator[None]:
        with mock.patch.object(engine, "_APPLY_SECONDS", 0.0):
            yield

    def steps(self) -> list[Step]:
        pieces = self.segments(self.live_file, 3)
        return [
            lambda store: ingest(store, [self.swept]),
            lambda store: store.append(pieces[0]),
            while_read(lambda store: memory(store).checkpoint()),
            while_read(self._grow_and_derive),
            lambda store: store.append(pieces[1]),
            lambda store: memory(store).checkpoint(),
            lambda store: store.append(pieces[2]),
            while_read(self._checkpoint_and_compact),
            while_read(derive),
            lambda store: memory(store).reparse(),
        ]

    def _grow_and_derive(self, store: Hdf5Store) -> None:
        self.grow()
        ingest(store, [self.swept])
        derive(store)

    def _checkpoint_and_compact(self, store: Hdf5Store) -> None:
        memory(store).checkpoint()
        assert redo_path(store.path).exists(), "the reader did not hold it back"
        memory(store).compact()


def while_read(step: Step) -> Step:
    """The same while somebody reads the store."""

    def held(store: Hdf5Store) -> None:
        with Hdf5Store(store.path, disk=QuietDisk()) as other, other.view():
            step(store)

    return held


class KeepingStory(Story):
    """What a person keeps: vectors, derived tables, saved threads, what was decided about projects, copies;
    and everything derived again.
    """

    name = "keeping"
    grown_from = 99
    is_repeatable = False  # a copy that has its name already is refused
    told_as = (STORE, "first.h5", "second.h5")
    COPIES = "copies/of"

    @contextlib.contextmanager
    def set_up(self, disk: Disk) -> Iterator[None]:
        def open_copy(at: Path, *, create: bool) -> Hdf5Store:
            return Hdf5Store.open(at, create=create, disk=disk)

        with mock.patch("recollect.memory.upkeep.open_store", open_copy):
            yield

    def steps(self) -> list[Step]:
        pieces = self.segments(self.live_file, 2)
        return [
            lambda store: ingest(store, [self.swept]),
            add_vectors,
            derive,
            lambda store: store.append(pieces[0]),
            lambda store: memory(store).snapshot(self.copy(store, "first")),
            save_thread,
            edit_thread,
            rename_project,
            label_project,
            lambda store: memory(store).reparse(),
            lambda store: memory(store).snapshot(self.copy(store, "second")),
            lambda store: store.append(pieces[1]),
            lambda store: memory(store).compact(),
        ]

    def copy(self, store: Hdf5Store, name: str) -> Path:
        return store.path.parent / self.COPIES / f"{name}.h5"

    def seen(self, path: Path) -> State | None:
        seen = super().seen(path)
        copies = sorted((path.parent / self.COPIES).glob("*.h5"))
        return seen and seen | {
            "copies": {each.name: super(KeepingStory, self).seen(each) for each in copies}
        }

    def learn(self, scratch: Path) -> None:
        super().learn(scratch)
        # The first copy has its name before the journal's tail, there since step 4, is folded into it.
        before, without_tail = self.states[4], self.states[3]
        assert before is not None
        assert without_tail is not None
        copy = {part: value for part, value in without_tail.items() if part != "copies"}
        last = self.states[-1]
        assert last is not None
        assert (len(last["copies"]), list(last["vectors"]), len(last["saved"])) == (2, ["toy"], 1)
        assert [each.op for each in last["decided"]] == ["rename", "label"]
        self.between[5] = [before | {"copies": {"first.h5": copy}}]

    def recoveries(self) -> list[Callable[[Hdf5Store], None]]:
        return [only_recover]

    def check_complete(self, seen: State) -> None:
        for part in ("sources", "sessions"):
            missing = self.final[part].items() - seen[part].items()
            assert not missing, f"{part}: {missing}"

    def may_stay(self, path: Path) -> bool:
        return super().may_stay(path) or path.name == "copies"


MODEL = VectorModel("toy", "1", 8)


def add_vectors(store: Hdf5Store) -> None:
    with store.writer() as writer:
        writer.add_vectors(MODEL, np.arange(60, dtype="<u8"), np.eye(60, 8, dtype="<f2"))
        writer.commit()


def save_thread(store: Hdf5Store) -> None:
    with store.writer() as writer:
        session = writer.view().sessions()[0]
        entries = list(writer.view().entries(session))[:3]
        ids = tuple(entry.id for entry in entries)
        rows = tuple(entry.row for entry in entries)
        piece = Piece(session, 0, 1, rows, ids, ids[:1], 10, 1.0, 0, ("text",))
        plan = Plan("a thread", (Facet("a thread", ()),))
        share = Share("a thread", 100, 10, 1)
        made = Assembly("a thread", 100, plan, (), (share,), (piece,), 10, 1, Fresh(0, 0, 0))
        with mock.patch.object(uuid, "uuid4", return_value=uuid.UUID(int=7)):
            save(writer, HOST, made, "kept", now_ms=1)
        writer.commit()


def edit_thread(store: Hdf5Store) -> None:
    with store.writer() as writer:
        edit(writer, "kept", Edit("rename", 0, 0, "kept on"), now_ms=2)
        writer.commit()


def rename_project(store: Hdf5Store) -> None:
    first = min(each.name for each in memory(store).projects())
    with mock.patch("recollect.memory.naming.now_ms", return_value=3):
        memory(store).rename_project(first, "Quay")


def label_project(store: Hdf5Store) -> None:
    with mock.patch("recollect.memory.naming.now_ms", return_value=4):
        memory(store).label_project("Quay", "domain=ships")


class MergingStory(Story):
    """Another store is merged, twice: all of it or nothing, and what hooks appended meanwhile stays."""

    name = "merging"
    grown_from = 7

    def __post_init__(self) -> None:
        fresh = not self.folder.exists()
        super().__post_init__()
        self.other = self.folder / "laptop.h5"
        if fresh:
            logs = self.folder / "laptop" / "projects" / "-srv-demo"
            for number in (71, 72):  # the first of them has a line of the second one too
                told = [said(n, f"said {n} on the other machine", number) for n in range(20)]
                path = logs / f"{uuid_of(number)}.jsonl"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(b"\n".join([said(99, "said twice", 72), *told]) + b"\n")
            with Hdf5Store.open(self.other, create=True, disk=QuietDisk()) as store:
                Memory(store, Config(store.path, "laptop")).ingest([logs])
                add_vectors(store)

    def steps(self) -> list[Step]:
        pieces = self.segments(self.live_file, 3)
        return [
            lambda store: ingest(store, [self.swept]),
            derive,
            lambda store: store.append(pieces[0]),
            self.merge,
            lambda store: store.append(pieces[1]),
            lambda store: self.grow() or ingest(store, [self.swept]),
            lambda store: store.append(pieces[2]),
            self.merge,
            lambda store: memory(store).checkpoint(),
        ]

    def merge(self, store: Hdf5Store) -> None:
        memory(store).merge([self.other])

    def learn(self, scratch: Path) -> None:
        super().learn(scratch)
        before, after = self.states[3], self.states[4]
        assert before is not None
        assert after is not None
        assert len(after["sessions"]) == len(before["sessions"]) + 2
        assert (list(before["vectors"]), list(after["vectors"])) == ([], ["toy"])
        with Hdf5Store.open(scratch / "clean.h5", disk=QuietDisk()) as store:
            self.merge(store)
            self.final = state_of(store)

    def recoveries(self) -> list[Callable[[Hdf5Store], None]]:
        return [only_recover]

    def complete(self, path: Path, disk: Disk | None = None) -> None:
        """Merging again, in whatever state it was cut, leads to the same store."""
        with Hdf5Store.open(path, create=True, disk=disk or QuietDisk()) as store:
            self.merge(store)
        super().complete(path, disk)


class MendingStory(Story):
    """Bytes go wrong in the journal, in the store, in a commit that waits; each time all is made good.

    What is damaged is kept: `aside` says of what kinds there is such a file, each as long as its name says.
    """

    name = "mending"
    is_repeatable = False
    grown_from = 12
    DAMAGED: State = {"damaged": True}  # noqa: RUF012

    @contextlib.contextmanager
    def set_up(self, disk: Disk) -> Iterator[None]:
        with mock.patch.object(engine, "_APPLY_SECONDS", 0.0):
            yield

    def steps(self) -> list[Step]:
        pieces, (alone,) = self.segments(self.live_file, 4), self.segments(self.probe_file, 1)
        return [
            lambda store: ingest(store, [self.swept]),
            lambda store: store.append(pieces[0]),
            lambda store: store.append(pieces[1]),
            lambda store: rot(store, journal_path(store.path), AROUND_BYTES + 5),
            lambda store: memory(store).checkpoint(),
            lambda store: rot(store, store.path, store.path.read_bytes().index(ZSTD_MARK) + 9),
            lambda store: memory(store).repair(),
            lambda store: store.append(alone),
            lambda store: rot(store, journal_path(store.path), AROUND_BYTES + 5),
            lambda store: memory(store).checkpoint(),
            while_read(lambda store: self.grow() or ingest(store, [self.swept])),
            lambda store: rot(store, redo_path(store.path), -100),
            lambda store: memory(store).repair(),
            lambda store: ingest(store, [self.swept]),
        ]

    def learn(self, scratch: Path) -> None:
        real = mend.mend_redo

        def look_between(store: Hdf5Store, timeout: float) -> None:
            real(store, timeout)
            self.between.setdefault(len(self.states), []).append(self.seen(store.path))

        with mock.patch.object(mend, "mend_redo", look_between):
            super().learn(scratch)
        last = self.states[-1]
        assert last is not None
        assert last["aside"] == Counter({"-wal-": 2, ".": 2, "-redo-": 1}), "what was damaged is kept"

    def seen(self, path: Path) -> State | None:
        try:
            seen = super().seen(path)
        except StoreCorrupt:
            seen = self.DAMAGED
        return seen and seen | {"aside": aside(path)}

    def allowed(self, acked: int, under_way: int, commits: int | None = None) -> list[State | None]:
        """What rotted may be whole again after a power cut: a redo file that comes back is put in place."""
        allowed = super().allowed(acked, under_way, commits)
        is_rotten = acked > 0 and "damaged" in (self.states[acked] or {})
        return allowed + ([self.states[acked - 1]] if is_rotten else [])

    def is_allowed(self, seen: State | None, allowed: list[State | None]) -> bool:
        """More may be kept aside than need be."""
        if seen is None:
            return None in allowed
        return any(
            state is not None
            and seen | {"aside": state["aside"]} == state
            and seen["aside"] >= state["aside"]
            for state in allowed
        )

    def recoveries(self) -> list[Callable[[Hdf5Store], None]]:
        return [self.recover_if_whole]

    def recover_if_whole(self, store: Hdf5Store) -> None:
        with contextlib.suppress(StoreCorrupt):
            only_recover(store)

    def completed(self, allowed: list[State | None]) -> list[State | None]:
        return []

    def complete(self, path: Path, disk: Disk | None = None) -> None:
        """A repair where one is needed, and the next ingest has every byte of every source again."""
        self.grow()
        with self.set_up(QuietDisk()), Hdf5Store.open(path, create=True, disk=disk or QuietDisk()) as store:
            store.acknowledge()
            if any(finding.level == "error" for finding in check_path(path)):
                memory(store).repair()
            ingest(store, self.everything)
            seen = state_of(store)
            store.acknowledge()
        assert [finding for finding in check_path(path) if finding.level == "error"] == []
        missing = [key for key in self.final["sources"].items() if key not in seen["sources"].items()]
        assert missing == [], missing


ZSTD_MARK = bytes.fromhex("28b52ffd")


def rot(store: Hdf5Store, path: Path, at: int) -> None:
    """One byte goes wrong on the platter, which is no call that could fail."""
    disk = store.disk if isinstance(store.disk, RecordingDisk) else QuietDisk()
    fd = disk.open(path, write=True)
    try:
        data = path.read_bytes()
        at %= len(data)
        disk.write(fd, bytes([data[at] ^ 0xFF]), at)
        disk.sync(fd)
    finally:
        os.close(fd)


def aside(path: Path) -> Counter[str]:
    """What kinds of damaged bytes are kept beside a store, as whole as they were found."""
    kinds: Counter[str] = Counter()
    for each in path.parent.glob(f"{path.name}*damaged-*"):
        kind, _, told = each.name.removeprefix(path.name).partition("damaged-")
        data = each.read_bytes()
        if kind != ".":  # else a name by the time
            size, crc = told.split("-")
            assert (len(data), zlib.crc32(data)) == (int(size), int(crc, 16)), f"{each.name} is not whole"
        kinds[kind] += 1
    return kinds


class DerivingStory(Story):
    """What is understood of sessions, step by step: while they grow, through rewrites, and begun anew."""

    name = "deriving"
    grown_from = 4

    @contextlib.contextmanager
    def set_up(self, disk: Disk) -> Iterator[None]:
        with (
            mock.patch.object(derived_module, "_ENTRIES_AT_ONCE", 24),
            mock.patch.object(kept, "_STALE_MIN", 0),
            mock.patch.object(tables, "_STALE_TIES_MIN", 0),
        ):
            yield

    def steps(self) -> list[Step]:
        piece = self.segments(self.live_file, 1)[0]
        return [
            lambda store: ingest(store, [self.swept]),
            understand,
            lambda store: self.grow() or ingest(store, [self.swept]),
            understand,
            lambda store: store.append(piece),
            lambda store: memory(store).checkpoint(),
            lambda store: memory(store).compact(),
            understand,
            lambda store: memory(store).reparse(),
            understand,
        ]

    def learn(self, scratch: Path) -> None:
        super().learn(scratch)
        assert len(self.between[2]) >= 4, "what is derived is committed as it goes"
        with Hdf5Store(scratch / "clean.h5", disk=QuietDisk()) as store:
            understand(store)
            self.understood = understood(store)

    def complete(self, path: Path, disk: Disk | None = None) -> None:
        """Whatever was left of the tables, the next one to index brings them to what a clean run has."""
        super().complete(path, disk)
        with self.set_up(QuietDisk()), Hdf5Store(path, disk=QuietDisk()) as store:
            understand(store)
            assert understood(store) == self.understood
            assert [finding for finding in check_path(path) if finding.level == "error"] == []


def understand(store: Hdf5Store) -> None:
    """Everything that `Memory.index` derives, each step with a writer of its own."""
    derive_all(store)


def understood(store: Hdf5Store) -> State:
    """What the derived tables tell, in an order that does not depend on how they came about."""
    with memory(store).view() as seen:
        digests, known = seen.derived(DIGESTS), DigestRows(seen)
        counted, ties = Entities(seen).listed(), kept_ties(seen)
        return {
            "digests": sorted([str(digests[name][row]) for name in digests] for row in known.last_rows()),
            "ties": sorted(zip(ties.session.tolist(), ties.kind.tolist(), ties.key.tolist(), strict=True)),
            "entities": sorted((each.type, each.name, each.mentions) for each in counted.entities),
            "unread": counted.unread,
        }


class RetentionStory(Story):
    """A budget: sessions are evicted in one rewrite, go on, are evicted again, and come back."""

    name = "retention"
    grown_from = 4
    NOW_MS = 1_800_000_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        shutil.copy(
            DATA / "claudeai" / "conversations.json", self.swept
        )  # comes back from another kind of file

    @contextlib.contextmanager
    def set_up(self, disk: Disk) -> Iterator[None]:
        with mock.patch.object(retained, "now_ms", return_value=self.NOW_MS):
            yield

    def steps(self) -> list[Step]:
        return [
            lambda store: ingest(store, [self.swept]),
            understand,
            lambda store: self.budgeted(store, raw_soft_cap_bytes=self.soft_bytes).sweep(),
            lambda store: self.grow() or ingest(store, [self.swept]),
            lambda store: self.budgeted(store, raw_hard_cap_bytes=1).sweep(),
            self.restore_all,
        ]

    soft_bytes = 2_000  # so that some go, and some stay

    def budgeted(self, store: Hdf5Store, **settings: int) -> Memory:
        cache, budget = self.folder / "cache", RetentionSettings(**settings)
        shutil.rmtree(cache, ignore_errors=True)  # what was read in another run of this story
        return Memory(store, Config(store.path, HOST, cache=cache, retention=budget))

    def restore_all(self, store: Hdf5Store) -> None:
        """Each by its own commit; what a step that was cut had taken back already is left alone."""
        with_budget = self.budgeted(store, raw_hard_cap_bytes=1)
        with (
            store.writer()
        ):  # what a failed commit left is made to last by a writer, and only seen by readers
            pass
        for id_ in sorted(with_budget.evicted_sessions()):
            with_budget.restore(id_)

    def learn(self, scratch: Path) -> None:
        super().learn(scratch)
        evicted = [self.gone(state) for state in self.states]
        assert evicted[2] == evicted[6] == 0
        assert 0 < evicted[3] < evicted[5], f"some go first, and then all: {evicted}"

    @staticmethod
    def gone(state: State | None) -> int:
        """How many sessions are evicted."""
        tables = {table.name: rows for table, rows, *_ in (state or {"derived": ()})["derived"]}
        return tables.get(EVICTIONS.name, 0)

    def complete(self, path: Path, disk: Disk | None = None) -> None:
        """From whatever was left everything can be evicted and taken back: usage is that of a clean run."""
        self.grow()
        if path.exists():
            assert [finding for finding in check_path(path) if finding.level == "error"] == []
        with self.set_up(QuietDisk()), Hdf5Store.open(path, create=True, disk=disk or QuietDisk()) as store:
            ingest(store, self.everything)
            understand(store)
            for deed in (
                lambda: self.budgeted(store, raw_hard_cap_bytes=1).sweep(),
                lambda: self.restore_all(store),
            ):
                deed()
                seen = state_of(store)
                assert {what: seen[what] for what in ("responses", "tokens")} == {
                    what: self.final[what] for what in ("responses", "tokens")
                }
            newest = {key: told for key, told in seen["sources"].items() if not key[2]}
            assert newest == {key: told for key, told in self.final["sources"].items() if not key[2]}
            assert seen["sessions"] == self.final["sessions"]
        left = sorted(p.name for p in path.parent.iterdir() if not self.may_stay(p))
        assert left == [], f"left behind: {left}"

    def completed(self, allowed: list[State | None]) -> list[State | None]:
        return []

    def recoveries(self) -> list[Callable[[Hdf5Store], None]]:
        return [only_recover]


class FollowingStory(Story):
    """Hooks follow transcripts as they grow, and settle at a conversation's end; nobody parses meanwhile."""

    name = "following"
    grown_from = 99
    raises = (RecollectError, OSError)  # of what hooks remember; `hooks/run` swallows it

    def __post_init__(self) -> None:
        self.home = self.folder / "home"
        self.transcripts = [self.home / "projects" / "-srv-demo" / f"{uuid_of(n)}.jsonl" for n in (1, 2)]
        for path in self.transcripts:
            path.parent.mkdir(parents=True, exist_ok=True)
        self.lines = 0

    @property
    def everything(self) -> list[Path]:
        return [self.home]

    @contextlib.contextmanager
    def set_up(self, disk: Disk) -> Iterator[None]:
        """Hooks make their own Disk."""
        with (
            mock.patch.object(disk_module, "Disk", return_value=disk),
            mock.patch.object(journal_module, "Disk", return_value=disk),
        ):
            yield

    def prepare(self, step: int) -> None:
        self.write_to(3 * step)

    def shrink(self) -> None:
        self.write_to(0)

    def grow(self) -> None:
        self.write_to(99)

    def write_to(self, lines: int) -> None:
        """Have so many lines in the first transcript, and fewer in the other."""
        for number, path in enumerate(self.transcripts, 1):
            count = min(lines, 3 * len(self.steps())) // number
            wanted = b"".join(said(n, f"line {n} " + "word " * (n % 9), number) + b"\n" for n in range(count))
            path.write_bytes(wanted)

    def steps(self) -> list[Step]:
        deeds = [self.hook, self.hook, self.settle, self.hook, self.look_around, self.hook, self.settle]
        return [self._step(n, deed) for n, deed in enumerate(deeds, 1)]

    def _step(self, number: int, deed: Step) -> Step:
        def step(store: Hdf5Store) -> None:
            self.write_to(3 * number)
            deed(store)

        return step

    def capture(self, store: Hdf5Store) -> Capture:
        environ = {"CLAUDE_CONFIG_DIR": str(self.home)}
        return Capture(str(store.path), str(store.path.parent / "state"), HOST, str(self.home), environ)

    def hook(self, store: Hdf5Store) -> None:
        with contextlib.closing(self.capture(store)) as capture:
            for path in self.transcripts:
                capture.follow("claude", str(path), ended=path.stat().st_size % 2 == 0)

    def look_around(self, store: Hdf5Store) -> None:
        with contextlib.closing(self.capture(store)) as capture:
            capture.rest()

    def settle(self, store: Hdf5Store) -> None:
        kept = Memory(store, PlacedConfig(store.path, HOST))
        self.look_around(store)
        kept.checkpoint()
        follow_stored(kept)

    def recoveries(self) -> list[Callable[[Hdf5Store], None]]:
        return [only_recover]

    def check(self, folder: Path, allowed: list[State | None], *, complete: bool = True) -> None:
        """Always to the end: what hooks believe to have taken shows only then."""
        super().check(folder, allowed, complete=True)

    def complete(self, path: Path, disk: Disk | None = None) -> None:
        """The next hook and the next settling have every line once, whatever they remember."""
        self.grow()
        with Hdf5Store.open(path, create=True, disk=disk or QuietDisk()) as store:
            self.hook(store)
            self.settle(store)
            seen = state_of(store)
            assert seen == self.final, difference(seen, [self.final])


@dataclass(frozen=True)
class PlacedConfig(Config):
    """Hooks keep what they remember beside the store, where it is cut with it."""

    @property
    def state(self) -> Path:
        assert isinstance(self.store, Path)
        return self.store.parent / "state"


STORIES = {
    story.name: story
    for story in (
        Story,
        BulkStory,
        HeldStory,
        KeepingStory,
        MergingStory,
        MendingStory,
        DerivingStory,
        RetentionStory,
        FollowingStory,
        ErasingStory,
        SavingStory,
        ChromaStory,
        MaskingStory,
        RelatingStory,
        MirroringStory,
        JoinedErasureStory,
    )
}
