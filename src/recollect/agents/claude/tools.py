"""Claude Code's tools."""

from __future__ import annotations

from typing import Any

from recollect.agents.fields import text_of
from recollect.agents.tools import Tasks, Tools, edited_arguments, whole_list


def _write(tasks: Tasks, given: dict[str, Any], all_calls: bool) -> Tasks:
    return whole_list(given.get("todos"), "content")


def _create(tasks: Tasks, given: dict[str, Any], all_calls: bool) -> Tasks:
    """One more. It gets its number from how many were made before it, so all of them must be known."""
    if not all_calls:
        return tasks
    return {**tasks, str(len(tasks) + 1): (text_of(given.get("subject")), "pending")}


def _update(tasks: Tasks, given: dict[str, Any], all_calls: bool) -> Tasks:
    number = text_of(given.get("taskId"))
    if number not in tasks:
        return tasks
    what, state = tasks[number]
    changed = text_of(given.get("subject")) or what, text_of(given.get("status")) or state
    return {**tasks, number: changed}


TOOLS = Tools(
    change=frozenset({"edit", "multiedit", "write", "notebookedit"}),
    look_in=frozenset({"glob", "grep", "ls"}),
    run=frozenset({"bash", "powershell"}),
    plan={"todowrite": _write, "taskcreate": _create, "taskupdate": _update},
    paths=("file_path", "notebook_path"),
    commands=("command",),
    edited=(edited_arguments,),
    read=frozenset({"read", "notebookread"}),
    follow=frozenset({"bashoutput", "taskoutput", "killshell", "monitor"}),
    fetch=frozenset({"webfetch", "websearch"}),
    delegate=frozenset({"task", "agent"}),
    ask=frozenset({"askuserquestion"}),
    propose=frozenset({"exitplanmode"}),
    prepare=frozenset({"enterplanmode"}),
)
