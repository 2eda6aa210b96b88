"""Following transcripts: whatever happens between two looks, nothing is lost and nothing doubled."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.logs import said, uuid_of
from tests.support.memories import HOST, open_memory, scratch, sources_of

from recollect.hooks.settle import follow_stored
from recollect.intake import news
from recollect.light import capture as capture_module
from recollect.light import locks
from recollect.light.capture import (
    SESSIONS,
    Capture,
    FileMark,
    Followed,
    Refused,
    followed,
    forget_old,
    main_of,
    read_followed,
    write_followed,
)
from recollect.light.journal import Journal, read_frames
from recollect.values.errors import StoreBusy, StoreWriteFailed


class Home:
    """One machine: an agent's folder, a store, the state folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = folder / "memory.h5"
        self.state = folder / "state"
        self.environ = {"CLAUDE_CONFIG_DIR": str(folder), "CODEX_HOME": str(folder)}
        self.journal = folder / "memory.h5-wal"
        (folder / "projects").mkdir()

    def transcript(self, session: int = 1) -> Path:
        path = self.folder / "projects" / "-srv-demo" / f"{uuid_of(session)}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def subagent(self, session: int = 1) -> Path:
        path = self.transcript(session).with_suffix("") / "subagents" / "agent-a1.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def capture(self) -> Capture:
        return Capture(str(self.store), str(self.state), HOST, str(self.folder), self.environ)

    def look(self, session: int = 1, *, ended: bool = False) -> int:
        """What a hook does; returns how many bytes were appended."""
        capture = self.capture()
        try:
            capture.follow("claude", str(self.transcript(session)), ended=ended)
            return capture.bytes
        finally:
            capture.close()

    def look_around(self) -> int:
        capture = self.capture()
        try:
            capture.rest()
            return capture.bytes
        finally:
            capture.close()

    def append(self, *numbers: int, session: int = 1, path: Path | None = None) -> bytes:
        data = b"".join(said(n, f"line {n}", session) + b"\n" for n in numbers)
        with (path or self.transcript(session)).open("ab") as file:
            file.write(data)
        return data

    def stored(self) -> dict[str, bytes]:
        with open_memory(self.store) as memory:
            memory.checkpoint()
            return sources_of(memory)


@pytest.fixture
def home(folder: Path) -> Home:
    return Home(folder)


class TestWhatIsTaken:
    def test_only_what_is_new_is_appended(self, home: Home) -> None:
        first = home.append(1, 2)
        assert home.look() == len(first)
        assert home.look() == 0
        second = home.append(3)
        assert home.look() == len(second)
        assert home.stored() == {str(home.transcript()): first + second}

    def test_half_a_line_waits_for_its_end(self, home: Home) -> None:
        whole = home.append(1)
        with home.transcript().open("ab") as file:
            file.write(said(2, "half")[:20])
        assert home.look() == len(whole)
        with home.transcript().open("ab") as file:
            file.write(said(2, "half")[20:] + b"\n")
        home.look()
        assert home.stored()[str(home.transcript())] == home.transcript().read_bytes()

    def test_at_the_end_of_a_conversation_half_a_line_is_taken(self, home: Home) -> None:
        home.append(1)
        with home.transcript().open("ab") as file:
            file.write(said(2, "half")[:20])
        home.look(ended=True)
        assert home.stored()[str(home.transcript())] == home.transcript().read_bytes()

    def test_subagents_and_spilled_results_are_taken_with_their_session(self, home: Home) -> None:
        home.append(1)
        home.append(2, path=home.subagent())
        spilled = home.transcript().with_suffix("") / "tool-results" / "toolu_1.txt"
        spilled.parent.mkdir()
        spilled.write_bytes(b"much output")
        home.look()
        assert home.look() == 0
        home.append(3, path=home.subagent())
        home.look(ended=True)
        wanted = (home.transcript(), home.subagent(), spilled)
        assert home.stored() == {str(path): path.read_bytes() for path in wanted}

    def test_a_transcript_that_is_not_there_yet_is_found_later(self, home: Home) -> None:
        """Claude Code writes late; a client that is killed then calls no other hook."""
        assert home.look() == 0
        data = home.append(1, 2)
        assert home.look_around() == len(data)

    def test_a_session_that_was_over_and_grew_again_is_found(self, home: Home) -> None:
        home.append(1)
        home.look(ended=True)
        assert home.look_around() == 0
        data = home.append(2)
        assert home.look_around() == len(data)

    def test_a_subagent_that_writes_after_the_end_is_found(self, home: Home) -> None:
        home.append(1)
        home.append(2, path=home.subagent())
        home.look(ended=True)
        late = home.append(3, path=home.subagent())
        other = home.subagent().with_name("agent-a2.jsonl")
        late += home.append(4, path=other)
        assert home.look_around() == len(late)

    def test_an_end_that_could_not_be_taken_whole_is_looked_for_again(
        self, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        home.append(1)
        rest = home.append(2, path=home.subagent())
        real, calls = Journal.append, iter(range(100))

        def full(self: Journal, payload: bytes) -> int:
            if next(calls) == 1:
                raise StoreWriteFailed(self.path, OSError(28, "No space left on device"))
            return real(self, payload)

        monkeypatch.setattr(Journal, "append", full)
        with pytest.raises(StoreWriteFailed):
            home.look(ended=True)
        assert home.look_around() == len(rest)

    def test_an_append_is_remembered_at_once(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        """A hook is stopped hard after a second, maybe during the next append."""
        monkeypatch.setattr(capture_module, "PIECE_BYTES", 150)
        data = home.append(1, 2, 3)
        real, calls = Journal.append, iter(range(100))

        def stopped(self: Journal, payload: bytes) -> int:
            if next(calls) == 2:
                raise KeyboardInterrupt
            return real(self, payload)

        monkeypatch.setattr(Journal, "append", stopped)
        with pytest.raises(KeyboardInterrupt):
            home.look()
        assert home.look() == len(data) - 300
        assert home.stored()[str(home.transcript())] == data

    def test_a_folder_of_transcripts_may_be_a_link_to_one_of_another_name(self, home: Home) -> None:
        (home.folder / "projects").rmdir()
        (home.folder / "logs").mkdir()
        (home.folder / "projects").symlink_to("logs")
        home.append(1)
        home.append(2, path=home.subagent())
        assert home.look() > 0
        assert sorted(home.stored().values()) == sorted(
            [home.transcript().read_bytes(), home.subagent().read_bytes()]
        )

    def test_another_file_in_its_place_is_taken_from_the_start(self, home: Home) -> None:
        home.append(1, 2, 3)
        home.look()
        home.transcript().unlink()
        home.append(4)
        home.append(5)
        home.look()
        assert home.stored()[str(home.transcript())] == home.transcript().read_bytes()

    def test_a_link_to_the_agents_folder_names_the_same_source(self, home: Home) -> None:
        home.append(1)
        (home.folder / "link").symlink_to(home.folder)
        home.environ["CLAUDE_CONFIG_DIR"] = str(home.folder / "link")
        capture = home.capture()
        through = str(home.folder / "link" / "projects" / "-srv-demo" / home.transcript().name)
        capture.follow("claude", through)
        capture.close()
        assert home.look() == 0

    def test_what_takes_too_long_is_taken_the_next_time(self, home: Home) -> None:
        data = home.append(1, 2)
        late = Capture(str(home.store), str(home.state), HOST, str(home.folder), home.environ, seconds=0.0)
        late.follow("claude", str(home.transcript()))
        late.close()
        assert late.bytes == 0
        assert home.look() == len(data)

    def test_an_append_that_is_refused_moves_no_cursor(self, home: Home) -> None:
        data = home.append(1)
        with Journal(home.store) as other:
            other._lock()
            with pytest.raises(StoreBusy):
                home.look()
            locks.release(other._fd, locks.APPEND)
        assert home.look() == len(data)


class TestNamesAsPaths:
    """A payload's paths are read only where agents keep transcripts, and nothing is written by their name."""

    @pytest.mark.parametrize(
        "name",
        [
            "../outside.jsonl",
            "/etc/passwd",
            "relative.jsonl",
            "",
            "\0",
            "x" * 5000,
            "-srv-demo/..",
            f"-srv-demo/%2e%2e/{uuid_of(1)}.jsonl",
            f"..\\{uuid_of(1)}.jsonl",
            f"-srv-demo/{uuid_of(1)}.jsonl\n",
            f"../../secret/projects/x/{uuid_of(7)}.jsonl",
            "/dev/stdin",
            "/proc/self/environ",
        ],
    )
    @pytest.mark.parametrize("agent", ["claude", "codex", "nobody"])
    def test_a_path_elsewhere_is_refused(self, home: Home, agent: str, name: str) -> None:
        secret = home.folder / "secret" / "projects" / "x" / f"{uuid_of(7)}.jsonl"
        secret.parent.mkdir(parents=True)
        secret.write_text("secret\n")
        path = name if name.startswith("/") or not name else str(home.folder / "projects") + "/" + name
        capture = home.capture()
        with pytest.raises((Refused, ValueError)):
            capture.follow(agent, path)
        capture.close()
        assert capture.bytes == 0
        assert not home.state.exists()

    def test_links_out_of_the_folder_are_not_followed(self, home: Home) -> None:
        outside = home.folder / "outside.jsonl"
        outside.write_text("secret\n")
        home.transcript().symlink_to(outside)
        assert home.look() == 0
        beside = home.transcript(2)
        home.append(1, session=2)
        (beside.with_suffix("") / "subagents").mkdir(parents=True)
        (beside.with_suffix("") / "subagents" / "agent-a.jsonl").symlink_to(outside)
        assert home.look(2) == beside.stat().st_size
        (home.folder / "projects" / "linked").symlink_to(home.folder)
        capture = home.capture()
        with pytest.raises(Refused):
            capture.follow("claude", str(home.folder / "projects" / "linked" / f"{uuid_of(3)}.jsonl"))
        capture.close()

    def test_a_pipe_in_its_place_hangs_nobody(self, home: Home) -> None:
        os.mkfifo(home.transcript())
        assert home.look() == 0


class TestState:
    def test_state_is_owner_only(self, home: Home) -> None:
        before = os.umask(0)
        try:
            home.append(1)
            home.look()
        finally:
            os.umask(before)
        assert home.state.stat().st_mode & 0o777 == 0o700
        for each in home.state.rglob("*"):
            assert not each.stat().st_mode & 0o077, each
        assert not home.journal.stat().st_mode & 0o077

    def test_a_damaged_or_missing_state_costs_work_only(self, home: Home) -> None:
        home.append(1, 2)
        home.look()
        file = home.state / SESSIONS / home.transcript().name
        for damage in (b"", b"[]", b"{}", b'["claude"', b"\xff", b'["claude", 1, 2, 3]'):
            file.write_bytes(damage)
            home.look()
        assert home.stored()[str(home.transcript())] == home.transcript().read_bytes()
        with open_memory(home.store) as memory:
            assert len(list(memory.show(uuid_of(1)))) == 2

    def test_old_sessions_are_forgotten(self, home: Home) -> None:
        home.append(1)
        home.look()
        forget_old(str(home.state), (home.state / SESSIONS).stat().st_mtime_ns - 10**9)
        assert len(followed(str(home.state))) == 1
        forget_old(str(home.state), 1 << 62)
        assert followed(str(home.state)) == []

    def test_after_a_sweep_a_hook_goes_on_from_there(self, home: Home) -> None:
        """A session that is resumed after a sweep is not appended whole."""
        home.append(1, 2, 3)
        home.append(4, path=home.subagent())
        with open_memory(home.store) as memory:
            memory.ingest([home.folder / "projects"])
            state = str(memory.config.state)
            follow_stored(memory)
        home.state = Path(state)
        data = home.append(5)
        assert home.look() == len(data)
        assert home.stored()[str(home.transcript())] == home.transcript().read_bytes()

    def test_after_a_hook_a_sweep_reads_nothing(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        """Neither parsed again nor compared from the start, also when the file went on."""
        home.append(1, 2, 3)
        home.look()
        home.stored()
        compared: list[object] = []
        monkeypatch.setattr(news, "_is_same_start", lambda *which: compared.append(which))
        with open_memory(home.store) as memory:
            assert memory.ingest([home.folder / "projects"]).unchanged == 1
            data = home.append(4)
            assert memory.ingest([home.folder / "projects"]).bytes_parsed == len(data) - 1
        assert compared == []

    def test_what_a_file_is_of(self) -> None:
        main = f"/h/projects/p/{uuid_of(1)}.jsonl"
        folder = main.removesuffix(".jsonl")
        assert main_of("claude", main) == main
        assert main_of("claude", f"{folder}/subagents/agent-x.jsonl") == main
        assert main_of("claude", f"{folder}/subagents/deep/agent-x.meta.json") == main
        assert main_of("claude", f"{folder}/tool-results/a.txt") == main
        assert main_of("claude", "/h/projects/p/agent-x.jsonl") == ""
        assert main_of("codex", "/h/notes.txt") == ""

    @given(
        st.text(),
        st.booleans(),
        st.dictionaries(st.text(), st.tuples(*[st.integers(0, 2**63)] * 4).map(lambda each: FileMark(*each))),
    )
    def test_what_is_written_is_what_is_read(
        self, agent: str, ended: bool, files: dict[str, FileMark]
    ) -> None:
        with scratch() as folder:
            session = Followed(agent, f"/h/{uuid_of(1)}.jsonl", files, ended=ended)
            write_followed(str(folder), session)
            read = read_followed(str(folder), session.path)
            assert read is not None
            assert (read.agent, read.path, read.ended) == (agent, session.path, ended)
            assert {n: t.packed() for n, t in read.files.items()} == {n: t.packed() for n, t in files.items()}


STEPS = st.lists(
    st.sampled_from(
        ["append", "half", "finish", "look", "end", "rest", "ingest", "checkpoint", "sub", "lose", "restore"]
    ),
    max_size=25,
)


@given(STEPS)
@examples(60, suppress_health_check=[HealthCheck.too_slow])
def test_any_history_ends_with_every_line_once(steps: list[str]) -> None:
    """Hooks, sweeps, folds, lost and outdated cursors in any order: each line is there, once."""
    with scratch() as folder:
        home = Home(folder)
        History(home).play(steps)
        home.look(ended=True)
        stored = home.stored()
        for path in (home.transcript(), home.subagent()):
            if path.exists() and path.stat().st_size:
                assert stored[str(path)] == path.read_bytes()
        with open_memory(home.store) as memory:
            texts = Counter(
                each.entry.text for session in memory.sessions() for each in memory.show(session.facts.id)
            )
        assert not [text for text, count in texts.items() if count > 1 and text.startswith("line")]


class History:
    """Plays steps on a home; `half` is the begun line of the transcript."""

    def __init__(self, home: Home) -> None:
        self.home, self.number, self.half = home, 0, b""
        self.steps: dict[str, Callable[[], object]] = {
            "append": self.append,
            "half": self.begin,
            "finish": self.finish,
            "look": home.look,
            "end": lambda: home.look(ended=True),
            "rest": home.look_around,
            "ingest": self.ingest,
            "checkpoint": home.stored,
            "sub": self.sub,
            "lose": self.lose,
            "restore": self.restore,
        }
        self.kept = home.folder / "kept"

    def play(self, steps: list[str]) -> None:
        for step in steps:
            self.steps[step]()
        self.finish()

    def append(self) -> None:
        self.finish()
        self.number += 1
        self.home.append(self.number)

    def begin(self) -> None:
        self.finish()
        self.number += 1
        line = said(self.number, f"line {self.number}") + b"\n"
        self.half = line[30:]
        with self.home.transcript().open("ab") as file:
            file.write(line[:30])

    def finish(self) -> None:
        with self.home.transcript().open("ab") as file:
            file.write(self.half)
        self.half = b""

    def sub(self) -> None:
        self.number += 1
        self.home.append(self.number, path=self.home.subagent())

    def ingest(self) -> None:
        with open_memory(self.home.store) as memory:
            memory.ingest([self.home.folder / "projects"])

    def lose(self) -> None:
        if self.home.state.exists():
            shutil.rmtree(self.kept, ignore_errors=True)
            self.home.state.rename(self.kept)

    def restore(self) -> None:
        if self.kept.exists() and not self.home.state.exists():
            self.kept.rename(self.home.state)


def test_a_capture_reads_each_byte_once(home: Home) -> None:
    """Cost follows what is new: the journal holds each line once, whatever the number of hooks."""
    for number in range(20):
        home.append(number)
        home.look()
        home.look_around()
    frames = sum(len(payload) for _, payload in read_frames(home.journal))
    assert frames < home.transcript().stat().st_size + 20 * 300
