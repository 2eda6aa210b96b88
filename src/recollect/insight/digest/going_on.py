"""The digest of a session whose beginning was evicted: what was told of that, and what came since.

Statements of the digest that was kept stay as they were made; their entries are gone, so that nobody can
judge them again. Counts add up. How it ended is told by the new part, where that tells anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from recollect.values.digests import PATTERNS, Changed, Checks, Digest, Outcome, Statement, Trouble

Counts = tuple[tuple[str, int], ...]


def joined(before: Digest, since: Digest) -> Digest:
    """One digest of both parts."""
    goes_on = bool(since.asked or since.tools)
    told_end = goes_on and (since.ending.outcome != Outcome.UNKNOWN or bool(since.ending.entry))
    classes = dict(_added(before.patterns, since.patterns))
    return Digest(
        title=before.title or since.title,
        asked=_each_once(before.asked, since.asked),
        ending=since.ending if told_end else before.ending,
        report=since.report or before.report,
        files=_files((*before.files, *since.files)),
        commands=_each_once(before.commands, since.commands),
        tests=_checks(before.tests, since.tests),
        commits=tuple(dict.fromkeys((*before.commits, *since.commits))),
        pull_requests=_each_once(before.pull_requests, since.pull_requests),
        plans=_each_once(before.plans, since.plans),
        decisions=_each_once(before.decisions, since.decisions),
        errors=_troubles((*before.errors, *since.errors)),
        open=_each_once(before.open, since.open),
        dangers=tuple(dict.fromkeys((*before.dangers, *since.dangers))),
        patterns=tuple((name, classes[name]) for name in PATTERNS if name in classes),
        tools=_added(before.tools, since.tools),
        active_ms=before.active_ms + since.active_ms,
        idle_ms=before.idle_ms + since.idle_ms,
        retries=before.retries + since.retries,
        interventions=before.interventions + since.interventions,
        screenshots=before.screenshots + since.screenshots,
    )


def _each_once(before: Sequence[Statement], since: Sequence[Statement]) -> tuple[Statement, ...]:
    """What says the same is told once, by its last entry."""
    found = {each.text: each for each in before}
    for each in since:
        found.pop(each.text, None)
        found[each.text] = each
    return tuple(found.values())


def _files(changes: Iterable[Changed]) -> tuple[Changed, ...]:
    found: dict[str, Changed] = {}
    for each in changes:
        known = found.get(each.path)
        if known is not None:
            each = replace(each, added=known.added + each.added, removed=known.removed + each.removed)
        found[each.path] = each
    return tuple(found.values())


def _troubles(met: Iterable[Trouble]) -> tuple[Trouble, ...]:
    found: dict[str, Trouble] = {}
    for each in met:
        known = found.get(each.text)
        if known is not None:
            each = replace(each, times=known.times + each.times)
        found[each.text] = each
    return tuple(sorted(found.values(), key=lambda each: bool(each.solved)))


def _checks(before: Checks, since: Checks) -> Checks:
    last = since if since.runs else before
    return replace(last, runs=before.runs + since.runs)


def _added(before: Counts, since: Counts) -> Counts:
    return tuple(Counter(dict(before) | {n: c + dict(before).get(n, 0) for n, c in since}).most_common())
