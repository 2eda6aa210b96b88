"""What is said more than once, as every engine takes it: a response's usage, a session's facts.

Logs repeat themselves, and a later line may know more than an earlier one. Which of two counts must
not depend on the engine, so it is decided here.
"""

from __future__ import annotations

from dataclasses import fields
from typing import NamedTuple

from recollect.values.records import SessionFacts, Usage

# Output first: it decides which of two records of one response is the larger.
TOKENS = ("output", "input", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning")

# What of a session's facts a newer one simply replaces.
FACT_NAMES = ("project", "cwd", "branch", "slug", "model", "version", "parent", "root")

_COUNT_MAX = 0xFFFFFFFF


class ChargedUsage(NamedTuple):
    """One response's tokens, where they are from, and who is charged for them.

    `tokens` begins with the output: of several records of one response the one with the
    largest output counts, whatever order they come in.
    """

    tokens: tuple[int, ...]
    model: str
    time_ms: int
    line: int
    owner: int

    @classmethod
    def of(cls, usage: Usage, line: int, owner: int) -> ChargedUsage:
        tokens: tuple[int, ...] = (
            usage.output,
            usage.input,
            usage.cache_read,
            usage.cache_write_5m,
            usage.cache_write_1h,
            usage.reasoning,
        )
        if max(tokens) > _COUNT_MAX:  # more than any model was ever sent: a slip in the log
            tokens = tuple(min(count, _COUNT_MAX) for count in tokens)
        return cls(tokens, usage.model, usage.time_ms, line, owner)

    def against(self, held: ChargedUsage | None) -> ChargedUsage:
        """The larger of two; whoever was first stays charged for it."""
        if held is None:
            return self
        return held if held.tokens >= self.tokens else self._replace(owner=held.owner)


def merge_facts(
    held: SessionFacts, new: SessionFacts, *, imported: bool = False, has_own: bool = True
) -> bool:
    """Let newer facts replace older ones, never by an empty one; True when the title changed.

    `imported`: the newer ones are from an imported source; `has_own`: some of the older are not. An imported
    log may claim any session's id, so the two never mix: own facts stay, and take the place of all others.
    """
    if imported and has_own:
        return False
    before = held.title
    if not imported and not has_own:
        _blank(held)
    for name in FACT_NAMES:
        if getattr(new, name):
            setattr(held, name, getattr(new, name))
    if new.relation:
        held.relation = new.relation
    held.saw(new.started_ms)
    held.saw(new.ended_ms)
    held.titled(new.title, new.title_rank)
    return held.title != before


def _blank(held: SessionFacts) -> None:
    """Forget all but what the session is called."""
    blank = SessionFacts(held.agent, held.id)
    for each in fields(SessionFacts):
        setattr(held, each.name, getattr(blank, each.name))
