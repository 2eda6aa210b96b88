"""What completion offers: values that are there, the most frequent first."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.claude_talk import Talk, remembered

from recollect.search.completion import values
from recollect.values.errors import UsageError

Offered = Callable[..., list[tuple[str, int]]]


@contextlib.contextmanager
def offering(folder: Path, *talks: Talk) -> Iterator[Offered]:
    with remembered(folder, *talks) as memory, memory.indexes.asking(meaning=False) as search:
        yield lambda field, prefix="", limit=10: values(
            search.text, search.sessions, search.mentions, field, prefix, limit
        )


def talk_of(number: int, project: str, *prompts: str) -> Talk:
    talk = Talk(number, f"/home/ada/{project}")
    for prompt in prompts:
        talk.user(prompt)
    return talk


def test_projects_are_offered_by_how_much_was_said_in_them(folder: Path) -> None:
    talks = [talk_of(1, "harbor", "a"), talk_of(2, "hall", "b", "c", "d"), talk_of(3, "quay", "e", "f")]
    talks.append(talk_of(4, "harbor", "g"))
    with offering(folder, *talks) as offered:
        assert [count for _, count in offered("project")] == [3, 2, 2]
        first, second = (
            name for name, _ in offered("project", offered("project")[0][0][:1]) if "quay" not in name
        )
        assert (first[-4:], second[-6:]) == ("hall", "harbor")
        assert len(offered("project", limit=2)) == 2
        assert offered("project", "nothing begins so") == []


def test_case_makes_no_difference(folder: Path) -> None:
    talk = talk_of(1, "harbor", "look")
    talk.call("Read", "seen", file_path="/home/ada/harbor/Lamp.css")
    with offering(folder, talk) as offered:
        assert offered("agent", "CL") == offered("agent", "cl") == [("claude", 3)]
        assert offered("tool", "RE") == offered("tool", "re")
        assert [name for name, _ in offered("file", "lamp")] == ["lamp.css"]
        assert [name for name, _ in offered("file", "./Harbor/la")] == ["harbor/lamp.css"]
        assert [name for name, _ in offered("dir", "har")] == ["harbor"]


def test_kinds_of_lines_are_offered_as_they_are_asked_for(folder: Path) -> None:
    with offering(folder, talk_of(1, "harbor", "look")) as offered:
        assert offered("tag", "raw:us") == offered("tag", "us") == [("raw:user", 1)]


def test_what_is_the_same_in_every_store_is_offered_uncounted(folder: Path) -> None:
    with offering(folder, talk_of(1, "harbor", "look")) as offered:
        assert offered("kind", "pro") == [("prompt", 0)]
        assert ("assistant", 0) in offered("role")
        assert offered("role", "q") == []


def test_a_field_that_is_none_is_refused(folder: Path) -> None:
    with offering(folder, talk_of(1, "harbor", "look")) as offered, pytest.raises(UsageError):
        offered("colour")
