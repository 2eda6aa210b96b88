"""Stories that were watched and written down, each when it is first asked for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.faults.crashes import empty, record
from tests.faults.stories import STORIES
from tests.faults.story import Story
from tests.faults.world import Op


@dataclass(frozen=True)
class Recorded:
    """A story that was learned, its log, where in the product it syncs and how often."""

    story: Story
    log: list[Op]
    sites: Counter[str]
    syncs: int


class Told(dict[str, Recorded]):
    """All stories by their names."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def __missing__(self, name: str) -> Recorded:
        folder = empty(self._folder / name)
        story = STORIES[name](folder / "sources")
        story.learn(folder / "undisturbed")
        disk = record(story, empty(folder / "recorded"))
        self[name] = Recorded(story, disk.log, disk.sites, disk.syncs)
        return self[name]
