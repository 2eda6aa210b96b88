"""Gemini CLI's tools, by the names they had over time."""

from __future__ import annotations

from typing import Any

from recollect.agents.tools import Tasks, Tools, edited_arguments, whole_list


def _plan(tasks: Tasks, given: dict[str, Any], all_calls: bool) -> Tasks:
    return whole_list(given.get("todos"), "description")


TOOLS = Tools(
    change=frozenset({"edit", "replace", "write_file"}),
    look_in=frozenset({"glob", "grep_search", "list_directory", "read_many_files", "search_file_content"}),
    run=frozenset({"run_shell_command"}),
    plan={"write_todos": _plan},
    paths=("file_path", "absolute_path", "dir_path"),
    commands=("command",),
    edited=(edited_arguments,),
    read=frozenset({"read_file"}),
    fetch=frozenset({"google_web_search", "web_fetch"}),
    delegate=frozenset({"invoke_agent", "delegate_to_agent", "codebase_investigator", "generalist"}),
    ask=frozenset({"ask_user"}),
    propose=frozenset({"exit_plan_mode"}),
    prepare=frozenset({"enter_plan_mode"}),
)
