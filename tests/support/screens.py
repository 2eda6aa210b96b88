"""docs/terminal.md: below its first words, what commands look like, drawn on terminals of several widths.

What they show is in the hand-written logs.

`python -m tests.support.screens` writes it anew.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

from tests.support import DATA, ROOT, SOURCE
from tests.support.terminals import on_terminal

PAGE = ROOT / "docs" / "terminal.md"
SCREENS = (
    ("The same list at three widths", ((60, "sessions -n 6"), (80, "sessions -n 6"), (120, "sessions -n 6"))),
    ("Tokens and cost", ((80, "usage"), (100, "usage --by project,model"))),
    ("What was found, by conversation", ((80, "search why does the sync stop after one page"),)),
    ("A conversation, with an edit as a diff", ((80, "show 41022c642adf --around 4"),)),
)
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
# On another day ages are longer, and leave less room for titles.
_PROGRAM = (
    "import sys, time; time.time_ns = lambda: 1_795_000_000 * 10**9; "
    "from recollect.cli import main; sys.exit(main())"
)
_LINES_MAX = 30
AGENTS = ("claude", "codex", "gemini")  # enough for every command to have something to show


def page(folder: Path) -> str:
    """The page, made with a store in this folder."""
    (folder / "config.toml").write_text('host = "laptop"\n')
    environ = {
        "HOME": str(folder),
        "TZ": "UTC",
        "PYTHONPATH": str(SOURCE),
        "RECOLLECT_STORE": str(folder / "memory.h5"),
        "RECOLLECT_CACHE": str(folder / "cache"),
        "RECOLLECT_CONFIG": str(folder / "config.toml"),
        "RECOLLECT_PAGER": "",
    }
    on_terminal(["ingest", *(str(DATA / agent) for agent in AGENTS), "--quiet"], **environ)
    made = [PAGE.read_text("utf-8").partition("## ")[0].rstrip() + "\n"]
    for title, screens in SCREENS:
        made.append(f"## {title}\n")
        for width, words in screens:
            asked = [*words.split(), "--quiet"]
            shown = _COLORS.sub("", on_terminal(asked, width, program=("-c", _PROGRAM), **environ))
            lines = [line.rstrip() for line in shown.rstrip().splitlines()][:_LINES_MAX]
            body = "\n".join([f"$ recollect {words}", *lines])
            made.append(f"{width} columns:\n\n```text\n{body}\n```\n")
    return "\n".join(made)


if __name__ == "__main__":
    os.environ.pop("NO_COLOR", None)
    with tempfile.TemporaryDirectory() as scratch:
        PAGE.write_text(page(Path(scratch)), "utf-8")
    sys.stdout.write(f"{PAGE}\n")
