"""Qwen Code: `~/.qwen/projects/PROJECT/chats/SESSION.jsonl`, and its subagents' beside `chats`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.agents.contract import Agent
from recollect.agents.qwen import paths

if TYPE_CHECKING:
    from pathlib import Path, PurePath

    from recollect.agents.contract import Reader, Writer
    from recollect.agents.head import Head
    from recollect.agents.qwen.parse import QwenParser
    from recollect.agents.signs import Signs
    from recollect.agents.tools import Tools
    from recollect.light.agents import Hooks
    from recollect.values.records import SourceFile
    from recollect.values.settings import Commands, Settings


class Qwen(Agent):
    """Transcripts, subagents' transcripts and their sidecars."""

    name = "qwen"
    title = "Qwen Code"
    version = 1
    home = "~/.qwen"
    moved_by = paths.MOVED_BY
    instructions = "QWEN.md"
    tags = ("qwen:user-prompt-submit-context", "state_snapshot", "cross_session_message")

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        from pathlib import PurePath

        return [PurePath(root) for root in paths.roots(str(home), environ)]

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        from recollect.agents.qwen.recognise import recognise

        return recognise(path, head)

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> QwenParser:
        from recollect.agents.qwen.parse import QwenParser

        return QwenParser(source, state)

    def hooks(self) -> Hooks:
        from recollect.agents.qwen import hooks

        return hooks

    def settings(
        self, commands: Commands, *, home: Path, environ: Mapping[str, str], folder: Path
    ) -> Settings:
        from recollect.agents.qwen.settings import QwenSettings

        return QwenSettings(commands, home, environ, folder)

    def reader(self) -> Reader:
        from recollect.agents.qwen import read

        return read

    def writer(self) -> Writer:
        from recollect.agents.qwen import write

        return write

    def tools(self) -> Tools:
        from recollect.agents.qwen.tools import TOOLS

        return TOOLS

    def signs(self) -> Signs:
        from recollect.agents.qwen.signs import SIGNS

        return SIGNS


AGENT = Qwen()
