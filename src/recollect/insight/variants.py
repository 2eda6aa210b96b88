"""What variants of one command have in common, and which commands an answer tells.

A variant differs by where it was run (`cd x &&`), with which variables, in front of which filters (`| tail`),
where its output went, and on which files, names and numbers. What is left is what the command is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.insight.commands import HEREDOC, IDLE

Held = list[str]

FILTERS = frozenset(
    {"awk", "cat", "cut", "grep", "head", "less", "rg", "sed", "sort", "tail", "tee", "uniq", "wc"}
)
SHELLS = frozenset({"bash", "sh", "ssh", "zsh"})
# What an answer's code begins with if it is a command and not a value or a piece of source.
PROGRAMS = frozenset(
    {
        "adb", "ansible", "apt", "apt-get", "aws", "az", "bash", "brew", "bun", "bundle", "bunx",
        "cargo", "cmake", "conda", "curl", "deno", "docker", "dotnet", "fly",
        "flutter", "gcloud", "gem", "gh", "git", "go", "gradle", "helm", "just", "kubectl", "make",
        "mix", "mvn", "node", "npm", "npx", "perl", "pip", "pip3", "pipx", "playwright", "pnpm",
        "poetry", "psql", "pytest", "python", "python3", "rails", "rake", "rsync", "ruby", "rustup",
        "scp", "sh", "ssh", "sudo", "systemctl", "terraform", "tox", "tsc", "uv", "uvx", "vercel",
        "vitest", "wrangler", "yarn",
    }
)  # fmt: skip

_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\$\([^()]*\)")
_HELD = re.compile("\0(\\d+)\0")
_JOINTS = re.compile(r"(&&|\|\||;|\n)")
_SENT = re.compile(r"\s*(?:\d|&)?>>?\s*(?:&\d|[^\s&|;<>]+)|\s*&\s*$")
_VARIABLES = re.compile(r"^(?:[A-Za-z_]\w*=\S*\s+)+(?=\S)")
_WAITS = re.compile(r"^(?:(?:time|nohup|env|timeout\s+\S+)\s+)+")
_BLOCKS = frozenset({"for", "while", "until", "if", "case", "do", "then", "else", "function", "(", "{"})

_QUIET = frozenset({"-q", "-s", "-v", "-vv", "-x", "--quiet", "--silent", "--verbose", "--"})
_CHOOSING = frozenset({"-g", "-k", "-run", "-t", "--filter", "--grep", "--run", "--testNamePattern"})
_NAME = re.compile(
    r"[/~.]|[A-Za-z]:[\\/]|.*\.\w{1,5}$|.*::|#?\d[\d.,:-]*$|(?=[a-f]*\d)[0-9a-f]{7,40}$|.*\0", re.DOTALL
)


def plain_form(command: str, folder: str = "") -> str:
    """A command without where it ran, what was set for it, and what became of its output."""
    whole = " ".join(command.split())
    held: Held = []
    bare = _hold(command.replace(f"{folder}/", "") if len(folder) > 1 else command, held)
    pieces = _JOINTS.split(bare)
    parts = [(joint, _part(part)) for joint, part in zip(["", *pieces[1::2]], pieces[::2], strict=True)]
    if "<<" in bare or any(part.split(" ", 1)[0] in _BLOCKS for _, part in parts):
        return whole
    kept = [(joint, part) for joint, part in parts if part and part.split(" ", 1)[0] not in IDLE]
    text = "".join(_joined(joint) * (n > 0) + part for n, (joint, part) in enumerate(kept))
    return " ".join(_put_back(text, held).split()) or whole


def variant_key(form: str) -> str:
    """What variants of a command share: programs, what they are told to do, the names of their options."""
    held: Held = []
    bare = _hold(HEREDOC.sub("", form), held)
    return " ".join(filter(None, (_key(part, held) for part in _JOINTS.split(bare)[::2])))


def told_commands(text: str, programs: frozenset[str] = PROGRAMS) -> Iterator[tuple[str, str]]:
    """The commands in an answer, each with the line of prose it belongs to."""
    prose, block, language = "", list[str](), None
    for line in text.splitlines():
        fence = _FENCE.match(line)
        if fence and language is None:
            language, block = fence[1].lower(), []
        elif fence:
            yield from ((each, prose) for each in _shell_lines(block, language or "", programs))
            language = None
        elif language is not None:
            block.append(line)
        elif line.strip():
            prose = line.strip()
            yield from ((each, prose) for each in _CODE.findall(line) if _is_command(each, programs))


_FENCE = re.compile(r"\s*(?:```|~~~)\s*([\w+-]*)\s*$")
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_SHELL = frozenset({"bash", "console", "powershell", "sh", "shell", "terminal", "zsh"})
_PROMPT = re.compile(r"^(?:\$|>|%|PS>)\s+")
_PROGRAM = re.compile(r"[\w./~-]+$")


def _shell_lines(block: list[str], language: str, programs: frozenset[str]) -> Iterator[str]:
    if language and language not in _SHELL:
        return
    for line in re.sub(r"\s*\\\n\s*", " ", "\n".join(block)).splitlines():
        told = _PROMPT.sub("", line.strip())
        words = _VARIABLES.sub("", told).split()
        named = bool(language) and len(words) > 1 and bool(_PROGRAM.match(words[0]))
        if words and not told.startswith("#") and (named or words[0] in programs):
            yield re.sub(r"\s+#\s.*$", "", told)


def _is_command(code: str, programs: frozenset[str]) -> bool:
    words = _VARIABLES.sub("", code.strip()).split()
    return len(words) > 1 and words[0] in programs


# -- the parts of a command ----------------------------------------------------------------------


def _hold(command: str, held: Held) -> str:
    """The command with what is quoted in it put aside, so that it can be cut."""

    def hold(found: re.Match[str]) -> str:
        held.append(found[0])
        return f"\0{len(held) - 1}\0"

    return _QUOTED.sub(hold, command.replace("\0", " ").replace("\\\n", " "))


def _put_back(text: str, held: Held) -> str:
    return _HELD.sub(lambda found: held[int(found[1])], text)


def _part(part: str) -> str:
    stages = [stage.strip() for stage in _SENT.sub("", part.strip()).split("|")]
    while len(stages) > 1 and stages[-1].split(" ", 1)[0] in FILTERS:
        stages.pop()
    return _WAITS.sub("", _VARIABLES.sub("", " | ".join(stages).strip()))


def _joined(joint: str) -> str:
    return "; " if joint in (";", "\n") else f" {joint} "


def _key(part: str, held: Held) -> str:
    words = part.split()
    if not words:
        return ""
    program = words[0].replace("\\", "/").rpartition("/")[2]
    kept, skip = [program], False
    for word in words[1:]:
        found = _HELD.fullmatch(word)
        if found and program in SHELLS:
            kept.append(variant_key(plain_form(held[int(found[1])][1:-1])))
        elif found and words[words.index(word) - 1] in ("-c", "-e"):
            kept.append(held[int(found[1])])
        elif word in _CHOOSING:
            skip = True
            continue
        elif not skip and not found and word not in _QUIET:
            kept += _telling(word)
        skip = False
    return " ".join(kept)


def _telling(word: str) -> list[str]:
    if word.startswith("-"):
        return [word.partition("=")[0]] if not word[1:].isdigit() else []
    if "://" in word:
        return [word.split("/")[2]]
    return [] if _NAME.match(word) else [word]
