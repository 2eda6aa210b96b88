"""The README's first screen is true: its commands give the output it shows, its Python runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.support import ROOT

from recollect.cli import main

README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").symlink_to(ROOT / "src")
    monkeypatch.setenv("RECOLLECT_CONFIG", str(tmp_path / "none.toml"))
    return tmp_path


def test_the_commands_shown_give_the_output_shown(sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
    block = README[README.index("    $ .venv") : README.index("## Inside your agents")]
    steps = re.findall(r"^    \$ \.venv/bin/recollect (.*)\n((?:(?!    \$).*\n)*)", block, re.MULTILINE)
    assert len(steps) == 6
    for command, shown in steps:
        assert main(shlex.split(command)) == 0
        printed = [_ageless(line) for line in capsys.readouterr().out.splitlines()]
        for line in shown.splitlines():
            if line.strip():
                assert _ageless(line.removeprefix("    ")) in printed, command


def test_the_python_shown_runs(
    sample: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RECOLLECT_STORE", str(sample / "own.h5"))
    monkeypatch.setenv("HOME", str(sample))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(sample / "claude-home"))
    monkeypatch.setenv("CODEX_HOME", str(sample / "codex-home"))
    target = sample / "claude-home" / "projects" / "-home-ada-harbor"
    target.mkdir(parents=True)
    for log in (ROOT / "src/recollect/sample/claude").iterdir():
        (target / log.name).write_bytes(log.read_bytes())
    code = README.split("```python\n", 1)[1].split("```", 1)[0]
    exec(compile(code, "README.md", "exec"), {})
    assert "Users are logged out after an hour" in capsys.readouterr().out


def test_start_without_logs_shows_the_sample_in_a_store_of_its_own(
    sample: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.setenv(name, str(sample / "empty"))
    assert main(["start"]) == 0
    told = capsys.readouterr()
    assert "no agent logs on this machine yet" in told.err
    assert "sessions  2" in told.out
    assert (sample / "sample.h5").exists()


def _ageless(line: str) -> str:
    return re.sub(r"\b\d+ (?:mo|y|d|h|min)\b", "AGE", line.rstrip())
