"""The vector index: nothing is embedded twice or missing, and it answers what a plain scan would."""

from __future__ import annotations

import contextlib
import hashlib
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.support.children import environment
from tests.support.examples import examples
from tests.support.memories import open_memory

from recollect.memory import Memory
from recollect.search.embed.contract import Vectors
from recollect.search.vectors import index as module
from recollect.search.vectors.index import VectorIndex
from recollect.search.vectors.pieces import pieces_of
from recollect.store.hdf5.engine import Hdf5Store
from recollect.testing.stores import HOST, facts, source
from recollect.values.errors import EmbedderFailed, UsageError
from recollect.values.records import Cursor, Entry, Flag, Kind, Line, Parsed
from recollect.values.stored import VectorModel

DIMS = 8


class Counting:
    """An embedder that counts what it is given. A word's vector is its hash, a text's their sum."""

    name, dims = "counting", DIMS

    def __init__(self, revision: str = "1") -> None:
        self.revision = revision
        self.given: Counter[str] = Counter()
        self.largest = 0

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.given.update(texts)
        self.largest = max(self.largest, len(texts))
        return np.stack([self.encode_query(text) for text in texts]) if texts else np.zeros((0, DIMS), "f4")

    def encode_query(self, text: str, idf: object = None) -> Vectors:
        total = np.zeros(DIMS, np.float32)
        for word in text.encode("utf-8", "surrogatepass").split():
            digest = hashlib.blake2b(word, digest_size=DIMS).digest()
            total += np.frombuffer(digest, np.int8).astype(np.float32)
        length = float(np.linalg.norm(total))
        return total / np.float32(length) if length else total


class World:
    """A store, a cache folder and an embedder."""

    def __init__(self, folder: Path) -> None:
        self.path, self.cache = folder / "memory.h5", folder / "cache"
        self.cache.mkdir()
        self.store = Hdf5Store.open(self.path, create=True)
        self.embedder = Counting()

    def say(self, *texts: str, kind: Kind = Kind.ANSWER, flags: int = 0, name: str = "a.jsonl") -> None:
        with self.store.writer() as writer:
            have = writer.view().info().entries
            lines = [
                Line(f"{have + n}".encode(), 0, Parsed("user", (Entry(kind, text, flags),)))
                for n, text in enumerate(texts)
            ]
            writer.take(source(name), HOST, lines, Cursor(offset=have + 1), facts(name), parser=1)
            writer.commit()

    def reopen(self) -> None:
        """Let go of the file, as a process does that ends; the next one takes it up."""
        self.store.close()
        self.store = Hdf5Store.open(self.path)

    def open(self, embedder: Counting | None = None) -> VectorIndex:
        with self.store.view() as view:
            info = view.info()
        return VectorIndex.open(self.cache, info.id, info.epoch, embedder or self.embedder)

    def caught_up(self, **how: object) -> VectorIndex:
        index = self.open()
        index.catch_up(self.store.view, self.store.writer, **how)
        assert index.stopped == ""
        return index

    def stored(self) -> Counter[int]:
        with self.store.view() as view:
            return Counter(view.vectors(VectorModel("counting", "1", DIMS))[0].tolist())

    def plain(self, query: Vectors) -> list[tuple[float, int]]:
        """(score, -row) of every entry that has pieces, by the definition."""
        found = []
        with self.store.view() as view:
            for stored in view.entry_range(0, view.info().entries):
                pieces = pieces_of(stored.entry)
                if pieces:
                    rows = Counting().encode(pieces).astype(np.float16).astype(np.float32)
                    best = float(np.einsum("ij,j->i", rows, query).max())
                    found.append((best, -stored.row))
        return sorted(found, key=lambda each: (-each[0], each[1]))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.store.close()


def agrees(world: World, index: VectorIndex, words: str, k: int) -> None:
    """Whether an index says what the definition says."""
    query = world.embedder.encode_query(words)
    expected = world.plain(query)
    rows, scores = index.nearest(query, k)
    assert scores.tolist() == [score for score, _ in expected[:k]]
    assert rows.tolist() == [-row for _, row in expected[:k]]
    with world.store.view() as view:
        every = np.arange(view.info().entries)
    exact = index.scores(query, every)
    known = {-row: score for score, row in expected}
    assert [known.get(n) for n in every.tolist()] == [None if np.isnan(s) else float(s) for s in exact]


WORDS = st.lists(st.sampled_from(("ab", "cd", "ef", "gh", "ij", "kl")), min_size=1, max_size=4).map(" ".join)
LONG = st.integers(1, 4).map(lambda n: " ".join(f"w{i % (40 * n)}" for i in range(400 * n)))


@given(
    batches=st.lists(
        st.lists(
            st.tuples(
                WORDS | LONG | st.just("") | st.just("..."),
                st.sampled_from([Kind.PROMPT, Kind.RESULT, Kind.EVENT]),
                st.sampled_from([0, 0, 0, int(Flag.COPY)]),
            ),
            max_size=6,
        ),
        max_size=4,
    ),
    query=WORDS,
    k=st.integers(1, 12),
    rounds=st.integers(1, 5),
)
@examples(25, suppress_health_check=[HealthCheck.too_slow])
def test_nearest_and_scores_are_what_a_plain_scan_gives(tmp_path_factory, batches, query, k, rounds):
    world = World(tmp_path_factory.mktemp("world"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ROUND_ROWS", rounds)
        patch.setattr(module, "EMBED_PIECES", 2)
        for batch in batches:
            for text, kind, flags in batch:
                world.say(text, kind=kind, flags=flags)
            world.caught_up()
    assert set(world.embedder.given.values()) <= {1}, "no piece is embedded twice"
    index = world.caught_up()
    agrees(world, index, query, k)
    agrees(world, world.open(), query, k)
    world.store.close()


def test_of_texts_that_are_equally_near_the_newest_is_chosen(world: World) -> None:
    world.say("ab", "ab ab", "ab ab ab")
    rows, _ = world.caught_up().nearest(world.embedder.encode_query("ab"), 1)
    assert rows.tolist() == [2]


def test_an_empty_store_and_an_index_without_rows_answer_nothing(world: World) -> None:
    query = world.embedder.encode_query("anything")
    for index in (world.open(), world.caught_up()):
        assert index.rows == 0
        assert [len(part) for part in index.nearest(query, 10)] == [0, 0]
        assert np.isnan(index.scores(query, np.array([0, 5]))).all()
        assert index.vector(0).tolist() == [0.0] * DIMS
        assert index.explain()["embedded_entries"] == 0


def test_only_what_is_new_is_embedded_and_repeated_texts_once(world: World) -> None:
    world.say("tests passed", "unique one", "tests   passed\n")
    assert world.caught_up().rows == 3
    world.say(*["tests passed"] * 50, "another")
    index = world.caught_up()
    assert index.rows == 54
    assert world.embedder.given == {"tests passed": 1, "unique one": 1, "another": 1}
    assert set(world.stored().values()) == {1}
    rows, scores = index.nearest(world.embedder.encode_query("tests passed"), 20)
    assert rows.tolist() == list(range(52, 32, -1)), "the newest of equals first"
    assert len(set(scores.tolist())) == 1
    agrees(world, index, "tests passed", 100)


def test_an_entry_counts_once_and_by_its_best_piece(world: World) -> None:
    """However many pieces it has: more of them here than are looked at first."""
    for entry in range(3):
        text = "".join(f"{'ab ' * 400}w{entry}x{n}\n" for n in range(8))
        assert len(pieces_of(Entry(Kind.ANSWER, text))) == 8
        world.say(text)
    world.say("cd ef", "ab gh")
    agrees(world, world.caught_up(), "ab", 5)


def test_a_query_without_words_is_near_to_nothing(world: World) -> None:
    world.say("something")
    assert len(world.caught_up().nearest(np.zeros(DIMS, np.float32), 5)[0]) == 0


def test_an_entrys_vector_is_the_mean_of_its_pieces(world: World) -> None:
    text = " ".join(f"word{n}" for n in range(400))
    world.say("short", text, "")
    index = world.caught_up()
    pieces = pieces_of(Entry(Kind.ANSWER, text))
    assert len(pieces) > 1
    mean = world.embedder.encode(pieces).astype(np.float16).astype(np.float32).sum(axis=0)
    np.testing.assert_allclose(index.vector(1), mean / np.linalg.norm(mean), rtol=1e-5)
    assert index.vector(2).tolist() == index.vector(99).tolist() == [0.0] * DIMS


def test_without_its_cache_it_is_made_again_from_the_stores_vectors(world: World) -> None:
    world.say("one", "two", "one")
    before = world.caught_up()
    shutil.rmtree(world.cache)
    query = world.embedder.encode_query("one")
    assert before.nearest(query, 3)[0].tolist() == [2, 0, 1], "who has it open keeps it"
    index = world.caught_up()
    assert sum(world.embedder.given.values()) == 2
    agrees(world, index, "one", 3)


def test_a_cache_that_goes_away_under_it_ends_it_quietly(world: World) -> None:
    world.say("one", "two")

    def gone(texts: Sequence[str]) -> Vectors:
        shutil.rmtree(world.cache)
        return Counting.encode(world.embedder, texts)

    world.embedder.encode = gone
    index = world.open()
    assert index.catch_up(world.store.view, world.store.writer) == 0
    assert index.stopped
    del world.embedder.encode
    agrees(world, world.caught_up(), "one", 2)
    assert sum(world.embedder.given.values()) == 2, "what was committed is not embedded again"


@pytest.mark.parametrize("when", ["before the commit", "after the commit", "before the map"])
def test_what_was_committed_is_never_embedded_again(world: World, monkeypatch, when: str) -> None:
    world.say(*(f"text {n}" for n in range(10)))
    index = world.open()
    with monkeypatch.context() as patch:
        if when == "before the commit":
            patch.setattr(module._CatchingUp, "_commit", _killed)
        elif when == "after the commit":
            patch.setattr(module._CatchingUp, "_keep", _killed)
        else:
            patch.setattr(module._CatchingUp, "_map", _killed)
        with pytest.raises(KeyboardInterrupt):
            index.catch_up(world.store.view, world.store.writer)
    agrees(world, world.caught_up(), "text 3", 4)
    assert set(world.embedder.given.values()) == {2 if when == "before the commit" else 1}
    assert set(world.stored().values()) == {1}


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_busy_store_ends_it_quietly_and_it_goes_on_later(world: World, monkeypatch) -> None:
    monkeypatch.setattr(module, "WRITER_SECONDS", 0.01)
    world.say("one", "two")
    index = world.open()
    with Hdf5Store(world.path) as other, other.writer():
        assert index.catch_up(world.store.view, world.store.writer) == 0
    assert "memory.h5" in index.stopped
    assert index.explain()["stopped"] == index.stopped
    agrees(world, world.caught_up(), "one", 2)


def test_an_embedder_that_fails_ends_it_quietly_and_keeps_what_it_gave(world: World, monkeypatch) -> None:
    monkeypatch.setattr(module, "EMBED_PIECES", 1)
    monkeypatch.setattr(module, "COMMIT_VECTORS", 1)
    world.say("one", "two", "three")

    def failing(texts: Sequence[str]) -> Vectors:
        if "three" in texts:
            raise EmbedderFailed("the endpoint is down", hint="start it")
        return Counting.encode(world.embedder, texts)

    world.embedder.encode = failing
    index = world.open()
    index.catch_up(world.store.view, world.store.writer)
    assert index.stopped == "the endpoint is down"
    assert len(world.stored()) == 2
    del world.embedder.encode
    agrees(world, world.caught_up(), "three", 3)
    assert world.embedder.given == {"one": 1, "two": 1, "three": 1}


def test_what_another_cache_embedded_meanwhile_is_not_stored_twice(world: World, tmp_path: Path) -> None:
    world.say("one", "two")

    def overtaken(texts: Sequence[str]) -> Vectors:
        del world.embedder.encode
        (tmp_path / "other").mkdir()
        with Hdf5Store(world.path) as store:
            with store.view() as view:
                info = view.info()
            other = VectorIndex.open(tmp_path / "other", info.id, info.epoch, Counting())
            assert other.catch_up(store.view, store.writer) == 2
        return world.embedder.encode(texts)

    world.embedder.encode = overtaken
    agrees(world, world.caught_up(), "one", 2)
    assert set(world.stored().values()) == {1}


def test_another_process_at_it_is_not_waited_for(world: World) -> None:
    world.say("one")
    index = world.open()
    with index._place.lock() as ours:
        assert ours
        assert world.open().catch_up(world.store.view, world.store.writer) == 0
    assert world.caught_up().rows == 1


def test_a_deadline_is_kept_and_every_try_gets_further(world: World, monkeypatch) -> None:
    monkeypatch.setattr(module, "EMBED_PIECES_HURRIED", 2)
    world.say(*(f"text {n}" for n in range(20)))
    index = world.open()
    assert index.catch_up(world.store.view, world.store.writer, deadline=time.monotonic() - 1) == 0
    now = iter(range(10_000))
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    reached = [0]
    while reached[-1] < 20:
        # The first look at the clock is in time, every other is not.
        reached.append(index.catch_up(world.store.view, world.store.writer, deadline=next(now) + 2))
        assert reached[-1] - reached[-2] == 2
    assert set(world.embedder.given.values()) == {1}


def test_work_is_done_in_portions(world: World, monkeypatch) -> None:
    monkeypatch.setattr(module, "ROUND_CHARS", 3000)
    monkeypatch.setattr(module, "EMBED_PIECES", 4)
    monkeypatch.setattr(module, "COMMIT_VECTORS", 8)
    commits, held, told = [], [], []

    @contextlib.contextmanager
    def writers(**how: object) -> Iterator[object]:
        with world.store.writer(**how) as writer:
            commits.append(1)
            yield writer

    reads = module._read

    def read(*arguments):
        found = reads(*arguments)
        held.append(sum(map(len, found[1])))
        return found

    monkeypatch.setattr(module, "_read", read)
    world.say(*(f"{n} " + "word " * 100 for n in range(40)))
    index = world.open()
    index.catch_up(world.store.view, writers, progress=lambda *done: told.append(done))
    assert index.rows == 40
    assert max(held) < 3000 + 600
    assert world.embedder.largest == 4
    assert len(commits) == len(held) == len(told)
    assert told[-1] == (40, 40)
    assert [done for done, _ in told] == sorted({done for done, _ in told})


def test_no_view_is_open_while_texts_are_embedded(world: World) -> None:
    world.say("one", "two")
    open_views = 0

    @contextlib.contextmanager
    def views() -> Iterator[object]:
        nonlocal open_views
        with world.store.view() as view:
            open_views += 1
            yield view
            open_views -= 1

    def encode(texts: Sequence[str]) -> Vectors:
        assert open_views == 0
        return Counting.encode(world.embedder, texts)

    world.embedder.encode = encode
    assert world.open().catch_up(views, world.store.writer) == 2


def test_another_revision_starts_afresh_and_each_model_keeps_its_own(world: World) -> None:
    world.say("one", "two")
    world.caught_up()
    newer = Counting("2")
    index = world.open(newer)
    assert index.rows == 0
    index.catch_up(world.store.view, world.store.writer)
    assert newer.given == {"one": 1, "two": 1}
    with world.store.view() as view:
        assert [(m.revision, m.rows) for m in view.vector_models()] == [("1", 2), ("2", 2)]
    back = world.caught_up()
    agrees(world, back, "two", 2)
    assert set(world.embedder.given.values()) == {1}


@pytest.mark.parametrize("rewrite", [Memory.compact, Memory.reparse], ids=lambda f: f.__name__)
def test_a_rewritten_store_keeps_its_vectors_and_makes_the_map_again(world: World, rewrite) -> None:
    world.say("one", "two", "one")
    stale = world.caught_up()
    world.reopen()
    with open_memory(world.path) as memory:
        rewrite(memory)
    assert stale.catch_up(world.store.view, world.store.writer) == 3, "of the old epoch it stays as it was"
    assert world.open().rows == 0
    index = world.caught_up()
    assert set(world.embedder.given.values()) == {1}
    stale.catch_up(world.store.view, world.store.writer)
    assert world.open().rows == 3, "and it leaves the new one alone"
    agrees(world, index, "two", 3)


def test_a_rewrite_under_way_ends_it(world: World, monkeypatch) -> None:
    """Rows of another epoch mean nothing to it; what it embedded is good for the next."""
    monkeypatch.setattr(module, "ROUND_ROWS", 1)
    world.say("one", "two", "three")

    def rewritten(texts: Sequence[str]) -> Vectors:
        del world.embedder.encode
        with open_memory(world.path) as memory:
            memory.compact()
        return world.embedder.encode(texts)

    world.embedder.encode = rewritten
    assert world.open().catch_up(world.store.view, world.store.writer) == 1
    agrees(world, world.caught_up(), "two", 3)
    assert set(world.embedder.given.values()) == {1}


KEYS = st.lists(st.sampled_from([n << 20 | low for n in range(4) for low in (0, 7)] + [2**64 - 1]))


@given(held=KEYS.map(lambda keys: list(dict.fromkeys(keys))), keys=KEYS)
def test_keys_are_found_whatever_they_share(held: list[int], keys: list[int]) -> None:
    found = module._find(np.array(held, np.uint64), np.array(keys, np.uint64))
    assert found.tolist() == [held.index(key) if key in held else -1 for key in keys]


def test_vectors_that_the_store_lost_are_embedded_again(world: World, monkeypatch) -> None:
    world.say("one", "two", "three")
    world.caught_up()
    shutil.rmtree(world.cache)
    lost = world.stored().keys() - {*list(world.stored())[1:]}

    @contextlib.contextmanager
    def views() -> Iterator[object]:
        with world.store.view() as view:
            read = view.vectors

            def damaged(*arguments):
                keys, rows = read(*arguments)
                good = [n for n, key in enumerate(keys.tolist()) if key not in lost]
                return keys[good], rows[good]

            with monkeypatch.context() as patch:
                patch.setattr(view, "vectors", damaged)
                yield view

    index = world.open()
    assert index.catch_up(views, world.store.writer) == 3
    assert sorted(world.embedder.given.values()) == [1, 1, 2]
    assert sorted(world.stored().values()) == [1, 1, 2], "in the store a key may occur twice"
    agrees(world, index, "one", 3)


@pytest.mark.parametrize("file", ["vectors", "keys", "pieces", "owners", "previous", "ends", "reach.json"])
@pytest.mark.parametrize("how", ["cut", "gone", "zeros"])
def test_a_damaged_cache_is_made_again(world: World, file: str, how: str) -> None:
    world.say("one", "two", "one", "four")
    world.caught_up()
    (path,) = world.cache.glob(f"*/{file}")
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(data[:-1] if how == "cut" else bytes(len(data)))
    index = world.caught_up()
    agrees(world, index, "one", 4)
    assert set(world.embedder.given.values()) == {1}


def test_an_unknown_strategy_is_told(world: World) -> None:
    world.say("one")
    with pytest.raises(UsageError):
        world.caught_up().nearest(world.embedder.encode_query("one"), 1, "magic")


def test_a_reader_sees_the_old_state_until_it_looks_again(world: World) -> None:
    world.say("one", "two")
    reader = world.caught_up()
    world.say("three", "one")
    world.caught_up()
    query = world.embedder.encode_query("one")
    assert reader.nearest(query, 9)[0].tolist()[:1] == [0]
    assert reader.rows == 2
    reader.reload()
    assert reader.rows == 4
    agrees(world, reader, "one", 4)


def test_one_process_searches_while_another_indexes(world: World) -> None:
    world.say(*(f"text {n % 300} and {n}" for n in range(600)))
    world.reopen()
    reader, query, reached = world.open(), world.embedder.encode_query("text 7 and 7"), [0]
    with subprocess.Popen(command(world), env=environment(), stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for _ in child.stdout:
            reader.reload()
            rows, scores = reader.nearest(query, 20)
            assert len(rows) == min(20, reader.rows)
            assert (rows < reader.rows).all()
            assert reader.scores(query, rows).tolist() == scores.tolist()
            reached.append(reader.rows)
    reader.reload()
    assert reached == sorted(reached)
    assert 0 < min(filter(None, reached)) <= reader.rows == 600
    agrees(world, reader, "text 7 and 7", 20)


CHILD = """
import sys
from pathlib import Path
from tests.search.vectors.test_index import Counting, VectorIndex, module
from recollect.store.hdf5.engine import Hdf5Store
module.ROUND_ROWS, module.EMBED_PIECES, module.COMMIT_VECTORS = 40, 5, 15
store = Hdf5Store.open(Path(sys.argv[1]))
with store.view() as view:
    info = view.info()
index = VectorIndex.open(Path(sys.argv[2]), info.id, info.epoch, Counting())
print("ready", flush=True)
index.catch_up(store.view, store.writer, progress=lambda done, total: print(done, flush=True))
"""


def command(world: World) -> list[str]:
    return [sys.executable, "-c", CHILD, str(world.path), str(world.cache)]


def test_killed_at_any_moment_it_goes_on_where_it_was(world: World) -> None:
    """Real processes, killed without warning; at the end nothing is missing and nothing is there twice."""
    world.say(*(f"text {n % 300} and {n}" for n in range(600)))
    world.reopen()
    chance, reached = random.Random(4), [0]
    for _ in range(6):
        with subprocess.Popen(command(world), env=environment(), stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for _ in range(chance.randint(1, 4)):
                child.stdout.readline()
            time.sleep(chance.random() * 0.02)
            child.send_signal(signal.SIGKILL)
        reached.append(world.open().rows)
    assert reached == sorted(reached)
    assert 0 < reached[-1] <= 600
    agrees(world, world.caught_up(), "text 7 and", 30)
    assert set(world.stored().values()) == {1}
    assert len(world.stored()) == 600
