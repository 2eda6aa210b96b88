"""A life of a store in which something is erased: wherever it is cut, it is there whole, or never again."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

from tests.faults.story import HOST, QuietDisk, State, Story, derive, difference, ingest, memory, only_recover

from recollect.intake.erased import erased, note_erasure
from recollect.light.disk import Disk
from recollect.memory import erasing
from recollect.memory.choosing import choose
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.erasures import Wanted
from recollect.values.errors import NotFound

SECRET = b"ghp_Zk3uV9xQ2mB7nL5rT8wY1cD4fG6hJ0pSaE2R"
GONE = "a1b2c3d4-1111-4aaa-8bbb-000000000001"


class ErasingStory(Story):
    """A session is erased, lines are, and the logs that still have them are swept again."""

    name = "erasing"
    grown_from = 5

    @contextlib.contextmanager
    def set_up(self, disk: Disk) -> Iterator[None]:
        fixed = mock.Mock(token_bytes=lambda size: b"s" * size, token_hex=lambda size: "e" * 2 * size)
        with (
            mock.patch.object(erasing, "secrets", fixed),
            mock.patch("recollect.memory.forgetting.now_ms", return_value=7),
        ):
            yield

    def steps(self) -> list[Callable[[Hdf5Store], object]]:
        pieces = self.segments(self.live_file, 3)
        return [
            lambda store: ingest(store, [self.swept]),
            derive,
            lambda store: store.append(pieces[0]),
            self.erase,
            lambda store: self.grow() or ingest(store, [self.swept]),
            lambda store: store.append(pieces[1]),
            lambda store: memory(store).compact(),
            lambda store: memory(store).reparse(),
            lambda store: store.append(pieces[2]),
            lambda store: memory(store).checkpoint(),
        ]

    def erase(self, store: Hdf5Store) -> None:
        with contextlib.suppress(NotFound):  # it may be repeated
            memory(store).erase(Wanted(session=GONE))

    def recoveries(self) -> list[Callable[[Hdf5Store], None]]:
        return [only_recover, self.erase]

    def learn(self, scratch: Path) -> None:
        super().learn(scratch)
        before, after = self.states[3], self.states[4]
        assert before is not None
        assert after is not None
        assert GONE in before["sessions"]
        assert all(GONE not in state["sessions"] for state in self.states[4:] if state is not None)
        assert len(after["sources"]) < len(before["sources"])

    def check_complete(self, seen: State) -> None:
        """Whoever saw it gone never sees it again; all else is as in a clean run."""
        noted = _has_noted(seen)
        assert noted == (GONE not in seen["sessions"])
        if not noted:
            super().check_complete(seen)
            return
        for part in ("sources", "sessions"):
            missing = {key for key, told in self.final[part].items() if seen[part].get(key) != told}
            assert all(GONE in str(key) or "7c01" in str(key) for key in missing), difference(
                seen, [self.final]
            )


class MaskingStory(ErasingStory):
    """The secrets of a log are erased inside of its lines, and the log that still has them goes on."""

    name = "masking"

    def __post_init__(self) -> None:
        super().__post_init__()
        for path, data in self.whole.items():
            if path.name.startswith(GONE):
                first, _, rest = data.partition(b"\n")
                assert b"}" in first
                told = first.rstrip()[:-1] + b',"note":"GITHUB_TOKEN=' + SECRET + b'"}'
                self.whole[path] = told + b"\n" + rest

    def erase(self, store: Hdf5Store) -> None:
        with contextlib.suppress(NotFound):
            memory(store).erase(Wanted(session=GONE, secrets=True))

    def learn(self, scratch: Path) -> None:
        Story.learn(self, scratch)
        before, after = self.states[3], self.states[4]
        assert before is not None
        assert after is not None
        changed = {key for key, told in before["sources"].items() if after["sources"][key] != told}
        assert changed
        assert all(GONE in path for _, path, _ in changed)
        assert after["sessions"].keys() == before["sessions"].keys() | {"erasures"}

    def check_complete(self, seen: State) -> None:
        """Whoever saw it masked never sees it again, and nothing else is otherwise than in a clean run."""
        noted = _has_noted(seen)
        if not noted:
            Story.check_complete(self, seen)
            return
        masked = {
            str(path): data.replace(SECRET, b"[redacted:github-token]") for path, data in self.whole.items()
        }
        for key, told in self.final["sources"].items():
            data = masked.get(key[1])
            if data is not None:
                told = hashlib.sha256(data).hexdigest(), len(data), told[2]
            assert seen["sources"].get(key) == told, difference(seen, [self.final])
        others = {id_: told for id_, told in self.final["sessions"].items() if id_ != GONE}
        assert {id_: seen["sessions"].get(id_) for id_ in others} == others
        assert seen["sessions"][GONE][0] == self.final["sessions"][GONE][0]


class JoinedErasureStory(ErasingStory):
    """The same, erased in another store of this person and merged: what was made here is cleared, too."""

    name = "joined-erasure"

    def __post_init__(self) -> None:
        fresh = not self.folder.exists()
        super().__post_init__()
        self.other = self.folder / "laptop.h5"
        if fresh:
            with self.set_up(QuietDisk()), Hdf5Store.open(self.other, create=True, disk=QuietDisk()) as store:
                ingest(store, [self.swept])
                memory(store).erase(Wanted(session=GONE))

    @contextlib.contextmanager
    def set_up(self, disk: Disk) -> Iterator[None]:
        with super().set_up(disk), mock.patch("recollect.memory.joining.now_ms", return_value=7):
            yield

    def erase(self, store: Hdf5Store) -> None:
        memory(store).merge([self.other], own=True)

    def learn(self, scratch: Path) -> None:
        super().learn(scratch)
        rewritten, cleared = (state for state in self.between[4] if state is not None and _has_noted(state))
        assert GONE not in rewritten["sessions"]
        assert cleared == self.states[4]
        assert rewritten != cleared, "the store says that something is left to do"


def _has_noted(seen: State) -> bool:
    return any(path == "recollect:erasures" for _, path, _ in seen["sources"])


class CarelessStory(ErasingStory):
    """The same by a product that would note what it erased only afterwards: the control of the control."""

    def erase(self, store: Hdf5Store) -> None:
        with store.view() as view:
            chosen = choose(view, Wanted(session=GONE))
            erasure = erasing._erasure(view, chosen, chosen.keys, Wanted(session=GONE), 7)
        memory(store).checkpoint()
        store.compact(lambda view: choose(view, Wanted(session=GONE)).leaving)
        with store.writer() as writer:
            assert not erased(writer.view())
            note_erasure(writer, HOST, erasure)
            writer.commit()
