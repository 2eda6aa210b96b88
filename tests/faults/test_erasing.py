"""An erase that is cut anywhere and repeated: nothing half gone, and the harness would notice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults.crashes import check_all, empty, kills, record, unlike
from tests.faults.erasing import GONE, CarelessStory, ErasingStory
from tests.faults.story import STORE, QuietDisk, state_of
from tests.faults.told import Told
from tests.support.memories import scratch

from recollect.store.hdf5.engine import Hdf5Store


@pytest.fixture(scope="module")
def told() -> Iterator[Told]:
    with scratch() as folder:
        yield Told(folder)


def test_an_erase_that_is_repeated_after_a_kill_ends_as_one_that_was_not(told: Told, fast_path: Path) -> None:
    story, log = told[ErasingStory.name].story, told[ErasingStory.name].log
    crashes = [crash for crash in unlike(kills(story, log)) if story.states[3] in crash.allowed][::3]
    assert len(crashes) > 5
    for crash in crashes:
        folder = empty(fast_path / "found")
        for name, data in crash.files.items():
            (folder / name).write_bytes(data)
        story.act(4, folder / STORE, QuietDisk())
        with Hdf5Store.open(folder / STORE, disk=QuietDisk()) as store:
            assert state_of(store) == story.states[4], crash.how


def test_the_harness_notices_an_erasure_that_is_noted_too_late(told: Told, fast_path: Path) -> None:
    story = told[ErasingStory.name].story
    careless = CarelessStory(story.folder)
    log = record(careless, empty(fast_path / "recorded")).log
    wrong = check_all(story, unlike(kills(story, log)), fast_path, complete_every=3)
    assert wrong, f"{GONE} was gone, and nothing said so"
