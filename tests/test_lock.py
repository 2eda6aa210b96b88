"""`requirements.lock` pins all that an install of ours brings, what builds the package included."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.support import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LINES = (ROOT / "requirements.lock").read_text("utf-8").splitlines()
PINNED = {canonicalize_name(line.partition("==")[0]) for line in LINES if "==" in line}


def test_the_lock_holds_names_and_versions_and_no_address() -> None:
    for line in LINES:
        assert line.startswith("#") or re.fullmatch(r"[\w.-]+==[\w.]+", line), line


def test_all_that_use_test_and_build_need_is_pinned() -> None:
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *extras["minilm"], *extras["model2vec"], *extras["test"]]
    assert needed([*asked, *PROJECT["build-system"]["requires"]]) - PINNED - {"recollect"} == set()


def needed(asked: list[str]) -> set[str]:
    """Every package that these lead to, as far as it is installed here."""
    found: set[str] = set()
    # Not ours, whose extras are asked for by name: an older one may be installed.
    ahead = [(one, "") for one in map(Requirement, asked) if one.name != PROJECT["project"]["name"]]
    while ahead:
        requirement, extra = ahead.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        if name not in found:
            found.add(name)
            ahead += [(one, more) for one in required_by(name) for more in (requirement.extras or {""})]
    return found


def required_by(name: str) -> list[Requirement]:
    try:
        return [Requirement(text) for text in requires(name) or []]
    except PackageNotFoundError:
        return []
