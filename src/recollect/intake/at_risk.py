"""What the agents' own clean-up takes away: which logs go next, and which are gone already.

Some agents delete logs that were not touched for so many days, without asking; others keep
theirs. Everything here is told from the files' dates; no log is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from recollect.agents.registry import agents
from recollect.light.sources import is_conversation
from recollect.values.records import Framing, Role, SourceFile
from recollect.values.reports import Doomed, Standing
from recollect.values.stored import Source

SOON_DAYS = 7

_DAY_MS = 86_400_000


def standing(
    sources: Iterable[Source], *, host: str, home: Path, environ: Mapping[str, str], now_ms: int
) -> Standing:
    """Compare the sources of this host with the files they came from."""
    cleaners = list(_cleaners(home, environ))
    doomed: list[Doomed] = []
    there: dict[str, bool] = {}
    changed = newest_ms = 0
    for source in sources:
        if source.host != host or source.superseded or not is_conversation(source.file.agent):
            continue
        if not source.file.has_file:
            continue
        seen, missing = _stat(source.file)
        transcript = source.file.role in (Role.MAIN, Role.SUBAGENT)
        if transcript:
            there[source.session] = there.get(source.session, False) or not missing
        if seen is None:
            continue
        changed += source.file.framing is not Framing.ROWS and _differs(source, seen)
        modified_ms = seen.st_mtime_ns // 1_000_000
        newest_ms = max(newest_ms, modified_ms)
        for cleaner in cleaners:
            if transcript and source.file.path.startswith(cleaner.roots):
                left = max((modified_ms + cleaner.days * _DAY_MS - now_ms) // _DAY_MS, 0)
                doomed.append(Doomed(cleaner.title, source.file.path, source.session, modified_ms, left))
    oldest = min(doomed, key=lambda each: (each.days_left, each.modified_ms, each.path), default=None)
    granted = [each.days for each in cleaners if oldest is None or each.title == oldest.agent]
    return Standing(
        cleanup_days=min(granted, default=None),
        oldest=oldest,
        soon=len({each.session for each in doomed if each.days_left <= SOON_DAYS}),
        gone=sum(not still for still in there.values()),
        changed=changed,
        newest_ms=newest_ms,
    )


@dataclass(frozen=True, slots=True)
class _Cleaner:
    """An agent that deletes what lies below these folders after so many days."""

    title: str
    days: int
    roots: tuple[str, ...]


def _cleaners(home: Path, environ: Mapping[str, str]) -> Iterator[_Cleaner]:
    for agent in agents():
        days = agent.deletes_after_days(home, environ)
        if days is not None:
            roots = (os.path.realpath(root) + os.sep for root in agent.roots(home, environ))
            yield _Cleaner(agent.title, days, tuple(roots))


def _stat(file: SourceFile) -> tuple[os.stat_result | None, bool]:
    """A source's file now, and whether it is certainly gone (not merely out of reach)."""
    plain = replace(file, compressed=False).read_path
    for each in (plain, plain + ".zst"):  # an agent may compress what is cold
        try:
            return os.stat(each, follow_symlinks=False), False
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError):
            return None, False
    return None, True


def _differs(source: Source, seen: os.stat_result) -> bool:
    cursor = source.cursor
    stored = (cursor.size, cursor.mtime_ns, cursor.ctime_ns, cursor.inode)
    return stored != (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)
