"""Erasing: out of the store and everything that was made of it, remembered by hashes, with a receipt.

The order makes it safe to be killed anywhere. The journal is folded; the store is rewritten without what goes
and with the note that it went, in one step; then what was made of the old rows is removed, which a repetition
does again. Until the rewrite is in place nothing has changed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.intake.again import look_again
from recollect.intake.erased import erasures, forget_erasure, note_erasure
from recollect.light.sources import is_conversation
from recollect.memory.choosing import Chosen, choose
from recollect.memory.proof import Fingerprints, Looking, files_below, pieces_of_file
from recollect.store.contract import LINES, HoldsBytes
from recollect.values.erasures import SALT_BYTES, Erasure, hash_of_line, hash_of_session
from recollect.values.errors import UsageError

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.store.contract import View, Writer
    from recollect.store.leaving import Leaving
    from recollect.values.erasures import Wanted

RECEIPT = 1


def rehearse(memory: Memory, wanted: Wanted) -> Chosen:
    """What would go, with what waits in the journal; nothing is changed."""
    with memory.view() as view:
        return choose(getattr(view, "base", view), wanted)


def erase(memory: Memory, wanted: Wanted, *, now_ms: int) -> tuple[Chosen, dict[str, Any]]:
    """Erase, remember, clear what was made of it, look for it; returns what went and the receipt."""
    store, host = memory._store, memory.config.host
    memory.checkpoint()
    went: list[Chosen] = []
    noted: list[Erasure] = []

    def leave(view: View) -> Leaving:
        went.append(choose(view, wanted))
        noted.append(_erasure(view, went[-1], wanted, now_ms))
        return went[-1].leaving

    def then(writer: Writer) -> None:
        note_erasure(writer, host, noted[-1])

    store.compact(leave, then)
    chosen, erasure = went[-1], noted[-1]
    clear_made(memory, {path for each in chosen.sessions if each.whole for path in each.paths})
    memory.checkpoint()  # what was appended meanwhile; of what was erased nothing is taken
    return chosen, _receipt(memory, chosen, erasure)


def clear_made(memory: Memory, paths: Iterable[str]) -> None:
    """Remove what was made of a store's old rows: indexes, and what hooks keep; all of it is made again."""
    with memory._store.view() as view:
        id_ = view.info().id
    memory._forget_indexes()
    shutil.rmtree(memory.config.cache / id_, ignore_errors=True)
    state = memory.config.state
    for folder in ("catalogs", "untold"):
        shutil.rmtree(state / folder, ignore_errors=True)
    for name in ("trouble", "today"):
        (state / name).unlink(missing_ok=True)
    for path in paths:
        with contextlib.suppress(OSError, ValueError):
            (state / "sessions" / os.path.basename(path)).unlink(missing_ok=True)


def verify(memory: Memory, receipt: dict[str, Any], texts: Iterable[str] = ()) -> dict[str, Any]:
    """Look for what a receipt is of, and for some texts, in everything of ours on disk."""
    try:
        salt = bytes.fromhex(receipt["salt"])
        prints = Fingerprints.unpacked(salt, receipt["fingerprints"])
        id_ = str(receipt["id"])
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            "this is no receipt of an erasure", hint="give the file that `erase` wrote"
        ) from error
    with memory._store.view() as view:
        stands = any(each.id == id_ for each in erasures(view))
    found, files, size = _look(memory, Looking(prints, tuple(texts)))
    return {"erasure": id_, "remembered": stands, "found": sorted(found), "files": files, "bytes": size}


def named_elsewhere(memory: Memory) -> list[str]:
    """Copies beside the store that we know of, and do not touch."""
    path = memory.config.path
    if path is None:
        return []
    beside = sorted(each for each in os.listdir(path.parent or ".") if each.startswith(f"{path.name}."))
    return [*memory.kept_aside(), *(str(path.with_name(each)) for each in beside if ".damaged-" in each)]


def forget(memory: Memory, id_: str, *, now_ms: int) -> Erasure:
    """Take back that something stays erased."""
    with memory._store.writer() as writer:
        erasure = forget_erasure(writer, memory.config.host, id_, now_ms=now_ms)
        if erasure.lines:
            look_again(writer, memory.config.host)
        writer.commit()
    return erasure


def _erasure(view: View, chosen: Chosen, wanted: Wanted, now_ms: int) -> Erasure:
    before = erasures(view)
    salt = before[-1].salt if before else secrets.token_bytes(SALT_BYTES)
    sessions = {
        hash_of_session(salt, each.session.facts.agent, each.session.host, each.session.facts.id)
        for each in chosen.sessions
        if each.whole and is_conversation(each.session.facts.agent)
    }
    lines = {hash_of_line(salt, key) for key in chosen.keys}
    counts = tuple(chosen.counts.items())
    id_ = secrets.token_hex(6)
    return Erasure(id_, now_ms, wanted.by, salt, frozenset(sessions), frozenset(lines), counts)


def _receipt(memory: Memory, chosen: Chosen, erasure: Erasure) -> dict[str, Any]:
    """What was done and how it was looked for, without a word of it."""
    salt = secrets.token_bytes(SALT_BYTES)
    prints = Fingerprints.of(salt, chosen.texts)
    with memory._store.view() as view:
        info = view.info()
    places, files, size = _look(memory, Looking(prints))
    said = places.pop(
        LINES, set()
    )  # by lines that stay: others said the same, of which nothing can be proven
    unique = prints.without(said)
    found = {where for where, told in places.items() if told - said}
    return {
        "receipt": RECEIPT,
        "id": erasure.id,
        "store": info.id,
        "epoch": info.epoch,
        "time_ms": erasure.time_ms,
        "by": erasure.by,
        "counts": chosen.counts,
        "salt": salt.hex(),
        "fingerprints": unique.packed(),
        "verified": {
            "files": files,
            "bytes": size,
            "stretches": len(unique.prints),
            "said_elsewhere": len(said),
            "found": sorted(found),
        },
        "not_touched": named_elsewhere(memory),
    }


def _look(memory: Memory, looking: Looking) -> tuple[dict[str, set[tuple[int, bytes]]], int, int]:
    """What is found where; how many files and streams were searched, and how many bytes, unpacked."""
    found: dict[str, set[tuple[int, bytes]]] = {}
    places: set[str] = set()
    size = 0
    for where, data in _everything(memory):
        places.add(where)
        size += len(data)
        if told := looking.found_in(data):
            found.setdefault(where, set()).update(told)
    return found, len(places), size


def _everything(memory: Memory) -> Iterator[tuple[str, bytes]]:
    """Every byte of ours: the store unpacked, its journal and redo file, indexes, state and logs."""
    store = memory._store
    if isinstance(store, HoldsBytes):
        yield from store.contents()
    with store.view() as view:
        id_ = view.info().id
    yield from files_below([memory.config.cache / id_, memory.config.state])
    for path in named_elsewhere(memory):
        yield from pieces_of_file(Path(path))


def own_files(chosen: Chosen, host: str) -> list[str]:
    """The agents' own files, as far as they are there, of the sessions of this host that went whole."""
    paths = {
        path
        for each in chosen.sessions
        if each.whole and each.session.host == host and is_conversation(each.session.facts.agent)
        for path in each.paths
    }
    return sorted(each for each in paths if os.path.isfile(each) and not os.path.islink(each))
