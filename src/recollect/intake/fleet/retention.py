"""What the agents on another machine delete next, by the dates of their logs and by their settings there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from recollect.agents.registry import agents
from recollect.intake.at_risk import SOON_DAYS
from recollect.intake.fleet.answers import Hello, Listing
from recollect.light.sources import is_conversation
from recollect.values.fleet import HostDoomed
from recollect.values.records import Framing, Role
from recollect.values.stored import Source

_DAY_MS = 86_400_000


def doomed_next(
    hello: Hello, listing: Listing, sources: Iterable[Source], *, beside: Path, now_ms: int
) -> tuple[HostDoomed | None, int]:
    """The log that goes first, and how many sessions go within a week."""
    found: list[HostDoomed] = []
    roots = _cleaned_roots(hello, beside)
    for source in sources:
        if source.file.role not in (Role.MAIN, Role.SUBAGENT) or source.file.framing is Framing.ROWS:
            continue
        stat = listing.files.get(source.file.read_path.encode("utf-8", "surrogateescape"))
        if stat is None or not stat.mtime_ns or not is_conversation(source.file.agent):
            continue
        for title, days, root in roots:
            if source.file.path.startswith(root):
                modified_ms = stat.mtime_ns // 1_000_000
                found.append(HostDoomed(title, source.file.path, source.session, modified_ms, days))
                break
    found.sort(key=lambda each: (each.modified_ms + each.days * _DAY_MS, each.path))
    soon = now_ms + SOON_DAYS * _DAY_MS
    going = {each.session for each in found if each.modified_ms + each.days * _DAY_MS <= soon}
    return (found[0] if found else None), len(going)


def _cleaned_roots(hello: Hello, beside: Path) -> list[tuple[str, int, str]]:
    """The folders of agents that delete, each with its agent and after how many days."""
    below = str(beside)
    home = Path(below + hello.home)
    environ = {name: below + path for name, path in hello.variables.items()}
    made = []
    for agent in agents():
        days = agent.deletes_after_days(home, environ)
        if days is not None:
            roots = agent.roots(PurePosixPath(hello.home), hello.variables)
            made += [(agent.title, days, f"{root}/") for root in roots]
    return made
