"""Packages of others that bring an agent: those in `examples/`, and the one that the guide writes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.support import ROOT

EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/pyproject.toml"))
GUIDE = ROOT / "docs" / "adapters.md"
NAMES = (*(path.name for path in EXAMPLES), "recollect-owl")

# A file of the guide: its name in bold, and the next block of code is what is in it.
_FILE = re.compile(r"\*\*`([\w./-]+)`\*\*[^\n]*\n\n```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def write_package(name: str, folder: Path) -> Path:
    """A package as its author has it before installing it."""
    package = folder / name
    for example in EXAMPLES:
        if example.name == name:
            shutil.copytree(example, package, ignore=shutil.ignore_patterns("__pycache__"))
            return package
    for path, text in _FILE.findall(GUIDE.read_text("utf-8")):
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_text(text, "utf-8")
    (package / "recollect_owl" / "__init__.py").touch()
    return package


def agent_of(package: Path) -> str:
    return package.name.removeprefix("recollect-")
