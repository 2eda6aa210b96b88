"""The Claude Code plugin: what the package has of it, with the commands of this machine.

The commands name this interpreter and this store by their whole paths, as those in settings do. What a
plugin runs by name is whatever the PATH of that moment has under it, a project's own program perhaps.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from recollect.agents.claude.settings import TIMEOUTS
from recollect.agents.editing.entries import SERVER
from recollect.values.settings import Commands, Plugin

_KEPT = Path(__file__).with_name("plugin")
_SHOWN = re.compile(r"^    recollect ", re.MULTILINE)  # a command in the skill


def plugin(commands: Commands, folder: Path) -> Plugin:
    """The plugin as it is to lie in a folder, which is a marketplace of its own too."""
    steps = (
        f"claude plugin marketplace add {shlex.quote(str(folder))}",
        "claude plugin install recollect@recollect",
    )
    return Plugin(folder, plugin_files(commands), steps)


def plugin_files(commands: Commands) -> dict[str, bytes]:
    """All its files, by where they are in it."""
    found = {path.relative_to(_KEPT).as_posix(): path.read_bytes() for path in sorted(_kept())}
    skill = "skills/recall/SKILL.md"
    shown = f"    {shlex.join(commands.mcp[:-1])} "
    program, *args = commands.mcp
    hook = {"type": "command", "command": commands.hook_line}
    return {
        **found,
        skill: _SHOWN.sub(lambda _: shown, found[skill].decode()).encode(),
        "hooks/hooks.json": _json(
            {
                "description": "Recollect: captures the conversation, and tells a new one what is known.",
                "hooks": {
                    event: [{"hooks": [{**hook, "timeout": seconds}]}] for event, seconds in TIMEOUTS.items()
                },
            }
        ),
        ".mcp.json": _json({"mcpServers": {SERVER: {"type": "stdio", "command": program, "args": args}}}),
    }


def _kept() -> Iterator[Path]:
    return (path for path in _KEPT.rglob("*") if path.is_file())


def _json(value: Mapping[str, object]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
