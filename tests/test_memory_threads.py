"""A memory that several threads may ask: at once, while others write, and until it is closed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.support import SOURCE

from recollect.config import Config
from recollect.memory import Memory
from recollect.values.errors import StoreBusy, StoreClosed
from recollect.values.records import Segment, SourceFile

THREADS = 6
ROUNDS = 6


def talk(folder: Path, number: int, asked: list[str]) -> Path:
    """A conversation as Claude Code logs it: prompts, each with an answer."""
    session = f"{number:08d}-0000-4000-8000-000000000000"
    lines = []
    for n, text in enumerate(asked):
        for said, role, words in ((0, "user", text), (1, "assistant", f"answer to {text}")):
            lines.append(
                {
                    "type": role,
                    "uuid": f"{number:08d}-{n:04d}-4000-8000-{said:012d}",
                    "sessionId": session,
                    "timestamp": f"2026-03-{number % 28 + 1:02d}T10:{n % 60:02d}:0{said}.000Z",
                    "cwd": f"/home/ada/{'api' if number % 2 else 'web'}",
                    "version": "2.1.0",
                    "message": {"role": role, "content": words},
                }
            )
    path = folder / "projects" / "-home-ada" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A dozen conversations, indexed."""
    logs = tmp_path / "logs"
    for number in range(12):
        talk(logs, number, [f"ask {number} about the harbor crane, part {n}" for n in range(20)])
    config = Config(tmp_path / "memory.h5", "here", cache=tmp_path / "cache")
    with Memory.open(config=config) as opened:
        opened.ingest([logs])
        opened.index()
        yield opened


def questions(memory: Memory) -> list[Callable[[], Any]]:
    """One of each kind of question, each giving a value that can be compared."""
    ids = [each.facts.id for each in memory.sessions()]
    return [
        lambda: [(hit.id, round(hit.score, 6)) for hit in memory.search("harbor crane part").hits],
        lambda: [hit.id for hit in memory.search("crane project:api", mode="text").hits],
        lambda: [hit.id for hit in memory.search('"part 7"', mode="text", limit=30).hits],
        lambda: [entry.id for entry in memory.show(ids[3])],
        lambda: [entry.id for entry in memory.tail(ids[5], 4)],
        lambda: memory.recall(["crane"], "what was asked about part 3").text,
        lambda: memory.read(next(iter(memory.tail(ids[7], 1))).id).text,
        lambda: b"".join(memory.raw(ids[9])),
        lambda: [(row.group, row.tokens) for row in memory.usage("session").rows],
        lambda: [thread.id for thread in memory.threads()],
        lambda: memory.info(),
    ]


def test_answers_at_once_are_the_answers_one_after_the_other(memory: Memory) -> None:
    asked = questions(memory)
    expected = [ask() for ask in asked]

    def ask_all(first: int) -> list[Any]:
        order = [*range(first, len(asked)), *range(first)]
        answers = {n: asked[n]() for n in order}
        return [answers[n] for n in range(len(asked))]

    with ThreadPoolExecutor(THREADS) as pool:
        for answers in pool.map(ask_all, [n % len(asked) for n in range(THREADS * ROUNDS)]):
            assert answers == expected


def test_writers_and_readers_do_not_disturb_each_other(memory: Memory, tmp_path: Path) -> None:
    """Every answer is one state of the store: as many entries as lines that belong to it."""
    more, ended = tmp_path / "more", threading.Event()

    def write() -> None:
        try:
            for number in range(20, 28):
                talk(more, number, [f"a later word {n} about sluices" for n in range(8)])
                memory.ingest([more])
        finally:
            ended.set()

    def read() -> int:
        seen = 0
        while not ended.is_set():
            hits = memory.search("sluices", mode="text", limit=200, collapse=False).hits
            assert all("sluices" in hit.stored.entry.text for hit in hits)
            assert len(hits) >= seen
            seen = len(hits)
            assert sum(each.entries for each in memory.sessions()) <= memory.info().entries
        return seen

    with ThreadPoolExecutor(THREADS) as pool:
        readers = [pool.submit(read) for _ in range(THREADS - 1)]
        pool.submit(write).result()
        for reader in readers:
            reader.result()
    assert len(memory.search("sluices", mode="text", limit=200, collapse=False).hits) == 8 * 8 * 2


def test_what_hooks_appended_is_found_by_every_thread(memory: Memory) -> None:
    late = talk(Path(memory.name).parent / "late", 40, ["where the lighthouse keeper went"])
    file = SourceFile("claude", str(late), session=late.stem)
    memory.append(Segment(file, "here", 0, late.read_bytes()))
    with ThreadPoolExecutor(THREADS) as pool:
        found = pool.map(
            lambda _: len(memory.search("lighthouse", mode="text", collapse=False).hits), range(THREADS)
        )
        assert list(found) == [2] * THREADS


def test_a_slow_reader_keeps_no_other_from_reading(memory: Memory) -> None:
    """One thread stops in the midst of a session; the others get their answers meanwhile."""
    first = memory.sessions()[0].facts.id
    begun, go_on = threading.Event(), threading.Event()

    def read_slowly() -> int:
        entries = memory.show(first)
        next(entries)
        begun.set()
        go_on.wait()
        return 1 + sum(1 for _ in entries)

    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(read_slowly)
        begun.wait()
        try:
            assert pool.submit(lambda: memory.search("crane").hits).result()
        finally:
            go_on.set()
        assert slow.result() == memory.session(first).entries


def test_closing_waits_for_who_is_reading_and_refuses_who_comes_later(memory: Memory) -> None:
    first = memory.sessions()[0].facts.id
    begun, go_on, closing = threading.Event(), threading.Event(), threading.Event()

    def read_slowly() -> int:
        entries = memory.show(first)
        next(entries)
        begun.set()
        go_on.wait()
        return 1 + sum(1 for _ in entries)

    def close() -> None:
        closing.set()
        memory.close()

    expected = memory.session(first).entries
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(read_slowly)
        begun.wait()
        closed = pool.submit(close)
        closing.wait()
        assert not closed.done()
        go_on.set()
        assert slow.result() == expected
        closed.result()
    with pytest.raises(StoreClosed):
        memory.info()
    memory.close()  # a second time does nothing


def test_an_iterator_that_was_left_keeps_nobody_from_closing(memory: Memory) -> None:
    entries = memory.show(memory.sessions()[0].facts.id)
    next(entries)
    memory.close()
    del entries


def test_closing_gives_up_on_a_reader_that_never_ends(memory: Memory, monkeypatch: Any) -> None:
    from recollect.store.hdf5 import readers

    monkeypatch.setattr(readers, "CLOSE_SECONDS", 0.05)
    first, begun, go_on = memory.sessions()[0].facts.id, threading.Event(), threading.Event()

    def read_slowly() -> None:
        entries = memory.show(first)
        next(entries)
        begun.set()
        go_on.wait()
        entries.close()

    thread = threading.Thread(target=read_slowly)
    thread.start()
    begun.wait()
    try:
        with pytest.raises(StoreBusy):
            memory.close()
    finally:
        go_on.set()
        thread.join()
    memory.close()


def test_an_iterator_may_be_closed_in_another_thread(memory: Memory) -> None:
    entries = memory.show(memory.sessions()[0].facts.id)
    next(entries)
    thread = threading.Thread(target=entries.close)
    thread.start()
    thread.join()
    assert memory.info().entries
    memory.compact()  # nobody holds the old file any more


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_reads_with_files_of_its_own(memory: Memory) -> None:
    """The child of a process in the midst of reading; its locks are not its parent's."""
    program = """
import os, sys, threading, warnings
from pathlib import Path
warnings.simplefilter("ignore")
from recollect.config import Config
from recollect.memory import Memory
memory = Memory.open(config=Config(Path(sys.argv[1]), "here", cache=Path(sys.argv[2])))
first = memory.sessions()[0].facts.id
stop = threading.Event()
def ask():
    while not stop.is_set():
        memory.search("crane")
others = [threading.Thread(target=ask) for _ in range(3)]
for other in others: other.start()
entries = memory.show(first)
next(entries)
for _ in range(5):
    child = os.fork()
    if not child:
        os._exit(0 if memory.info().entries and len(list(memory.show(first))) > 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
rest = sum(1 for _ in entries)
stop.set()
for other in others: other.join()
memory.close()
print(rest)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, memory.name, str(memory.config.cache)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == memory.sessions()[0].entries - 1
