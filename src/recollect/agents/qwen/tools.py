"""Qwen Code's tools, by the names they had over time."""

from __future__ import annotations

from typing import Any

from recollect.agents.tools import Tasks, Tools, edited_arguments, whole_list


def _plan(tasks: Tasks, given: dict[str, Any], all_calls: bool) -> Tasks:
    return whole_list(given.get("todos"), "content")


TOOLS = Tools(
    change=frozenset({"edit", "replace", "write_file", "notebook_edit"}),
    look_in=frozenset({"glob", "grep_search", "list_directory", "read_many_files", "search_file_content"}),
    run=frozenset({"run_shell_command"}),
    plan={"todo_write": _plan},
    paths=("file_path", "absolute_path", "notebook_path"),
    commands=("command",),
    edited=(edited_arguments,),
    read=frozenset({"read_file", "zoom_image"}),
    follow=frozenset({"monitor", "task_stop"}),
    fetch=frozenset({"web_fetch", "web_search"}),
    delegate=frozenset({"agent", "task"}),
    ask=frozenset({"ask_user_question"}),
    propose=frozenset({"exit_plan_mode"}),
    prepare=frozenset({"enter_plan_mode"}),
)
