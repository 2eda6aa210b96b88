"""Progress tells what is done, how much of it, and how long the rest takes."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from tests.support.terminals import Terminal

from recollect.cli import progress
from recollect.cli.progress import Progress
from recollect.cli.screen import Screen
from recollect.values.text import duration

PARTS = {"text": "indexing words", "vectors": "embedding"}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A clock that is set by hand."""

    class Clock:
        now = 0.0

    monkeypatch.setattr(progress.time, "monotonic", lambda: Clock.now)
    return Clock


def screen() -> Screen:
    return Screen(json=False, color=False, quiet=False)


def test_a_line_in_a_pipe_says_it_all(clock: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shown = Progress(screen(), "reading logs")
    for now, done in ((1, 100_000), (5, 100_000), (10, 5_000_000), (30, 10_000_000)):
        clock.now = now
        shown("/logs/quay.jsonl", done, 10_000_000)
    assert capsys.readouterr().err.splitlines() == [
        "reading logs: 100 kB of 10.0 MB: /logs/quay.jsonl",
        "reading logs: 5.0 MB of 10.0 MB, about 10 s left: /logs/quay.jsonl",
        "reading logs: 10.0 MB of 10.0 MB: /logs/quay.jsonl",
    ]


def test_each_part_takes_its_own_time(clock: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shown = Progress(screen(), "indexing", unit="entries", parts=PARTS)
    for now, part, done in ((10, "text", 1000), (10, "vectors", 0), (20, "vectors", 250)):
        clock.now = now
        shown(part, done, 1000)
    assert capsys.readouterr().err.splitlines() == [
        "indexing words: 1,000 of 1,000 entries",
        "embedding: 250 of 1,000 entries, about 30 s left",
    ]


def test_a_bar_says_the_same(clock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with Terminal(width=100) as terminal:
        monkeypatch.setattr(sys, "stderr", terminal.stream)
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.delenv("COLUMNS", raising=False)
        shown = Progress(screen(), "reading logs")
        with shown.running():
            for now, done in ((1, 1_000_000), (5, 5_000_000)):
                clock.now = now
                shown("/logs/quay.jsonl", done, 10_000_000)
        monkeypatch.undo()
    assert "reading logs" in terminal.text
    assert "5.0 MB of 10.0 MB about 5 s left quay.jsonl" in terminal.text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "1 s"),
        (40.4, "40 s"),
        (59.6, "1 min"),
        (89, "1 min"),
        (600, "10 min"),
        (3600, "1 h"),
        (4800, "1 h 20 min"),
    ],
)
def test_a_duration_is_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words
