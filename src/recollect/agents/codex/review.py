"""Which of our hooks a person has reviewed in Codex; it skips the others and says nothing.

Codex keeps an approval in its own `config.toml`, under the hook's place in its file and with a
hash of what the hook runs. It is read here, never written: a program that approves itself
would take the review away from the person it is there for.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect.agents.editing.commands import is_ours
from recollect.agents.editing.json_text import Document

_WRITTEN = {"type", "command", "timeout"}


@dataclass(frozen=True, slots=True)
class _Hook:
    """One hook of ours: the event, where it stands in that event's groups, and what it says."""

    event: str
    group_at: int
    at: int
    group: Mapping[str, Any]
    hook: Mapping[str, Any]

    @property
    def key(self) -> str:
        return f"{_snake(self.event)}:{self.group_at}:{self.at}"

    @property
    def fingerprint(self) -> str:
        """The hash of it in an approval; "" where it is not as we write it, and so not ours to know."""
        if set(self.group) != {"hooks"} or set(self.hook) != _WRITTEN:
            return ""
        said = {"event_name": _snake(self.event), "hooks": [{**self.hook, "async": False}]}
        text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def unreviewed(document: Document, settings: Mapping[str, Any]) -> list[str]:
    """What to tell a person about the hooks in this file that do not run, given Codex's settings."""
    waiting, off = list[str](), list[str]()
    for found in _our_hooks(document.value):
        approval = _approval(settings, document.path, found.key)
        if not _approves(approval, found):
            waiting.append(found.event)
        elif approval.get("enabled") is False:
            off.append(found.event)
    told = []
    if waiting:
        told.append(f"skipped until you trust them (Codex asks at its start; /hooks): {', '.join(waiting)}")
    if off:
        told.append(f"switched off in Codex (/hooks switches them on again): {', '.join(off)}")
    return [f"{document.path}: hooks {sentence}" for sentence in told]


def _approves(approval: Mapping[str, Any], found: _Hook) -> bool:
    given = approval.get("trusted_hash")
    return bool(given) and found.fingerprint in ("", given)


def _approval(settings: Mapping[str, Any], path: Path, key: str) -> Mapping[str, Any]:
    hooks = settings.get("hooks")
    state = hooks.get("state") if isinstance(hooks, dict) else None
    # Codex resolves links in the folder that CODEX_HOME names, and leaves the usual one as it is.
    for name in (str(path), os.path.realpath(path)):
        found = state.get(f"{name}:{key}") if isinstance(state, dict) else None
        if isinstance(found, dict):
            return found
    return {}


def _our_hooks(value: Mapping[str, Any]) -> Iterator[_Hook]:
    events = value.get("hooks")
    for event, groups in events.items() if isinstance(events, dict) else ():
        for group_at, group in enumerate(groups if isinstance(groups, list) else ()):
            hooks = group.get("hooks") if isinstance(group, dict) else None
            for at, hook in enumerate(hooks if isinstance(hooks, list) else ()):
                command = hook.get("command") if isinstance(hook, dict) else None
                if isinstance(command, str) and is_ours(command):
                    yield _Hook(event, group_at, at, group, hook)


def _snake(event: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower()
