"""Kiro: `~/.kiro/sessions/cli/ID.jsonl`, and beside it `ID.json` with what is known of the session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.agents.contract import Agent

if TYPE_CHECKING:
    from pathlib import PurePath

    from recollect.agents.head import Head
    from recollect.agents.kiro.parse import KiroParser
    from recollect.agents.tools import Tools
    from recollect.values.records import SourceFile


class Kiro(Agent):
    """Sessions of its command line as logs."""

    name = "kiro"
    title = "Kiro"
    version = 1
    proven = False
    home = "~/.kiro"

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        return [home / ".kiro" / "sessions"]

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        from recollect.agents.kiro.parse import recognise

        return recognise(path, head)

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> KiroParser:
        from recollect.agents.kiro.parse import KiroParser

        return KiroParser(source, state)

    def tools(self) -> Tools:
        from recollect.agents.tools import Tools

        return Tools(
            change=frozenset({"fs_write", "write"}),
            run=frozenset({"execute_bash", "shell"}),
            paths=("path",),
            commands=("command",),
            read=frozenset({"fs_read"}),
        )


AGENT = Kiro()
