"""The text index: every row once, whatever happens, and found by what it says and is."""

from __future__ import annotations

import itertools
import math
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import tantivy
from hypothesis import given
from hypothesis import strategies as st
from tests.search.text.talk import Talk, having, line
from tests.support.children import environment
from tests.support.examples import examples
from tests.support.memories import scratch

from recollect.search.text import documents
from recollect.search.text import index as module
from recollect.search.text.index import TextIndex
from recollect.store.hdf5.engine import Hdf5Store
from recollect.testing.stores import take
from recollect.values.records import Entry, Flag, Kind

Query = tantivy.Query


@pytest.fixture
def talk() -> Talk:
    return Talk()


@pytest.fixture
def index(folder: Path) -> TextIndex:
    return opened(folder)


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit for every three rows."""
    monkeypatch.setattr(documents, "BATCH_ROWS", 3)
    monkeypatch.setattr(module, "FIRST_COMMIT_SECONDS", 0)


def opened(folder: Path, store: str = "5701e", epoch: int = 0) -> TextIndex:
    return TextIndex.open(folder / "cache", store, epoch)


def caught_up(index: TextIndex, talk: Talk, **more: float) -> int:
    with talk.view() as view:
        return index.catch_up(view, **more)


def every_row(index: TextIndex) -> list[int]:
    return sorted(index.newest(Query.all_query(), 1 << 16).rows.tolist())


class TestCatchingUp:
    def test_what_is_new_is_found(self, index: TextIndex, talk: Talk) -> None:
        assert (index.rows, caught_up(index, talk)) == (0, 0)
        talk.say("the lamp is broken", "the fern is fine")
        assert caught_up(index, talk) == index.rows == 2
        assert having(index, "lamp") == [0]
        talk.say("another lamp")
        assert caught_up(index, talk) == 3
        assert having(index, "lamps") == [0, 2]

    def test_each_row_is_in_it_once(self, folder: Path, talk: Talk, small_steps: None) -> None:
        for _ in range(5):
            talk.say(*(f"lamp {n}" for n in range(talk.lines, talk.lines + 7)))
            index = opened(folder)
            caught_up(index, talk)
            assert every_row(index) == list(range(talk.lines))

    def test_copies_count_as_indexed_and_are_not_found(
        self, folder: Path, index: TextIndex, talk: Talk
    ) -> None:
        talk.say("lamp", "lamp")
        talk.say("lamp two", flags=Flag.COPY)
        talk.say("lamp three", flags=Flag.INJECTED)
        assert caught_up(index, talk) == opened(folder).rows == 4
        assert every_row(index) == [0, 1]

    def test_another_process_sees_it_on_reload(self, folder: Path, index: TextIndex, talk: Talk) -> None:
        other = opened(folder)
        talk.say("lamp")
        caught_up(index, talk)
        assert (other.rows, having(other, "lamp")) == (0, [])
        other.reload()
        assert (other.rows, having(other, "lamp")) == (1, [0])

    def test_it_stops_at_its_deadline_with_all_it_did(
        self, index: TextIndex, talk: Talk, small_steps: None
    ) -> None:
        talk.say(*(f"lamp {n}" for n in range(10)))
        reached = [caught_up(index, talk, deadline=time.monotonic()) for _ in range(4)]
        assert reached == [3, 6, 9, 10]
        assert every_row(index) == list(range(10))

    def test_it_says_how_far_it_is(self, index: TextIndex, talk: Talk, small_steps: None) -> None:
        talk.say(*(f"lamp {n}" for n in range(7)))
        told: list[tuple[int, int]] = []
        with talk.view() as view:
            index.catch_up(view, progress=lambda done, total: told.append((done, total)))
        assert told == [(3, 7), (6, 7), (7, 7)]

    def test_while_another_is_at_it_nobody_waits(self, folder: Path, index: TextIndex, talk: Talk) -> None:
        talk.say("lamp")
        other = opened(folder)
        with other._place.lock() as held:
            assert held
            assert caught_up(index, talk) == 0
        assert caught_up(index, talk) == 1

    def test_a_line_is_never_cut_in_two(
        self, index: TextIndex, talk: Talk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whether an entry has an image only the rest of its line can tell."""
        monkeypatch.setattr(documents, "BATCH_ROWS", 1)
        talk.add(
            line(Entry(Kind.PROMPT, "look at this lamp"), Entry(Kind.IMAGE), number=1),
            line(Entry(Kind.PROMPT, "a lamp without"), number=2),
        )
        caught_up(index, talk)
        assert having(index, "image", "flag") == [0, 1]

    def test_no_more_segments_than_a_search_can_bear(self, folder: Path, talk: Talk) -> None:
        for n in range(module.SEGMENTS_MAX * 2):
            talk.say(f"lamp {n}")
            caught_up(opened(folder), talk)
        index = opened(folder)
        assert index._now.searcher.num_segments <= module.SEGMENTS_MAX
        assert every_row(index) == list(range(talk.lines))

    def test_what_a_view_cannot_read_is_for_its_reader_to_hear(self, index: TextIndex, talk: Talk) -> None:
        talk.say("lamp")

        def broken(start: int, stop: int) -> Iterator[None]:
            raise ValueError("unreadable")

        with talk.view() as view, pytest.MonkeyPatch.context() as patch:
            patch.setattr(view, "entry_range", broken)
            with pytest.raises(ValueError, match="unreadable"):
                index.catch_up(view)
        assert caught_up(index, talk) == 1


class TestFit:
    """An index that is not this store's, not whole or not there is an empty one."""

    @pytest.mark.parametrize(("store", "epoch"), [("5701e", 1), ("0ther", 0)])
    def test_of_another_store_or_epoch(self, folder: Path, talk: Talk, store: str, epoch: int) -> None:
        talk.say("lamp")
        caught_up(opened(folder), talk)
        other = opened(folder, store, epoch)
        assert (other.rows, every_row(other)) == (0, [])

    def test_a_view_of_another_epoch_is_not_indexed(self, folder: Path, talk: Talk) -> None:
        talk.say("lamp")
        assert caught_up(opened(folder, epoch=1), talk) == 0

    def test_of_another_format(self, folder: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
        talk.say("lamp")
        caught_up(opened(folder), talk)
        monkeypatch.setattr(TextIndex, "FORMAT", TextIndex.FORMAT + 1)
        index = opened(folder)
        assert index.rows == 0
        assert caught_up(index, talk) == 1
        assert len(list((folder / "cache").glob("text-*"))) == 1

    def test_deleted_while_open(self, folder: Path, index: TextIndex, talk: Talk) -> None:
        talk.say("lamp", "fern")
        caught_up(index, talk)
        other = opened(folder)
        shutil.rmtree(folder / "cache")
        assert having(other, "lamp") == [0]
        other.reload()
        assert (other.rows, having(other, "lamp")) == (0, [])
        assert caught_up(index, talk) == 2
        assert (having(index, "lamp"), caught_up(other, talk), having(other, "fern")) == ([0], 2, [1])

    def test_deleted_while_being_built(
        self, folder: Path, index: TextIndex, talk: Talk, small_steps: None
    ) -> None:
        talk.say(*(f"lamp {n}" for n in range(10)))
        with talk.view() as view:
            index.catch_up(
                view, progress=lambda done, total: shutil.rmtree(folder / "cache", ignore_errors=True)
            )
        assert caught_up(index, talk) == 10
        assert every_row(opened(folder)) == list(range(10))

    @pytest.mark.skipif(os.name != "posix" or not os.getuid(), reason="root may write anywhere")
    def test_where_nothing_can_be_written(self, folder: Path, talk: Talk) -> None:
        talk.say("lamp")
        folder.chmod(0o500)
        assert caught_up(opened(folder), talk) == 0

    def test_where_a_file_is_in_the_way(self, folder: Path, talk: Talk) -> None:
        talk.say("lamp")
        (folder / "cache").write_text("")
        index = opened(folder)
        assert (caught_up(index, talk), having(index, "lamp")) == (0, [])

    def test_its_files_are_its_owners_alone(self, folder: Path, index: TextIndex, talk: Talk) -> None:
        talk.say("lamp")
        caught_up(index, talk)
        made = list((folder / "cache").rglob("*"))
        assert {stat.S_IMODE(each.stat().st_mode) for each in made} == {0o600, 0o700}

    def test_rows_it_cannot_have_are_damage(self, folder: Path, index: TextIndex, talk: Talk) -> None:
        talk.say("lamp", "fern")
        caught_up(index, talk)
        index._now.rows = 1
        assert (having(index, "fern"), index.rows, opened(folder).rows) == ([], 0, 0)
        assert caught_up(index, talk) == 2

    def test_a_commit_that_a_power_cut_undid_is_made_again(
        self, folder: Path, index: TextIndex, talk: Talk
    ) -> None:
        """tantivy does not sync the folder after its last rename; what we note beside it may be newer."""
        talk.say("lamp")
        caught_up(index, talk)
        (meta,) = (folder / "cache").rglob("meta.json")
        before = meta.read_bytes()
        talk.say("fern", "lamp again")
        caught_up(index, talk)
        meta.write_bytes(before)
        again = opened(folder)
        assert again.rows == 1
        assert caught_up(again, talk) == 3
        assert having(again, "fern") == [1]

    def test_a_damaged_schema_is_no_mistake_of_the_question(self, folder: Path) -> None:
        talk = Talk()
        talk.say("lamp")
        caught_up(opened(folder), talk)
        (meta,) = folder.rglob("meta.json")
        meta.write_text(meta.read_text().replace('"fast": true', '"fast": false'))
        index = opened(folder)
        assert having(index, "lamp") == []
        assert caught_up(index, talk) == 1
        assert having(index, "lamp") == [0]

    @examples(40)
    @given(st.randoms(use_true_random=False), st.sampled_from(["delete", "cut", "flip", "junk"]))
    def test_damaged(self, chance: random.Random, how: str) -> None:
        """Any damage costs answers at most: no error, and what is seen to be damaged is built again."""
        talk = Talk()
        talk.say(*(f"lamp {n} moss_{n}.py" for n in range(20)))
        with scratch() as folder:
            caught_up(opened(folder), talk)
            damage(chance, how, chance.choice(sorted(p for p in folder.rglob("*") if p.is_file())))
            index = opened(folder)
            having(index, "lamp")
            index.search(Query.phrase_query(index.schema, "body", ["lamp", "3"]), 5)
            talk.say("lamp at last")
            reached = caught_up(index, talk)
            # tantivy does not check its files bit by bit: a flipped one can be any number.
            assert reached == 21 or how == "flip"
            assert index.count(Query.all_query()) <= 21
            having(index, "last")


def damage(chance: random.Random, how: str, path: Path) -> None:
    data = bytearray(path.read_bytes())
    at = chance.randrange(len(data)) if data else 0
    if how == "delete":
        path.unlink()
    elif how == "cut":
        path.write_bytes(data[:at])
    elif how == "flip" and data:
        data[at] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
    elif how == "junk":
        path.write_bytes(chance.randbytes(len(data)))


class TestAsking:
    def test_words_are_found_by_their_stem_case_and_accent(self, index: TextIndex, talk: Talk) -> None:
        talk.say("Naïve Tokens EXPIRED", "x" * 100 + " token")
        caught_up(index, talk)
        assert having(index, "naive") == [0]
        assert having(index, "token") == [0, 1]
        assert having(index, "expire") == [0]
        assert index.analyze("body", "x" * 100) == []

    def test_identifiers_whole_and_by_their_parts(self, index: TextIndex, talk: Talk) -> None:
        talk.say("open src/auth/token_store.py", "def getUserName():", "token store py, get user name")
        caught_up(index, talk)
        assert having(index, "src/auth/token_store.py", "whole") == [0]
        assert having(index, "Token_Store.py", "whole") == [0]
        assert having(index, "getUserName") == [1]
        assert having(index, "user names", "parts") == [1]
        assert having(index, "数据", "cjk") == []

    def test_chinese_by_pairs(self, index: TextIndex, talk: Talk) -> None:
        talk.say("连接数据库失败", "数一数据点", "一个")
        caught_up(index, talk)
        assert having(index, "数据库", "cjk") == [0]
        assert having(index, "数据", "cjk") == [0, 1]
        assert having(index, "个", "cjk") == [2]

    def test_facts_filter(self, index: TextIndex, talk: Talk) -> None:
        edit = Entry(Kind.CALL, '{"file_path":"/src/auth/Token.py"}', Flag.SIDECHAIN, 5, "Edit", "", "Opus-4")
        grep = Entry(Kind.CALL, '{"path":"/src/auth"}', 0, 6, "Grep")
        talk.add(line(edit, number=1, type_="Assistant"), line(grep, number=2), id_="3f2a0000-aaaa")
        talk.add(line(Entry(Kind.RESULT, "failed", Flag.ERROR, 7), number=3), id_="77c10000-bbbb")
        caught_up(index, talk)
        for field, value, rows in [
            ("tool", "edit", [0]),
            ("model", "opus-4", [0]),
            ("type", "assistant", [0]),
            ("flag", "error", [2]),
            ("flag", "sidechain", [0]),
            ("file", "token.py", [0]),
            ("file", "auth/token.py", [0]),
            ("file", "src/auth", [1]),
            ("file", "oken.py", []),
            ("dir", "auth", [0, 1]),
            ("dir", "src", [0, 1]),
        ]:
            assert having(index, value, field) == rows, (field, value)
        for field, number, rows in [
            ("session", 0, [0, 1]),
            ("session", 1, [2]),
            ("kind", 5, [2]),
            ("row", 1, [1]),
        ]:
            found = index.search(Query.term_query(index.schema, field, number), 10)
            assert sorted(found.rows.tolist()) == rows
        late = Query.range_query(index.schema, "time", tantivy.FieldType.Integer, 6, 7, include_upper=False)
        found = index.search(late, 10)
        assert [found.rows.tolist(), found.times.tolist(), found.kinds.tolist()] == [[1], [6], [4]]

    def test_best_first_and_of_equals_the_newest(
        self, index: TextIndex, talk: Talk, small_steps: None
    ) -> None:
        talk.say(*("lamp fern" for _ in range(30)), "lamp lamp lamp", *("lamp fern" for _ in range(30)))
        caught_up(index, talk)
        query = Query.term_query(index.schema, "body", "lamp")
        assert index.search(query, 4).rows.tolist() == [30, 60, 59, 58]
        assert index.search(query, 4).scores.tolist() == sorted(index.search(query, 4).scores.tolist())[::-1]
        assert [len(index.search(query, n)) for n in (0, 1, 100)] == [0, 1, 61]

    def test_the_same_hits_however_it_was_built(
        self, folder: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        chance = random.Random(3)
        words = ["lamp", "fern", "moss", "slate", "harbor", "tide"]
        talk.say(*(" ".join(chance.choices(words, k=chance.randrange(1, 12))) for _ in range(300)))
        answers = []
        for name, step in itertools.product("ab", (7, 1000)):
            monkeypatch.setattr(documents, "BATCH_ROWS", step)
            monkeypatch.setattr(module, "FIRST_COMMIT_SECONDS", 0)
            index = TextIndex.open(folder / f"{name}{step}", "5701e", 0)
            caught_up(index, talk)
            clauses = [
                (tantivy.Occur.Should, Query.term_query(index.schema, "body", word)) for word in words[:4]
            ]
            found = index.search(Query.boolean_query(clauses), 40)
            answers.append((found.rows.tolist(), found.scores.tolist()))
        assert answers[1:] == answers[:-1]

    def test_newest_goes_by_time_then_row(self, index: TextIndex, talk: Talk) -> None:
        talk.add(*(line(Entry(Kind.PROMPT, "lamp", 0, ms), number=n) for n, ms in enumerate((9, 5, 9, 1))))
        caught_up(index, talk)
        found = index.newest(Query.all_query(), 3)
        assert (found.rows.tolist(), found.scores.tolist()) == ([2, 0, 1], [0.0, 0.0, 0.0])

    def test_rare_words_weigh_more(self, index: TextIndex, talk: Talk) -> None:
        talk.say("the lamp", "the fern", "the moss", "the_lamps.py")
        caught_up(index, talk)
        assert 0 < index.idf("the") < index.idf("lamps") < index.idf("fern") < index.idf("unknown")
        assert index.idf("unknown") == index.idf("") == pytest.approx(math.log(1 + 4.5 / 0.5))
        assert (index.frequency("body", "lamp"), index.frequency("whole", "the_lamps.py")) == (2, 1)

    def test_terms_by_their_beginning(self, index: TextIndex, talk: Talk) -> None:
        edits = [Entry(Kind.CALL, "{}", tool=tool) for tool in ("Edit", "Edit", "Exec", "Bash")]
        talk.add(*(line(each, number=n) for n, each in enumerate(edits)))
        caught_up(index, talk)
        assert index.terms("tool", "e", 5) == [("edit", 2), ("exec", 1)]

    def test_a_wrong_question_costs_the_index_nothing(self, index: TextIndex, talk: Talk) -> None:
        talk.say("lamp")
        caught_up(index, talk)
        with pytest.raises(ValueError, match="positions"):
            index.search(Query.phrase_query(index.schema, "whole", ["a", "b"]), 5)
        assert having(index, "lamp") == [0]

    @examples(50)
    @given(st.text(st.characters(exclude_categories=[])))
    def test_any_text_can_be_indexed_and_asked_for(self, text: str) -> None:
        talk = Talk()
        talk.say(text)
        with scratch() as folder:
            index = opened(folder)
            assert caught_up(index, talk) == 1
            for field in ("body", "whole", "cjk"):
                terms = index.analyze(field, text)
                assert not terms or having(index, text, field) == [0]


class TestTogether:
    def test_a_thread_searches_while_another_catches_up(
        self, index: TextIndex, talk: Talk, small_steps: None
    ) -> None:
        talk.say(*(f"lamp {n}" for n in range(100)))
        counts: list[int] = []
        failures: list[BaseException] = []
        done = threading.Event()

        def ask() -> None:
            try:
                while not done.is_set():
                    counts.append(len(having(index, "lamp")))
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=ask)
        thread.start()
        caught_up(index, talk)
        done.set()
        thread.join()
        assert (failures, counts) == ([], sorted(counts))
        assert having(index, "lamp") == list(range(100))

    def test_killed_between_a_commit_and_its_note(
        self, folder: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        talk.say("lamp", "fern")

        def die(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(module, "write_stamp", die)
        with pytest.raises(KeyboardInterrupt):
            caught_up(opened(folder), talk)
        monkeypatch.undo()
        talk.say("moss")
        index = opened(folder)
        assert index.rows == 2
        caught_up(index, talk)
        assert every_row(index) == [0, 1, 2]

    @pytest.mark.parametrize("seed", range(6))
    def test_killed_at_any_moment(self, folder: Path, seed: int) -> None:
        """A child is killed while it indexes, several times over: nothing twice, nothing missing."""
        make_store(folder, 600)
        chance = random.Random(seed)
        for _ in range(4):
            with child(folder) as process:
                assert process.stdout is not None
                for _ in range(chance.randrange(1, 12)):
                    process.stdout.readline()
                time.sleep(chance.random() / 200)
                process.send_signal(signal.SIGKILL)
        with Hdf5Store.open(folder / "memory.h5") as store, store.view() as view:
            index = opened(folder)
            rows = every_row(index)
            assert rows == list(range(len(rows)))
            assert index.catch_up(view) == 600
        assert every_row(index) == list(range(600))

    def test_two_processes_search_while_one_indexes(self, folder: Path) -> None:
        make_store(folder, 300)
        readers = [opened(folder), opened(folder)]
        seen = [0, 0]
        with child(folder) as process:
            busy = True
            while busy:
                busy = process.poll() is None
                for n, reader in enumerate(readers):
                    reader.reload()
                    rows = having(reader, "lamp")
                    assert rows == list(range(len(rows)))
                    assert len(rows) >= seen[n]
                    seen[n] = len(rows)
        assert (process.returncode, seen) == (0, [300, 300])


def make_store(folder: Path, rows: int) -> None:
    with Hdf5Store.open(folder / "memory.h5", create=True) as store, store.writer() as writer:
        take(writer, [line(Entry(Kind.PROMPT, f"lamp {n}"), number=n) for n in range(rows)])
        writer.commit()


CHILD = """
import sys
from pathlib import Path
from recollect.search.text import documents, index as text
from recollect.store.hdf5.engine import Hdf5Store
documents.BATCH_ROWS, text.FIRST_COMMIT_SECONDS = 20, 0
folder = Path(sys.argv[1])
with Hdf5Store.open(folder / "memory.h5") as store, store.view() as view:
    index = text.TextIndex.open(folder / "cache", "5701e", 0)
    index.catch_up(view, progress=lambda done, total: print(done, flush=True))
"""


@contextmanager
def child(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that indexes a store in small steps, saying each."""
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder)], stdout=subprocess.PIPE, env=environment()
    )
    with process:
        try:
            yield process
        finally:
            process.kill()
