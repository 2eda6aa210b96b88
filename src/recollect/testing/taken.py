"""What a whole ingest makes of logs, in stores that are made for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from recollect.config import Config
from recollect.memory import Memory
from recollect.values.records import HIDDEN
from recollect.values.stored import source_bytes

Said = tuple[str, str, str]  # an entry's kind, text and call


@dataclass(frozen=True, slots=True)
class Shown:
    """What a reader is shown: entries by session, in order, and the sums of all tokens."""

    sessions: dict[str, list[Said]]
    usage: tuple[int, ...]

    @property
    def in_any_order(self) -> Shown:
        """For what was taken in several steps: of files of one session each comes when it is there."""
        return Shown({id_: sorted(said) for id_, said in self.sessions.items()}, self.usage)


def scratch_memory(folder: Path) -> Memory:
    """A new memory in a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    return Memory.open(
        folder / "memory.h5", config=Config(folder / "memory.h5", "here", cache=folder / "cache")
    )


def shown_in(memory: Memory) -> Shown:
    """What it shows, without sessions in which nothing is said."""
    with memory.view() as view:
        found = {
            session.facts.id: [
                (each.entry.kind.name, each.entry.text, each.entry.call)
                for each in view.entries(session)
                if not each.entry.flags & HIDDEN
            ]
            for session in view.sessions()
        }
        usage = view.usage()
        sums = (usage.input, usage.output, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h)
        return Shown(
            {id_: said for id_, said in found.items() if said}, tuple(int(each.sum()) for each in sums)
        )


def kept_in(memory: Memory) -> dict[str, bytes]:
    """What it gives back of every source, of the newest version where there are several."""
    with memory.view() as view:
        return {
            source.file.path: b"".join(source_bytes(source, view.lines(source)))
            for source in view.sources()
            if not source.superseded
        }


def shown_after(folder: Path, logs: Sequence[Path]) -> Shown:
    """What a new memory in a folder shows when it has taken these files and folders."""
    with scratch_memory(folder) as memory:
        memory.ingest(logs)
        return shown_in(memory)
