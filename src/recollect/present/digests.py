"""A session's digest as a JSON object, and as statements for a person, each with its entry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from recollect.present.sessions import session_object
from recollect.present.usage import usage_amounts, usage_object
from recollect.values.text import many

if TYPE_CHECKING:
    from recollect.values.digests import Digest, Heading, Statement
    from recollect.values.stored import Session
    from recollect.values.usage import SessionUsage

_MINUTE = 60_000


def digest_object(session: Session, digest: Digest, usage: SessionUsage) -> dict[str, Any]:
    """All of a digest; `patterns` and `tools` are names with counts, cost is by the present prices."""
    told = asdict(digest)
    ending = told.pop("ending")
    counts = {
        field: [{"name": name, "count": count} for name, count in told.pop(field)]
        for field in ("patterns", "tools")
    }
    return {
        "session": session_object(session),
        "title": told.pop("title"),
        "outcome": str(ending["outcome"]),
        "why": ending["why"],
        "entry": ending["entry"],
        **told,
        **counts,
        "usage": usage_object(usage.own),
        "subagents": usage.subagents,
        "subagents_usage": usage_object(usage.inside),
    }


def heading_object(heading: Heading | None) -> dict[str, str] | None:
    return None if heading is None else {"title": heading.title, "outcome": str(heading.outcome)}


def digest_statements(digest: Digest) -> Iterator[tuple[str, str, str]]:
    """What, text and entry of each statement that is shown: at most 35."""
    yield from _named("asked", _ends(digest.asked, 3))
    for each in digest.files[:6]:
        lines = "".join(
            f" {sign}{count}" for sign, count in (("+", each.added), ("-", each.removed)) if count
        )
        yield "changed", f"{each.path}{lines}", each.entry
    if len(digest.files) > 6:
        yield "changed", f"and {many(len(digest.files) - 6, 'more file')}", digest.files[-1].entry
    yield from _named("ran", digest.commands[-3:])
    if digest.tests.runs:
        yield (
            "tests",
            f"{many(digest.tests.runs, 'run')}, the last one {digest.tests.last}",
            digest.tests.entry,
        )
    for commit in digest.commits[-4:]:
        yield "commit", f"{commit.hash[:10]} {commit.subject}".strip() or "(without output)", commit.entry
    yield from _named("opened", digest.pull_requests[-2:])
    yield from _named("decided", digest.decisions[-4:])
    for trouble in digest.errors[:4]:
        times = f" ({trouble.times} times)" if trouble.times > 1 else ""
        yield ("solved" if trouble.solved else "unsolved"), f"{trouble.text}{times}", trouble.entry
    for danger in digest.dangers[:3]:
        yield "danger", f"{danger.kind}, {danger.came_of_it}: {danger.command}".rstrip(": "), danger.entry
    yield from _named("open", digest.open[:4])


def effort_text(digest: Digest) -> str:
    """How long it took, and what of whom, in a line."""
    parts = [f"{round(digest.active_ms / _MINUTE)} min active"]
    parts += [f"{round(digest.idle_ms / _MINUTE)} min idle"] if digest.idle_ms >= _MINUTE else []
    counted = (
        (sum(count for _, count in digest.tools), "call", "calls"),
        (digest.retries, "retry", "retries"),
        (digest.interventions, "intervention", "interventions"),
        (digest.screenshots, "screenshot", "screenshots"),
    )
    return ", ".join([*parts, *(many(*each) for each in counted if each[0])])


def usage_text(usage: SessionUsage) -> str:
    """Tokens and cost, those of subagents apart; "" where the log tells of none."""
    own = usage_amounts(usage.own) if usage.own.responses else ""
    inside = f"{many(usage.subagents, 'subagent')}: {usage_amounts(usage.inside)}"
    return "; ".join(filter(None, (own, inside if usage.inside.responses else "")))


def pattern_text(digest: Digest) -> str:
    """What the session's exchanges were, the most frequent first."""
    ranked = sorted(digest.patterns, key=lambda each: -each[1])
    return ", ".join(f"{name} {count}" if count > 1 else name for name, count in ranked)


def _named(what: str, statements: tuple[Statement, ...]) -> Iterator[tuple[str, str, str]]:
    return ((what, each.text, each.entry) for each in statements)


def _ends(statements: tuple[Statement, ...], count: int) -> tuple[Statement, ...]:
    """The first of them and the last ones."""
    return statements if len(statements) <= count else (statements[0], *statements[-(count - 1) :])
