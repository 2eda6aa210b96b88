"""Which sessions are one piece of work: by every tie that logs have, and by no accident."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.memories import open_memory
from tests.support.views import named_sessions

from recollect.cli.screen import Screen
from recollect.cli.threads import threads as threads_command
from recollect.insight.threads import threads
from recollect.search.joining import joined
from recollect.search.session_filters import Sessions
from recollect.search.ties import Tie, Ties, session_key
from recollect.values.history import Thread
from recollect.values.records import Relation, SessionFacts
from recollect.values.stored import Session


def session(id_: str, *, entries: int = 1, **facts: Any) -> Session:
    return Session(SessionFacts(facts.pop("agent", "claude"), id_, **facts), "here", entries)


def ids(found: list[Thread]) -> list[list[str]]:
    return [[each.facts.id for each in thread.sessions] for thread in found]


class TestTies:
    def test_a_fork_and_a_continuation_are_of_the_session_they_come_from(self) -> None:
        found = threads(
            [
                session("a", started_ms=1, ended_ms=2),
                session("b", started_ms=3, ended_ms=4, parent="a", root="a", relation=Relation.FORK),
                session("c", started_ms=5, ended_ms=6, parent="b", root="b", relation=Relation.CONTINUATION),
                session("d", started_ms=7, ended_ms=8),
            ]
        )
        assert ids(found) == [["d"], ["a", "b", "c"]]

    def test_two_forks_of_a_lost_session_belong_together(self) -> None:
        found = threads([session("b", parent="a", root="a"), session("c", parent="a", root="a")])
        assert len(found) == 1

    def test_a_slug_ties_no_plan_to_a_session_that_did_not_make_it(self) -> None:
        every = [
            session(name, slug="quiet-amber-fox", project="harbor", started_ms=at, ended_ms=at)
            for at, name in enumerate("abcd", start=1)
        ]
        plans = {"a": (Tie.PROPOSED, 1), "b": (Tie.BEGUN, 1), "c": (Tie.BEGUN, 2)}
        keys = [session_key(each) for each in every if each.facts.id in plans]
        kinds, told = zip(*plans.values(), strict=True)
        ties = Ties(np.array(keys, "<u8"), np.array(kinds, "<u1"), np.array(told, "<u8"))
        assert ids(threads(every, ties=ties)) == [["c", "d"], ["a", "b"]]
        assert ids(threads(every)) == [["a", "b", "c", "d"]]

    def test_a_slug_ties_within_a_project_and_never_across(self) -> None:
        slug = "quiet-amber-fox"
        found = threads(
            [
                session("a", slug=slug, project="harbor", started_ms=1),
                session("b", slug=slug, project="harbor", started_ms=2),
                session("c", slug=slug, project="ferry", started_ms=3),
                session("d", slug=slug, started_ms=4),
                session("e", slug=slug, started_ms=5),
            ]
        )
        assert sorted(ids(found)) == [["a", "b"], ["c"], ["d"], ["e"]]

    def test_subagents_are_counted_and_not_listed(self) -> None:
        found = threads(
            [
                session("a", started_ms=1, ended_ms=5, entries=10),
                session("agent-1", parent="a", root="a", relation=Relation.SUBAGENT, ended_ms=9, entries=3),
            ]
        )
        assert ids(found) == [["a"]]
        assert (found[0].subagents, found[0].entries, found[0].ended_ms) == (1, 13, 9)

    def test_subagents_whose_conversation_is_gone_are_a_thread_still(self) -> None:
        found = threads([session("agent-1", parent="a", root="a", relation=Relation.SUBAGENT)])
        assert (ids(found), found[0].subagents) == ([["agent-1"]], 0)

    def test_a_long_chain_is_one_thread(self) -> None:
        chain = [session(f"{n:06}", parent=f"{n - 1:06}" if n else "") for n in range(20_000)]
        assert set(joined(dict(enumerate(chain))).threads.values()) == {0}
        assert set(joined(dict(enumerate(chain[::-1]))).threads.values()) == {0}


class TestThread:
    def test_it_is_named_by_its_first_session_and_shown_by_its_last(self) -> None:
        found = threads(
            [
                session(
                    "b", parent="a", started_ms=5, ended_ms=9, title="Second", branch="fix", agent="codex"
                ),
                session("a", started_ms=1, ended_ms=2, title="First", project="harbor", branch="main"),
            ]
        )
        thread = found[0]
        assert (thread.id, thread.title, thread.project, thread.branch) == ("a", "Second", "harbor", "fix")
        assert (thread.agents, thread.started_ms, thread.ended_ms) == (("claude", "codex"), 1, 9)

    def test_a_project_is_found_by_any_part_of_its_name(self) -> None:
        found = threads([session("a", project="github.com/ada/Harbor"), session("b", project="x")], "harb")
        assert ids(found) == [["a"]]


NAMES = st.sampled_from(["", "a", "b", "c", "d", "e", "f", "lost"])
SESSIONS = st.lists(
    st.builds(
        lambda id_, parent, root, slug, project: session(
            id_, parent=parent, root=root, slug=slug, project=project
        ),
        st.sampled_from("abcdef"),
        NAMES,
        NAMES,
        st.sampled_from(["", "s", "t"]),
        st.sampled_from(["", "harbor", "ferry"]),
    ),
    max_size=8,
    unique_by=lambda each: each.facts.id,
)


def names(each: Session) -> set[str]:
    """What ties a session, said a second time and more slowly."""
    facts = each.facts
    slug = f"{facts.slug} of {facts.project}" if facts.slug and facts.project else ""
    return {facts.id, facts.parent, facts.root, slug} - {""}


@given(SESSIONS, st.randoms(use_true_random=False))
def test_threads_are_the_closure_of_their_ties_in_any_order(found: list[Session], random: Any) -> None:
    expected = set()
    for each in found:
        near = [each]
        for one in near:
            near += [other for other in found if other not in near and names(one) & names(other)]
        expected.add(frozenset(other.facts.id for other in near))
    random.shuffle(found)
    numbered = {3 * n: each for n, each in enumerate(found)}  # rows may have gaps
    numbers = joined(numbered).threads
    assert all(numbers[first] == first <= number for number, first in numbers.items())
    made = threads(found)
    assert {frozenset(each.facts.id for each in thread.sessions) for thread in made} == expected
    for thread in made:
        rows = Sessions(named_sessions(numbered)).where("thread", thread.id)
        assert {numbered[row].facts.id for row in rows} == {each.facts.id for each in thread.sessions}


class TestCommand:
    @pytest.fixture
    def run(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
        logs = folder / "projects" / "-home-ada-harbor"
        logs.mkdir(parents=True)
        for n, title in enumerate(("Mend the quay", "Paint \x1b[31mthe buoy")):
            id_ = f"{n}{n}{n}{n}0000-0000-4000-8000-000000000000"
            record = {
                "type": "user",
                "sessionId": id_,
                "uuid": f"u{n}",
                "cwd": "/home/ada/harbor",
                "timestamp": f"2026-03-0{n + 1}T09:00:00.000Z",
                "message": {"role": "user", "content": title},
            }
            (logs / f"{id_}.jsonl").write_text(json.dumps(record))
        with open_memory(folder / "m.h5") as memory:
            memory.ingest([folder / "projects"])
        monkeypatch.setattr("recollect.cli.threads.open_memory", lambda args: open_memory(folder / "m.h5"))

        def run(*, as_json: bool = False, **words: Any) -> str:
            screen = Screen(json=as_json, color=False, quiet=False)
            args = argparse.Namespace(**{"project": "", "label": "", "limit": 0, "tree": False, **words})
            assert threads_command(args, screen) == 0
            screen.flush()
            return capsys.readouterr().out

        return run

    def test_it_lists_the_newest_first_and_nothing_that_steers_a_terminal(self, run: Any) -> None:
        out = run()
        assert out.index("the buoy") < out.index("Mend the quay")
        assert "\x1b" not in out
        assert run(project="ferry") == ""

    def test_json_has_every_session(self, run: Any) -> None:
        found = json.loads(run(as_json=True, limit=1))
        assert (found["schema"], found["total"], len(found["threads"])) == ("recollect.threads/1", 2, 1)
        assert found["threads"][0]["sessions"] == [found["threads"][0]["id"]]
