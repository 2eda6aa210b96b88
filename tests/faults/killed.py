"""Processes that really die: a story in a child, ended by SIGKILL at a storage call or at any moment."""

from __future__ import annotations

import random
import re
import subprocess
import time
from pathlib import Path

from tests.faults.crashes import empty
from tests.faults.story import STORE, Story
from tests.support.children import command, environment

SECONDS = 2.5  # about what a story takes, start included


def wrong_after_kill(story: Story, calls: int, rng: random.Random, folder: Path) -> list[str]:
    """What is wrong in the folder that one killed process leaves; `calls`: about how many its story makes."""
    found = empty(folder / "killed")
    by_call = rng.random() < 0.6
    at = rng.randrange(calls) if by_call else rng.uniform(0.2, SECONDS)
    acked, under_way, commits = _play_and_kill(story, found, at, by_call=by_call)
    try:
        story.check(found, story.allowed(acked, under_way, commits), complete=rng.random() < 0.5)
    except Exception as error:
        when = f"at call {at}" if by_call else f"after {at:.2f} s"
        return [f"killed {when}, step {acked} acknowledged: {type(error).__name__}: {error}"]
    return []


def _play_and_kill(story: Story, folder: Path, at: float, *, by_call: bool) -> tuple[int, int, int | None]:
    """Play until the end that was meant for it; returns how far it said it was."""
    words = command("faults/worker.py", "play", folder / STORE, story.folder, 99, story.name)
    environ = environment() | (
        {"RECOLLECT_TEST_DIE_AT": str(at)} if by_call else {"RECOLLECT_TEST_QUIET": "1"}
    )
    with subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        if not by_call:
            time.sleep(at)
            child.kill()
        out, said = child.communicate()
    assert child.returncode in (0, -9), said.decode()[-2000:]
    return how_far(out)


def how_far(out: bytes) -> tuple[int, int, int | None]:
    """The last step acknowledged, the one under way, and how many commits of it were told."""
    acked = under_way = -1
    commits = 0
    for what, number in re.findall(rb"(start|commit|ack) (-?\d+)\n", out):
        if what == b"start":
            under_way, commits = int(number), 0
        elif what == b"commit":
            commits += 1
        else:
            acked = under_way = int(number)
    return acked, under_way, commits
