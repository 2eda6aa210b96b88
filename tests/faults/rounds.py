"""Rounds of trouble chosen at random, for as long as somebody listens: `rounds.py SEED FIRST STEP FOLDER`.

Before each round a line of JSON says which it is, after it another what was survived and what was not. Ends
when its standard input does, between two rounds. `benchmarks/faults.py` starts these processes and adds up
what they say.
"""

from __future__ import annotations

import itertools
import json
import random
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from tests.faults.crashes import check_all, nested_crash, sampled
from tests.faults.failures import Failure, eves_of, failures, wrong_after, wrong_after_failed_sync
from tests.faults.index_files import IndexedStore
from tests.faults.killed import wrong_after_kill
from tests.faults.stories import STORIES
from tests.faults.sync_sites import NOTICED_IN, loss_without
from tests.faults.told import Told
from tests.store.hdf5 import fuzz
from tests.support.children import command, environment

Outcome = tuple[Counter[str], list[str]]


class Rounds:
    """Every kind of round; what several of one kind need is made once."""

    def __init__(self, seed: int, folder: Path) -> None:
        self._seed, self._folder = seed, folder
        self._lost = folder / "lost"
        self._told = Told(folder)
        self._failures: dict[str, tuple[list[Path], list[Failure]]] = {}
        # How often each comes among twenty rounds.
        shares: dict[Callable[[random.Random], Outcome], int] = {
            self.crashes: 5,
            self.nested: 3,
            self.failing: 4,
            self.failed_syncs: 2,
            self.killed: 2,
            self.indexes: 1,
            self.mutants: 2,
            self.left_out: 1,
        }
        self._kinds = [kind for kind, share in shares.items() for _ in range(share)]

    def kind(self, number: int) -> str:
        return self._of(number)[0].__name__

    def run(self, number: int) -> Outcome:
        kind, rng = self._of(number)
        return kind(rng)

    def _of(self, number: int) -> tuple[Callable[[random.Random], Outcome], random.Random]:
        rng = random.Random(f"{self._seed} {number // len(self._kinds)}")
        kinds = rng.sample(self._kinds, len(self._kinds))
        return kinds[number % len(kinds)], random.Random(f"{self._seed}/{number}")

    # -- the kinds ---------------------------------------------------------------------------------

    def crashes(self, rng: random.Random) -> Outcome:
        told = self._told[rng.choice(list(STORIES))]
        crashes = list(sampled(told.story, told.log, rng, 80))
        wrong = check_all(told.story, crashes, self._folder, complete_every=5, keep=self._lost)
        return Counter({"crash points": len(crashes)}), _of_story(told.story.name, wrong)

    def nested(self, rng: random.Random) -> Outcome:
        told = self._told[rng.choice(list(STORIES))]
        found = (nested_crash(told.story, told.log, rng, self._folder) for _ in range(10))
        crashes = [crash for crash in found if crash is not None]
        wrong = check_all(told.story, crashes, self._folder, complete_every=3, keep=self._lost)
        return Counter({"crashes three deep": len(crashes)}), _of_story(told.story.name, wrong)

    def failing(self, rng: random.Random) -> Outcome:
        name = rng.choice(list(STORIES))
        story = self._told[name].story
        if name not in self._failures:
            root = self._folder / f"eves-{name}"
            root.mkdir()
            eves = eves_of(story, root)
            self._failures[name] = eves, list(failures(story, eves, self._folder))
        eves, everything = self._failures[name]
        chosen = rng.sample(everything, 20)
        return Counter({"failing calls": len(chosen)}), _of_story(
            name, wrong_after(story, eves, self._folder, chosen)
        )

    def failed_syncs(self, rng: random.Random) -> Outcome:
        told = self._told[rng.choice([name for name in STORIES if STORIES[name].is_repeatable])]
        chosen = rng.sample(range(told.syncs), 3)
        wrong = [each for n in chosen for each in wrong_after_failed_sync(told.story, n, self._folder)]
        return Counter({"failed syncs, then a power cut": 3 * len(chosen)}), _of_story(told.story.name, wrong)

    def killed(self, rng: random.Random) -> Outcome:
        told = self._told[rng.choice(list(STORIES))]
        wrong = [
            each for _ in range(4) for each in wrong_after_kill(told.story, len(told.log), rng, self._folder)
        ]
        return Counter({"processes killed": 4}), _of_story(told.story.name, wrong)

    def indexes(self, rng: random.Random) -> Outcome:
        wrong = [each for _ in range(20) for each in self._indexed.wrong_after_harm(rng, self._folder)]
        wrong += self._indexed.wrong_after_kill(rng, self._folder)
        return Counter({"index files harmed": 20, "processes killed": 2}), wrong

    def mutants(self, rng: random.Random) -> Outcome:
        first = rng.randrange(10**9)
        work = self._folder / "mutants"
        work.mkdir()
        try:
            words = command("store/hdf5/fuzz.py", self._good, work, first, first + 100)
            done = subprocess.run(words, env=environment(), capture_output=True, text=True, check=False)
        finally:
            subprocess.run(["rm", "-rf", str(work)], check=True)
        found = [json.loads(line) for line in done.stdout.splitlines()]
        wrong = [f"mutant {number}, {kind}: {told}" for number, kind, told, _ in found if told not in _FINE]
        wrong += [f"mutant {each[0]}: {each[3] >> 20} MiB" for each in found if each[3] > fuzz.MEMORY_BYTES]
        wrong += [f"mutants from {first}: {done.stderr[-500:]}"] if done.returncode else []
        return Counter({"hostile store files": len(found)}), wrong

    def left_out(self, rng: random.Random) -> Outcome:
        """The control: without one of its syncs the product must be seen to lose something."""
        site, name = rng.choice(list(NOTICED_IN.items()))
        found = loss_without(self._told[name], site, self._folder)
        return Counter({"syncs left out, and noticed": bool(found)}), [] if found else [
            f"NOT NOTICED: {site}"
        ]

    @cached_property
    def _indexed(self) -> IndexedStore:
        return IndexedStore(self._folder / "indexed")

    @cached_property
    def _good(self) -> Path:
        (self._folder / "good").mkdir()
        return fuzz.make_good(self._folder / "good")


_FINE = ("fine", "damage", "refused")


def _of_story(name: str, wrong: list[str]) -> list[str]:
    return [f"{name}: {each}" for each in wrong]


def say(**what: object) -> None:
    print(json.dumps(what), flush=True)


def main() -> None:
    seed, first, step = map(int, sys.argv[1:4])
    rounds = Rounds(seed, Path(sys.argv[4]))
    for number in itertools.count(first, step):
        if select.select([sys.stdin], [], [], 0)[0]:
            return
        say(begun=number, kind=rounds.kind(number))
        survived, wrong = rounds.run(number)
        say(ended=number, survived=survived, wrong=[each[:4000] for each in wrong])


if __name__ == "__main__":
    main()
