"""The machines of the fleet as JSON objects and as sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.present.reports import report_object
from recollect.values.text import age, many, one_line

if TYPE_CHECKING:
    from recollect.memory.fleet import HostReport, HostStanding
    from recollect.values.fleet import FleetHost, HostDoomed, HostState

_DAY_MS = 86_400_000


def host_object(host: FleetHost) -> dict[str, Any]:
    return {"name": host.name, "address": host.address, "own": host.own}


def state_object(state: HostState, now_ms: int) -> dict[str, Any]:
    """How a host stood when it was last visited; `lag_ms` is how long ago everything of it was here."""
    return {
        "state": state_word(state),
        "synced_ms": state.synced_ms or None,
        "tried_ms": state.tried_ms or None,
        "lag_ms": max(now_ms - state.synced_ms, 0) if state.synced_ms else None,
        "system": state.system,
        "bytes": state.bytes,
        "received_bytes": state.received,
        "newest_source_ms": state.newest_ms or None,
        "gone": state.gone,
        "trouble": state.trouble,
        "hint": state.hint,
        "failed": dict(state.failed),
        "retention": {"next": state.doomed and doomed_object(state.doomed, now_ms), "soon": state.soon},
    }


def doomed_object(doomed: HostDoomed, now_ms: int) -> dict[str, Any]:
    return {
        "agent": doomed.agent,
        "path": doomed.path,
        "session": doomed.session,
        "modified_ms": doomed.modified_ms,
        "cleanup_days": doomed.days,
        "days_left": days_left(doomed, now_ms),
    }


def host_standing_object(standing: HostStanding, now_ms: int) -> dict[str, Any]:
    return {
        **host_object(standing.host),
        "sources": standing.sources,
        "sessions": standing.sessions,
        **state_object(standing.state, now_ms),
    }


def host_report_object(done: HostReport, now_ms: int) -> dict[str, Any]:
    return {
        **host_object(done.host),
        **state_object(done.state, now_ms),
        "report": report_object(done.report),
    }


def state_word(state: HostState) -> str:
    """One word or two: `ok`, what was wrong the last time, or that there was none."""
    if state.kind:
        return state.kind
    return "ok" if state.synced_ms else "never visited"


def days_left(doomed: HostDoomed, now_ms: int) -> int:
    return max((doomed.modified_ms + doomed.days * _DAY_MS - now_ms) // _DAY_MS, 0)


def trouble_lines(standings: list[HostStanding]) -> list[str]:
    """What is wrong with which host, with the next step; nothing where all is well."""
    told = [each for each in standings if each.state.trouble]
    return [
        f"{each.host.name}: {one_line(each.state.trouble)}"
        + (f"; {one_line(each.state.hint)}" if each.state.hint else "")
        for each in told
    ]


def next_deleted_text(name: str, doomed: HostDoomed, now_ms: int) -> str:
    """What a host deletes next."""
    left = days_left(doomed, now_ms)
    when = f"in {many(left, 'day')}" if left else "at its next start"
    return f"{name}: {doomed.agent} deletes session {one_line(doomed.session[:8])} {when}"


def summary_text(standings: list[HostStanding], now_ms: int) -> str:
    """The fleet in a line, for `status`; "" where there is none."""
    if not standings:
        return ""
    bad = sum(bool(each.state.trouble) for each in standings)
    synced = [each.state.synced_ms for each in standings if each.state.synced_ms]
    never = len(standings) - len(synced)
    parts = [many(len(standings), "host")]
    parts += [f"{bad:,} with trouble"] if bad else []
    parts += [f"{never:,} never synced"] if never else []
    parts += [f"the longest ago {age(min(synced), now_ms=now_ms)}"] if synced else []
    return ", ".join(parts)
