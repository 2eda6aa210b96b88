"""The digest of a session: all that is told of it, from its entries in order, in linear time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from recollect.insight.digest.changes import changed_files
from recollect.insight.digest.checks import UNKNOWN, result_of, test_parts
from recollect.insight.digest.commits import commits, pull_requests
from recollect.insight.digest.dangers import dangers
from recollect.insight.digest.endings import ending
from recollect.insight.digest.patterns import patterns_of
from recollect.insight.digest.points import decisions, interventions, open_points
from recollect.insight.digest.scope import branches, pictures
from recollect.insight.digest.steps import Exchange, Step, exchanges
from recollect.insight.digest.thrash import thrash
from recollect.insight.digest.title import title_of
from recollect.insight.digest.troubles import errors_of
from recollect.insight.plans import plans
from recollect.insight.preferences import gist
from recollect.values.digests import IDLE_MS, PATTERNS, Checks, Digest, Statement
from recollect.values.records import Kind, Relation, SessionFacts
from recollect.values.stored import StoredEntry

ASKED_MAX = 12
COMMANDS_MAX = 12
REPORT_CHARS = 300
_TEXT_CHARS = 240


def digest_of(
    entries: Sequence[StoredEntry], facts: SessionFacts, made: Sequence[Exchange] | None = None
) -> Digest:
    """What happened in a session whose entries these are; paths are told relative to its folder.

    `made` are their exchanges, where somebody knows them already.
    """
    made = exchanges(entries) if made is None else made
    steps = [step for each in made for step in each.steps]
    tests = tests_of(steps)
    errors, retries = errors_of(steps)
    ended = ending(made)
    active_ms, idle_ms = times(each.entry.time_ms for each in entries)
    files, made_commits = changed_files(steps, facts.cwd), commits(steps)
    classes = Counter(pattern.name for each in made for pattern in patterns_of(each, facts.cwd))
    return Digest(
        title=title_of(facts, made, made_commits, files),
        asked=tuple(_asked(made)),
        ending=ended,
        report=_report(made),
        files=tuple(files),
        commands=tuple(_commands(steps)),
        tests=tests,
        commits=tuple(made_commits),
        pull_requests=tuple(pull_requests(steps)),
        plans=tuple(plans(made)),
        decisions=() if facts.relation == Relation.SUBAGENT else tuple(decisions(made)),
        errors=tuple(errors),
        open=tuple(open_points(made, ended, tests, errors)),
        dangers=tuple(dangers(made)),
        thrash=tuple(thrash(made)),
        branches=tuple(branches(steps)),
        pictures=tuple(pictures(entries, steps)),
        patterns=tuple((name, classes[name]) for name in PATTERNS if classes[name]),
        tools=tuple(Counter(step.call.entry.tool for step in steps).most_common()),
        active_ms=active_ms,
        idle_ms=idle_ms,
        retries=retries,
        interventions=interventions(made),
        screenshots=sum(each.entry.kind == Kind.IMAGE for each in entries),
    )


def tests_of(steps: Iterable[Step]) -> Checks:
    """The runs of tests among some steps."""
    runs, last, entry = 0, "", ""
    for step in steps:
        if step.is_ended and not step.is_refused and test_parts(step):
            runs += 1
            result = result_of(step)
            if result != UNKNOWN or not last:
                last, entry = result, step.results[-1].id
    return Checks(runs, last, entry)


def times(moments: Iterable[int]) -> tuple[int, int]:
    """How long it was worked, and how long not: the sums of the short and of the long pauses."""
    known = sorted(moment for moment in moments if moment)
    pauses = [after - before for before, after in pairwise(known)]
    active = sum(pause for pause in pauses if pause <= IDLE_MS)
    return active, sum(pauses) - active


def _asked(made: Sequence[Exchange]) -> list[Statement]:
    said = [each.prompt for each in made if each.prompt is not None and not each.is_command]
    kept = said[:1] + said[1:][-(ASKED_MAX - 1) :]
    return [
        Statement(" ".join(each.entry.text[: _TEXT_CHARS * 2].split())[:_TEXT_CHARS], each.id)
        for each in kept
    ]


def _report(made: Sequence[Exchange]) -> Statement | None:
    """How the last answer of a session begins."""
    said = next((each.said[-1] for each in reversed(made) if each.said), None)
    text = gist(said.entry.text, REPORT_CHARS) if said else ""
    return Statement(text[: 2 * REPORT_CHARS], said.id) if said and text else None


def _commands(steps: Sequence[Step]) -> list[Statement]:
    """The last commands that did something, each once."""
    found: dict[str, Statement] = {}
    for step in reversed(steps):
        if len(found) >= COMMANDS_MAX:
            break
        if step.command and not step.is_refused and not step.only_reads:
            line = " ".join(step.command[: _TEXT_CHARS * 2].split())[:_TEXT_CHARS]
            found.setdefault(line, Statement(line, step.call.id))
    return list(found.values())[::-1]
