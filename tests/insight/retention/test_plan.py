"""Which sessions a sweep evicts, against a plain model that does one thing at a time."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from recollect.insight.retention.plan import plan_sweep
from recollect.values.retention import HeldSession, RetentionSettings, SessionName, SweepPlan, Why

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


sizes = st.integers(0, 50)
ages = st.integers(0, 60)
some_sessions = st.lists(
    st.tuples(sizes, ages, st.booleans(), st.booleans(), st.integers(0, 30)), max_size=12
)
limits = st.one_of(st.none(), st.integers(1, 300))


@given(
    some_sessions, limits, limits, st.one_of(st.none(), st.integers(1, 60)), st.integers(0, 40), st.booleans()
)
def test_a_sweep_is_what_a_plain_model_does(told, soft, hard, days, others, can_digest) -> None:  # type: ignore[no-untyped-def]
    if soft is not None and hard is not None:
        soft, hard = min(soft, hard), max(soft, hard)
    sessions = [
        held(f"s{n:02}", size, age, is_digested=digested, is_pinned=pinned, read_ms=NOW - read * DAY)
        for n, (size, age, digested, pinned, read) in enumerate(told)
    ]
    settings = RetentionSettings(soft, hard, days)
    used = sum(each.bytes for each in sessions) + others
    plan = plan_sweep(sessions, settings, used_bytes=used, now_ms=NOW, can_digest=can_digest)
    assert (gone(plan), [each.id for each in plan.digest], plan.final_bytes) == model(
        sessions, soft, hard, days, used, can_digest
    )


def model(sessions, soft, hard, days, used, can_digest):  # type: ignore[no-untyped-def]
    """One session at a time, each time looking at everything that is left."""
    soft = hard if soft is None else soft
    there, out = list(sessions), []

    def take(session: HeldSession, why: str) -> None:
        nonlocal used
        there.remove(session)
        out.append((session.name.id, why))
        used -= session.bytes

    def next_of(digested: bool) -> HeldSession | None:
        fitting = [each for each in there if each.is_digested == digested and each.bytes]
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

    if days is not None:
        old = [s for s in sessions if s.is_digested and s.bytes and NOW - s.ended_ms > days * DAY]
        for each in sorted(old, key=lambda s: (s.ended_ms, s.name.id)):
            if not each.is_pinned and NOW - each.read_ms >= 14 * DAY:
                take(each, "age")
    while soft is not None and used > soft and (each := next_of(True)) is not None:
        take(each, "budget")
    left = [each for each in sessions if not each.is_digested]
    if hard is not None and used > hard and can_digest and left:
        lasting = sorted(left, key=lambda s: (s.is_pinned, NOW - s.read_ms < 14 * DAY, s.ended_ms, s.name.id))
        return out, [each.name.id for each in lasting], used
    while hard is not None and used > hard and (each := next_of(False)) is not None:
        take(each, "data_loss")
    return out, [], used


@given(some_sessions, st.integers(1, 300))
def test_the_hard_cap_holds_once_everything_was_tried(told, cap) -> None:  # type: ignore[no-untyped-def]
    sessions = [
        held(f"s{n:02}", size, age, is_digested=digested) for n, (size, age, digested, *_) in enumerate(told)
    ]
    plan = swept(sessions, RetentionSettings(raw_hard_cap_bytes=cap), can_digest=False)
    assert plan.final_bytes <= cap
    digested = {each.name.id for each in sessions if each.is_digested and each.bytes}
    lost = [name for name, why in gone(plan) if why == Why.DATA_LOSS]
    if lost:
        assert {name for name, why in gone(plan) if why == Why.BUDGET} == digested
