"""A shell's command as the simple commands it is made of: words without their quotes, in linear time.

What a here-document holds is no command and is left out. What stands in quotes is one word, so that a commit
message that speaks of `rm -rf` deletes nothing; what another shell is handed in quotes (`ssh host "..."`) is
read in turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

COMMAND_CHARS_MAX = 20_000  # of one call; behind that lies a file that is written, not a command
_PARTS_MAX = 400
_DEPTH_MAX = 2  # shells inside of shells


@dataclass(frozen=True, slots=True)
class Simple:
    """One program with its arguments. `writes`: where its output goes, `piped`: into the next one.

    `host`: the other machine it runs on, or in which container, "" for this one.
    """

    words: tuple[str, ...]
    writes: tuple[str, ...] = ()
    piped: bool = False
    host: str = ""
    program: str = field(init=False, default="")
    arguments: tuple[str, ...] = field(init=False, default=())  # what is no option

    def __post_init__(self) -> None:
        name = self.words[0].replace("\\", "/").rpartition("/")[2].removesuffix(".exe")
        object.__setattr__(self, "program", name)
        object.__setattr__(self, "arguments", tuple([word for word in self.words[1:] if word[:1] != "-"]))

    def has(self, *options: str) -> bool:
        return any(word in options or word.partition("=")[0] in options for word in self.words)


def simple_commands(command: str, depth: int = 0) -> Iterator[Simple]:
    """The simple commands of a shell's command, and behind each those that it hands to another shell."""
    for made in _split(without_heredocs(command[:COMMAND_CHARS_MAX])):
        yield made
        if depth < _DEPTH_MAX:
            for text, host in _handed_on(made):
                inner = simple_commands(text, depth + 1)
                yield from (replace(each, host=each.host or host) for each in inner) if host else inner


def without_heredocs(command: str) -> str:
    """A command without the texts that it is given to read, nor the marks where they begin."""
    if "<<" not in command:
        return command
    kept: list[str] = []
    ends = ""
    for line in command.split("\n"):
        if ends:
            ends = "" if line.strip() == ends else ends
            continue
        if found := _HEREDOC.search(line):
            ends = found[1]
        kept.append(_HEREDOC.sub("", line))
    return "\n".join(kept)


def _split(command: str) -> Iterator[Simple]:
    words: list[str] = []
    writes: list[str] = []
    word, target, count = "", False, 0
    for found in _TOKEN.finditer(command):
        text = found[0]
        match found.lastgroup:
            case "space" | "end" | "write":
                if word:
                    (writes if target else words).append(word)
                    target = False
                word = ""
                if found.lastgroup == "write":
                    target = True
                elif found.lastgroup == "end":
                    target = False
                    if made := _made(words, writes, piped=text == "|"):
                        yield made
                        count += 1
                    words, writes = [], []
                    if count >= _PARTS_MAX:
                        return
            case "single":
                word += text[1:-1] or "''"
            case "double":
                word += text[1:-1].replace('\\"', '"') or '""'
            case "escaped":
                word += "" if text == "\\\n" else text
            case _:
                word += text
    if word:
        (writes if target else words).append(word)
    if made := _made(words, writes, piped=False):
        yield made


def _made(words: list[str], writes: list[str], *, piped: bool) -> Simple | None:
    """A simple command without what stands before its program: settings, `sudo`, `timeout 60`."""
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
    written = tuple(each for each in writes if each[:1] != "&" and each != "/dev/null")
    return Simple(rest or ("",), written, piped) if rest or written else None


def _handed_on(made: Simple) -> Iterator[tuple[str, str]]:
    """What a command has another shell do, and where."""
    if made.program in _SHELLS:
        for option, text in zip(made.words, made.words[1:], strict=False):
            if option.startswith("-") and option.endswith("c"):
                yield text, ""
    elif made.program in _REMOTE:
        # What an option takes (`-i key`) is no host; that is told by its user where there is one.
        named = [word for word in made.arguments if "@" in word and " " not in word]
        host = next(iter((*named, *made.arguments)), "")
        yield from ((word, host) for word in made.words[1:] if " " in word)


_HEREDOC = re.compile(r"<<-?\s{0,8}[\"']?(\w{1,64})[\"']?")
_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+|\d?>&\d)|(?P<end>\|\||&&|[;\n|()]|&(?![>\d]))|(?P<write>\d?&?>>?(?!&)\|?)"
    r"|(?P<single>'[^']*+')|(?P<double>\"(?:[^\"\\]|\\.)*+\")|(?P<escaped>\\.)"
    r"|(?P<plain>[^ \t\r\n;|()&>'\"\\]+|.)",
    re.DOTALL,
)
_SETTING = re.compile(r"[A-Za-z_]\w{0,80}=|[{!]$|(?:if|then|else|do|while)$")
_OWN = re.compile(r"-|\d+[smh]?$")  # what is said to a wrapper itself
_WRAPPERS = frozenset({"sudo", "time", "nohup", "command", "env", "exec", "nice", "timeout", "npx", "rtk"})
_SHELLS = frozenset({"bash", "sh", "zsh", "powershell", "pwsh", "cmd"})
_REMOTE = frozenset({"ssh", "docker", "kubectl", "podman"})
