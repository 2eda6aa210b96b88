"""The drawing of the house, as data: imports point down, and two neighbours are strangers.

Every import statement counts, wherever it stands: inside a function, or for types only.
"""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import ROOT

import recollect
from recollect.values import errors

SOURCE = Path(recollect.__file__).parent

# From the top down. A module or package belongs to the layer that names it.
LAYERS: dict[str, tuple[str, ...]] = {
    "testing": ("testing",),  # the contracts as test classes; looks at everything
    "faces": ("__main__", "chroma", "cli", "hooks", "integrations", "mcp", "setup"),
    "shared": ("present",),
    "surface": ("",),  # the package itself: what `import recollect` offers
    "facade": ("config", "memory"),
    "output": ("export", "recall"),
    "insight": ("insight",),
    "search": ("search",),
    "intake": ("intake",),
    "edges": ("agents", "store"),
    "values": ("light", "redact", "values"),
}

STRANGERS = frozenset({"agents", "store"})  # neither imports the other

# What a face may import besides itself; `light` is what a hook lives on.
BELOW_FACES = frozenset({"", "config", "light", "memory", "present", "values"})
FACES = {
    "__main__": {"cli", "hooks"},
    "chroma": {"mcp"},  # its wire alone
    "cli": {"chroma", "hooks", "mcp", "setup"},
    "hooks": set(),
    "integrations": set(),
    "mcp": set(),
    "setup": {"hooks"},
}

# What an append needs: neither numpy nor HDF5, which cost half a second to import.
LIGHT = ("recollect.values.records", "recollect.values.text", "recollect.store.hdf5.pager")

# What a hook needs, at every event of an agent: milliseconds count. A hook runs without site-packages.
HOOK = (
    "recollect.hooks.run",
    "recollect.agents.claude.hooks",
    "recollect.agents.codex.hooks",
    "recollect.agents.copilot.hooks",
    "recollect.agents.gemini.hooks",
    "recollect.agents.qwen.hooks",
    "recollect.light.capture",
    "recollect.light.project",
)
HEAVY = {
    "collections", "contextlib", "dataclasses", "enum", "functools", "hashlib", "inspect", "json",
    "pathlib", "re", "signal", "subprocess", "tempfile", "typing",
}  # fmt: skip


@functools.cache
def modules() -> dict[str, Path]:
    """Every module of the package by its name below `recollect`, "" being the package itself."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        found[".".join(parts)] = path
    return found


def imports(path: Path) -> Iterator[str]:
    """Every absolute module name a file imports; `from package import module` names the module."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            assert node.module is not None
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole.removeprefix("recollect.") in modules() else node.module


def inside(name: str) -> str | None:
    """A module's name below `recollect`, None for a stranger's."""
    if name == "recollect":
        return ""
    return name.removeprefix("recollect.") if name.startswith("recollect.") else None


def owner(name: str) -> str:
    """The top-level module or package that a module is, or is part of."""
    return name.partition(".")[0]


def depth(name: str) -> int:
    for number, owners in enumerate(LAYERS.values()):
        if owner(name) in owners:
            return number
    raise AssertionError(f"recollect.{name} is in no layer; give it a place in LAYERS")


EDGES = [
    (module, target)
    for module, path in sorted(modules().items())
    for imported in sorted(set(imports(path)))
    if (target := inside(imported)) is not None
]


def test_every_module_has_a_layer_and_every_layer_its_modules() -> None:
    owners = {owner(module) for module in modules()}
    assert {name for names in LAYERS.values() for name in names} == owners
    assert len(EDGES) > 100, "the walk sees imports"


def test_imports_point_down() -> None:
    wrong = [f"{module} imports {target}" for module, target in EDGES if depth(target) < depth(module)]
    assert wrong == []


def test_strangers_do_not_import_each_other() -> None:
    wrong = [
        f"{module} imports {target}"
        for module, target in EDGES
        if {owner(module), owner(target)} == STRANGERS
    ]
    assert wrong == []


def test_only_the_agents_know_an_agent_by_name() -> None:
    """What another room needs of one it asks for as a capability; `memory` is what we write ourselves."""
    folders = {module.split(".")[1] for module in modules() if module.endswith(".agent")} - {"memory"}
    assert len(folders) > 10
    wrong = [
        f"{module} imports {target}"
        for module, target in EDGES
        if owner(module) != "agents" and target.startswith("agents.") and target.split(".")[1] in folders
    ]
    assert wrong == []


def test_faces_import_the_facade_what_all_faces_show_and_values_only() -> None:
    wrong = [
        f"{module} imports {target}"
        for module, target in EDGES
        if (face := owner(module)) in FACES and owner(target) not in {face, *FACES[face], *BELOW_FACES}
    ]
    assert wrong == []


def test_values_need_only_the_standard_library() -> None:
    for name, path in modules().items():
        if owner(name) in LAYERS["values"]:
            others = {each.partition(".")[0] for each in imports(path)} - {"recollect"}
            assert others <= sys.stdlib_module_names, name


def test_only_faces_and_facade_read_the_environment() -> None:
    """Below, functions take plain arguments; what starts a program hands its environment on."""
    wrong = []
    for module, path in modules().items():
        if depth(module) <= depth("memory") or module == "light.processes":
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv", "environb"):
                wrong.append(f"{module}:{node.lineno}")
    assert wrong == []


def test_the_page_about_internals_draws_the_same_house() -> None:
    page = (ROOT / "docs" / "internals.md").read_text("utf-8")
    block = page[page.index("\n\n    ") + 2 : page.index("\n\nImports point down")]
    drawn: dict[str, tuple[str, ...]] = {}
    for line in block.splitlines():
        found = re.match(r" {4}(\w+) +((?:\S+ {2})*\S+) {3}", line)  # rooms stand two blanks apart
        assert found is not None, line
        drawn[found[1]] = tuple(sorted(each.rstrip("/") for each in found[2].split()))
    assert drawn == {layer: tuple(sorted(rooms)) for layer, rooms in LAYERS.items() if layer != "surface"}


def test_the_page_about_internals_names_files_that_are_there() -> None:
    page = (ROOT / "docs" / "internals.md").read_text("utf-8")
    for name in set(re.findall(r"`([a-z_*/]+/[a-z_*]+\.py)`", page)):
        assert list(SOURCE.glob(name)) or list(ROOT.glob(name)), name


def test_the_public_surface_is_sorted_and_importable() -> None:
    names = recollect.__all__
    assert names == sorted(names)
    assert len(set(names)) == len(names)
    for name in names:
        assert getattr(recollect, name) is not None
    with pytest.raises(AttributeError):
        _ = recollect.nothing_of_that_name


def test_what_is_public_is_the_facade_its_values_and_every_error_and_is_documented() -> None:
    raised = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.RecollectError)
    }
    values = {
        "AsyncMemory",
        "Entry",
        "Hit",
        "Kind",
        "Memory",
        "NewNote",
        "Note",
        "Results",
        "Session",
        "Wanted",
    }
    assert set(recollect.__all__) == values | raised | {"__version__"}
    page = (SOURCE.parent.parent / "docs" / "python.md").read_text("utf-8")
    assert [name for name in recollect.__all__ if f"`{name}`" not in page] == []


@pytest.mark.parametrize("module", LIGHT)
def test_appending_needs_neither_numpy_nor_hdf5(module: str) -> None:
    program = f"import sys, {module}; print(*sorted({{'numpy', 'h5py'}} & set(sys.modules)))"
    path = [str(SOURCE.parent), *filter(None, sys.path)]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}; {program}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("module", HOOK)
def test_a_hook_imports_next_to_nothing(module: str) -> None:
    program = f"import sys; sys.path.insert(0, {str(SOURCE.parent)!r}); before = set(sys.modules); "
    program += f"import {module}; print(*sorted({HEAVY!r} & (set(sys.modules) - before)))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_the_walk_would_notice(tmp_path: Path) -> None:
    """The test of the test: imports in functions, for types, and of modules as names all count."""
    file = tmp_path / "module.py"
    file.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from recollect.store.hdf5 import engine\n"
        "def late():\n    import recollect.memory\n    from recollect.values.errors import NotFound\n"
    )
    assert set(imports(file)) == {
        "typing",
        "recollect.store.hdf5.engine",
        "recollect.memory",
        "recollect.values.errors",
    }
