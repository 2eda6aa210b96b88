"""After a conversation: fold the journal, bring the indexes up to date, make the next catalogs ready.

Started by a hook at a conversation's end, or at the next one's start when a client was killed: at low
priority, and gone when it is done. The lock that keeps a second one away was taken by the hook; this
process holds it by a descriptor that it inherits and never touches.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.hooks.state import CATALOG_BYTES_MAX, forget_untold, note_trouble, write_catalog
from recollect.light.capture import (
    FOLLOWED_DAYS,
    FileMark,
    Followed,
    forget_old,
    main_of,
    name_in,
    read_followed,
    taken_to,
    write_followed,
)
from recollect.light.disk import replace_file
from recollect.values.budgets import CATALOG_TOKENS
from recollect.values.errors import RecollectError

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.values.stored import Session, Source

CATALOGS_AT_ONCE = 200

_WRITER_SECONDS = 5.0
_DAY_NS = 86_400 * 10**9
_RULES = 4  # by which catalogs are made: those of other rules are made anew


def main() -> None:
    """Settle one store: its path, the hooks' state folder, what they call this host."""
    store, state, host = sys.argv[1:]
    with contextlib.suppress(OSError):
        os.nice(10)
    try:
        from dataclasses import replace

        from recollect.config import load_config
        from recollect.memory import Memory

        config = replace(load_config(store), cache=Path(state).parents[1], host=host)
        with Memory.open(config=config) as memory:
            settle(memory)
    except Exception as error:  # nobody sees what this process prints
        note_trouble(state, f"settling: {type(error).__name__}: {error}")


def settle(memory: Memory) -> None:
    """Everything that hooks left to be done."""
    memory.capture(timeout=_WRITER_SECONDS)
    memory.checkpoint(timeout=_WRITER_SECONDS)
    # The next conversation may be about to begin: first without what is derived, which takes its time.
    known = _known(str(memory.config.state))
    refresh_catalogs(memory)
    memory.index()
    try:
        swept = memory.sweep_if_due()
    except RecollectError as error:  # what is over the budget keeps no catalog from being made
        note_trouble(str(memory.config.state), f"retention: {error}")
        swept = None
    if swept is not None and swept.file_bytes_after:
        memory.index()
    now = _known(str(memory.config.state))
    refresh_catalogs(memory, [name for name, mark in now.items() if mark and known.get(name) != mark])
    follow_stored(memory)


def refresh_catalogs(memory: Memory, projects: Iterable[str] | None = None) -> int:
    """Make the catalogs of these projects, or of those with news, ready for hooks; returns how many."""
    state = str(memory.config.state)
    known = _known(state)
    owners = _owners(memory.projects_by_folder_name(), memory.sessions())
    marks = {name: mark for name, (_, mark) in owners.items()}
    if projects is None:
        gone = [name for name, mark in known.items() if mark and name not in marks]
        projects = [name for name, mark in marks.items() if known.get(name) != mark][-CATALOGS_AT_ONCE:]
        projects += gone
    made, texts = 0, {"": ""}
    for name in projects:
        project, mark = owners.get(name, ("", ""))
        if project not in texts:
            try:
                text = memory.catalog(project, budget_tokens=CATALOG_TOKENS).text
            except RecollectError as error:  # what one project has keeps no other from its catalog
                note_trouble(state, f"catalog of {project[:500]!r}: {error}")
                text = ""
            texts[project] = text if len(text.encode("utf-8", "replace")) <= CATALOG_BYTES_MAX else ""
        write_catalog(state, name, texts[project])
        known[name] = mark
        made += 1
    if made:
        replace_file(_known_path(state), json.dumps(known).encode())
    return made


def follow_stored(memory: Memory) -> None:
    """Let hooks go on from where sweeps got to, and forget transcripts that nobody writes to."""
    state, oldest_ns = str(memory.config.state), time.time_ns() - FOLLOWED_DAYS * _DAY_NS
    forget_old(state, oldest_ns)
    forget_untold(state, oldest_ns)
    for source in memory.sources():
        if source.host == memory.config.host and not source.superseded and not source.file.compressed:
            _raise_to(state, source, oldest_ns)


def _raise_to(state: str, source: Source, oldest_ns: int) -> None:
    agent, path, cursor = source.file.agent, source.file.path, source.cursor
    main = main_of(agent, path)
    if not main or cursor.waiting or not cursor.terminated or 0 < cursor.mtime_ns < oldest_ns:
        return
    session = read_followed(state, main) or Followed(agent, main, ended=True)
    name = name_in(session, path)
    mark = taken_to(path, cursor.offset)
    if mark is None or mark.time_ns < oldest_ns or mark.offset <= session.files.get(name, FileMark()).offset:
        return
    if cursor.inode != mark.inode:
        return  # another file than the one that was read
    session.files[name] = mark
    write_followed(state, session)


def _owners(named: Mapping[str, str], sessions: Iterable[Session]) -> dict[str, tuple[str, str]]:
    """For every name that a hook may ask by its project, and what tells whether it has news; oldest first."""
    counts: dict[str, list[int]] = {}
    for session in sessions:
        if not session.imported:
            mark = counts.setdefault(session.facts.project, [0, 0, 0])
            mark[0], mark[1] = mark[0] + 1, mark[1] + session.entries
            mark[2] = max(mark[2], session.facts.ended_ms)
    told = sorted((each for each in named.items() if each[1] in counts), key=lambda each: counts[each[1]][2])
    return {name: (of, "-".join(map(str, (_RULES, *counts[of], of)))) for name, of in told}


def _known_path(state: str) -> str:
    return os.path.join(state, "catalogs", "known.json")


def _known(state: str) -> dict[str, str]:
    try:
        known = json.loads(Path(_known_path(state)).read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
