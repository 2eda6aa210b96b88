"""Secrets that are known by their name: `DB_PASSWORD=...`, `"apiKey": "..."`, `--token ...`, `<secret>...`.

The name says how far its value is believed: a password may be anything but a word, a token must look random.
A value that is turned down hides nothing: the other rules read the same text for themselves. A quoted
value ends where its string ends, at any depth of JSON inside JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from recollect.redact.plausible import VALUE_CHARS, is_filler, is_password, is_random
from recollect.redact.tokens import Span

ANCHORS = ("passw", "passphrase", "pwd", "secret", "token", "key", "credential")


def assigned_spans(text: str, lowered: str) -> Iterator[Span]:
    """Every value that is given to a secret's name; `lowered` is the text in small letters."""
    for anchor in ANCHORS:
        at = lowered.find(anchor)
        while at >= 0:
            span = _value_span(text, at)
            if span:
                yield span
            at = lowered.find(anchor, span[1] if span else at + len(anchor))


def field_kind(name: str, value: str) -> str:
    """The kind of secret that a field of that name holds, "" for none."""
    stem, word = _split(name[-STEM_CHARS:])
    return _kind(stem, word) if word and _is_believed(stem, word, value[:VALUE_CHARS], "quoted") else ""


# -- names ----------------------------------------------------------------------------------

STEM_CHARS = 40  # how much of a name is read before the word that matters

_WORD = re.compile(
    r"(?:passw(?:or)?d|passphrase|pwd|secret|token|key|credentials?)"
    r"(?:[_-]?(?:key|base|value|val|base64|b64|data|string|str|raw|plain|text|prod(?:uction)?|stag(?:e|ing)|dev|live"
    r"|test|main|old|new|[0-9]{1,3})){0,2}(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
_KEYS = re.compile(
    r"(?:api|app(?:lication)?|access|secret|private|auth|account|encrypt(?:ion)?|sign(?:ing|ature)?|master|service"
    r"|admin|client|deploy|consumer|shared|webhook|subscription|license|hmac|jwt|ssh|aes)[_.\- ]?$",
    re.IGNORECASE,
)
_NOT_TOKENS = re.compile(
    r"(?:page|next|prev(?:ious)?|continu(?:e|ation)|cancel(?:lation)?|sync|resume|cursor|stop|special|pad|eos|bos|unk"
    r"|mask|max|min|num|image|public[_-]?key)[_.\- ]?$",
    re.IGNORECASE,
)


@lru_cache(4096)
def _split(name: str) -> tuple[str, str]:
    """A name as what comes before the word that matters, and that word; "" if there is none."""
    for word in _WORD.finditer(name):
        if word.end() == len(name):
            return name[: word.start()], word[0]
    return name, ""


def _kind(stem: str, word: str) -> str:
    kind = next(kind for start, kind in _KINDS if word.lower().startswith(start))
    return "aws-secret" if kind in ("secret", "key") and "aws" in stem.lower() else kind


_KINDS = (
    ("pass", "password"),
    ("pwd", "password"),
    ("secret", "secret"),
    ("token", "token"),
    ("key", "key"),
    ("cred", "credential"),
)


def _is_believed(stem: str, word: str, value: str, form: str) -> bool:
    """Whether this is a secret's name, and its value can be one: quoted, in code, in a shell, or in prose."""
    start = word[:3].lower()
    if (start == "key" and not _KEYS.search(stem)) or (start == "tok" and _NOT_TOKENS.search(stem)):
        return False
    if start in ("pas", "pwd"):
        if form == "shell" and len(value) >= 8 and value.isalpha():  # DB_PASSWORD=swordfish
            return not is_filler(value)
        return is_password(value) and not (form == "code" and _IDENTIFIER.fullmatch(value))
    return is_random(value) or (start == "sec" and form != "code" and _is_made_up(value))


def _form(given: str, word: str, quoted: bool) -> str:
    if quoted or "=" not in given:
        return "quoted" if quoted else "prose"
    return "shell" if word.isupper() else "code"


def _is_made_up(value: str) -> bool:
    return len(value) >= 8 and any(map(str.isdigit, value)) and is_password(value)


_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(?:(?:\.|->|::)[A-Za-z_][A-Za-z_0-9]*)*")


# -- values ---------------------------------------------------------------------------------

_GIVEN = re.compile(
    r"""(?P<quoted>\\{0,15}["'`]|&quot;|%22)? [\])]? \*{0,2}
    (?: [ \t]{0,20} (?: :[ \t]{0,2}[A-Za-z_][\w\[\]|.?]{0,30}+[ \t]{0,2}=(?!=)
                      | ={1,3}>? | :=? | %3[AaDd] | \\u003[ad] ) \*{0,2} [ \t]{0,20}
      | ,?(?:\s|\\{1,8}n){0,40}+\\{0,15}["']?value\\{0,15}["']?[ \t]{0,4}:[ \t]{0,4}
      | >(?=[^\s<@]) | (?P<comma>,[ \t]{0,4}) | (?P<call>\([ \t]{0,4})
      | [ \t]{1,3}(?:is|was)[ \t]?:?[ \t]{1,3} | (?P<blank>[ \t]{1,4}) )""",
    re.IGNORECASE | re.VERBOSE,
)
_OPEN = re.compile(r"[bBrRuU]{0,2}(?:(?P<slashes>\\{0,15})(?P<quote>[\"'`])|(?P<entity>&quot;|%22))")
_BARE = re.compile(
    r"(?![a-z]{1,12}(?:\.|->|::)[A-Za-z_])"  # config.secret
    rf"[^\s\"'`<>\\,;&(){{}}\[\]|]{{1,{VALUE_CHARS}}}+(?![(\[{{])"
)
_BARE_TAIL = re.compile(r"(?:[^\s\"'`<>\\,;&(){}\[\]|]|[,;&|(){}\[\]](?![\s,;)}\]]|$|[\w.-]{1,40}[=:]))*+")
_QUOTED_CHARS = 4096
_INNER_QUOTES = 16


def _value_span(text: str, at: int) -> Span | None:
    word = _WORD.match(text, at)
    given = _GIVEN.match(text, word.end()) if word else None
    if word is None or given is None:
        return None
    before = text[max(0, at - STEM_CHARS) : at]
    stem = before[len(before.rstrip(_NAME_CHARS)) :]
    opening = _OPEN.match(text, given.end())
    if before.endswith(":" + stem) or _is_idle(given, stem, opening is not None):  # no part of an ARN
        return None
    span = _quoted_span(text, opening) if opening else _bare_span(text, given.end())
    form = _form(given[0], word[0], opening is not None)
    if span is None or not _is_believed(stem, word[0], text[span[0] : span[1]][:VALUE_CHARS], form):
        return None
    end = span[1] if opening else _BARE_TAIL.match(text, span[1]).end()  # type: ignore[union-attr]
    return span[0], end, _kind(stem, word[0])


_NAME_CHARS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"


def _is_idle(given: re.Match[str], stem: str, quoted: bool) -> bool:
    """Whether what stands between gives nothing: a comma or a bracket before code, a blank in a sentence."""
    if given["comma"]:
        return not quoted or given["quoted"] in (None, "`")
    return bool((given["call"] and not quoted) or (given["blank"] and not stem.startswith("-")))


def _bare_span(text: str, at: int) -> tuple[int, int] | None:
    match = _BARE.match(text, at)
    return match.span() if match else None


def _quoted_span(text: str, opening: re.Match[str]) -> tuple[int, int] | None:
    at, quote = opening.end(), opening["quote"] or opening["entity"]
    limit = at + _QUOTED_CHARS
    slashes = len(opening["slashes"] or "")
    end = text.find(quote, at, limit)
    for _ in range(_INNER_QUOTES):
        if end < 0:
            break
        run = end - at - len(text[at:end].rstrip("\\"))
        # At depth d a string's quotes have 2**d - 1 backslashes, those of a string inside it twice that + 1.
        if run < slashes or (run - slashes) % (2 * slashes + 2) == 0:
            return at, end - min(run, slashes)
        end = text.find(quote, end + 1, limit)
    return _bare_span(text, at)
