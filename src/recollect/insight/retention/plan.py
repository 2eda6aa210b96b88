"""Which sessions a sweep evicts, and in which order: pure, from plain values.

1. What is older than the age limit and digested goes, unless it is pinned or was read lately.
2. While more than the soft cap is used, the oldest digested ones go: those that were read lately after the
   others, pinned ones last of all. What is not digested stays.
3. If that is still more than the hard cap, what is left is to be digested first, and all is planned again.
4. If that was tried, the oldest of what is not digested goes until the hard cap holds: that is a loss.

Lines that several sessions have (a fork, the same log on two machines) go with the last of these. A session
whose going would give nothing back stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recollect.values.retention import (
    READ_DAYS,
    Eviction,
    HeldSession,
    RetentionSettings,
    SessionName,
    SharedLines,
    SweepPlan,
    Why,
)

_DAY_MS = 86_400_000


def plan_sweep(
    held: Sequence[HeldSession],
    settings: RetentionSettings,
    *,
    shared: Sequence[SharedLines] = (),
    used_bytes: int,
    now_ms: int,
    can_digest: bool = True,
) -> SweepPlan:
    """What a sweep does; `can_digest`: nobody tried yet to digest what is not.

    `used_bytes` is all that is kept word for word, what several sessions share and what no session has
    included.
    """
    order = sorted(held, key=lambda each: _rank(each, now_ms))
    sweep = _Sweep(used_bytes, shared)
    digested = [each for each in order if each.is_digested]
    left = [each for each in order if not each.is_digested]
    old = {each for each in order if _is_too_old(each, settings, now_ms)}
    sweep.evict((each for each in digested if each in old), Why.AGE)
    sweep.evict(digested, Why.BUDGET, down_to=settings.soft_bytes)
    hard = settings.raw_hard_cap_bytes
    over = hard is not None and sweep.left_bytes > hard
    if over and can_digest and left:
        return sweep.plan(digest=left, over=over)
    if over:
        sweep.evict(left, Why.DATA_LOSS, down_to=hard)
    soft = settings.soft_bytes
    is_over_soft = soft is not None and sweep.left_bytes > soft
    waiting = [each for each in left if is_over_soft or each in old]
    return sweep.plan(digest=(), over=hard is not None and sweep.left_bytes > hard, waiting=waiting)


class _Sweep:
    """What was chosen so far, and what is left then."""

    def __init__(self, used_bytes: int, shared: Sequence[SharedLines]) -> None:
        self._used = self.left_bytes = used_bytes
        self._chosen: dict[HeldSession, Why] = {}
        self._shared: dict[SessionName, list[_Shared]] = {}
        for each in map(_Shared, shared):
            for name in each.lines.names:
                self._shared.setdefault(name, []).append(each)

    def evict(self, order: Iterable[HeldSession], why: Why, *, down_to: int | None = -1) -> None:
        """Choose in this order while more is left than the bound; by default all of them, None for none."""
        for each in order:
            if down_to is None or self.left_bytes <= down_to:
                return
            if each not in self._chosen:
                self._chosen[each] = why
                self.left_bytes -= each.bytes + sum(one.leave() for one in self._of(each))

    def plan(
        self, *, digest: Iterable[HeldSession], over: bool, waiting: Iterable[HeldSession] = ()
    ) -> SweepPlan:
        evict = tuple(
            Eviction(each.name, why, each.bytes + sum(one.part(each.name) for one in self._gone(each)))
            for each, why in self._chosen.items()
            if each.bytes or self._gone(each)
        )
        return SweepPlan(
            evict,
            tuple(each.name for each in digest),
            self._used,
            self.left_bytes,
            over,
            tuple(each.name for each in waiting if each not in self._chosen),
        )

    def _of(self, session: HeldSession) -> list[_Shared]:
        return self._shared.get(session.name, [])

    def _gone(self, session: HeldSession) -> list[_Shared]:
        """What goes of a session's lines with the others that have them."""
        return [one for one in self._of(session) if not one.staying]


class _Shared:
    """Lines of several sessions, and how many of these stay."""

    def __init__(self, lines: SharedLines) -> None:
        self.lines, self.staying = lines, len(lines.names)

    def leave(self) -> int:
        """Let one of them go; how many bytes go with it."""
        self.staying -= 1
        return 0 if self.staying else self.lines.bytes

    def part(self, name: SessionName) -> int:
        """What counts as one session's when all have gone: an equal part."""
        each, over = divmod(self.lines.bytes, len(self.lines.names))
        return each + (self.lines.names.index(name) < over)


def _rank(session: HeldSession, now_ms: int) -> tuple[bool, bool, int, tuple[str, ...]]:
    """What goes first: neither pinned nor lately read, then the oldest."""
    return session.is_pinned, _is_read_lately(session, now_ms), session.ended_ms, tuple(session.name)


def _is_read_lately(session: HeldSession, now_ms: int) -> bool:
    return session.read_ms > now_ms - READ_DAYS * _DAY_MS


def _is_too_old(session: HeldSession, settings: RetentionSettings, now_ms: int) -> bool:
    """Whether its age alone lets a session go, once it is digested."""
    if settings.raw_max_age_days is None or session.is_pinned or _is_read_lately(session, now_ms):
        return False
    return session.ended_ms < now_ms - settings.raw_max_age_days * _DAY_MS
