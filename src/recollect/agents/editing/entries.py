"""Our entries in JSON settings: hooks under `hooks`, a server under `mcpServers` or what an agent calls that.

Ours is what runs our own command, wherever a person has moved it. It is put in once,
brought up to date in place, and taken out with every list and object that we left empty;
everything else in the file is another's and stays, byte for byte.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from recollect.agents.editing.change import Change, read_backup, read_settings
from recollect.agents.editing.commands import is_ours
from recollect.agents.editing.json_text import Document, Step
from recollect.values.errors import SettingsRefused
from recollect.values.settings import Installed

SERVER = "recollect"
SERVERS = "mcpServers"

Edit = Callable[[Document], Document]
Removal = Callable[[Document, Mapping[str, Any]], Document]


def json_change(path: Path, *edits: Edit) -> list[Change]:
    """A file with our entries in it; nothing where they are there already."""
    before = read_settings(path)
    document = found = Document.parse(path, before)
    for edit in edits:
        document = edit(document)
    return [] if document.text == found.text else [Change(path, before, document.data)]


def json_removal(path: Path, *removals: Removal) -> list[Change]:
    """A file without them: the original's own bytes, where nothing else has changed since."""
    before = read_settings(path)
    if before is None:
        return []
    kept = read_backup(path)
    original = _original(path, kept)
    document = found = Document.parse(path, before)
    for removal in removals:
        document = removal(document, original or {})
    if document.text == found.text:
        return []
    after: bytes | None = document.data
    if original is not None and json.dumps(document.value) == json.dumps(original):
        after = kept
    elif kept is None and not document.value:
        after = None  # we made this file
    return [Change(path, before, after, undo=True)]


def document_at(path: Path, problems: list[str]) -> Document:
    """A settings file; one that cannot be read counts as empty, and the reason is noted."""
    try:
        return Document.parse(path, read_settings(path, to_write=False))
    except SettingsRefused as error:
        problems.append(str(error))
        return Document(path, "", {})


def missing_events(found: Installed, wanted: Iterable[str]) -> Iterator[str]:
    """What is wrong with hooks that do not run at each of these events."""
    missing = [event for event in wanted if event not in found.events]
    if missing:
        yield f"{found.path}: no hook for {', '.join(missing)}"


def with_hooks(document: Document, command: str, timeouts: Mapping[str, int]) -> Document:
    """Each event of `timeouts` runs the command once, for at most so many seconds; no other event does."""
    _check_hooks(document)
    for at in [place for place in _our_hooks(document.value) if place[1] not in timeouts]:
        document = _without(document, at, {})
    if "hooks" not in document.value:
        document = document.put(("hooks",), {})
    for event, seconds in timeouts.items():
        wanted = {"type": "command", "command": command, "timeout": seconds}
        document = _with_hook(document, event, wanted)
    return document


def without_hooks(document: Document, original: Mapping[str, Any]) -> Document:
    """Nothing runs our command any more. What `original` had empty stays empty."""
    if isinstance(document.value.get("hooks"), dict):
        for at in list(_our_hooks(document.value)):
            document = _without(document, at, original)
    return document


def hooks_in(document: Document) -> dict[str, tuple[str, ...]]:
    """Our commands, with the events that run them."""
    found: dict[str, tuple[str, ...]] = {}
    for at in _our_hooks(document.value):
        command = _at(document.value, at)["command"]
        found[command] = (*found.get(command, ()), str(at[1]))
    return found


def with_server(document: Document, entry: Mapping[str, Any], name: str = SERVERS) -> Document:
    """The MCP server of ours, and whatever a person added to its entry."""
    servers = document.value.get(name, {})
    if not isinstance(servers, dict):
        raise SettingsRefused(document.path, f"its `{name}` is not an object")
    old = servers.get(SERVER, {})
    if SERVER in servers and _is_a_persons(server_command(old)):
        return document  # it runs Recollect already, as somebody wanted it
    if SERVER in servers and not is_ours(server_command(old)):
        raise SettingsRefused(
            document.path,
            f"another MCP server is called `{SERVER}` there",
            hint="rename or remove that one, or leave ours out: recollect init --no-mcp",
        )
    if name not in document.value:
        document = document.put((name,), {})
    return document if old == {**old, **entry} else document.put((name, SERVER), {**old, **entry})


def without_server(document: Document, original: Mapping[str, Any], name: str = SERVERS) -> Document:
    servers = document.value.get(name)
    line = server_command(servers.get(SERVER)) if isinstance(servers, dict) else ""
    if not is_ours(line) or _is_a_persons(line):
        return document
    return _without_empty(document.drop((name, SERVER)), (name,), original)


def _is_a_persons(line: str) -> bool:
    """Whether an entry runs our server without naming a store, as only a person would write it."""
    return is_ours(line) and "--store" not in line


def server_in(document: Document, name: str = SERVERS) -> str:
    """The command line of our MCP server, or ""."""
    servers = document.value.get(name)
    line = server_command(servers.get(SERVER)) if isinstance(servers, dict) else ""
    return line if is_ours(line) else ""


def server_command(entry: Any) -> str:
    """A server's entry as one command line; "" if it does not run a command.

    Its words are a program and its arguments, or all in one list.
    """
    if not isinstance(entry, dict):
        return ""
    command = entry.get("command")
    words = [*(command if isinstance(command, list) else [command]), *(entry.get("args") or ())]
    return shlex.join(words) if all(isinstance(word, str) for word in words) else ""


def _original(path: Path, kept: bytes | None) -> dict[str, Any] | None:
    """What the backup says; None without one, or where someone else wrote over it."""
    try:
        return None if kept is None else Document.parse(path, kept).value
    except SettingsRefused:
        return None


def _check_hooks(document: Document) -> None:
    hooks = document.value.get("hooks", {})
    if not isinstance(hooks, dict):
        raise SettingsRefused(document.path, "its `hooks` is not an object")
    for event, groups in hooks.items():
        if not isinstance(groups, list):
            raise SettingsRefused(document.path, f"its hooks for {event!r} are not a list")


def _with_hook(document: Document, event: str, wanted: dict[str, Any]) -> Document:
    written = [at for at in _our_hooks(document.value) if at[1] == event]
    if written:
        *extra, first = written
        for at in extra:
            document = _without(document, at, {})
        old = _at(document.value, first)
        return document if old == {**old, **wanted} else document.put(first, {**old, **wanted})
    groups = document.value["hooks"].get(event)
    group = {"hooks": [wanted]}
    if groups is None:
        return document.put(("hooks", event), [group])
    return document.put(("hooks", event, len(groups)), group)


def _our_hooks(value: Mapping[str, Any]) -> Iterator[tuple[Step, ...]]:
    """Where our hooks are; the last of each event first, so that taking one out moves no other."""
    hooks = value.get("hooks")
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for group_at, group in reversed(list(enumerate(groups if isinstance(groups, list) else ()))):
            hooks_of = group.get("hooks") if isinstance(group, dict) else None
            for at, hook in reversed(list(enumerate(hooks_of if isinstance(hooks_of, list) else ()))):
                command = hook.get("command") if isinstance(hook, dict) else None
                if isinstance(command, str) and is_ours(command):
                    yield "hooks", event, group_at, "hooks", at


def _without(document: Document, at: tuple[Step, ...], original: Mapping[str, Any]) -> Document:
    document = document.drop(at)
    if _at(document.value, at[:-1]):
        return document
    document = document.drop(at[:3])  # the group that held nothing else
    for steps in (at[:2], at[:1]):
        document = _without_empty(document, steps, original)
    return document


def _without_empty(document: Document, steps: tuple[Step, ...], original: Mapping[str, Any]) -> Document:
    """Without what is empty there, unless the original had it."""
    return document if _at(document.value, steps) or _has(original, steps) else document.drop(steps)


def _has(value: Any, steps: tuple[Step, ...]) -> bool:
    for step in steps:
        if not isinstance(value, dict) or step not in value:
            return False
        value = value[step]
    return True


def _at(value: Any, steps: tuple[Step, ...]) -> Any:
    for step in steps:
        value = value[step]
    return value
