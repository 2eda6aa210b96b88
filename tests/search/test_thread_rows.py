"""Which sessions are one thread is worked out once for each state of a store, and never believed blindly."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.claude_talk import Talk, remembered

from recollect.memory import Memory
from recollect.search import thread_rows as module
from recollect.search.cache_folder import read_stamp, write_stamp
from recollect.search.projects import by_name
from recollect.search.thread_rows import thread_rows


def forked(number: int) -> list[Talk]:
    talk = Talk(number, "/home/ada/harbor")
    talk.user(f"Mend pier {number}")
    talk.assistant("Done.")
    return [talk, talk.fork(number + 10)]


def sizes(memory: Memory) -> list[int]:
    with memory.view() as view:
        rows = thread_rows(by_name(view))
    return sorted(list(rows.values()).count(first) for first in set(rows.values()))


def test_what_is_kept_is_not_worked_out_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with remembered(folder, *forked(1)) as memory:
        memory.index()
        assert sizes(memory) == [2]
        with monkeypatch.context() as patch:
            patch.setattr(module, "joined_sessions", lambda *_: pytest.fail("worked out again"))
            assert sizes(memory) == [2]
        forked(2)[0].write(folder / "more")
        memory.ingest([folder / "more"])
        assert sizes(memory) == [1, 2]


@pytest.mark.parametrize("harm", ["rows", "firsts", "words", "gone", "cut"])
def test_what_is_not_as_it_was_kept_is_worked_out_again(folder: Path, harm: str) -> None:
    with remembered(folder, *forked(1)) as memory:
        memory.index()
        assert sizes(memory) == [2]
        (kept,) = memory.config.cache.glob("*/threads.stamp")
        if harm == "gone":
            kept.unlink()
        elif harm == "cut":
            kept.write_bytes(kept.read_bytes()[:-5])
        else:
            told = {"words": {"rows": ["x"], "firsts": ["y"]}}.get(harm, {harm: [1]})
            write_stamp(kept, {**read_stamp(kept), **told})
        assert sizes(memory) == [2]


def test_without_indexes_nothing_is_kept(folder: Path) -> None:
    with remembered(folder, *forked(1)) as memory:
        assert sum(sizes(memory)) == 2
        assert not list(memory.config.cache.glob("**/threads.stamp"))
