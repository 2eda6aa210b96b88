"""Which sessions go on with one another's work, by what was said and changed in them; and no others."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.insight.digest.told import FOLDER, Told
from tests.support.claude_talk import Talk
from tests.support.memories import open_memory, scratch

from recollect.insight import understood
from recollect.insight.derive import derive
from recollect.insight.tying import ties_of
from recollect.memory import Memory
from recollect.search.joining import Joined, joined
from recollect.search.ties import TIES, Tie, Ties, kept_ties, session_key
from recollect.store import derived
from recollect.store.derived import stored_table
from recollect.values.errors import DerivedDamaged
from recollect.values.history import How
from recollect.values.records import SessionFacts
from recollect.values.stored import Session

HOUR = 3_600_000
PLAN = "# Plan: Dredge the northern harbor basin\n\n" + "Scoop the silt, carry it out to sea. " * 20
REQUEST = "Find out why the ferry bookings of the northern pier are lost overnight"


class Past:
    """Sessions of one project, and what ties them."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.rows: list[tuple[int, int, int]] = []

    def add(self, id_: str, told: Told, hour: float = 0, **facts: Any) -> Past:
        """A session that begins at an hour and ends a minute after its last entry."""
        shift = int((5000 + hour) * HOUR)
        entries = [replace(e, entry=replace(e.entry, time_ms=e.entry.time_ms + shift)) for e in told.entries]
        times = {"started_ms": entries[0].entry.time_ms, "ended_ms": entries[-1].entry.time_ms + 60_000}
        known = {"project": "harbor", "cwd": FOLDER, **times, **facts}
        session = Session(SessionFacts("claude", id_, **known), "here", len(entries))
        self.sessions.append(session)
        self.rows += [(session_key(session), *tie) for tie in ties_of(entries, session.facts)]
        return self

    def filled(self, count: int = 30) -> Past:
        """Other work in the project, long ago, so that it is known what is rare there."""
        for n in range(count):
            told = Told().asks(f"Paint boat number {n} in colour{n} and hang lamp{n}").edits(f"boats/b{n}.py")
            self.add(f"other{n}", told, -2000 + n * 20)
        return self

    def joined(self) -> Joined:
        columns = zip(*self.rows, strict=True)
        ties = Ties(*(np.array(c, t) for c, t in zip(columns, ("<u8", "<u1", "<u8"), strict=True)))
        return joined(dict(enumerate(self.sessions)), ties)

    def how(self, one: str, other: str) -> tuple[bool, list[How]]:
        """Whether two are one thread, and what is told of them."""
        made, at = self.joined(), {each.facts.id: n for n, each in enumerate(self.sessions)}
        pair = {at[one], at[other]}
        told = [each.how for each in made.joints if {each.earlier, each.later} == pair]
        return made.threads[at[one]] == made.threads[at[other]], told


class TestCertain:
    def test_a_plan_that_was_refused_and_is_the_next_first_prompt(self) -> None:
        first = Told().asks("Plan the dredging").refuses("ExitPlanMode", plan=PLAN)
        past = Past().add("a", first).add("b", Told().asks(f"Implement the following plan:\n\n{PLAN}"), 1)
        assert past.how("a", "b") == (True, [How.PLAN])

    def test_a_plan_that_was_written_to_a_file_and_worked_on_since(self) -> None:
        first = Told().asks("Plan the dredging").writes("../.claude/plans/x.md", PLAN)
        second = Told().asks(f"Implement the following plan:\n\n{PLAN.replace('silt', 'mud')}")
        assert Past().add("a", first).add("b", second, 1).how("a", "b") == (True, [How.PLAN])

    @pytest.mark.parametrize("facts", [{"project": "ferry"}, {"hour": 2000.0}])
    def test_a_plan_is_not_carried_to_another_project_nor_over_months(self, facts: dict[str, Any]) -> None:
        first = Told().asks("Plan the dredging").refuses("ExitPlanMode", plan=PLAN)
        past = Past().add("a", first).add("b", Told().asks(f"Implement:\n\n{PLAN}"), **{"hour": 1, **facts})
        assert past.how("a", "b") == (False, [])

    def test_a_plan_is_not_carried_back_in_time(self) -> None:
        later = Told().asks("Plan the dredging").refuses("ExitPlanMode", plan=PLAN)
        past = Past().add("a", later, 5).add("b", Told().asks(f"Implement:\n\n{PLAN}"), 1)
        assert past.how("a", "b") == (False, [])

    def test_two_plans_of_one_template_are_two_pieces_of_work(self) -> None:
        other = PLAN.replace("Dredge the northern harbor basin", "Count the gulls of the fish market")
        past = Past().add("a", Told().asks(f"Implement the following plan:\n\n{PLAN}"))
        assert (
            past.add("b", Told().asks(f"Implement the following plan:\n\n{other}"), 1).how("a", "b")[0]
            is False
        )

    def test_what_was_copied_with_its_moment(self) -> None:
        told = Told().asks("Raise the lamp").says("Done.")
        past = Past().add("a", told).add("b", Told().asks("Raise the lamp"), 0)
        assert past.how("a", "b") == (True, [How.FORK])

    def test_the_same_short_word_at_another_moment_ties_nothing(self) -> None:
        past = Past().add("a", Told().asks("Raise the lamp")).add("b", Told().asks("Raise the lamp"), 5)
        assert past.how("a", "b") == (False, [])

    def test_a_prompt_that_names_the_log_to_read(self) -> None:
        name = "11111111-2222-4333-8444-555555555555"
        second = Told().asks(f"Go on; the transcript is /home/ada/.claude/projects/x/{name}.jsonl")
        past = Past().add(name, Told().asks("Raise the lamp")).add("b", second, 900, project="elsewhere")
        assert past.how(name, "b") == (True, [How.HANDOVER])

    def test_an_export_does_not_tie_what_it_was_assembled_from(self) -> None:
        from recollect.values.records import Flag

        told = Told().asks("Raise the lamp").says("Done.")
        copied = Told()
        copied.entries = [replace(e, entry=replace(e.entry, flags=int(Flag.EXPORTED))) for e in told.entries]
        assert Past().add("a", told).add("b", copied).how("a", "b") == (False, [])


class TestAgain:
    def test_the_same_request_soon_after(self) -> None:
        past = Past().add("a", Told().asks(REQUEST).stops()).add("b", Told().asks(REQUEST), 1)
        assert past.how("a", "b") == (True, [How.REQUEST])

    def test_not_when_many_sessions_begin_so(self) -> None:
        past = Past()
        for n in range(5):
            past.add(f"s{n}", Told().asks(REQUEST), n)
        assert past.how("s0", "s1") == (False, [])

    def test_not_weeks_later(self) -> None:
        past = Past().add("a", Told().asks(REQUEST)).add("b", Told().asks(REQUEST), 24 * 9)
        assert past.how("a", "b") == (False, [])

    def test_the_same_issue_in_other_words(self) -> None:
        past = Past().add("a", Told().asks("Look at https://github.com/ada/harbor/issues/718 please"))
        past.add("b", Told().asks("Issue 718 says that lamps break; solve it"), 30)
        past.add("c", Told().asks("Issue 719 says that lamps break; solve it"), 31)
        assert past.how("a", "b") == (True, [How.ISSUE])
        assert past.how("a", "c") == (False, [])

    def test_a_list_of_issues_is_about_none_of_them(self) -> None:
        past = Past().add("a", Told().asks("Sort the issues #718, #719, #720 and #721 by weight"))
        assert past.add("b", Told().asks("Issue 718 says that lamps break"), 1).how("a", "b")[0] is False


class TestWeak:
    def test_a_correction_minutes_later_of_the_same_file_and_a_rare_word(self) -> None:
        past = (
            Past().filled().add("a", Told().asks("Build the foghorn").edits("src/horn.py").edits("src/x.py"))
        )
        past.add("b", Told().asks("I do not want to hear the foghorn at night").edits("src/horn.py"), 0.2)
        assert past.how("a", "b") == (True, [How.FOLLOW_UP])

    def test_not_for_the_same_file_alone(self) -> None:
        past = Past().filled().add("a", Told().asks("Build the foghorn").edits("src/horn.py"))
        past.add("b", Told().asks("Show opening times on the gate").edits("src/horn.py"), 0.2)
        assert past.how("a", "b") == (False, [])

    def test_not_for_a_word_that_all_of_the_project_says(self) -> None:
        past = Past().filled().add("a", Told().asks("Paint the boat of Ada").edits("src/horn.py"))
        past.add("b", Told().asks("Paint the boat of Bob").edits("src/horn.py"), 0.2)
        assert past.how("a", "b") == (False, [])

    def test_not_for_words_that_a_third_of_the_project_says(self) -> None:
        past = Past().filled()
        for n in range(10):
            past.add(f"more{n}", Told().asks(f"Mend the siren and the gull of basin {n}"), -900 + n * 20)
        past.add("a", Told().asks("Build the siren and the gull of the basin").edits("src/horn.py"))
        past.add("b", Told().asks("Show siren and gull in the basin").edits("src/horn.py"), 0.2)
        assert past.how("a", "b") == (False, [])

    def test_not_when_most_of_it_is_elsewhere(self) -> None:
        past = Past().filled().add("a", Told().asks("Build the foghorn").edits("src/horn.py"))
        later = Told().asks("Hang a flag above the foghorn").edits("src/horn.py").edits("src/flag.py")
        assert past.add("b", later.edits("src/mast.py"), 0.2).how("a", "b") == (False, [])

    def test_two_rare_words_and_most_of_the_files_soon_after(self) -> None:
        past = Past().filled().add("a", Told().asks("Build the foghorn siren").edits("src/horn.py"))
        later = Told().asks("The foghorn siren is too loud").edits("src/horn.py").edits("src/loud.py")
        assert past.add("b", later, 3).how("a", "b") == (True, [How.FOLLOW_UP])

    def test_not_for_two_rare_words_and_few_of_the_files(self) -> None:
        past = Past().filled().add("a", Told().asks("Build the foghorn siren").edits("src/horn.py"))
        later = Told().asks("Print foghorn and siren in the timetable").edits("src/horn.py")
        past.add("b", later.edits("src/print.py").edits("src/table.py"), 3)
        assert past.how("a", "b") == (False, [])

    def test_not_a_week_later(self) -> None:
        past = Past().filled().add("a", Told().asks("Build the foghorn siren").edits("src/horn.py"))
        past.add("b", Told().asks("The foghorn siren is too loud").edits("src/horn.py"), 24 * 8)
        assert past.how("a", "b") == (False, [])

    def test_a_plan_of_its_own_is_told_of_and_not_joined(self) -> None:
        past = Past().filled().add("a", Told().asks("Dredge the basin of the foghorn").edits("src/horn.py"))
        past.add("b", Told().asks(f"Implement:\n\n{PLAN}").edits("src/horn.py"), 0.2)
        assert past.how("a", "b") == (False, [How.FOLLOW_UP])

    def test_a_specification_that_both_worked_on(self) -> None:
        past = Past().add("a", Told().asks("Specify").writes("specs/001-lamp/plan.md"))
        past.add("b", Told().asks("Do task two").edits("specs/001-lamp/plan.md"), 20)
        past.add("c", Told().asks("Do task three").edits("specs/001-lamp/plan.md"), 24 * 9)
        assert past.how("a", "b") == (True, [How.DOCUMENT])
        assert past.how("b", "c") == (False, [])

    def test_a_branch_of_their_own_with_words_and_without(self) -> None:
        past = Past().filled()
        past.add("a", Told().asks("Build the foghorn").edits("src/horn.py"), branch="feat/horn")
        past.add("b", Told().asks("Test the foghorn").edits("src/test.py"), 40, branch="feat/horn")
        past.add("c", Told().asks("Show opening times").edits("src/horn.py"), 41, branch="feat/horn")
        assert past.how("a", "b") == (True, [How.BRANCH])
        assert past.how("a", "c") == (False, [How.BRANCH])

    def test_a_usual_branch_ties_nothing(self) -> None:
        past = Past().filled().add("a", Told().asks("Build the foghorn"), branch="main")
        assert past.add("b", Told().asks("Test the foghorn"), 40, branch="main").how("a", "b") == (False, [])

    def test_no_chain_of_guesses_grows(self) -> None:
        past = Past().filled(60)
        for n in range(6):
            told = Told().asks(f"Mend foghorn{n} and foghorn{n + 1} siren{n} siren{n + 1}")
            past.add(f"s{n}", told.edits(f"src/h{n}.py").edits(f"src/h{n + 1}.py"), n)
        made = past.joined()
        chain = [made.threads[n] for n, each in enumerate(past.sessions) if each.facts.id.startswith("s")]
        assert max(chain.count(each) for each in chain) == 2

    def test_it_begins_when_something_was_asked(self) -> None:
        """A session that was opened early and used late follows what was done in between."""
        past = Past().filled().add("a", Told().asks("Build the foghorn").edits("src/horn.py"), 1)
        late = Told().asks("I do not want to hear the foghorn at night").edits("src/horn.py")
        past.add("b", late, 1.2, started_ms=5)
        made = past.joined()
        (joint,) = made.joints
        assert [past.sessions[n].facts.id for n in (joint.earlier, joint.later)] == ["a", "b"]


WORDS = st.sampled_from(["foghorn", "siren", "lamp", "basin", "gull", "pier"])
SAID = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
TOLD = st.lists(st.tuples(SAID, st.sampled_from("abc"), st.booleans()), min_size=1, max_size=3)


def built(said: list[tuple[str, str, bool]]) -> Told:
    told = Told()
    for text, path, is_plan in said:
        told.asks(f"{PLAN} {text}" if is_plan else f"Build the {text} of #4{len(text)}")
        told.edits(f"src/{path}.py")
    return told


@given(
    st.lists(st.tuples(TOLD, st.integers(0, 60)), min_size=2, max_size=8), st.randoms(use_true_random=False)
)
@settings(max_examples=60, deadline=None)
def test_threads_do_not_depend_on_the_order_of_sessions(
    said: list[tuple[list[tuple[str, str, bool]], int]], order: random.Random
) -> None:
    past = Past()
    for n, (told, hour) in enumerate(said):
        past.add(f"s{n}", built(told), hour)

    def threads() -> set[frozenset[str]]:
        made = past.joined().threads
        ids = {n: each.facts.id for n, each in enumerate(past.sessions)}
        return {frozenset(ids[n] for n in ids if made[n] == first) for first in set(made.values())}

    expected = threads()
    order.shuffle(past.sessions)
    assert threads() == expected


# -- the table -------------------------------------------------------------------------------------------


def talk(number: int, *said: str) -> Talk:
    told = Talk(number, "/home/ada/harbor")
    for text in said:
        told.user(f"Build the {text} for the northern pier, as it was said in issue #{len(text)}4")
        told.call("Edit", "done", file_path=f"/home/ada/harbor/{text}.py", old_string="a", new_string="b")
        told.assistant("Built.")
    return told


def tie(memory: Memory) -> None:
    derive(memory._store)


def kept(memory: Memory) -> dict[int, list[tuple[int, int]]]:
    with memory.view() as view:
        ties = kept_ties(view)
    found: dict[int, list[tuple[int, int]]] = {}
    for session, *each in zip(ties.session.tolist(), ties.kind.tolist(), ties.key.tolist(), strict=True):
        found.setdefault(session, []).append((each[0], each[1]))
    return found


def made_now(memory: Memory) -> dict[int, list[tuple[int, int]]]:
    with memory.view() as view:
        return {
            session_key(each): [
                (int(kind), key) for kind, key in ties_of(list(view.entries(each)), each.facts)
            ]
            for each in view.sessions()
        }


def rows(memory: Memory) -> int:
    with memory.view() as view:
        return stored_table(view, TIES).rows


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with open_memory(tmp_path / "memory.h5") as made:
        for number in range(1, 4):
            talk(number, "foghorn", f"lamp{number}").write(tmp_path / "logs")
        made.ingest([tmp_path / "logs"])
        tie(made)
        yield made


def test_every_session_has_the_ties_that_would_be_made_now(memory: Memory) -> None:
    assert kept(memory) == made_now(memory)
    assert len(kept(memory)) == 3
    assert {Tie.SAID, Tie.FILE, Tie.WORD, Tie.ISSUE} <= {
        kind for each in kept(memory).values() for kind, _ in each
    }


def test_indexing_ties_what_is_new(memory: Memory, tmp_path: Path) -> None:
    talk(4, "siren").write(tmp_path / "logs")
    memory.ingest([tmp_path / "logs"])
    assert kept(memory) != made_now(memory)
    memory.index()
    assert kept(memory) == made_now(memory)


def test_a_session_over_many_ranges_is_tied_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    before = rows(memory)
    with memory._store.writer() as writer:
        writer.drop_derived(TIES)
        writer.commit()
    monkeypatch.setattr(derived, "_ENTRIES_AT_ONCE", 3)
    tie(memory)
    assert (kept(memory), rows(memory)) == (made_now(memory), before)


def test_a_session_that_goes_on_is_tied_anew_and_the_others_are_not(memory: Memory, tmp_path: Path) -> None:
    before, others = rows(memory), kept(memory)
    talk(1, "foghorn", "lamp1", "gull").write(tmp_path / "logs")
    memory.ingest([tmp_path / "logs"])
    tie(memory)
    assert kept(memory) == made_now(memory)
    changed = [key for key, ties in kept(memory).items() if others[key] != ties]
    assert rows(memory) == before + len(kept(memory)[changed[0]])
    assert len(changed) == 1
    tie(memory)
    assert rows(memory) == before + len(kept(memory)[changed[0]])


@pytest.mark.parametrize("rewrite", ["compact", "reparse", "repair"])
def test_a_rewrite_carries_them_and_what_comes_out_alike_is_not_added(memory: Memory, rewrite: str) -> None:
    told, before = kept(memory), rows(memory)
    getattr(memory, rewrite)()
    assert kept(memory) == told
    tie(memory)
    assert (kept(memory), rows(memory)) == (told, before)
    assert memory.check() == []


def test_superseded_rows_are_cleared_out(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(understood, "_STALE_TIES_MIN", 0)
    for number in range(1, 12):
        talk(1, *(f"lamp{n}" for n in range(number))).write(tmp_path / "logs")
        memory.ingest([tmp_path / "logs"])
        tie(memory)
        assert kept(memory) == made_now(memory)
    assert rows(memory) <= 2 * sum(map(len, kept(memory).values()))


def test_a_copy_that_shows_nothing_new_is_tied_too(memory: Memory, tmp_path: Path) -> None:
    """Its lines are those of another session, so no entry is first seen in it."""
    source = next((tmp_path / "logs").rglob("00000001-*.jsonl"))
    lines = source.read_text().splitlines()[:3]
    source.with_name("99999999-0000-4000-8000-000000000000.jsonl").write_text("\n".join(lines) + "\n")
    memory.ingest([tmp_path / "logs"])
    tie(memory)
    assert set(kept(memory)) == set(made_now(memory))


def test_a_table_that_does_not_read_costs_the_ties_and_nothing_else(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with memory._store.view() as view:
        real = type(view).derived

    def broken(self: Any, table: Any, *rows: int, **only: Any) -> Any:
        if table.name == "ties":
            raise DerivedDamaged("ties", "it rots")
        return real(self, table, *rows, **only)

    assert len(memory.threads()) == 1
    monkeypatch.setattr(type(view), "derived", broken)
    with Memory.open(memory.name, config=memory.config) as again:  # the first one knows them already
        assert len(again.threads()) == 3
        again.index()


def test_a_search_and_a_list_mean_the_same_threads(memory: Memory, tmp_path: Path) -> None:
    memory.index()
    for thread in memory.threads():
        ids = {each.facts.id for each in thread.sessions}
        assert {
            hit.session.facts.id
            for hit in memory.search(f"thread:{thread.id}", limit=99, collapse=False).hits
        } == ids
    assert any(len(each.sessions) > 1 for each in memory.threads())


STEPS = st.lists(
    st.tuples(
        st.integers(1, 3), st.lists(st.sampled_from(["foghorn", "gull", "pier"]), min_size=1, max_size=3)
    ),
    min_size=1,
    max_size=5,
)


@given(STEPS)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_step_by_step_comes_out_as_in_one_go_and_after_a_rewrite(steps: list[tuple[int, list[str]]]) -> None:
    def threads(memory: Memory) -> Any:
        return [(each.id, [s.facts.id for s in each.sessions]) for each in memory.threads()]

    with scratch() as folder:
        told: dict[int, list[str]] = {}
        with open_memory(folder / "steps.h5") as memory:
            for number, said in steps:
                told[number] = [*told.get(number, []), *said]
                talk(number, *told[number]).write(folder / "logs")
                memory.ingest([folder / "logs"])
                tie(memory)
            expected, ties = threads(memory), kept(memory)
            memory.compact()
            tie(memory)
            assert (threads(memory), kept(memory)) == (expected, ties)
        with open_memory(folder / "once.h5") as memory:
            memory.ingest([folder / "logs"])
            tie(memory)
            assert (threads(memory), kept(memory)) == (expected, ties)


def test_hostile_calls_are_passed_over() -> None:
    told = Told().asks("Plan")
    for text in ("{", "[1]", '{"plan": 3}', json.dumps({"plan": None})):
        told.entries.append(
            replace(
                told.entries[0], entry=replace(told.calls("ExitPlanMode", "no").entries[-2].entry, text=text)
            )
        )
    ties = ties_of(told.entries, SessionFacts("claude", "s"))
    assert not any(kind == Tie.PROPOSED for kind, _ in ties)
