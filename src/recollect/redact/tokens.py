"""Secrets that are known by their own form: the tokens of many issuers.

A pattern is tried only where one of its anchors (a plain string) occurs, and reads a bounded number of
characters before it says no; what it accepts is then followed to its end, however long: half a masked
secret is a leak.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

from recollect.redact.issuers import Group, issuers

Span = tuple[int, int, str]  # from, to, kind


class Anchored(Protocol):
    """A form that begins where a plain string stands."""

    @property
    def kind(self) -> str: ...

    @property
    def head(self) -> re.Pattern[str]: ...

    @property
    def tail(self) -> re.Pattern[str]: ...

    def accepts(self, match: re.Match[str]) -> bool: ...


def token_spans(text: str, runs: str) -> Iterator[Span]:
    """Every token in a text that has a form of its own; `runs` is all of the text where one could stand.

    Each run begins after a line end, or as it does in the text. The test of the runs for any anchor at all is
    what makes this fast: there hardly ever is one.
    """
    for group in issuers():
        for hint in group.hints:
            if hint.search(runs):
                yield from _group_spans(group, text, runs)
                break


def _group_spans(group: Group, text: str, runs: str) -> Iterator[Span]:
    for rule in group.rules:
        for anchor in rule.anchors:
            if anchor in runs:
                yield from spans_at(rule, anchor, text, text)
    for each in group.searched:
        if each.anchor in runs:
            found = each.pattern.finditer(text)
            yield from ((*match.span(), each.kind) for match in found if each.accepts(match))


def spans_at(rule: Anchored, anchor: str, text: str, searched: str) -> Iterator[Span]:
    """What a rule finds at one of its anchors; `searched` is the text, in the anchor's letter case."""
    at = searched.find(anchor)
    while at >= 0:
        after = at + 1
        match = rule.head.match(text, at)
        if match is not None and rule.accepts(match):
            tail = rule.tail.match(text, match.end("secret"))
            after = tail.end() if tail else match.end("secret")
            yield match.start("secret"), after, rule.kind
        at = searched.find(anchor, after)
