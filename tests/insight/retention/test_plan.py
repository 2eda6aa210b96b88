"""Which sessions a sweep evicts, against a plain model that does one thing at a time."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from recollect.insight.retention.plan import plan_sweep
from recollect.values.retention import (
    HeldSession,
    RetentionSettings,
    SessionName,
    SharedLines,
    SweepPlan,
    Why,
)

DAY = 86_400_000
NOW = 1_000 * DAY


def held(name: str, size: int = 10, age: int = 1, **told: object) -> HeldSession:
    told.setdefault("is_digested", True)
    return HeldSession(SessionName("claude", "here", name), size, NOW - age * DAY, **told)  # type: ignore[arg-type]


def gone(plan: SweepPlan) -> list[tuple[str, str]]:
    return [(each.name.id, str(each.why)) for each in plan.evict]


def swept(sessions: list[HeldSession], settings: RetentionSettings, *, can_digest: bool = True) -> SweepPlan:
    used = sum(each.bytes for each in sessions)
    return plan_sweep(sessions, settings, used_bytes=used, now_ms=NOW, can_digest=can_digest)


def test_what_is_too_old_goes_unless_somebody_wants_it() -> None:
    sessions = [
        held("old", age=46),
        held("undigested", age=46, is_digested=False),
        held("pinned", age=46, is_pinned=True),
        held("read", age=46, read_ms=NOW - DAY),
        held("new", age=44),
    ]
    plan = swept(sessions, RetentionSettings(raw_max_age_days=45))
    assert gone(plan) == [("old", "age")]
    assert (plan.used_bytes, plan.freed_bytes, plan.final_bytes) == (50, 10, 40)


def test_over_the_soft_cap_the_oldest_go_first_and_pinned_ones_last() -> None:
    sessions = [
        held("c", age=1),
        held("a", age=9, is_pinned=True),
        held("b", age=5),
        held("r", age=8, read_ms=NOW),
    ]
    order = [name for name, _ in gone(swept(sessions, RetentionSettings(raw_soft_cap_bytes=1)))]
    assert order == ["b", "c", "r", "a"]
    assert gone(swept(sessions, RetentionSettings(raw_soft_cap_bytes=30))) == [("b", "budget")]
    assert gone(swept(sessions, RetentionSettings(raw_soft_cap_bytes=40))) == []


def test_what_is_not_digested_stays_until_the_hard_cap_and_is_digested_first() -> None:
    sessions = [held("raw", size=80, age=9, is_digested=False), held("done", size=30)]
    soft = RetentionSettings(raw_soft_cap_bytes=20)
    assert gone(swept(sessions, soft)) == [("done", "budget")]
    hard = replace(soft, raw_hard_cap_bytes=40)
    first = swept(sessions, hard)
    assert gone(first) == [("done", "budget")]
    assert [each.id for each in first.digest] == ["raw"]
    assert first.is_over_hard_cap
    last = swept(sessions, hard, can_digest=False)
    assert gone(last) == [("done", "budget"), ("raw", "data_loss")]
    assert not last.digest
    assert not last.is_over_hard_cap


def test_what_cannot_be_given_back_is_said_and_not_touched() -> None:
    """Shared lines and notes are in what is used, and no session's eviction gives them back."""
    sessions = [held("all shared", size=0), held("own", size=5)]
    plan = plan_sweep(sessions, RetentionSettings(raw_hard_cap_bytes=10), used_bytes=100, now_ms=NOW)
    assert gone(plan) == [("own", "budget")]
    assert plan.final_bytes == 95
    assert plan.is_over_hard_cap


LINES = 10


def test_what_two_have_goes_with_the_last_and_is_counted_once() -> None:
    here, there = held("twin"), replace(held("twin"), name=SessionName("claude", "there", "twin"))
    twins = [replace(each, bytes=0) for each in (here, there)]
    shared = [SharedLines((here.name, there.name), 41)]
    settings = RetentionSettings(raw_soft_cap_bytes=20)
    sessions = [*twins, held("new", age=0)]
    plan = plan_sweep(sessions, settings, shared=shared, used_bytes=51, now_ms=NOW)
    assert [(each.name.host, each.bytes) for each in plan.evict] == [("here", 21), ("there", 20)]
    assert plan.final_bytes == 10
    alone = plan_sweep([twins[0], sessions[2]], settings, shared=shared, used_bytes=51, now_ms=NOW)
    assert gone(alone) == [("new", "budget")], "its lines would stay with the other"


sizes = st.integers(0, 50)
ages = st.integers(0, 60)
some_sessions = st.lists(
    st.tuples(
        st.frozensets(st.integers(0, LINES - 1), max_size=4),
        ages,
        st.booleans(),
        st.booleans(),
        st.integers(0, 30),
    ),
    max_size=12,
)
some_lines = st.lists(sizes, min_size=LINES, max_size=LINES)
limits = st.one_of(st.none(), st.integers(1, 300))


def made(told, lines):  # type: ignore[no-untyped-def]
    """Sessions by the lines they have, as the planner is told of them; and what each has."""
    holders: dict[int, list[int]] = {}
    for number, (has, *_) in enumerate(told):
        for line in has:
            holders.setdefault(line, []).append(number)
    sessions, having, together = [], {}, {}
    for number, (has, age, digested, pinned, read) in enumerate(told):
        own = sum(lines[line] for line in has if holders[line] == [number])
        session = held(
            f"s{number:02}", own, age, is_digested=digested, is_pinned=pinned, read_ms=NOW - read * DAY
        )
        sessions.append(session)
        having[session] = has
    for line, numbers in holders.items():
        if len(numbers) > 1:
            names = tuple(sessions[number].name for number in numbers)
            together[names] = together.get(names, 0) + lines[line]
    shared = [SharedLines(names, size) for names, size in together.items() if size]
    return sessions, having, shared


@given(
    some_sessions,
    some_lines,
    limits,
    limits,
    st.one_of(st.none(), st.integers(1, 60)),
    st.integers(0, 40),
    st.booleans(),
)
def test_a_sweep_is_what_a_plain_model_does(told, lines, soft, hard, days, others, can_digest) -> None:  # type: ignore[no-untyped-def]
    if soft is not None and hard is not None:
        soft, hard = min(soft, hard), max(soft, hard)
    sessions, having, shared = made(told, lines)
    settings = RetentionSettings(soft, hard, days)
    model = Model(having, lines, others)
    plan = plan_sweep(
        sessions, settings, shared=shared, used_bytes=model.used, now_ms=NOW, can_digest=can_digest
    )
    assert plan.used_bytes == model.used
    digest = model.sweep(soft, hard, days, can_digest)
    assert (gone(plan), [each.id for each in plan.digest], plan.final_bytes) == (
        model.evicted(),
        digest,
        model.used,
    )
    if not digest:
        assert {each.id for each in plan.waiting} == model.waiting(hard if soft is None else soft, days)
    assert sum(each.bytes for each in plan.evict) == plan.freed_bytes


class Model:
    """One session at a time; what is used is counted anew each time, from the lines of those that stay."""

    def __init__(self, having, lines, others) -> None:  # type: ignore[no-untyped-def]
        self.having, self.lines, self.others = having, lines, others
        self.there, self.out = list(having), []

    @property
    def used(self) -> int:
        left = {line for each in self.there for line in self.having[each]}
        return sum(self.lines[line] for line in left) + self.others

    def sweep(self, soft, hard, days, can_digest):  # type: ignore[no-untyped-def]
        soft = hard if soft is None else soft
        if days is not None:
            old = [s for s in self.there if s.is_digested and NOW - s.ended_ms > days * DAY]
            for each in sorted(old, key=lambda s: (s.ended_ms, s.name.id)):
                if not each.is_pinned and NOW - each.read_ms >= 14 * DAY:
                    self.take(each, "age")
        while soft is not None and self.used > soft and (each := self.next_of(True)) is not None:
            self.take(each, "budget")
        left = [each for each in self.having if not each.is_digested]
        if hard is not None and self.used > hard and can_digest and left:
            lasting = sorted(
                left, key=lambda s: (s.is_pinned, NOW - s.read_ms < 14 * DAY, s.ended_ms, s.name.id)
            )
            return [each.name.id for each in lasting]
        while hard is not None and self.used > hard and (each := self.next_of(False)) is not None:
            self.take(each, "data_loss")
        return []

    def take(self, session, why):  # type: ignore[no-untyped-def]
        self.there.remove(session)
        self.out.append((session, why))

    def next_of(self, digested):  # type: ignore[no-untyped-def]
        fitting = [each for each in self.there if each.is_digested == digested]
        for pinned in (False, True):
            for lately in (False, True):
                group = [
                    each
                    for each in fitting
                    if each.is_pinned == pinned and (NOW - each.read_ms < 14 * DAY) == lately
                ]
                if group:
                    return min(group, key=lambda each: (each.ended_ms, each.name.id))
        return None

    def waiting(self, soft, days):  # type: ignore[no-untyped-def]
        """Those without a digest that something would have gone for."""
        left = [each for each in self.there if not each.is_digested]
        if soft is not None and self.used > soft:
            return {each.name.id for each in left}
        wanted = {each for each in left if each.is_pinned or NOW - each.read_ms < 14 * DAY}
        old = {each for each in left if days is not None and NOW - each.ended_ms > days * DAY}
        return {each.name.id for each in old - wanted}

    def evicted(self):  # type: ignore[no-untyped-def]
        """Those of which anything went: where all of it stays with others, a session stays."""
        left = {line for each in self.there for line in self.having[each]}
        return [
            (each.name.id, why)
            for each, why in self.out
            if any(self.lines[line] for line in self.having[each] - left)
        ]


@given(some_sessions, some_lines, st.integers(1, 300))
def test_the_hard_cap_holds_once_everything_was_tried(told, lines, cap) -> None:  # type: ignore[no-untyped-def]
    sessions, having, shared = made(told, lines)
    used = Model(having, lines, 0).used
    settings = RetentionSettings(raw_hard_cap_bytes=cap)
    plan = plan_sweep(sessions, settings, shared=shared, used_bytes=used, now_ms=NOW, can_digest=False)
    assert plan.final_bytes <= cap
    lost = {name for name, why in gone(plan) if why == Why.DATA_LOSS}
    stays = {each for each in sessions if each.name.id not in {name for name, _ in gone(plan)}}
    left = {line for each in stays for line in having[each]}
    assert sum(lines[line] for line in left) == plan.final_bytes
    if lost:  # whatever digested ones still have, one that is not digested has too
        kept = {line for each in stays if not each.is_digested for line in having[each]}
        assert not any(
            lines[line] for each in stays if each.is_digested for line in having[each] if line not in kept
        )
