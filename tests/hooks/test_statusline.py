"""The status line: one line, at once, whatever an agent says; what it shows was counted by `usage`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support import SOURCE
from tests.support.logs import answered, claude_path, said, write

from recollect.config import load_config
from recollect.hooks import statusline, today
from recollect.memory import Memory

LOOK = "import sys; from recollect.__main__ import main; main(); print(*sys.modules, file=sys.stderr)"
HEAVY = {"numpy", "h5py", "rich", "argparse", "orjson", "recollect.cli", "recollect.memory"}
TOLD = {
    "cost": {"total_cost_usd": 1.5},
    "context_window": {"total_input_tokens": 900, "total_output_tokens": 100},
}


class Machine:
    """A home with a store in which something was answered today."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "RECOLLECT_STORE": str(folder / "memory.h5"),
            "RECOLLECT_CACHE": str(folder / "cache"),
            "RECOLLECT_CONFIG": str(folder / "config.toml"),
        }
        now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
        lines = [json.loads(line) for line in (said(1, "mend the quay"), answered(2, "Mended.", 1000, 1))]
        text = "".join(json.dumps({**line, "timestamp": now}) + "\n" for line in lines)
        self.log = write(claude_path(self.home / ".claude", 1), text.encode())
        self.config = load_config(environ=self.environ)
        with Memory.open(config=self.config) as memory:
            memory.ingest([self.log])

    @property
    def state(self) -> str:
        return str(self.config.state)

    def ask(self, given: bytes = b"{}") -> tuple[str, set[str]]:
        """What the line says, and the modules it took."""
        done = subprocess.run(
            [sys.executable, "-P", "-c", LOOK, "usage", "--statusline"],
            input=given,
            capture_output=True,
            env={**self.environ, "PYTHONPATH": str(SOURCE)},
            check=True,
        )
        return done.stdout.decode(), set(done.stderr.decode().split())

    def count(self) -> None:
        with Memory.open(config=self.config) as memory:
            today.count_today(memory, self.state)
        Path(statusline.today_path(self.state) + "-asked").touch()  # no process that outlives the test


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    monkeypatch.setattr(os, "environ", {**os.environ, **made.environ})
    return made


def test_it_tells_what_was_counted_and_imports_nothing_heavy(machine: Machine) -> None:
    machine.count()
    shown, modules = machine.ask(json.dumps(TOLD).encode())
    known = statusline.read_today(machine.state)
    assert known["tokens"] > 1000
    assert shown == f"today ${known['microdollars'] / 1e6:.2f}, 1.0k tokens · session $1.50, 1.0k tokens\n"
    assert not modules & HEAVY


def test_the_count_is_that_of_usage(machine: Machine) -> None:
    machine.count()
    with Memory.open(config=machine.config) as memory:
        total = memory.usage().total
    known = statusline.read_today(machine.state)
    assert (known["microdollars"], known["tokens"]) == (total.cost_microdollars, total.tokens)


def test_what_is_old_is_counted_again_once(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[str, ...]] = []
    monkeypatch.setattr(statusline, "spawn_python", lambda *words, extra: started.append(words))
    nothing = os.open(os.devnull, os.O_RDONLY)
    for _ in range(3):
        assert statusline.print_line(machine.config, nothing) == 0
    os.close(nothing)
    assert started == [("recollect.hooks.today", machine.config.url, str(machine.config.cache))]


def test_the_process_that_counts_leaves_it_ready(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["-", machine.config.url, str(machine.config.cache)])
    monkeypatch.setattr(os, "nice", lambda _: 0)
    today.main()
    assert statusline.read_today(machine.state)["tokens"] > 1000


def test_of_yesterday_nothing_is_shown(machine: Machine) -> None:
    machine.count()
    path = Path(statusline.today_path(machine.state))
    path.write_text(json.dumps({**json.loads(path.read_text()), "day": 1}))
    assert machine.ask()[0] == "today not counted yet\n"


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"nonsense",
        b"[1]",
        b'{"cost": 3}',
        b'{"cost": {"total_cost_usd": "\\u001b[2J"}}',
        b'{"cost": {"total_cost_usd": -1}}',
    ],
)
def test_whatever_the_agent_says_there_is_a_line(machine: Machine, given: bytes) -> None:
    machine.count()
    shown, _ = machine.ask(given)
    assert shown.startswith("today $")
    assert "session" not in shown
    assert shown.isascii()


@pytest.mark.parametrize("held", [b"", b"[]", b'{"made": "x"}', b'{"day": {}, "tokens": []}', b"\xff\xfe"])
def test_whatever_lies_in_the_state_folder_there_is_a_line(machine: Machine, held: bytes) -> None:
    machine.count()
    Path(statusline.today_path(machine.state)).write_bytes(held)
    assert machine.ask()[0] == "today not counted yet\n"
