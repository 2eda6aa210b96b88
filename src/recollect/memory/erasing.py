"""Erasing: out of the store and everything that was made of it, remembered by hashes, with a receipt.

The order makes it safe to be killed anywhere. The journal is folded; the store is rewritten without what goes
and with the note that it went, in one step; then what was made of the old rows is removed, and noted to be.
An erasure without that second note is found by whoever folds, ingests or indexes next, who removes it first.
Until the rewrite is in place nothing has changed.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.agents.registry import agents
from recollect.intake.again import look_again
from recollect.intake.erased import erasures, forget_erasure, note_cleared, note_erasure
from recollect.intake.notes import note
from recollect.light.disk import Disk
from recollect.light.sources import is_conversation
from recollect.memory.choosing import Chosen, choose
from recollect.memory.collector import without_collector
from recollect.memory.copies import copies_of, forget_lost
from recollect.memory.proof import Fingerprints, Looking, SecretPrints, files_below, pieces_of_file
from recollect.memory.reads import forget_reads
from recollect.recall.saved import ids_saved, naming
from recollect.search.projects import named
from recollect.store.contract import LINES, TEXTS, HoldsBytes
from recollect.values.erasures import (
    SALT_BYTES,
    Erased,
    Erasure,
    hash_of_entry,
    hash_of_line,
    hash_of_name,
    hash_of_session,
)
from recollect.values.errors import NotFound, UsageError
from recollect.values.ids import line_key

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.store.contract import View, Writer
    from recollect.store.leaving import Leaving
    from recollect.values.erasures import Wanted
    from recollect.values.reports import Progress
    from recollect.values.stored import Source

RECEIPT = 2
_TOLD_CHARS = 8  # a secret that is shorter, or a plain word, may stand anywhere by chance
_TEXT_BYTES_AT_ONCE = 1 << 20
SEARCHING = "searching"  # what the progress of looking for it is told as
# Where these are.
NOT_KNOWN = ("copies that were moved, or made in another way", "stores it was merged into", "backups")


def rehearse(memory: Memory, wanted: Wanted, progress: Progress | None = None) -> Chosen:
    """What would go, with what waits in the journal; nothing is changed."""
    with memory.view() as view:
        return choose(getattr(view, "base", view), wanted, progress)


def erase(
    memory: Memory,
    wanted: Wanted,
    progress: Progress | None = None,
    *,
    now_ms: int,
    would: Chosen | None = None,
) -> tuple[Chosen, dict[str, Any]]:
    """Erase, remember, clear what was made of it, look for it; returns what went and the receipt."""
    if wanted.secrets:
        return _erase_secrets(memory, wanted, progress, now_ms, would)
    store, host = memory._store, memory.config.host
    memory.checkpoint()
    went: list[Chosen] = []
    noted: list[Erasure] = []
    retold: list[tuple[Source, list[bytes], list[dict[str, Any]]]] = []

    def leave(view: View) -> Leaving:
        went.append(choose(view, wanted, progress))
        leaving = went[-1].leaving
        retold[:] = naming(view, _lost_projects(view, leaving))
        again = [view.line_rows(source) for source, _, _ in retold]
        keys = {*went[-1].keys, *(line_key(data) for _, lines, _ in retold for data in lines)}
        noted.append(_erasure(view, went[-1], keys, wanted, now_ms))
        return replace(leaving, lines=np.unique(np.concatenate([leaving.lines, *again])))

    def then(writer: Writer) -> None:
        note_erasure(writer, host, noted[-1])
        for source, _, records in retold:
            for record in records:
                note(writer, source.file, source.host, record)

    store.compact(leave, then, progress)
    chosen, erasure = went[-1], noted[-1]
    memory.checkpoint()  # clears what was made; of what was appended meanwhile nothing erased is taken
    return chosen, _receipt(memory, chosen, erasure, progress)


def _erase_secrets(
    memory: Memory, wanted: Wanted, progress: Progress | None, now_ms: int, would: Chosen | None
) -> tuple[Chosen, dict[str, Any]]:
    """The same of secrets: the store is made anew of lines without them, in one step with the note of it."""
    from recollect.memory.masking import choose_secrets, take_masked

    memory.checkpoint()
    with without_collector(), memory._store.replacement() as (old, new):
        chosen = choose_secrets(old, wanted, progress, would)
        erasure = _erasure(old, chosen, (), wanted, now_ms)
        with new.writer() as writer:
            take_masked(old, chosen, writer, narrowed=wanted.is_narrowed, progress=progress)
        with new.writer() as writer:
            note_erasure(writer, memory.config.host, erasure)
            writer.commit()
    memory.checkpoint()
    return chosen, _receipt(memory, chosen, erasure, progress)


def clear_rest(memory: Memory, writer: Writer, left: Sequence[Erasure], *, now_ms: int) -> None:
    """Remove what was made of rows that were erased, for good, and only then note that it is gone.

    What cannot be removed now is for the next one to remove; the receipt says where something was found.
    """
    if not clear_made(memory, writer.view().info().id, left):
        return
    for erasure in left:
        note_cleared(writer, memory.config.host, erasure, now_ms=now_ms)
    writer.commit()


def clear_made(memory: Memory, store_id: str, left: Sequence[Erasure]) -> bool:
    """Remove indexes, and what hooks and visits to the fleet keep: whether all is gone."""
    memory._forget_indexes()
    state, cache = memory.config.state, memory.config.cache
    trees = [cache / store_id, memory.config.fleet_folder, state / "catalogs", state / "untold"]
    gone = [_is_removed(path) for path in (*trees, state / "trouble", state / "today")]
    for name in _listed(state / "sessions"):
        if any(hash_of_name(each.salt, name) in each.names for each in left):
            gone.append(_is_removed(state / "sessions" / name))
    known = Erased(left)
    try:
        for record in memory.config.copies:
            forget_lost(record)
        forget_reads(state, lambda name: known.has_session(*name))
        for folder in {cache, memory.config.fleet_folder.parent, state, state / "sessions"}:
            if folder.is_dir():
                Disk().sync_folder(folder)
    except OSError:
        return False
    return all(gone)


def _listed(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _is_removed(path: Path) -> bool:
    """Remove a file or a folder; whether it is not there any more."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()
    return not os.path.lexists(path)


def erasure_of(memory: Memory, session: str) -> Erasure | None:
    """The erasure that a session went with, whichever agent's and machine's it was."""
    with memory._store.view() as view:
        found, hosts = erasures(view), {memory.config.host, *(each.host for each in view.sessions())}
    for erasure in reversed(found):
        for agent, host in itertools.product(agents(), sorted(hosts)):
            if hash_of_session(erasure.salt, agent.name, host, session) in erasure.sessions:
                return erasure
    return None


def verify(
    memory: Memory, receipt: dict[str, Any], texts: Iterable[str] = (), progress: Progress | None = None
) -> dict[str, Any]:
    """Look for what a receipt is of, and for some texts, in everything of ours on disk."""
    try:
        if receipt["receipt"] != RECEIPT:
            raise ValueError("a receipt of another form")
        salt = bytes.fromhex(receipt["salt"])
        prints = Fingerprints.unpacked(salt, receipt["fingerprints"])
        id_ = str(receipt["id"])
        hidden = SecretPrints.unpacked(salt, dict(receipt.get("secrets", {})).get("fingerprints", ""))
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            "this is no receipt of an erasure", hint="give the file that `erase` wrote"
        ) from error
    with memory._store.view() as view:
        stands = any(each.id == id_ for each in erasures(view))
    found, files, size = _look(memory, Looking(prints, tuple(texts), hidden), progress)
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
        if erasure.lines or erasure.masks:
            look_again(writer, memory.config.host, _keys_of(writer.view(), erasure))
        writer.commit()
    return erasure


def _keys_of(view: View, erasure: Erasure) -> frozenset[bytes]:
    """The keys of the lines that an erasure altered."""
    if not erasure.masks:
        return frozenset()
    keys = (key for source in view.sources() if source.thinned for key in view.line_keys(source))
    return frozenset(key for key in keys if hash_of_line(erasure.salt, key) in erasure.masks)


def _lost_projects(view: View, leaving: Leaving) -> set[str]:
    """What projects are called of which no session stays: saved threads are told without them."""
    stay: set[str] = set()
    go: set[str] = set()
    for known in (view, named(view)):
        for row, session in known.session_rows().items():
            if is_conversation(session.facts.agent):
                (go if row in leaving.sessions else stay).add(session.facts.project)
    return go - stay - {""}


def _erasure(view: View, chosen: Chosen, keys: Iterable[bytes], wanted: Wanted, now_ms: int) -> Erasure:
    before = erasures(view)
    salt = before[-1].salt if before else secrets.token_bytes(SALT_BYTES)
    sessions = {
        hash_of_session(salt, each.session.facts.agent, each.session.host, each.session.facts.id)
        for each in chosen.sessions
        if each.whole and is_conversation(each.session.facts.agent)
    }
    lines = {hash_of_line(salt, key) for key in keys}
    counts = tuple(chosen.counts.items())
    paths = {path for each in chosen.sessions if each.whole for path in each.paths}
    names = frozenset(hash_of_name(salt, os.path.basename(path)) for path in paths)
    gone = set(chosen.entries)
    entries = frozenset(hash_of_entry(salt, id_) for id_ in ids_saved(view) if _row_of(view, id_) in gone)
    id_ = secrets.token_hex(6)
    masks = frozenset(hash_of_line(salt, key) for key in chosen.keys) if chosen.secrets else frozenset()
    return Erasure(
        id_, now_ms, wanted.by, salt, frozenset(sessions), frozenset(lines), counts, names, entries, masks
    )


def _said_in_texts(
    memory: Memory, looking: Looking, wanted: set[tuple[int, bytes]]
) -> set[tuple[int, bytes]]:
    """What of it entries that stay say: a text may be kept in another form than its line has it in."""
    said: set[tuple[int, bytes]] = set()
    if wanted:
        with memory._store.view() as view:
            for texts in _texts_at_once(view):
                said |= looking.found_in(texts) & wanted
                if said == wanted:
                    break
    return said


def _texts_at_once(view: View) -> Iterator[bytes]:
    """What all entries say, many in one piece: to look into each by itself takes ten times as long."""
    held, size = [], 0
    for stored in view.entry_range(0, view.info().rows_end):
        held.append(stored.entry.text.encode("utf-8", "surrogatepass"))
        size += len(held[-1])
        if size >= _TEXT_BYTES_AT_ONCE:
            yield b"\0".join(held)
            held, size = [], 0
    yield b"\0".join(held)


def _row_of(view: View, entry: str) -> int:
    try:
        return view.find_entry(entry).row
    except NotFound:
        return -1


def _receipt(memory: Memory, chosen: Chosen, erasure: Erasure, progress: Progress | None) -> dict[str, Any]:
    """What was done and how it was looked for, without a word of it."""
    salt = secrets.token_bytes(SALT_BYTES)
    prints = Fingerprints.of(salt, chosen.texts)
    secrets_ = list(chosen.secrets.known) if chosen.secrets is not None else []
    known = [text for text in secrets_ if len(text) >= _TOLD_CHARS and not text.isalpha()]
    with memory._store.view() as view:
        info = view.info()
    looking = Looking(prints, known=known)
    places, files, size = _look(memory, looking, progress)
    # By what stays: others said the same, of which nothing can be proven.
    said = places.pop(LINES, set())
    said |= _said_in_texts(memory, looking, places.get(TEXTS, set()) - said)
    unique = prints.without(said)
    found = {where for where, told in places.items() if told - said}
    still = {text for _, text in said}
    hidden = SecretPrints.of(salt, (text for text in known if text.encode() not in still))
    about = _about_secrets(chosen, hidden, len(known)) if chosen.secrets is not None else {}
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
            "stretches": len(unique.prints) + len(known) - len(still) if known else len(unique.prints),
            "said_elsewhere": len(said),
            "found": sorted(found),
        },
        **about,
        "not_touched": named_elsewhere(memory),
        "copies": [each.path for each in copies_of(memory.config.copies, chosen)],
        "not_known": list(NOT_KNOWN),
    }


def _about_secrets(chosen: Chosen, prints: SecretPrints, looked_for: int) -> dict[str, Any]:
    assert chosen.secrets is not None
    return {
        "secrets": {
            "kinds": dict(chosen.kinds),
            "different": len(chosen.secrets.known),
            "looked_for": looked_for,
            "fingerprints": prints.packed(),
            "with_fingerprint": len(prints.prints),
        }
    }


def _look(
    memory: Memory, looking: Looking, progress: Progress | None
) -> tuple[dict[str, set[tuple[int, bytes]]], int, int]:
    """What is found where; how many files and streams were searched, and how many bytes, unpacked."""
    found: dict[str, set[tuple[int, bytes]]] = {}
    places: set[str] = set()
    size = 0
    with memory._store.view() as view:
        total = view.raw_sizes().total + memory.footprint().bytes
    for where, data in _everything(memory):
        places.add(where)
        size += len(data)
        if progress is not None:
            progress(SEARCHING, size, max(size, total))
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
    yield from files_below([memory.config.cache / id_, memory.config.state, memory.config.fleet_folder])
    for path in (*map(Path, named_elsewhere(memory)), memory.config.copies[0]):
        yield from pieces_of_file(path)


def own_files(chosen: Chosen, host: str) -> list[str]:
    """The agents' own files, as far as they are there, of the sessions of this host that went whole; of
    secrets, those that still hold one.
    """
    paths = {
        path
        for each in chosen.sessions
        if (each.whole or chosen.secrets is not None)
        and each.session.host == host
        and is_conversation(each.session.facts.agent)
        for path in each.paths
    }
    if chosen.secrets is not None:  # of a session in a database, the database
        paths |= {path.rpartition("#")[0] for path in paths if "#" in path}
    return sorted(each for each in paths if os.path.isfile(each) and not os.path.islink(each))
