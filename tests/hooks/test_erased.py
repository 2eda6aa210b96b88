"""What hooks made of a talk is gone with it, and neither they nor a merge bring it back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.support.canaries import canary, places_with, record, talk
from tests.support.hook_calls import Desk
from tests.support.logs import uuid_of

from recollect.memory import Memory
from recollect.values.erasures import Wanted

GONE, STAYS = 1, 2


def says(desk: Desk, session: int, word: str) -> None:
    """A whole conversation, as an agent with our hooks has it."""
    desk.session = session
    desk.transcript.parent.mkdir(parents=True, exist_ok=True)
    id_, records = uuid_of(session), talk(uuid_of(session), word, cwd=str(desk.home))
    assert desk.call("SessionStart").harmless
    with desk.transcript.open("a") as file:
        file.write("".join(json.dumps({**each, "sessionId": id_}) + "\n" for each in records))
    for event in ("UserPromptSubmit", "Stop", "SessionEnd"):
        assert desk.call(event).harmless
    assert desk.quiet()


def places(desk: Desk, memory: Memory) -> set[str]:
    return places_with(memory, canary("Hooked"), uuid_of(GONE))


def test_hooks_and_merges_do_not_bring_back_what_was_erased(desk: Desk, folder: Path) -> None:
    says(desk, STAYS, "gasket")
    says(desk, GONE, canary("Hooked"))
    copy = folder / "elsewhere" / "snapshot.h5"
    copy.parent.mkdir()
    with desk.memory() as memory:
        names = {Path(each).parent.name for each in places(desk, memory)}
        assert {"catalogs", "sessions"} <= names, "the product itself made them"
        memory.snapshot(copy)
        shutil.copy(copy, folder / "elsewhere" / "own.h5")
        _, receipt = memory.erase(Wanted(session=uuid_of(GONE)))
        assert places(desk, memory) == set()
        assert receipt["verified"]["found"] == []
        assert str(copy) in receipt["copies"]

    desk.session = GONE
    with desk.transcript.open("a") as file:
        file.write(json.dumps(record(uuid_of(GONE), 9, "user", f"Go on with {canary('Hooked')}")) + "\n")
    for event in ("SessionStart", "Stop", "SessionEnd"):
        assert desk.call(event).harmless
    assert desk.quiet()
    with desk.memory() as memory:
        assert places_with(memory, canary("Hooked")) == set()
        memory.merge([copy])
        memory.merge([folder / "elsewhere" / "own.h5"], own=True)
        memory.index()
        assert [each.facts.id for each in memory.sessions()] == [uuid_of(STAYS)]
        assert places_with(memory, canary("Hooked")) == set()
    with Memory.open(copy) as still:
        assert uuid_of(GONE) in {each.facts.id for each in still.sessions()}, "a snapshot keeps what it has"
