"""Lines taken out of a store as they lie there are the lines that it has, or none."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.memories import HOST, scratch

from recollect.store.contract import Writer
from recollect.store.hdf5 import packed, tables
from recollect.store.hdf5.engine import Hdf5Store
from recollect.store.hdf5.frames import compress
from recollect.values.records import Cursor, Line, Parsed, SessionFacts, SourceFile

Logs = dict[int, list[bytes]]
LINES = st.lists(st.binary(min_size=1, max_size=60), max_size=12)


def fill(writer: Writer, logs: Logs) -> None:
    for number, lines in logs.items():
        file = SourceFile("claude", f"/logs/{number}.jsonl", session=f"s{number}")
        taken = [Line(data, 0, Parsed(f"type{len(data) % 3}", ())) for data in lines]
        writer.take(file, HOST, taken, Cursor(), SessionFacts("claude", f"s{number}"), parser=1)
    writer.commit()


@settings(max_examples=40, deadline=None)
@given(logs=st.dictionaries(st.integers(0, 9), LINES, max_size=5), block=st.integers(1, 200))
def test_packed_lines_are_those_of_the_store(logs: Logs, block: int) -> None:
    """In blocks of any size, of sources in one place and in several, after a way to another process."""
    with scratch() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed, "_WORTH_BYTES", 0)
        patch.setattr("recollect.store.hdf5.pack.BLOCK_BYTES", block)
        patch.setattr(tables, "BLOCK_BYTES", block)
        with Hdf5Store.open(folder / "m.h5", create=True) as store:
            with store.writer() as writer:
                fill(writer, logs)
            with store.view() as view:
                for source in view.sources():
                    lines = list(view.lines(source))
                    size = sum(len(line.data) for line in lines)
                    told = view.packed_lines(source, size + 1)
                    assert told is not None
                    assert told.size == size
                    assert pickle.loads(pickle.dumps(told)).unpacked() == lines
                    assert view.packed_lines(source, size) is None


def test_a_small_source_among_others_is_not_worth_a_frame(folder: Path) -> None:
    with Hdf5Store.open(folder / "m.h5", create=True) as store:
        with store.writer() as writer:
            fill(writer, {1: [b"small"], 2: [b"large " * 100_000]})
        with store.view() as view:
            assert [view.packed_lines(each, 1 << 30) is None for each in view.sources()] == [True, False]


def test_a_frame_that_does_not_hold_what_it_says_gives_no_lines(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its checksum is right: whoever made the store made it so."""
    monkeypatch.setattr(packed, "_WORTH_BYTES", 0)
    monkeypatch.setattr(
        tables, "compress", lambda block, level: compress(block + b"!" * (b"two" in block), level)
    )
    with Hdf5Store.open(folder / "m.h5", create=True) as store:
        with store.writer() as writer:
            fill(writer, {1: [b"one", b"two"]})
        with store.view() as view:
            (source,) = view.sources()
            told = view.packed_lines(source, 1 << 20)
            assert told is not None
            assert told.unpacked() is None
