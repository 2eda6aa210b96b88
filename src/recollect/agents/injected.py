"""What Recollect itself said in a conversation, known by where it stands.

The tag alone proves nothing. A web page, a file or a person can begin with it, and what they say
must be found; so a text is ours only where our own hook, tools or commands answer.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any, Final

MEMORY_TAG: Final = "<recollect-memory"  # how everything begins that Recollect puts into a conversation

# How much of a call's answer is ours: what opens with the tag, or all of it.
NOTHING: Final = 0
FENCED: Final = 1
ALL: Final = 2

# The commands that show what was remembered; the others speak of themselves.
_SHOWING: Final = frozenset(
    {
        "assemble",
        "blame",
        "catalog",
        "export",
        "fix",
        "how",
        "inspect",
        "recall",
        "saved",
        "search",
        "sessions",
        "show",
        "tail",
        "threads",
    }
)
# Of our MCP server, as the agents name them.
_TOOLS: Final = ("mcp__recollect__", "mcp__plugin_recollect_", "mcp_recollect_", "recollect-", "recollect_")
_SPILLS: Final = ("mcp-recollect-", "mcp-plugin_recollect_")
_SILENT: Final = frozenset({"#", "cd", "export", "set", "source", ".", "true"})
_FILTERS: Final = frozenset({"cut", "grep", "head", "jq", "less", "sort", "tail", "tr", "uniq", "wc"})
# What stands between two commands: whether the second begins a pipeline of its own.
_BETWEEN: Final = {"&&": True, "||": True, ";": True, "|": False, "|&": False}
_PUNCTUATION: Final = frozenset("();<>|&")
_REDIRECTIONS: Final = frozenset({">", ">>", "<", ">&", "&>", ">|"})
_SHELLS: Final = frozenset({"bash", "sh", "zsh"})
_COMMAND_CHARS_MAX: Final = 10_000
_SCRIPT_TOOL: Final = re.compile(r"\btools\.(\w+)")
_ASSIGNMENT: Final = re.compile(r"\w+=")
# A client may put its own line above an answer, and show the answer as the JSON it came in.
_ANSWER: Final = re.compile(
    r"\s*(?:(?:Script completed\n)?Wall time:? [\d.]+ seconds\nOutput:\s*)?"
    r'(?:\[?\{"type":\s?"text",\s?"text":\s?"|\{"result":\s?")?\s*' + re.escape(MEMORY_TAG)
)


def is_fenced(text: str) -> bool:
    """Whether a text begins as everything does that Recollect puts into a conversation."""
    # The first test is a shortcut: hardly any text starts with "<" or white space.
    return text[:1] in "< \n\t\r" and text.lstrip().startswith(MEMORY_TAG)


def own_answer(tool: str, given: Any) -> int:
    """How much of the answer to this call will be ours."""
    if tool.startswith(_TOOLS):
        return FENCED
    if tool == "exec" and type(given) is str:  # Codex's script that calls tools
        called = _SCRIPT_TOOL.findall(given)
        return FENCED if called and all(name.startswith(_TOOLS) for name in called) else NOTHING
    return ALL if _shows_memory(_command_of(given)) else NOTHING


def is_own(own: int, text: str) -> bool:
    """Whether the answer to a call of which so much is ours is ours."""
    return own == ALL or (own == FENCED and _ANSWER.match(text) is not None)


def is_own_spill(name: str, text: str) -> bool:
    """Whether an answer too long for the transcript, in a file of this name, is ours."""
    return name.startswith(_SPILLS) and is_own(FENCED, text)


def _command_of(given: Any) -> str:
    """The shell command among a call's arguments, or ""."""
    if type(given) is str and "recollect" in given:
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return ""
    if type(given) is not dict:
        return ""
    command = given.get("command", given.get("cmd"))
    if type(command) is list and all(type(word) is str for word in command):
        shell = len(command) == 3 and command[0].rpartition("/")[2] in _SHELLS
        command = command[2] if shell else shlex.join(command)
    return command if type(command) is str else ""


def _shows_memory(command: str) -> bool:
    """Whether all that this prints was printed by a command of ours that shows the memory."""
    if "recollect" not in command or len(command) > _COMMAND_CHARS_MAX:
        return False
    found = False
    for first, words in _stages(command):
        shows = first and _is_recollect(words)
        if not shows and not (words and words[0] in (_SILENT if first else _FILTERS)):
            return False
        found = found or shows
    return found


def _stages(command: str) -> Iterator[tuple[bool, list[str]]]:
    """The words of each command, and whether it is the first of its pipeline."""
    # To `shlex` a new line is white space; in quotes it does not matter what it is.
    command = command.replace("\\\n", " ").replace("\n", " ; ")
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    first, words = True, list[str]()
    try:
        for word in lexer:
            if word in _BETWEEN:
                if words:
                    yield first, words
                first, words = _BETWEEN[word], []
            elif word and _PUNCTUATION.issuperset(word) and word not in _REDIRECTIONS:
                raise ValueError(word)  # a subshell, a document in the command, ...
            elif words or not _ASSIGNMENT.match(word):
                words.append(word)
    except ValueError:  # also a quote without an end: not a command we can read
        words = ["?"]
    if words:
        yield first, words


def _is_recollect(words: list[str]) -> bool:
    if words[0].rpartition("/")[2] != "recollect":
        return False
    named = [word for word, before in zip(words[1:], words, strict=False) if before != "--store"]
    return next((word for word in named if not word.startswith("-")), "") in _SHOWING
