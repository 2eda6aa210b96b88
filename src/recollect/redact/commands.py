"""Secrets on command lines: what an option of a known command takes, what is piped into one.

Which option takes a password depends on the command, so the option is found first, and then its command
looked for in the line before it. Which these are is data: `commands.toml`, read with the first text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from recollect.redact.nonvalues import is_given
from recollect.redact.plausible import decoded, is_filler, is_password, is_random
from recollect.redact.tokens import Span

GATES = ("echo ", "login")


def command_spans(text: str, present: tuple[str, ...]) -> Iterator[Span]:
    """Every secret that a command is given; `present` says which of the gates are in the text."""
    if " -" in text:
        yield from _option_spans(text, option_patterns()[0])
    if len(text) < _LIST_CHARS:
        for at, mark in enumerate(_QUOTED_MARKS, 1):
            if mark in text:
                yield from _option_spans(text, option_patterns()[at])
    if "echo " in present:
        yield from _piped_spans(text, readers()[0])
    if ("pass" in present or "secret" in present) and "printf " in text:
        yield from _piped_spans(text, readers()[1])
    if (present or len(text) < _LIST_CHARS) and "<<<" in text:
        yield from _here_spans(text)
    if "\\" in text and "net use" in text:
        yield from ((*match.span("secret"), "password") for match in _SHARE.finditer(text) if _is_word(match))
    if "login" in present:
        yield from (
            (*match.span("secret"), "token") for match in _AFTER.finditer(text) if is_random(match["secret"])
        )


def _option_spans(text: str, option: re.Pattern[str]) -> Iterator[Span]:
    for match in option.finditer(text):
        name, at = match["name"], match.end()
        line = text[max(0, match.start() - LINE_CHARS) : match.start()]
        line = line[_line_start(line) :]
        quote = match["quote"]
        if quote:
            line = _NEXT_WORD.sub(" ", line)
        for command, value in options().get(name, ()):
            if command.search(line) and (found := value.match(text, at)) and _is_taken(name, found["secret"]):
                start, end = found.span("secret")
                yield start, _word_end(text, end, quote) if start == at else end, "password"
                break
        if name == "AsPlainText" and (found := _SECURE.search(line)) and _is_real(found["secret"]):
            start = match.start() - len(line) + found.start("secret")
            yield start, start + len(found["secret"]), "password"


def _word_end(text: str, end: int, quote: str) -> int:
    """Where a word in quotes ends that an option and its value are: '-pcorrect horse'."""
    closing = text.find(quote, end, end + LINE_CHARS) if quote else end
    return closing if closing >= 0 and "\n" not in text[end:closing] else end


LINE_CHARS = 300

_END = r"(?=[\s\"'`\\]|\Z)"
_BODY = r"[^\s\"'`\\<>|]"


def _value(before: str, body: str = rf"{_BODY}{{4,200}}") -> re.Pattern[str]:
    """A value, in quotes or bare, after what stands before it."""
    return re.compile(
        rf"{before}(?:\\{{0,3}}\"(?P<double>)|'(?P<single>))?(?P<secret>(?(double)[^\"\\\n]{{4,200}}"
        rf"|(?(single)[^'\n]{{4,200}}|{body})))"
    )


_HOW = {
    "next": _value(r"(?:[ =]{1,4}|[\"'],[ ]?(?=[\"']))"),  # also in a list of strings
    "glued": _value("", r"[^\s\"'`\\<>|=-][^\s\"'`\\<>|]{3,200}"),
    "either": _value(r"(?:[\"'],[ ]?(?=[\"'])|[ =]{0,4})", r"[^\s\"'`\\<>|=-][^\s\"'`\\<>|]{3,200}"),
    "colon": _value(":"),
    "login": _value(
        r"(?:[\"'],[ ]?)?[ =]{0,4}(?:'(?P<whole>)|\"(?P<entire>))?"
        r"[^\s:\"'@/$%]{1,64}(?:@[\w.-]{1,64})?(?:/token)?:",
        rf"(?(whole)[^'\n]{{4,200}}|(?(entire)[^\"\n]{{4,200}}|{_BODY}{{4,200}}))",
    ),
    "user": _value(r"[ ]{1,4}['\"]?(?=[A-Za-z0-9]{16,80}:)", r"[A-Za-z0-9]{16,80}"),
    "comma": _value(r"[ =]{1,4}['\"]?[^\s,\"'$%]{1,64},"),
    "percent": _value(r"[ =]{0,4}['\"]?[\w.@\\/-]{1,64}%"),
    "token": _value(r"[ =]{1,4}", r"[A-Za-z0-9_.-]{20,200}"),
    "here": _value(r"[ ][^\n|]{0,60}<<<[ ]?"),
    "pass": _value(r"[ ]{1,4}pass:"),
    "pair": _value(r"[ =]{1,4}['\"]?[\w.-]{1,60}="),
    "cookie": _value(r"[ =]{1,4}['\"]?[\w.-]{1,60}=", r"[^\s\"'`\\<>|;]{12,200}"),
}
FILE = Path(__file__).with_name("commands.toml")


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(FILE.read_text("utf-8"))


@cache
def options() -> dict[str, tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]]:
    """By option: the commands that take a secret there, and how it is written."""
    found: dict[str, tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]] = {}
    for row in _data()["options"]["rows"]:
        command = re.compile(_COMMAND.format(row["commands"]) if "commands" in row else "")
        for option in row["options"].split():
            found[option] = (*found.get(option, ()), (command, _HOW[row["how"]]))
    return found


_COMMAND = r"(?:^|[\s/\"'`(|;&])(?:{})(?:\.exe)?(?=[\"']?,?(?:\s|$))"


@cache
def option_patterns() -> tuple[re.Pattern[str], ...]:
    """Where such an option stands: bare, and in quotes as in a list of a command's words."""
    names = sorted(map(re.escape, options()), key=len, reverse=True)
    long = "|".join(each for each in names if len(each) > 1)
    short = "".join(each for each in names if len(each) == 1)
    name = rf"-(?P<name>(?:{long})(?![\w-])|hp(?=\w)|[{short}](?=[ =:'\"A-Za-z0-9]))"
    around = ((" ", ""), (" ", "'"), (" ", '"'), (",", '"'))
    return tuple(re.compile(rf"{before}(?P<quote>{quote}){name}") for before, quote in around)


# An option in quotes, as in a list of a command's words: what is long is a program's file, and no such list.
_QUOTED_MARKS = (" '-", ' "-', ',"-')
_NEXT_WORD = re.compile(r"[\"'],[ ]?[\"']")
_LIST_CHARS = 5_000
_CUT = re.compile(r"(?<!\\)\n|\|(?!\|)|&&|;")


def _line_start(line: str) -> int:
    """Where the command begins that the line ends in: a backslash before a line end continues it."""
    at = 0
    for cut in _CUT.finditer(line):
        at = cut.end()
    return at


def _is_taken(name: str, value: str) -> bool:
    """What else an option takes at times (the host of a service, as a repository's secret) is no password."""
    return _is_real(value) and (name not in _WEAK or is_password(value) or is_given(value))


_WEAK = frozenset({"b", "t", "-body", "-value", "-secret-string"})


def _is_real(value: str) -> bool:
    return not is_filler(value) and not value.isdigit() and not value.startswith(("$", "@", "/", "./", "<"))


# -- what is piped into a command, and what comes after one --------------------------------------


@cache
def readers() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What `echo` and `printf` pipe into a command that reads a secret."""
    rest = rf"[ ]{{0,4}}\|[ ]{{0,4}}(?:{_BASE64}|{'|'.join(_data()['readers']['rows'])})"
    return tuple(re.compile(begin + _PIPED + rest) for begin in (_ECHO, _PRINTF))  # type: ignore[return-value]


_ECHO = r"echo[ ](?:-[neE]{1,3}[ ]){0,2}"
_PRINTF = r"printf[ ](?:[\"']?%s(?:\\n)?[\"']?[ ])?"
_PIPED = (
    r"(?:\"(?P<double>)|'(?P<single>))?(?:[\w.@-]{1,40}:(?=[^\n]{4,100}(?:chpasswd|base64)))?"
    r"(?P<secret>(?P<one>(?(double)[^\"|$`\\\n]{4,300}|(?(single)[^'|\\\n]{4,300}|[^\s\"'|$<>`)\\]{4,300})))"
    r"(?:\\n(?P=one))?)(?:\\n)?[\"')]?"
)
_BASE64 = r"(?P<base64>base64\b)(?P<back>[ ](?:-d|-D|--decode))?"


def _piped_spans(text: str, pattern: re.Pattern[str]) -> Iterator[Span]:
    return ((*match.span("secret"), "password") for match in pattern.finditer(text) if _is_piped(match))


def _is_piped(match: re.Match[str]) -> bool:
    """Whether what is piped is a password: in base64 anything is, unless it is a login that is read back."""
    value = match["one"]
    if match["back"]:
        return ":" in decoded(value)
    return is_password(value) or (not match["base64"] and is_given(value))


_READERS = re.compile(
    r"(?:cryptsetup|passwd|kinit|--password-stdin|--with-token|--passphrase-fd|--key-file|sudo -S|\bsu[ ]"
    r"|signin|unlock|\benv[ ]add|secrets?[ ](?:set|create|put|add))(?:[^\n|;,]|,(?! \")){0,120}$"
)
_HERE_STRING = re.compile(r"<<<[ ]?[\"']?(?:[\w.-]{1,40}:)?(?P<secret>[^\s\"'/\\]{5,128})(?=[\s\"'\\]|\Z)")
_SHARE = re.compile(
    r"net use (?:[^\n]{1,120}?/user:\S{1,64} |(?:[A-Za-z*]:? )?\\{2,4}\S{1,100} )"
    r"(?P<secret>[^\s\"'/*]{5,128})(?=\s|\Z)"
)


def _here_spans(text: str) -> Iterator[Span]:
    """What a command is given as a string to read."""
    at = text.find("<<<")
    while at >= 0:
        match = _HERE_STRING.match(text, at)
        if match and _READERS.search(text, max(0, at - LINE_CHARS), at) and _is_word(match):
            yield (*match.span("secret"), "password")
        at = text.find("<<<", at + 3)


def _is_word(match: re.Match[str]) -> bool:
    return _is_real(match["secret"]) and (is_given(match["secret"]) or is_password(match["secret"]))


_AFTER = re.compile(
    r"login[ ](?:-{1,2}[\w-]{1,20}[ ]|access-token[ ]){0,2}(?P<secret>[A-Za-z0-9_.!-]{20,300})(?=[\s\"'`]|\Z)"
)
_SECURE = re.compile(r"SecureString[ ](?:-String[ ])?[\"'](?P<secret>[^\"'\n]{4,100})[\"']$")
