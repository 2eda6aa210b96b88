"""The journal's promises, on random payloads cut at random places."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.memories import scratch

from recollect.light import journal as journal_module
from recollect.light import locks
from recollect.light.aside import acknowledge, kept_aside
from recollect.light.disk import Disk
from recollect.light.journal import Journal, frame_of, gaps, journal_path, read_frames
from recollect.light.journal_frames import AHEAD_BYTES
from recollect.values.errors import StoreBusy, StoreWriteFailed, UsageError

# Payloads that look like the journal's own marks, lengths and zeros are the ones to fear.
MARKS = st.sampled_from(
    [
        b"\xf5RCLFRM\xfa",
        b"\xfaEND",
        b"\0" * 40,
        frame_of(1, b"inner"),
        frame_of(9, b"x" * 30)[:-3],
        b"\xf5RCL",
    ]
)
PAYLOADS = st.lists(
    st.one_of(st.binary(min_size=1, max_size=80), st.lists(MARKS, min_size=1, max_size=3).map(b"".join)),
    min_size=1,
    max_size=8,
)
QUICK = examples(60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])


class Unsynced(Disk):
    """Nothing here cuts the power, so nothing need wait for the disk."""

    def sync_data(self, fd: int) -> None: ...

    def sync_folder(self, folder: Path) -> None: ...


def append_all(store: Path, payloads: list[bytes]) -> list[int]:
    with Journal(store, Unsynced()) as journal:
        return [journal.append(payload) for payload in payloads]


def content(store: Path) -> list[bytes]:
    return [payload for _, payload in read_frames(journal_path(store))]


@QUICK
@given(payloads=PAYLOADS)
def test_what_is_appended_is_read_in_order_with_rising_numbers(payloads: list[bytes]) -> None:
    with scratch() as folder:
        numbers = append_all(folder / "m.h5", payloads)
        assert numbers == list(range(1, len(payloads) + 1))
        assert list(read_frames(folder / "m.h5-wal")) == list(zip(numbers, payloads, strict=True))
        assert gaps(folder / "m.h5-wal") == []


@QUICK
@given(payloads=PAYLOADS, after=st.integers(0, 9))
def test_frames_up_to_a_number_can_be_left_out(payloads: list[bytes], after: int) -> None:
    with scratch() as folder:
        append_all(folder / "m.h5", payloads)
        assert [n for n, _ in read_frames(folder / "m.h5-wal", after)] == list(
            range(after + 1, len(payloads) + 1)
        )


@QUICK
@given(payloads=PAYLOADS, cut=st.floats(0, 1), grown=st.booleans())
def test_a_crash_at_any_byte_keeps_every_finished_frame(
    payloads: list[bytes], cut: float, grown: bool
) -> None:
    """Power loss is a truncation at a random byte, or zeros from there on; what was whole reads back."""
    ends, whole = [], b""
    for n, payload in enumerate(payloads, 1):
        whole += frame_of(n, payload)
        ends.append(len(whole))
    at = int(cut * len(whole))
    with scratch() as folder:
        (folder / "m.h5-wal").write_bytes(whole[:at] + bytes(len(whole) - at if grown else 0))
        finished = sum(end <= at for end in ends)
        read = list(read_frames(folder / "m.h5-wal"))
        assert read[:finished] == [(n, payload) for n, payload in enumerate(payloads[:finished], 1)]
        if not any(frame_of(1, b"inner") in payload for payload in payloads):
            assert len(read) == finished


@QUICK
@given(before=PAYLOADS, torn=st.binary(min_size=2, max_size=120), cut=st.floats(0, 0.99), after=PAYLOADS)
def test_appends_behind_a_torn_frame_are_all_read(
    before: list[bytes], torn: bytes, cut: float, after: list[bytes]
) -> None:
    with scratch() as folder:
        store = folder / "m.h5"
        numbers = append_all(store, before)
        frame = frame_of(len(before) + 1, torn)
        frame = frame[: max(int(cut * len(frame)), 1)]
        with Journal(store, Unsynced()) as journal:
            journal._lock()
            os.pwrite(journal._fd, frame, journal_module.content_end(journal._fd))
        numbers += append_all(store, after)
        assert content(store) == before + after
        assert numbers == sorted(set(numbers))
        (gap,) = gaps(journal_path(store))
        assert gap.stop - gap.start == len(frame.rstrip(b"\0"))
        assert not gap.damaged, "nobody was told that it is safe"


@QUICK
@given(before=PAYLOADS, after=PAYLOADS, place=st.floats(0, 1), flip=st.integers(1, 255))
def test_one_rotten_byte_costs_at_most_the_frame_it_is_in(
    before: list[bytes], after: list[bytes], place: float, flip: int
) -> None:
    with scratch() as folder:
        store = folder / "m.h5"
        payloads = [*before, b"the one that rots", *after]
        append_all(store, payloads)
        data = bytearray(journal_path(store).read_bytes())
        start = sum(len(frame_of(1, payload)) for payload in before)
        data[start + int(place * (len(frame_of(1, payloads[len(before)])) - 1))] ^= flip
        journal_path(store).write_bytes(data)
        found, lost = content(store), gaps(journal_path(store))
        assert found in (before + after, payloads)
        assert [gap.damaged for gap in lost] == [True] * (found != payloads)
        with Journal(store, Unsynced()) as journal:
            assert [payload for _, payload in journal.frames(0)] == found
            assert journal.clear(len(payloads))
        kept = [Path(each).read_bytes() for each in kept_aside(store)]
        assert kept == [bytes(data[gap.start : gap.stop]) for gap in lost]
        acknowledge(store, Unsynced())
        assert kept_aside(store) == []
        assert len(list(folder.glob("*.acknowledged"))) == len(lost), "nothing is deleted"


@QUICK
@given(before=PAYLOADS, after=PAYLOADS)
def test_a_frame_that_reads_as_zeros_is_missed_by_its_number(before: list[bytes], after: list[bytes]) -> None:
    with scratch() as folder:
        store = folder / "m.h5"
        append_all(store, [*before, b"the one that is gone", *after])
        data = bytearray(journal_path(store).read_bytes())
        start = sum(len(frame_of(1, payload)) for payload in before)
        size = len(frame_of(1, b"the one that is gone"))
        data[start : start + size] = bytes(size)
        journal_path(store).write_bytes(data)
        assert content(store) == before + after
        assert [gap.damaged for gap in gaps(journal_path(store))] == [True]
        assert [gap.damaged for gap in gaps(journal_path(store), len(before) + 1)] == [False], "it was folded"


def test_what_only_looks_keeps_nothing_aside(tmp_path: Path) -> None:
    append_all(tmp_path / "m.h5", [b"one", b"two"])
    data = bytearray(journal_path(tmp_path / "m.h5").read_bytes())
    data[26] ^= 1
    journal_path(tmp_path / "m.h5").write_bytes(data)
    with Journal(tmp_path / "m.h5") as journal:
        assert [payload for _, payload in journal.frames(0, patient=False)] == [b"two"]
    assert kept_aside(tmp_path / "m.h5") == []


def test_a_frame_inside_of_a_damaged_one_is_somebodys_text(tmp_path: Path) -> None:
    append_all(tmp_path / "m.h5", [b"before" + frame_of(7, b"planted") + b"behind", b"two"])
    data = bytearray(journal_path(tmp_path / "m.h5").read_bytes())
    data[26] ^= 1
    journal_path(tmp_path / "m.h5").write_bytes(data)
    assert content(tmp_path / "m.h5") == [b"two"]


@QUICK
@given(sizes=st.lists(st.integers(1, 3 * AHEAD_BYTES), min_size=1, max_size=5), rotten=st.booleans())
def test_frames_across_the_pieces_a_journal_is_read_in(sizes: list[int], rotten: bool) -> None:
    payloads = [bytes([65 + n]) * size for n, size in enumerate(sizes)]
    with scratch() as folder:
        append_all(folder / "m.h5", payloads)
        if rotten:
            data = bytearray(journal_path(folder / "m.h5").read_bytes())
            data[30] ^= 1
            journal_path(folder / "m.h5").write_bytes(data)
        assert content(folder / "m.h5") == payloads[rotten and sizes[0] > 6 :] or sizes[0] <= 6


def test_several_writers_in_turn_number_without_gaps(tmp_path: Path) -> None:
    one, two = Journal(tmp_path / "m.h5", Unsynced()), Journal(tmp_path / "m.h5", Unsynced())
    with one, two:
        numbers = [each.append(b"x" * (1 + n % 700)) for n in range(600) for each in (one, two)]
    assert numbers == list(range(1, 1201))
    assert [n for n, _ in read_frames(tmp_path / "m.h5-wal")] == numbers


def test_a_frame_larger_than_the_room_grown_ahead(tmp_path: Path) -> None:
    payloads = [b"small", os.urandom(700_000), b"small again", b"\0" * 300_000]
    append_all(tmp_path / "m.h5", payloads)
    assert content(tmp_path / "m.h5") == payloads


def test_clear_removes_only_what_is_folded(tmp_path: Path) -> None:
    with Journal(tmp_path / "m.h5", Unsynced()) as journal:
        journal.append(b"one")
        journal.append(b"two")
        assert not journal.clear(1)
        assert content(tmp_path / "m.h5") == [b"one", b"two"]
        assert journal.clear(2)
        assert not journal_path(tmp_path / "m.h5").exists()
        assert journal.clear(2)


def test_another_process_goes_on_in_the_new_file_after_a_clear(tmp_path: Path) -> None:
    with Journal(tmp_path / "m.h5", Unsynced()) as one, Journal(tmp_path / "m.h5", Unsynced()) as two:
        one.append(b"old")
        assert two.clear(1)
        two.append(b"by two")
        one.append(b"by one")
    assert content(tmp_path / "m.h5") == [b"by two", b"by one"]


@pytest.mark.parametrize("call", ["write", "sync_data", "sync_folder", "open"])
def test_a_failed_append_says_so_and_the_next_one_works(tmp_path: Path, call: str) -> None:
    class Failing(Unsynced):
        failing = False

        def __getattribute__(self, name: str):  # type: ignore[no-untyped-def]
            if name == call and object.__getattribute__(self, "failing"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return object.__getattribute__(self, name)

    disk = Failing()
    with Journal(tmp_path / "m.h5", disk) as journal:
        disk.failing = True
        with pytest.raises(StoreWriteFailed, match=r"m\.h5-wal: could not write: No space left"):
            journal.append(b"lost")
        disk.failing = False
        journal.append(b"kept")
    assert content(tmp_path / "m.h5")[-1] == b"kept"


def test_a_payload_has_a_size(tmp_path: Path) -> None:
    with Journal(tmp_path / "m.h5") as journal, pytest.raises(UsageError):
        journal.append(b"")


def test_an_append_waits_for_another_and_says_when_it_waits_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "LOCK_SECONDS", 0.05)
    with Journal(tmp_path / "m.h5", Unsynced()) as one, Journal(tmp_path / "m.h5", Unsynced()) as two:
        one.append(b"x")
        one._lock()
        with pytest.raises(StoreBusy):
            two.append(b"y")
        locks.release(one._fd, locks.APPEND)
        two.append(b"y")
    assert content(tmp_path / "m.h5") == [b"x", b"y"]
