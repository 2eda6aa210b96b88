"""Secrets that are known by where they stand: URLs, headers, cookies, key blocks, calls, tables.

What holds for `tokens` holds here: bounded before a yes, whole after it. A private key ends with its END
line or, where a log cut it off, with its last line of base64; line numbers, quotes and `\\n` are part of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from recollect.redact import tables
from recollect.redact.issuers import BETWEEN, KEY_TAIL
from recollect.redact.nonvalues import is_given
from recollect.redact.plausible import VALUE_CHARS, decoded, is_filler, is_password, is_random
from recollect.redact.tables import table_spans
from recollect.redact.tokens import Anchored, Span, span_at


def context_spans(text: str, lowered: str, present: tuple[str, ...]) -> Iterator[Span]:
    """Every secret that stands where secrets stand; `lowered` is the text in small letters.

    `present` says which words of `GATES` are in it: without its gate a rule finds nothing.
    """
    for gate in present:
        for anchor, rules in GATED.get(gate, _NONE).items():
            yield from anchored_spans(anchor, rules, text, lowered)
    if "cookie" in present:
        yield from _cookie_spans(text, lowered)
    if "private" in present:
        yield from _cut_key_spans(text, lowered)
    if "secret" in present and "kind" in lowered:
        yield from _cluster_spans(text, lowered)
    if present:
        yield from table_spans(text, lowered, present)
    if "(" in text:
        for match in _CALL.finditer(text):
            if match["source"] is not None:
                yield from _source_spans(text, match.start())
            elif match["token"] and is_random(match["token"]):
                yield (*match.span("token"), "token")
            elif match["secret"] and (is_password(match["secret"]) or is_given(match["secret"])):
                yield (*match.span("secret"), "password")
    if "$" in text:
        for match in _HASH.finditer(text):
            yield (*match.span(), "password-hash")
    if "\t" in text:
        for match in _COOKIE_ROW.finditer(text):
            yield (*match.span("secret"), "cookie")


def _source_spans(text: str, end: int) -> Iterator[Span]:
    match = _SOURCE.search(text, max(0, end - 160), end)
    if match and is_password_here(match):
        yield (*match.span("secret"), "url-password")


def anchored_spans(anchor: str, rules: Sequence[Anchored], text: str, lowered: str) -> Iterator[Span]:
    """What the rules of one anchor find, each of them on from where it found something."""
    free = dict.fromkeys(rules, 0)
    at = lowered.find(anchor)
    while at >= 0:
        for rule in rules:
            if at >= free[rule] and (span := span_at(rule, text, at)):
                free[rule] = span[1]
                yield span
        at = lowered.find(anchor, at + 1)


@dataclass(frozen=True, slots=True)
class ContextRule:
    """One place: `head` is matched where an anchor begins, in any letter case; `tail` goes on to the end."""

    kind: str
    gate: str
    anchors: tuple[str, ...]
    head: re.Pattern[str]
    tail: re.Pattern[str]
    accepts: Callable[[re.Match[str]], bool]


def context_rule(
    kind: str, anchors: str, head: str, tail: str, accepts: Callable[[re.Match[str]], bool], gate: str = ""
) -> ContextRule:
    found = tuple(anchors.split("\n"))
    return ContextRule(
        kind, gate or found[0], found, re.compile(head, re.IGNORECASE), re.compile(tail), accepts
    )


# -- what makes a value in its place believable -------------------------------------------------


def _is_credential(match: re.Match[str]) -> bool:
    value = match["body"]
    return is_random(value) or (len(value) >= 16 and is_password(value))


def _is_random(match: re.Match[str]) -> bool:
    return is_random(match["body"])


def _is_real(match: re.Match[str]) -> bool:
    return not match["body"].isdigit() and not is_filler(match["body"])


def is_password_here(match: re.Match[str]) -> bool:
    return is_password(match["body"]) or is_given(match["body"])


def _is_login(match: re.Match[str]) -> bool:
    name, _, password = decoded(match["body"]).partition(":")
    return bool(name and password) and not is_filler(password)


def _is_url_password(match: re.Match[str]) -> bool:
    value = match["body"]
    return len(value) >= 4 and value.lower() != match["user"].lower() and _is_real(match)


def _is_key(match: re.Match[str]) -> bool:
    return _has_all(match["body"]) and not is_filler(match["body"])


def _has_all(line: str) -> bool:
    return all(re.search(each, line) for each in ("[A-Z]", "[a-z]", "[0-9]"))


# -- the table ----------------------------------------------------------------------------------

_QUOTES = r"[\"'\\]{0,6}"
_HEADER = r"[A-Za-z0-9._~+/=:%!-]"
_URL = r"[^\s\"'<>`\\"
_STRING = r"[^\s\"'`\\]"
_TWO_STRINGS = (
    r"\([ \t]{0,4}[\"'][^\"'\n]{1,64}[\"'],[ \t]{0,4}"
    r"[\"'](?P<secret>(?P<body>[^\"'`\\\n]{4,128}+))[\"']"
)
_KEY_HEADER = r"(?:(?:Proc-Type|DEK-Info|Version|Comment|#)[^\n\\]{0,80})"
_HEAD_CHARS = 20_000  # how far before its END line a key may begin

RULES = (
    context_rule(
        "private-key",
        "-----begin",
        rf"(?P<secret>-----BEGIN (?:[A-Z0-9]{{1,16}} ){{0,3}}PRIVATE KEY(?: BLOCK)?-----"
        rf"(?:{BETWEEN}|{_KEY_HEADER}){{0,60}}+(?P<body>[A-Za-z0-9+/=]{{24,80}}+))",
        KEY_TAIL,
        _is_key,
        gate="private",
    ),
    context_rule(
        "private-key",
        "private-lines:",
        rf"Private-Lines:[ \t]{{0,4}}[0-9]{{1,4}}{BETWEEN}{{1,20}}+"
        r"(?P<secret>(?P<body>[A-Za-z0-9+/=]{24,80}+))",
        KEY_TAIL,
        _is_key,
        gate="private",
    ),
    context_rule(
        "url-password",
        "://",
        rf"://(?P<user>{_URL}/:@?#]{{0,100}}+):(?P<secret>(?P<body>{_URL}/?#]{{1,200}}))@(?=[A-Za-z0-9\[$.%-])",
        "",
        _is_url_password,
    ),
    context_rule(  # a raw "/" in it, where it cannot be a port and a path
        "url-password",
        "://",
        rf"(?<!http)(?<!https)://(?P<user>{_URL}/:@?#]{{0,100}}+):"
        rf"(?P<secret>(?P<body>(?![0-9]{{1,5}}[/?#])(?:(?!://){_URL}]){{1,200}}))@(?=[A-Za-z0-9\[$.%-])",
        "",
        _is_url_password,
    ),
    context_rule(  # a token in place of the user
        "url-password",
        "://",
        r"(?<=http|ttps)://(?P<secret>(?P<body>[A-Za-z0-9_~.-]{20,200}+))(?::x-oauth-basic|:)?@(?=[A-Za-z0-9])",
        "",
        _is_random,
    ),
    context_rule(
        "bearer-token",
        "bearer",
        rf"bearer(?:[ \t]|%20|\+){{1,4}}{_QUOTES}(?P<secret>(?P<body>{_HEADER}{{12,{VALUE_CHARS}}}+))",
        rf"{_HEADER}*+",
        _is_credential,
    ),
    context_rule(  # with its scheme, whatever that is, or without one
        "authorization",
        "auth",
        rf"(?<![A-Za-z])authorization{_QUOTES}\]?[ \t]{{0,4}}[:=,][ \t]{{0,4}}{_QUOTES}"
        r"(?:[A-Za-z][A-Za-z-]{1,24}[ \t]{1,4}(?=\S))?"
        rf"(?P<secret>(?P<body>{_HEADER}{{8,{VALUE_CHARS}}}+))(?![(\[]|[ \t]+[A-Za-z]+=)",
        rf"{_HEADER}*+",
        _is_credential,
        gate="auth",
    ),
    context_rule(
        "authorization",
        "auth",
        rf"(?<![A-Za-z])authorization{_QUOTES}[ \t]{{0,4}}[:=,][ \t]{{0,4}}{_QUOTES}[A-Za-z][\w-]{{1,24}}"
        r"[ \t][^\n]{0,400}?(?:response|signature|token|mac)=[\"'\\]{0,4}"
        r"(?P<secret>(?P<body>[A-Za-z0-9%+/=_-]{16,128}+))",
        r"[A-Za-z0-9%+/=_-]*+",
        _is_random,
        gate="auth",
    ),
    context_rule(
        "basic-login",
        "basic ",
        rf"basic[ \t]{{1,4}}(?P<secret>(?P<body>[A-Za-z0-9+/_-]{{6,{VALUE_CHARS}}}+={{0,2}}))",
        r"[A-Za-z0-9+/=_-]*+",
        _is_login,
        gate="basic ",
    ),
    context_rule(
        "basic-login",
        "auth",
        rf"auth{_QUOTES}[ \t]{{0,4}}[:=][ \t]{{0,4}}{_QUOTES}"
        rf"(?P<secret>(?P<body>[A-Za-z0-9+/_-]{{6,{VALUE_CHARS}}}+={{0,2}}))",
        r"[A-Za-z0-9+/=_-]*+",
        _is_login,
    ),
    context_rule(  # a call that takes a user and a password
        "password", "auth", rf"auth=?{_TWO_STRINGS}", "", is_password_here, gate="auth"
    ),
    context_rule("password", "credential", rf"credentials?{_TWO_STRINGS}", "", is_password_here, gate="cred"),
    context_rule(
        "password",
        "auth",
        r"(?<=master)auth[ ]{1,4}[\"']?(?P<secret>(?P<body>[^\s\"'\\]{4,200}+))",
        "",
        is_password_here,
    ),
    context_rule(  # a token under the name of a host, as package managers keep it
        "token",
        "auth",
        r"auth\"[ \t]{0,4}:[ \t]{0,4}\{\s{0,20}\"[\w.-]{1,80}\"[ \t]{0,4}:[ \t]{0,4}\""
        r"(?P<secret>(?P<body>[A-Za-z0-9_-]{16,200}+))\"",
        "",
        _is_random,
        gate="auth",
    ),
)
_NONE: dict[str, tuple[ContextRule, ...]] = {}


def gated(rules: Iterable[ContextRule]) -> dict[str, dict[str, tuple[ContextRule, ...]]]:
    """The rules by their gate, then by their anchor."""
    found: dict[str, dict[str, tuple[ContextRule, ...]]] = {}
    for rule in rules:
        for anchor in rule.anchors:
            anchors = found.setdefault(rule.gate, {})
            anchors[anchor] = (*anchors.get(anchor, ()), rule)
    return found


GATED = gated(RULES)
GATES = (*GATED, "cookie", "secret", *tables.GATES)

# Calls that take a token, or a login: as two strings, or as one that is then encoded.
_CALL = re.compile(
    r"\((?<=[adehimnprstwO]\()(?:(?P<source>(?<=@tcp\())|(?:(?<=Client\()|(?<=Wallet\()|(?<=ToAccount\())[\"'](?P<token>[A-Za-z0-9_-]{32,128})[\"']"
    r"|(?:(?:(?<=getConnection\()|(?<=bind_s\()|(?<=simple_bind\()|(?<=Oracle\.connect\()|(?<=\.login\()|(?<=ftp_login\()|(?<=auth_password\())"
    r"[^()\n]{1,200}?[\"'],[ ]{0,4}[\"']"
    r"|(?:(?<=jwt\.sign\()|(?<=jwt\.encode\())[^()\n]{1,100}?,[ ]?[\"']"
    r"|(?:(?<=WiFi\.begin\()|(?<=\.login\()|(?<=simple_bind\()|(?<=bind_s\())[^,\n\"']{1,60},[ ]?[\"']"
    r"|(?:(?<=hashpw\()|(?<=bcrypt\.hash\()|(?<=password_hash\()|(?<=make_password\()|(?<=Hash::make\())"
    r"[ ]?b?[\"']"
    r"|(?:(?<=mysqli\()|(?<=_connect\()|(?<=>connect\()|(?<=mysql\.connect\()|(?<=SQLdb\.connect\()"
    r"|(?<=[ ]PDO\()|(?<=create_superuser\()|(?<=create_user\())"
    r"[ ]?(?:[\"'][^\"'\n]{0,120}[\"'],[ ]?|\$?[\w.]{1,40},[ ]?){2}[\"']"
    r"|(?:(?<=from\()|(?<=btoa\()|(?<=b64encode\())b?[\"'][\w.@-]{1,40}:)"
    r"(?P<secret>[^\"'`\\\n]{4,128})[\"'])"
)
# Go's name for a data source, up to where its host is named.
_SOURCE = re.compile(r"(?<![\w./-])[\w.-]{1,40}:(?P<secret>(?P<body>[^\s\"'`\\:@/]{4,100}))@tcp$")
# What a password is kept as: crypt(3), and those who write the same.
_HASH = re.compile(
    r"\$(?:2[abxy]\$[0-9]{2}\$[./A-Za-z0-9]{53}|apr1\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22}"
    r"|[156y]\$(?:rounds=[0-9]{1,9}\$)?[./A-Za-z0-9]{1,24}\$[./A-Za-z0-9]{22,88}"
    r"|argon2i?d?\$v=[0-9]{1,3}\$[a-z0-9=,]{1,40}\$[A-Za-z0-9+/]{8,64}\$[A-Za-z0-9+/]{16,128}"
    r"|production\$[a-z0-9]{16}\$[0-9a-f]{32})(?![./A-Za-z0-9])"
)


# -- keys without their BEGIN line --------------------------------------------------------------

_KEY_END = re.compile(r"-{4,5} ?END (?:[A-Z0-9]{1,16} ){0,3}$", re.IGNORECASE)
_KEY_LINES = re.compile(
    rf"(?<!\\)[A-Za-z0-9+/=]{{24,}}+(?:{BETWEEN}{{1,40}}+[A-Za-z0-9+/=]{{24,}}+)*+"
    rf"(?:{BETWEEN}{{1,40}}+[A-Za-z0-9+/=]{{1,80}}+)?{BETWEEN}{{0,40}}+\Z"
)


def _cut_key_spans(text: str, lowered: str) -> Iterator[Span]:
    """Lines of base64 before an END line."""
    begin, at = 0, lowered.find("private key")
    while at >= 0:
        end = _KEY_END.search(text, max(0, at - 60), at)
        if end:
            found = _KEY_LINES.search(text, max(begin, end.start() - _HEAD_CHARS), end.start())
            if found and _has_all(found[0][:200]):
                yield found.start(), end.start(), "private-key"
            begin = at
        at = lowered.find("private key", at + 1)


# -- secrets of a cluster -------------------------------------------------------------------------

_CLUSTER = re.compile(r"kind[\"'\\]{0,4}:[ ]{0,4}[\"'\\]{0,4}secret\b(?!s)")
_DATA = re.compile(r"(?:^|[\s{,\"'\\])(?:stringdata|data)[\"'\\]{0,4}:[ ]{0,4}(?:\{|(?=\n|\\n))")
_DATUM = re.compile(
    r"(?:\s|\\n|,){0,40}[\"'\\]{0,4}(?P<name>[\w.-]{1,100})[\"'\\]{0,4}:[ ]{1,4}"
    r"(?:[|>][+-]?\n\s{1,12})?(?:\"(?P<quoted>))?[\"'\\]{0,4}(?P<value>(?(quoted)[^\"\\\n]{0,8000}|[^\s\"'\\,{}]{0,8000}))[\"'\\]{0,4}"
)
_CLUSTER_CHARS = 4000
_NOT_DATA = frozenset({"kind", "metadata", "type", "apiversion", "name", "immutable", "stringdata"})


def _cluster_spans(text: str, lowered: str) -> Iterator[Span]:
    """The values of a Kubernetes secret, whatever their names; its kind may stand before or after."""
    if not (kind := _CLUSTER.search(lowered)):
        return
    start = max(0, kind.start() - _CLUSTER_CHARS)
    for data in _DATA.finditer(lowered, start, kind.end() + _CLUSTER_CHARS):
        at = data.end()
        while (datum := _DATUM.match(text, at)) and datum["name"].lower() not in _NOT_DATA:
            if len(datum["value"]) >= 4 and not is_filler(datum["value"]):
                yield (*datum.span("value"), "secret")
            at = datum.end()


# -- cookies ------------------------------------------------------------------------------------

_COOKIE = re.compile(rf"cookie{_QUOTES}[ \t]{{0,4}}[:=,][ \t]{{0,4}}\[?{_QUOTES}", re.IGNORECASE)
_PAIR = re.compile(r"[ \t]{0,4}([^=;,\s\"'\\]{1,100}+)=([^;,\s\"'\\]{0,8000}+);?")
_LOGIN = re.compile(r"sess|auth|token|sid|jwt|login|remember", re.IGNORECASE)
# A browser's, as curl keeps it in a file.
_COOKIE_ROW = re.compile(r"\t(?:TRUE|FALSE)\t[0-9]{1,12}\t[^\t\n]{1,100}\t(?P<secret>[^\s]{12,4000})")


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
