"""A shell's command as the simple commands it is made of: words without their quotes, in linear time.

What a here-document holds is no command and is left out. What stands in quotes is one word, so that a commit
message that speaks of `rm -rf` deletes nothing; what another shell is handed is read in turn.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice, takewhile
from typing import NamedTuple

COMMAND_CHARS_MAX = 20_000  # of one call; behind that lies a file that is written, not a command
_PARTS_MAX = 400
_DEPTH_MAX = 3  # shells inside of shells


@dataclass(frozen=True, slots=True)
class Simple:
    """One program with its arguments. `writes`: where its output goes, `piped`: into the next one.

    `reads`: the next one is a part of it, which `$(...)`, `<(...)` or backticks run for it.
    `host`: the other machine it runs on, or in which container, "" for this one.
    """

    words: tuple[str, ...]
    writes: tuple[str, ...] = ()
    piped: bool = False
    reads: bool = False
    host: str = ""
    program: str = field(init=False, default="")
    arguments: tuple[str, ...] = field(init=False, default=())  # what is no option

    def __post_init__(self) -> None:
        name = self.words[0].replace("\\", "/").rpartition("/")[2].removesuffix(".exe")
        object.__setattr__(self, "program", name)
        object.__setattr__(self, "arguments", tuple([word for word in self.words[1:] if word[:1] != "-"]))

    def has(self, *options: str) -> bool:
        return any(word in options or word.partition("=")[0] in options for word in self.words)


class Word(NamedTuple):
    text: str
    quoted: bool


class Line(NamedTuple):
    """The words of one simple command, in order, and where its output goes; the rest as in `Simple`."""

    words: list[Word]
    writes: list[Word]
    piped: bool = False
    reads: bool = False


def simple_commands(command: str, depth: int = 0) -> Iterator[Simple]:
    """The simple commands of a shell's command, and behind each those that it hands to another shell."""
    for line in islice(command_lines(without_heredocs(command[:COMMAND_CHARS_MAX])), _PARTS_MAX):
        if (made := _made(line)) is None:
            continue
        yield made
        if depth < _DEPTH_MAX:
            for text, host in _handed_on(made):
                # What a program prints is not known: `eval $(...)`.
                inner = simple_commands(text, depth + 1) if text != "$" else iter(())
                yield from (replace(each, host=each.host or host) for each in inner) if host else inner


def without_heredocs(command: str) -> str:
    """A command without the texts that it is given to read, nor the marks where they begin."""
    return parted(command)[0]


def parted(command: str) -> tuple[str, list[tuple[str, str]]]:
    """A command without the texts that it is given to read, and these, each with what stands before it."""
    if "<<" not in command:
        return command, []
    kept: list[str] = []
    texts: list[tuple[str, str]] = []
    lines = iter(command.split("\n"))
    for line in lines:
        found = _HEREDOC.search(line)
        kept.append(_HEREDOC.sub("", line) if found else line)
        if found:
            text = takewhile(partial(_goes_on, found[1]), lines)
            texts.append((line[: found.start()], "\n".join(text)))
    return "\n".join(kept), texts


def _goes_on(end: str, line: str) -> bool:
    return line.strip() != end


def command_lines(command: str) -> Iterator[Line]:
    """A command cut where the shell would; what is left open ends with it."""
    line = Line([], [])
    word, quoted, into = "", False, line.words
    for part in chain(_PART.findall(command), "\n"):
        first = part[0]
        if first.isalpha() or first in "-/._":  # most parts, and nothing else can begin so
            word += part
        elif first in "'\"":
            inner = part[1:-1] if len(part) > 1 and part[-1] == first else part[1:]
            word, quoted = word + (inner.replace('\\"', '"') if first == '"' else inner), True
        elif first == "\\":
            word += "" if part == "\\\n" else part if part[1:].isalnum() else part[1:]
        elif part.isspace() or first in _MARKS or _REDIRECTS.match(part) or _is_comment(part, word, quoted):
            if word or quoted:
                into.append(Word(word, quoted))
                into = line.words
            word, quoted = "", False
            if _REDIRECTS.match(part):
                into = line.writes if ">" in part and "&" not in part[1:] else line.words
            elif first in _MARKS:
                if line.words or line.writes:
                    yield line._replace(piped=part == "|", reads=part in "(`")
                    line = Line([], [])
                into = line.words
        else:
            word += part


def _is_comment(part: str, word: str, quoted: bool) -> bool:
    return part[0] == "#" and not word and not quoted


def _made(line: Line) -> Simple | None:
    """A simple command without what stands before its program: settings, `sudo`, `timeout 60`."""
    words = [word.text or "''" for word in line.words]
    at = 0
    while at < len(words):
        word = words[at]
        if word in _WRAPPERS or _SETTING.match(word):
            at += 1
            while word in _WRAPPERS and at < len(words) and _OWN.match(words[at]):
                at += 2 if words[at] == "-u" else 1
        else:
            break
    rest = tuple(words[at:])
    written = tuple(each.text for each in line.writes if each.text != "/dev/null")
    return Simple(rest or ("",), written, line.piped, line.reads) if rest or written else None


def _handed_on(made: Simple) -> Iterator[tuple[str, str]]:
    """What a command has another shell do, and where."""
    if made.program in _SHELLS:
        for option, text in zip(made.words, made.words[1:], strict=False):
            if option.startswith("-") and option.endswith("c"):
                yield text, ""
    elif made.program == "eval":
        yield " ".join(made.words[1:]), ""
    elif made.program == "sshpass":
        yield shlex.join(_behind_options(made.words[1:], _SSHPASS_TAKES)), ""
    elif made.program == "ssh":
        given = _behind_options(made.words[1:], _SSH_TAKES)
        yield " ".join(given[1:]), given[0] if given else ""
    elif made.program in _CONTAINERS:
        yield from _handed_to_container(made)


def _handed_to_container(made: Simple) -> Iterator[tuple[str, str]]:
    """What `docker exec` and its like run inside; of other verbs, what stands in quotes."""
    if "exec" in made.words[1:_VERB_WITHIN]:
        given = _behind_options(made.words[made.words.index("exec") + 1 :], _EXEC_TAKES)
        inner = _behind_options(given[1:], _EXEC_TAKES)  # `kubectl exec POD -c MAIN -- ls`
        yield shlex.join(inner), given[0] if given else ""
    else:
        yield from ((word, made.arguments[0]) for word in made.words[1:] if " " in word and made.arguments)


def _behind_options(words: Sequence[str], takes: frozenset[str]) -> Sequence[str]:
    """What stands behind a program's own options; those in `takes` have a word of their own."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in takes else 1
    return words[at:]


_HEREDOC = re.compile(r"<<-?\s{0,8}[\"']?(\w{1,64})[\"']?")
_PART = re.compile(
    r"'[^']*+(?:'|\Z)|\"(?:\\.|[^\"\\])*+(?:\"|\Z)|\\.|(?<![^\s;&|(])\#[^\n]*+|(?<!\S)\d>&\d?|>&\d?"
    r"|(?<!\S)\d[<>]++\|?|&>++|[\n;()`]|&&?|\|\|?|[<>]++\|?|[^\s'\"\\;&|<>()`]++|[^\S\n]++|\\",
    re.DOTALL,
)
_REDIRECTS = re.compile(r"&?\d?[<>]")
_MARKS = "\n;()`&|"  # where a simple command ends
_SETTING = re.compile(r"[A-Za-z_]\w{0,80}=|[{!]$|(?:if|then|else|do|while)$")
_OWN = re.compile(r"-|\d+[smh]?$")  # what is said to a wrapper itself
_WRAPPERS = frozenset({"sudo", "time", "nohup", "command", "env", "exec", "nice", "timeout", "npx", "rtk"})
_SHELLS = frozenset({"bash", "sh", "zsh", "powershell", "pwsh", "cmd"})
_CONTAINERS = frozenset({"docker", "kubectl", "podman", "docker-compose"})
_VERB_WITHIN = 6  # words, with a container tool's own options before it
_SSH_TAKES = frozenset(f"-{letter}" for letter in "BbcDEeFIiJLlmOoPpQRSWw")
_SSHPASS_TAKES = frozenset({"-d", "-f", "-p", "-P"})
_EXEC_TAKES = frozenset(
    """
    -c -e -n -u -w --container --env --env-file --index --namespace --user --workdir
    """.split()  # noqa: SIM905
)
