"""Where indexes live: whose they are, which of them counts, and who may change them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.memories import scratch

from recollect.search.cache_folder import Place, make_private, read_stamp, store_folder, write_stamp

BOUND = {"format": 1, "store": "98cb46a7", "epoch": 3}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def place(folder: Path) -> Place:
    return Place(folder / "cache", "text", BOUND)


def test_the_folder_of_a_store_is_its_owners_alone(folder: Path) -> None:
    made = store_folder(folder / "deep" / "cache", "98cb46a7")
    assert made == folder / "deep" / "cache" / "98cb46a7"
    assert mode(made) == 0o700
    made.chmod(0o755)
    assert mode(store_folder(folder / "deep" / "cache", "98cb46a7")) == 0o700


def test_everything_written_is_its_owners_alone(folder: Path, place: Place) -> None:
    with place.lock():
        data = place.begin()
    (data / "by-a-library").write_text("words")
    (data / "by-a-library").chmod(0o644)
    make_private(data)
    files = [each for each in (folder / "cache").rglob("*") if each.is_file()]
    assert {mode(each) for each in files} == {0o600}
    assert len(files) == 3
    assert mode(data) == 0o700


def test_nothing_counts_before_it_began(place: Place) -> None:
    assert place.current() is None


def test_what_began_counts_until_something_else_begins(place: Place) -> None:
    first = place.begin()
    assert place.current() == first
    second = place.begin()
    assert place.current() == second != first
    assert not first.exists()


@pytest.mark.parametrize("changed", [{"format": 2}, {"store": "11110000"}, {"epoch": 4}, {"model": "static"}])
def test_an_index_of_something_else_does_not_count(
    folder: Path, place: Place, changed: dict[str, str | int]
) -> None:
    data = place.begin()
    assert Place(folder / "cache", "text", BOUND).current() == data
    assert Place(folder / "cache", "text", {**BOUND, **changed}).current() is None


def test_indexes_of_one_store_leave_each_other_alone(folder: Path, place: Place) -> None:
    other = Place(folder / "cache", "vectors", BOUND)
    mine, theirs = place.begin(), other.begin()
    assert (place.current(), other.current()) == (mine, theirs)


def test_a_deleted_folder_counts_no_more(place: Place) -> None:
    place.begin().rmdir()
    assert place.current() is None


def test_a_stamp_cannot_point_out_of_its_folder(folder: Path, place: Place) -> None:
    (folder / "text-elsewhere").mkdir()
    place.begin()
    write_stamp(folder / "cache" / "text.stamp", {**BOUND, "data": "../text-elsewhere"})
    assert place.current() is None


def test_what_is_discarded_counts_no_more(place: Place) -> None:
    data = place.begin()
    place.discard(data.with_name("text-older"))
    assert place.current() == data
    place.discard(data)
    assert place.current() is None


def test_what_another_works_on_is_not_discarded(place: Place) -> None:
    data = place.begin()
    with place.lock():
        place.discard(data)
    assert place.current() == data


def test_one_at_a_time_and_nobody_waits(folder: Path, place: Place) -> None:
    other = Place(folder / "cache", "text", BOUND)
    with place.lock() as mine:
        with other.lock() as theirs:
            assert (mine, theirs) == (True, False)
        with Place(folder / "cache", "vectors", BOUND).lock() as unrelated:
            assert unrelated
    with other.lock() as theirs:
        assert theirs


def test_where_nothing_can_be_written_nobody_may(folder: Path) -> None:
    (folder / "file").write_text("")
    with Place(folder / "file", "text", BOUND).lock() as held:
        assert not held


def test_leftovers_of_a_killed_process_go(folder: Path, place: Place) -> None:
    place.begin()
    (folder / "cache" / "text.stamp.77.aa").write_text("half")
    place.begin()
    assert sorted(each.name for each in (folder / "cache").glob("text.stamp*")) == ["text.stamp"]


@given(
    stamp=st.dictionaries(st.text(), st.text() | st.integers()),
    cut=st.integers(0, 200),
    flip=st.integers(0, 200),
)
def test_a_stamp_reads_back_whole_or_not_at_all(stamp: dict[str, str | int], cut: int, flip: int) -> None:
    with scratch() as folder:
        path = folder / "stamp"
        assert read_stamp(path) == {}
        write_stamp(path, stamp)
        assert read_stamp(path) == stamp
        data = path.read_bytes()
        path.write_bytes(data[: min(cut, len(data) - 1)])
        assert read_stamp(path) == {}
        at = flip % len(data)
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
        assert read_stamp(path) == {}
