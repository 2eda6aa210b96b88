"""Each place in the product that syncs, left out one at a time: does anybody notice?

The control of the whole harness. A sync that could go without a loss ever being found is a hole in the
stories, or not needed; `REDUNDANT` says of each such place why it stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.faults.crashes import Crash, check_all, crashes_in_recovery, empty, power_cuts, record, unlike
from tests.faults.story import only_recover
from tests.faults.told import Recorded

REDUNDANT = {
    "store/hdf5/pager.py recover: disk.sync(redo_fd)": (
        "a redo file gets its name only after its bytes are synced, so there is nothing left to sync; it is "
        "done again because everything that follows rests on it"
    )
}

# The story in which leaving it out is soonest found out.
NOTICED_IN = {
    "light/disk.py Disk.make_folder: self.sync_folder(os.path.dirname(each))": "keeping",
    "light/disk.py _fill: disk.sync(fd)": "mending",
    "light/disk.py replace_file: disk.sync_folder(folder)": "mending",
    "light/journal.py Journal._append: self._disk.sync_data(self._fd)": "life",
    "light/journal.py Journal._find_end: self._disk.sync_folder(os.path.dirname(self.path))": "life",
    "store/hdf5/engine.py Hdf5Store._copy: self.disk.sync_folder(target.parent)": "keeping",
    "store/hdf5/engine.py Hdf5Store._write_copy: self.disk.sync(fd)": "keeping",
    "store/hdf5/engine.py Hdf5Store.replacement: self.disk.sync_folder(self.path.parent)": "life",
    "store/hdf5/engine.py create_file: disk.sync_folder(path.parent)": "life",
    "store/hdf5/mend.py _build: store.disk.sync(fd)": "mending",
    "store/hdf5/mend.py mend_redo: store.disk.sync_folder(store.path.parent)": "mending",
    "store/hdf5/pager.py Pager._write_redo: self._disk.sync(fd)": "life",
    "store/hdf5/pager.py Pager._write_redo: self._disk.sync_folder(path.parent)": "life",
    "store/hdf5/pager.py Pager.commit: self._disk.sync(self._fd)": "life",
    "store/hdf5/pager.py Pager.finish: self._disk.sync(self._fd)": "life",
    "store/hdf5/pager.py recover: disk.sync(fd)": "life",
    "store/hdf5/pager.py recover: disk.sync_folder(path.parent)": "life",
}
IN_RECOVERY = "store/hdf5/pager.py recover:"  # what only a writer after a crash does


def loss_without(told: Recorded, site: str, folder: Path, *, seeds: int = 6) -> str:
    """The first loss that is found in a story where a place does not sync; "" for none."""
    for crash in unlike(_crashes(told, site, folder, seeds)):
        if wrong := check_all(told.story, [crash], folder, complete_every=2):
            return wrong[0]
    return ""


def _crashes(told: Recorded, site: str, folder: Path, seeds: int) -> Iterator[Crash]:
    story = told.story
    if site.startswith(IN_RECOVERY):
        yield from crashes_in_recovery(story, told.log, folder, only_recover, every=1, seeds=seeds, drop=site)
    else:
        yield from power_cuts(story, record(story, empty(folder / "dropped"), drop=site).log, seeds)
