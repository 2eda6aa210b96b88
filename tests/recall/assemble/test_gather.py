"""The second pass: many searches, one list, and what speaks for and against each hit."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.claude_talk import Talk, remembered

from recollect.recall.assemble.gather import Gathered, Hit, gather
from recollect.recall.fitting import relevant_hits
from recollect.search.run import Request, Search
from recollect.values.assembly import FILE, NAME, PHRASE, TOPIC, Ask, Facet, Plan

NOW = datetime.datetime(2026, 3, 30)


@contextlib.contextmanager
def searching(folder: Path, *talks: Talk) -> Iterator[Search]:
    with remembered(folder, *talks) as memory:
        memory.index()
        with memory.indexes.asking(meaning=True) as search:
            yield search


def planned(*facets: str, asks: tuple[Ask, ...] = ()) -> Plan:
    """The first is the whole, with what is to be found as it is written; the others are parts."""
    whole, *parts = facets
    first = Facet(whole, (Ask(TOPIC, whole), *asks))
    return Plan(whole, (first, *(Facet(part, (Ask(TOPIC, part),)) for part in parts)))


def gathered(search: Search, plan: Plan, budget: int = 2_000) -> Gathered:
    return gather(search, plan, budget, NOW)


def hit_of(found: Gathered, text: str) -> Hit:
    (hit,) = (hit for hit in found.hits if hit.stored.entry.text.startswith(text))
    return hit


def share(search: Search, text: str, plan: Plan, other: Plan) -> float:
    """What an entry scores by one plan, in terms of what it does by another."""
    return hit_of(gathered(search, other), text).best / hit_of(gathered(search, plan), text).best


def talk_of(number: int, *prompts: str, project: str = "harbor") -> Talk:
    talk = Talk(number, f"/home/ada/{project}")
    for prompt in prompts:
        talk.user(prompt)
    return talk


# -- how much is looked at ---------------------------------------------------------------------------


def test_the_more_room_the_more_hits_of_each_search_within_limits(folder: Path) -> None:
    words = [f"walrus number{n} sleeps" for n in range(90)]
    with searching(folder, talk_of(1, *words)) as search:

        def found(budget: int) -> int:
            return next(each.found for each in gathered(search, planned("walrus"), budget).strategies)

        assert 20 <= found(200) <= 28
        assert 28 <= found(18_000) <= 32
        assert 35 <= found(10**6) <= 45


def test_the_few_best_threads_are_searched_again_and_what_is_like_the_few_best_hits(folder: Path) -> None:
    talks = [talk_of(n, *["walrus sleeps in the bay"] * n, f"quiet{n}") for n in range(1, 9)]
    with searching(folder, *talks) as search:
        found = gathered(search, planned("walrus sleeps"), 10**6)
        threads = [each.asked for each in found.strategies if each.name == "thread"]
        assert 2 <= len(threads) <= 4
        assert threads[:2] == [f"walrus sleeps in thread {talk.id[:13]}" for talk in (talks[7], talks[6])]
        (near,) = (each.asked for each in found.strategies if each.name == "near")
        assert 2 <= len(near.split(", ")) <= 4


def test_each_facet_is_searched_for_and_a_name_of_a_part_only_there(folder: Path) -> None:
    with searching(folder, talk_of(1, "walrus and lamp_store in the bay")) as search:
        name = Ask(NAME, "lamp_store")
        plan = planned("walrus, lamp_store", "walrus", "lamp_store", asks=(name, Ask(PHRASE, "the bay")))
        whole, walrus, lamp = plan.facets
        plan = replace(plan, facets=(whole, walrus, replace(lamp, asks=(*lamp.asks, name))))
        asked = [(each.name, each.asked, each.facet) for each in gathered(search, plan).strategies]
        assert [each[2] for each in asked if each[0] == "facet"] == [1, 2]
        assert [each for each in asked if each[0] == NAME] == [(NAME, "lamp_store", 2)]
        assert [each for each in asked if each[0] == PHRASE] == [(PHRASE, "the bay", 0)]


# -- how much counts what ----------------------------------------------------------------------------


def agreeing(search: Search) -> float:
    """What each further search adds that finds a hit."""
    once, thrice = (planned("walrus", asks=(Ask(NAME, "walrus"),) * count) for count in (1, 3))
    one, three = (hit_of(gathered(search, plan), "walrus").best for plan in (once, thrice))
    return (three - one) / 2


def test_another_search_that_finds_a_hit_counts_a_little(folder: Path) -> None:
    with searching(folder, talk_of(1, "walrus in the bay", "lamp on the quay")) as search:
        assert 0.02 <= agreeing(search) <= 0.06


@pytest.mark.parametrize("words", ["walrus", "walruses lighthouse", "marine mammals", "walrus in the bay"])
def test_a_hit_counts_no_more_than_its_best_search_says(folder: Path, words: str) -> None:
    with searching(folder, talk_of(1, "walrus in the bay", "lamp on the quay")) as search:
        hit = hit_of(gathered(search, planned(words)), "walrus")
        asked = [Request(words, mode, 10, plain=True, now=NOW) for mode in ("hybrid", "text", "vector")]
        scores = [
            found.score
            for each in asked
            for found in relevant_hits(search.run(each))
            if found.stored.row == hit.row
        ]
        base = hit.best - agreeing(search) * (len(hit.why) - 1)
        assert 0.75 * min(max(scores), 1) <= base <= min(max(scores), 1) + 1e-6


def test_a_name_alone_counts_less_than_what_is_meant(folder: Path) -> None:
    with searching(folder, talk_of(1, "walrus in the bay"), talk_of(2, "lamp on the quay")) as search:
        by_name = hit_of(gathered(search, planned("lamp", asks=(Ask(NAME, "walrus"),))), "walrus")
        (said,) = search.run(Request("walrus", "text", 10, plain=True, now=NOW)).hits
        base = by_name.best - agreeing(search) * (len(by_name.why) - 1)
        assert 0.7 * said.score <= base <= 0.9 * said.score


def test_a_part_counts_less_where_the_whole_finds_nothing(folder: Path) -> None:
    apart, together = talk_of(1, "xyzzy"), talk_of(2, "xyzzy", "walrus", "mast", "ship", "plugh")
    with searching(folder, apart, together) as search:
        found = gathered(search, planned("plugh", "xyzzy"))
        parts = {
            hit.stored.session: hit.scores[1] - agreeing(search) * (len(hit.why) - 1)
            for hit in found.hits
            if hit.stored.entry.text == "xyzzy"
        }
        assert 0.2 <= parts[apart.id] / parts[together.id] <= 0.6
        (best, *_) = search.run(Request("xyzzy", "hybrid", 10, plain=True, now=NOW)).hits
        assert parts[together.id] <= min(best.score, 1) + 1e-6


@pytest.mark.parametrize(
    ("named", "least", "most"), [(("harbor",), 0.99, 1.3), (("quay",), 0.3, 0.6), ((), 1, 1)]
)
def test_what_is_of_another_project_than_the_named_counts_half_or_less(
    folder: Path, named: tuple[str, ...], least: float, most: float
) -> None:
    with searching(folder, talk_of(1, "walrus in the bay")) as search:
        plan = planned("walrus")
        assert least <= share(search, "walrus", plan, replace(plan, projects=named)) <= most


def test_what_is_outside_of_the_time_named_counts_less_and_not_nothing(folder: Path) -> None:
    with searching(folder, talk_of(1, "walrus in the bay")) as search:
        plan = planned("walrus")
        (hit,) = gathered(search, plan).hits
        time = hit.stored.entry.time_ms

        def within(start: int, end: int) -> float:
            return share(search, "walrus", plan, replace(plan, window=(start, end)))

        assert within(time, time + 1) >= 1
        assert 0.6 <= within(time - 1000, time) <= 0.8
        assert 0.6 <= within(time + 1, time + 1000) <= 0.8


def test_if_the_latest_is_wanted_the_oldest_counts_less_and_the_newest_as_ever(folder: Path) -> None:
    with searching(folder, *(talk_of(n, f"walrus{n} walrus in the bay") for n in (1, 2, 3))) as search:
        plan = planned("walrus")
        latest = replace(plan, latest=True)
        shares = [share(search, f"walrus{n}", plan, latest) for n in (1, 2, 3)]
        assert 0.6 <= shares[0] <= 0.8
        assert 0.8 < shares[1] < 0.9
        assert shares[2] == 1


def test_what_a_tool_gave_back_counts_less_unless_it_is_an_error(folder: Path) -> None:
    def score(failed: bool) -> float:
        talk = Talk(1, "/home/ada/harbor")
        talk.user("count them")
        talk.call("Bash", "walrus in the bay", failed=failed, command="ls")
        with searching(folder / str(failed), talk) as search:
            return hit_of(gathered(search, planned("walrus")), "walrus in").best

    assert 0.7 <= score(False) / score(True) <= 0.9


def test_a_call_that_names_a_file_counts_half_and_an_older_one_less(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    for n in range(70):
        talk.call("Edit", "ok", file_path="/home/ada/harbor/lamp.css", old_string=f"x{n}", new_string="y")
    with searching(folder, talk, talk_of(2, "walrus")) as search:
        found = gathered(search, planned("walrus", asks=(Ask(FILE, "lamp.css"),)))
        number = [each.name for each in found.strategies].index(FILE)
        calls = sorted((hit for hit in found.hits if number in hit.why), key=lambda hit: -hit.row)
        assert 30 <= len(calls) == found.strategies[number].found <= 50
        assert all(f"x{69 - n}" in hit.stored.entry.text for n, hit in enumerate(calls))
        assert 0.4 <= calls[0].best <= 0.7
        assert calls[0].best * 0.4 < calls[-1].best < calls[0].best * 0.7
        scores = [hit.best for hit in calls if len(hit.why) == 1]
        assert scores == sorted(scores, reverse=True)


def test_of_a_file_that_a_hit_looks_at_the_newest_look_is_a_hit_as_good(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("look around")
    for n in range(9):
        talk.call("Read", "nothing", file_path=f"/home/ada/harbor/walrus{n}/lamp{n}.css", why="walrus")
    for n in range(9):
        talk.call("Edit", "ok", file_path=f"/home/ada/harbor/walrus{n}/lamp{n}.css", new_string="y")
        talk.call("Read", "nothing", file_path=f"/home/ada/harbor/walrus{n}/lamp{n}.css", again="yes")
        talk.call("Read", "nothing", file_path=f"/home/ada/harbor/walrus{n}/other.css")
    with searching(folder, talk) as search:
        found = gathered(search, planned("walrus"))
        number = [each.name for each in found.strategies].index("newest")
        newest = [hit for hit in found.hits if number in hit.why]
        assert 4 <= len(newest) == found.strategies[number].found <= 8
        assert all('"again"' in hit.stored.entry.text for hit in newest)


def test_a_file_that_was_looked_at_once_is_not_looked_up_again(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.call("Read", "nothing", file_path="/home/ada/harbor/lamp.css", why="walrus")
    talk.call("Edit", "ok", file_path="/home/ada/harbor/lamp.css", new_string="y")
    with searching(folder, talk) as search:
        assert "newest" not in [each.name for each in gathered(search, planned("walrus")).strategies]


def test_hits_come_best_first_and_of_equals_the_newest(folder: Path) -> None:
    with searching(folder, *(talk_of(n, "walrus in the bay") for n in (1, 2, 3))) as search:
        hits = gathered(search, planned("walrus")).hits
        keys = [(-round(hit.best, 6), -hit.row) for hit in hits]
        assert keys == sorted(keys)
        assert [hit.stored.entry.text for hit in hits] == ["walrus in the bay"] * len(hits)


def test_what_recollect_itself_or_a_harness_said_is_no_hit(folder: Path) -> None:
    talk = talk_of(1, "walrus in the bay")
    talk.assistant("   ")
    talk.user("<system-reminder>walrus reminder</system-reminder>")
    with searching(folder, talk) as search:
        assert [hit.stored.entry.text for hit in gathered(search, planned("walrus")).hits] == [
            "walrus in the bay"
        ]


def test_a_description_is_words_and_never_a_query(folder: Path) -> None:
    with searching(folder, talk_of(1, "walrus in the bay", "lamp on the quay")) as search:
        best = gathered(search, planned("walrus -bay kind:answer")).hits[0]
        assert best.stored.entry.text == "walrus in the bay"


def test_what_a_facet_does_not_find_counts_nothing_for_it(folder: Path) -> None:
    with searching(folder, talk_of(1, "xyzzy"), talk_of(2, "plugh")) as search:
        found = gathered(search, planned("plugh", "xyzzy", "frobnitz"))
        assert hit_of(found, "xyzzy").scores[2] == 0
        assert hit_of(found, "plugh").scores[2] == 0


def test_that_words_are_nowhere_is_noted_once(folder: Path) -> None:
    with searching(folder, talk_of(1, "walrus in the bay", "lamp on the quay")) as search:
        assert gathered(search, planned("walrus")).notes == ()
        (note,) = gathered(search, planned("marine mammals", "mammals")).notes
        assert "by meaning" in note


def test_conversations_whose_digests_have_most_of_the_words_are_searched_again(folder: Path) -> None:
    """What says it in many places, and in none of them all, is lost among what says one word often."""
    spread = talk_of(1, "the walrus is late", "so is the ferry", "print the timetable anew")
    crowd = [talk_of(n, *["walrus and walrus sleep in the bay"] * 8) for n in range(2, 12)]
    asked = "walrus ferry timetable"
    with searching(folder, spread, *crowd) as search:
        found = gathered(search, planned(asked))
        told = [each.asked for each in found.strategies if each.name == "digest"]
        assert told[0] == f"{asked} in {spread.id[:13]}"
        assert len(told) == 3
        owners = {search.sessions[hit.stored.session_row].facts.id for hit in found.hits}
        assert spread.id in owners
