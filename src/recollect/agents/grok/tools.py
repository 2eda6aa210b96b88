"""Grok's own tools. What an MCP server brings is called by `use_tool`."""

from __future__ import annotations

from typing import Any

from recollect.agents.fields import dict_of, list_of, text_of
from recollect.agents.tools import Tasks, Tools, edited_arguments


def _plan(tasks: Tasks, given: dict[str, Any], all_calls: bool) -> Tasks:
    """A list that takes the place of the one before, or changes those of its tasks that it names."""
    told = {
        text_of(each.get("id")) or f"item {n}": (text_of(each.get("content")), text_of(each.get("status")))
        for n, each in enumerate(map(dict_of, list_of(given.get("todos"))))
    }
    if given.get("merge") is not True:
        return told
    merged = {
        name: (what or tasks.get(name, ("", ""))[0], how or tasks.get(name, ("", ""))[1])
        for name, (what, how) in told.items()
    }
    return {**tasks, **merged}


TOOLS = Tools(
    change=frozenset({"search_replace", "write"}),
    look_in=frozenset({"grep", "list_dir"}),
    run=frozenset({"monitor", "run_terminal_command"}),
    plan={"todo_write": _plan},
    paths=("file_path", "target_file", "target_directory", "path"),
    commands=("command",),
    edited=(edited_arguments,),
    read=frozenset({"read_file"}),
    follow=frozenset({"get_command_or_subagent_output"}),
    fetch=frozenset({"web_fetch", "web_search"}),
    delegate=frozenset({"spawn_subagent"}),
    ask=frozenset({"ask_user_question"}),
    propose=frozenset({"exit_plan_mode"}),
    prepare=frozenset({"enter_plan_mode"}),
)
