"""Amp: `~/.local/share/amp/threads/T-ID.json`, saved again at every step.

Threads are kept on a server too; what lies here may be part of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.agents.contract import Agent

if TYPE_CHECKING:
    from pathlib import PurePath

    from recollect.agents.amp.parse import AmpParser
    from recollect.agents.head import Head
    from recollect.agents.tools import Tools
    from recollect.values.records import SourceFile


class Amp(Agent):
    """Threads as documents."""

    name = "amp"
    title = "Amp"
    version = 1
    is_proven = False
    home = "~/.local/share/amp"
    moved_by = ("XDG_DATA_HOME",)
    instructions = "AGENTS.md"

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        from recollect.agents.amp.parse import roots

        return roots(home, environ)

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        from recollect.agents.amp.parse import recognise

        return recognise(path, head)

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> AmpParser:
        from recollect.agents.amp.parse import AmpParser

        return AmpParser(source, state)

    def tools(self) -> Tools:
        from recollect.agents.amp.tools import TOOLS

        return TOOLS


AGENT = Amp()
