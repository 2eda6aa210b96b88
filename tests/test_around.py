"""What stands around the code says the same everywhere: Pythons, linters, what CI runs."""

from __future__ import annotations

import re
import subprocess
import tomllib

from tests.support import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PYTHONS = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_the_workflow_runs_what_anyone_can_run_on_every_python_that_is_named() -> None:
    workflow = text(".github/workflows/test.yml")
    assert re.findall(r"- run: (.+)", workflow) == [".ci/run"]
    (matrix,) = re.findall(r"python: \[(.+)\]", workflow)
    assert re.findall(r"[\d.]+", matrix) == PYTHONS


def test_the_readme_names_the_pythons_that_are_tested() -> None:
    assert f"Python {PYTHONS[0]} to {PYTHONS[-1]}" in text("README.md")
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    assert tuple(map(int, PYTHONS[0].split("."))) == (3, 11)


def test_ci_runs_the_suite_the_wheel_and_the_clients() -> None:
    steps = ["test", "wheel-check", "test-integrations", "test-agents"]
    assert re.findall(r"step make ([\w-]+)", text(".ci/run")) == steps


def test_pre_commit_runs_the_linters_of_make_lint() -> None:
    lint = re.search(r"^lint:.*\n((?:\t.+\n)+)", MAKEFILE, re.MULTILINE)
    assert lint is not None
    ours = re.findall(r"\$\(BIN\)/(ruff \w+|mypy)", lint[1])
    assert re.findall(r"entry: \.venv/bin/(ruff \w+|mypy)", text(".pre-commit-config.yaml")) == ours


def test_every_target_that_a_page_names_is_one_of_make() -> None:
    targets = set(re.findall(r"^([\w-]+):", MAKEFILE, re.MULTILINE))
    for name in ("README.md", "CONTRIBUTING.md"):
        named = set(re.findall(r"(?:^    |`)make ([\w-]+)", text(name), re.MULTILINE))
        assert {"test"} < named <= targets, name


def test_another_python_has_an_environment_of_its_own() -> None:
    for given, environment in (
        ("PYTHON=python3", ".venv"),
        ("PYTHON=python3.12", ".venv-python3.12"),
        ("PYTHON=/opt/bin/python3.13", ".venv-python3.13"),
        ("VENV=/tmp/elsewhere", "/tmp/elsewhere"),
    ):
        asked = ["make", "--dry-run", "--always-make", "--no-print-directory", "start", given]
        plan = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
        assert f"{environment}/bin/recollect start" in plan.stdout, given
