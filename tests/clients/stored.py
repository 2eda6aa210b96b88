"""What the store has of a conversation, once `recollect ingest` has looked."""

from __future__ import annotations

from tests.clients.clients import Machine

from recollect.config import Config
from recollect.memory import Memory
from recollect.values.records import HIDDEN, Flag, Kind

_SPOKEN = (Kind.PROMPT, Kind.THOUGHT, Kind.ANSWER, Kind.CALL, Kind.RESULT, Kind.IMAGE, Kind.UNKNOWN)
USED = ("input", "output", "cache_read", "cache_write_5m", "reasoning")


def memory_of(machine: Machine) -> Memory:
    config = Config(machine.store, "here", cache=machine.home / ".cache/recollect")
    return Memory.open(machine.store, create=False, config=config)


def told(machine: Machine, session: str) -> list[tuple[str, str, bool]]:
    """What was said, thought, called and given back, in order: the kind, the text, whether it failed."""
    with memory_of(machine) as memory, memory.view() as view:
        entries = [each.entry for each in view.entries(view.find_session(session))]
        return [
            (entry.kind.name, entry.text, bool(entry.flags & Flag.ERROR))
            for entry in entries
            if entry.kind in _SPOKEN and not entry.flags & HIDDEN
        ]


def used(machine: Machine) -> list[tuple[int, ...]]:
    """The tokens of each response, as `USED` names them."""
    with memory_of(machine) as memory, memory.view() as view:
        usage = view.usage()
        columns = [getattr(usage, name).tolist() for name in USED]
        return [tuple(map(int, row)) for row in zip(*columns, strict=True)]


def unknown_types(machine: Machine) -> list[str]:
    """The kinds of records that nobody knows."""
    with memory_of(machine) as memory, memory.view() as view:
        return [name for name, (_, known) in view.types().items() if not known]
