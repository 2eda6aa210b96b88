"""What was done in some days: as a JSON object, and in words."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from recollect.present.sessions import session_object
from recollect.values.text import dollars, duration, many

if TYPE_CHECKING:
    from recollect.values.days import Activity, DangerMet, Period, ProjectWork, Work


def period_object(period: Period) -> dict[str, Any]:
    return {
        "first": period.first,
        "last": period.last,
        "last_day": period.last_day,
        "active_ms": period.active_ms,
        "cost_microdollars": period.cost_microdollars,
        "unpriced": period.unpriced,
        "projects": [_project(each) for each in period.projects],
    }


def _project(project: ProjectWork) -> dict[str, Any]:
    lists = {
        name: [asdict(each) for each in getattr(project, name)]
        for name in ("commits", "pull_requests", "decided", "open")
    }
    return {
        "project": project.project,
        "subagents": project.subagents,
        "active_ms": project.active_ms,
        "cost_microdollars": project.cost_microdollars,
        "unpriced": project.unpriced,
        "test_runs": project.test_runs,
        **lists,
        "sessions": [_work(each) for each in project.works],
    }


def _work(work: Work) -> dict[str, Any]:
    return {
        "session": session_object(work.session),
        "title": work.title,
        "outcome": str(work.outcome),
        "goes_on": work.goes_on,
        "active_ms": work.active_ms,
        "files": work.files,
        "tests": asdict(work.tests),
        "commits": [asdict(each) for each in work.commits],
    }


def activity_object(found: Activity) -> dict[str, Any]:
    return {
        "first": found.first,
        "last": found.last,
        "days": [{"day": day, "entries": entries} for day, entries in found.days],
        "chronicle": [
            {
                "day": each.day,
                "entries": each.entries,
                "sessions": each.sessions,
                "projects": list(each.projects),
                "works": [{"session": session_object(one), "title": title} for one, title in each.works],
            }
            for each in found.chronicle
        ],
    }


def danger_object(met: DangerMet) -> dict[str, Any]:
    told = {"session": session_object(met.session), "title": met.title, "time_ms": met.time_ms or None}
    return {**asdict(met.danger), **told}


def effort_of(project: ProjectWork) -> str:
    """How long, for how much, and what came of it, in a line."""
    counted = (
        (len(project.works), "session"),
        (project.subagents, "subagent"),
        (len(project.commits), "commit"),
        (project.test_runs, "test run"),
        (len(project.pull_requests), "pull request"),
    )
    told = (many(count, noun) for count, noun in counted if count)
    return ", ".join((spent(project), *told))


def spent(work: ProjectWork | Period) -> str:
    """How long it was worked, and what that cost; nothing of a cost that is not known."""
    active = duration(work.active_ms / 1000) if work.active_ms >= 1000 else "a moment"
    if work.cost_microdollars is None:
        return f"{active}, cost unknown" if work.unpriced else active
    return f"{active}, {dollars(work.cost_microdollars)}" + (" + unknown" if work.unpriced else "")
