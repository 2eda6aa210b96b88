"""A memory that stays open: what it worked out of one state of the store, it does not tell of the next."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.claude_talk import Talk
from tests.support.memories import open_memory

from recollect.memory import Memory
from recollect.store.hdf5.read import Hdf5View

DAY = datetime.date(2026, 3, 3)
CWD = "/home/ada/harbor"

ASKED: dict[str, Callable[[Memory], object]] = {
    "activity": lambda memory: memory.activity(days=0),
    "dangers": lambda memory: memory.dangers(),
    "digest": lambda memory: memory.digest("00000001"),
    "entities": lambda memory: memory.entities(),
    "entity": lambda memory: memory.entity("README.md"),
    "headings": lambda memory: memory.headings(memory.sessions()),
    "search": lambda memory: [hit.stored.id for hit in memory.search("thread:00000001", mode="text").hits],
    "search_digests": lambda memory: memory.search_digests("crane"),
    "sessions": lambda memory: memory.sessions(),
    "thread": lambda memory: memory.thread("00000001"),
    "thread_trees": lambda memory: memory.thread_trees(),
    "threads": lambda memory: memory.threads(),
    "usage": lambda memory: memory.usage("session").rows,
    "week": lambda memory: memory.week(DAY),
}


def first_talk() -> Talk:
    talk = Talk(1, CWD)
    talk.user("Mend the crane of the harbor before the next ship comes in")
    talk.call("Edit", "done", file_path=f"{CWD}/README.md", old_string="a", new_string="b")
    talk.call("Bash", "gone", command="rm -rf /srv/crane")
    talk.answer("Mended.", model="opus", output_tokens=5)
    return talk


def goes_on(logs: Path) -> None:
    """The first conversation goes on, and is forked."""
    grown = first_talk()
    grown.user("And the crane's rope")
    grown.call("Bash", "gone", command="rm -rf /srv/rope")
    grown.answer("Done too.", model="opus", output_tokens=7)
    forked = grown.fork(2)
    forked.user("Tell it in docs/README.md: the crane is mended")
    forked.call("Write", "done", file_path=f"{CWD}/docs/README.md", content="x")
    forked.call("Edit", "done", file_path=f"{CWD}/README.md", old_string="b", new_string="c")
    for talk in (grown, forked):
        talk.write(logs)


@pytest.mark.parametrize("asked", ASKED)
def test_what_another_took_in_meanwhile_is_told_as_by_one_who_opens_it_now(folder: Path, asked: str) -> None:
    ask, logs = ASKED[asked], folder / "logs"
    first_talk().write(logs)
    with open_memory(folder / "memory.h5") as memory:
        memory.ingest([logs])
        memory.index()
        before = ask(memory)
        assert ask(memory) == before
        goes_on(logs)
        with open_memory(folder / "memory.h5") as other:
            other.ingest([logs])
            other.index()
        after = ask(memory)
        with open_memory(folder / "memory.h5") as new:
            assert after == ask(new)
        assert after != before


def test_all_sessions_are_read_once_for_a_state(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Hdf5View.sessions
    seen: list[Hdf5View] = []
    monkeypatch.setattr(Hdf5View, "sessions", lambda view: seen.append(view) or read(view))
    first_talk().write(folder / "logs")
    with open_memory(folder / "memory.h5") as memory:
        memory.ingest([folder / "logs"])
        memory.index()
        seen.clear()
        for ask in (memory.sessions, memory.threads, memory.dangers, memory.activity):
            ask()
        memory.thread("00000001")
        memory.week(DAY)
        assert len(seen) == 1
