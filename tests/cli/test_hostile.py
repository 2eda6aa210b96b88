"""Nothing a log holds acts on a terminal, in any field, in errors and progress, piped or not."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.attacks import ATTACK, ATTACKS, scan
from tests.support.terminals import Terminal, on_terminal

from recollect.cli import progress
from recollect.cli.columns import Column
from recollect.cli.screen import Screen, Styled

OWN = re.compile(r"\x1b\[[0-9;]*m")
BAR = re.compile(r"\x1b\[\?25[lh]|\r?\x1b\[(?:2K|1A)|\r\n")
SESSION = "3f2a9c01"


@pytest.fixture
def attacked(recollect: Any, log: Any, tmp_path: Path) -> Path:
    """A store in which every field that comes from a log holds an attack; returns a file of that kind."""
    evil = ATTACK
    call = {"type": "tool_use", "id": "t1", "name": f"Tool{evil}", "input": {"command": f"run{evil}"}}
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": f"result{evil}", "is_error": True}]
    own = evil.replace(ATTACKS["surrogate"], "")  # a test of its own below
    fields = {"cwd": f"/home/{own}", "gitBranch": f"branch{own}", "slug": f"slug{own}", "version": f"1{own}"}
    name = f"{SESSION}{ATTACKS['osc 0']}{ATTACKS['c1 csi']}{ATTACKS['bidi']}.jsonl"
    book = log(f"{SESSION}{own}", name, **fields)
    book.prompt(f"prompt{evil}").answer({"type": "text", "text": f"answer{evil}"}, call, model=f"model{own}")
    book.record("user", message={"role": "user", "content": result})
    book.record("ai-title", aiTitle=f"title{own}").record(f"type{evil}")
    book.record("system", subtype=f"sub{evil}", content=f"system{evil}").raw("{bad")
    path: Path = book.write()
    return path


def commands(path: Path, folder: Path, store: str) -> list[list[str]]:
    evil = os.fsencode(ATTACK.replace("\ud800", "")).decode()
    return [
        ["ingest"],
        ["ingest", str(path)],
        ["ingest", "--dry-run", "--store", str(folder / f"{evil}.h5")],
        ["status"],
        ["sessions"],
        ["sessions", "--all"],
        ["show", SESSION],
        ["show", SESSION, "--full", "--all"],
        ["tail", SESSION],
        ["digest", SESSION],
        ["digests"],
        ["digests", "owned"],
        ["usage", "--by", "day"],
        ["usage", "--by", "model"],
        ["usage", "--by", "project"],
        ["usage", "--by", "session"],
        ["usage", "--explain"],
        ["digest", SESSION],
        ["today", "--day", "2026-03-02"],
        ["week", "--day", "2026-03-07"],
        ["activity", "-n", "0"],
        ["activity", "--dangerous"],
        ["lessons", "--min", "1"],
        ["export", SESSION, "--to", "markdown", "-o", "-"],
        ["export", SESSION, "--to", "jsonl", "-o", "-"],
        ["inspect", store],
        ["convert", str(path), "-o", str(folder / "new.h5")],
        ["merge", str(folder / "new.h5"), "-o", str(folder / f"merged{evil}.h5")],
        ["export", SESSION, "--to", "store", "-o", str(folder / f"part{evil}.h5")],
        ["check"],
        ["reparse"],
        ["snapshot", str(folder / f"copy{evil}.h5")],
        # and what goes wrong
        ["show", evil],
        [evil],
        ["ingest", f"/none/{evil}"],
        ["status", "--store", f"/none/{evil}.h5"],
        ["inspect", str(path)],
        ["export", SESSION, "--to", "raw", "-o", str(path)],
        ["usage", "--by", evil],
        ["today", "--day", evil],
        ["week", "--project", evil],
        ["blame", "--commit", evil],
        ["why", f"{evil}:1"],
        ["why", f"{path}:1"],
        ["usage", "--explain", "--group", evil],
        ["tail", SESSION, "-n", evil],
        ["convert", evil, "-o", evil],
        ["merge", evil, "-o", evil],
        ["export", "--project", evil, "--to", "store", "-o", str(folder / "none.h5")],
    ]


def test_in_a_pipe(recollect: Any, attacked: Path, tmp_path: Path, store: str) -> None:
    for words in commands(attacked, tmp_path, store):
        answer = recollect(*words)
        assert answer.code != 70, (words, answer.err)
        scan(answer.out)
        scan(answer.err)


def test_as_json(recollect: Any, attacked: Path, tmp_path: Path, store: str) -> None:
    for words in commands(attacked, tmp_path, store):
        answer = recollect(*words, "--json")
        assert answer.code != 70, (words, answer.err)
        assert all(" " <= each <= "~" or each == "\n" for each in answer.out)
        scan(answer.err)


@pytest.mark.on_disk("another process looks at the store")
@pytest.mark.parametrize("color", [True, False])
def test_on_a_terminal(recollect: Any, attacked: Path, tmp_path: Path, store: str, color: bool) -> None:
    recollect("ingest")
    for words in commands(attacked, tmp_path, store):
        if words[0] in ("show", "sessions", "ingest", "usage", "status", "inspect", "export"):
            # Without a bar, which comes and goes with the load of the machine.
            quiet = ["--quiet"] if words[0] == "ingest" else []
            text = on_terminal([*words, *quiet, *([] if color else ["--no-color"])])
            scan(OWN.sub("", text) if color else text)


def test_the_attacks_are_there_and_visible(recollect: Any, attacked: Path) -> None:
    recollect("ingest")
    told = recollect("show", SESSION, "--all").out
    for word in ("prompt", "answer", "Tool", "result", "branch", "slug", "title", "system"):
        assert f"{word}\\x1b]0;owned\\x07" in told, word
    assert "  run\\x1b]0;owned" in told
    assert "safe\\rEVIL" in told
    assert "\\x9b2J" in told
    assert "\\u202egnp.exe" in told
    assert "\\ud800" in told
    assert "[bold red]x[/bold red]" in told


@pytest.mark.on_disk("another process looks at the store")
def test_markup_is_text_on_a_terminal_too(recollect: Any, attacked: Path) -> None:
    recollect("ingest")
    shown = " ".join(OWN.sub("", on_terminal(["show", SESSION])).split())
    assert "[bold red]x[/bold red]" in shown


@pytest.mark.parametrize("field", ["sessionId", "cwd", "gitBranch", "slug", "version"])
def test_half_a_pair_in_a_sessions_own_fields_is_taken_like_any_text(
    recollect: Any, log: Any, field: str
) -> None:
    """What `json` reads as a lone surrogate must neither stop an ingest nor a listing."""
    log(**{field: "half \ud800"}).prompt("hello").write()
    assert recollect("ingest", "--json").json["report"]["taken"] == 1
    answer = recollect("sessions", "--all")
    assert answer.code == 0
    scan(answer.out)


@pytest.mark.on_disk("another process looks at the store")
def test_raw_bytes_never_reach_a_terminal(recollect: Any, attacked: Path) -> None:
    recollect("ingest")
    text = on_terminal(["export", SESSION, "--to", "raw", "-o", "-"])
    assert "could steer this terminal" in text
    scan(text)


def test_no_command_can_forget(capfd: pytest.CaptureFixture[str]) -> None:
    """Whatever is handed to the screen unguarded comes out guarded."""
    screen = Screen(json=False, color=False, quiet=False)
    screen.line(ATTACK, Styled(ATTACK, "bold"))
    screen.table([Column("name"), Column("value", right=True)], [[ATTACK, Styled(ATTACK, "bold")]])
    screen.pairs([("name", ATTACK)])
    screen.note(ATTACK)
    screen.error("Name", ATTACK, ATTACK, 1)
    screen.traceback(ATTACK)
    screen.object("name", {ATTACK: ATTACK})
    told = capfd.readouterr()
    assert told.out.count("owned") >= 7
    assert told.err.count("owned") >= 4
    scan(told.out)
    scan(told.err)


def test_progress_names_files_safely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_BAR_AFTER_SECONDS", 0)
    monkeypatch.setattr(progress, "_BAR_EVERY_SECONDS", 0)
    with Terminal() as terminal:
        monkeypatch.setattr(sys, "stderr", terminal.stream)
        shown = progress.Progress(Screen(json=False, color=False, quiet=False))
        with shown.running():
            shown(f"/logs/begin{ATTACKS['osc 0']}{ATTACKS['bidi']}.jsonl", 5, 10)
            shown(f"/logs/{ATTACK}", 10, 10)
        monkeypatch.undo()
    assert "begin\\x1b]0;owned" in terminal.text
    scan(BAR.sub("", terminal.text))


def test_progress_lines_in_a_pipe_are_safe(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_LINE_EVERY_SECONDS", 0)
    shown = progress.Progress(Screen(json=False, color=False, quiet=False))
    shown(f"/logs/begin{ATTACK}.jsonl", 5, 10)
    told = capfd.readouterr().err
    assert told.startswith("reading: 5 B of 10 B: /logs/begin")
    assert "begin\\x1b]0;owned" in told
    scan(told)
