"""Agents that other packages bring: the one in `examples/`, and the one that docs/adapters.md writes.

Without pip: an installed package is a folder on the path, its entry points beside it. `tests/test_wheel.py`
installs them as people do.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.support import SOURCE
from tests.support.packages import GUIDE, NAMES, agent_of, write_package
from tests.support.readme import ageless


@pytest.fixture(params=NAMES)
def package(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write_package(request.param, tmp_path)


@pytest.fixture
def environment(package: Path, tmp_path: Path) -> dict[str, str]:
    """One in which the package is installed, with a home in which there is nothing."""
    project = tomllib.loads((package / "pyproject.toml").read_text("utf-8"))["project"]
    told = tmp_path / "site" / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    told.mkdir(parents=True)
    (told / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    points = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in named.items())
        for group, named in project["entry-points"].items()
    ]
    (told / "entry_points.txt").write_text("\n".join(points))
    (tmp_path / "home").mkdir()
    path = os.pathsep.join(map(str, (told.parent, package, SOURCE)))
    return {**os.environ, "PYTHONPATH": path, "HOME": str(tmp_path / "home")}


def test_its_own_tests_pass(package: Path, environment: dict[str, str]) -> None:
    assert " passed" in run(["-m", "pytest", "-p", "no:cacheprovider"], environment, package)


def test_the_commands_know_its_agent(package: Path, environment: dict[str, str]) -> None:
    recollect = ["-m", "recollect", "--store", "memory.h5"]
    run([*recollect, "ingest", "tests/data"], environment, package)
    listed = run([*recollect, "sessions", "--agent", agent_of(package)], environment, package)
    assert f"  {agent_of(package)}  " in listed
    shown = re.findall(rf"^ {{4}}(.+  {agent_of(package)}  .+)$", GUIDE.read_text("utf-8"), re.MULTILINE)
    assert {ageless(row) for row in shown} <= {ageless(line) for line in listed.splitlines()}
    assert shown or agent_of(package) != "owl"


def run(words: list[str], environment: dict[str, str], folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
