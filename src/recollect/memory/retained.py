"""Retention: how much is kept word for word, what goes when that is too much, and taking it back.

Off unless the config file has `[retention]`. What a verb needs is imported by it.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.config import Config
from recollect.memory.known import find_session
from recollect.memory.part import now_ms
from recollect.memory.reads import last_reads, last_swept, note_reads, note_swept
from recollect.values.errors import Evicted, NotFound, SourceError, StoreBusy, StoreWriteFailed, UsageError
from recollect.values.records import Role
from recollect.values.retention import (
    Elsewhere,
    EvictedSession,
    RestoreReport,
    SessionLeaving,
    SessionName,
    SweepReport,
    Why,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from recollect.insight.retention.evict import Sweep
    from recollect.intake.own import OwnLogs
    from recollect.intake.restoring import Back
    from recollect.store.contract import Store, View, Writer
    from recollect.store.leaving import Leaving
    from recollect.values.reports import Progress, Report
    from recollect.values.stored import Session, Source

WORTH_SHARE = (
    50  # of the soft cap: a sweep by itself writes a store anew for no less than one part of so many
)


class Retained:
    """The part of a `Memory` that keeps it within a budget."""

    config: Config
    _store: Store

    if TYPE_CHECKING:

        def view(self) -> AbstractContextManager[View]: ...
        def checkpoint(self, *, timeout: float = 60.0) -> Report: ...
        def _own_logs(self) -> OwnLogs: ...

    def retention(self) -> SweepReport:
        """What a sweep would do now, with every session that would go; changes nothing."""
        sweep = self._sweep()
        with self.view() as view:
            told = sweep.digestible(sweep.plan(view).digest)
            if sweep.planned.digest:  # as if that went well
                sweep.count_digested(told)
                sweep.can_digest = False
                sweep.plan(view)
            return self._report(view, sweep, len(told))

    def sweep(self, *, progress: Progress | None = None) -> SweepReport:
        """Evict what is over the budget, and give its room back; what is only here is gone for good."""
        from recollect.insight.derive import derive

        self.checkpoint()
        sweep, digested = self._sweep(), 0
        with self._store.view() as view:
            plan = sweep.plan(view)
        if plan.digest:
            derive(self._store, progress=progress)
            sweep.can_digest = False
            with self._store.view() as view:
                after = sweep.plan(view)
                left = {each.name for each in sweep.gathered.held if not each.is_digested}
                digested = sum(name not in left for name in plan.digest)
            plan = after
        before = self._store.footprint().bytes
        with self._store.view() as view:
            report = self._report(view, sweep, digested)
        if plan.evict:

            def choose(view: View) -> Leaving:
                nonlocal report
                leaving = sweep.choose(view)
                report = self._report(view, sweep, digested)
                return leaving

            self._store.compact(leave=choose, then=sweep.note)
            with self._store.view() as view:
                used = view.raw_sizes().total
            report = replace(
                report,
                bytes_freed=report.used_bytes - used,
                final_usage_bytes=used,
                over_hard_cap=_is_over(used, sweep.settings.raw_hard_cap_bytes),
                file_bytes_before=before,
                file_bytes_after=self._store.footprint().bytes,
            )
        note_swept(self.config.state, now_ms())
        return report

    def sweep_if_due(self, *, progress: Progress | None = None) -> SweepReport | None:
        """`sweep` where it is configured and due; None where it is not, or what would go is not worth it.

        Of a budget that is exceeded by less than a fiftieth nothing goes by itself: each sweep writes the
        store anew.
        """
        settings = self.config.retention
        if settings is None or not settings.is_due(last_swept(self.config.state), now_ms()):
            return None
        sweep = self._sweep()
        with self._store.view() as view:
            plan = sweep.plan(view)
        soft = settings.soft_bytes
        little = soft is not None and plan.used_bytes <= soft + soft // WORTH_SHARE
        is_over_hard = _is_over(plan.used_bytes, settings.raw_hard_cap_bytes)
        if not is_over_hard and (not plan.evict or (little and all(e.why is Why.BUDGET for e in plan.evict))):
            note_swept(self.config.state, now_ms())
            return None
        try:
            return self.sweep(progress=progress)
        except (StoreBusy, StoreWriteFailed):  # the next one that is due does it
            return None

    def pin(self, prefix: str, *, pinned: bool = True) -> Session:
        """Let a session go last, and by its age never; or, not `pinned`, as any other."""
        from recollect.intake.notes import pin

        self.checkpoint()
        with self._store.writer() as writer:
            session = find_session(writer.view(), prefix)
            pin(writer, self.config.host, _name(session), pinned, now_ms=now_ms())
            writer.commit()
        return session

    def pinned(self) -> list[Session]:
        """The sessions that are pinned."""
        from recollect.intake.notes import pinned

        with self.view() as view:
            names = pinned(view)
            return [each for each in view.sessions() if _name(each) in names]

    def evicted(self, prefix: str) -> EvictedSession | None:
        """What was evicted of a session, and when; None for nothing."""
        with self.view() as view:
            return _evicted(view, find_session(view, prefix))

    def evicted_sessions(self) -> dict[str, EvictedSession]:
        """All sessions of which something was evicted, by id."""
        from recollect.search.evicted import Evicted as EvictedSessions

        with self.view() as view:
            known = EvictedSessions(view).sessions
            thinned = {_name_of(each) for each in view.sources() if each.thinned and not each.superseded}
            others = (each for each in view.sessions() if _name(each) in thinned - known.keys())
            told = (each for session in others if (each := _evicted(view, session)) is not None)
            return {each.name.id: each for each in (*known.values(), *told)}

    def require_whole(self, prefix: str) -> None:
        """Raise `Evicted` where lines of a session are not there any more."""
        with self.view() as view:
            refuse_evicted(view, find_session(view, prefix))

    def elsewhere(self, prefix: str) -> tuple[Elsewhere, str]:
        """Whether a session still is where its agent wrote it, and the file that decides."""
        from recollect.intake.again import Look

        with self.view() as view, Look(view, self.config.host) as look:
            return look.elsewhere(view.sources(find_session(view, prefix)))

    def restore(self, prefix: str, given: Sequence[Path] = ()) -> RestoreReport:
        """Take back what was evicted of a session from where it came from, byte for byte.

        That is the agent's own file or database, or the export in which it was; `given` are files in which to
        look as well. Another machine's session of the same id, and with the same lines, comes back with it.
        NotFound where nothing was evicted; SourceError where a file is gone or is not what it was: then
        nothing is changed.
        """
        from recollect.intake.ingest import Ingest

        self.checkpoint()
        with self._store.writer() as writer:
            view = writer.view()
            session = find_session(view, prefix)
            if _evicted(view, session) is None:
                raise NotFound(f"nothing of session {session.facts.id[:8]} was evicted")
            found = [(session, _backs(view, session, self.config.host, given))]
            paths = tuple(dict.fromkeys(each.path for each in found[0][1]))
            for twin in _twins(view, session):
                with contextlib.suppress(SourceError):
                    found.append((twin, _backs(view, twin, self.config.host, [Path(path) for path in paths])))
            ingest = Ingest(writer, self.config.host, own=self._own_logs())
            for each, backs in found:
                for back in backs:
                    back.take(ingest)
                _note_back(writer, writer.view(), _name(each))
            writer.commit()
            whole = writer.view().find_session(session.facts.id)
        self.note_read(whole)
        return RestoreReport(whole, ingest.report.lines, paths)

    def note_read(self, session: Session) -> None:
        """Remember that a person or a model reads a session; only where retention is configured."""
        if self.config.retention is not None:
            note_reads(self.config.state, [_name(session)], now_ms())

    def _sweep(self) -> Sweep:
        from recollect.insight.retention.evict import Sweep
        from recollect.intake.notes import pinned

        settings = self.config.retention
        if settings is None or not settings.has_limit:
            raise UsageError(
                "no budget is set: everything is kept",
                hint="write [retention] with raw_soft_cap_bytes, or raw_max_age_days, into the config file: "
                "docs/retention.md",
            )
        return Sweep(settings, now_ms=now_ms(), pinned=pinned, read_ms=last_reads(self.config.state))

    def _report(self, view: View, sweep: Sweep, digested: int) -> SweepReport:
        """What a plan comes to, before anything is done about it."""
        plan, gathered = sweep.planned, sweep.gathered
        counts = {why: sum(each.why is why for each in plan.evict) for why in Why}
        return SweepReport(
            backstop_evicted=counts[Why.AGE],
            budget_evicted=counts[Why.BUDGET],
            overflow_analyzed=digested,
            overflow_data_loss=counts[Why.DATA_LOSS],
            bytes_freed=plan.freed_bytes,
            final_usage_bytes=plan.final_bytes,
            over_hard_cap=plan.is_over_hard_cap,
            tier2_over_cap=_is_over(gathered.digest_bytes, sweep.settings.digest_cap_bytes),
            used_bytes=plan.used_bytes,
            digest_bytes=gathered.digest_bytes,
            waiting_for_digest=len(sweep.digestible(plan.waiting)),
            sessions=tuple(self._leaving(view, sweep)),
        )

    def _leaving(self, view: View, sweep: Sweep) -> list[SessionLeaving]:
        from recollect.intake.again import Look

        found = []
        with Look(view, self.config.host) as look:
            for name, why, size in sweep.planned.evict:
                facts = sweep.gathered.rows[name][1].facts
                where, path = look.elsewhere(sweep.gathered.sources.get(name, ()))
                found.append(
                    SessionLeaving(
                        name, facts.headline, facts.project, facts.ended_ms, size, why, where, path
                    )
                )
        return found


def refuse_evicted(view: View, session: Session) -> None:
    """Raise `Evicted` where lines of a session are not there: by the lines, whatever was noted of them."""
    if gone := _gone_lines(view, session):
        raise Evicted(session.facts.id, gone)


def _gone_lines(view: View, session: Session) -> int:
    sources = (each for each in view.sources(session) if each.thinned and not each.superseded)
    return sum(len(view.kept_lines(source)) for source in sources)


def _evicted(view: View, session: Session) -> EvictedSession | None:
    """What went and when, as it was noted; the lines tell where that did not come along with them."""
    from recollect.search.evicted import Evicted as EvictedSessions

    noted = EvictedSessions(view).sessions.get(_name(session))
    if noted is None and (gone := _gone_lines(view, session)):
        return EvictedSession(_name(session), 0, gone, 0, 0, loss=False)
    return noted


def _backs(view: View, session: Session, host: str, given: Sequence[Path]) -> list[Back]:
    """From where each source of a session of which something was evicted can be taken again."""
    from recollect.intake.restoring import find_back

    # A subagent's parent comes from its folder, which only its first reading saw.
    return [
        find_back(view, each, host, given, parent="" if each.file.role is Role.MAIN else session.facts.parent)
        for each in view.sources(session)
        if each.thinned and not each.superseded
    ]


def _twins(view: View, session: Session) -> list[Session]:
    """The sessions of other machines that bear the same id, and of which something was evicted."""
    name = _name(session)
    return [
        each
        for each in view.sessions()
        if _name(each) == name._replace(host=each.host) and each.host != name.host and _gone_lines(view, each)
    ]


def _note_back(writer: Writer, view: View, name: SessionName) -> None:
    """Let nothing be told of what was evicted of a session any more."""
    from recollect.search.evicted import EVICTED_MENTIONS, EVICTIONS, without

    for table in (EVICTIONS, EVICTED_MENTIONS):
        kept = without(view, table, name)
        writer.drop_derived(table)
        writer.add_derived(table, kept, built_to=0)


def _name(session: Session) -> SessionName:
    return SessionName(session.facts.agent, session.host, session.facts.id)


def _name_of(source: Source) -> SessionName:
    return SessionName(source.file.agent, source.host, source.session)


def _is_over(used: int, cap: int | None) -> bool:
    return cap is not None and used > cap
