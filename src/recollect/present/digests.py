"""A session's digest as a JSON object, and as statements for a person, each with its entry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from recollect.present.sessions import session_object
from recollect.present.usage import usage_amounts, usage_object
from recollect.values.digests import Outcome, Statement
from recollect.values.text import many
from recollect.values.titles import TITLE_AGENT, UNTITLED, telling

if TYPE_CHECKING:
    from recollect.values.digests import Commit, Digest, DigestHit, Heading
    from recollect.values.history import Thread
    from recollect.values.stored import Session
    from recollect.values.usage import SessionUsage

Told = tuple[str, str, str]  # what, text and entry of a statement

_MINUTE = 60_000
_PATTERNS_SHOWN = 4
# How many of each are shown, of the first and of the last.
_SHOWN = {
    "asked": (1, 2),
    "plan": (0, 1),
    "changed": (5, 0),
    "ran": (0, 3),
    "tests": (1, 0),
    "commit": (0, 4),
    "opened": (0, 2),
    "decided": (0, 4),
    "errors": (4, 0),
    "danger": (2, 0),
    "again": (1, 0),
    "open": (4, 0),
}
_SHOWN_AS = {"solved": "errors", "unsolved": "errors"}  # they share their room


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


def shown_title(session: Session, heading: Heading | None) -> str:
    """What a session is called in lists: as a person or its agent called it, else as its digest does."""
    facts = session.facts
    if heading is None or (facts.title_rank >= TITLE_AGENT and telling(facts.title)):
        return facts.headline or UNTITLED
    return heading.title or facts.headline or UNTITLED


def thread_heading(thread: Thread, headings: Mapping[str, Heading]) -> Heading | None:
    """What a thread came to and is called in lists: by the last session of which something can be said.

    A client is often opened once more and left.
    """
    ordered = sorted(thread.sessions, key=lambda each: (each.facts.ended_ms, each.facts.id), reverse=True)
    told = [(each, headings[each.facts.id]) for each in ordered if each.facts.id in headings]
    session, heading = next(
        (each for each in told if each[1].outcome != Outcome.UNKNOWN), next(iter(told), (None, None))
    )
    if session is None or heading is None:
        return None
    return replace(heading, title=shown_title(session, heading))


def heading_object(heading: Heading | None) -> dict[str, str] | None:
    return None if heading is None else {"title": heading.title, "outcome": str(heading.outcome)}


def digest_hit_object(hit: DigestHit, terms: Sequence[str]) -> dict[str, Any]:
    """A conversation that was found by its digest, with the statements that have words of the question."""
    told = words_told(hit.digest, terms)
    return {
        "session": session_object(hit.session),
        "title": hit.digest.title,
        "outcome": str(hit.digest.ending.outcome),
        "score": round(hit.score, 4),
        "statements": [{"what": what, "text": text, "entry": entry} for what, text, entry in told],
    }


def undigested_note(count: int) -> str:
    return (
        f"{many(count, 'conversation')} without a digest yet; `recollect index` makes them" if count else ""
    )


def words_told(digest: Digest, terms: Sequence[str]) -> list[Told]:
    """The statements with words of a question, those with most of them first."""
    counted = [(sum(term in each[1].casefold() for term in terms), each) for each in _statements(digest)]
    return [each for count, each in sorted(counted, key=lambda pair: -pair[0]) if count]


def digest_statements(digest: Digest) -> Iterator[Told]:
    """Each statement that is shown: at most 34, which leaves six lines of forty for the head."""
    kept: dict[str, list[Told]] = {}
    for each in _statements(digest):
        kept.setdefault(_SHOWN_AS.get(each[0], each[0]), []).append(each)
    for what, told in kept.items():
        first, last = _SHOWN[what]
        yield from told if len(told) <= first + last else (*told[:first], *told[len(told) - last :])
        if what == "changed" and len(told) > first:
            yield what, f"and {many(len(told) - first, 'more file')}", told[-1][2]


def commit_statements(commits: Sequence[Commit]) -> Iterator[Statement]:
    """Each commit in a line, in order, behind one line for those of which nothing is known."""
    bare = [commit for commit in commits if not (commit.hash or commit.subject)]
    if bare:
        yield Statement(f"{many(len(bare), 'commit')} of which no output is there", bare[-1].entry)
    for commit in commits:
        if commit.hash or commit.subject:
            yield Statement(f"{commit.hash[:10]} {commit.subject}".strip(), commit.entry)


def _statements(digest: Digest) -> Iterator[Told]:
    """All that a digest states."""
    yield from _named("asked", digest.asked)
    yield from _named("plan", digest.plans)
    for each in digest.files:
        lines = "".join(
            f" {sign}{count}" for sign, count in (("+", each.added), ("-", each.removed)) if count
        )
        yield "changed", f"{each.path}{lines}", each.entry
    yield from _named("ran", digest.commands)
    if digest.tests.runs:
        told = f"{many(digest.tests.runs, 'run')}, the last one {digest.tests.last}"
        yield "tests", told, digest.tests.entry
    yield from _named("commit", commit_statements(digest.commits))
    yield from _named("opened", digest.pull_requests)
    yield from _named("decided", digest.decisions)
    for trouble in digest.errors:
        times = f" ({trouble.times} times)" if trouble.times > 1 else ""
        yield ("solved" if trouble.solved else "unsolved"), f"{trouble.text}{times}", trouble.entry
    for danger in digest.dangers:
        yield "danger", f"{danger.kind}, {danger.came_of_it}: {danger.command}".rstrip(": "), danger.entry
    for thrash in digest.thrash:
        yield "again", f"{thrash.kind}, {thrash.times} times: {thrash.text}", thrash.entry
    yield from _named("open", digest.open)


def effort_text(digest: Digest) -> str:
    """How long it took, and what of whom, in a line."""
    parts = [f"{_duration(digest.active_ms)} active"]
    parts += [f"{_duration(digest.idle_ms)} idle"] if digest.idle_ms >= _MINUTE else []
    counted = (
        (sum(count for _, count in digest.tools), "call", "calls"),
        (digest.retries, "retry", "retries"),
        (digest.interventions, "intervention", "interventions"),
        (digest.screenshots, "screenshot", "screenshots"),
    )
    return ", ".join([*parts, *(many(*each) for each in counted if each[0])])


def _duration(ms: int) -> str:
    """`49 min`, `16h05`."""
    hours, minutes = divmod(round(ms / _MINUTE), 60)
    return f"{hours:,}h{minutes:02}" if hours else f"{minutes} min"


def usage_text(usage: SessionUsage) -> str:
    """Tokens and cost, those of subagents apart; "" where the log tells of none."""
    own = usage_amounts(usage.own) if usage.own.responses else ""
    inside = f"{many(usage.subagents, 'subagent')}: {usage_amounts(usage.inside)}"
    return "; ".join(filter(None, (own, inside if usage.inside.responses else "")))


def pattern_text(digest: Digest) -> str:
    """What most of the session's exchanges were, the most frequent first."""
    ranked = sorted(digest.patterns, key=lambda each: -each[1])[:_PATTERNS_SHOWN]
    return ", ".join(f"{name} {count}" if count > 1 else name for name, count in ranked)


def _named(what: str, statements: Iterable[Statement]) -> Iterator[Told]:
    return ((what, each.text, each.entry) for each in statements)
