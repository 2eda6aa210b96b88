"""gptme: `~/.local/share/gptme/logs/CONVERSATION/conversation.jsonl`, a message a line.

This module is imported for every help text, so the parser is imported where it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from recollect.agents.contract import Agent
from recollect.agents.fields import dict_of
from recollect.values.records import SourceFile

if TYPE_CHECKING:
    from recollect.agents.head import Head
    from recollect.agents.tools import Tools
    from recollect_gptme.parse import GptmeParser

_FILE = "conversation.jsonl"


class Gptme(Agent):
    """Conversations by the name of their folder."""

    name = "gptme"
    title = "gptme"
    version = 1
    home = "~/.local/share/gptme"
    moved_by = ("XDG_DATA_HOME", "GPTME_LOGS_HOME")

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        if logs := environ.get("GPTME_LOGS_HOME"):
            return [PurePath(logs)]
        data = environ.get("XDG_DATA_HOME") or home / ".local" / "share"
        return [PurePath(data) / "gptme" / "logs"]

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        # Other agents may call a file so too: what is in it decides.
        if path.name != _FILE or not any(_is_message(record) for record in head.records):
            return None
        return SourceFile(self.name, str(path), session=path.parent.name)

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> GptmeParser:
        from recollect_gptme.parse import GptmeParser

        return GptmeParser(source, state)

    def tools(self) -> Tools:
        from recollect_gptme.tools import TOOLS

        return TOOLS


def _is_message(record: Any) -> bool:
    return {"role", "content", "timestamp"} <= dict_of(record).keys()


AGENT = Gptme()
