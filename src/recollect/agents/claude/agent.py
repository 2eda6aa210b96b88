"""Claude Code: `~/.claude/projects/<project>/<session>.jsonl` and what lies beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.agents.claude import paths
from recollect.agents.contract import Agent

if TYPE_CHECKING:
    from pathlib import Path, PurePath

    from recollect.agents.asking import Asker
    from recollect.agents.contract import Parser, Reader, Writer
    from recollect.agents.head import Head
    from recollect.agents.mirroring import Mirror
    from recollect.agents.signs import Signs
    from recollect.agents.tools import Tools
    from recollect.light.agents import Hooks
    from recollect.values.records import SourceFile
    from recollect.values.settings import Commands, Plugin, Settings


class Claude(Agent):
    """Transcripts, subagent transcripts, their sidecars and spilled tool results."""

    name = "claude"
    title = "Claude Code"
    version = 7
    home = "~/.claude"
    moved_by = (paths.MOVED_BY,)
    instructions = "CLAUDE.md"
    tags = (
        "command-args",
        "command-message",
        "command-name",
        "bash-input",
        "bash-stderr",
        "bash-stdout",
        "ci-monitor-event",
        "ide_diagnostics",
        "ide_opened_file",
        "ide_selection",
        "local-command",
        "new-diagnostics",
        "persisted-output",
        "session-start-hook",
        "system-reminder",
        "task-notification",
        "teammate-message",
        "user-prompt-submit-hook",
    )

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        from pathlib import PurePath

        return [PurePath(root) for root in paths.roots(str(home), environ)]

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        from recollect.agents.claude.recognise import recognise

        return recognise(path, head)

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> Parser:
        from recollect.agents.claude.mirror import mirror_parser
        from recollect.agents.claude.parse import ClaudeParser

        return mirror_parser(source, state) or ClaudeParser(source, state)

    def hooks(self) -> Hooks:
        from recollect.agents.claude import hooks

        return hooks

    def settings(
        self, commands: Commands, *, home: Path, environ: Mapping[str, str], folder: Path
    ) -> Settings:
        from recollect.agents.claude.settings import ClaudeSettings

        return ClaudeSettings(commands, home, environ, folder)

    def plugin(self, commands: Commands, *, folder: Path) -> Plugin:
        from recollect.agents.claude.plugin_files import plugin

        return plugin(commands, folder)

    def reader(self) -> Reader:
        from recollect.agents.claude import read

        return read

    def writer(self) -> Writer:
        from recollect.agents.claude import write

        return write

    def tools(self) -> Tools:
        from recollect.agents.claude.tools import TOOLS

        return TOOLS

    def signs(self) -> Signs:
        from recollect.agents.claude.signs import SIGNS

        return SIGNS

    def asker(self) -> Asker:
        from recollect.agents.claude import ask

        return ask

    def mirror(self) -> Mirror:
        from recollect.agents.claude import mirror

        return mirror

    def deletes_after_days(self, home: Path, environ: Mapping[str, str]) -> int:
        from recollect.agents.claude.settings import cleanup_days

        return cleanup_days(home, environ)

    def tells(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        from pathlib import PurePath

        return [PurePath(paths.folder(str(home), environ), "settings.json")]


AGENT = Claude()
