"""Ingest: every byte comes back, nothing is taken twice, and the numbers add up."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.logs import (
    FIXTURES,
    LINE_FIXTURES,
    WHOLE,
    WHOLE_LINES,
    adds_up,
    answered,
    claude_path,
    codex_path,
    digest,
    placed,
    said,
    texts,
    uuid_of,
    write,
)
from tests.support.memories import HOST, content, open_memory, scratch, sources_of

from recollect.agents.head import Head
from recollect.agents.registry import agents
from recollect.intake import ingest as ingest_module
from recollect.intake import reader
from recollect.memory import Memory
from recollect.values.records import Framing, Role, Segment, SourceFile
from recollect.values.reports import Report
from recollect.values.stored import source_bytes

# An example is a whole store, so a failing one is shown as it is rather than shrunk for minutes.
_PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
_WHOLE_STORES = {"phases": _PHASES, "suppress_health_check": list(HealthCheck)}
few = examples(10, **_WHOLE_STORES)
more = examples(16, **_WHOLE_STORES)

# -- every byte --------------------------------------------------------------------------------

_ODD = [
    b"", b" ", b"\t\r", b"\r", b"\0", b"\0" * 40, b"\xef\xbb\xbf{}", b"\xff\xfe", b"\x0b", b"\xc2\x85",
    b"{", b"}", "\u2028\u2029".encode(), b"null", b"12", b"-0.0", b"NaN", b'"\\ud800"', b"[1,2",
    b'{"type":"user"}', b'{"a":1}{"b":2}',
    b'{"type":"user","message":{"role":"user","content":"x\\u2028y"},"sessionId":"s"}',
    said(1, "a \u2028 b \x0b c \x85 d"), said(2, "e\u0301 \U0001f600"), said(3, "\ud83d"),
    said(4, "x") + b"\r",
    answered(5, "fine", 7, 1), b'{"type":"no-such-type","uuid":"u","sessionId":"s"}',
]  # fmt: skip
_line = (
    st.sampled_from(_ODD)
    | st.binary(max_size=60).map(lambda b: b.replace(b"\n", b""))
    | st.text(max_size=30).map(lambda text: said(9, text))
)
_file = (
    st.tuples(st.lists(_line, max_size=12), st.booleans()).map(
        lambda made: b"\n".join(made[0]) + (b"\n" if made[1] and made[0] else b"")
    )
    | st.binary(max_size=200)
    | st.integers(0, 5).map(lambda n: b"\n" * n)
)


@few
@given(files=st.lists(_file, min_size=1, max_size=10))
def test_any_bytes_come_back_after_ingest_reopen_compact_reparse_and_snapshot(files: list[bytes]) -> None:
    with scratch() as folder:
        for n, data in enumerate(files):
            write((claude_path if n % 2 else codex_path)(folder / "logs", 500 + n), data)
        wanted = {
            str(path): path.read_bytes() for path in (folder / "logs").rglob("*.jsonl") if path.stat().st_size
        }
        with open_memory(folder / "m.h5") as memory:
            report = memory.ingest([folder / "logs"])
            assert adds_up(report)
            assert report.lines == sum(
                len(data.split(b"\n")) - data.endswith(b"\n") for data in wanted.values()
            )
            assert sources_of(memory) == wanted
            for n, data in enumerate(files):
                if data and n % 2:
                    assert b"".join(memory.raw(uuid_of(500 + n))) == data
        with open_memory(folder / "m.h5", create=False) as memory:
            assert sources_of(memory) == wanted
            before = content(memory)
            memory.snapshot(folder / "copy.h5")
            memory.compact()
            assert content(memory) == before
            memory.reparse()
            assert content(memory) == before
            assert not memory.ingest([folder / "logs"]).bytes_parsed
        with open_memory(folder / "copy.h5", create=False) as copy:
            assert content(copy) == before


@few
@given(files=st.lists(st.lists(_line, max_size=8), min_size=1, max_size=8), piece=st.integers(1, 40))
def test_a_line_longer_than_a_piece_comes_back_whole(files: list[list[bytes]], piece: int) -> None:
    """The path of a 200 MB line, in small: whatever the sizes of chunk and piece are."""
    with scratch() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "CHUNK_BYTES", max(piece // 3, 1))
        patch.setattr(reader, "PIECE_BYTES", piece)
        patch.setattr(ingest_module, "PIECE_BYTES", piece)
        paths = [write(codex_path(folder / "logs", n), b"\n".join(lines)) for n, lines in enumerate(files)]
        half = len(paths) // 2
        for path in paths[:half]:
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with open_memory(folder / "m.h5") as memory:
            memory.ingest([folder / "logs"])
            for path, lines in zip(paths, files, strict=True):
                path.write_bytes(b"\n".join(lines))
            assert adds_up(memory.ingest([folder / "logs"]))
            wanted = {str(path): path.read_bytes() for path in paths if path.stat().st_size}
            assert sources_of(memory) == wanted
            memory.reparse()
            assert sources_of(memory) == wanted


# -- growing files -------------------------------------------------------------------------------


@cache
def at_once() -> dict[str, Any]:
    """What ingesting all fixtures in one go gives, with paths below "logs"."""
    with scratch() as folder:
        for path, data in WHOLE.items():
            write(placed(folder, path), data)
        with open_memory(folder / "m.h5") as memory:
            memory.ingest([folder / "logs"])
            return _anywhere(content(memory), folder)


def _anywhere(found: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Content without the scratch folder's name, and without who is charged for a replay, and when.

    That is as in whichever session's file was read first; with several files that is no property of one.
    """
    found["usage"] = sorted((model, *tokens) for _, model, _, *tokens in found["usage"])
    for part in ("owners", "raw"):
        found[part] = {os.path.relpath(path, folder): value for path, value in found[part].items()}
    return found


def cuts(data: bytes) -> st.SearchStrategy[int]:
    """Places in a file, those around its newlines more often than others."""
    ends = [0] + [n for n, byte in enumerate(data) if byte == 10]
    near = st.tuples(st.sampled_from(ends), st.integers(-1, 2)).map(
        lambda at: min(max(sum(at), 0), len(data))
    )
    return near | st.integers(0, len(data))


_rounds = st.lists(
    st.tuples(st.sampled_from(["sweep", "journal", "checkpoint"]), st.tuples(*map(cuts, WHOLE_LINES))),
    min_size=1,
    max_size=3,
)


@more
@given(rounds=_rounds)
def test_a_file_taken_in_parts_equals_the_file_taken_at_once(
    rounds: list[tuple[str, tuple[int, ...]]],
) -> None:
    """Growth arrives by sweep or by journal, cut at any byte, with a checkpoint in between or not."""
    with scratch() as folder, open_memory(folder / "m.h5") as memory:
        lengths = dict.fromkeys(LINE_FIXTURES, 0)
        for way, ends in rounds:
            for path, end in zip(LINE_FIXTURES, ends, strict=True):
                _grow(memory, folder, path, lengths[path], max(end, lengths[path]), by_journal=way != "sweep")
                lengths[path] = max(end, lengths[path])
            if way == "checkpoint":
                memory.checkpoint()
            elif way == "sweep":
                assert adds_up(memory.ingest([folder / "logs"]))
            else:
                seen = sources_of(memory)
                for path, length in lengths.items():
                    target = str(placed(folder, path))
                    assert seen.get(target, b"") == WHOLE[path][:length]
        for path in FIXTURES:
            write(placed(folder, path), WHOLE[path])
        assert adds_up(memory.ingest([folder / "logs"]))
        assert _anywhere(content(memory), folder) == at_once()
        assert not any(source.superseded for source in memory.sources())


def _grow(memory: Memory, folder: Path, path: Path, start: int, stop: int, *, by_journal: bool) -> None:
    target = placed(folder, path)
    write(target, WHOLE[path][:stop])
    if by_journal and stop > start:
        memory.append(Segment(_source(path, target), HOST, start, WHOLE[path][start:stop]))


def _source(path: Path, target: Path) -> SourceFile:
    for agent in agents():
        found = agent.recognise(target, Head(lambda: WHOLE[path]))
        if found is not None:
            return found
    raise AssertionError(path)


@few
@given(ends=st.lists(cuts(WHOLE_LINES[1]), max_size=6), folds=st.integers(0, 2))
def test_segments_of_a_file_that_is_not_there_make_up_the_file(ends: list[int], folds: int) -> None:
    """A half line arrives in one segment, its rest in another, and no file can be asked."""
    path, whole = LINE_FIXTURES[1], WHOLE_LINES[1]
    with scratch() as folder, open_memory(folder / "m.h5") as memory:
        target = placed(folder, path)
        places = [0, *sorted(ends), len(whole)]
        for n, (start, stop) in enumerate(itertools.pairwise(places)):
            if stop > start:
                memory.append(Segment(_source(path, target), HOST, start, whole[start:stop]))
            if n % 3 < folds:
                memory.checkpoint()
            assert sources_of(memory).get(str(target), b"") == whole[:stop]
        memory.checkpoint()
        assert sources_of(memory) == {str(target): whole}
        assert not (folder / "m.h5-wal").exists()
        taken = content(memory)
        with open_memory(folder / "other.h5") as other:
            write(target, whole)
            other.ingest([target])
            assert content(other) == taken


def _segment(folder: Path, start: int, data: bytes) -> Segment:
    path = claude_path(folder / "logs", 1)
    return Segment(SourceFile("claude", str(path), session=uuid_of(1)), HOST, start, data)


def test_overlapping_segments_are_taken_once(folder: Path) -> None:
    whole = b"".join(said(n, f"prompt {n}") + b"\n" for n in range(6))
    with open_memory(folder / "m.h5") as memory:
        for start, stop in ((0, 700), (300, 900), (0, 500), (899, len(whole)), (0, len(whole))):
            memory.append(_segment(folder, start, whole[start:stop]))
            if start == 300:
                memory.checkpoint()
        assert texts(memory, uuid_of(1)) == [f"prompt {n}" for n in range(6)]
        memory.checkpoint()
        assert b"".join(memory.raw(uuid_of(1))) == whole
        assert texts(memory, uuid_of(1)) == [f"prompt {n}" for n in range(6)]


def test_a_segment_of_a_rewritten_file_begins_a_new_version(folder: Path) -> None:
    """It was acknowledged, so it is kept, whatever was stored at its place before."""
    old = b"".join(said(n, f"old {n}") + b"\n" for n in range(3))
    new = b"".join(said(n, f"new {n}") + b"\n" for n in range(3))
    with open_memory(folder / "m.h5") as memory:
        memory.append(_segment(folder, 0, old))
        memory.append(_segment(folder, 0, new[:-20]))
        memory.append(_segment(folder, len(new) - 20, new[-20:]))
        memory.checkpoint()
        assert b"".join(memory.raw(uuid_of(1))) == new
        assert texts(memory, uuid_of(1)) == [f"{age} {n}" for age in ("old", "new") for n in range(3)]


def test_segments_behind_a_gap_are_kept_without_tearing_a_line(folder: Path) -> None:
    lines = [said(n, f"prompt {n}") + b"\n" for n in range(6)]
    whole = b"".join(lines)
    behind = len(whole) - len(lines[5])
    with open_memory(folder / "m.h5") as memory:
        memory.append(_segment(folder, 0, lines[0]))
        memory.append(_segment(folder, behind, lines[5]))
        memory.checkpoint()
        assert texts(memory, uuid_of(1)) == ["prompt 0", "prompt 5"]
        write(claude_path(folder / "logs", 1), whole)  # now the file turns up
        memory.ingest([folder / "logs"])
        assert b"".join(memory.raw(uuid_of(1))) == whole
        assert sorted(texts(memory, uuid_of(1))) == [f"prompt {n}" for n in range(6)]


def test_a_segment_behind_a_gap_takes_what_is_missing_from_the_file(folder: Path) -> None:
    lines = [said(n, f"prompt {n}") + b"\n" for n in range(6)]
    whole = b"".join(lines)
    path = write(claude_path(folder / "logs", 1), whole)
    with open_memory(folder / "m.h5") as memory:
        memory.append(_segment(folder, len(whole) - len(lines[5]), lines[5]))
        assert texts(memory, uuid_of(1)) == [f"prompt {n}" for n in range(6)]
        path.unlink()
        path.mkdir()  # what is there now cannot be read as a log: the segment still can
        assert texts(memory, uuid_of(1)) == ["prompt 5"]


def test_a_segment_of_another_host_never_reads_a_file_here(folder: Path) -> None:
    path = write(claude_path(folder / "logs", 1), said(1, "mine") + b"\n")
    with open_memory(folder / "m.h5") as memory:
        segment = _segment(folder, 50_000, said(2, "theirs") + b"\n")
        memory.append(replace(segment, host="elsewhere"))
        assert texts(memory, uuid_of(1)) == ["theirs"]
        assert path.exists()


def test_documents_arrive_by_journal_whole(folder: Path) -> None:
    """A spilled tool result has newlines and is still one document."""
    path = folder / "logs" / uuid_of(1) / "tool-results" / "toolu_1.txt"
    source = SourceFile("claude", str(path), Role.SPILL, Framing.DOCUMENT, uuid_of(1))
    whole = b"one\n\ntwo\nthree"
    with open_memory(folder / "m.h5") as memory:
        memory.append(Segment(source, HOST, 0, whole[:6]))
        memory.append(Segment(source, HOST, 6, whole[6:]))
        memory.append(Segment(source, HOST, 0, whole))
        memory.checkpoint()
        assert sources_of(memory) == {str(path): whole}
        assert texts(memory, uuid_of(1))[-1] == whole.decode()


def test_an_answer_streamed_over_many_sweeps_counts_as_if_read_at_once(folder: Path) -> None:
    """The largest record of a response counts, with its own time, however many sweeps saw it grow."""
    lines = [answered(n, f"part {n}", (5, 40, 40, 7)[n % 4], n // 4) for n in range(12)]
    path = claude_path(folder / "logs", 1)
    with open_memory(folder / "m.h5") as memory, open_memory(folder / "once.h5") as once:
        for n in range(1, len(lines) + 1):
            write(path, b"\n".join(lines[:n]) + b"\n")
            memory.ingest([folder / "logs"])
        once.ingest([folder / "logs"])
        assert content(memory) == content(once)
        assert memory.usage().total.output == 3 * 40


def test_a_session_that_only_its_first_line_names_owns_the_file_it_is_in(folder: Path) -> None:
    """While that line was half written, the file's name was all there was to go by."""
    whole = WHOLE_LINES[-1]
    path = write(folder / "logs" / "rollout-unnamed.jsonl", whole[:50])
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder / "logs"])
        write(path, whole)
        memory.ingest([folder / "logs"])
        session = memory.sessions()[-1].facts.id
        assert [source.session for source in memory.sources()] == [session]
        assert b"".join(memory.raw(session)) == whole


# -- second sweep ----------------------------------------------------------------------------------


def test_a_second_sweep_parses_nothing_and_changes_no_byte(folder: Path) -> None:
    for path, data in WHOLE.items():
        write(placed(folder, path), data)
    write(claude_path(folder / "logs", 7), b"")  # a session that has only been opened
    write(codex_path(folder / "logs", 8), said(1, "no newline yet"))
    write(codex_path(folder / "logs", 9), b'{"half')
    bomb = codex_path(folder / "logs", 10)
    write(bomb.with_name(bomb.name + ".zst"), b"not zstd")
    with open_memory(folder / "m.h5") as memory:
        first = memory.ingest([folder / "logs"])
        assert first.changed == first.sources - 2
        assert first.unchanged == len(first.failed) == 1
        before, generation = digest(Path(memory.name)), memory.info().generation
        report = memory.ingest([folder / "logs"])
        assert (report.bytes_parsed, report.lines, report.entries, report.changed) == (0, 0, 0, 0)
        assert report.unchanged == report.sources - 1
        assert digest(Path(memory.name)) == before
        assert memory.info().generation == generation


def test_a_dry_run_says_what_would_be_taken_and_writes_nothing(folder: Path) -> None:
    for path, data in WHOLE.items():
        write(placed(folder, path), data)
    with open_memory(folder / "m.h5") as memory:
        before = {path.name: digest(path) for path in folder.glob("m.h5*")}
        dry = memory.ingest([folder / "logs"], dry_run=True)
        assert {path.name: digest(path) for path in folder.glob("m.h5*")} == before
        assert memory.ingest([folder / "logs"]) == dry


# -- files that are not what they were -------------------------------------------------------------

LINES = [said(n, f"prompt {n}") for n in range(8)]


def _rewritten(folder: Path, change: Callable[[Path], None], times: int = 1) -> tuple[Memory, Report]:
    """A store that saw a session of eight prompts, then the same file changed."""
    path = write(claude_path(folder / "logs", 1), b"\n".join(LINES) + b"\n")
    memory = open_memory(folder / "m.h5")
    memory.ingest([folder / "logs"])
    change(path)
    return memory, memory.ingest([folder / "logs"])


def test_a_file_whose_last_lines_were_replaced_keeps_both_versions(folder: Path) -> None:
    def change(path: Path) -> None:
        path.write_bytes(b"\n".join([*LINES[:6], said(50, "another 6"), said(51, "another 7")]) + b"\n")

    memory, report = _rewritten(folder, change)
    with memory:
        assert report.restarted == 1
        assert (report.duplicate, report.taken) == (6, 2)
        expected = [f"prompt {n}" for n in range(8)] + ["another 6", "another 7"]
        assert texts(memory, uuid_of(1)) == expected
        assert b"".join(memory.raw(uuid_of(1))) == claude_path(folder / "logs", 1).read_bytes()
        with memory.view() as view:
            versions = [b"".join(source_bytes(s, view.lines(s))) for s in view.sources()]
        assert versions == [b"\n".join(LINES) + b"\n", claude_path(folder / "logs", 1).read_bytes()]
        assert not memory.check()


def test_a_file_replaced_within_the_same_size_and_time_is_read_again(folder: Path) -> None:
    def change(path: Path) -> None:
        was = path.stat()
        other = path.read_bytes().replace(b"prompt 1", b"PROMPT 1")
        (path.parent / "new").write_bytes(other)
        os.utime(path.parent / "new", ns=(was.st_atime_ns, was.st_mtime_ns))
        os.replace(path.parent / "new", path)
        assert (path.stat().st_size, path.stat().st_mtime_ns) == (was.st_size, was.st_mtime_ns)

    memory, report = _rewritten(folder, change)
    with memory:
        assert report.restarted == 1
        assert texts(memory, uuid_of(1)) == [f"prompt {n}" for n in range(8)] + ["PROMPT 1"]


def test_a_file_written_over_in_place_is_read_again(folder: Path) -> None:
    """Same inode, same size, same end: only reading it shows what changed."""

    def change(path: Path) -> None:
        was = path.stat()
        with path.open("r+b") as file:
            file.write(path.read_bytes().replace(b"prompt 0", b"PROMPT 0")[:400])
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))

    path = write(claude_path(folder / "logs", 1), b"\n".join([*LINES, said(60, "x" * 9000)]) + b"\n")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder / "logs"])
        change(path)
        assert memory.ingest([folder / "logs"]).restarted == 1
        assert b"".join(memory.raw(uuid_of(1))) == path.read_bytes()
        assert "PROMPT 0" in texts(memory, uuid_of(1))


def test_the_same_content_in_another_inode_is_no_other_file(folder: Path) -> None:
    def change(path: Path) -> None:
        copy = path.parent / "copy"
        shutil.copyfile(path, copy)
        os.replace(copy, path)

    memory, report = _rewritten(folder, change)
    with memory:
        assert (report.restarted, report.changed, report.bytes_parsed) == (0, 1, 0)
        assert len(memory.sources()) == 1
        assert memory.ingest([folder / "logs"]).unchanged == 1


def test_a_truncated_file_that_grows_again_doubles_nothing(folder: Path) -> None:
    def change(path: Path) -> None:
        path.write_bytes(b"\n".join(LINES[:3]) + b"\n")

    memory, report = _rewritten(folder, change)
    with memory:
        assert (report.restarted, report.duplicate, report.taken) == (1, 3, 0)
        path = claude_path(folder / "logs", 1)
        path.write_bytes(b"\n".join([*LINES, said(70, "later")]) + b"\n")
        memory.ingest([folder / "logs"])
        assert texts(memory, uuid_of(1)) == [*(f"prompt {n}" for n in range(8)), "later"]
        assert b"".join(memory.raw(uuid_of(1))) == path.read_bytes()


def test_a_moved_file_is_stored_once_and_its_session_shows_it_once(folder: Path) -> None:
    def change(path: Path) -> None:
        moved = folder / "logs" / "projects" / "-work-elsewhere" / path.name
        moved.parent.mkdir()
        path.rename(moved)
        moved.write_bytes(moved.read_bytes() + said(80, "after the move") + b"\n")

    memory, report = _rewritten(folder, change)
    with memory:
        assert (report.duplicate, report.taken) == (8, 1)
        assert len(memory.sessions()) == 1
        assert texts(memory, uuid_of(1)) == [*(f"prompt {n}" for n in range(8)), "after the move"]
        assert b"".join(memory.raw(uuid_of(1))).endswith(b"\n" + said(80, "after the move") + b"\n")
        assert memory.info().lines == 9


def test_a_rollout_that_is_compressed_and_unpacked_again_stays_one_source(folder: Path) -> None:
    name = LINE_FIXTURES[-1]
    path = write(placed(folder, name), WHOLE[name])
    packed = path.with_name(path.name + ".zst")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder / "logs"])
        before = content(memory)
        packed.write_bytes(zstandard.compress(WHOLE[name]))
        path.unlink()
        report = memory.ingest([folder / "logs"])
        assert (report.restarted, report.bytes_parsed, report.changed) == (0, 0, 1)
        assert content(memory) == before
        assert memory.ingest([folder / "logs"]).unchanged == 1
        more = WHOLE[name] + b'{"timestamp":"2026-08-02T00:00:00.000Z","type":"unheard-of","payload":{}}\n'
        path.write_bytes(more)
        assert memory.ingest([folder / "logs"]).skipped["compressed copy of a plain file"] == 1
        packed.unlink()
        assert memory.ingest([folder / "logs"]).restarted == 0
        assert sources_of(memory) == {str(path): more}
        packed.write_bytes(zstandard.compress(more[:2000]) + zstandard.compress(more[2000:] + b"12\n"))
        path.unlink()
        assert memory.ingest([folder / "logs"]).restarted == 0
        assert sources_of(memory) == {str(path): more + b"12\n"}


# -- copies ----------------------------------------------------------------------------------------


def test_a_resume_that_copied_its_history_is_stored_once_and_shows_it_in_order(folder: Path) -> None:
    old = [said(n, f"prompt {n}") for n in range(4)] + [answered(4, "answer", 33, 1)]
    new = [*old, said(5, "resumed", session=2), answered(6, "answer again", 5, 2, session=2)]
    write(claude_path(folder / "logs", 1), b"\n".join(old) + b"\n")
    write(claude_path(folder / "logs", 2), b"\n".join(new) + b"\n")
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([folder / "logs"])
        assert (report.taken, report.duplicate) == (7, 5)
        assert adds_up(report)
        assert memory.info().lines == 7
        shown = [*(f"prompt {n}" for n in range(4)), "answer", "resumed", "answer again"]
        assert texts(memory, uuid_of(2)) == shown
        assert texts(memory, uuid_of(1)) == shown[:5]
        assert b"".join(memory.raw(uuid_of(1))) == b"\n".join(old) + b"\n"
        assert b"".join(memory.raw(uuid_of(2))) == b"\n".join(new) + b"\n"
        assert memory.usage().total.output == 38


_words = st.lists(st.integers(0, 3), max_size=10)


@more
@given(files=st.lists(_words, min_size=2, max_size=4), cut=st.integers(0, 10))
def test_repeated_and_copied_lines_show_as_often_as_their_file_has_them(
    files: list[list[int]], cut: int
) -> None:
    """Equal lines within one file are its own; a file read in two sweeps shows what one sweep shows."""
    with scratch() as folder:
        for memory, steps in (
            (open_memory(folder / "a.h5"), (cut, 99)),
            (open_memory(folder / "b.h5"), (99,)),
        ):
            with memory:
                for step in steps:
                    for n, words in enumerate(files):
                        lines = [said(word, f"word {word}") + b"\n" for word in words[:step]]
                        write(claude_path(folder / "logs", n), b"".join(lines))
                    assert adds_up(memory.ingest([folder / "logs"]))
                for n, words in enumerate(files):
                    if words:
                        assert texts(memory, uuid_of(n)) == [f"word {word}" for word in words]
                assert not memory.ingest([folder / "logs"]).changed


def test_a_half_line_that_a_newline_ends_is_counted_as_bad_not_as_known(folder: Path) -> None:
    path = write(claude_path(folder / "logs", 1), said(1, "fine") + b'\n{"type":"us')
    with open_memory(folder / "m.h5") as memory:
        assert memory.ingest([folder / "logs"]).waiting == 1
        path.write_bytes(path.read_bytes() + b"\n" + said(2, "next") + b"\n")
        report = memory.ingest([folder / "logs"])
        assert (report.bad, report.taken, report.duplicate, report.waiting) == (1, 1, 0, 0)
        assert dict(report.bad_reasons) == {"not JSON": 1}
        assert b"".join(memory.raw(uuid_of(1))) == path.read_bytes()


def test_two_files_that_end_in_the_same_half_line_both_wait(folder: Path) -> None:
    with open_memory(folder / "m.h5") as memory:
        for n in (1, 2):
            write(claude_path(folder / "logs", n), said(n, "fine", session=n) + b'\n{"type":"us')
            report = memory.ingest([folder / "logs"])
            assert (report.waiting, report.taken, report.duplicate) == (1, 1, 0)
        write(claude_path(folder / "logs", 1), said(1, "fine") + b"\n" + said(3, "done") + b"\n")
        memory.ingest([folder / "logs"])
        assert b"".join(memory.raw(uuid_of(2))).endswith(b'\n{"type":"us')


def test_compacting_drops_replaced_halves_and_moves_everything_else_along(folder: Path) -> None:
    """Rows that nothing refers to lie among the others, so every reference has to move."""
    paths = [claude_path(folder / "logs", n) for n in range(4)]
    with open_memory(folder / "m.h5") as memory:
        for step in range(1, 6):
            for n, path in enumerate(paths):
                lines = [answered(10 * n + m, f"{n}.{m}", m + 1, 10 * n + m, session=n) for m in range(step)]
                write(path, b"\n".join(lines) + b'\n{"cut off %d' % step)
            memory.ingest([folder / "logs"])
        before, lines_before = content(memory), memory.info().lines
        memory.compact()
        assert content(memory) == before
        assert lines_before - memory.info().lines == 4 * 4  # of each file all halves but the last
        with memory.view() as view:
            columns = view.usage()
            for row, line in enumerate(columns.line.tolist()):
                source, number = view.locate(line)
                record = json.loads(list(view.lines(source))[number - 1].data)
                assert record["message"]["usage"]["output_tokens"] == columns.output[row]
        assert memory.check() == []


def test_a_whole_line_equal_to_another_files_half_line_has_its_entries(folder: Path) -> None:
    """A number needs its newline to be whole; the same digits elsewhere are another line."""
    write(claude_path(folder / "logs", 1), said(1, "fine") + b"\n12")
    whole = write(claude_path(folder / "logs", 2), said(2, "fine too", session=2) + b"\n12\n")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder / "logs"])
        assert [e.type for e in memory.show(uuid_of(2))] == ["user", "json/int"]
        write(claude_path(folder / "logs", 1), said(1, "fine") + b"\n1234\n")
        memory.ingest([folder / "logs"])
        assert [e.type for e in memory.show(uuid_of(1))] == ["user", "json/int"]
        assert sources_of(memory)[str(whole)].endswith(b"\n12\n")


def test_many_alternating_copies_do_not_take_quadratic_work(folder: Path) -> None:
    """Every second line is known: the chains grow long, and must still be looked up fast."""
    calls = []
    for lines in (1000, 4000):
        write(claude_path(folder / str(lines), 1), b"".join(said(n, f"a{n}") + b"\n" for n in range(lines)))
        mixed = b"".join(said(n, "ab"[n % 2] + str(n)) + b"\n" for n in range(lines))
        write(claude_path(folder / str(lines), 2), mixed)
        with open_memory(folder / f"{lines}.h5") as memory:
            calls.append(_seconds(lambda m=memory, n=lines: m.ingest([folder / str(n)])))
    assert calls[1] < 12 * calls[0]


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
