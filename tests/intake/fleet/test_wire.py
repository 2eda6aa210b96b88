"""What a host sends is read as what anyone may have made up."""

from __future__ import annotations

import gzip
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.intake.fleet import answers, wire
from recollect.intake.fleet.answers import Stat, coded, decoded, is_whole_path, read_hello, read_listing
from recollect.intake.fleet.channel import reason
from recollect.intake.fleet.cksum import Cksum
from recollect.intake.fleet.load import receive
from recollect.intake.fleet.plan import Wanted, Way
from recollect.intake.fleet.wire import BadAnswer, CutOff, Wire

NUMBER = "00ff"


def fed(data: bytes, step: int = 7) -> Callable[[], bytes]:
    """Bytes as a connection gives them: a few at a time, then its end."""
    pieces = iter([data[at : at + step] for at in range(0, len(data), step)])
    return lambda: next(pieces, b"")


def answer(body: bytes, *, packed: bool, step: int = 7, before: bytes = b"", after: bytes = b"") -> Wire:
    head = b"\nBEGIN 00ff " + (b"z\n" + gzip.compress(body) if packed else b"p\n" + body)
    made = Wire(fed(before + head + after, step))
    made.begin(NUMBER)
    return made


def framed(number: int, data: bytes, start: int = 0, total: int | None = None) -> bytes:
    """A file as `remote.sh` sends one that fits into a piece."""
    end = start + len(data)
    made = Cksum()
    made.add(data)
    piece = b"P %d\n%b\n%d %d\n" % (len(data), data, made.value, len(data)) if data else b""
    told = b"-" if total is None else b"%d" % total
    return b"F %d %d %d %d\n%bE %d %b\n" % (number, start, end, end, piece, number, told)


def wanted(name: bytes = b"/home/x", way: Way = Way.WHOLE, **more: int) -> Wanted:
    return Wanted(name, Stat(10, 0, 0, 0), way, **more)


@given(data=st.binary(max_size=3000), cut=st.integers(0, 3000))
def test_a_checksum_is_that_of_cksum(data: bytes, cut: int) -> None:
    made = Cksum()
    made.add(data[:cut])
    made.add(data[cut:])
    said = subprocess.run(["cksum"], input=data, capture_output=True, check=True).stdout
    assert said.split() == [b"%d" % made.value, b"%d" % made.length]


@given(path=st.binary(max_size=60))
def test_a_path_comes_through_a_shell_as_it_is(path: bytes) -> None:
    assert decoded(coded(path).encode()) == path
    assert set(coded(path)) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-\\")


@given(
    noise=st.binary(max_size=200),
    body=st.lists(st.binary(max_size=40).map(lambda data: data.replace(b"\0", b"")), max_size=8),
    packed=st.booleans(),
    step=st.integers(1, 300),
)
def test_an_answer_is_found_behind_whatever_a_login_prints(
    noise: bytes, body: list[bytes], packed: bool, step: int
) -> None:
    data = b"".join(field + b"\0" for field in body)
    made = answer(data, packed=packed, step=step, before=noise, after=b"\nBEGIN 00ee p\nnext\0")
    assert [made.field(100) for _ in body] == body
    made.finish()
    made.begin("00ee")
    assert made.field(10) == b"next"


@given(data=st.binary(max_size=400), packed=st.booleans(), step=st.integers(1, 100))
@example(data=b"home /\0END\0", packed=True, step=5)
@example(data=b"R /\0F 1 1 1 1 ./../x\0END\0", packed=False, step=5)
def test_any_bytes_are_read_or_refused(data: bytes, packed: bool, step: int) -> None:
    """Nothing but our two exceptions, and no name that leads elsewhere."""
    for read in (read_hello, read_listing):
        try:
            found = read(answer(data, packed=packed, step=step))
        except (BadAnswer, CutOff):
            continue
        if isinstance(found, answers.Listing):
            assert all(is_whole_path(path) and b".." not in path.split(b"/") for path in found.files)


@given(
    data=st.lists(
        st.one_of(
            st.binary(max_size=30),
            st.sampled_from([framed(0, b"abc"), framed(1, b""), b"END\n", b"X 0 gone\n", b"P 99999999999\n"]),
            st.from_regex(rb"[FDEVXP] [0-9]{1,3}( [0-9a-z-]{1,9}){0,3}\n", fullmatch=True),
        ),
        max_size=8,
    ).map(b"".join),
    packed=st.booleans(),
)
def test_files_in_any_bytes_are_taken_whole_or_not_at_all(data: bytes, packed: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asked = [wanted(), wanted(way=Way.LINES), wanted(way=Way.DATABASE)]
        load = receive(answer(data, packed=packed), asked, Path(folder), lambda count: None)
        for each in load.fetched:
            assert each.path.stat().st_size == each.end - each.start
            assert each.path.parent == Path(folder)
        assert load.trouble is None or isinstance(load.trouble, BadAnswer | CutOff)


@given(contents=st.lists(st.binary(max_size=50), max_size=6), packed=st.booleans(), step=st.integers(1, 99))
def test_files_come_as_they_were_sent(contents: list[bytes], packed: bool, step: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        body = b"".join(framed(n, data) for n, data in enumerate(contents)) + b"END\n"
        asked = [wanted() for _ in contents]
        load = receive(answer(body, packed=packed, step=step), asked, Path(folder), lambda count: None)
        assert load.trouble is None
        assert [each.path.read_bytes() for each in load.fetched] == contents


def test_a_file_that_shrank_while_it_was_sent_shifts_no_other(tmp_path: Path) -> None:
    """Zeros stand for what is not there; the checksum of the second reading tells."""
    short = b"abc"
    made = Cksum()
    made.add(short)
    shrunk = b"F 0 0 9 9\nP 9\nabc\0\0\0\0\0\0\n%d 3\nE 0 -\n" % made.value
    load = receive(
        answer(shrunk + framed(1, b"next") + b"END\n", packed=True),
        [wanted(), wanted()],
        tmp_path,
        lambda count: None,
    )
    assert len(load.unsteady) == 1
    assert [each.path.read_bytes() for each in load.fetched] == [b"next"]


def test_what_was_rewritten_before_what_was_sent_is_not_taken(tmp_path: Path) -> None:
    before = Cksum()
    before.add(b"old")
    asked = Wanted(b"/x", Stat(6, 0, 0, 0), Way.LINES, offset=3, before=before)
    whole = Cksum()
    whole.add(b"oldnew")
    for total, good in ((whole.value, 1), (whole.value ^ 1, 0)):
        body = framed(0, b"new", start=3, total=total) + b"END\n"
        load = receive(answer(body, packed=False), [asked], tmp_path, lambda count: None)
        assert (len(load.fetched), len(load.unsteady)) == (good, 1 - good)


def test_of_a_cut_log_whole_pieces_are_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.intake.fleet.answers.PIECE_BYTES", 4)
    monkeypatch.setattr("recollect.intake.fleet.load.PIECE_BYTES", 4)
    made = Cksum()
    made.add(b"abcd")
    cut = b"F 0 0 8 8\nP 4\nabcd\n%d 4\nP 4\nef" % made.value
    for way, kept in ((Way.LINES, [b"abcd"]), (Way.WHOLE, [])):
        load = receive(answer(cut, packed=False), [wanted(way=way)], tmp_path, lambda count: None)
        assert isinstance(load.trouble, CutOff)
        assert [each.path.read_bytes() for each in load.fetched] == kept


def test_a_bomb_is_unpacked_no_further_than_it_is_asked_for() -> None:
    packed = gzip.compress(bytes(64 << 20))
    made = Wire(fed(b"\nBEGIN 00ff z\n" + packed, 1 << 20))
    made.begin(NUMBER)
    with pytest.raises(BadAnswer):
        made.line()
    assert made.unpacked < 2 << 20


def test_a_login_that_never_stops_talking_is_left() -> None:
    made = Wire(lambda: b"welcome " * 1000)
    with pytest.raises(BadAnswer):
        made.begin(NUMBER)
    assert made.received < 2 * wire.NOISE_BYTES_MAX


@pytest.mark.parametrize(
    "path", [b"", b"a", b"/", b"/a/../b", b"/a//b", b"/a/", b"/./a", b"/a\0", b"/" + b"a/" * 70 + b"b"]
)
def test_a_path_that_is_not_plain_is_none(path: bytes) -> None:
    assert not is_whole_path(path)
    assert is_whole_path(b"/home/a b/\n.jsonl")


def test_what_ssh_says_becomes_a_next_step() -> None:
    assert (
        reason(
            "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.", 255
        ).kind
        == "changed key"
    )
    assert reason("Host key verification failed.", 255).kind == "unknown key"
    assert reason("ada@nas: Permission denied (publickey).", 255).kind == "login"
    assert reason("\x1b]0;evil\x07Connection reset by peer", 255).kind == "cut"
    assert "\x1b" not in str(reason("\x1b]0;evil\x07Connection reset by peer", 255))


def test_a_listing_beyond_all_bounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "FILES_MAX", 10)
    body = b"R /home\0" + b"".join(b"F 1 1.5 1 1 ./%d\0" % n for n in range(20)) + b"END\0"
    with pytest.raises(BadAnswer, match="more than 10 files"):
        read_listing(answer(body, packed=True))


def test_a_listing_gives_whole_paths_and_times(tmp_path: Path) -> None:
    body = b"R /home/ada\0F 12 1700000000.25 1700000001 99 ./a b\nc\0F ./gone\0T 3 1 2 4 /home/\\0377\0END\0"
    found = read_listing(answer(body, packed=False))
    assert found.files == {b"/home/ada/a b\nc": Stat(12, 1700000000250000000, 1700000001000000000, 99)}
    assert found.told == {b"/home/\xff": Stat(3, 10**9, 2 * 10**9, 4)}
    assert found.passed_over == 1
    assert os.fsdecode(b"/home/\xff") == "/home/\udcff"
