"""What gptme's tools do, so that `blame`, `how` and `fix` know its calls."""

from __future__ import annotations

from recollect.agents.tools import Tools

TOOLS = Tools(
    change=frozenset({"append", "morph", "patch", "save"}),
    run=frozenset({"ipython", "shell", "tmux"}),
    read=frozenset({"read"}),
    fetch=frozenset({"browser"}),
    paths=("path",),
    commands=("command", "code"),
)
