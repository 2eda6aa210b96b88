"""Shell commands as they were run: which calls are one, what each was told to do, what it does first."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from recollect.agents.registry import all_tools
from recollect.values.records import Entry, Kind

READERS = frozenset(
    {"cat", "find", "grep", "head", "jq", "less", "ls", "nl", "pwd", "rg", "sed", "tail", "wc", "which"}
)
_READING = frozenset(
    {
        ("git", word)
        for word in ("blame", "branch", "diff", "grep", "log", "ls-files", "remote", "show", "status")
    }
    | {("gh", word) for word in ("issue", "pr", "repo", "search")}
)
_WRITING = frozenset({("sed", "-i"), ("cat", ">"), ("cat", ">>")})
# What these do is told by all of their words: the first two say nothing.
_VAGUE = READERS | {"bash", "curl", "node", "perl", "python", "python3", "scp", "sh", "ssh", "zsh"}

_INLINE = re.compile(r"\s-\w*[ce]\s+''|\s-$")  # a program that is given its program
_WRAPPERS = re.compile(
    r"^(?:(?:sudo|time|nohup|command|env|npx|exec|timeout\s+\S+|nice)\s+)+|(?<=^git)(?:\s+(?:-[Cc]\s+\S+|--no-pager))+"
)
_BETWEEN = re.compile(r"&&|\|\||;|\n")
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"")
HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?.*?^\s*\1\s*$|<<-?\s*['\"]?\w+.*\Z", re.DOTALL | re.MULTILINE)
IDLE = (
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
    value = value if isinstance(value, dict) else {}
    if isinstance(several := value.get("commands"), list):
        return "\n".join(each for each in several if isinstance(each, str)).strip()
    said = next(filter(None, (value.get(name) for name in all_tools().commands)), "")
    if isinstance(said, list):
        # ["bash", "-lc", "..."]: what matters is what the shell was told.
        words = [str(word) for word in said]
        said = words[2] if len(words) == 3 and words[1] in ("-lc", "-c") else " ".join(words)
    return str(said).strip()


def only_reads(command: str) -> bool:
    """Whether a command changes nothing: every part of it only shows something."""
    return all(is_reading(words) for words in heads(command))


def is_reading(words: tuple[str, ...]) -> bool:
    """Whether a program and its first argument only show something."""
    return (words[0] in READERS or words in _READING) and words not in _WRITING


def heads(command: str) -> Iterator[tuple[str, ...]]:
    """Program and first argument of the parts of a command that do some work, texts given to it left out.

    Of `npm run lint` and its like it takes three words to say what is done.
    """
    return (words for words, _ in _parts(command))


def work_parts(command: str) -> frozenset[tuple[str, ...]]:
    """What tells a command's work from another's: its heads, or all of it where they could mean anything."""
    telling = [
        words for words, part in _parts(command) if words[0] not in _VAGUE and not _INLINE.search(part)
    ]
    whole = " ".join(command.split())
    return frozenset(telling) or (frozenset({(whole,)}) if whole else frozenset())


def _parts(command: str) -> Iterator[tuple[tuple[str, ...], str]]:
    for part in _BETWEEN.split(_bare(command)):
        words = [word for word in part.split() if "=" not in word]
        words = _WRAPPERS.sub("", " ".join(words)).split()
        if words and words[0] not in IDLE:
            yield tuple(words[: 3 if words[1:2] == ["run"] else 2]), part.rstrip()


def is_piped(command: str) -> bool:
    """Whether a part of a command hands on to another: then its exit code says nothing."""
    return "|" in _bare(command).replace("||", "")


def _bare(command: str) -> str:
    """A command without what is quoted in it and what it is given to read."""
    return _QUOTED.sub("''", HEREDOC.sub("", command))
