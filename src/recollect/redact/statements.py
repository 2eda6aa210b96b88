"""Secrets that a statement gives, a prompt is answered with, a sentence tells, or a command prints.

What stands there is certain, however it looks: `IDENTIFIED BY ...`, `expect "Password:" { send ... }`, twelve
words behind "seed phrase", the line after `... get secret ... | base64 -d`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.redact.contexts import ContextRule, anchored_spans, context_rule, gated, is_password_here
from recollect.redact.plausible import is_password
from recollect.redact.tokens import Span


def statement_spans(text: str, lowered: str, present: tuple[str, ...]) -> Iterator[Span]:
    """Every secret that a statement gives; `present` says which of the gates are in the text."""
    for gate in present:
        for anchor, rules in GATED.get(gate, {}).items():
            yield from anchored_spans(anchor, rules, text, lowered)
        if gate in PHRASES:
            yield from _phrase_spans(text, lowered, gate)
        for mark in ONE_TIME.get(gate, ()):
            yield from _one_time_spans(text, lowered, mark)
        for mark in PRINTS.get(gate, ()):
            yield from _printed_spans(text, lowered, mark)


# -- statements, prompts and logins ---------------------------------------------------------------

_TEXT = r"[^\s\"'`\\<>]"
_USER = r"(?:admin(?:istrator)?|root|test|demo|guest|user|sa|postgres|[\w.-]{2,30}@[\w.-]{3,40})"


def _is_login(match: re.Match[str]) -> bool:
    return match["body"].lower() != (match["user"] or match["other"]).lower() and is_password_here(match)


def _login_rule(gate: str) -> ContextRule:
    """User and password, one after the other."""
    return context_rule(
        "password",
        gate,
        rf"(?:cred(?:ential)?s?|logins?)(?:[ ](?:are|is|as|with)|:)[ ]{{0,2}}[`\"'(]{{0,2}}"
        rf"(?:(?P<user>{_USER})[`\"']?[ ]?[/:][ ]?"
        r"|(?P<other>[a-z][\w.-]{1,30})(?::(?!/)|[ ]/[ ])(?=\S{5,40}\s{0,4}(?:\n|\Z)))[`\"']?"
        rf"(?P<secret>(?P<body>[^\s\"'`\\<>,;()]{{4,128}}+))",
        "",
        _is_login,
        gate=gate,
    )


RULES = (
    context_rule(  # SQL
        "password",
        "identified ",
        r"identified[ ](?:with[ ]\S{1,40}[ ])?by[ ]{1,4}(?:password[ ]|values[ ])?"
        r"\\?[\"'](?P<secret>(?P<body>[^\s\"'`\\<>;]{4,128}+))\\?[\"']",
        "",
        is_password_here,
    ),
    context_rule(
        "password",
        "user ",
        r"user[ ]\S{1,64}[ ]{1,4}identified[ ]by[ ]{1,4}"
        r"(?P<secret>(?P<body>[^\s\"'`\\<>;]{4,128}+))(?=[;\s]|\Z)",
        "",
        is_password_here,
        gate="identified ",
    ),
    context_rule(  # a prompt, and what a script answers
        "password",
        "password:",
        r"pass(?:word|phrase)[^\n\"']{0,20}[\"'][\s;{},)]{0,24}(?:\w{1,20}\.)?send(?:line)?[ (]{1,2}"
        rf"(?:--[ ])?[\"'](?P<secret>(?P<body>{_TEXT}{{4,128}}?))(?:\\{{1,4}}[rn]){{0,2}}[\"']",
        "",
        is_password_here,
        gate="pass",
    ),
    *map(_login_rule, ("cred", "login")),
    context_rule(  # PostgreSQL's file of passwords, as it is written
        "password",
        ":5432:",
        r":5432:[\w*.-]{1,64}:[\w*.-]{1,64}:(?P<secret>(?P<body>[^\s\"'`\\:]{4,100}+))(?=[\s\"']|\Z)",
        "",
        is_password_here,
        gate="pass",
    ),
    context_rule(  # Redis, at its own prompt
        "password",
        "6379> auth ",
        r"6379>[ ]auth[ ](?:[\w-]{1,40}[ ])?(?P<secret>(?P<body>[^\s\"'\\]{4,128}+))(?=\s|\Z)",
        "",
        is_password_here,
        gate="auth",
    ),
    context_rule(  # a wireless network
        "password",
        "psk",
        r"(?<![A-Za-z_])psk[ ]?=[ ]?[\"']?(?P<secret>(?P<body>[^\s\"'\\<>;,]{8,64}+))",
        "",
        is_password_here,
        gate="key",
    ),
)
GATED = gated(RULES)


# -- words, and codes that are used once ------------------------------------------------------------

PHRASES = ("mnemonic", "phrase")
_PHRASE = re.compile(
    r"(?:mnemonic|phrase)[^\n:=]{0,40}?[\s:=\"'`(>-]{1,8}"
    r"(?P<secret>(?:[0-9]{1,2}[.):][ ]?)?[a-z]{3,8}"
    r"(?:[\s,]{1,4}(?:[0-9]{1,2}[.):][ ]?)?[a-z]{3,8}){11,23})(?![a-z])",
    re.IGNORECASE,
)
# Words that no list of seed words has, and hardly a sentence of twelve does without.
_SENTENCE = frozenset(
    [
        "the",
        "and",
        "for",
        "are",
        "was",
        "not",
        "have",
        "has",
        "from",
        "but",
        "our",
        "its",
        "were",
        "been",
        "which",
        "into",
        "than",
    ]
)


def _phrase_spans(text: str, lowered: str, gate: str) -> Iterator[Span]:
    """Twelve to twenty-four short words behind a name for such a list."""
    at = lowered.find(gate)
    while at >= 0:
        match = _PHRASE.match(text, at)
        if match and not _SENTENCE & set(match["secret"].lower().split()):
            yield (*match.span("secret"), "secret")
        at = lowered.find(gate, match.end() if match else at + 1)


ONE_TIME = {"totp": ("totp",), "auth": ("authenticator", "recovery codes", "backup codes")}
_SEED = re.compile(
    r"(?i:totp|authenticator)[^\n]{0,60}?[\s:=\"'`]"
    r"(?P<secret>(?:[A-Z2-7]{4}[ -]){3,12}[A-Z2-7]{2,4}|(?:[a-z2-7]{4}[ ]){3,12}[a-z2-7]{2,4}"
    r"|[A-Z2-7]{16,64})(?![\w-])"
)
_CODES = re.compile(r"(?:recovery|backup)[ ]codes?[^\n:]{0,40}[:\s]\s{0,8}", re.IGNORECASE)
_CODE = re.compile(
    r"[\s,*`0-9.)-]{0,10}?(?P<secret>[0-9]{8}|[A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6}){1,3}|(?=[a-z]{0,11}[0-9])[a-z0-9]{8,12})(?![\w-])[`,]?"
)


def _one_time_spans(text: str, lowered: str, mark: str) -> Iterator[Span]:
    """What a second factor is drawn from, and the codes that stand in for it."""
    at = lowered.find(mark)
    while at >= 0:
        end = at + len(mark)
        if " codes" in mark:
            head = _CODES.match(text, at)
            while head and (code := _CODE.match(text, head.end() if end < head.end() else end)):
                if any(map(str.isdigit, code["secret"])):
                    yield (*code.span("secret"), "secret")
                end = code.end()
        elif (seed := _SEED.match(text, at)) and _has_digit(seed["secret"]):
            yield (*seed.span("secret"), "secret")
            end = seed.end()
        at = lowered.find(mark, end)


def _has_digit(value: str) -> bool:
    return any(map(str.isdigit, value))


# -- what a command prints --------------------------------------------------------------------------

# A command that prints a secret and nothing else: by a word in its line what it is known by, and its rest.
_COMMANDS = {
    "secret": {
        "get secret": r"get secrets?\b[^\n]{1,240}base64[ ](?:-d|-D|--decode)",
        "get-secret-value": r"get-secret-value[^\n]{1,240}",
        "secret show": r"secret show[^\n]{1,200}",
        "secrets get": r"secrets get [^\n]{1,80}",
        "versions access": r"versions access[^\n]{1,100}",
        "-field": r"-field[= ][\w.-]{1,40}[^\n]{0,100}",
    },
    "pass": {
        "pass show": r"pass show \S[^\n]{0,80}",
        "generic-password": r"generic-password[^\n]{0,160}",
        "output -raw": r"output -raw [^\n]{1,80}",
    },
    "://": {"op://": r"op://[^\n]{1,100}"},
}
PRINTS = {gate: tuple(marks) for gate, marks in _COMMANDS.items()}
_PRINTED = {
    mark: re.compile(rf"{rest}\n(?P<secret>[^\s:(){{}}<>]{{8,400}})%?(?=\r?\n|\Z)", re.IGNORECASE)
    for marks in _COMMANDS.values()
    for mark, rest in marks.items()
}


def _printed_spans(text: str, lowered: str, mark: str) -> Iterator[Span]:
    """The one word on the line after such a command."""
    at = lowered.find(mark)
    while at >= 0:
        match = _PRINTED[mark].match(text, at)
        if match and is_password(match["secret"]):
            yield (*match.span("secret"), "secret")
        at = lowered.find(mark, at + 1)


# -- the middle of a key ------------------------------------------------------------------------------

# 65537 and the private number after it, in base64, by where in a group of three bytes it begins.
KEY_MARKS = ("AgMBAAECgg", "IDAQABAoI", "CAwEAAQKC")
_KEY_LINE = re.compile(r"[A-Za-z0-9+/]{40,80}={0,2}")
_KEY_LINES_MAX = 80
KEY_CHARS = 100  # so much there is at least of it


def key_spans(text: str, runs: str) -> Iterator[Span]:
    """The lines of a key around where its private part begins; `runs` is where one could stand."""
    for mark in KEY_MARKS:
        if mark in runs:
            yield from _marked_spans(text, mark)


def _marked_spans(text: str, mark: str) -> Iterator[Span]:
    at = text.find(mark)
    while at >= 0:
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        end = end if end >= 0 else len(text)
        if _is_key_line(text[start:end]):
            yield _first_line(text, start), _last_line(text, end), "private-key"
        at = text.find(mark, end)


def _is_key_line(line: str) -> bool:
    return len(line) < 200 and _KEY_LINE.fullmatch(line.strip(" \t\r+>|")) is not None


def _first_line(text: str, start: int) -> int:
    for _ in range(_KEY_LINES_MAX):
        before = text.rfind("\n", 0, max(0, start - 1)) + 1
        if not start or not _is_key_line(text[before : start - 1]):
            break
        start = before
    return start


def _last_line(text: str, end: int) -> int:
    for _ in range(_KEY_LINES_MAX):
        after = text.find("\n", end + 1)
        after = after if after >= 0 else len(text)
        if end >= len(text) or not _is_key_line(text[end + 1 : after]):
            break
        end = after
    return end


GATES = (*GATED, *PHRASES, *ONE_TIME, *PRINTS)
