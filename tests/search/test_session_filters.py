"""Which sessions a filter means, and which of them are one thread."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.views import named_sessions

from recollect.search.joining import joined
from recollect.search.session_filters import Sessions
from recollect.values.records import SessionFacts
from recollect.values.stored import Session


def session(id_: str, *, host: str = "here", **facts: Any) -> Session:
    return Session(SessionFacts("claude", id_, **facts), host, 1)


def threads(*sessions: Session) -> list[int]:
    return list(joined(dict(enumerate(sessions))).threads.values())


def test_sessions_that_share_no_name_are_threads_of_their_own() -> None:
    assert threads(session("a"), session("b"), session("c", root="c")) == [0, 1, 2]


def test_a_fork_is_of_the_thread_it_came_from_whichever_was_seen_first() -> None:
    assert threads(session("a"), session("x"), session("b", parent="a"), session("c", root="a")) == [
        0,
        1,
        0,
        0,
    ]
    assert threads(session("b", parent="a"), session("x"), session("a")) == [0, 1, 0]


def test_forks_of_a_lost_conversation_belong_together() -> None:
    assert threads(session("x"), session("a", root="gone"), session("b", parent="gone")) == [0, 1, 1]


def test_a_session_that_ties_two_threads_makes_them_one() -> None:
    late = session("d", parent="c", root="a")
    assert threads(session("a"), session("x"), session("b"), session("c", parent="b"), late) == [
        0,
        1,
        0,
        0,
        0,
    ]


def test_a_chain_is_followed_to_its_first_however_long() -> None:
    chain = [session(f"s{n}", parent=f"s{n + 1}") for n in range(50)]
    assert set(threads(*chain)) == {0}
    assert set(threads(*chain[::-1])) == {0}


def test_a_slug_ties_what_is_known_to_be_of_one_project() -> None:
    plan = {"slug": "calm-blue-sea"}
    assert threads(session("a", project="p", **plan), session("b", project="p", **plan)) == [0, 0]
    assert threads(session("a", project="p", **plan), session("b", project="q", **plan)) == [0, 1]
    assert threads(session("a", **plan), session("b", **plan)) == [0, 1]
    assert threads(session("a", project="p"), session("b", project="p")) == [0, 1]


@pytest.mark.parametrize(
    ("field", "value", "rows"),
    [
        ("project", "HARBOR", [0, 2]),
        ("project", "harbor/api", [2]),
        ("branch", "main", [0]),
        ("host", "mac", [1]),
        ("agent", "clau", [0, 1, 2]),
        ("session", "3F2A", [0, 2]),
        ("session", "f2a", []),
        ("thread", "3f2a0", [0, 1]),
        ("thread", "calm-blue-sea", [2]),
        ("thread", "calm", []),
    ],
)
def test_a_filter_lets_through_what_it_names(field: str, value: str, rows: list[int]) -> None:
    known = {
        0: session("3f2a0", project="ada/harbor", branch="Main"),
        1: session("77ab", parent="3f2a0", host="MacBook", project="quay"),
        2: session("3f2a1", slug="Calm-Blue-Sea", project="ada/harbor/api", branch="dev"),
    }
    sessions = Sessions(named_sessions(known))
    assert sessions.where(field, value) == rows
    assert [each.facts.id for each in sessions] == ["3f2a0", "77ab", "3f2a1"]
    assert sessions[1] is known[1]
