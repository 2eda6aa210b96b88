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

    Each run begins after a line end. The test of the runs for any anchor at all is
    what makes this fast: there hardly ever is one.
    """
    for group in issuers():
        for hint in group.hints:
            if hint.search(runs):
                yield from _group_spans(group, text, runs)
                break


def _group_spans(group: Group, text: str, runs: str) -> Iterator[Span]:
    anchors = group.anchors_in(runs)
    for rule in group.rules:
        for anchor in rule.anchors:
            if anchor in anchors:
                yield from spans_at(rule, anchor, text)
    for each in group.searched:
        if each.anchor in anchors or (len(each.anchor) == 1 and not each.follows):
            found = each.pattern.finditer(text)
            yield from ((*match.span(), each.kind) for match in found if each.accepts(match))


def spans_at(rule: Anchored, anchor: str, text: str) -> Iterator[Span]:
    """What a rule finds at one of its anchors."""
    at = text.find(anchor)
    while at >= 0:
        span = span_at(rule, text, at)
        if span:
            yield span
        at = text.find(anchor, span[1] if span else at + 1)


def span_at(rule: Anchored, text: str, at: int) -> Span | None:
    match = rule.head.match(text, at)
    if match is None or not rule.accepts(match):
        return None
    tail = rule.tail.match(text, match.end("secret"))
    return match.start("secret"), tail.end() if tail else match.end("secret"), rule.kind
