"""What a sweep does and what was evicted, as JSON objects and as sentences."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from recollect.values.retention import Elsewhere
from recollect.values.text import many, moment, size

if TYPE_CHECKING:
    from recollect.values.retention import (
        EvictedSession,
        RestoreReport,
        RetentionSettings,
        SessionLeaving,
        SweepReport,
    )

_ELSEWHERE = {
    Elsewhere.THERE: "where it came from it is still there",
    Elsewhere.CHANGED: "where it came from it is not what it was",
    Elsewhere.GONE: "the file it came from is gone",
    Elsewhere.UNKNOWN: "the file it came from is on another machine, or not known",
}


def settings_object(settings: RetentionSettings) -> dict[str, Any]:
    return asdict(settings)


def sweep_object(report: SweepReport, *, applied: bool) -> dict[str, Any]:
    """A sweep; `applied`: it was done, and is not only what would be."""
    told = asdict(report)
    told["sessions"] = [_leaving_object(each) for each in report.sessions]
    return {"applied": applied, **told}


def _leaving_object(leaving: SessionLeaving) -> dict[str, Any]:
    return {
        "agent": leaving.name.agent,
        "host": leaving.name.host,
        "id": leaving.name.id,
        "title": leaving.title,
        "project": leaving.project,
        "ended_ms": leaving.ended_ms,
        "bytes": leaving.bytes,
        "why": str(leaving.why),
        "elsewhere": str(leaving.elsewhere),
        "path": leaving.path,
    }


def evicted_object(evicted: EvictedSession, elsewhere: Elsewhere, path: str) -> dict[str, Any]:
    """What was evicted of a session, and whether it is still elsewhere."""
    return {
        "time_ms": evicted.time_ms,
        "lines": evicted.lines,
        "entries": evicted.entries,
        "bytes": evicted.bytes,
        "data_loss": evicted.loss,
        "elsewhere": str(elsewhere),
        "path": path,
    }


def restore_object(report: RestoreReport) -> dict[str, Any]:
    facts = report.session.facts
    told = {"session": facts.id, "entries": report.session.entries}
    return {**told, "lines": report.lines, "paths": list(report.paths)}


def evicted_text(evicted: EvictedSession, elsewhere: Elsewhere) -> str:
    """What was evicted of a session, when, and whether it can be had again."""
    what = many(evicted.lines, "line")
    if evicted.time_ms:
        when = moment(evicted.time_ms, "%Y-%m-%d %H:%M")
        what += f", {many(evicted.entries, 'entry', 'entries')} on {when}"
    return f"{what}; {_ELSEWHERE[elsewhere]}"


def swept_text(report: SweepReport) -> str:
    """What a sweep did, in one line."""
    only_here = sum(each.elsewhere in (Elsewhere.GONE, Elsewhere.CHANGED) for each in report.sessions)
    told = (
        f"{many(len(report.sessions), 'session')} evicted, {size(report.bytes_freed)} of logs freed; "
        f"the store was {size(report.file_bytes_before)} and is {size(report.file_bytes_after)}"
    )
    told += f"; {only_here:,} of them were nowhere else" if only_here else ""
    lost = report.overflow_data_loss
    return told + (f"; data loss: {many(lost, 'session')} without a digest" if lost else "")
