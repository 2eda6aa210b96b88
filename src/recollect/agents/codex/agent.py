"""Codex: `~/.codex/sessions/**/rollout-*.jsonl`, plain, compressed, or the oldest `.json`.

A cold rollout turns into `.jsonl.zst` between two looks. It stays the same source: `path` is
the plain name, `read_path` where the bytes are now.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.agents.codex import paths
from recollect.agents.contract import Agent

if TYPE_CHECKING:
    from pathlib import Path, PurePath

    from recollect.agents.asking import Asker
    from recollect.agents.codex.parse import CodexParser
    from recollect.agents.contract import Reader, Writer
    from recollect.agents.head import Head
    from recollect.agents.signs import Signs
    from recollect.agents.tools import Tools
    from recollect.light.agents import Hooks
    from recollect.values.records import SourceFile
    from recollect.values.settings import Commands, Settings


class Codex(Agent):
    """Rollouts of every era."""

    name = "codex"
    title = "Codex"
    version = 7
    home = "~/.codex"
    moved_by = (paths.MOVED_BY,)
    instructions = "AGENTS.md"
    tags = (
        "app-context",
        "apps_instructions",
        "collaboration_mode",
        "environment_context",
        "hook_prompt",
        "model_switch",
        "multi_agent_mode",
        "personality_spec",
        "plugins_instructions",
        "proposed_plan",
        "recommended_plugins",
        "skills_instructions",
        "subagent_notification",
        "turn_aborted",
        "user_action",
        "user_instructions",
        "user_shell_command",
    )

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        from pathlib import PurePath

        return [PurePath(root) for root in paths.roots(str(home), environ)]

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        from recollect.agents.codex.recognise import recognise

        return recognise(path, head)

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> CodexParser:
        from recollect.agents.codex.parse import CodexParser

        return CodexParser(source, state)

    def hooks(self) -> Hooks:
        from recollect.agents.codex import hooks

        return hooks

    def settings(
        self, commands: Commands, *, home: Path, environ: Mapping[str, str], folder: Path
    ) -> Settings:
        from recollect.agents.codex.settings import CodexSettings

        return CodexSettings(commands, home, environ, folder)

    def reader(self) -> Reader:
        from recollect.agents.codex import read

        return read

    def writer(self) -> Writer:
        from recollect.agents.codex import write

        return write

    def tools(self) -> Tools:
        from recollect.agents.codex.tools import TOOLS

        return TOOLS

    def signs(self) -> Signs:
        from recollect.agents.codex.signs import SIGNS

        return SIGNS

    def asker(self) -> Asker:
        from recollect.agents.codex import ask

        return ask


AGENT = Codex()
