"""What programs print: commits, branches and authors as git shows them, and the errors that happened."""

from __future__ import annotations

import re
from collections.abc import Iterable

from recollect.insight.entities.lines import lines_with
from recollect.insight.entities.mention import Gathered, fingerprint
from recollect.insight.entities.words import words

_LINE_CHARS = 300
_LINES_MAX = 60  # with a sign of trouble: a log of thousands repeats itself

_COMMITTED = re.compile(r"^\[([\w./-]+)(?: \(root-commit\))? ([0-9a-f]{7,40})\]", re.MULTILINE)
_COMMIT = re.compile(r"commit ([0-9a-f]{40})\b|HEAD is now at ([0-9a-f]{7,40})")
_AUTHOR = re.compile(
    r"^\s*(?:Author|Commit|Committer|Signed-off-by|[Cc]o-[Aa]uthored-[Bb]y|Reviewed-by): "
    r"*([^<\n]{2,60}?) *<[^>\n]{3,80}>",
    re.MULTILINE,
)
_BRANCHES = (
    ("On branch ", re.compile(r"^On branch (\S+)")),
    ("...", re.compile(r"^## ([^\s.]+(?:\.[^\s.]+)*)\.\.\.")),
    ("ranch '", re.compile(r"ranch '([\w./-]+)'")),
    ("fatal: '", re.compile(r"^fatal: '([\w./-]+)' is already")),
    (" -> ", re.compile(r"^ *(?:[0-9a-f.]{10,}|\* \[new branch\]) +[\w./-]+ +-> ([\w./-]+)")),
    (" [", re.compile(r"^\S+ +[0-9a-f]{7,40} \[([\w./-]+)\]$")),
    ("RefName", re.compile(r"\"(?:head|base)RefName\": ?\"([\w./-]+)\"")),
    ("HEAD -> ", re.compile(r"HEAD -> ([\w./-]+)")),
    (" * branch ", re.compile(r"^ \* branch +([\w./-]+) +->")),
)  # fmt: skip
_REQUESTS = re.compile(
    r"^#?(\d{1,6})\t(?:[^\t\n]+\t([\w./-]+)\t(?:OPEN|DRAFT|MERGED|CLOSED)|OPEN\t|CLOSED\t)", re.MULTILINE
)
_LISTED = re.compile(
    r"^[*+ ] (?:remotes/)?([\w./-]+)(?: -> .*)?$|^[*+ ] ([\w./-]+) +[0-9a-f]{7,}", re.MULTILINE
)
_CHANGE = re.compile(r"^[@○◆◉×│ ~├╯─]* *([k-z]{7,12}) ", re.MULTILINE)
_LOGIN = re.compile(
    r"\"(?:login|author_login)\": ?\"([\w\[\]-]{2,40})\"|^author:\t(\S{2,40})|\b([\w-]+\[bot\])", re.MULTILINE
)
_ECHOED = re.compile(
    r"^(?:> |\$ |\+ |❯ )([a-z][\w-]*(?: [^\n]{0,200})?)$|^Usage: +([a-z][\w-]*(?: [a-z][a-z-]+)?)",
    re.MULTILINE,
)

_ECHOES = ("> ", "$ ", "+ ", "❯ ", "Usage: ")
_SIGNS = (
    "rror", "fatal:", "FATAL", "panic", "xception", "ERR", "not found", "No such file", "denied", ": cannot ",
    "Failure", "ssertion", "ailed to ", "nable to ", "ould not ", "Cannot ",
)  # fmt: skip
# What begins with a line break is found far sooner than what begins with `^`.
_COMPILERS = re.compile(
    rf"\n\.?[\w./-]+\.[a-z]{{1,5}}:\d+(?::\d+)?: ((?!warning|note|\s|\d)[^\n]{{4,{_LINE_CHARS}}})$",
    re.MULTILINE,
)
_KINDS = (
    r"(?:[A-Za-z_][\w.]*(?:Error|Exception|Failure|Panic)|[Ee]rror(?:\[\w+\])?|ERROR|fatal|FATAL|panic"
    r"|npm (?:ERR!|error)|ERR_\w+|Uncaught [\w ]+?)"
)
_ERROR = re.compile(
    r"[ \t>|E✗×✘⎿-]{0,8}(?:[^\s(]+\(\d+,\d+\): |[^\s:]+:\d+:\d+ - )?"
    rf"({_KINDS}(?: TS\d+)?(?:\([^)\n]{{1,40}}\))?(?::|!)[ \t]*[^\s{{(].{{2,{_LINE_CHARS}}})$"
)
_REFUSED = re.compile(
    r"(.{0,160}(?:command not found|: No such file or directory|[Pp]ermission denied|: not found"
    r"|: cannot (?:access|open|stat) ).{0,120})$"
    rf"|(thread '[^'\n]{{1,80}}' (?:\(\d+\) )?panicked at .{{2,{_LINE_CHARS}}})$"
    rf"|.*<tool_use_error>([^<\n]{{4,{_LINE_CHARS}}})"
    rf"|([Aa]ssertion.{{0,40}} failed.{{0,{_LINE_CHARS}}})$"
    rf"|\W{{0,6}}((?:[Ff]ailed to|[Uu]nable to|[Cc]ould not|Cannot find|Cannot read) .{{4,{_LINE_CHARS}}})$"
)
_REFUSALS = (  # one of them is in whatever was refused
    " not found", "No such file", "ermission denied", ": cannot ", "panicked", "<tool_use_error>", "ssertion",
    "ailed to ", "nable to ", "ould not ", "Cannot ",
)  # fmt: skip
_ABSENT = re.compile(
    r"(?:[\w/.-]+: (?:line \d+: |\d+: )?)?\"?([\w-]{2,30})\"?:? command not found"
    r"|.*command not found: ([\w-]{2,30})$"
)
_BUILT = re.compile(r"\n# ([\w.-]+(?:/[\w.-]+)+)$", re.MULTILINE)
_TRACED = re.compile(r"File \"([^\"\n<]{2,200})\", line \d+")
_NO_ERROR = re.compile(
    r"(?i)\b0 (?:errors?|failed|failures?)\b|\berror:? (?:handling|messages?|codes?|types?)\b"
    r"|=>|instanceof|\$\{|\(err(?:or)?\)|^error: *(?:null|none|undefined|false|0|\"\"|string|err)\b[,;]?$"
)
_COMPLAINTS = (
    "undefined", "cannot", "invalid", "unknown", "expected", "missing", "not ", "rror", "unused", "declared",
    "mismatch", "too many", "no ", "fail", "syntax", "duplicate", "unresolved",
)  # fmt: skip
_BARE = {ord(each): None for each in "<>`"}


def read_git(text: str, found: Gathered, *, lists_branches: bool = False, is_jujutsu: bool = False) -> None:
    """What git and its like print of commits, branches and people."""
    if text.startswith("[") or "\n[" in text:
        for branch, commit in _COMMITTED.findall(text):
            found.add("branch", branch)
            found.add("commit", commit[:7], commit)
    if "commit " in text or "HEAD is" in text:
        for groups in _COMMIT.findall(text):
            found.add("commit", "".join(groups)[:7], "".join(groups))
    if "<" in text and (": " in text):
        for name in _AUTHOR.findall(text) if "uthor" in text or "-by" in text or "Commit" in text else ():
            found.add("person", name)
    for sign, pattern in _BRANCHES:
        for line in lines_with(text, (sign,)) if sign in text else ():
            _add_branches(pattern.findall(line), found)
    if "\t" in text:
        for number, branch in _REQUESTS.findall(text):
            found.add("issue", f"#{number}", number)
            _add_branches([branch], found)
    if lists_branches:
        _add_branches(("".join(groups) for groups in _LISTED.findall(text)), found)
    if is_jujutsu:
        for change in _CHANGE.findall(text):
            found.add("commit", change)


def _add_branches(names: Iterable[str], found: Gathered) -> None:
    for name in names:
        name = name.removeprefix("remotes/").removeprefix("origin/").rstrip(".,)")
        if name and name not in ("HEAD", "FETCH_HEAD"):
            found.add("branch", name)


def read_people(text: str, found: Gathered) -> None:
    """Who answers of a forge speak of."""
    if "login" in text or "author:" in text or "[bot]" in text:
        for groups in _LOGIN.findall(text):
            found.add("person", "".join(groups))


def read_errors(text: str, found: Gathered) -> None:
    """The errors that a text shows as having happened."""
    for line in lines_with(text, _SIGNS, _LINES_MAX):
        line = line[: 2 * _LINE_CHARS]
        happened = _ERROR.match(line)
        refused = _REFUSED.match(line) if not happened and any(map(line.__contains__, _REFUSALS)) else None
        if happened:
            add_error(happened[1], found)
        elif refused:
            add_error(next(filter(None, refused.groups())), found)
        absent = _ABSENT.match(line) if "command not found" in line else None
        if absent:
            found.add("command", absent[1] or absent[2])
    if ": " in text:
        for message in _COMPILERS.findall(f"\n{text}"):
            if any(word in message for word in _COMPLAINTS):
                add_error(message, found)
    if "# " in text:
        for path in _BUILT.findall(f"\n{text}"):
            found.add("module", path)
    if 'File "' in text:
        for path in _TRACED.findall(text):
            found.add("file", path)


def add_error(message: str, found: Gathered) -> None:
    """An error under its fingerprint."""
    message = message.strip()
    name = fingerprint(message)
    if name.count(" ") and not _NO_ERROR.search(message):
        found.add("error", name, message.translate(_BARE)[:200])


def echoed_commands(text: str) -> list[str]:
    """The command lines that programs print before they run them."""
    if not any(sign in text for sign in _ECHOES):
        return []
    return [line for groups in _ECHOED.findall(text) if is_command(line := "".join(groups))]


def is_command(line: str) -> bool:
    """Whether a line begins with a program that is told something."""
    head, _, rest = line.partition(" ")
    return head in words("programs with subcommands") or (bool(rest) and head in words("plain programs"))
