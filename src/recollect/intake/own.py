"""Whose a log is: this person's own agents wrote it, or somebody handed it over.

Own is what lies where its agent keeps its logs on this machine: in the folders it has by default and
in those it was told to use, whatever links lead there. Everything else is imported: it may say anything,
of any project, in anyone's name. A file that a person copies into an agent's folder cannot be told from
one that the agent wrote.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath

from recollect.agents.registry import agents
from recollect.light.sources import is_conversation
from recollect.store.contract import Writer
from recollect.values.records import Provenance, SourceFile


class OwnLogs:
    """The folders in which the agents of one person on one host keep their logs."""

    def __init__(self, host: str, home: PurePath, environ: Mapping[str, str]) -> None:
        self._host = host
        self._roots = {
            agent.name: tuple(
                _real(str(root)) + os.sep
                for told in (environ, {})
                for root in agent.roots(home, told)
                if os.path.isabs(root)
            )
            for agent in agents()
        }

    def marked(self, file: SourceFile, host: str) -> SourceFile:
        """The file with its mark; one that has a mark keeps it."""
        if file.provenance is not Provenance.UNMARKED:
            return file
        own = not is_conversation(file.agent) or self._holds(file, host)
        return replace(file, provenance=Provenance.OWN if own else Provenance.IMPORTED)

    def mark_stored(self, writer: Writer) -> int:
        """Mark the sources that were taken before anyone asked, by their paths; returns how many."""
        unmarked = writer.view().unmarked()
        for source in unmarked:
            writer.mark(source, self.marked(source.file, source.host).provenance)
        return len(unmarked)

    def _holds(self, file: SourceFile, host: str) -> bool:
        roots = self._roots.get(file.agent, ())
        return host == self._host and os.path.isabs(file.path) and _real(file.path).startswith(roots)


def _real(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))
