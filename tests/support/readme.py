"""The commands that the README shows, each with the lines it is said to print."""

from __future__ import annotations

import re
import shlex

from tests.support import ROOT

README = (ROOT / "README.md").read_text("utf-8")


def shown_commands() -> list[tuple[list[str], list[str]]]:
    """The words after `recollect` and the lines below them, in the README's order."""
    block = README.partition("## Inside your agents")[0]
    found = re.findall(r"^    \$ \.venv/bin/recollect (.*)\n((?:(?:    (?!\$).*)?\n)*)", block, re.MULTILINE)
    return [
        (shlex.split(command), [line.removeprefix("    ") for line in shown.splitlines() if line.strip()])
        for command, shown in found
    ]


def shown_python() -> str:
    return README.split("```python\n", 1)[1].split("```", 1)[0]


def ageless(line: str) -> str:
    """A printed line without its ages, which grow."""
    return re.sub(r"\b\d+ (?:mo|y|d|h|min)\b", "AGE", line.rstrip())
