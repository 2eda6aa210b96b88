"""Shell commands as they were run: which calls are one, what each was told to do, what it does first."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from recollect.agents.registry import all_tools
from recollect.values.records import Entry, Kind

READERS = frozenset({"cat", "find", "grep", "head", "ls", "nl", "pwd", "rg", "sed", "tail", "wc", "which"})

_BETWEEN = re.compile(r"&&|\|\||;|\n")
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"")
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?.*?^\s*\1\s*$|<<-?\s*['\"]?\w+.*\Z", re.DOTALL | re.MULTILINE)
_READY = (
    "cd",
    "echo",
    "export",
    "set",
    "sleep",
    "source",
    ".",
    "true",
    "fi",
    "done",
    "}",
    ")",
)  # no work of its own


def is_shell(entry: Entry) -> bool:
    """Whether a call runs a command."""
    return entry.kind == Kind.CALL and entry.tool.lower() in all_tools().run


def command_of(entry: Entry) -> str:
    """What a shell was told to do."""
    try:
        value = json.loads(entry.text)
    except (ValueError, RecursionError):
        return entry.text.strip()
    named = [value.get(name) for name in all_tools().commands] if isinstance(value, dict) else []
    said = next(filter(None, named), "")
    if isinstance(said, list):
        # ["bash", "-lc", "..."]: what matters is what the shell was told.
        words = [str(word) for word in said]
        said = words[2] if len(words) == 3 and words[1] in ("-lc", "-c") else " ".join(words)
    return str(said).strip()


def only_reads(command: str) -> bool:
    """Whether a command changes nothing: every part of it only shows something."""
    return all(words[0] in READERS for words in heads(command))


def heads(command: str) -> Iterator[tuple[str, ...]]:
    """Program and first argument of the parts of a command that do some work, texts given to it left out."""
    for part in _BETWEEN.split(_bare(command)):
        words = [word for word in part.split() if "=" not in word]
        if words and words[0] not in _READY:
            yield tuple(words[:2])


def is_piped(command: str) -> bool:
    """Whether a part of a command hands on to another: then its exit code says nothing."""
    return "|" in _bare(command).replace("||", "")


def _bare(command: str) -> str:
    """A command without what is quoted in it and what it is given to read."""
    return _QUOTED.sub("''", _HEREDOC.sub("", command))
