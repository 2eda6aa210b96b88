"""What a shell offers while one types: asked of the real shells, where they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def words(answer: Any) -> list[str]:
    assert answer.code == 0
    return answer.out.split()


class TestCandidates:
    @pytest.mark.parametrize(
        ("typed", "offered"),
        [
            (["sea"], ["search"]),
            (["usage", "--b"], ["--by"]),
            (["usage", "--by", "m"], ["model"]),
            (["search", "projec"], ["project:"]),
            (["search", "kind:pr"], ["kind:prompt"]),
            (["search", "-is:err"], ["-is:error"]),
            (["search", "tool:loc"], ["tool:local_shell"]),
            (["completion", "f"], ["fish"]),
            (["show", "a1b2"], ["a1b2c3d4-1111-4aaa-8bbb-000000000001"]),
            (["nonsense", ""], []),
        ],
    )
    def test_the_last_word_is_completed(self, filled: Any, typed: list[str], offered: list[str]) -> None:
        found = words(filled("complete", "--words", *typed))
        assert found == offered or (len(offered) == 1 and found[:1] == offered)

    def test_a_store_that_is_not_there_offers_nothing_and_says_nothing(self, recollect: Any) -> None:
        answer = recollect("complete", "--words", "show", "a")
        assert (answer.code, answer.out, answer.err) == (0, "", "")


class TestValues:
    def test_values_come_with_how_many_entries_have_them(self, filled: Any) -> None:
        values = filled("complete", "tool", "--json").json["values"]
        (named,) = filled("complete", "tool", "mcp__browser", "--json").json["values"]
        assert named == {"value": "mcp__browser__screenshot", "entries": 3}
        counts = [each["entries"] for each in values]
        assert counts == sorted(counts, reverse=True)

    def test_an_unknown_field_is_an_error_with_the_known_ones(self, filled: Any) -> None:
        answer = filled("complete", "colour")
        assert answer.code == 2
        assert "project" in answer.err


@pytest.fixture
def shell(filled: Any, tmp_path: Path) -> dict[str, str]:
    """An environment in which `recollect` is this one, on the store that is filled."""
    path = tmp_path / "bin"
    path.mkdir()
    script = path / "recollect"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m recollect "$@"\n')
    script.chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if k.startswith(("RECOLLECT_", "PYTHON"))}
    return {**kept, "PATH": f"{path}:/usr/bin:/bin", "HOME": str(tmp_path), "TERM": "dumb"}


def run(shell: str, script: str, environment: dict[str, str]) -> list[str]:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-c", script], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.on_disk("a shell starts other processes")
class TestShells:
    def test_bash_completes_commands_and_values_behind_a_colon(self, shell: dict[str, str]) -> None:
        ask = """eval "$(recollect completion bash)"
        COMP_LINE="recollect sea"; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(recollect sea); COMP_CWORD=1
        _recollect 2>/dev/null; echo "${COMPREPLY[@]}"
        COMP_LINE="recollect search kind:pro"; COMP_POINT=${#COMP_LINE}
        COMP_WORDS=(recollect search kind : pro); COMP_CWORD=4; _recollect 2>/dev/null; echo "${COMPREPLY[@]}"
        """
        assert run("bash", ask, shell) == ["search", "prompt"]

    def test_fish_completes_commands_and_values(self, shell: dict[str, str]) -> None:
        ask = "recollect completion fish | source; complete -C 'recollect search kind:pro'"
        assert run("fish", ask, shell) == ["kind:prompt"]

    def test_zsh_takes_the_script(self, shell: dict[str, str]) -> None:
        ask = 'autoload -U compinit; compinit -D; eval "$(recollect completion zsh)"; whence -w _recollect'
        assert run("zsh", ask, shell) == ["_recollect:", "function"]
