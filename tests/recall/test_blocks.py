"""Hits are shown in what they stand in, and those that belong together as one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.claude_talk import Talk, remembered

from recollect.insight.turns import Turns
from recollect.recall.blocks import Block, Found, blocks_of
from recollect.values.stored import StoredEntry


class Asked:
    """The blocks that some entries of one session make."""

    def __init__(self, turns: Turns, session: object, entries: list[StoredEntry]) -> None:
        self._turns, self._session, self.entries = turns, session, entries

    def blocks(self, *scores: tuple[int, float]) -> list[Block]:
        hits = [Found(self.entries[n], self._session, score) for n, score in scores]
        return blocks_of(self._turns, hits)

    def places(self, block: Block) -> list[int]:
        """Which entries a block holds, by their place in the session."""
        return [n for n, each in enumerate(self.entries) if each.row in block.rows]


@contextmanager
def asked(folder: Path, talk: Talk) -> Iterator[Asked]:
    with remembered(folder, talk) as memory, memory.view() as view:
        session = view.find_session(talk.id)
        yield Asked(Turns(view), session, list(view.entries(session)))


def silent(calls: int) -> Talk:
    """A prompt and calls with their results; nothing is answered."""
    talk = Talk(1, "/home/ada/harbor")
    talk.user("look at the piers")
    for n in range(calls):
        talk.call("Read", f"pier {n}", file_path=f"/w/{n}.py")
    return talk


def test_hits_a_few_entries_apart_are_one_block_and_others_are_not(folder: Path) -> None:
    with asked(folder, silent(12)) as talk:
        assert len(talk.blocks((2, 0.5), (3, 0.5))) == 1
        assert len(talk.blocks((2, 0.5), (5, 0.5))) == 2


def test_a_hit_brings_the_other_half_of_its_call_and_the_prompt_that_led_to_it(folder: Path) -> None:
    with asked(folder, silent(4)) as talk:
        for n in (3, 4):
            (block,) = talk.blocks((n, 0.5))
            assert talk.places(block) == [3, 4]
            assert block.prompts == {talk.entries[0].row}
        (block,) = talk.blocks((0, 0.5))
        assert (talk.places(block), block.prompts) == ([0], set())


def test_a_hit_brings_what_its_turn_came_to_and_a_step_long_before_what_was_said_next(folder: Path) -> None:
    talk = silent(2)
    talk.assistant("Two are dry.")
    for n in range(40):
        talk.call("Read", f"pier {n}", file_path=f"/w/{n}.py")
    talk.assistant("All are dry.")
    talk.user("thanks")
    talk.assistant("Glad.")
    with asked(folder, talk) as made:
        last = len(made.entries) - 3
        assert made.places(made.blocks((0, 0.5))[0]) == [0, last]  # what began it
        assert made.places(made.blocks((1, 0.5))[0]) == [1, 2, 5]  # long before
        assert made.places(made.blocks((last - 39, 0.5))[0])[-1] == last
        assert made.blocks((last, 0.5))[0].best is made.entries[last]


def test_more_hits_make_a_block_better_but_no_match_for_a_much_better_one(folder: Path) -> None:
    with asked(folder, silent(12)) as talk:

        def first(single: float) -> int:
            return talk.entries.index(talk.blocks((2, 0.5), (3, 0.5), (20, single))[0].best)

        assert first(0.53) == 2
        assert first(0.57) == 20


def test_of_equal_blocks_the_newest_comes_first(folder: Path) -> None:
    with asked(folder, silent(12)) as talk:
        assert [talk.entries.index(block.best) for block in talk.blocks((2, 0.5), (20, 0.5))] == [20, 2]
