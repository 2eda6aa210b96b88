"""The shape of the tree: rooms, no loose module; tests in the shape of the package, helpers in one place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support import ROOT, SOURCE

PACKAGE = SOURCE / "recollect"
TESTS = ROOT / "tests"

BESIDE_THE_ROOMS = {"__init__.py", "__main__.py", "config.py", "py.typed"}
# What is tested there is no room: the real clients, what storage does to us, and what tests lean on.
OTHER_TESTS = {"clients", "data", "faults", "support"}


def rooms(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_dir() and path.name != "__pycache__"}


def modules(folder: Path) -> Iterator[Path]:
    yield from sorted(path for path in folder.rglob("*.py") if "data" not in path.relative_to(folder).parts)


def test_no_module_is_loose_beside_the_facade() -> None:
    assert {path.name for path in PACKAGE.iterdir() if path.is_file()} == BESIDE_THE_ROOMS


def test_tests_have_the_shape_of_the_package() -> None:
    assert rooms(TESTS) - OTHER_TESTS <= rooms(PACKAGE)


def test_a_folder_of_tests_is_a_folder_of_its_room() -> None:
    """As far down as there are tests of a kind; beside them may lie what they read."""
    wrong = [
        str(place)
        for path in modules(TESTS)
        if path.name.startswith("test_") and (place := path.parent.relative_to(TESTS)).parts
        if place.parts[0] not in OTHER_TESTS and not (PACKAGE / place).is_dir()
    ]
    assert wrong == []


def test_no_test_leans_on_another() -> None:
    """What two tests need has a place of its own: `tests/support`, or a module beside them."""
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(TESTS)
        for name in imports(path)
        if name.startswith("tests.") and name.rpartition(".")[2].startswith("test_")
    ]
    assert wrong == []


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_tests_are_named_by_what_they_promise() -> None:
    numbered = re.compile(r"(?:test_|Test)[cC]?\d+(?:_|[A-Z]|$)")
    names = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in modules(TESTS)
        for name in (path.stem, *definitions(path))
        if numbered.match(name)
    ]
    assert names == []


def definitions(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
