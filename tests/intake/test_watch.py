"""The watcher: nothing that changes below its folders is missed, and no trouble ends it.

Waits are for a condition, with a limit that only a watcher that never notices runs into.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.support import SOURCE
from tests.support.examples import examples
from tests.support.memories import scratch

from recollect.cli import main, watch_round
from recollect.cli import watch as face
from recollect.cli.screen import Screen
from recollect.cli.watch_round import Stop, nothing_told
from recollect.config import Config
from recollect.intake import watch
from recollect.intake.watch import alone, follow
from recollect.memory import Memory
from recollect.values.records import Segment, SourceFile
from recollect.values.reports import Batch

SESSION = "3f2a9c01-0000-4000-8000-00000000000{}"
LIMIT_SECONDS = 600.0  # a guard against waiting for ever, no mark of speed
HOW = pytest.mark.parametrize("poll", [False, True], ids=["told", "looked"])


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same steps, more often."""
    monkeypatch.setattr(watch, "_STEP_MS", 20)
    monkeypatch.setattr(watch, "_TICK_MS", 100)


class Following:
    """Batches as they come, gathered until something is among them."""

    def __init__(self, *roots: Path, poll: bool = False) -> None:
        self.stop = Stop()
        self.batches = follow(roots, stop=self.stop, poll=poll, poll_seconds=0.05)
        self.seen: list[Batch] = []
        assert next(self.batches).everything

    def until(self, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        while not done():
            assert time.monotonic() < deadline, self.seen
            self.seen.append(next(self.batches))

    def until_told(self, *paths: Path) -> None:
        self.until(lambda: set(paths) <= self.paths)

    def until_found(self, path: Path) -> None:
        """Until a look at what was told would find it."""
        self.until(lambda: path in self.paths or any(batch.everything for batch in self.seen))

    def ticks(self, count: int = 3) -> None:
        """Let it look a few times more."""
        wanted = len(self.seen) + count
        self.until(lambda: len(self.seen) >= wanted)

    @property
    def paths(self) -> set[Path]:
        return {path for batch in self.seen for path in batch.paths}


@pytest.mark.usefixtures("quick")
class TestFollow:
    @HOW
    def test_a_file_that_grows_is_told(self, folder: Path, poll: bool) -> None:
        file = folder / "a.jsonl"
        file.write_text("{}\n")
        following = Following(folder, poll=poll)
        with file.open("a") as growing:
            growing.write("{}\n")
        following.until_told(file)

    @HOW
    def test_folders_within_folders_made_at_once_lose_nothing(self, folder: Path, poll: bool) -> None:
        following = Following(folder, poll=poll)
        file = folder / "2026" / "03" / "02" / "rollout.jsonl"
        file.parent.mkdir(parents=True)
        file.write_text("{}\n")
        following.until(lambda: any(file == path or path in file.parents for path in following.paths))
        following.ticks()
        following.seen.clear()
        with file.open("a") as growing:
            growing.write("{}\n")
        following.until_told(file)

    @HOW
    def test_a_folder_that_appears_later_is_followed(self, folder: Path, poll: bool) -> None:
        root = folder / "not" / "yet"
        following = Following(root, poll=poll)
        following.ticks()
        root.mkdir(parents=True)
        (root / "a.jsonl").write_text("{}\n")
        following.until_found(root / "a.jsonl")
        (root / "b.jsonl").write_text("{}\n")
        following.until_told(root / "b.jsonl")

    @HOW
    @pytest.mark.parametrize("same", [False, True], ids=["another number", "the same number"])
    def test_a_folder_replaced_by_another_is_followed(
        self, folder: Path, poll: bool, same: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if same:  # as file systems do that use a number again at once
            monkeypatch.setattr(
                watch, "_standing", lambda roots: {str(root): (0, 0) for root in roots if root.is_dir()}
            )
        root = folder / "root"
        root.mkdir()
        following = Following(root, poll=poll)
        for number in range(3):
            root.rename(folder / f"old {number}")
            shutil.rmtree(folder / f"old {number}")
            root.mkdir()
            (root / "a.jsonl").write_text("{}\n")
            following.until_found(root / "a.jsonl")
            following.ticks()
            following.seen.clear()
            with (root / "a.jsonl").open("a") as growing:
                growing.write("{}\n")
            following.until_told(root / "a.jsonl")
            following.seen.clear()

    @HOW
    def test_a_file_that_is_renamed_is_told_by_its_new_name(self, folder: Path, poll: bool) -> None:
        old, new = folder / "a.jsonl", folder / "b.jsonl"
        old.write_text("{}\n")
        following = Following(folder, poll=poll)
        old.rename(new)
        following.until_told(new)
        following.ticks()
        assert following.paths == {new}

    @HOW
    def test_what_lies_behind_links_and_what_is_no_file_is_not_told(self, folder: Path, poll: bool) -> None:
        root, outside = folder / "root", folder / "outside"
        (root / "in").mkdir(parents=True)
        outside.mkdir()
        (root / "link").symlink_to(outside)
        (root / "in" / "loop").symlink_to(root)
        following = Following(root, poll=poll)
        (outside / "a.jsonl").write_text("{}\n")
        os.mkfifo(root / "pipe.jsonl")
        (root / "to.jsonl").symlink_to(outside / "a.jsonl")
        file = root / "in" / "z.jsonl"
        file.write_text("{}\n")
        following.until_told(file)
        following.ticks()
        assert following.paths == {file}

    @HOW
    def test_a_root_that_is_a_link_is_followed(self, folder: Path, poll: bool) -> None:
        (folder / "real").mkdir()
        (folder / "root").symlink_to(folder / "real")
        following = Following(folder / "root", poll=poll)
        file = folder.resolve() / "real" / "a.jsonl"
        file.write_text("{}\n")
        following.until_told(file)

    @HOW
    def test_a_burst_is_a_sweep(self, folder: Path, poll: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Batch, "BURST_MAX", 5)
        monkeypatch.setattr(watch, "_STEP_MS", 200)  # time enough for all of them to be in one batch
        following = Following(folder, poll=poll)
        for number in range(20):
            (folder / f"{number}.jsonl").write_text("{}\n")
        following.until(lambda: any(batch.everything for batch in following.seen))
        assert all(len(batch.paths) <= 5 for batch in following.seen)

    @HOW
    def test_now_and_then_everything_is_looked_at(
        self, folder: Path, poll: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        following = Following(folder, poll=poll)
        following.ticks()
        assert following.seen == [Batch()] * 3
        monkeypatch.setattr(watch, "SWEEP_SECONDS", 0.0)
        following.ticks(1)
        assert following.seen[-1] == Batch(everything=True)

    @HOW
    def test_told_to_stop_it_ends(self, folder: Path, poll: bool) -> None:
        following = Following(folder, poll=poll)
        following.stop.number = signal.SIGTERM
        assert list(following.batches) == []

    def test_changes_made_while_somebody_works_on_a_batch_wait(self, folder: Path) -> None:
        following = Following(folder)
        for number in range(3):
            (folder / f"{number}.jsonl").write_text("{}\n")
            time.sleep(0.05)
        following.until_told(*(folder / f"{number}.jsonl" for number in range(3)))

    @pytest.mark.parametrize("error", [OSError(28, "no space left on device"), RuntimeError("full")])
    def test_where_the_kernel_cannot_tell_it_looks(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
    ) -> None:
        import watchfiles._rust_notify

        def refused(*_: object) -> None:
            raise error

        monkeypatch.setattr(watchfiles._rust_notify, "RustNotify", refused)
        batches = follow([folder], stop=Stop(), poll_seconds=0.05)
        assert next(batches) == Batch(everything=True, trouble=str(error))
        (folder / "a.jsonl").write_text("{}\n")
        assert next(batches).paths == (folder.resolve() / "a.jsonl",)

    def test_where_it_fails_half_way_everything_is_looked_at_again(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import watchfiles._rust_notify

        class Failing:
            def __init__(self, *_: object) -> None:
                self.calls = 0

            def __enter__(self) -> Failing:
                return self

            def __exit__(self, *_: object) -> None: ...

            def watch(self, *_: object) -> str:
                self.calls += 1
                if self.calls > 1:
                    raise OSError(28, "no room for another watch")
                return "timeout"

        monkeypatch.setattr(watchfiles._rust_notify, "RustNotify", Failing)
        batches = follow([folder], stop=Stop(), poll_seconds=0.05)
        assert [next(batches).everything for _ in range(4)] == [True, False, True, False]

    def test_without_descriptors_for_the_kernel_it_looks(self, folder: Path) -> None:
        """The real thing: inotify cannot be opened in a process that may open hardly anything."""
        program = (
            "import os, resource, sys\n"
            "import watchfiles\n"
            "from pathlib import Path\n"
            "from recollect.cli.watch_round import Stop\n"
            "from recollect.intake.watch import follow\n"
            "root = Path(sys.argv[1])\n"
            "taken = max(int(n) for n in os.listdir('/proc/self/fd'))\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (taken + 1, taken + 1))\n"
            "batches = follow([root], stop=Stop(), poll_seconds=0.05)\n"
            "first = next(batches)\n"
            "assert first.everything and first.trouble, first\n"
            "(root / 'a.jsonl').write_text('x')\n"
            "print(next(batches).paths[0].name, end='')\n"
        )
        if not Path("/proc/self/fd").exists():
            pytest.skip("needs /proc")
        done = subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n{program}", folder],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, "a.jsonl"), done.stderr

    @HOW
    @pytest.mark.parametrize("seed", range(3))
    def test_after_any_history_every_file_was_told_since_its_last_change(
        self, folder: Path, poll: bool, seed: int
    ) -> None:
        root = folder.resolve() / "root"
        root.mkdir()
        following, told = Following(root, poll=poll), dict[Path, tuple[int, ...]]()

        def settled() -> bool:
            for batch in following.seen:
                for path in (root,) if batch.everything else batch.paths:
                    told.update(marks(path))
            following.seen.clear()
            return {path: told.get(path) for path in marks(root)} == marks(root)

        rng = random.Random(seed)
        for _ in range(25):
            change(root, rng)
            if rng.random() < 0.2:
                following.until(settled)
        following.until(settled)


def marks(path: Path) -> dict[Path, tuple[int, ...]]:
    """What a sweep of a file or folder would find, and in which state."""
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return {each: (each.stat().st_ino, each.stat().st_size) for each in files}


def change(root: Path, rng: random.Random) -> None:
    """One thing that happens to logs."""
    folders = [root, *(each for each in root.rglob("*") if each.is_dir())]
    files = [each for each in root.rglob("*") if each.is_file()]
    what = rng.choice(["append", "append", "new", "new", "folder", "rename", "delete", "move folder"])
    if what == "append" and files:
        with rng.choice(files).open("a") as growing:
            growing.write("x" * rng.randint(1, 50))
    elif what == "folder":
        (rng.choice(folders) / f"d{rng.random()}").mkdir()
    elif what == "rename" and files:
        rng.choice(files).rename(rng.choice(folders) / f"r{rng.random()}.jsonl")
    elif what == "delete" and files:
        rng.choice(files).unlink()
    elif what == "move folder" and len(folders) > 1:
        rng.choice(folders[1:]).rename(root / f"m{rng.random()}")
    else:
        (rng.choice(folders) / f"f{rng.random()}.jsonl").write_text("x")


names = st.sampled_from(["a", "b", "c"])


@examples(50, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(st.tuples(st.sampled_from(["write", "delete", "rename"]), names, names))))
def test_looking_names_exactly_the_files_that_differ(rounds_: list[list[tuple[str, str, str]]]) -> None:
    with scratch() as folder:
        root = folder.resolve()
        batches = follow([root], stop=Stop(), poll=True, poll_seconds=0.0)
        assert next(batches).everything
        count = 0
        for operations in rounds_:
            before = {path.name: path.read_text() for path in root.iterdir()}
            for what, name, other in operations:
                count += 1
                file = root / name
                if what == "write":
                    file.write_text("x" * count)  # never a length it had before
                elif file.exists():
                    file.unlink() if what == "delete" else file.rename(root / other)
            after = {path.name: path.read_text() for path in root.iterdir()}
            told = {path.name for path in next(batches).paths}
            assert told >= {name for name in after if after[name] != before.get(name)}
            assert told <= set(after)
            assert next(batches) == Batch()  # and nothing twice


def test_only_one_has_the_lock_and_it_goes_with_its_holder(folder: Path) -> None:
    lock = folder / "cache" / "watch.lock"
    with alone(lock) as first:
        assert first
        with alone(lock) as second:
            assert not second
    with alone(lock) as third:
        assert third
    assert lock.stat().st_mode & 0o077 == 0
    assert lock.parent.stat().st_mode & 0o077 == 0


# -- what is done about it -----------------------------------------------------------------


def error(name: str, message: str, code: int = 7) -> dict[str, Any]:
    return {"error": name, "message": message, "hint": "", "exit_code": code}


class Bench:
    """A watcher whose rounds are played: what each is asked for, and what it answers."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(face, "_REST", 0)
        monkeypatch.setattr(face, "_REST_SECONDS_MIN", 0.0)
        monkeypatch.setattr(face, "_RETRY_SECONDS", 0.0)
        self.root = folder / "projects" / "-x"
        self.root.mkdir(parents=True)
        self.config = Config(folder / "memory.h5", "here", cache=folder / "cache")
        self.stop = Stop()
        self.asked: list[list[str] | None] = []
        self.answers: list[dict[str, Any]] = []
        self.during: Callable[[], object] = lambda: None

    def run(self, *batches: Batch, screen: Screen | None = None) -> int:
        screen = screen or Screen(json=False, color=False, quiet=False)
        watcher = face.Watcher(self.config, screen, self.stop, self._work)
        return watcher.run(batches)

    def log(self, number: int) -> Path:
        path = self.root / f"{SESSION.format(number)}.jsonl"
        path.write_text(prompt(number, "hello"))
        return path

    def _work(self, paths: Sequence[Path] | None) -> dict[str, Any]:
        self.asked.append(None if paths is None else [path.name[-7] for path in paths])
        self.during()
        return {**nothing_told(paths), **(self.answers.pop(0) if self.answers else done())}


def done(**report: Any) -> dict[str, Any]:
    return {"report": {"sources": 1, "taken": 1, "entries": 1, "failed": {}, **report}}


@pytest.fixture
def bench(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(folder, monkeypatch)


class TestWatcher:
    def test_a_round_is_asked_for_what_changed(self, bench: Bench) -> None:
        one, two = bench.log(1), bench.log(2)
        bench.run(Batch(everything=True), Batch((one,)), Batch(), Batch((one, two)), Batch())
        assert bench.asked == [None, ["1"], ["1", "2"]]

    def test_what_is_no_log_is_no_round(self, bench: Bench) -> None:
        note, gone = bench.root / "notes.md", bench.root / f"{SESSION.format(7)}.jsonl"
        note.write_text("# hello")
        bench.run(Batch((note, gone)), Batch())
        assert bench.asked == []

    def test_trouble_is_said_once_and_nothing_is_forgotten(
        self, bench: Bench, capfd: pytest.CaptureFixture[str]
    ) -> None:
        one, two = bench.log(1), bench.log(2)
        full = {"error": error("StoreWriteFailed", "disk full")}
        bench.answers = [done(), full, full, full]
        bench.run(Batch(everything=True), Batch((one,)), Batch((two,)), Batch(), Batch(), Batch())
        assert bench.asked == [None, ["1"], ["1", "2"], ["1", "2"], ["1", "2"]]
        told = capfd.readouterr().err
        assert told.count("disk full") == 1
        assert told.count("it works again") == 1

    def test_another_trouble_is_said_too(self, bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
        bench.answers = [{"error": error("StoreBusy", "busy")}, {"error": error("StoreWriteFailed", "full")}]
        bench.run(Batch(everything=True), Batch(), Batch(), Batch())
        assert bench.asked == [None, None, None]
        told = capfd.readouterr().err
        assert "recollect: busy" in told
        assert "recollect: full" in told

    def test_between_tries_it_waits_longer_each_time(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(face, "_RETRY_SECONDS", 1000.0)
        bench.answers = [{"error": error("StoreBusy", "busy")}]
        bench.run(Batch(everything=True), Batch(), Batch(everything=True))
        assert bench.asked == [None]

    @pytest.mark.parametrize("name", ["UsageError", "NotAStore", "StoreTooNew"])
    def test_what_waiting_cannot_mend_ends_it_at_the_start_only(self, bench: Bench, name: str) -> None:
        wrong = {"error": error(name, "wrong", 4)}
        bench.answers = [wrong]
        assert bench.run(Batch(everything=True), Batch()) == 4
        bench.answers = [done(), wrong]
        assert bench.run(Batch(everything=True), Batch(everything=True), Batch(), Batch()) == 0

    def test_lines_that_are_safe_are_not_read_again_because_indexing_failed(self, bench: Bench) -> None:
        bench.answers = [{**done(), "error": error("EmbedderFailed", "no vectors")}]
        bench.run(Batch(everything=True), Batch(), Batch(), Batch())
        assert bench.asked == [None, []]

    def test_what_hooks_append_is_folded_once(self, bench: Bench) -> None:
        journal = watch_journal(bench.config)
        bench.run(Batch(), Batch())
        assert bench.asked == []
        journal.write_bytes(b"a frame that stays")
        bench.run(Batch(), Batch(), Batch())
        assert bench.asked == [[]]

    def test_what_hooks_append_during_a_round_is_for_the_next_one(self, bench: Bench) -> None:
        journal = watch_journal(bench.config)
        bench.during = lambda: journal.write_bytes(b"a frame") if len(bench.asked) == 1 else None
        bench.run(Batch(everything=True), Batch(), Batch())
        assert bench.asked == [None, []]

    def test_a_source_that_cannot_be_read_is_said_once(
        self, bench: Bench, capfd: pytest.CaptureFixture[str]
    ) -> None:
        broken = done(failed={"/x.jsonl": "/x.jsonl: no\x1b[2Jt zstd"})
        bench.answers = [broken, broken, done(), broken]
        bench.run(*[Batch(everything=True)] * 4)
        told = capfd.readouterr().err
        assert told.count("could not be read: /x.jsonl") == 2  # mended in between
        assert "\x1b" not in told

    def test_what_waits_in_trouble_is_bounded(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Batch, "BURST_MAX", 3)
        logs = [bench.log(number) for number in range(5)]
        bench.answers = [{"error": error("StoreBusy", "busy")}] * 5
        bench.run(*(Batch((log,)) for log in logs), Batch())
        assert bench.asked == [["0"], ["0", "1"], ["0", "1", "2"], None, None, None]

    def test_quiet_says_trouble_only(self, bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
        bench.answers = [done(), {"error": error("StoreBusy", "busy")}]
        screen = Screen(json=False, color=False, quiet=True)
        bench.run(*[Batch(everything=True)] * 3, screen=screen)
        assert capfd.readouterr().err.splitlines() == [
            "recollect: busy",
            "  try: it is tried again on its own",
        ]

    def test_as_json_every_round_is_one_line(self, bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
        bench.answers = [done(), {"error": error("StoreBusy", "busy")}]
        screen = Screen(json=True, color=False, quiet=False)
        bench.run(*[Batch(everything=True)] * 3, screen=screen)
        told = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        assert [each["schema"] for each in told] == ["recollect.watch/1"] * 3
        assert [each["error"] and each["error"]["error"] for each in told] == [None, "StoreBusy", None]

    def test_it_rests_in_proportion_to_its_work(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(face, "_REST", 5)
        rests: list[float] = []
        monkeypatch.setattr(bench.stop, "rest", rests.append)
        bench.answers = [{**done(), "seconds": seconds} for seconds in (0.0, 2.0, 1000.0)]
        bench.run(*[Batch(everything=True)] * 3)
        assert rests == [0.0, 10.0, 60.0]


def watch_journal(config: Config) -> Path:
    return config.store.with_name(config.store.name + "-wal")


# -- the whole of it -----------------------------------------------------------------------


def prompt(session: int, text: str) -> str:
    record = {
        "type": "user",
        "uuid": f"00000000-0000-4000-8000-{abs(hash(text)) % 10**12:012}",
        "sessionId": SESSION.format(session),
        "cwd": "/home/ada/harbor",
        "timestamp": "2026-03-02T09:00:00.000Z",
        "message": {"role": "user", "content": text},
    }
    return json.dumps(record) + "\n"


# Quicker than for people, which changes what is waited for and nothing else.
_PROGRAM = f"""
import sys
sys.path.insert(0, {str(SOURCE)!r})
from recollect.intake import watch as below
from recollect.cli import main, watch
watch._REST, watch._REST_SECONDS_MIN, watch._RETRY_SECONDS = 0, 0.0, 0.1
below._STEP_MS, below._TICK_MS = 100, 300
sys.exit(main(["watch", "--json", "--interval", "1", *sys.argv[1:]]))
"""


class Machine:
    """A home of its own, with a watcher in it."""

    def __init__(self, folder: Path) -> None:
        self.home, self.store = folder / "home", folder / "store" / "memory.h5"
        self.projects = self.home / ".claude" / "projects"
        self.home.mkdir()
        # Built from nothing: no test may meet the logs of whoever runs it.
        self.environ = {
            "HOME": str(self.home),
            "PATH": os.environ.get("PATH", ""),
            "RECOLLECT_STORE": str(self.store),
            "RECOLLECT_CACHE": str(folder / "cache"),
            "RECOLLECT_CONFIG": str(folder / "config.toml"),
        }
        self.children: list[subprocess.Popen[str]] = []
        self.rounds: list[dict[str, Any]] = []

    def watch(self, *words: str) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *words],
            env=self.environ,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.children.append(child)
        threading.Thread(target=self._read, args=(child,), daemon=True).start()
        return child

    def started(self, *words: str) -> subprocess.Popen[str]:
        """A watcher that has made its first sweep."""
        child = self.watch(*words)
        until(lambda: bool(self.rounds) or child.poll() is not None, lambda: "it does nothing")
        assert child.stderr is not None
        assert child.poll() is None, child.stderr.read()
        return child

    def log(self, number: int, text: str, mode: str = "a") -> Path:
        path = self.projects / "-x" / f"{SESSION.format(number)}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode) as file:
            file.write(text)
        return path

    def texts(self, number: int) -> list[str]:
        config = Config(self.store, "here", cache=self.home / "cache")
        with Memory.open(config=config) as memory:
            sessions = {session.facts.id for session in memory.sessions()}
            wanted = SESSION.format(number)
            return [each.entry.text for each in memory.show(wanted)] if wanted in sessions else []

    def until_texts(self, number: int, *texts: str) -> None:
        until(lambda: self.texts(number) == list(texts), lambda: str((self.texts(number), self.rounds)))

    def sum(self, count: str) -> int:
        """One count of all reports together."""
        return sum(told["report"][count] for told in self.rounds if told["report"])

    def close(self) -> None:
        for child in self.children:
            if child.poll() is None:
                child.terminate()
            child.wait()
            assert child.stderr is not None
            child.stderr.close()

    def _read(self, child: subprocess.Popen[str]) -> None:
        assert child.stdout is not None
        with child.stdout:
            for line in child.stdout:
                self.rounds.append(json.loads(line))


def until(condition: Callable[[], bool], why: Callable[[], str]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, why()
        time.sleep(0.05)


@pytest.fixture
def machine(folder: Path) -> Iterator[Machine]:
    made = Machine(folder)
    yield made
    made.close()


class TestWhole:
    @HOW
    def test_a_conversation_is_in_the_store_as_it_grows(self, machine: Machine, poll: bool) -> None:
        machine.log(1, prompt(1, "before it began"))
        machine.started(*["--poll"] if poll else [])
        machine.until_texts(1, "before it began")
        machine.log(1, prompt(1, "second"))
        machine.until_texts(1, "before it began", "second")
        line = prompt(1, "third, in two halves")
        machine.log(1, line[:40])
        until(lambda: machine.sum("waiting") > 0, lambda: str(machine.rounds))
        machine.log(1, line[40:])
        machine.until_texts(1, "before it began", "second", "third, in two halves")

    def test_an_agent_that_is_installed_later_is_followed_and_indexed(self, machine: Machine) -> None:
        machine.started()
        machine.log(1, prompt(1, "hello"))
        machine.until_texts(1, "hello")
        until(lambda: machine.rounds[-1]["fresh"]["text_indexed"] == 1, lambda: str(machine.rounds))
        assert machine.rounds[-1]["fresh"]["vectors_indexed"] == 1

    def test_a_log_that_is_renamed_is_the_same_session(self, machine: Machine) -> None:
        path = machine.log(1, prompt(1, "hello"))
        machine.started()
        other = machine.projects / "-y" / path.name
        other.parent.mkdir()
        path.rename(other)
        with other.open("a") as file:
            file.write(prompt(1, "again"))
        machine.until_texts(1, "hello", "again")

    def test_fifty_quick_appends_are_few_commits(self, machine: Machine) -> None:
        machine.log(1, prompt(1, "0"))
        machine.started()
        before = self.generation(machine)
        for number in range(1, 51):
            machine.log(1, prompt(1, str(number)))
        machine.until_texts(1, *map(str, range(51)))
        until(lambda: machine.sum("taken") >= 51, lambda: str(machine.rounds))
        assert machine.sum("taken") == 51
        assert len(machine.rounds) <= 1 + 10
        assert self.generation(machine) - before <= 2 * 10  # lines, and vectors

    def generation(self, machine: Machine) -> int:
        with Memory.open(machine.store) as memory:
            return memory.info().generation

    def test_a_second_watcher_says_so_and_leaves(self, machine: Machine) -> None:
        machine.started()
        second = machine.watch()
        assert second.wait() == 6
        assert second.stderr is not None
        assert "another process watches for this store already" in second.stderr.read()
        assert machine.children[0].poll() is None

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
    def test_it_leaves_when_told_and_leaves_nothing_behind(
        self, machine: Machine, number: signal.Signals, code: int
    ) -> None:
        child = machine.started()
        child.send_signal(number)
        assert child.wait() == code
        again = machine.started()
        assert again.poll() is None

    def test_a_round_under_way_ends_with_the_watcher(self, machine: Machine) -> None:
        for number in range(1, 9):
            machine.log(number, "".join(prompt(number, f"{number} {n}") for n in range(4000)))
        child = machine.watch()
        until(machine.store.exists, lambda: "no store")  # made by the process of the first round
        child.send_signal(signal.SIGTERM)
        assert child.wait() == 0
        with Memory.open(machine.store) as memory:
            memory.ingest([machine.projects])  # nobody holds the store
        machine.until_texts(1, *(f"1 {n}" for n in range(4000)))

    def test_a_disk_that_refuses_is_tried_until_it_does_not(self, machine: Machine) -> None:
        machine.store.parent.write_text("in the way")
        machine.log(1, prompt(1, "hello"))
        machine.started()
        until(lambda: len(machine.rounds) > 2, lambda: str(machine.rounds))
        assert {told["error"]["error"] for told in machine.rounds} == {"StoreWriteFailed"}
        machine.store.parent.unlink()
        machine.until_texts(1, "hello")

    def test_what_hooks_append_is_folded(self, machine: Machine) -> None:
        machine.started()
        source = SourceFile("claude", str(machine.home / "elsewhere.jsonl"), session=SESSION.format(1))
        with Memory.open(machine.store) as memory:
            memory.append(Segment(source, "here", 0, prompt(1, "by a hook").encode()))
        until(lambda: not watch_journal(Config(machine.store, "")).exists(), lambda: str(machine.rounds))
        machine.until_texts(1, "by a hook")

    def test_once_sweeps_and_leaves(
        self, machine: Machine, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        for name, value in machine.environ.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
        monkeypatch.delenv("CODEX_HOME", raising=False)
        machine.log(1, prompt(1, "hello"))
        assert main(["watch", "--once", "--json"]) == 0
        told = json.loads(capfd.readouterr().out)
        assert told["schema"] == "recollect.watch/1"
        assert (told["report"]["taken"], told["fresh"]["text_indexed"], told["error"]) == (1, 1, None)
        assert machine.texts(1) == ["hello"]

    def test_a_round_that_crashes_is_trouble_like_any_other(
        self, machine: Machine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "executable", "/bin/false")
        told = watch_round.work_apart(Config(machine.store, "here"), None, Stop())
        assert told["error"]["message"].startswith("a round ended early (exit 1)")
        monkeypatch.setattr(sys, "executable", str(machine.home / "nothing"))
        told = watch_round.work_apart(Config(machine.store, "here"), None, Stop())
        assert told["error"]["error"] == "OSError"

    def test_windows_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from recollect.values.errors import UsageError

        with monkeypatch.context() as patch:
            patch.setattr(face.os, "name", "nt")
            try:
                face.watch(argparse.Namespace(), Screen(json=False, color=False, quiet=True))
            except UsageError as said:
                told = str(said)
        assert "does not run on Windows" in told
