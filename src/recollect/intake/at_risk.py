"""What the agents' own clean-up takes away: which logs go next, and which are gone already.

Claude Code deletes transcripts that were not touched for `cleanupPeriodDays` (30 unless
its settings say otherwise), without asking. Codex keeps its rollouts. Everything here is
told from the files' dates; no log is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from recollect.agents.claude.agent import ClaudeAdapter
from recollect.agents.saved import is_conversation
from recollect.values.records import Role
from recollect.values.reports import Doomed, Standing
from recollect.values.stored import Source

CLEANUP_DAYS = 30  # Claude Code's default
SOON_DAYS = 7

_DAY_MS = 86_400_000


def cleanup_days(home: Path, environ: Mapping[str, str]) -> int:
    """After how many days without a change Claude Code deletes a transcript."""
    moved = environ.get("CLAUDE_CONFIG_DIR", "")
    settings = (Path(moved) if moved else home / ".claude") / "settings.json"
    try:
        value = json.loads(settings.read_bytes()).get("cleanupPeriodDays")
    except (OSError, ValueError, AttributeError, RecursionError):
        return CLEANUP_DAYS
    usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e6
    return int(value) if usable else CLEANUP_DAYS


def standing(
    sources: Iterable[Source], *, host: str, home: Path, environ: Mapping[str, str], now_ms: int
) -> Standing:
    """Compare the sources of this host with the files they came from."""
    days = cleanup_days(home, environ)
    roots = [os.path.realpath(root) + os.sep for root in ClaudeAdapter().roots(home, environ)]
    doomed: list[Doomed] = []
    there: dict[str, bool] = {}
    changed = newest_ms = 0
    for source in sources:
        if source.host != host or source.superseded or not is_conversation(source.file.agent):
            continue
        seen, missing = _stat(source.file.path)
        transcript = source.file.role in (Role.MAIN, Role.SUBAGENT)
        if transcript:
            there[source.session] = there.get(source.session, False) or not missing
        if seen is None:
            continue
        changed += _differs(source, seen)
        modified_ms = seen.st_mtime_ns // 1_000_000
        newest_ms = max(newest_ms, modified_ms)
        if transcript and source.file.path.startswith(tuple(roots)):
            left = max((modified_ms + days * _DAY_MS - now_ms) // _DAY_MS, 0)
            doomed.append(Doomed(source.file.path, source.session, modified_ms, left))
    return Standing(
        cleanup_days=days,
        oldest=min(doomed, key=lambda each: (each.modified_ms, each.path), default=None),
        soon=len({each.session for each in doomed if each.days_left <= SOON_DAYS}),
        gone=sum(not still for still in there.values()),
        changed=changed,
        newest_ms=newest_ms,
    )


def _stat(path: str) -> tuple[os.stat_result | None, bool]:
    """A source's file now, and whether it is certainly gone (not merely out of reach)."""
    for each in (path, path + ".zst"):  # Codex compresses what is cold
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
