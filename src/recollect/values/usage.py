"""Tokens and what they cost, by group and by response."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UsageFilter:
    """Which responses count: those from `since_ms` on and before `until_ms`, 0 for any time; of projects,
    labels and models whose name contains these words, in any case; of exactly this agent.
    """

    since_ms: int = 0
    until_ms: int = 0
    project: str = ""
    model: str = ""
    agent: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class UsageRow:
    """One group's responses, each token in exactly one of the five kinds; `reasoning` is part of `output`.

    `groups` are its names, one for each grouping; `group` is all of them as one.
    `cost_microdollars` covers the priced responses only, and is None when there is none
    among them. `unpriced_responses` says how many it leaves out, `unpriced_models` whose.
    """

    group: str
    responses: int
    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    reasoning: int
    cost_microdollars: int | None
    unpriced_responses: int
    unpriced_models: tuple[str, ...]
    groups: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write_5m + self.cache_write_1h


@dataclass(frozen=True, slots=True)
class UsageReport:
    """`rows` add up to `total`; asked for no grouping, `total` is the only row.

    `prices_as_of` is the date of the price table, as YYYY-MM-DD.
    """

    by: str
    rows: list[UsageRow]
    total: UsageRow
    prices_as_of: str


@dataclass(frozen=True, slots=True)
class SessionUsage:
    """What a session took, as a report by session has it, and what its `subagents` took together."""

    own: UsageRow
    inside: UsageRow
    subagents: int


@dataclass(frozen=True, slots=True)
class UsageLine:
    """One response and the line of the log its numbers are from."""

    time_ms: int
    model: str
    session: str
    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    reasoning: int
    cost_microdollars: int | None
    path: str
    line_number: int
