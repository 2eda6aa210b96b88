"""What the tools of an agent do, so that its calls can be asked about."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from recollect.agents.fields import dict_of, list_of, text_of
from recollect.values.history import Change

Tasks = dict[str, tuple[str, str]]  # by number: what, and how far
Planner = Callable[[Tasks, dict[str, Any], bool], Tasks]

# Arguments that are one whoever's tool it is: MCP servers name them so.
_PATHS = ("path", "filePath", "filename")
_COMMANDS = ("command", "cmd")


@dataclass(frozen=True, slots=True)
class Tools:
    """Tools by name, in lower case, and arguments by name.

    `change` a file; `read` one; `look_in` a folder, so that a path of theirs may be one; `run` a command in a
    shell, `follow` what one that still runs says; `fetch` from the web; `delegate` to a subagent; `ask` the
    person to choose, `propose` a plan to be approved, and `prepare` for one.
    `plan`: for each tool that keeps the session's task list, what a call makes of the list, given its
    arguments and whether all calls before it are known. `paths` and `commands` name the arguments that
    hold one; `patched` finds the paths in a call's text that stand in no argument; `edited` finds what a
    call's text says becomes of the text of files.
    """

    change: frozenset[str] = frozenset()
    look_in: frozenset[str] = frozenset()
    run: frozenset[str] = frozenset()
    plan: Mapping[str, Planner] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    patched: tuple[Callable[[str], list[str]], ...] = ()
    edited: tuple[Callable[[str], list[Change]], ...] = ()
    read: frozenset[str] = frozenset()
    follow: frozenset[str] = frozenset()
    fetch: frozenset[str] = frozenset()
    delegate: frozenset[str] = frozenset()
    ask: frozenset[str] = frozenset()
    propose: frozenset[str] = frozenset()
    prepare: frozenset[str] = frozenset()


def changes_in(tools: Tools, text: str) -> list[Change]:
    """What becomes of files by a call, as the first knows it that knows its form: two agents may have one."""
    return next(filter(None, (edited(text) for edited in tools.edited)), [])


def union_of(several: Iterable[Tools]) -> Tools:
    """What is known of the tools of all agents: an entry does not say whose call it is."""
    known = list(several)
    return Tools(
        frozenset().union(*(each.change for each in known)),
        frozenset().union(*(each.look_in for each in known)),
        frozenset().union(*(each.run for each in known)),
        {name: planner for each in known for name, planner in each.plan.items()},
        _once([*(name for each in known for name in each.paths), *_PATHS]),
        _once([*(name for each in known for name in each.commands), *_COMMANDS]),
        tuple(patched for each in known for patched in each.patched),
        tuple(dict.fromkeys(edited for each in known for edited in each.edited)),
        *(
            frozenset().union(*(getattr(each, name) for each in known))
            for name in ("read", "follow", "fetch", "delegate", "ask", "propose", "prepare")
        ),
    )


def edited_arguments(text: str) -> list[Change]:
    """What becomes of a file by a call that names old and new text, several of both, or all of the new."""
    try:
        given = dict_of(json.loads(text)) if text.startswith("{") else {}
    except (ValueError, RecursionError):
        return []
    path = next(filter(None, (text_of(given.get(name)) for name in ("file_path", "notebook_path"))), "")
    if path and "content" in given:
        return [Change(path, "", text_of(given["content"]), is_whole=True)]
    edits = [dict_of(each) for each in list_of(given.get("edits"))] or [given]
    changes = [
        Change(
            path, text_of(each.get("old_string")), text_of(each.get("new_string") or each.get("new_source"))
        )
        for each in edits
    ]
    return [each for each in changes if path and (each.old or each.new)]


def whole_list(items: Any, what: str) -> Tasks:
    """A task list that a call gives whole; `what` is the field that says what is to be done."""
    tasks = [dict_of(each) for each in list_of(items)]
    return {
        f"item {n}": (text_of(each.get(what)), text_of(each.get("status"))) for n, each in enumerate(tasks)
    }


def _once(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
