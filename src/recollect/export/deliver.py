"""A conversation as a session that an agent opens as its own past, put where that agent looks."""

from __future__ import annotations

import os
import uuid
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from recollect.agents.claude import write as claude_file
from recollect.agents.codex import write as codex_file
from recollect.export.masked import masked
from recollect.export.write import write_session
from recollect.values.conversation import Conversation
from recollect.values.errors import UsageError
from recollect.values.fidelity import Delivered

# What is written as the version of the client: the newest that was seen to open these files.
CLAUDE_VERSION = "2.1.197"
CODEX_VERSION = "0.166.0"


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
    if not os.path.isdir(folder):
        raise UsageError(f"{folder}: no such folder", hint="name the folder the agent will be started in")
    found: Counter[str] | None = None
    if redacted:
        conversation, found = masked(conversation)
    folder = os.path.realpath(folder)
    if agent == "claude":
        session_id = str(uuid.uuid4())
        data, fidelity = claude_file.render(
            conversation,
            session_id=session_id,
            cwd=folder,
            version=CLAUDE_VERSION,
            branch=conversation.branch,
            now_ms=now_ms,
        )
        path = claude_file.target(home, environ, folder, session_id)
        check = partial(claude_file.validate, session_id=session_id)
        command = f"claude --resume {session_id}"
    else:
        session_id = codex_file.new_id(now_ms, os.urandom(16))
        data, fidelity = codex_file.render(
            conversation,
            session_id=session_id,
            cwd=folder,
            version=CODEX_VERSION,
            branch=conversation.branch,
            now_ms=now_ms,
            model_provider=codex_file.provider(home, environ),
        )
        path = codex_file.target(home, environ, session_id, now_ms)
        check = partial(codex_file.validate, session_id=session_id)
        command = f"codex resume {session_id}"
    written = None if dry_run else write_session(data, path, check)
    return Delivered(agent, session_id, written, command, len(data), fidelity, found)
