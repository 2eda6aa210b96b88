"""A source that was changed far before its end is noticed, whoever took what came behind it."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.logs import claude_path, said, texts, uuid_of, write
from tests.support.memories import HOST, open_memory

from recollect.intake import checkpoints, news
from recollect.intake.checkpoints import Checkpoints
from recollect.memory import Memory
from recollect.values.records import Segment

STRETCH = 64


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes at which all that happens with gigabytes happens with a kilobyte."""
    monkeypatch.setattr(checkpoints, "STRETCH_BYTES", STRETCH)
    monkeypatch.setattr(checkpoints, "WHOLE_BYTES", 8 * STRETCH)


def made_of(pieces: list[bytes]) -> Checkpoints:
    made = Checkpoints()
    for piece in pieces:
        made.add(piece)
    return made


pieces_of_content = st.lists(st.binary(max_size=3 * STRETCH), max_size=6)


@given(pieces=pieces_of_content, more=st.binary(max_size=100))
def test_sums_are_the_same_however_the_content_came(pieces: list[bytes], more: bytes) -> None:
    whole = b"".join(pieces)
    made = made_of(pieces)
    assert made.joined({}) == made_of([whole]).joined({})
    assert made.joined({}) == Checkpoints.read(io.BytesIO(whole + more), len(whole)).joined({})
    assert made.hold(io.BytesIO(whole + more))


@given(pieces=pieces_of_content, state=st.dictionaries(st.text(max_size=5), st.integers()))
def test_a_cursor_gives_back_what_was_put_into_it(pieces: list[bytes], state: dict[str, int]) -> None:
    whole = b"".join(pieces)
    rest, sums = Checkpoints.split(made_of(pieces).joined(state), len(whole))
    assert rest == state
    assert sums is not None
    assert sums.hold(io.BytesIO(whole))
    sums.add(b"more")
    assert sums.joined({}) == made_of([whole, b"more"]).joined({})


@pytest.mark.parametrize("known", [7, None, "zz", "0badcafe", ["0badcafe"], "0badcafe0badca"])
def test_sums_that_cannot_be_meant_are_none(known: object) -> None:
    rest, sums = Checkpoints.split({"#sums": known, "turn": 3}, 5 * STRETCH)
    assert sums is None
    assert known is None or rest == {"turn": 3}


@given(content=st.binary(min_size=1, max_size=8 * STRETCH), data=st.data())
def test_any_byte_of_a_source_of_usual_size_is_compared(content: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(content) - 1))
    changed = bytearray(content)
    changed[at] ^= 1 << data.draw(st.integers(0, 7))
    assert not made_of([content]).hold(io.BytesIO(changed))


def test_a_source_that_became_shorter_is_another() -> None:
    assert not made_of([bytes(100)]).hold(io.BytesIO(bytes(99)))


def test_of_a_huge_source_every_byte_is_compared_as_it_grows() -> None:
    """The last part each time, of the rest as much again; and never more than that is read."""
    content = bytes(range(STRETCH)) * 40
    made, found = made_of([content]), set()
    for _ in range(300):
        made.add(b"x")
        content += b"x"
        file = Counting(content)
        assert made.hold(file)
        assert file.count <= 8 * STRETCH
        last = range(max(0, len(content) - 3 * STRETCH), len(content))
        assert set(last) <= file.seen
        found |= file.seen
    assert found == set(range(len(content)))


class Counting(io.BytesIO):
    """A file that knows what was read of it."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.seen: set[int] = set()
        self.count = 0

    def read(self, size: int | None = -1) -> bytes:
        at = self.tell()
        data = super().read(size)
        self.seen |= set(range(at, at + len(data)))
        self.count += len(data)
        return data


# -- as it happens -----------------------------------------------------------------------------


def by_sweep(memory: Memory, path: Path, before: int) -> None:
    memory.ingest([path])


def by_hook(memory: Memory, path: Path, before: int) -> None:
    """A hook appends what comes after the end it knows; somebody folds it."""
    (source,) = [each for each in memory.sources(uuid_of(1)) if not each.superseded]
    memory.append(Segment(source.file, HOST, before, path.read_bytes()[before:]))
    memory.checkpoint()


def grown(numbers: range) -> bytes:
    return b"".join(said(n, f"what was said in line {n:03}") + b"\n" for n in numbers)


@pytest.mark.parametrize("taken", [by_sweep, by_hook])
@pytest.mark.parametrize("line", [0, 30])
@pytest.mark.parametrize("remade", [False, True])
def test_a_line_changed_far_before_the_end_is_noticed_when_the_source_grows(
    folder: Path,
    taken: Callable[[Memory, Path, int], None],
    line: int,
    remade: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checkpoints, "WHOLE_BYTES", 1 << 20)
    path = write(claude_path(folder / "logs", 1), grown(range(40)))
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([path])
        if remade:
            memory.reparse()
        for number in (40, 41):  # what is known of the file goes on as it grows
            before = path.stat().st_size
            with path.open("ab") as file:
                file.write(grown(range(number, number + 1)))
            taken(memory, path, before)
        before = path.stat().st_size
        changed = path.read_bytes().replace(b"line %03d" % line, b"LINE %03d" % line)
        with path.open("r+b") as file:
            file.write(changed + grown(range(42, 43)))
        taken(memory, path, before)
        assert b"".join(memory.raw(uuid_of(1))) == path.read_bytes()
        assert f"what was said in LINE {line:03}" in texts(memory, uuid_of(1))
        assert memory.ingest([path]).unchanged == 1
        assert memory.check() == []


@pytest.mark.parametrize("taken", [by_sweep, by_hook])
def test_growth_alone_is_no_change(folder: Path, taken: Callable[[Memory, Path, int], None]) -> None:
    path = write(claude_path(folder / "logs", 1), grown(range(4)))
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([path])
        for number in range(4, 14):
            before = path.stat().st_size
            with path.open("ab") as file:
                file.write(grown(range(number, number + 1)))
            taken(memory, path, before)
        (source,) = memory.sources(uuid_of(1))
        assert b"".join(memory.raw(uuid_of(1))) == path.read_bytes()
        assert not source.superseded


def test_a_last_line_without_its_newline_is_counted_when_that_comes(folder: Path) -> None:
    whole = grown(range(3))
    path = write(claude_path(folder / "logs", 1), whole[:-1])
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([path])
        for _ in range(2):
            whole += grown(range(3, 4))
            write(path, whole)
            assert memory.ingest([path]).restarted == 0
        assert b"".join(memory.raw(uuid_of(1))) == whole


def test_a_source_whose_sums_are_not_known_is_compared_in_full_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an earlier version stored it."""
    compared = []
    in_full = news._is_same_start

    def counted(*arguments: Any) -> bool:
        compared.append(1)
        return in_full(*arguments)

    monkeypatch.setattr(news, "_is_same_start", counted)
    monkeypatch.setattr(checkpoints, "WHOLE_BYTES", 1 << 20)
    path = write(claude_path(folder / "logs", 1), grown(range(20)))
    with open_memory(folder / "m.h5") as memory, pytest.MonkeyPatch.context() as earlier:
        earlier.setattr(Checkpoints, "joined", lambda self, state: state)
        memory.ingest([path])
    with open_memory(folder / "m.h5") as memory:
        for number in (20, 21, 22):
            write(path, path.read_bytes() + grown(range(number, number + 1)))
            assert memory.ingest([path]).restarted == 0
        assert len(compared) == 1
        write(path, path.read_bytes().replace(b"line 003", b"LINE 003") + grown(range(23, 24)))
        assert memory.ingest([path]).restarted == 1
        assert b"".join(memory.raw(uuid_of(1))) == path.read_bytes()


@pytest.mark.parametrize("there", [True, False])
def test_a_hook_that_lags_behind_a_sweep_makes_no_file_that_never_was(folder: Path, there: bool) -> None:
    """It goes on from its own mark, and what lies between was changed since the sweep took it."""
    path = write(claude_path(folder / "logs", 1), grown(range(2)))
    behind = path.stat().st_size
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([path])
        write(path, grown(range(4)))
        memory.ingest([path])
        whole = grown(range(4)).replace(b"line 002", b"LINE 002") + grown(range(4, 5))
        write(path, whole)
        (source,) = memory.sources(uuid_of(1))
        memory.append(Segment(source.file, HOST, behind, whole[behind:]))
        if not there:
            path.unlink()
        memory.checkpoint()
        assert b"".join(memory.raw(uuid_of(1))) == whole
        assert memory.check() == []


def test_a_fold_compares_also_what_an_earlier_version_stored(folder: Path) -> None:
    path = write(claude_path(folder / "logs", 1), grown(range(40)))
    with open_memory(folder / "m.h5") as memory, pytest.MonkeyPatch.context() as earlier:
        earlier.setattr(Checkpoints, "joined", lambda self, state: state)
        memory.ingest([path])
    with open_memory(folder / "m.h5") as memory:
        before = path.stat().st_size
        changed = path.read_bytes().replace(b"line 002", b"LINE 002") + grown(range(40, 41))
        with path.open("r+b") as file:
            file.write(changed)
        by_hook(memory, path, before)
        assert b"".join(memory.raw(uuid_of(1))) == changed
