"""The third pass: what each hit becomes part of, and what that is worth."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support.claude_talk import Talk, remembered

from recollect.recall.assemble.expand import FIXED, Exchange, Expanded, expand
from recollect.recall.assemble.gather import Hit
from recollect.search.query import AllOf
from recollect.search.run import Search
from recollect.values.stored import StoredEntry


@dataclass(frozen=True)
class Asked:
    """A memory, and what becomes of hits in it that the test chooses."""

    search: Search
    entries: list[StoredEntry]

    def expanded(self, scores: dict[str, float | Sequence[float]], budget: int = 2_000) -> Expanded:
        """By the text that an entry begins with, its score, or that of each facet."""
        hits = []
        for text, score in scores.items():
            found = [each for each in self.entries if each.entry.text.startswith(text)]
            assert found, text
            values = [score] if isinstance(score, float | int) else list(score)
            hits += [Hit(each, values) for each in found]
        return expand(self.search, sorted(hits, key=lambda hit: -hit.best), budget)

    def told(self, scores: dict[str, float | Sequence[float]], budget: int = 2_000) -> list[str]:
        """The first line of every core, best exchange first."""
        found = self.expanded(scores, budget)
        return [found.stored[each.core[0]].entry.text for each in found.exchanges if each.core]


@contextlib.contextmanager
def asking(folder: Path, *talks: Talk) -> Iterator[Asked]:
    with remembered(folder, *talks) as memory:
        memory.index()
        with memory.indexes.asking(meaning=False) as search:
            rows = sorted(search.rows(AllOf(()), 10_000).tolist())
            yield Asked(search, search.view.entries_at(rows))


def texts(found: Expanded, rows: Sequence[int]) -> list[str]:
    return [found.stored[row].entry.text for row in rows]


def exchange_of(found: Expanded, prompt: str) -> Exchange:
    (exchange,) = (each for each in found.exchanges if texts(found, each.core[:1]) == [prompt])
    return exchange


def asks(number: int, count: int, answers: int = 1) -> Talk:
    """Turns that have nothing to do with each other."""
    talk = Talk(number, "/home/ada/harbor")
    for n in range(count):
        talk.user(f"ask{n:03} about the harbor")
        for each in range(answers):
            talk.assistant(f"say{n:03} part{each} of it")
    return talk


# -- which exchanges --------------------------------------------------------------------------------


def test_what_is_far_behind_the_best_is_left_out(folder: Path) -> None:
    with asking(folder, asks(1, 3)) as asked:
        assert len(asked.told({"ask000": 1.0, "ask001": 0.45})) == 2
        assert len(asked.told({"ask000": 1.0, "ask001": 0.3})) == 1
        assert asked.told({"ask000": 0.5, "ask002": 1.0}) == [
            "ask002 about the harbor",
            "ask000 about the harbor",
        ]


def test_scores_are_shares_of_the_best_of_each_facet(folder: Path) -> None:
    with asking(folder, asks(1, 3)) as asked:
        found = asked.expanded({"ask000": [0.8, 0.0], "ask001": [0.4, 0.1], "ask002": [0.6, 0.05]})
        scores = {texts(found, each.core)[0][:6]: each.scores for each in found.exchanges}
        assert scores["ask000"] == [1, 0]
        assert scores["ask001"][1] == 1
        assert 0.5 > scores["ask002"][1] == scores["ask001"][0] > 0
        (hit,) = exchange_of(found, "ask001 about the harbor").hits
        assert hit.scores == scores["ask001"]


def test_a_facet_that_nothing_fits_is_no_error(folder: Path) -> None:
    with asking(folder, asks(1, 1)) as asked:
        (exchange,) = asked.expanded({"ask000": [0.8, 0.0]}).exchanges
        assert exchange.scores == [1, 0]


def test_the_more_room_the_more_exchanges_are_looked_at_within_limits(folder: Path) -> None:
    with asking(folder, asks(1, 250)) as asked:
        found = {budget: len(asked.told({"ask": 1.0}, budget)) for budget in (200, 35_000, 10**6)}
        assert 20 <= found[200] <= 30
        assert 90 <= found[35_000] <= 110
        assert 140 <= found[10**6] <= 200


def test_several_hits_of_a_turn_count_more_than_one_and_less_than_two(folder: Path) -> None:
    with asking(folder, asks(1, 2, answers=9)) as asked:

        def share(*behind: float) -> float:
            """What one turn scores with these hits, if another scores 1 with one hit."""
            hits = {f"say000 part{n}": score for n, score in enumerate(behind)}
            found = asked.expanded({"ask001": 1.0, **hits})
            scores = {texts(found, each.core)[0][:6]: each.best**0.5 for each in found.exchanges}
            return float(scores["ask000"] / scores["ask001"])

        one, two = share(1.0), share(1.0, 1.0)
        assert one == pytest.approx(1)
        assert 1.1 < two < 1.3
        assert share(1.0, 0.5) == pytest.approx((one + two) / 2)
        assert share(*[1.0] * 4) == pytest.approx(1 + 3 * (two - 1))
        assert share(*[1.0] * 9) == pytest.approx(share(*[1.0] * 4)), "at most three more"


# -- what an exchange is made of --------------------------------------------------------------------


def test_the_core_is_what_was_asked_and_the_last_answer(folder: Path) -> None:
    with asking(folder, asks(1, 1, answers=3)) as asked:
        found = asked.expanded({"ask000": 1.0})
        (exchange,) = found.exchanges
        assert texts(found, exchange.core) == ["ask000 about the harbor", "say000 part2 of it"]
        assert [texts(found, extra.rows) for extra in exchange.extras] == [
            ["say000 part0 of it"],
            ["say000 part1 of it"],
        ]
        assert {extra.role for extra in exchange.extras} == {"said"}


def test_what_was_found_is_worth_its_score_and_the_rest_a_good_part_of_it(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("ask000 about the harbor")
    talk.assistant("first thing that was said")
    talk.call("Edit", "ok", file_path="/home/ada/harbor/lamp.css", old_string="white", new_string="red")
    talk.call("Bash", "nothing of interest", command="ls")
    talk.assistant("last thing that was said")
    with asking(folder, talk) as asked:
        found = asked.expanded({"nothing of interest": 1.0})
        (exchange,) = found.exchanges
        worth = {extra.role: extra.worth[0] for extra in exchange.extras}
        rows = {extra.role: texts(found, extra.rows) for extra in exchange.extras}
        assert worth["hit"] == 1
        assert len(rows["hit"]) == len(rows["change"]) == 2, "a call comes with its result"
        assert 0.5 < worth["said"] < worth["change"] < 1
        assert 0.6 < exchange.core_worth[0] < 0.8
        assert exchange_of(asked.expanded({"ask000": 1.0}), "ask000 about the harbor").core_worth == (1,)


def test_what_nobody_asked_for_is_told_by_its_hit(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.call("Bash", "nothing of interest", command="ls")
    with asking(folder, talk) as asked:
        found = asked.expanded({"nothing": 1.0})
        assert [len(each.core) for each in found.exchanges] == [2]


def failing(steps: int, size: int = 1) -> Talk:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("make the tests pass")
    talk.call("Bash", "E boom " * size, failed=True, command="pytest tests")
    for n in range(steps):
        talk.call("Edit", "ok", file_path=f"/home/ada/harbor/a{n}.py", old_string="x" * size, new_string="y")
    talk.call("Bash", "all passed", command="pytest tests")
    talk.assistant("It works.")
    return talk


def test_the_way_from_an_error_to_its_end_is_worth_most_of_its_parts(folder: Path) -> None:
    with asking(folder, failing(2)) as asked:
        (exchange,) = asked.expanded({"make the": 1.0}, 20_000).exchanges
        (fix,) = exchange.extras
        assert fix.role == FIXED
        assert len(fix.rows) == 8
        assert 1.5 < fix.worth[0] < 2.4, "two changes and two runs"


def test_a_way_that_takes_most_of_the_budget_may_be_told_in_parts(folder: Path) -> None:
    with asking(folder, failing(4, size=400)) as asked:

        def roles(budget: int) -> set[str]:
            (exchange,) = asked.expanded({"make the": 1.0}, budget).exchanges
            return {extra.role for extra in exchange.extras}

        small = next(budget for budget in range(200, 20_000, 50) if roles(budget) == {FIXED})
        assert roles(small // 2) == {FIXED, "change"}
        assert 1_500 < small < 4_000


def test_of_a_long_turn_only_what_is_near_its_hits_and_its_ends_is_read(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("ask000 about the harbor")
    for n in range(100):
        talk.assistant(f"say{n:03} of it")
    with asking(folder, talk) as asked:
        found = asked.expanded({"say050": 1.0})
        read = sorted(
            int(each.entry.text[3:6]) for each in found.stored.values() if each.entry.text[0] == "s"
        )
        near = [n for n in read if n < 80]
        assert near == list(range(near[0], near[-1] + 1))
        assert 50 - near[0] == near[-1] - 50
        assert 10 <= 50 - near[0] <= 20
        assert 4 <= len(read) - len(near) <= 10
        assert read[-1] == 99
        assert any(each.entry.text.startswith("ask000") for each in found.stored.values())


# -- what answers what ------------------------------------------------------------------------------


def replies(*prompts: str, answer: str = "Done.") -> Talk:
    talk = Talk(1, "/home/ada/harbor")
    for prompt in prompts:
        talk.user(prompt)
        talk.assistant(answer)
    return talk


def test_a_reply_brings_what_it_answers_and_that_counts_a_little_less(folder: Path) -> None:
    with asking(folder, replies("Paint every lamp", "yes, the second one", "Count the boats")) as asked:
        found = asked.expanded({"yes": 1.0})
        best = {texts(found, each.core)[0]: each.best for each in found.exchanges}
        assert set(best) == {"Paint every lamp", "yes, the second one"}
        assert best["yes, the second one"] == 1
        assert 0.7 < best["Paint every lamp"] < 0.9


def test_replies_are_followed_for_two_turns_and_no_further(folder: Path) -> None:
    with asking(folder, replies("Paint every lamp", "yes one", "yes two", "yes three")) as asked:
        assert set(asked.told({"yes three": 1.0})) == {"yes three", "yes two", "yes one"}


def test_what_was_taken_back_is_told_with_what_it_was_taken_back_from(folder: Path) -> None:
    with asking(folder, replies("Paint every lamp", "no, undo that", "Count the boats")) as asked:
        assert set(asked.told({"Paint": 1.0})) == {"Paint every lamp", "no, undo that"}
    with asking(folder / "other", replies("Paint every lamp", "great, and the mast", "Go home")) as asked:
        assert set(asked.told({"Paint": 1.0})) == {"Paint every lamp"}, "a reply, but not one that takes back"


def test_an_offer_brings_the_prompt_behind_it_however_that_begins(folder: Path) -> None:
    prompts = ("Paint every lamp", "Blue with dots", "Count the boats")
    with asking(folder, replies(*prompts, answer="Which colour?")) as asked:
        assert set(asked.told({"Paint": 1.0})) == {"Paint every lamp", "Blue with dots", "Count the boats"}
        assert set(asked.told({"Blue": 1.0})) == {"Paint every lamp", "Blue with dots", "Count the boats"}
    with asking(folder / "other", replies(*prompts, answer="It is done.")) as asked:
        assert set(asked.told({"Blue": 1.0})) == {"Blue with dots"}


def test_a_long_prompt_stands_alone(folder: Path) -> None:
    with asking(folder, replies("Paint every lamp", "yes " + "and " * 30, "no " + "and " * 80)) as asked:
        assert len(asked.told({"yes": 1.0})) == 2
        assert len(asked.told({"no": 1.0})) == 1


def test_a_turn_that_was_found_itself_keeps_its_better_score(folder: Path) -> None:
    with asking(folder, replies("Paint every lamp", "yes, the second one")) as asked:
        found = asked.expanded({"Paint": 1.0, "yes": 0.5})
        assert exchange_of(found, "Paint every lamp").best == 1
        found = asked.expanded({"Paint": 0.5, "yes": 1.0})
        assert exchange_of(found, "Paint every lamp").best > 0.7


# -- looks at files ---------------------------------------------------------------------------------


def test_of_looks_at_one_part_of_a_file_the_newest_is_an_extra(folder: Path) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("look around")
    looks: list[dict[str, Any]] = [{}, {"offset": 5}, {}, {"offset": 5}, {"offset": 9}]
    for n, page in enumerate(looks):
        talk.call("Read", f"look{n} walrus", file_path="/home/ada/harbor/lamp.css", **page)
    talk.call("Read", "look5 walrus", file_path="lamp.css")
    talk.call("Read", "look6 walrus", file_path="other/lamp.css")
    talk.assistant("Seen.")
    with asking(folder, talk) as asked:
        found = asked.expanded({"look0": 1.0, **{f"look{n}": 1.0 for n in range(1, 7)}})
        (exchange,) = found.exchanges
        kept = {
            text[:5] for extra in exchange.extras for text in texts(found, extra.rows) if "walrus" in text
        }
        assert kept == {"look3", "look4", "look5", "look6"}
