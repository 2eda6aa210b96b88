"""What everyone is given, made once and kept; and the memories themselves, which take turns.

No numpy here: the process that measures must stay small.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import product
from benchmarks.measure import run
from benchmarks.search_lab import QUESTIONS, peers_python

SHAPE = 1  # raise it when subjects made by this code differ from those kept


@dataclass(frozen=True)
class Effort:
    """How much of everything is measured."""

    sizes: tuple[int, ...] = (10_000, 100_000)
    rounds: int = 8
    singles: int = 125  # a round; all rounds together are one of Chroma's cycles of 1,000
    batches: int = 10
    asks: int = 3
    migrated: int = 100_000
    turns: int = 5_000
    upserts: int = 10_000
    entities: int = 5_000

    @classmethod
    def quick(cls) -> Effort:
        """Does it run at all, in about a minute."""
        few = {"rounds": 2, "singles": 25, "batches": 3, "asks": 1, "turns": 200, "upserts": 1_000}
        return cls(sizes=(2_000,), migrated=2_000, entities=200, **few)


class Missing(RuntimeError):
    """A peer is not installed here."""


class Member:
    """One memory, in its process. A question to it is an answer or an error that says why not."""

    def __init__(self, name: str, subject: Path, scratch: Path) -> None:
        self.name = name
        python = sys.executable if name == "ours" else peers_python()
        argv = [python, "-m", "benchmarks.memory_worker", name, str(subject), str(scratch)]
        env = product.environment(scratch) | {"RUST_LOG": "error", "ANONYMIZED_TELEMETRY": "False"}
        self._log = scratch.with_suffix(".log")
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=env,
                cwd=product.REPOSITORY,
                text=True,
            )
        self.hello = self.do("hello")

    @property
    def title(self) -> str:
        return str(self.hello["title"])

    def do(self, task: str, **words: Any) -> dict[str, Any]:
        """One task, done."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # It may have ended already, saying what is missing.
            self._process.stdin.write(json.dumps({"do": task} | words) + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"failed": self._log.read_text()[-600:]}
        if "missing" in answer:
            raise Missing(f"{self.name} is not installed: {answer['missing']}")
        if "failed" in answer:
            raise RuntimeError(f"{self.name}, {task}: {answer['failed']}")
        return answer

    def end(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process.wait(60)


@dataclass
class Crew:
    """The memories that are compared; who is missing or failed, and why."""

    members: dict[str, Member] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    @property
    def ours(self) -> Member:
        if "ours" not in self.members:
            raise RuntimeError(self.absent["ours"])
        return self.members["ours"]

    @property
    def peers(self) -> list[Member]:
        return [member for name, member in self.members.items() if name != "ours"]

    def all_do(self, task: str, **words: Any) -> dict[str, dict[str, Any]]:
        """A task for everyone in turn; who fails at it takes no further part."""
        answers: dict[str, dict[str, Any]] = {}
        for name in list(self.members):
            with self.attempt(name):
                answers[name] = self.members[name].do(task, **words)
        return answers

    @contextlib.contextmanager
    def attempt(self, name: str) -> Iterator[None]:
        """Whoever fails is told apart, and the others go on."""
        try:
            yield
        except (RuntimeError, OSError, ValueError) as error:
            self.absent[name] = str(error)
            if member := self.members.pop(name, None):
                member.end()


class Lab:
    """Where rows are measured: `kept` stays, `scratch` is removed."""

    def __init__(self, logs: Path, kept: Path, scratch: Path, effort: Effort) -> None:
        self.logs = logs
        self.kept = kept
        self.scratch = scratch
        self.effort = effort
        self.known: dict[str, Any] = {}  # what one row measured and another shows
        self.seen: dict[str, dict[str, Any]] = {}  # who took part, and how durable they are

    @contextlib.contextmanager
    def crew(self, names: Sequence[str], subject: Path) -> Iterator[Crew]:
        """These memories, empty, each in a process of its own."""
        crew = Crew()
        folder = self.folder("crew")
        try:
            for name in names:
                place = folder / name
                place.mkdir()
                with crew.attempt(name):
                    crew.members[name] = Member(name, subject, place)
                    self.seen[name] = crew.members[name].hello
            yield crew
        finally:
            for member in crew.members.values():
                member.end()
            shutil.rmtree(folder, ignore_errors=True)

    def subject(self, size: int) -> Path:
        """So many notes and the questions about them; made if they are not there."""
        folder = self.kept / f"memory-{SHAPE}-{product.embedder_table()}-{size}"
        if not (folder / "facts.json").exists():
            shutil.rmtree(folder, ignore_errors=True)
            argv = [sys.executable, "-m", "benchmarks.memory_worker", "subject"]
            words = map(str, (self._texts(), folder, size, QUESTIONS))
            ran = run([*argv, *words], env=product.environment(self.scratch), cwd=product.REPOSITORY)
            (folder / "facts.json").write_text(ran.checked().stdout)
        return folder

    def folder(self, name: str) -> Path:
        """An empty scratch folder of that name."""
        path = self.scratch / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def _texts(self) -> Path:
        """All logs in one store, which notes are cut from."""
        store = self.scratch / "texts" / "memory.h5"
        if not store.exists():
            product.ingest(store, self.logs / "claude", self.logs / "codex")
        return store
