"""How these tests call a hook: the very line that stands in the agent's settings, in a home of its own."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import SOURCE
from tests.support.logs import said, uuid_of

from recollect.config import Config, host_name
from recollect.hooks.command import hook_command
from recollect.hooks.state import last_trouble
from recollect.memory import Memory

EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact", "SessionEnd")
HANG_SECONDS = 60.0  # a guard against waiting for ever, no mark of speed
STOPPED_MAX = 5
MARK = "RECOLLECT_TEST_MARK"


@dataclass(frozen=True)
class Done:
    """A finished hook."""

    status: int
    out: bytes
    err: bytes
    seconds: float

    @property
    def harmless(self) -> bool:
        """Whether an agent goes on as if there were no hook, or with some context more."""
        return self.status == 0 and not self.err and _is_context(self.out) and self.seconds < HANG_SECONDS


@dataclass
class Desk:
    """A home with a store and one transcript of Claude Code in it."""

    home: Path
    store: Path
    session: int = 1
    cache: Path | None = None

    @property
    def config(self) -> Config:
        return Config(self.store, host_name(), cache=self.cache or self.home / "cache")

    @property
    def transcript(self) -> Path:
        return self.home / ".claude" / "projects" / "-srv-demo" / f"{uuid_of(self.session)}.jsonl"

    def write(self, *numbers: int) -> None:
        """The agent appends a line for each number."""
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        with self.transcript.open("ab") as file:
            for number in numbers:
                file.write(said(number, f"line {number} of this talk", self.session) + b"\n")

    def payload(self, event: str, **more: Any) -> dict[str, Any]:
        return {
            "session_id": uuid_of(self.session),
            "transcript_path": str(self.transcript),
            "cwd": str(self.home),
            "hook_event_name": event,
            **_OF_EVENT.get(event, {}),
            **more,
        }

    def environment(self, **more: str) -> dict[str, str]:
        """Made from nothing, as a client might be started from a desktop."""
        return {"HOME": str(self.home), "PATH": os.environ["PATH"], MARK: str(self.home), **more}

    def begin(
        self, *, env: dict[str, str] | None = None, limit: int | None = None, agent: str = "claude"
    ) -> subprocess.Popen[bytes]:
        """A hook that waits for its payload; no file may grow beyond `limit` bytes."""
        preexec: Callable[[], None] | None = None
        if limit is not None:
            preexec = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))  # noqa: E731
        pipe = subprocess.PIPE
        return subprocess.Popen(
            hook_command(agent, self.config),
            shell=True,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            cwd=self.home,
            env=env or self.environment(),
            preexec_fn=preexec,
            start_new_session=True,
        )

    def call(self, event: str, given: bytes | None = None, **more: Any) -> Done:
        """One hook, with its payload or with anything else on stdin.

        On a loaded machine a hook is stopped by its own clock, says so and leaves its work to the next one:
        so there is a next one, as with an agent.
        """
        how = {key: more.pop(key) for key in ("env", "limit", "agent") if key in more}
        given = json.dumps(self.payload(event, **more)).encode() if given is None else given
        for _ in range(STOPPED_MAX):
            before = last_trouble(str(self.config.state))
            done = finished(self.begin(**how), time.monotonic(), given)
            after = last_trouble(str(self.config.state))
            if after == before or not done.harmless or not after[1].startswith("stopped after"):
                break
        return done

    def processes(self) -> list[str]:
        """The commands of all living processes that our hooks are or have started."""
        wanted = f"{MARK}={self.home}".encode()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        return found

    def quiet(self, seconds: float = 300.0) -> bool:
        """Whether all of them are gone, given some time."""
        deadline, empty = time.monotonic() + seconds, 0
        # A process that is just being started shows neither its words nor its environment yet.
        while empty < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
            empty = 0 if self.processes() else empty + 1
        return empty == 3

    def memory(self) -> Memory:
        return Memory.open(self.store, config=self.config)

    def remembered(self) -> list[str]:
        """Every line of the talk as the store has it once everything was folded."""
        assert self.quiet()
        with self.memory() as memory:
            memory.checkpoint()
            sessions = [each.facts.id for each in memory.sessions()]
            return [stored.entry.text for session in sessions for stored in memory.show(session)]


_OF_EVENT: dict[str, dict[str, Any]] = {
    "SessionStart": {"source": "startup"},
    "UserPromptSubmit": {"prompt": "what now?"},
    "Stop": {"stop_hook_active": False},
    "SubagentStop": {"stop_hook_active": False},
    "PreCompact": {"trigger": "auto", "custom_instructions": ""},
    "SessionEnd": {"reason": "other"},
}


def finished(process: subprocess.Popen[bytes], start: float, given: bytes) -> Done:
    try:
        out, err = process.communicate(given, timeout=HANG_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return Done(process.returncode, out, err, time.monotonic() - start)


@contextmanager
def holding(path: Path, *locks: str) -> Iterator[None]:
    """Another process holds these locks of a file (`WRITER`, `APPEND`)."""
    script = (
        "import os, sys; from recollect.light import locks\n"
        "fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)\n"
        "assert all(locks.acquire(fd, getattr(locks, name), timeout=60) for name in sys.argv[2:])\n"
        "print('held', flush=True); sys.stdin.read()"
    )
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE)}
    argv = [sys.executable, "-c", script, str(path), *locks]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        try:
            yield
        finally:
            process.communicate(b"")


def tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything below a folder: mode, size and content; what is no file has none."""
    found = {}
    for path in sorted(folder.rglob("*")):
        facts = path.lstat()
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path.relative_to(folder))] = (facts.st_mode, facts.st_size, data)
    return found


_IN_THE_WAY = {"decision", "continue", "stopReason", "permissionDecision", "suppressOutput"}


def _is_context(out: bytes) -> bool:
    if not out:
        return True
    answer = json.loads(out)  # more than one object is an error here
    assert type(answer) is dict
    return not _IN_THE_WAY & answer.keys() and b'"block"' not in out
