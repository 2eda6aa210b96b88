"""`Memory`: the one object that every face talks to.

    with recollect.Memory.open() as memory:
        memory.ingest()
        for entry in memory.tail("3f2a", 20):
            print(entry.entry.kind.name, entry.entry.text)

Reads see everything that was ever acknowledged: the store, and whatever waits in the
journal, folded into a private copy of the state that is never written.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

from recollect.config import Config, load_config
from recollect.memory.collector import without_collector
from recollect.memory.facts import FactsKept
from recollect.memory.forgetting import Forgetting
from recollect.memory.joining import Joining
from recollect.memory.known import Known, find_session
from recollect.memory.migrating import Migrating
from recollect.memory.retained import Retained, refuse_evicted
from recollect.memory.saving import Saving
from recollect.store.registry import has_store, location, open_store
from recollect.values.budgets import ASSEMBLE_TOKENS, CATALOG_TOKENS, READ_TOKENS, RECALL_TOKENS
from recollect.values.errors import (
    NotFound,
    RecollectError,
    StoreBusy,
    StoreError,
    StoreWriteFailed,
    UsageError,
)
from recollect.values.records import Role
from recollect.values.stored import Session, Source, StoredEntry, StoreInfo, source_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from recollect.intake.own import OwnLogs
    from recollect.memory.fleet import Fleet
    from recollect.memory.graph import MemoryGraph
    from recollect.memory.mirrors import Mirrors
    from recollect.search.indexes import Indexes
    from recollect.search.project_names import ProjectNames
    from recollect.search.projects import NamedViews
    from recollect.search.run import Request
    from recollect.store.contract import Store, View
    from recollect.values.assembly import Assembly
    from recollect.values.conversation import Conversation
    from recollect.values.fidelity import Delivered
    from recollect.values.hits import Fresh, Results
    from recollect.values.notes import Vector
    from recollect.values.projects import Decision, Project
    from recollect.values.recalled import Brief, Catalog, Reading, Recall
    from recollect.values.records import Segment
    from recollect.values.reports import (
        CompactReport,
        Estimate,
        Progress,
        RepairReport,
        ReparseReport,
        Report,
        Standing,
    )
    from recollect.values.saved import OpenedPiece, SavedThread
    from recollect.values.stored import Finding, Footprint, VectorModel
    from recollect.values.usage import SessionUsage, UsageFilter, UsageLine, UsageReport

VIEW_BYTES_MAX = 64 << 20  # of a journal that a look holds in memory
MISSED_BYTES = 32 << 20  # of what hooks missed that one look takes in: about two seconds' work
LOOKED_AT = 3  # times the hits asked for, which may change places by how often they were shown
INDEX_AGAIN_SECONDS = 0.25  # between looks whether another process that indexes is done
_SPOOL_BYTES = 8 << 20

# What only some verbs need is imported by them: an agent asks one question per process,
# and everything above costs time before the answer.


class Memory(Known, Joining, Retained, Forgetting, Saving, Migrating, FactsKept):
    """A person's memory of what their agents said and did."""

    def __init__(self, store: Store, config: Config) -> None:
        self._store = store
        self._indexes: Indexes | None = None
        self._views: NamedViews | None = None
        self._graph: MemoryGraph | None = None
        self._making, self._folding = threading.Lock(), threading.Lock()
        self._marked = False  # that all sources are is known only once it was looked
        self.config = config

    @classmethod
    def open(
        cls, store: str | os.PathLike[str] | None = None, *, create: bool = True, config: Config | None = None
    ) -> Memory:
        """The memory at a path or URL, by default the person's own; a missing one is made if `create`."""
        config = config or load_config(os.fspath(store) if store is not None else None)
        at = location(store) if store is not None else config.store
        return cls(open_store(at, create=create), config)

    @staticmethod
    def exists(config: Config) -> bool:
        """Whether there is a store, or something that hooks appended before there was one."""
        return has_store(config.store)

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._store.close()

    @property
    def name(self) -> str:
        """What people know the store by: its path or URL."""
        return self._store.name

    # -- in --------------------------------------------------------------------------------

    @property
    def graph(self) -> MemoryGraph:
        """Entities and their relations: what was said of them, and what logs mention together."""
        from recollect.memory.graph import MemoryGraph

        self._graph = self._graph or MemoryGraph(self)
        return self._graph

    @property
    def fleet(self) -> Fleet:
        """Other machines, whose logs are taken in over ssh."""
        from recollect.memory.fleet import Fleet

        return Fleet(self, self._store)

    def mirrors(self) -> Mirrors:
        """Sessions that an SDK mirrors into this memory; what it knows of them is kept between its verbs."""
        from recollect.memory.mirrors import Mirrors

        return Mirrors(self, self._store)

    def ingest(
        self,
        paths: Iterable[str | os.PathLike[str]] = (),
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
        timeout: float = 60.0,
    ) -> Report:
        """Take everything new from the given files and folders, or from this machine's agents.

        A dry run reports exactly what would be taken and changes nothing. `timeout`: seconds to wait for
        another process that is writing.
        """
        from recollect.intake.discover import agent_roots, discover
        from recollect.intake.forks import note_forks
        from recollect.intake.ingest import Ingest
        from recollect.intake.workers import sweep

        roots = [Path(path) for path in paths] or agent_roots(Path.home(), os.environ)
        found = discover(roots)
        writing = self._store.rehearsal() if dry_run else self._store.writer(timeout=timeout)
        with without_collector(), writing as writer:
            own = self._own_logs()
            erased = None if dry_run else self._cleared(writer)
            ingest = Ingest(writer, self.config.host, progress, own, erased)
            ingest.report.skipped = found.skipped
            marked = own.mark_stored(writer)
            folded = ingest.fold(self._store.pending(patient=not dry_run))
            ingest.compare_captured()
            sweep(ingest, writer, self.config.host, found.found, own)
            note_forks(writer, ingest.began)
            if folded or marked or ingest.dirty:
                writer.commit()
        if self._store.has_journal() and not dry_run:
            self._clear_journal(folded)
        return ingest.report

    def append(self, segment: Segment) -> int:
        """Make bytes of a source durable without parsing them; returns their number in the journal."""
        return self._store.append(segment)

    def capture(self, *, timeout: float = 1.0) -> int:
        """Append what followed transcripts gained since their agent's last hook; returns how many bytes.

        Costs a look at each file. What cannot be taken now is taken the next time.
        """
        from recollect.memory.machine import capture_followed

        captured = capture_followed(self.config)
        self.take_missed(timeout=timeout)
        return captured

    def take_missed(self, *, timeout: float = 1.0, progress: Progress | None = None) -> bool:
        """Look at every transcript of the last days, where a hook could take none and leave no word of it.

        Returns whether nothing is missed any more. `timeout`: seconds to wait for another process that is
        writing; what cannot be taken now, or is more than `MISSED_BYTES`, is taken the next time.
        """
        from recollect.light.missed import Taking, is_missed

        state = str(self.config.state)
        if not is_missed(state):
            return True
        from recollect.memory.machine import missed_logs

        taking = Taking(state)
        taking.begin()
        recent, left = missed_logs(self, MISSED_BYTES)
        try:
            if recent:
                self.ingest(recent, timeout=timeout, progress=progress)
        except RecollectError:
            return False
        if not left:
            taking.end()
        return not is_missed(state)

    def checkpoint(self, *, timeout: float = 60.0) -> Report:
        """Fold the journal into the store; afterwards there is one file."""
        from recollect.intake.forks import note_forks
        from recollect.intake.ingest import Ingest

        with self._store.writer(timeout=timeout) as writer:
            own = self._own_logs()
            ingest = Ingest(writer, self.config.host, own=own, erased=self._cleared(writer))
            marked = own.mark_stored(writer)
            folded = ingest.fold(self._store.pending())
            ingest.compare_captured()
            note_forks(writer, ingest.began)
            if folded or marked:
                writer.commit()
        self._clear_journal(folded)
        return ingest.report

    def _clear_journal(self, folded: int) -> None:
        """Drop a journal of which all is in the store, also one that a killed process folded."""
        if not folded:
            with self._store.view() as view:
                folded = view.info().folded
        self._store.clear_journal(folded)

    # -- out -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def view(self) -> Iterator[View]:
        """One consistent state, the journal's tail included, with every source marked and projects named.

        What is in the journal is held in memory for it: of a long one that cannot be folded, as another
        process is writing or the disk refuses, the first `VIEW_BYTES_MAX`; the rest is told by `waiting`.
        """
        from recollect.search.projects import NamedViews, named

        views = self._views = self._views or NamedViews(self.config.cache)
        if self._store.journal_bytes() > VIEW_BYTES_MAX:
            self._fold_if_free()
        # Read before the store's state is chosen: who folds what is read here empties the journal meanwhile,
        # and it is in the store then.
        pending = list(_within(self._store.pending(patient=False), VIEW_BYTES_MAX))
        if not pending and self._is_marked():
            with self._store.view() as view:
                yield cast("View", views.of(view))
            return
        from recollect.intake.ingest import Ingest

        with self._store.rehearsal() as writer:
            own = self._own_logs()
            own.mark_stored(writer)
            folded = writer.view().info().folded
            ingest = Ingest(writer, self.config.host, own=own)
            ingest.fold((n, segment) for n, segment in pending if n > folded)
            yield named(writer.view())

    def _is_marked(self) -> bool:
        """Whether the store says of all its sources whose they are; one of an earlier version does not."""
        if not self._marked:
            with self._store.view() as view:
                self._marked = not view.unmarked()
        return self._marked

    def _own_logs(self) -> OwnLogs:
        from recollect.intake.own import OwnLogs

        return OwnLogs(self.config.host, Path.home(), os.environ)

    def info(self) -> StoreInfo:
        with self.view() as view:
            return view.info()

    def footprint(self) -> Footprint:
        """What the store takes, and when it was last written."""
        return self._store.footprint()

    def waiting(self) -> int:
        """How many appends are not folded into the store yet."""
        return sum(1 for _ in self._store.pending(patient=False))

    def sessions(self) -> list[Session]:
        """Every session, the most recently active last.

        A copy of ours counts once somebody went on in it, or where what it was copied from is not there.
        """
        from recollect.light.sources import is_conversation

        with self.view() as view:
            found = [each for each in view.sessions() if is_conversation(each.facts.agent)]
        found = [each for each in found if not each.copied]
        return sorted(found, key=lambda s: (s.facts.ended_ms, s.facts.id))

    def session(self, prefix: str) -> Session:
        """The session whose id starts so."""
        with self.view() as view:
            return find_session(view, prefix)

    def find(self, id_: str) -> tuple[Session, StoredEntry | None]:
        """A session by the beginning of its id; or an entry by its id, with its session."""
        with self.view() as view:
            try:
                return find_session(view, id_), None
            except NotFound as error:
                try:
                    entry = view.find_entry(id_)
                except NotFound:
                    raise error from None
                return view.session_rows()[entry.session_row], entry

    def around(self, entry: StoredEntry, before: int, after: int) -> list[StoredEntry]:
        """An entry between those that come before and after it in its session."""
        with self.view() as view:
            return view.neighbours(entry.row, before, after)

    def show(self, prefix: str) -> Iterator[StoredEntry]:
        """Everything a session shows, in order."""
        with self.view() as view:
            session = find_session(view, prefix)
            self.note_read(session)
            yield from view.entries(session)

    def tail(self, prefix: str, count: int = 20) -> list[StoredEntry]:
        """The last entries of a session."""
        with self.view() as view:
            return list(view.entries(find_session(view, prefix), last=count))

    def sources(self, prefix: str | None = None) -> list[Source]:
        """All sources, or one session's, replaced versions too."""
        with self.view() as view:
            return view.sources(find_session(view, prefix) if prefix is not None else None)

    def raw(self, prefix: str) -> Iterator[bytes]:
        """A session's transcript file, byte for byte, piece by piece; `Evicted` where that is not there."""
        with self.view() as view:
            session = find_session(view, prefix)
            refuse_evicted(view, session)
            source = main_source(view.sources(session), prefix)
            yield from source_bytes(source, view.lines(source))

    def altered(self, prefix: str) -> list[int]:
        """The numbers of the lines of a session's transcript that are not what its file has: secrets in them
        were erased.
        """
        with self.view() as view:
            sources = view.sources(find_session(view, prefix))
            if not any(each.thinned for each in sources):
                return []
            source = main_source(sources, prefix)
            return [number for number, line in enumerate(view.lines(source), 1) if line.key]

    def usage(self, by: str = "", *, only: UsageFilter | None = None) -> UsageReport:
        """Tokens and cost of everything, or of `only` some, grouped by day, model, project, session or agent.

        By two of them: `project,model`.
        """
        from recollect.insight.usage import summarise
        from recollect.values.usage import UsageFilter

        with self.view() as view:
            return summarise(view.usage(), by, self.config.prices, only or UsageFilter())

    def session_usage(self, prefix: str) -> SessionUsage:
        """Tokens and cost of a session, and of the subagents that were started in it."""
        from recollect.insight.usage import session_usage

        with self.view() as view:
            return session_usage(view.usage(), find_session(view, prefix).facts.id, self.config.prices)

    def usage_lines(
        self, by: str = "", group: str = "", limit: int | None = None, *, only: UsageFilter | None = None
    ) -> list[UsageLine]:
        """The responses behind the figures of a group, dearest first, each with its line in a log."""
        from recollect.insight.usage import explain
        from recollect.values.usage import UsageFilter

        with self.view() as view:
            prices, wanted = self.config.prices, only or UsageFilter()
            return explain(view, view.usage(), prices, by=by, group=group, limit=limit, only=wanted)

    def odd_lines(self) -> dict[str, int]:
        """Lines that are not simply entries, by what is odd about them."""
        from recollect.values.records import LineFlag

        with self.view() as view:
            counts = view.flag_counts()
        return {flag.name.lower(): counts.get(flag, 0) for flag in LineFlag if flag is not LineFlag.CONTINUES}

    def types(self) -> dict[str, tuple[int, bool]]:
        """How many lines there are of each record type, and whether this version knows it."""
        with self.view() as view:
            return view.types()

    def standing(self) -> Standing:
        """How the logs on this machine's disk stand: which changed, which are gone or soon deleted."""
        from recollect.intake.at_risk import standing

        home, now_ms = Path.home(), _now_ms()
        return standing(self.sources(), host=self.config.host, home=home, environ=os.environ, now_ms=now_ms)

    # -- search ----------------------------------------------------------------------------

    def search(
        self,
        query: str = "",
        *,
        mode: str = "hybrid",
        limit: int = 10,
        offset: int = 0,
        plain: bool = False,
        near: Iterable[str] = (),
        not_near: Iterable[str] = (),
        fusion: str = "minmax",
        strategy: str = "auto",
        recency: bool = False,
        project_boost: str = "",
        collapse: bool = True,
        by_session: bool = False,
        now: datetime.datetime | None = None,
        seconds: float | None = None,
        spread: bool = False,
        vector: Vector | None = None,
        activated: bool = False,
    ) -> Results:
        """What was said or done about something, best first; docs/search.md has the query language.

        `plain` takes the query as words and nothing else; in any other, what cannot be read is taken as words
        too, and `Results.notes` say so. What came in since the last search is indexed first, for at most
        `seconds` an index; `Results.fresh` says what is left. `by_session` lists the hits by session too, in
        `Results.sessions`, with what was asked there and what it came to. A `vector` is compared with those
        that notes were saved with, in place of meaning as our embedder has it. `spread` lifts entries that
        mention what the graph relates to things that the query names. `activated` lifts what was shown so
        before, and notes what is shown now (docs/memory.md).
        """
        from recollect.search.indexes import CATCH_UP_SECONDS
        from recollect.search.query import QUERY_CHARS_MAX
        from recollect.search.run import Request

        if activated and (offset or by_session):
            raise UsageError("activated changes the order of one page, and knows no offset and no sessions")
        request = Request(
            query[:QUERY_CHARS_MAX],
            mode,
            limit * LOOKED_AT if activated else limit,
            offset,
            plain,
            tuple(near),
            tuple(not_near),
            fusion,
            strategy,
            recency,
            project_boost,
            collapse,
            now,
            by_session,
            spread=spread,
            given=self._checked_question(vector),
        )
        waiting = self._fold_if_free()
        results = self.indexes.search(
            request, waiting=waiting, seconds=CATCH_UP_SECONDS if seconds is None else seconds
        )
        if activated:
            results = self._activated(results, limit)
        return self._annotated(results, query, request)

    def _annotated(self, results: Results, query: str, request: Request) -> Results:
        """The results, with notes on how the query was read, and on why nothing was found."""
        from dataclasses import replace

        from recollect.search.query import Reading, plain_words, read

        now = request.now or datetime.datetime.now()
        meant = Reading(plain_words(query)) if request.plain else read(query, now)
        notes = (*meant.notes, *results.notes)
        if not results.hits and not request.offset and request.limit:
            from recollect.search.unfound import reasons

            with self.indexes.asking(meaning=False, seconds=0.0) as search:
                notes += reasons(search, meant.node)
        return replace(results, notes=notes) if notes != results.notes else results

    def recall(
        self,
        terms: Iterable[str],
        question: str = "",
        *,
        budget_tokens: int = RECALL_TOKENS,
        project: str = "",
        strict_project: str = "",
        now: datetime.datetime | None = None,
        spread: bool = False,
    ) -> Recall:
        """What earlier conversations have on some words and a question: cited excerpts, within a budget.

        `project` is preferred, `strict_project` is all that is looked at; "last week" is that before `now`;
        `spread` is as in `search`.
        """
        from recollect.recall.recall import recall

        waiting = self._fold_if_free()
        with self.indexes.asking(meaning=True, waiting=waiting) as search:
            return recall(
                search,
                list(terms),
                question,
                budget_tokens=budget_tokens,
                project=project,
                strict_project=strict_project,
                now=now,
                spread=spread,
            )

    def brief(
        self,
        terms: Iterable[str],
        question: str = "",
        *,
        project: str = "",
        strict_project: str = "",
        now: datetime.datetime | None = None,
    ) -> Brief:
        """The three sentences of earlier conversations that say most about what `recall` is asked."""
        from recollect.recall.brief import brief

        waiting = self._fold_if_free()
        with self.indexes.asking(meaning=True, waiting=waiting) as search:
            return brief(
                search, list(terms), question, project=project, strict_project=strict_project, now=now
            )

    def read(
        self,
        id_: str,
        *,
        before: int = 3,
        after: int = 3,
        whole: bool = False,
        budget_tokens: int = READ_TOKENS,
        offset: int = 0,
    ) -> Reading:
        """An entry and what was said around it, or all of its text, page by page."""
        from recollect.recall.recall import reading

        with self.view() as view:
            if self.config.retention is not None:
                with contextlib.suppress(NotFound):
                    self.note_read(view.session_rows()[view.find_entry(id_).session_row])
            return reading(
                view, id_, before=before, after=after, whole=whole, budget_tokens=budget_tokens, offset=offset
            )

    # -- working memory --------------------------------------------------------------------

    def assemble(
        self, description: str, *, budget_tokens: int = ASSEMBLE_TOKENS
    ) -> tuple[Assembly, Conversation]:
        """The parts of all conversations that a description is about, within a budget, and as one.

        The conversation is empty where nothing fits.
        """
        from recollect.recall.assemble.run import assemble, compose
        from recollect.values.conversation import Conversation

        waiting = self._fold_if_free()
        with self.indexes.asking(meaning=True, waiting=waiting) as search:
            made = assemble(search, description, budget_tokens=budget_tokens)
            return made, compose(search.view, made) if made.pieces else Conversation(())

    def catalog(
        self, project: str = "", *, budget_tokens: int = CATALOG_TOKENS, imported: bool = False
    ) -> Catalog:
        """What a new conversation in a project is told, by default in that of the current folder.

        Any part of a project's name will do that no other name has. `imported`: also what imported logs
        say, which no conversation is told unasked.
        """
        from recollect.recall.catalog import catalog
        from recollect.search.projects import by_name

        with self.view() as view:
            name = by_name(view).names.find(project) if project else self._project_here(view)
            return catalog(view, name, budget_tokens=budget_tokens, now_ms=_now_ms(), imported=imported)

    def conversation(self, prefix: str, *, until: str = "", before_compaction: bool = False) -> Conversation:
        """A session as its agent itself would go on with it: what the model had before it.

        `until`: up to this entry; `before_compaction`: what was said before it was last summed up.
        """
        from recollect.export.read import conversation

        with self.view() as view:
            session = find_session(view, prefix)
            refuse_evicted(view, session)
            self.note_read(session)
            return conversation(view, session, until=until, before_compaction=before_compaction)

    def deliver(
        self,
        conversation: Conversation,
        agent: str,
        *,
        folder: str = "",
        redacted: bool = True,
        dry_run: bool = False,
    ) -> Delivered:
        """Write a conversation where an agent looks for its past, to be opened in a folder."""
        from recollect.export.deliver import deliver

        done = deliver(
            conversation,
            agent,
            home=Path.home(),
            environ=os.environ,
            folder=folder or os.getcwd(),
            now_ms=_now_ms(),
            redacted=redacted,
            dry_run=dry_run,
        )
        if done.path is not None:
            self.note_copy(done.path, "written", conversation.sessions, masked=redacted)
        return done

    def export(self, prefix: str, form: str, *, redacted: bool = True) -> Iterator[bytes]:
        """A session piece by piece: `raw`, byte for byte, or a page for people, secrets masked."""
        if form == "raw":
            yield from self.raw(prefix)
            return
        from recollect.export.pages.session import session_page

        with self.view() as view:
            session = find_session(view, prefix)
            refuse_evicted(view, session)
            self.note_read(session)
            yield from session_page(view, session, form, redacted=redacted)

    def page(
        self, form: str, assembly: Assembly, conversation: Conversation, *, redacted: bool = True
    ) -> tuple[str, int]:
        """An assembly as a page to share, and how many secrets are masked in it."""
        from recollect.export.pages.session import assembly_page

        return assembly_page(form, assembly, conversation, redacted=redacted)

    # -- projects --------------------------------------------------------------------------

    def projects(self) -> list[Project]:
        """Every project with the names it goes by, the most recently active first."""
        from recollect.search.projects import by_name

        with self.view() as view:
            return by_name(view).projects()

    def projects_by_folder_name(self) -> dict[str, str]:
        """The name of a project by the remote, or the folder's name, of each repository of it.

        That is all that is known of a folder in which a conversation begins.
        """
        from recollect.search.projects import by_name

        with self.view() as view:
            return by_name(view).names.by_folder_name()

    def join_projects(self, into: str, other: str) -> Project:
        """Make two projects one, under the name of the first; returns it as it then is."""
        return self._decide(lambda names: names.join(into, other))

    def split_project(self, alias: str) -> Project:
        """Take a name out of the project it was joined into, or found to be of."""
        return self._decide(lambda names: names.split(alias))

    def rename_project(self, project: str, name: str) -> Project:
        """Call a project by another name, wherever one is shown or asked for."""
        return self._decide(lambda names: names.rename(project, name))

    def label_project(self, project: str, label: str) -> Project:
        """Say `key=value` of a project, to filter and group by; `key=` takes it back."""
        return self._decide(lambda names: names.label(project, label))

    def _decide(self, choose: Callable[[ProjectNames], Decision]) -> Project:
        from recollect.intake.notes import decide
        from recollect.search.projects import by_name

        self._fold_if_free()  # a project may be known by what a hook appended alone
        with self._store.writer() as writer:
            decision = choose(by_name(writer.view()).names)
            decide(writer, self.config.host, decision, now_ms=_now_ms())
            writer.commit()
            view = by_name(writer.view())
            name = view.names.name_decided(decision)
            return next(each for each in view.projects() if each.name == name)

    # -- saved threads ---------------------------------------------------------------------

    def save_thread(self, assembly: Assembly, name: str) -> SavedThread:
        """Keep an assembly in the store, under a name."""
        from recollect.recall.saved import save

        with self._store.writer() as writer:
            made = save(writer, self.config.host, assembly, name, now_ms=_now_ms())
            writer.commit()
        return made

    def saved_threads(self) -> list[SavedThread]:
        """Every assembly that was kept, the last one edited first."""
        from recollect.recall.saved import saved

        with self.view() as view:
            return saved(view)

    def saved_thread(self, name: str) -> SavedThread:
        """The saved thread of this name, or whose id starts so."""
        from recollect.recall.saved import find

        with self.view() as view:
            return find(view, name)

    def saved_pieces(self, name: str) -> list[OpenedPiece]:
        """The pieces of a saved thread, in order, with what the store has of each."""
        from recollect.recall.saved import find, opened

        with self.view() as view:
            return opened(view, find(view, name))

    def edit_thread(
        self, name: str, op: str, *, piece: int = 0, to: int = 0, new_name: str = ""
    ) -> SavedThread:
        """Drop, pin, unpin, move, rename or delete; returns the thread as it then is.

        A deleted one is returned as it was.
        """
        from recollect.recall.saved import Edit, edit

        with self._store.writer() as writer:
            made = edit(writer, name, Edit(op, piece, to, new_name), now_ms=_now_ms())
            writer.commit()
        return made

    def reassemble(self, name: str, *, budget_tokens: int = 0) -> tuple[Assembly, Conversation]:
        """A saved thread as `assemble` would have it; `budget_tokens`: another budget than its own."""
        from recollect.recall.saved import compose, find

        with self.view() as view:
            return compose(view, find(view, name), budget_tokens=budget_tokens)

    # -- indexes ---------------------------------------------------------------------------

    def complete(self, field: str, prefix: str = "", limit: int = 50) -> list[tuple[str, int]]:
        """Values a query's field can have, with how often each occurs, the most frequent first."""
        from recollect.search.completion import values

        with self.indexes.asking(meaning=False) as search:
            return values(search.text, search.sessions, search.mentions, field, prefix, limit)

    def index(
        self, *, rebuild: bool = False, progress: Progress | None = None, timeout: float = 0.0
    ) -> Fresh:
        """Bring the indexes, and what is derived, up to date; with `rebuild`, the indexes from nothing.

        `timeout`: seconds to wait for another process that does the same, counted anew whenever it gets on.
        What is left then is for the next one to index.
        """
        if rebuild:
            self.indexes.drop()
        fresh, left = self._index(progress)
        patience = time.monotonic() + timeout
        while fresh.is_busy and time.monotonic() < patience:
            time.sleep(INDEX_AGAIN_SECONDS)
            before = left
            fresh, left = self._index(progress)
            if left < before:
                patience = time.monotonic() + timeout
        return fresh

    def _index(self, progress: Progress | None) -> tuple[Fresh, int]:
        """Index what nobody else is at; also says how many entries are left to do, of all tables together."""
        from dataclasses import replace

        from recollect.insight.derive import derive, left_to_derive, reading_ahead

        waiting = self._fold_if_free()
        with contextlib.suppress(StoreBusy, StoreWriteFailed):
            self.finish_erasing(timeout=0.0)
        is_busy = False
        with reading_ahead(self._store) as ahead:
            self.indexes.catch_up(progress=progress, dims=self.vector_dims())
            with without_collector(), contextlib.suppress(StoreWriteFailed):
                try:
                    derive(self._store, ahead, progress)
                except StoreBusy:
                    is_busy = True
        fresh = self.indexes.fresh(waiting)
        left = left_to_derive(self._store)
        is_busy = (fresh.is_busy and fresh.text + fresh.vectors < 2 * fresh.entries) or (is_busy and left > 0)
        return replace(fresh, is_busy=is_busy), 2 * fresh.entries - fresh.text - fresh.vectors + left

    def fresh(self) -> Fresh:
        """How far the indexes reach, without changing them."""
        return self.indexes.fresh(self.waiting())

    def vector_models(self) -> list[VectorModel]:
        """What the store holds vectors of."""
        with self.view() as view:
            return view.vector_models()

    def embedding_estimate(self) -> Estimate:
        """What embedding everything from nothing would take."""
        from recollect.search.embed.estimate import estimate

        with self.view() as view:
            return estimate(view, self.config.embedder, self.config.embedders, os.environ)

    @property
    def indexes(self) -> Indexes:
        """What makes this store searchable."""
        with self._making:
            if self._indexes is None:
                from recollect.search.embed import embedder
                from recollect.search.indexes import Indexes

                self._indexes = Indexes(
                    self._store,
                    self.config.cache,
                    lambda name: embedder(
                        name, settings=self.config.embedders, models=self.config.models, environ=os.environ
                    ),
                    self.config.embedder,
                )
            return self._indexes

    def _forget_indexes(self) -> None:
        """Let go of what is held open of the indexes; they are opened, or made, when next asked for."""
        with self._making:
            self._indexes = self._views = None

    def _fold_if_free(self) -> int:
        """Bring what hooks appended into the store, unless someone is writing; returns what still waits."""
        if not self._store.has_journal() and self._is_marked():
            return 0
        with self._folding, contextlib.suppress(StoreBusy, StoreWriteFailed):
            if self._store.has_journal() or not self._is_marked():  # else another thread was quicker
                self.checkpoint(timeout=0.0)
        return self.waiting()

    def is_busy(self) -> bool:
        """Whether another process is writing now, so that more may soon be found."""
        try:
            with self._store.writer(timeout=0.0):
                return False
        except StoreBusy:
            return True
        except StoreError:  # a store that nobody can write is not being written
            return False

    # -- care ------------------------------------------------------------------------------

    def check(self) -> list[Finding]:
        """Verify everything; an empty list means that all is well. Reads only."""
        return self._store.check()

    def kept_aside(self) -> list[str]:
        """Where damaged bytes of a journal or a commit are kept that nobody has acknowledged yet."""
        return self._store.kept_aside()

    def acknowledge(self) -> list[str]:
        """Say that you know of what is kept aside: it stays, and is told no more. Returns where it is."""
        return self._store.acknowledge()

    def repair(self) -> RepairReport:
        """Build a new store from every line that can still be read; the old one is kept beside it."""
        from recollect.intake.reparse import reparse
        from recollect.values.reports import RepairReport

        with self._store.salvage() as (old, new), new.writer() as writer:
            report = reparse(old, writer)
        return RepairReport(report.lines, old.lost_lines, old.lost, old.moved_to)

    def compact(self) -> CompactReport:
        """Rewrite the store without what nothing refers to, packed more densely.

        Of notes that were deleted or changed since, the words go that no longer hold.
        """
        from recollect.memory.taken_back import taken_back
        from recollect.values.reports import CompactReport

        self.checkpoint()
        before = self.footprint().bytes
        self._store.compact(taken_back)
        return CompactReport(before, self.footprint().bytes)

    def reparse(self, progress: Progress | None = None) -> ReparseReport:
        """Derive all entries again from the stored lines, with today's adapters."""
        from recollect.intake.reparse import reparse

        self.checkpoint()
        with self._store.replacement() as (old, new), new.writer() as writer:
            report = reparse(old, writer, progress)
            report.entries_before = old.info().entries
        return report

    def snapshot(self, target: str | os.PathLike[str]) -> int:
        """Write a consistent copy, the journal folded in, to a new store; returns its size."""
        at = location(target)
        if has_store(at):
            raise UsageError(f"{at}: exists already", hint="name a new file")
        # The journal first: a checkpoint in between takes it away, and what it held is then copied.
        with _spooled(self._store.pending()) as pending:
            copied = self._store.copy_to(str(at))
            with contextlib.closing(open_store(at, create=not copied)) as copy:
                if not copied:
                    self._derive_into(copy)
                self._fold_into(copy, pending)
                written = copy.footprint().bytes
        if isinstance(at, Path):
            self.note_copy(at, "snapshot", None)
        return written

    def _derive_into(self, target: Store) -> None:
        """Fill an empty store of whatever engine, line by line."""
        from recollect.intake.reparse import reparse

        with self._store.view() as view, target.writer() as writer:
            reparse(view, writer)

    def _fold_into(self, target: Store, pending: Iterator[tuple[int, Segment]]) -> None:
        from recollect.intake.ingest import Ingest

        if (first := next(pending, None)) is None:
            return
        with target.writer() as writer:
            Ingest(writer, self.config.host, own=self._own_logs()).fold(itertools.chain([first], pending))
            writer.commit()


def _within(pending: Iterable[tuple[int, Segment]], bytes_max: int) -> Iterator[tuple[int, Segment]]:
    """The first appends, up to so many bytes."""
    for number, segment in pending:
        yield number, segment
        bytes_max -= len(segment.data)
        if bytes_max <= 0:
            return


@contextlib.contextmanager
def _spooled(pending: Iterable[tuple[int, Segment]]) -> Iterator[Iterator[tuple[int, Segment]]]:
    """The same appends, read now and kept in a file of nobody's until they are asked for."""
    import pickle
    import tempfile

    with tempfile.SpooledTemporaryFile(_SPOOL_BYTES) as spool:
        count = 0
        for count, each in enumerate(pending, 1):  # noqa: B007 - counts
            pickle.dump(each, spool)
        spool.seek(0)
        yield (pickle.load(spool) for _ in range(count))


def _now_ms() -> int:
    import time

    return time.time_ns() // 1_000_000


def main_source(sources: Iterable[Source], prefix: str) -> Source:
    """The newest version of a session's own transcript; an imported one only where there is no other."""
    mains = [s for s in sources if s.file.role in (Role.MAIN, Role.SUBAGENT) and not s.superseded]
    mains = [s for s in mains if not s.imported] or mains
    if not mains:
        raise NotFound(f"session {prefix!r} has no transcript of its own in the store")
    return max(mains, key=lambda source: source.lines)
