"""pi: `~/.pi/agent/sessions/--FOLDER--/TIME_SESSION.jsonl`, a tree of records in one file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.agents.contract import Agent

if TYPE_CHECKING:
    from pathlib import PurePath

    from recollect.agents.contract import Reader, Writer
    from recollect.agents.head import Head
    from recollect.agents.pi.parse import PiParser
    from recollect.agents.signs import Signs
    from recollect.agents.tools import Tools
    from recollect.values.records import SourceFile


class Pi(Agent):
    """Sessions of every version of the format."""

    name = "pi"
    title = "pi"
    version = 1
    home = "~/.pi"
    moved_by = ("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR")
    instructions = "AGENTS.md"
    tags = ("skill",)

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        from recollect.agents.pi.paths import roots

        return roots(home, environ)

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        from recollect.agents.pi.paths import recognise

        return recognise(path, head)

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> PiParser:
        from recollect.agents.pi.parse import PiParser

        return PiParser(source, state)

    def reader(self) -> Reader:
        from recollect.agents.pi import read

        return read

    def writer(self) -> Writer:
        from recollect.agents.pi import write

        return write

    def tools(self) -> Tools:
        from recollect.agents.pi.tools import TOOLS

        return TOOLS

    def signs(self) -> Signs:
        from recollect.agents.pi.signs import SIGNS

        return SIGNS


AGENT = Pi()
