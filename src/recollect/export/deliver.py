"""A conversation as a session that an agent opens as its own past, put where that agent looks."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from recollect.agents.registry import agent_of
from recollect.export.masked import masked, without_altered
from recollect.export.write import write_session
from recollect.values.conversation import Conversation
from recollect.values.errors import UsageError
from recollect.values.fidelity import Delivered


def deliver(
    conversation: Conversation,
    agent: str,
    *,
    home: Path,
    environ: Mapping[str, str],
    folder: str,
    now_ms: int,
    redacted: bool = True,
    dry_run: bool = False,
) -> Delivered:
    """Write a session for an agent that is started in `folder`; in a dry run only make and check it."""
    writer = agent_of(agent).writer()
    if writer is None:
        raise UsageError(
            f"no session can be written for {agent!r}", hint="`recollect resume --help` lists who"
        )
    if not os.path.isdir(folder):
        raise UsageError(f"{folder}: no such folder", hint="name the folder the agent will be started in")
    if conversation.imported:
        # It would be the title of a session of the agent's own, which a catalog tells.
        conversation = replace(conversation, title="")
    found: Counter[str] | None = None
    conversation = without_altered(conversation) if not redacted else conversation
    if redacted:
        conversation, found = masked(conversation)
    made = writer.session_file(
        conversation,
        home=home,
        environ=environ,
        folder=os.path.realpath(folder),
        now_ms=now_ms,
        seed=os.urandom(16),
    )
    written = None if dry_run else write_session(made.data, made.path, made.problems)
    return Delivered(agent, made.session_id, written, made.command, len(made.data), made.fidelity, found)
