"""What a shell was told: which commands, on which files, folders, branches, with which variables set.

Reading goes once over the text, whatever quotes were left open, and descends into quoted commands once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from recollect.insight.entities.code import read_code, read_statements
from recollect.insight.entities.mention import Gathered
from recollect.insight.entities.prose import read_prose, read_words
from recollect.insight.entities.shapes import shapes
from recollect.insight.entities.words import words
from recollect.insight.shell import Line, Word, command_lines, parted, without_heredocs

_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=")
_VARIABLE = re.compile(r"\$\{?([A-Z][A-Z0-9_]{2,})\b")
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9]*(?:[:-][a-z0-9]+)*")
_NAME = re.compile(r"[\w@./+-]+")
_MANAGERS = frozenset(("npm", "pnpm", "yarn", "bun", "pip", "pip3", "uv", "poetry", "cargo", "go", "gem"))
_PACKAGE = re.compile(r"(?:@[\w.-]+/)?[A-Za-z][\w./-]*[\w]")
_PROGRAM = re.compile(r"[A-Za-z][\w.-]*\+{0,2}")
_FOLDER = re.compile(r"(?:[A-Za-z]:)?[\w@./+~-]+")
_AT_COMMIT = re.compile(r"([0-9a-f]{7,40}):(.+)")
_REFERENCE = re.compile(r"[A-Za-z][\w./-]*")
_FLAG_VALUES = frozenset(
    (
        "-C",
        "-c",
        "--prefix",
        "--cwd",
        "--manifest-path",
        "-p",
        "--package",
        "--repo",
        "-R",
        "--filter",
        "-n",
        "-m",
        "-F",
        "-t",
        "-o",
    )
)
_INTERPRETERS = frozenset(("python", "python3", "node", "ruby", "perl", "bun", "deno", "tsx"))
_SHELLS = frozenset(("bash", "sh", "zsh", "fish", "pwsh", "powershell", "ssh", "eval", "su", "wsl"))
_DATABASES = frozenset(("psql", "sqlite3", "mysql", "duckdb", "clickhouse-client"))
_PATTERNS = frozenset(
    (
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "sed",
        "awk",
        "jq",
        "perl",
        "tr",
        "yq",
        "cut",
        "find",
        "fd",
        "printf",
        "date",
    )
)
_MOVES = frozenset(
    (
        "checkout",
        "switch",
        "merge",
        "rebase",
        "branch",
        "cherry-pick",
        "push",
        "pull",
        "fetch",
        "diff",
        "log",
        "worktree",
        "reset",
        "show",
        "rev-parse",
    )
)


def read_command(text: str, found: Gathered, *, depth: int = 2) -> None:
    """Take note of all that a command line names."""
    bare, bodies = parted(text)
    for line in _lines_of(bare):
        _read_simple([*line.words, *line.writes], found, depth)
    for name in _VARIABLE.findall(bare):
        found.add("env_var", name)
    for opening, body in bodies:
        _read_body(opening, body, found)


def programs_of(text: str) -> list[str]:
    """The programs that a command line runs."""
    lines = (_unwrapped(line.words, None) for line in _lines_of(without_heredocs(text)))
    return [line[0].text.rpartition("/")[2] for line in lines if line]


@lru_cache(maxsize=64)
def _lines_of(command: str) -> tuple[Line, ...]:
    """A command cut once for the call and again for its result, which mostly comes next."""
    return tuple(command_lines(command))


def _read_body(opening: str, body: str, found: Gathered) -> None:
    """What is given to a program to read: code for an interpreter, else a text."""
    heads = {word.rpartition("/")[2] for word in opening.split()}
    if heads & _INTERPRETERS or heads & _DATABASES:
        read_words(body, found, prose=False)
        read_code(body, found)
    elif heads & _SHELLS:
        read_command(body, found, depth=0)
    else:
        read_words(body, found, prose=True)
        read_prose(body, found)


def _read_simple(line: list[Word], found: Gathered, depth: int) -> None:
    line = _unwrapped(line, found)
    if not line:
        return
    program = line[0].text.rpartition("/")[2] if "/" in line[0].text else line[0].text
    if (line[0].quoted and " " in line[0].text) or not _NAME.fullmatch(program) or program[0].isdigit():
        return
    if program in ("for", "case", "[[", "[", "function", "in", "select"):
        return
    if "/" in line[0].text:
        found.add("file", line[0].text)
    rest = line[1:]
    if _is_wrapper(program, rest):
        found.add("command", program)
        _read_simple(rest, found, depth)
        return
    if program not in words("idle programs"):
        found.add("command", _command_name(program, rest))
    _read_arguments(program, rest, found, depth)


def _is_wrapper(program: str, rest: list[Word]) -> bool:
    """Whether a program that nobody knows is told another one to run."""
    if not rest or rest[0].text not in words("programs with subcommands"):
        return False
    return not any(
        program in words(each) for each in ("programs with subcommands", "plain programs", "idle programs")
    )


def _unwrapped(line: list[Word], found: Gathered | None) -> list[Word]:
    """A command without what only says how to run it."""
    while line:
        text = line[0].text
        assigned = _ASSIGNED.match(text)
        if (assigned and not line[0].quoted) or (assigned and assigned.end() < len(text)):
            if found is not None:
                _read_assigned(assigned[1], text[assigned.end() :], found)
            line = line[1:]
        elif text in words("shell words") and text not in (
            "for",
            "case",
            "[[",
            "[",
            "function",
            "select",
            "in",
        ):
            line = line[1:]
        elif text in ("env", "xargs", "timeout", "watch", "arch") and len(line) > 1:
            at = 1
            while at < len(line) and (line[at].text[:1] in "-0123456789" or line[at].text == "{}"):
                at += 1
            if at == len(line):
                return line
            line = line[at:]
        else:
            return line
    return line


def _read_assigned(name: str, value: str, found: Gathered) -> None:
    if name.isupper() and len(name) > 2:
        found.add("env_var", name)
    _read_argument(Word(value, False), "", found)


def _command_name(program: str, rest: list[Word]) -> str:
    """Program and subcommand, as people call what was run."""
    if program in ("python", "python3") and rest[:1] and rest[0].text == "-m" and len(rest) > 1:
        return f"{program} -m {rest[1].text}" if _NAME.fullmatch(rest[1].text) else program
    if not _PROGRAM.fullmatch(program) or program.isupper():
        return ""
    has_subcommands = program in words("programs with subcommands")
    if program in words("builtins") and not has_subcommands and program not in words("plain programs"):
        return ""
    if (program in words("plain programs") and not has_subcommands) or "." in program:
        return program
    parts = [program]
    skip = False
    for word in rest:
        if skip or (word.text.startswith("-") and len(parts) == 1):
            skip = not skip and word.text in _FLAG_VALUES
            continue
        if word.quoted or not _SUBCOMMAND.fullmatch(word.text):
            break
        parts.append(word.text)
        deeper = word.text in words("deeper subcommands") and len(parts) == 2
        if not (deeper and has_subcommands):
            break
    return " ".join(parts)


def _read_arguments(program: str, rest: list[Word], found: Gathered, depth: int) -> None:
    if program == "git" or program == "jj":
        _read_references(rest, found)
    if program == "gh":
        _read_gh(rest, found)
    _read_installed(program, rest, found)
    patterned = program in _PATTERNS
    if program == "find":
        flags = [at for at, word in enumerate(rest) if word.text.startswith("-")]
        rest = rest[: flags[0]] if flags else rest
    for at, word in enumerate(rest):
        before = rest[at - 1].text if at else ""
        if word.quoted and (" " in word.text or "\n" in word.text):
            if before in ("--jq", "-q"):
                continue
            if not patterned or (before in ("-c", "-e") and program == "perl"):
                _reader_of(program, before, depth)(word.text, found)
        elif patterned and word.quoted and at < 3:
            continue
        elif before == "--repo" or (before == "-R" and program == "gh"):
            found.add("repository", word.text)
        elif before in ("-d", "--dbname", "--database") and program in _DATABASES:
            found.add("database", word.text)
        elif not word.text.startswith("-") or "=" in word.text:
            _read_argument(word, program, found)


def _reader_of(program: str, flag: str, depth: int) -> Callable[[str, Gathered], None]:
    """Who reads a quoted text: it depends on what it is given to."""
    if program in _SHELLS and depth:
        return lambda text, found: read_command(text, found, depth=depth - 1)
    if program in _INTERPRETERS and flag in ("-c", "-e", "--eval", "-p"):
        return _read_inline
    if program in _DATABASES:
        return read_statements
    return _read_said


def _read_inline(text: str, found: Gathered) -> None:
    read_words(text, found, prose=False)
    read_code(text, found)


def _read_said(text: str, found: Gathered) -> None:
    read_words(text, found, prose=True)
    read_prose(text, found)
    read_statements(text, found)


def _read_argument(word: Word, program: str, found: Gathered) -> None:
    text = word.text.partition("=")[2] if word.text.startswith("-") else word.text
    if not text or text.startswith(("/dev/", "$")) or "*" in text or "$(" in text:
        return
    if (
        program in words("reading folders")
        and not text.startswith("-")
        and _FOLDER.fullmatch(text)
        and text.strip("./")
    ):
        kinds = {each.kind for each in shapes(text)}
        if not kinds & {"file", "maybe file", "url"} and not (word.quoted and "/" not in text):
            found.add("folder", text, text)
            return
    committed = _AT_COMMIT.fullmatch(text) if ":" in text else None
    if committed:
        found.add("commit", committed[1][:7], committed[1])
        text = committed[2]
    for shape in shapes(text):
        if shape.kind in ("file", "folder", "url", "library", "repository", "person", "commit"):
            found.add(shape.kind, shape.name, shape.written)
        elif shape.kind == "maybe file":
            found.add("file", shape.name, shape.written)
        elif shape.kind == "range":
            found.add("commit", shape.name, shape.written)
        elif shape.kind == "issue" and shape.written.startswith("#"):
            found.add("issue", shape.name, shape.written)
        elif shape.kind == "route" and program in ("cat", "head", "tail", "sed", "nl", "less"):
            found.add("file", shape.name, shape.written)
    if text.startswith(("Test", "test_")) and text.isidentifier() and len(text) > 6:
        found.add("function", text)


def _read_references(rest: list[Word], found: Gathered) -> None:
    """The branches that a command of git speaks of."""
    plain = [word.text for word in rest]
    if plain[:1] == ["-C"] and len(plain) > 2:
        found.add("folder", plain[1])
        plain = plain[2:]
    sub = next((text for text in plain if not text.startswith("-")), "")
    at = plain.index(sub) if sub else 0
    after = plain[at + 1 :]
    if sub == "bookmark":
        after, sub = after[1:], "branch"
    if sub not in _MOVES:
        return
    for flag in ("-b", "-B", "-c", "-C", "-r", "--branch"):
        if flag in after and after.index(flag) + 1 < len(after):
            _add_branch(after[after.index(flag) + 1], found, certain=True)
    arguments = [text for text in after if not text.startswith("-")] if "--" not in after else []
    if sub in ("push", "pull", "fetch"):
        for text in arguments[1:]:
            for each in text.lstrip("+").split(":"):
                _add_branch(each, found, certain=True)
    elif sub in ("checkout", "switch", "merge", "rebase", "branch"):
        for text in arguments:
            _add_branch(text, found, certain=sub != "checkout")
    else:
        for text in arguments:
            for each in re.split(r"\.{2,3}", text):
                _add_branch(each, found, certain=False)


def _add_branch(text: str, found: Gathered, *, certain: bool) -> None:
    name = (
        text.removeprefix("origin/")
        .removeprefix("refs/heads/")
        .removeprefix("remotes/")
        .partition("~")[0]
        .partition("^")[0]
    )
    if (
        not _REFERENCE.fullmatch(name)
        or name in ("HEAD", "origin", "upstream", "FETCH_HEAD", "stash", "tags")
        or name.startswith("HEAD")
    ):
        return
    kinds = {each.kind for each in shapes(text)}
    if kinds & {"file", "commit", "maybe file"}:
        return
    if certain or text != name or name in words("branches") or "branch" in kinds:
        found.add("branch", name, text)


def _read_installed(program: str, rest: list[Word], found: Gathered) -> None:
    """The packages that a package manager is told to bring, the keys that git is told to keep."""
    plain = [word.text for word in rest if not word.text.startswith("-")]
    if program == "git" and plain[:1] == ["config"]:
        for key in plain[1:2]:
            if "." in key:
                found.add("config_key", key)
    if program == "uv" and plain[:1] == ["pip"]:
        plain = plain[1:]
    if program not in _MANAGERS or not plain or plain[0] not in words("installers"):
        return
    for text in plain[1:]:
        package = _PACKAGE.match(text)
        if package and not any(each.kind in ("file", "folder") for each in shapes(text)):
            found.add("library", package[0])


def _read_gh(rest: list[Word], found: Gathered) -> None:
    plain = [word.text for word in rest]
    for flag in ("--head", "--base", "-B", "-H"):
        if flag in plain and plain[:1] == ["pr"] and plain.index(flag) + 1 < len(plain):
            _add_branch(plain[plain.index(flag) + 1], found, certain=True)
    if plain[:1] == ["api"]:
        route = next(
            (text for text in plain[1:] if not text.startswith("-") and ("/" in text or text == "graphql")),
            "",
        )
        if route and not route.startswith("http"):
            found.add("api_endpoint", route.partition("?")[0], route)
            parts = route.strip("/").split("/")
            if len(parts) > 2 and parts[0] == "repos":
                found.add("repository", f"{parts[1]}/{parts[2]}")
                if len(parts) > 4 and parts[3] in ("issues", "pulls") and parts[4].isdigit():
                    found.add("issue", f"{parts[1]}/{parts[2]}#{parts[4]}", f"{parts[3]}/{parts[4]}")
    if plain[:2] == ["repo", "clone"] or plain[:2] == ["repo", "view"]:
        found.add(
            "repository",
            next((text for text in plain[2:3] if "/" in text and not text.startswith("http")), ""),
        )
    if plain[:1] in (["pr"], ["issue"]) and len(plain) > 2 and plain[2].isdigit():
        found.add("issue", f"#{plain[2]}", plain[2])
