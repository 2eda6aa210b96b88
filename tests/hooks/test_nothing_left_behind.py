"""Hooks leave no process behind, however many are called and however they are killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.support.hook_calls import EVENTS, HANG_SECONDS, Desk, tree

CALLS = 200
AT_ONCE = 4
pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="counts processes in /proc")


@contextmanager
def counting(desk: Desk) -> Iterator[list[int]]:
    """How many of them there were, looked at again and again."""
    counts, ended = [0], threading.Event()

    def look() -> None:
        while not ended.wait(0.02):
            counts.append(len(desk.processes()))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield counts
    finally:
        ended.set()
        thread.join()


def test_two_hundred_calls_leave_nothing_behind(desk: Desk) -> None:
    chance = random.Random(23)
    running: list[subprocess.Popen[bytes]] = []
    with counting(desk) as counts:
        for number in range(CALLS):
            desk.write(number)
            process = desk.begin()
            assert process.stdin is not None
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(desk.payload(chance.choice(EVENTS))).encode())
                process.stdin.close()
            running.append(process)
            if chance.random() < 0.3:  # the client is killed, and its hook with it
                time.sleep(chance.random() * 0.08)
                os.killpg(process.pid, signal.SIGKILL)
            while len(running) >= AT_ONCE:
                ended(running.pop(0))
        for process in running:
            ended(process)
        assert desk.quiet(), desk.processes()
    # Each call is a shell and a hook; beside them at most one job that tidies up, with one waiting to.
    assert max(counts) <= 2 * AT_ONCE + 4
    assert desk.call("Stop").harmless
    assert desk.remembered() == [f"line {number} of this talk" for number in range(CALLS)]


def ended(process: subprocess.Popen[bytes]) -> None:
    assert process.wait(timeout=HANG_SECONDS) in (0, -signal.SIGKILL)
    for pipe in (process.stdin, process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()


@pytest.mark.parametrize("event", EVENTS)
def test_hooks_that_are_switched_off_do_nothing(desk: Desk, event: str) -> None:
    """A session that our own tooling starts must not be remembered."""
    desk.write(1)
    before = tree(desk.home)
    done = desk.call(event, env=desk.environment(RECOLLECT_HOOKS="off"))
    assert (done.status, done.out, done.err) == (0, b"", b"")
    assert tree(desk.home) == before
