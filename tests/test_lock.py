"""The locks pin all that an install of ours brings, to the byte, what builds the package included."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.support import ROOT
from tools import lock

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
HASH = r" \\\n    --hash=sha256:[0-9a-f]{64}"
PIN = r"[\w.-]+==[\w.]+(?: ; [\w. ='()]+)?"


def pins(path: Path) -> dict[str, str]:
    """What a file pins, by name; anything in it that is neither a pin nor a comment fails."""
    text = re.sub(r"\A# .*\n(?:-r requirements\.lock\n)?", "", path.read_text("utf-8"))
    form = PIN if path == lock.VERSIONS else f"{PIN}(?:{HASH})+"
    assert re.fullmatch(rf"(?:{form}\n)+", text), f"{path.name} holds something else, an address perhaps"
    found = [re.sub(HASH, "", each[0]) for each in re.finditer(form, text)]
    return {canonicalize_name(each.partition("==")[0]): each for each in found}


def test_the_locks_hold_names_versions_and_hashes_and_no_address() -> None:
    run, test, versions = map(pins, (lock.RUN, lock.TEST, lock.VERSIONS))
    assert run.keys().isdisjoint(test)
    assert run | test == versions
    assert lock.TEST.read_text("utf-8").splitlines()[1] == "-r requirements.lock"


def test_all_that_is_needed_to_run_and_build_is_locked_and_all_for_the_suite() -> None:
    project, building = PROJECT["project"], PROJECT["build-system"]["requires"]
    extras = project["optional-dependencies"]
    run = needed([*project["dependencies"], *building, "editables"])
    assert run - pins(lock.RUN).keys() == set()
    test = needed([*extras["minilm"], *extras["model2vec"], *extras["test"]])
    assert test - pins(lock.VERSIONS).keys() - {"recollect"} == set()


@pytest.mark.parametrize(
    "places",
    [
        set(lock.PLACES),
        {(python, "win32") for python in lock.PYTHONS},
        {("3.11", system) for system in lock.SYSTEMS},
        {("3.11", "linux"), ("3.12", "linux"), ("3.11", "darwin"), ("3.12", "darwin")},
        {("3.11", "linux"), ("3.13", "win32")},
    ],
)
def test_a_marker_is_true_where_a_package_is_needed_and_nowhere_else(places: set[tuple[str, str]]) -> None:
    marker = lock.marker_of(places)
    assert bool(marker) == (places != set(lock.PLACES))
    for python, system in lock.PLACES if marker else ():
        here = {"python_version": python, "sys_platform": system}
        assert Marker(marker).evaluate(here) == ((python, system) in places)


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
