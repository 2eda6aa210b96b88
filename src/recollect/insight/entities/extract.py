"""What an entry speaks of: from the structure of a call first, then from its text by rules and word lists.

The mentions of an entry depend on it, on the call that it is the result of, and on the folder its session
was started in; on nothing else, so that they are the same whenever they are made. Reading takes time in
proportion to the text, of which only so much is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from recollect.agents.registry import all_tools
from recollect.insight.entities.code import read_code, without_numbers
from recollect.insight.entities.manifest import is_settings, read_named_keys, read_settings, settings_named
from recollect.insight.entities.mention import NAME_CHARS, Gathered, Mention
from recollect.insight.entities.output import (
    add_error,
    echoed_commands,
    is_command,
    read_errors,
    read_git,
    read_people,
)
from recollect.insight.entities.prose import read_prose, read_words
from recollect.insight.entities.shapes import shapes
from recollect.insight.entities.shell import programs_of, read_command
from recollect.insight.entities.words import words
from recollect.values.records import Entry, Flag, Kind

HEAD_CHARS, TAIL_CHARS = 6_000, 2_000  # of a text: what is pasted or printed in between repeats itself
LEAVES_MAX, CALL_CHARS = 200, 24_000  # of a call's arguments
_SPOKEN_CHARS = 1_500  # what a program prints beyond that is no prose
HARNESS_CHARS = 400  # in which a harness says how a command went

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)([\w+#-]*)[^\n]*$", re.MULTILINE)
_SHELL_FENCES = frozenset(("bash", "sh", "shell", "console", "zsh", "fish", "powershell", "terminal"))
_SETTINGS_FENCES = frozenset(("toml", "yaml", "yml", "ini"))
_DATA_FENCES = frozenset(("json", "jsonc", "json5"))
_NAMED_BEFORE = 160  # letters before a fence in which the file is named that it shows
_TEXT_FENCES = frozenset(("", "text", "txt", "md", "markdown", "diff", "plaintext"))
_HARNESS = re.compile(
    r"^(?:Chunk ID: |Wall time: |Process exited |Original token count: |Process running |Exit code \d).*$\n?",
    re.MULTILINE,
)
_STARTED = re.compile(r"(/[a-z][\w-]*(?:[:.][\w-]+)*)(?=\s|$)|[^/]{0,100}<command-name>(/[\w:.-]{2,80})<")
_TOLD_INSIDE = re.compile(r"\"cmd\": ?(\"(?:\\.|[^\"\\])*\")")  # code that calls the shell
_TOOL = re.compile(r"[\w.:/-]{1,100}")
_PATCHED = re.compile(
    r"^(?:\*\*\* (?:Update|Add|Delete) File: ([^\n]+)|diff --git a/[^\n]+ b/([^\n]+))$", re.MULTILINE
)
_CHANGED = re.compile(r"^[+ -]|^(?:@@|index |--- |\+\+\+ ).*$", re.MULTILINE)
_SET = re.compile(r"^(?:export )?([A-Z][A-Z0-9_]+)=", re.MULTILINE)
_PROSE_NAMED = re.compile(r"\.(?:md|mdx|txt|rst)\b|README|CHANGELOG")
_FOLDERS = frozenset(("workdir", "cwd", "working_directory", "working_dir", "directory", "dir_path"))
_ADDRESSES = frozenset(("url", "uri"))
_CODE = frozenset(
    (
        "content",
        "new_string",
        "old_string",
        "new_source",
        "old_str",
        "new_str",
        "file_text",
        "code",
        "patch",
        "input",
    )
)
_SILENT = frozenset(
    ("pattern", "glob", "type", "output_mode", "status", "priority", "id", "session_id", "model", "language")
)
_PROSE_FILES = frozenset(("md", "mdx", "txt", "rst", "adoc", "markdown"))
_DATA_FILES = frozenset(
    (
        "json",
        "jsonc",
        "jsonl",
        "yaml",
        "yml",
        "toml",
        "csv",
        "tsv",
        "lock",
        "svg",
        "xml",
        "log",
        "css",
        "scss",
        "html",
    )
)


def mentions_of(entry: Entry, call: Entry | None = None, root: str = "") -> list[Mention]:
    """The mentions of an entry. `call` is what a result answers, `root` the folder of its session."""
    found = Gathered(root)
    if entry.kind == Kind.CALL:
        _read_call(entry, found)
    elif entry.kind == Kind.RESULT:
        _read_result(entry, call, found)
    elif _is_told(entry):
        _read_told(entry, found)
    return found.mentions()


def _is_told(entry: Entry) -> bool:
    """Whether it was said to a model or by one; a subagent is spoken to by the agent that started it."""
    if entry.kind == Kind.EVENT:
        return entry.text.startswith(("<command-name>", "<command-message>"))
    spoken_to = entry.kind == Kind.CONTEXT and entry.flags & Flag.SIDECHAIN
    return entry.kind in (Kind.PROMPT, Kind.ANSWER, Kind.NOTE) or bool(spoken_to)


def _cut(text: str) -> str:
    """As much of a text as is read: its beginning and its end, by whole lines."""
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return text
    head = text[:HEAD_CHARS]
    tail = text[-TAIL_CHARS:]
    return head[: head.rfind("\n") + 1 or HEAD_CHARS] + "\n" + tail[tail.find("\n") + 1 :]


# -- what was said -----------------------------------------------------------------------------------


def _read_told(entry: Entry, found: Gathered) -> None:
    text = _without_reminders(entry.text)
    if entry.kind != Kind.ANSWER:
        started = _STARTED.match(text.lstrip()[:NAME_CHARS])
        if started:
            found.add("command", started[1] or started[2])
    _read_text(_cut(text), found)


def _read_text(text: str, found: Gathered) -> None:
    """A text of sentences, in which code may stand between fences."""
    at, fenced, before = 0, None, ""
    for mark in _FENCE.finditer(text) if "```" in text or "~~~" in text else ():
        piece = text[at : mark.start()]
        _read_piece(piece, fenced, before, found)
        fenced = mark[1].lower() if fenced is None else None
        at, before = mark.end(), piece
    _read_piece(text[at:], fenced, before, found)


def _read_piece(text: str, fenced: str | None, before: str, found: Gathered) -> None:
    """A text between marks of fences; `fenced` says what is in them, `before` is what stands before that."""
    if not text.strip():
        return
    if fenced is None:
        read_errors(text, found)
        read_words(text, found, prose=True)
        read_prose(text, found)
        read_named_keys(text, found)
    elif fenced in _SHELL_FENCES:
        read_command(text, found)
    elif fenced in _SETTINGS_FENCES:
        read_settings(text, f"fenced.{fenced}", found)
        read_words(text, found, prose=False)
    elif fenced in _DATA_FENCES and (path := settings_named(before[-_NAMED_BEFORE:])):
        read_settings(text, path, found)
        read_words(text, found, prose=False)
    elif fenced in _TEXT_FENCES:
        for line in text.splitlines() if not fenced else ():
            if is_command(line.strip()):
                read_command(line, found)
        read_words(text, found, prose=True)
        read_errors(text, found)
    else:
        read_words(text, found, prose=False)
        read_code(text, found, language=fenced)


def _without_reminders(text: str) -> str:
    """A text without what a harness put into it."""
    opening, closing = "<system-reminder>", "</system-reminder>"
    if opening not in text:
        return text
    kept, at = [], 0
    while (start := text.find(opening, at)) >= 0:
        kept.append(text[at:start])
        end = text.find(closing, start)
        at = end + len(closing) if end >= 0 else len(text)
    return "".join([*kept, text[at:]])


# -- calls -------------------------------------------------------------------------------------------


def _read_call(entry: Entry, found: Gathered) -> None:
    if _TOOL.fullmatch(entry.tool):
        found.add("tool", entry.tool)
    tools = all_tools()
    for patched in tools.patched:
        for path in patched(entry.text):
            found.add("file", path)
    given = _arguments(entry)
    path = _path_of(given)
    runs = entry.tool.lower() in tools.run
    left = CALL_CHARS
    for key, value in islice(_leaves(given), LEAVES_MAX):
        value, left = value[: max(left, 0)], left - len(value)
        name = key.rpartition(".")[2].partition("[")[0]
        if name in _FOLDERS:
            found.add("folder", value)
        elif name in tools.paths:
            is_folder = entry.tool.lower() in tools.look_in and _looks_like_folder(value)
            found.add("folder" if is_folder else "file", value)
        elif name in tools.commands and (runs or name == "command"):
            read_command(_cut(value), found)
        elif name == "skill":
            found.add("command", value)
        elif name in _ADDRESSES:
            read_words(value[:400], found, prose=False)
        elif name in _CODE:
            for said in _TOLD_INSIDE.findall(value[:HEAD_CHARS]) if '"cmd"' in value else ():
                read_command(_unescaped(said), found)
            _read_source(_cut(value), path, found)
        elif name not in _SILENT:
            _read_text(_cut(value), found)


def _arguments(entry: Entry) -> Any:
    try:
        given = json.loads(entry.text)
    except (ValueError, RecursionError):
        return {"input": entry.text}
    if isinstance(given, dict):
        for name in all_tools().commands:
            said = given.get(name)
            if isinstance(said, list):
                parts = [str(part) for part in said]
                given[name] = parts[-1] if len(parts) == 3 and parts[1].startswith("-") else " ".join(parts)
    return given


def _leaves(value: Any) -> Iterator[tuple[str, str]]:
    """Every text in a call's arguments with the name it has there."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        key, each = waiting.pop()
        if isinstance(each, str):
            yield key, each
        elif isinstance(each, dict):
            waiting += [(f"{key}.{name}", inner) for name, inner in reversed(list(each.items()))]
        elif isinstance(each, list):
            waiting += [(f"{key}[]", inner) for inner in reversed(each)]


def _unescaped(said: str) -> str:
    try:
        return str(json.loads(said))
    except ValueError:
        return said


def _path_of(given: Any) -> str:
    if isinstance(given, dict):
        for name in all_tools().paths:
            if isinstance(given.get(name), str):
                return str(given[name])
    return ""


def _looks_like_folder(path: str) -> bool:
    return not any(each.kind in ("file", "maybe file") for each in shapes(path))


def _read_patch(text: str, found: Gathered) -> None:
    """A patch or diff, file by file; what stands before the first is a text."""
    before, *pieces = _PATCHED.split(text)
    _read_text(before, found)
    for path, other, piece in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
        found.add("file", path or other)
        _read_source(_CHANGED.sub("", piece), path or other, found)


def _read_source(text: str, path: str, found: Gathered) -> None:
    """A piece of a file: code, sentences or settings, as its name has it."""
    if not path and _PATCHED.search(text):
        _read_patch(text, found)
        return
    ending = path.rpartition(".")[2].lower() if "." in path else ""
    if is_settings(path):
        read_settings(without_numbers(text), path, found)
        read_words(text, found, prose=False)
        return
    if path.rpartition("/")[2].startswith(".env"):
        for name in _SET.findall(without_numbers(text)):
            found.add("env_var", name)
    if ending in _PROSE_FILES:
        _read_text(without_numbers(text), found)
        return
    if ending not in _DATA_FILES:
        read_code(without_numbers(text), found, language=ending)
    read_words(text, found, prose=not ending)
    if not ending:
        read_prose(text, found)


# -- results -----------------------------------------------------------------------------------------


def _read_result(entry: Entry, call: Entry | None, found: Gathered) -> None:
    text = _without_reminders(_unwrapped(entry.text))
    if text.startswith(("Chunk ID", "Exit code", "Script completed")):
        text = _HARNESS.sub("", text[:HARNESS_CHARS]) + text[HARNESS_CHARS:]
    text = _cut(text)
    tool = call.tool.lower() if call else entry.tool.lower()
    given = _arguments(call) if call else {}
    failed = bool(entry.flags & Flag.ERROR)
    if tool in all_tools().run:
        _read_output(text, _command_in(given), found)
        return
    path = _path_of(given)
    if failed:
        read_words(text, found, prose=True)
        read_errors(text, found)
        if "Error" not in text and "error" not in text[:20]:
            add_error(text.strip().partition("\n")[0], found)
    elif path and tool not in all_tools().look_in and tool not in all_tools().change:
        _read_source(text, path, found)
    elif tool in all_tools().change:
        read_words(text, found, prose=False)
        _read_source(text, path, found)
    else:
        _read_text(text, found)
        read_code(without_numbers(text), found)
        read_people(text, found)
        read_git(text, found)


def _unwrapped(text: str) -> str:
    """What was printed, where a harness wrapped it into an object of its own."""
    if text.startswith('{"output":'):
        try:
            given = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if isinstance(given, dict) and isinstance(given.get("output"), str):
            return str(given["output"])
    return text


def _command_in(given: Any) -> str:
    if isinstance(given, dict):
        for name in all_tools().commands:
            if isinstance(given.get(name), str):
                return _cut(str(given[name]))
    return ""


def _read_output(text: str, command: str, found: Gathered) -> None:
    """What a shell printed."""
    programs = programs_of(command)
    shows = bool(programs) and all(
        each in words("reading programs") or each in ("cd", "echo", "printf") for each in programs
    )
    read_git(text, found, lists_branches="git branch" in command, is_jujutsu="jj" in programs)
    read_people(text, found)
    if shows and "No such file" in text:
        read_errors(text, found)
    for line in echoed_commands(text):
        read_command(line, found)
    if shows and _PROSE_NAMED.search(command):
        _read_text(without_numbers(text), found)
        return
    if "\ndiff --git a/" in text or text.startswith("diff --git a/"):
        _read_patch(text, found)
        return
    settings = [word for word in command.split() if is_settings(word)] if shows else []
    if len(settings) == 1:
        _read_source(text, settings[0], found)
        return
    read_code(without_numbers(text), found)
    if shows:
        read_words(text, found, prose=False)
    elif len(text) < _SPOKEN_CHARS or "`" in text:
        _read_text(text, found)
    else:
        read_errors(text, found)
        read_words(text, found, prose=True)
