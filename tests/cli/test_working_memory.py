"""`assemble` and `resume`: what is written, where, and what is refused before anything is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from recollect.agents.claude.check import validate as claude_problems
from recollect.agents.codex.check import validate as codex_problems


def files(home: Path) -> list[Path]:
    return sorted(path for path in home.rglob("*.jsonl") if path.is_file())


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home of its own, and a folder to start an agent in."""
    made = tmp_path / "agents-home"
    (made / "work").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(made))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.chdir(made / "work")
    return made


class TestAssemble:
    def test_without_export_it_shows_and_writes_nothing(self, filled: Any, home: Path) -> None:
        answer = filled("assemble", "token", "expiry")
        assert answer.code == 0
        assert all(word in answer.out for word in ("Looked for", "Budget", "Chosen"))
        assert files(home) == []

    @pytest.mark.parametrize(("agent", "problems"), [("claude", claude_problems), ("codex", codex_problems)])
    def test_an_export_is_a_session_the_agent_takes(
        self, filled: Any, home: Path, agent: str, problems: Any
    ) -> None:
        answer = filled("assemble", "token", "--export", agent, "--json").json
        done = answer["delivered"]
        [written] = files(home)
        assert done["path"] == str(written)
        assert done["command"].endswith(done["session_id"])
        assert problems(written.read_bytes(), done["session_id"]) == []
        assert written.stat().st_mode & 0o777 == 0o600
        assert answer["tokens"] <= answer["budget_tokens"]

    def test_a_dry_run_writes_nothing(self, filled: Any, home: Path) -> None:
        answer = filled("assemble", "token", "--export", "claude", "--dry-run")
        assert "dry run" in answer.out
        assert "Budget" in answer.out
        assert files(home) == []

    @pytest.mark.parametrize("form", ["markdown", "html", "json"])
    def test_a_page_is_written_once_and_never_over_another(self, filled: Any, home: Path, form: str) -> None:
        page = home / "page"
        assert filled("assemble", "token", "--export", form, "-o", page).code == 0
        first = page.read_bytes()
        assert filled("assemble", "token", "--export", form, "-o", page).code == 2
        assert page.read_bytes() == first
        other = home / "again"
        assert filled("assemble", "token", "--export", form, "-o", other).code == 0
        assert other.read_bytes() == first, "the same store and words, byte for byte"

    def test_what_cannot_be_done_is_said_before_anything_is_written(self, filled: Any, home: Path) -> None:
        assert filled("assemble", "token", "--export", "markdown").code == 2
        assert filled("assemble", "token", "--export", "html", "-o", home / "no" / "x").code == 2
        assert filled("assemble", "token", "--export", "claude", "--into", home / "no").code == 2
        assert filled("assemble", "qqqzzz", "--export", "claude").code in (0, 3)
        assert filled("assemble", "token", "--budget-tokens", "5").code == 2


class TestResume:
    @pytest.mark.parametrize(("agent", "problems"), [("claude", claude_problems), ("codex", codex_problems)])
    def test_a_session_of_either_agent_goes_into_both(
        self, filled: Any, home: Path, agent: str, problems: Any
    ) -> None:
        for session in filled("sessions", "--json").json["sessions"]:
            done = filled("resume", session["id"], "--to", agent, "--json").json
            assert problems(Path(done["path"]).read_bytes(), done["session_id"]) == []

    def test_the_folder_is_the_one_the_agent_is_started_in(self, filled: Any, home: Path) -> None:
        other = home / "other.clone"
        other.mkdir()
        done = filled("resume", "a1b2", "--to", "claude", "--into", other, "--json").json
        assert Path(done["path"]).parent.name == re.sub("[^A-Za-z0-9]", "-", str(other.resolve()))
        records = [json.loads(line) for line in Path(done["path"]).read_bytes().splitlines()]
        assert {record["cwd"] for record in records if "cwd" in record} == {str(other.resolve())}

    @pytest.mark.parametrize("name", ["nobody", "../../etc/passwd", "\x00", ""])
    def test_a_session_that_is_none_is_an_error(self, filled: Any, home: Path, name: str) -> None:
        assert filled("resume", name, "--to", "claude").code in (2, 3)
        assert files(home) == []

    def test_a_copy_that_comes_back_is_no_second_memory(self, filled: Any, home: Path) -> None:
        before = filled("search", "kind:prompt", "--json").json["total"]
        used = filled("usage", "--json").json
        filled("resume", "a1b2", "--to", "claude")
        filled("ingest", files(home)[0])
        assert filled("search", "kind:prompt", "--json").json["total"] == before
        assert filled("usage", "--json").json["total"] == used["total"]
        listed = [each["id"] for each in filled("sessions", "--json").json["sessions"]]
        assert files(home)[0].stem not in listed
        assert filled("show", files(home)[0].stem, "--json").json["session"]["relation"] == "fork"
