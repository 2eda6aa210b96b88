"""What an ingest did and how the logs on disk stand, as JSON objects and as sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.values.text import one_line

if TYPE_CHECKING:
    from recollect.values.reports import MergeReport, Report, Standing


def report_object(report: Report) -> dict[str, Any]:
    return {
        "sources": report.sources,
        "unchanged": report.unchanged,
        "changed": report.changed,
        "restarted": report.restarted,
        "bytes_source": report.bytes_source,
        "bytes_parsed": report.bytes_parsed,
        "lines": report.lines,
        "taken": report.taken,
        "duplicate": report.duplicate,
        "bad": report.bad,
        "blank": report.blank,
        "waiting": report.waiting,
        "entries": report.entries,
        "lenient": report.lenient,
        "bad_reasons": dict(report.bad_reasons),
        "bad_places": list(report.bad_places),
        "unknown_types": dict(report.unknown_types),
        "failed": dict(report.failed),
        "skipped": dict(report.skipped),
    }


def merge_object(report: MergeReport) -> dict[str, Any]:
    return {
        "sources": report.sources,
        "grown": report.grown,
        "versioned": report.versioned,
        "marked": report.marked,
        "apart": report.apart,
        "lines": report.lines,
        "sessions_before": report.sessions_before,
        "sessions_after": report.sessions_after,
        "entries_before": report.entries_before,
        "entries_after": report.entries_after,
        "unknown_types": dict(report.unknown_types),
    }


def standing_object(risk: Standing) -> dict[str, Any]:
    oldest = risk.oldest
    return {
        "cleanup_days": risk.cleanup_days,
        "oldest": oldest
        and {
            "path": oldest.path,
            "session": oldest.session,
            "modified_ms": oldest.modified_ms,
            "days_left": oldest.days_left,
        },
        "soon_sessions": risk.soon,
        "gone_sessions": risk.gone,
        "changed_sources": risk.changed,
    }


def lines_text(report: Report) -> str:
    parts = [
        (report.taken, "new"),
        (report.duplicate, "duplicate"),
        (report.bad, "bad"),
        (report.blank, "blank"),
        (report.waiting, "waiting for their end"),
    ]
    told = " + ".join(f"{count:,} {word}" for count, word in parts if count)
    return f"{report.lines:,}" + (f" = {told}" if told else "")


def counted_text(counts: dict[str, int]) -> str:
    """Names and counts, the most frequent first."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    told = [f"{one_line(name, 60) or '(no name)'} ({count:,})" for name, count in ranked[:NAMED_MAX]]
    return ", ".join(told + ([f"and {len(ranked) - NAMED_MAX} more"] if len(ranked) > NAMED_MAX else []))


NAMED_MAX = 8  # places, files and types spelled out; the rest is a count
