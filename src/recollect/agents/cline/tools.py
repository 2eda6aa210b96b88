"""The tools of Cline's command line, of its extension, and of Roo, which came of that."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from recollect.agents.fields import dict_of, text_of
from recollect.agents.tools import Tools
from recollect.values.history import Change

# The marks around a change as the extension's model writes it: 7 characters, or a few more or less.
_SEARCH = re.compile(r"(?:-{3,}|<{3,}) ?SEARCH>?\s*$")
_BETWEEN = re.compile(r"={3,}\s*$")
_REPLACE = re.compile(r"(?:\+{3,}|>{3,}) ?REPLACE>?\s*$")
_PLACE = re.compile(r":(?:start|end)_line:|-{3,}\s*$")  # where it is, before the old text


def edited(text: str) -> list[Change]:
    """What becomes of `path`: old and new text, blocks of both in one text, or all of the new."""
    try:
        given = dict_of(json.loads(text)) if text.startswith("{") and '"path"' in text else {}
    except (ValueError, RecursionError):
        return []
    path = text_of(given.get("path"))
    if not path:
        return []
    if "content" in given:
        return [Change(path, "", text_of(given["content"]), is_whole=True)]
    if "new_text" in given:
        old, new = text_of(given.get("old_text")), text_of(given["new_text"])
        is_whole = not old and "insert_line" not in given
        return [Change(path, old, new, is_whole=is_whole)]
    found = _blocks(text_of(given.get("diff")))
    return [Change(path, old, new) for old, new in found if old or new]


def _blocks(diff: str) -> Iterator[tuple[str, str]]:
    """Old and new text of each change."""
    old: list[str] | None = None
    new: list[str] | None = None
    for line in diff.splitlines(keepends=True):
        if _SEARCH.match(line):
            old, new = [], None
        elif old is not None and new is None and _BETWEEN.match(line):
            new = []
        elif old is not None and new is not None and _REPLACE.match(line):
            yield "".join(old), "".join(new)
            old, new = None, None
        elif new is not None:
            new.append(line)
        elif old is not None and (old or not _PLACE.match(line)):
            old.append(line)


TOOLS = Tools(
    change=frozenset(
        {
            "applieddiff",
            "apply_diff",
            "edit_file",
            "editedexistingfile",
            "editor",
            "insert_content",
            "newfilecreated",
            "replace_in_file",
            "search_and_replace",
            "write_to_file",
        }
    ),
    look_in=frozenset(
        {
            "codebase_search",
            "list_code_definition_names",
            "list_files",
            "listfilesrecursive",
            "listfilestoplevel",
            "search_codebase",
            "search_files",
            "searchfiles",
        }
    ),
    run=frozenset({"execute_command", "run_commands"}),
    paths=("path",),
    commands=("command", "commands"),
    edited=(edited,),
    read=frozenset({"read_file", "read_files", "readfile"}),
    fetch=frozenset({"browser_action", "fetch_web_content", "web_fetch", "web_search"}),
    delegate=frozenset({"new_task", "spawn_agent", "team_run_task", "team_spawn_teammate", "use_subagents"}),
    ask=frozenset({"ask_followup_question", "ask_question"}),
)
