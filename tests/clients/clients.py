"""The real clients, each run in a home of its own with an environment built from nothing.

`RECOLLECT_AGENTS` names the folder they were installed in (`make test-agents` does both); their versions are
in `tools/clients.py`.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.terminal import Terminal
from tests.support.memories import sources_of
from tools.clients import program

from recollect.config import Config
from recollect.memory import Memory

# Both versions of Claude Code: the pinned one and the newest.
CLAUDES = ("claude", "claude-newest")

# Nothing here takes seconds; this is for a machine that does ten other things.
_PATIENCE_S = 90


def binary(agent: str) -> Path | None:
    """Where a client is installed, or None; `RECOLLECT_CLAUDE=claude-newest` tries the other Claude Code."""
    folder = os.environ.get("RECOLLECT_AGENTS", "")
    name = os.environ.get("RECOLLECT_CLAUDE", agent) if agent == "claude" else agent
    return program(Path(folder), name) if folder else None


@dataclass(frozen=True)
class Ended:
    """How a process ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def session(self) -> str:
        """The id of the conversation that a client had."""
        if self.out.startswith('{"type":"thread.started"'):
            return str(json.loads(self.out.splitlines()[0])["thread_id"])
        return str(self.json["session_id"])


@dataclass(frozen=True)
class Machine:
    """A home, a folder to work in, and the address of what answers for the model."""

    home: Path
    work: Path
    model: str
    claude_client: str = "claude"  # which of its versions

    @property
    def store(self) -> Path:
        return self.home / ".local/share/recollect/memory.h5"

    def environment(self, **more: str) -> dict[str, str]:
        """Everything a process here is told; nothing of it comes from whoever runs the tests."""
        folders = [Path(sys.executable).parent, "/usr/local/bin", "/usr/bin", "/bin"]
        if node := binary("node"):
            folders.insert(0, node.parent)
        path = ":".join(map(str, folders))
        return {"HOME": str(self.home), "PATH": path, "TERM": "xterm", "LANG": "C.UTF-8", **more}

    def recollect(self, *words: str) -> Ended:
        """Run our own command, with the interpreter that runs the tests."""
        return ended(self.start([sys.executable, "-m", "recollect", *words], {}))

    def claude(self, prompt: str, *options: str, **environment: str) -> Ended:
        return ended(self.start_claude(prompt, *options, **environment))

    def claude_command(self, *words: str) -> Ended:
        """One of Claude Code's own commands, such as `plugin`."""
        return ended(self.start([str(binary(self.claude_client)), *words], self._claude_settings()))

    def start_claude(self, prompt: str, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        words = [str(binary(self.claude_client)), "-p", prompt, "--output-format", "json", *options]
        return self.start(words, {**self._claude_settings(), **environment})

    def claude_terminal(self) -> Terminal:
        """Claude Code as a person starts it, in a folder they have said they trust."""
        path = self.home / ".claude.json"
        known = json.loads(path.read_text()) if path.exists() else {}
        key = self._claude_settings()["ANTHROPIC_API_KEY"]
        path.write_text(
            json.dumps(
                {
                    **known,
                    "hasCompletedOnboarding": True,
                    "theme": "dark",
                    "customApiKeyResponses": {"approved": [key], "rejected": []},
                    "projects": {str(self.work): {"hasTrustDialogAccepted": True}},
                }
            )
        )
        environment = self.environment(**self._claude_settings())
        return Terminal(
            [str(binary(self.claude_client)), "--permission-mode", "default", "--allowedTools", "Bash"],
            environment,
            self.work,
        )

    def _claude_settings(self) -> dict[str, str]:
        return claude_environment(self.model)

    def codex(self, *words: str) -> Ended:
        return ended(self.start_codex(*words))

    def start_codex(self, *words: str) -> subprocess.Popen[bytes]:
        fixed = ["exec", "--skip-git-repo-check", "--json"]
        return self.start([str(binary("codex")), *fixed, *words], {"OPENAI_API_KEY": "dummy"})

    def written(self) -> dict[str, bytes]:
        """Every file that the clients have written of their conversations, by its path."""
        found = [*self.home.glob(".claude/projects/**/*"), *self.home.glob(".codex/sessions/**/*")]
        return {str(path): path.read_bytes() for path in found if path.is_file()}

    def kept(self) -> dict[str, bytes]:
        """What the store has of each file, now: this takes nothing in, as a command of ours would."""
        config = Config(self.store, "here", cache=self.home / ".cache/recollect")
        with Memory.open(self.store, create=False, config=config) as memory:
            return sources_of(memory)

    def lacks(self) -> dict[str, tuple[int, int]]:
        """The files that are not whole in the store: bytes there are, bytes it has."""
        written, kept = self.written(), self.kept()
        assert written
        return {
            path: (len(data), len(kept.get(path, b"")))
            for path, data in written.items()
            if kept.get(path) != data
        }

    def transcript(self, session: str) -> bytes:
        """The file of a session, as its client wrote it."""
        (found,) = (data for path, data in self.written().items() if path.endswith(f"{session}.jsonl"))
        return found

    def exported(self, session: str) -> bytes:
        """A session's own transcript as `export --to raw` gives it."""
        target = self.work.with_name(f"{session}.raw")
        self.recollect("export", session, "--to", "raw", "-o", str(target), "--force")
        return target.read_bytes()

    def wait_for_log(self, words: str) -> None:
        """Wait until a transcript says so: clients write them a moment later."""
        wait_for(
            lambda: any(words.encode() in data for data in self.written().values()), f"no log says {words!r}"
        )

    def processes(self) -> dict[int, str]:
        """What runs with this home or was told of it: process ids, and how each was called."""
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it may end while this looks
                called = (entry / "cmdline").read_bytes()
                if str(self.home).encode() in called + (entry / "environ").read_bytes():
                    found[int(entry.name)] = called.replace(b"\0", b" ").decode(errors="replace")
        return found

    def settle(self) -> None:
        """Wait until nothing that was started here runs any more."""
        wait_for(lambda: not self.processes(), f"still running: {self.processes()}")

    def start(self, words: Sequence[str], more: Mapping[str, str]) -> subprocess.Popen[bytes]:
        # A session of its own: a test can kill the client with all it started, and nothing else.
        return subprocess.Popen(
            words,
            cwd=self.work,
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )


def claude_environment(url: str) -> dict[str, str]:
    return {
        "ANTHROPIC_API_KEY": "sk-dummy",
        "ANTHROPIC_BASE_URL": url,
        "MCP_TIMEOUT": "60000",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        **({"IS_SANDBOX": "1"} if os.geteuid() == 0 else {}),
    }


def kill(process: subprocess.Popen[bytes], signal_: signal.Signals = signal.SIGKILL) -> None:
    """A signal to the client and all that it started, then wait for its end."""
    os.killpg(process.pid, signal_)
    process.communicate(timeout=_PATIENCE_S)


def wait_for(done: Callable[[], object], trouble: str) -> None:
    """Wait until `done()` is true."""
    deadline = time.monotonic() + _PATIENCE_S
    while not done():
        assert time.monotonic() < deadline, trouble
        time.sleep(0.05)


def ended(process: subprocess.Popen[bytes]) -> Ended:
    try:
        out, err = process.communicate(timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        kill(process)
        raise
    found = Ended(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))
    assert found.code == 0, found
    return found
