"""The other lives of a store: cut anywhere, cut again while that is put right, and every sync left out once.

A sample of each here, all of it in the long sweep, and for hours in `python -m benchmarks.faults`.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from tests.faults.crashes import (
    check_all,
    crashes_in_recovery,
    kills,
    nested_crash,
    power_cuts,
    sampled,
    unlike,
)
from tests.faults.failures import eves_of, failures, wrong_after, wrong_after_failed_sync
from tests.faults.stories import STORIES
from tests.faults.story import Story
from tests.faults.sync_sites import NOTICED_IN, REDUNDANT, loss_without
from tests.faults.told import Told
from tests.faults.world import PACKAGE
from tests.support import ROOT, SOURCE
from tests.support.memories import scratch

OTHERS = [name for name in STORIES if name != Story.name]


@pytest.fixture(scope="module")
def told() -> Iterator[Told]:
    with scratch() as folder:
        yield Told(folder)


@pytest.mark.parametrize("name", OTHERS)
def test_cut_anywhere_nothing_acknowledged_is_lost(told: Told, name: str, fast_path: Path) -> None:
    story, log = told[name].story, told[name].log
    crashes = sampled(story, log, random.Random(name), 12)
    assert check_all(story, crashes, fast_path, complete_every=6) == []


@pytest.mark.full
@pytest.mark.parametrize("name", OTHERS)
def test_cut_everywhere_nothing_acknowledged_is_lost(told: Told, name: str, fast_path: Path) -> None:
    story, log = told[name].story, told[name].log
    crashes = unlike(chain(kills(story, log), power_cuts(story, log, 12)))
    assert check_all(story, crashes, fast_path, complete_every=4, at_least=150) == []
    recovering = crashes_in_recovery(story, log, fast_path, story.recoveries()[0], every=1, seeds=3)
    assert check_all(story, unlike(recovering), fast_path, complete_every=10) == []


@pytest.mark.parametrize("count", [8, pytest.param(400, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", ["life", "held"])
def test_crashes_in_the_recovery_from_crashes_in_the_recovery_from_a_crash(
    told: Told, name: str, fast_path: Path, count: int
) -> None:
    story, log = told[name].story, told[name].log
    rng = random.Random(name)
    found = (nested_crash(story, log, rng, fast_path) for _ in range(count))
    crashes = (crash for crash in found if crash is not None)
    assert check_all(story, crashes, fast_path, complete_every=4, at_least=count // 2) == []


@pytest.mark.full
@pytest.mark.parametrize("name", OTHERS)
def test_every_storage_call_of_every_step_fails(told: Told, name: str, fast_path: Path) -> None:
    story = told[name].story
    (fast_path / "eves").mkdir()
    eves = eves_of(story, fast_path / "eves")
    assert wrong_after(story, eves, fast_path, list(failures(story, eves, fast_path))) == []
    if story.is_repeatable:
        wrong = [
            each for n in range(told[name].syncs) for each in wrong_after_failed_sync(story, n, fast_path)
        ]
        assert wrong == []


QUICK = [  # one of each kind: an append, a commit, a recovery
    "light/journal.py Journal._append: self._disk.sync_data(self._fd)",
    "store/hdf5/pager.py Pager._write_redo: self._disk.sync_folder(path.parent)",
    "store/hdf5/pager.py Pager.finish: self._disk.sync(self._fd)",
    "store/hdf5/pager.py recover: disk.sync(fd)",
]


@pytest.mark.parametrize(
    "site",
    [*QUICK, *(pytest.param(site, marks=pytest.mark.full) for site in NOTICED_IN if site not in QUICK)],
)
def test_a_sync_that_is_left_out_is_noticed(told: Told, site: str, fast_path: Path) -> None:
    assert loss_without(told[NOTICED_IN[site]], site, fast_path) != ""


@pytest.mark.full
def test_no_other_place_syncs_in_any_story(told: Told, fast_path: Path) -> None:
    assert {site for name in STORIES for site in told[name].sites if site} == NOTICED_IN.keys() | REDUNDANT
    for site in REDUNDANT:  # were it noticed, it would not be redundant
        assert loss_without(told["held"], site, fast_path) == ""


def test_every_line_of_the_store_that_syncs_is_left_out_by_some_test() -> None:
    """A new one needs a story that notices its absence."""
    lines = {
        (str(path.relative_to(PACKAGE)), line.strip())
        for room in ("light", "store")
        for path in sorted((SOURCE / "recollect" / room).rglob("*.py"))
        for line in path.read_text("utf-8").splitlines()
        if re.search(r"\.(sync|sync_data|sync_folder)\(", line) and path.name != "disk.py"
    }
    known = {(site.split(" ")[0], site.partition(": ")[2]) for site in (*NOTICED_IN, *REDUNDANT)}
    assert lines == {each for each in known if not each[0].endswith("disk.py")}


@pytest.mark.full
def test_the_long_run_counts_what_it_survives() -> None:
    words = [sys.executable, "-m", "benchmarks.faults", "--hours", "0.02"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert re.search(r"^lost or wrong +0$", done.stdout, re.MULTILINE)
    assert re.search(r"^crash points +[1-9]", done.stdout, re.MULTILINE)
