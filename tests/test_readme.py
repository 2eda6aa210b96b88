"""The README's first screen is true: its commands give the output it shows, its Python runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import ROOT
from tests.support.readme import README, ageless, shown_commands, shown_python

from recollect.cli import main


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").symlink_to(ROOT / "src")
    monkeypatch.setenv("RECOLLECT_CONFIG", str(tmp_path / "none.toml"))
    return tmp_path


def test_the_commands_shown_give_the_output_shown(sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(shown_commands()) == 6
    for words, shown in shown_commands():
        assert main(words) == 0
        printed = [ageless(line) for line in capsys.readouterr().out.splitlines()]
        for line in shown:
            assert ageless(line) in printed, words


def test_the_python_shown_runs_on_the_sample_that_the_commands_made(
    sample: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (ingest, _), *_ = shown_commands()
    assert main(ingest) == 0
    capsys.readouterr()
    exec(compile(shown_python(), "README.md", "exec"), {})
    assert "Users are logged out after an hour" in capsys.readouterr().out


def test_the_first_screen_is_a_sentence_an_install_line_three_commands_and_five_lines_of_python() -> None:
    first = README.partition("## ")[0]
    assert first.index("**Every conversation") < first.index("    make start\n") < first.index("    $ ")
    assert first.index("    $ ") < first.index("```python") < first.index("    uv tool install")
    assert len([words for words, shown in shown_commands() if shown and words[2] in first]) >= 3
    assert len([line for line in shown_python().splitlines() if line]) <= 5
    assert len(first.splitlines()) <= 45


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
