"""Secrets that are known by where they stand: URLs, headers, cookies, key blocks, command lines.

What holds for `tokens` holds here: bounded before a yes, whole after it. A private key ends with its END
line or, where a log cut it off, with its last line of base64; line numbers, quotes and `\\n` are part of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from recollect.redact.plausible import VALUE_CHARS, decoded, is_filler, is_password, is_random
from recollect.redact.tokens import Span, spans_at


def context_spans(text: str, lowered: str) -> Iterator[Span]:
    """Every secret that stands where secrets stand; `lowered` is the text in small letters."""
    for rule in RULES:
        for anchor in rule.anchors:
            if anchor in lowered:
                yield from spans_at(rule, anchor, text, lowered)
    if "cookie" in lowered:
        yield from _cookie_spans(text, lowered)


@dataclass(frozen=True, slots=True)
class ContextRule:
    """One place: `head` is matched where an anchor begins, in any letter case; `tail` goes on to the end."""

    kind: str
    anchors: tuple[str, ...]
    head: re.Pattern[str]
    tail: re.Pattern[str]
    accepts: Callable[[re.Match[str]], bool]


def _rule(
    kind: str, anchors: str, head: str, tail: str, accepts: Callable[[re.Match[str]], bool]
) -> ContextRule:
    return ContextRule(
        kind, tuple(anchors.split()), re.compile(head, re.IGNORECASE), re.compile(tail), accepts
    )


# -- what makes a value in its place believable -------------------------------------------------


def _is_credential(match: re.Match[str]) -> bool:
    value = match["body"]
    return is_random(value) or (len(value) >= 16 and is_password(value))


def _is_real(match: re.Match[str]) -> bool:
    return not match["body"].isdigit() and not is_filler(match["body"])


def _is_password(match: re.Match[str]) -> bool:
    return is_password(match["body"])


def _is_login(match: re.Match[str]) -> bool:
    name, _, password = decoded(match["body"]).partition(":")
    return bool(name and password) and not is_filler(password)


def _is_url_password(match: re.Match[str]) -> bool:
    value = match["body"]
    return len(value) >= 4 and value.lower() != match["user"].lower() and _is_real(match)


def _is_key(match: re.Match[str]) -> bool:
    first = match["body"]
    return all(re.search(each, first) for each in ("[A-Z]", "[a-z]", "[0-9]")) and not is_filler(first)


def _is_encoded_key(match: re.Match[str]) -> bool:
    return "PRIVATE KEY" in decoded(match["body"])


# -- the table ----------------------------------------------------------------------------------

_QUOTES = r"[\"'\\]{0,6}"
_HEADER = r"[A-Za-z0-9._~+/=:%-]"
_URL = r"[^\s\"'<>`\\"

# Between the lines of a key: line ends, also as escapes, and what a listing or a quotation puts there.
_BETWEEN = r"(?:\\{1,8}[nrt]|[\s\"',>|#*:→]|\+(?=\s)|(?<=[\n\"])[+-](?!-)|[0-9]{1,6}(?=[\t→:|]))"
_KEY_HEADER = r"(?:(?:Proc-Type|DEK-Info|Version|Comment)[^\n\\]{0,80})"
_KEY_TAIL = (
    rf"[A-Za-z0-9+/=_-]*+(?:{_BETWEEN}*+[A-Za-z0-9+/=_-]{{16,}}+)*+"
    rf"(?:(?:{_BETWEEN}*+[A-Za-z0-9+/=]{{1,80}}+)?{_BETWEEN}*+-----END [A-Z0-9 ]{{0,40}}-----)?"
)

RULES = (
    _rule(
        "private-key",
        "-----begin",
        rf"(?P<secret>-----BEGIN (?:[A-Z0-9]{{1,16}} ){{0,3}}PRIVATE KEY(?: BLOCK)?-----"
        rf"(?:{_BETWEEN}|{_KEY_HEADER}){{1,60}}+(?P<body>[A-Za-z0-9+/=]{{24,80}}+))",
        _KEY_TAIL,
        _is_key,
    ),
    _rule(  # the same in base64, as it stands in a kubeconfig
        "private-key",
        "ls0tls1crudjti",
        r"(?P<secret>(?P<body>LS0tLS1CRUdJTi[A-Za-z0-9+/_-]{50}))",
        _KEY_TAIL,
        _is_encoded_key,
    ),
    _rule(
        "private-key",
        "private-lines:",
        rf"Private-Lines:[ \t]{{0,4}}[0-9]{{1,4}}{_BETWEEN}{{1,20}}+"
        r"(?P<secret>(?P<body>[A-Za-z0-9+/=]{24,80}+))",
        _KEY_TAIL,
        _is_key,
    ),
    _rule(
        "url-password",
        "://",
        rf"://(?P<user>{_URL}/:@?#]{{0,100}}+):(?P<secret>(?P<body>{_URL}/?#]{{1,200}}))@(?=[A-Za-z0-9\[$.%-])",
        "",
        _is_url_password,
    ),
    _rule(  # a raw "/" in it, where it cannot be a port and a path
        "url-password",
        "://",
        rf"(?<!http)(?<!https)://(?P<user>{_URL}/:@?#]{{0,100}}+):"
        rf"(?P<secret>(?P<body>(?![0-9]{{1,5}}[/?#])(?:(?!://){_URL}]){{1,200}}))@(?=[A-Za-z0-9\[$.%-])",
        "",
        _is_url_password,
    ),
    _rule(
        "bearer-token",
        "bearer",
        rf"bearer(?:[ \t]|%20|\+){{1,4}}{_QUOTES}(?P<secret>(?P<body>{_HEADER}{{12,{VALUE_CHARS}}}+))",
        rf"{_HEADER}*+",
        _is_credential,
    ),
    _rule(
        "authorization",
        "authorization",
        rf"(?<![A-Za-z])authorization{_QUOTES}\]?[ \t]{{0,4}}[:=,][ \t]{{0,4}}{_QUOTES}"
        r"(?:(?:token|bot|key|apikey|api-key|bearer|basic)[ \t]{1,4})?"
        rf"(?P<secret>(?P<body>{_HEADER}{{8,{VALUE_CHARS}}}+))(?![(\[])",
        rf"{_HEADER}*+",
        _is_credential,
    ),
    _rule(
        "basic-login",
        "basic auth",
        rf"(?:basic[ \t]{{1,4}}|auth{_QUOTES}[ \t]{{0,4}}[:=][ \t]{{0,4}}{_QUOTES})"
        rf"(?P<secret>(?P<body>[A-Za-z0-9+/_-]{{6,{VALUE_CHARS}}}+={{0,2}}))",
        r"[A-Za-z0-9+/=_-]*+",
        _is_login,
    ),
    _rule(
        "password",
        "machine",
        r"machine\s{1,4}\S{1,200}+\s{1,8}login\s{1,4}\S{1,200}+\s{1,8}password\s{1,4}"
        r"(?P<secret>(?P<body>[^\s\"'\\]{3,200}+))",
        r"[^\s\"'\\]*+",
        _is_real,
    ),
    _rule(
        "password",
        "curl",
        r"curl[ \t][^\n|;]{0,200}?(?<=\s)(?:-u[ ]?|--user[ =])[\"']?[^\s:\"'@/$]{1,64}+:"
        r"(?P<secret>(?P<body>[^\s\"'\\@]{4,200}+))",
        r"[^\s\"'\\@]*+",
        _is_real,
    ),
    _rule(  # what else takes a login like curl; `docker -u user:group` does not
        "password",
        "-u --user",
        r"(?<=\s)(?:-u[ ]?|--user[ =])[\"']?[^\s:\"'@/$]{1,64}+:(?P<secret>(?P<body>[^\s\"'\\@]{4,200}+))",
        r"[^\s\"'\\@]*+",
        _is_password,
    ),
    _rule(
        "password",
        "mysql sshpass",
        r"(?:mysql(?:dump|admin|import)?[ \t][^\n|;]{0,200}?[ \t]-p|sshpass[ \t]{1,4}-p[ \t]{0,4})"
        r"[\"']?(?P<secret>(?P<body>[^\s\"'\\-][^\s\"'\\]{3,200}))",
        r"[^\s\"'\\]*+",
        _is_password,
    ),
)


# -- cookies ------------------------------------------------------------------------------------

_COOKIE = re.compile(rf"cookie{_QUOTES}[ \t]{{0,4}}[:=,][ \t]{{0,4}}{_QUOTES}", re.IGNORECASE)
_PAIR = re.compile(r"[ \t]{0,4}([^=;,\s\"'\\]{1,100}+)=([^;,\s\"'\\]{0,8000}+);?")
_LOGIN = re.compile(r"sess|auth|token|sid|jwt|login|remember", re.IGNORECASE)


def _cookie_spans(text: str, lowered: str) -> Iterator[Span]:
    at = lowered.find("cookie")
    while at >= 0:
        head = _COOKIE.match(text, at)
        after = head.end() if head else at + 1
        while head and (pair := _PAIR.match(text, after)):
            value = pair[2][:VALUE_CHARS]
            if is_random(value) or (_LOGIN.search(pair[1]) and len(value) >= 8 and is_password(value)):
                yield (*pair.span(2), "cookie")
            after = pair.end()
        at = lowered.find("cookie", after)
