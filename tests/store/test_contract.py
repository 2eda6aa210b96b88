"""The contract on both stores, and random histories that must read the same on both."""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.support.examples import examples

from recollect.store.contract import Store, View
from recollect.store.derived import REPLACED, DerivedTable, Rewrite
from recollect.store.hdf5.check import check_path
from recollect.store.hdf5.engine import Hdf5Store
from recollect.store.leaving import Leaving
from recollect.testing.derived import COLUMNS, listed, some_rows
from recollect.testing.reference import ReferenceStore
from recollect.testing.replacing import said, save, take_lines
from recollect.testing.stores import HOST, StoreContract, facts, line, source
from recollect.values.records import Cursor, Kind, Line, LineFlag, Provenance, Usage
from recollect.values.stored import VectorModel, source_bytes


class TestReferenceStore(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return ReferenceStore()

    @pytest.fixture
    def empty(self) -> Store:
        return ReferenceStore()


class TestHdf5Store(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        with Hdf5Store.open(tmp_path / "memory.h5", create=True) as store:
            yield store

    @pytest.fixture
    def empty(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
        with Hdf5Store.open(tmp_path_factory.mktemp("empty") / "memory.h5", create=True) as store:
            yield store

    @pytest.fixture
    def reopen(self, store: Store, tmp_path: Path) -> Iterator[Callable[[], Store]]:
        opened: list[Hdf5Store] = []

        def again() -> Store:
            opened.append(Hdf5Store.open(tmp_path / "memory.h5"))
            return opened[-1]

        yield again
        for each in opened:
            each.close()

    @pytest.fixture(autouse=True)
    def clean(self, store: Store, tmp_path: Path) -> Iterator[None]:
        """Whatever a test did, what it left must check, and at rest there is one file."""
        yield
        assert check_path(tmp_path / "memory.h5") == []
        left = {name for name in os.listdir(tmp_path) if not name.startswith("memory.h5.damaged-")}
        assert left <= {"memory.h5", "memory.h5-wal", "copy"}


KINDS = dict(
    zip("abcdefgh", [Kind.PROMPT, Kind.ANSWER, Kind.CALL, Kind.RESULT, Kind.EVENT] * 2, strict=False)
)


def everything(view: View) -> object:
    """All that a store says, in an order of its own choosing where the contract gives none."""
    columns = view.usage()
    usage = sorted(
        (
            columns.sessions[int(columns.session[n])].facts.id,
            columns.models[int(columns.model[n])],
            int(columns.time[n]),
            int(columns.output[n]),
            int(columns.input[n]),
        )
        for n in range(len(columns.input))
    )
    sessions = [
        (s.facts, s.host, s.entries, s.imported, list(view.entries(s)), list(view.entries(s, last=3)))
        for s in view.sessions()
    ]
    sources = [
        (
            s.file,
            s.cursor,
            s.session,
            s.lines,
            (s.superseded, s.thinned),
            [line.flags for line in view.lines(s)],
            b"".join(source_bytes(s, view.lines(s))),
        )
        for s in view.sources()
    ]
    walks = [_walks(view, row) for row, _ in view.session_rows().items()]
    vectors = {}  # a rewrite keeps every key once
    for model in view.vector_models():
        keys, rows = view.vectors(model)
        vectors[model] = dict(zip(keys.tolist(), rows.tolist(), strict=True))
    derived = [(table, listed(view.derived(table))) for table in view.derived_tables() if table.rows]
    derived = [
        sorted(view.entry_ids(view.replaced().tolist())),
        *(each for each in derived if each[0] != REPLACED),
    ]
    return sessions, sources, usage, view.types(), vectors, walks, derived, view.info().lines


def _walks(view: View, session: int) -> object:
    """A session's own entries, and what stands around each; by id, as rows are an engine's own business."""
    columns = view.session_columns(session, "row", "kind", "flags")
    rows = columns["row"].tolist()
    near = [[each.id for each in view.neighbours(row, 2, 1)] for row in rows]
    turns = [view.entry_ids(view.turn_of(row)) for row in rows]
    return view.entry_ids(rows), columns["kind"].tolist(), columns["flags"].tolist(), near, turns


class Histories(RuleBasedStateMachine):
    """Any sequence of takes, restarts, commits, crashes, reopenings and rewrites."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "memory.h5"
        self.reference = ReferenceStore()
        self.store = Hdf5Store.open(self.path, create=True)

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)

    @rule(
        batches=st.lists(
            st.tuples(
                st.integers(0, 2),  # which source
                st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 9)), max_size=6),
                st.booleans(),  # restart
                st.booleans(),  # ends in a half-written line
                st.sampled_from(list(Provenance)),
                st.integers(0, 2),  # whose session it says it is
            ),
            min_size=1,
            max_size=4,
        ),
        keep=st.booleans(),
    )
    def write(self, batches, keep):
        with self.store.writer() as ours, self.reference.writer() as theirs:
            for which, words, restart, half, whose, claimed in batches:
                lines = [
                    line(
                        word,
                        uuid=word,
                        usage=Usage(word, f"m{output % 2}", 7, output=output),
                        kind=KINDS[word],
                    )
                    for word, output in words
                ]
                lines += [Line(b'{"half', LineFlag.PENDING)] if half else []
                name = f"{which}.jsonl"
                cursor = Cursor(offset=len(words), terminated=not half, waiting=half)
                known = ours.source(HOST, source(name).path)
                file = dataclasses.replace(source(name), provenance=whose)
                session = known.session if known is not None else f"{claimed}-session"
                arguments = (file, HOST, lines, cursor, facts(session, title=name))
                restart = restart and known is not None
                took = ours.take(*arguments, parser=1, restart=restart)
                expected = theirs.take(*arguments, parser=1, restart=restart)
                assert (list(took.known), took.entries) == (list(expected.known), expected.entries)
            if keep:
                ours.commit()
                theirs.commit()

    @rule(
        which=st.integers(0, 1),
        records=st.lists(
            st.tuples(st.sampled_from("abcdef"), st.sampled_from(["", "1", "2", "3"]), st.integers(0, 3)),
            min_size=1,
            max_size=6,
        ),
        document=st.booleans(),
        keep=st.booleans(),
        whose=st.sampled_from(list(Provenance)),
    )
    def replace(self, which, records, document, keep, whose):
        """Records stated again and rewound in a log, or one more version of a document, of one session."""
        lines = [
            said(text, uuid, (uuid,) if uuid and how else (), uuid if how == 3 else "")
            for text, uuid, how in records
        ]
        with self.store.writer() as ours, self.reference.writer() as theirs:
            for writer in (ours, theirs):
                give = save if document else take_lines
                name = f"{which}.{'json' if document else 'log'}"
                give(writer, lines, name=name, id_="replacing", whose=whose)
                if keep:
                    writer.commit()

    @rule(keys=st.lists(st.integers(0, 50), max_size=5), name=st.sampled_from("ab"), keep=st.booleans())
    def embed(self, keys, name, keep):
        model = VectorModel(name, "1", 2)
        rows = np.array([(key, -key) for key in keys], np.float16).reshape(len(keys), 2)
        with self.store.writer() as ours, self.reference.writer() as theirs:
            for writer in (ours, theirs):
                writer.add_vectors(model, np.array(keys, np.uint64), rows)
                if keep:
                    writer.commit()

    @rule(count=st.integers(0, 4), name=st.sampled_from("ab"), keep=st.booleans(), drop=st.booleans())
    def derive(self, count, name, keep, drop):
        table = DerivedTable(name, 1, COLUMNS, Rewrite.CARRY)
        with self.store.writer() as ours, self.reference.writer() as theirs:
            for writer in (ours, theirs):
                if drop:
                    writer.drop_derived(table)
                writer.add_derived(table, some_rows(count, 2 * count), built_to=count)
                if keep:
                    writer.commit()

    @rule()
    def reopen(self):
        self.store.close()
        self.store = Hdf5Store.open(self.path)

    @rule()
    def compact(self):
        self.store.compact()
        self.reference.compact()

    @rule(
        sessions=st.sets(st.integers(0, 4), max_size=2),
        lines=st.sets(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=3),
        evicted=st.sets(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=3),
        keys=st.lists(st.integers(0, 50), max_size=3),
    )
    def leave(self, sessions, lines, evicted, keys):
        """Anything goes: sessions, lines of sources, the bytes of others."""

        def choose(view: View) -> Leaving:
            rows = [row for row, _ in view.session_rows().items()]
            held = [view.line_rows(each).tolist() for each in view.sources()]
            chosen = [
                np.array([held[n][at] for n, at in each if n < len(held) and at < len(held[n])], np.int64)
                for each in (lines, evicted)
            ]
            named = frozenset(rows[n] for n in sessions if n < len(rows))
            return Leaving(named, chosen[0], chosen[1], np.array(keys, np.uint64))

        self.store.compact(choose)
        self.reference.compact(choose)

    @invariant()
    def both_say_the_same(self):
        with self.store.view() as ours, self.reference.view() as theirs:
            assert everything(ours) == everything(theirs)


TestHistories = Histories.TestCase
TestHistories.settings = examples(
    12,
    stateful_step_count=8,
    phases=(Phase.explicit, Phase.generate),  # shrinking such a history takes minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
