"""What the store shows of a conversation that a client had: what was said and done, and what it cost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.clients import conversation
from tests.clients.clients import Machine
from tests.support.memories import sources_of

from recollect.config import Config
from recollect.memory import Memory
from recollect.values.records import HIDDEN, Entry, Flag, Kind

Told = tuple[str, str]

# What the harness says, and bookkeeping, differ from client to client.
_SPOKEN = (Kind.PROMPT, Kind.ANSWER, Kind.THOUGHT, Kind.CALL, Kind.RESULT, Kind.IMAGE)
COUNTED = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning")
ANSWERED = (600, 50, 400, 0, 0, 20)  # what an answer of the stand-in takes, each token in one place


def first_told(
    prompt: str = f"play:first {conversation.FIRST}",
    results: Sequence[str] = conversation.PRINTED,
    *,
    shown: bool = True,
) -> list[Told]:
    """The first prompt of the conversation and all that comes of it; `results`: what the model was given."""
    commands = [("CALL", command) for command in conversation.COMMANDS]
    worked, failed = map(_word, results)
    return [
        ("PROMPT", prompt),
        *([("IMAGE", "")] if shown else []),
        ("THOUGHT", conversation.THOUGHTS[0]),
        ("ANSWER", conversation.TEXTS[0]),
        *commands,
        ("RESULT", worked),
        ("RESULT, failed", failed),
        ("THOUGHT", conversation.THOUGHTS[1]),
        ("ANSWER", conversation.TEXTS[1]),
    ]


def second_told() -> list[Told]:
    return [
        ("PROMPT", f"play:second {conversation.SECOND}"),
        ("THOUGHT", conversation.THOUGHTS[2]),
        ("ANSWER", conversation.TEXTS[2]),
    ]


def doomed_told(command: str) -> list[Told]:
    """What is said up to the call in which a client is killed."""
    said, thought, answer = conversation.CUT_SHORT
    return [("PROMPT", f"play:doomed {said}"), ("THOUGHT", thought), ("ANSWER", answer), ("CALL", command)]


@contextmanager
def memory_of(machine: Machine) -> Iterator[Memory]:
    config = Config(machine.store, "here", cache=machine.home / ".cache/recollect")
    with Memory.open(machine.store, create=False, config=config) as memory:
        yield memory


def remembered(machine: Machine, session: str) -> list[Told]:
    """What a session shows after all that is new was taken in; a result by the word that tells it."""
    machine.recollect("ingest")
    with memory_of(machine) as memory, memory.view() as view:
        entries = [each.entry for each in view.entries(view.find_session(session))]
        assert all(known for _, known in view.types().values()), view.types()
    return [_told(entry) for entry in entries if entry.kind in _SPOKEN and not entry.flags & HIDDEN]


def told(machine: Machine, session: str) -> list[tuple[str, str, bool]]:
    """What is kept of it now, word for word: the kind, the text, whether it failed."""
    with memory_of(machine) as memory, memory.view() as view:
        entries = [each.entry for each in view.entries(view.find_session(session))]
    shown = [
        entry for entry in entries if entry.kind in (*_SPOKEN, Kind.UNKNOWN) and not entry.flags & HIDDEN
    ]
    return [(entry.kind.name, entry.text, bool(entry.flags & Flag.ERROR)) for entry in shown]


def unknown_types(machine: Machine) -> list[str]:
    """The kinds of records that nobody knows."""
    with memory_of(machine) as memory, memory.view() as view:
        return [name for name, (_, known) in view.types().items() if not known]


def spent(machine: Machine) -> list[tuple[int, ...]]:
    """The tokens of every response that was counted."""
    with memory_of(machine) as memory, memory.view() as view:
        columns = view.usage()
        return sorted(zip(*(getattr(columns, name).tolist() for name in COUNTED), strict=True))


def kept(machine: Machine) -> dict[str, bytes]:
    """The bytes of each file that was taken in, by its path below the home."""
    with memory_of(machine) as memory:
        return {path.removeprefix(f"{machine.home}/"): data for path, data in sources_of(memory).items()}


def _word(text: str) -> str:
    return next((word for word in conversation.PRINTED if word in text), text)


def _told(entry: Entry) -> Told:
    text = entry.text
    if entry.kind is Kind.CALL:
        text = str(json.loads(text).get("command", text))
    if entry.kind is Kind.RESULT:
        text = _word(text)
    failed = entry.kind is Kind.RESULT and entry.flags & Flag.ERROR
    return f"{entry.kind.name}, failed" if failed else entry.kind.name, text
