"""Indexes follow the store by themselves; whatever happens to them costs time and nothing else."""

from __future__ import annotations

import contextlib
import json
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.children import environment
from tests.support.commands import Answer
from tests.support.memories import memory_at

from recollect.intake.discover import discover
from recollect.memory import Memory
from recollect.search.cache_folder import Place
from recollect.values.records import Segment

WORKER = Path(__file__).parent / "worker.py"
HITS = ("lamp", '"fern 2"', "17 -moss OR 18", "session:3f2a0000-0000-4000-8000-000000000003", "/1. fern 2/")
SUBJECTS = (
    "the database migration failed",
    "the button needs another colour",
    "train the network",
    "bake bread",
)


class Logs:
    """Transcripts that grow."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "projects" / "-home-ada-harbor"
        self.folder.mkdir(parents=True)

    def say(self, *texts: str, session: int = 1) -> Path:
        """Add prompts to a session."""
        path = self.folder / f"3f2a0000-0000-4000-8000-{session:012}.jsonl"
        with path.open("a") as file:
            for text in texts:
                file.write(json.dumps(self._record(path.stem, text, file.tell())) + "\n")
        return path

    def _record(self, session: str, text: str, at: int) -> dict[str, object]:
        return {
            "type": "user",
            "uuid": f"00000000-0000-4000-8000-{at:012}",
            "sessionId": session,
            "cwd": "/home/ada/harbor",
            "timestamp": "2026-03-02T09:00:00.000Z",
            "version": "2.1.150",
            "message": {"role": "user", "content": text},
        }


@pytest.fixture
def logs(folder: Path) -> Logs:
    return Logs(folder)


@pytest.fixture
def filled(folder: Path, logs: Logs) -> Path:
    """A store of a few hundred prompts, nothing of it indexed; sessions took turns in growing."""
    with memory_at(folder) as memory:
        for turn in range(2):
            for session, subject in enumerate(SUBJECTS, 1):
                texts = (f"{subject}, lamp {n} fern {session} moss" for n in range(turn, 60, 2))
                logs.say(*texts, session=session)
            memory.ingest([logs.folder])
    return folder


def found(memory: Memory, query: str = "lamp", **words: object) -> list[str]:
    ids = [hit.id for hit in memory.search(query, limit=10_000, collapse=False, **words).hits]
    assert len(set(ids)) == len(ids)
    return ids


def answers(memory: Memory) -> dict[str, list[str]]:
    """What several queries find, in order, once everything is indexed."""
    memory.index()
    by_words = {query: found(memory, query, mode="text") for query in HITS}
    nearest = {
        subject: [hit.stored.session for hit in memory.search(subject, mode="vector", collapse=False).hits]
        for subject in SUBJECTS
    }
    return by_words | nearest | {"both": found(memory)}


def unordered(told: dict[str, list[str]]) -> dict[str, list[str]]:
    """The same whatever the numbers of rows: of equal hits the newest row comes first."""
    return {query: sorted(ids) for query, ids in told.items()}


class TestFresh:
    """What was ingested is found, by every process that searches, at once."""

    def test_right_after_an_ingest(self, folder: Path, logs: Logs) -> None:
        with memory_at(folder) as memory, memory_at(folder) as other:
            memory.ingest([logs.say("the lamp is broken")])
            assert len(found(memory)) == len(found(other)) == 1
            memory.ingest([logs.say("another lamp", session=2)])
            assert len(found(other)) == len(found(memory)) == 2
            assert memory.search("lamp").fresh.unindexed == 0

    def test_an_empty_store_finds_nothing(self, folder: Path) -> None:
        with memory_at(folder) as memory:
            results = memory.search("lamp")
            assert (results.hits, results.fresh.entries, results.fresh.unindexed) == ([], 0, 0)

    def test_what_only_waits_in_the_journal(self, folder: Path, logs: Logs) -> None:
        """A hook appended and nobody has folded it in yet: a search does, or says that it waits."""
        path = logs.say("the lamp is broken")
        source = discover([path]).found[0].file
        with memory_at(folder) as memory:
            memory.append(Segment(source, "here", 0, path.read_bytes()))
            results = memory.search("lamp")
            assert len(results.hits) == 1
            assert results.fresh.waiting == 0

    def test_while_another_process_writes(self, folder: Path, logs: Logs) -> None:
        """A writer keeps the store busy: a search does not wait for it, and says what it cannot see."""
        with memory_at(folder) as memory:
            memory.ingest([logs.say("the lamp is broken")])
            path = logs.say("a second lamp", session=2)
            source = discover([path]).found[0].file
            memory.append(Segment(source, "here", 0, path.read_bytes()))
            with memory_at(folder) as busy, busy._store.writer():
                results = memory.search("lamp")
            assert len(results.hits) == 1
            assert results.fresh.waiting == 1
            assert len(found(memory)) == 2


class TestBehind:
    """A search never waits for the whole of an index; it says what it has not seen."""

    def test_the_answer_says_how_much_is_missing(self, filled: Path) -> None:
        with memory_at(filled) as memory, another_indexing(memory):
            results = memory.search("lamp", mode="text")
            assert results.hits == []
            assert results.fresh.unindexed == results.fresh.entries == memory.info().entries
        with memory_at(filled) as memory:
            results = memory.search("lamp", mode="text", limit=1_000, collapse=False)
            assert results.fresh.unindexed == 0
            assert len(results.hits) == 240

    def test_no_time_at_all_is_enough_in_the_end(self, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("recollect.search.text.documents.BATCH_ROWS", 50)
        reached = [0]
        with memory_at(filled) as memory:
            while reached[-1] < memory.info().entries:
                results = memory.search("lamp", mode="text", limit=1_000, collapse=False, seconds=0.0)
                assert results.fresh.text > reached[-1]
                assert len(results.hits) == results.fresh.text
                reached.append(results.fresh.text)
        assert len(reached) > 3

    def test_the_command_line_says_so(self, filled: Path, recollect: Callable[..., Answer]) -> None:
        with memory_at(filled) as memory, another_indexing(memory):
            told = recollect(filled, "search", "--mode", "text", "lamp")
            as_json = json.loads(recollect(filled, "search", "--mode", "text", "--json", "lamp").out)
        assert "240 of 240 entries are not indexed yet" in told.err
        assert (as_json["fresh"]["entries"], as_json["fresh"]["text_indexed"]) == (240, 0)
        assert "not indexed" not in recollect(filled, "search", "--mode", "text", "lamp").err


class TestDeleted:
    """The cache folder may go at any moment."""

    @pytest.mark.parametrize("mode", ["text", "vector", "hybrid"])
    def test_between_searches_of_one_memory(self, filled: Path, mode: str) -> None:
        with memory_at(filled) as memory:
            memory.index()
            before = found(memory, mode=mode)
            for _ in range(3):
                shutil.rmtree(filled / "cache")
                memory.search("lamp", mode=mode)
                memory.index()
                assert found(memory, mode=mode) == before

    def test_before_a_memory_opens(self, filled: Path) -> None:
        with memory_at(filled) as memory:
            before = answers(memory)
        shutil.rmtree(filled / "cache")
        with memory_at(filled) as memory:
            assert answers(memory) == before

    def test_while_it_is_being_built(self, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The work is lost, at worst with a note to the person; the next search has it again."""
        monkeypatch.setattr("recollect.search.text.documents.BATCH_ROWS", 20)
        monkeypatch.setattr("recollect.search.text.index.FIRST_COMMIT_SECONDS", 0.0)

        def progress(name: str, done: int, total: int) -> None:
            if done == 100:
                shutil.rmtree(filled / "cache", ignore_errors=True)

        with memory_at(filled) as memory:
            memory.index(progress=progress)
            memory.search("lamp")
            assert len(answers(memory)["lamp"]) == 240

    def test_it_and_all_in_it_is_for_its_owner_alone(self, filled: Path) -> None:
        with memory_at(filled) as memory:
            memory.index()
        for path in (filled / "cache").rglob("*"):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


class TestDamaged:
    """A cache that rotted, or is another's, is noticed and built again."""

    @pytest.mark.parametrize("damage", ["gone", "overwritten", "cut"])
    def test_every_file_of_it(self, filled: Path, damage: str) -> None:
        with memory_at(filled) as memory:
            before = answers(memory)
        shutil.copytree(filled / "cache", filled / "whole")
        for path in files_of(filled):
            shutil.rmtree(filled / "cache")
            shutil.copytree(filled / "whole", filled / "cache")
            data = path.read_bytes()
            path.write_bytes(b"[" * 5_000 if damage == "overwritten" else data[: len(data) // 2])
            if damage == "gone":
                path.unlink()
            with memory_at(filled) as memory:
                first = memory.search("lamp", mode="text", limit=10_000, collapse=False)
                # Half an answer is an answer only if it says so.
                assert first.fresh.unindexed or [hit.id for hit in first.hits] == before["lamp"], path
                assert answers(memory) == before, path

    def test_of_another_store(self, filled: Path, logs: Logs) -> None:
        with memory_at(filled) as memory:
            memory.index()
            old = filled / "cache" / memory.info().id
        other = logs.say("a lamp of another store", session=9)
        with memory_at(filled, "other.h5") as memory:
            memory.ingest([other])
            new = filled / "cache" / memory.info().id
            shutil.rmtree(new, ignore_errors=True)
            shutil.copytree(old, new)
            hits = memory.search("lamp").hits
            assert [hit.stored.entry.text for hit in hits] == ["a lamp of another store"]

    @pytest.mark.parametrize("change", ["reparse", "compact"])
    def test_of_the_store_before_it_was_rewritten(self, filled: Path, change: str) -> None:
        """Rows have other numbers afterwards; memories that were open then notice too."""
        with memory_at(filled) as memory, memory_at(filled) as witness:
            before = unordered(answers(memory))
            assert unordered(answers(witness)) == before
            epoch = memory.info().epoch
            getattr(memory, change)()
            assert memory.info().epoch != epoch
            for each in (memory, witness):
                assert sorted(found(each, '"fern 2"')) == before['"fern 2"']
                assert unordered(answers(each)) == before
        with memory_at(filled) as memory:
            assert unordered(answers(memory)) == before

    def test_a_file_where_the_folder_should_be(self, filled: Path) -> None:
        """Nothing can be cached there; that is said in a sentence."""
        from recollect.values.errors import RecollectError

        (filled / "cache").write_text("not a folder")
        with memory_at(filled) as memory, pytest.raises(RecollectError):
            memory.search("lamp")


class TestProcesses:
    """Real processes, killed and side by side."""

    @pytest.mark.parametrize("die_after", [1, 2, 3, 5, 8, 13])
    def test_killed_while_indexing(self, filled: Path, die_after: int) -> None:
        with child("index", filled, die_after) as dying:
            told, errors = dying.communicate()
        assert dying.returncode == -9, (told, errors)
        with memory_at(filled) as memory:
            memory.search("lamp", seconds=0.0)
            killed = answers(memory)
        shutil.rmtree(filled / "cache")
        with memory_at(filled) as memory:
            assert answers(memory) == killed
        assert len(set(killed["lamp"])) == len(killed["lamp"]) == 240

    @pytest.mark.parametrize("steps", range(4))
    def test_killed_at_any_moment(self, filled: Path, steps: int) -> None:
        with child("index", filled, 0) as running:
            assert running.stdout is not None
            for _ in range(steps):
                running.stdout.readline()
            time.sleep(0.003 * steps)
        with memory_at(filled) as memory:
            assert len(found(memory)) == len(set(answers(memory)["lamp"])) == 240

    def test_two_search_while_one_takes_and_indexes(self, folder: Path, logs: Logs) -> None:
        with memory_at(folder) as memory:
            memory.ingest([logs.say("the first lamp")])
            with child("search", folder, 121) as one, child("search", folder, 121) as two:
                for each in (one, two):
                    assert each.stdout is not None
                    assert each.stdout.readline() == b"ready\n"
                for round_ in range(12):
                    memory.ingest([logs.say(*(f"lamp {n}" for n in range(10)), session=round_)])
                    memory.index()
                for each in (one, two):
                    told, errors = each.communicate()
                    assert (each.returncode, told) == (0, b"done\n"), errors.decode()
            assert len(found(memory)) == 121

    def test_two_index_at_once(self, filled: Path) -> None:
        with child("index", filled, 0) as one, child("index", filled, 0) as two:
            for each in (one, two):
                told, errors = each.communicate()
                assert each.returncode == 0, (told, errors.decode())
        with memory_at(filled) as memory:
            assert len(found(memory)) == len(set(answers(memory)["lamp"])) == 240


def another_indexing(memory: Memory) -> contextlib.AbstractContextManager[bool]:
    """As if another process was building the text index and had not committed anything yet."""
    folder = memory.config.cache / memory.info().id
    return Place(folder, "text", {}).lock()


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "cache").rglob("*") if path.is_file())


@contextlib.contextmanager
def child(verb: str, folder: Path, number: int) -> Iterator[subprocess.Popen[bytes]]:
    """A worker of our own; it does not outlive the test."""
    command = [sys.executable, str(WORKER), verb, str(folder), str(number)]
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.kill()
