"""Hits by session: every hit once, with what was asked where the best one stands and what it came to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.claude_talk import Talk
from tests.support.memories import open_memory, scratch

from recollect.memory import Memory
from recollect.search.snippet import GAP
from recollect.values.hits import SessionHits
from recollect.values.stored import StoredEntry

CAUSE = "The gauge lost its walrus because the float was dry."


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    harbor = Talk(1, "/home/ada/harbor")
    harbor.assistant("A heron before anyone asked")
    harbor.user("Let the tides run")
    harbor.call("Bash", "walrus walrus: gauge", failed=True, command="make tides")
    harbor.assistant("Let me look at the walrus gauge.")
    harbor.assistant(f"Let me sum up the walrus.\n\nAll tides run.\n\n{CAUSE} Others are fine.\n\nBye.")
    harbor.user("And the pelican?")
    harbor.assistant("It nests.")
    quay = Talk(2, "/home/ada/quay")
    quay.user("What does a walrus eat?")
    quay.assistant(" ".join(f"Clams {n}, walrus food. {'More of it. ' * 40}" for n in range(5)))
    with scratch() as folder:
        for talk in (harbor, quay):
            talk.write(folder / "logs")
        with open_memory(folder / "memory.h5") as made:
            made.ingest([folder / "logs"])
            yield made


def by_session(memory: Memory, query: str, **how: int) -> list[SessionHits]:
    return memory.search(query, mode="text", by_session=True, **how).sessions


def told(stored: StoredEntry | None) -> str:
    assert stored is not None
    return stored.entry.text


def test_every_hit_is_in_its_session_once_and_the_best_ones_session_is_first(memory: Memory) -> None:
    found = memory.search("walrus", by_session=True, collapse=False)
    listed = [hit.id for each in found.sessions for hit in each.hits]
    assert sorted(listed) == sorted(hit.id for hit in found.hits)
    assert len(found.sessions) == 2
    for each in found.sessions:
        assert {hit.session.facts.id for hit in each.hits} == {each.session.facts.id}
        ranks = [found.hits.index(hit) for hit in each.hits]
        assert ranks == sorted(ranks)
    assert found.sessions[0].hits[0] is found.hits[0]


def test_a_search_that_is_not_asked_for_sessions_has_none(memory: Memory) -> None:
    assert memory.search("walrus").sessions == []


def test_the_prompt_is_that_of_the_turn_and_the_conclusion_what_its_last_answer_says_of_it(
    memory: Memory,
) -> None:
    (found,) = by_session(memory, "walrus kind:result")
    assert told(found.prompt) == "Let the tides run"
    assert told(found.answer).startswith("Let me sum up")
    assert found.conclusion == f"{CAUSE} Others are fine."


def test_the_turn_is_that_of_the_best_hit_whatever_turns_the_others_are_of(memory: Memory) -> None:
    (found,) = by_session(
        memory, "walrus float dry pelican -look -kind:result session:00000001", collapse=False
    )
    assert [hit.stored.entry.text for hit in found.hits][1:] == ["And the pelican?"]
    assert told(found.prompt) == "Let the tides run"


def test_an_answer_without_a_word_of_the_question_is_quoted_from_its_first_telling_sentence(
    memory: Memory,
) -> None:
    (found,) = by_session(memory, "tool:Bash kind:call")
    assert found.conclusion == "All tides run."


def test_what_the_hit_itself_is_is_not_told_again(memory: Memory) -> None:
    (prompt,) = by_session(memory, "kind:prompt tides")
    assert prompt.prompt is None
    assert prompt.conclusion == "All tides run."
    (closing,) = by_session(memory, "kind:answer float")
    assert (closing.answer, closing.conclusion) == (None, "")
    assert told(closing.prompt) == "Let the tides run"


def test_before_anyone_asked_there_is_neither_a_prompt_nor_the_next_ones_answer(memory: Memory) -> None:
    (found,) = by_session(memory, "heron")
    assert (found.prompt, found.answer) == (None, None)


def test_the_best_hit_of_a_session_is_shown_in_one_window_more(memory: Memory) -> None:
    def windows(grouped: bool) -> int:
        hits = memory.search("clams walrus", mode="text", by_session=grouped).hits
        (long,) = (hit for hit in hits if hit.stored.entry.text.startswith("Clams"))
        return sum(part == GAP for part, _ in long.snippet.parts)

    assert (windows(False), windows(True)) == (1, 2)


def test_a_page_tells_of_its_own_sessions(memory: Memory) -> None:
    first = memory.search("walrus", by_session=True, limit=1)
    assert [len(each.hits) for each in first.sessions] == [1]
    assert by_session(memory, "zyzzyva") == []
