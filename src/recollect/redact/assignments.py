"""Secrets that are known by their name: `DB_PASSWORD=...`, `"apiKey": "..."`, `--token ...`, `<secret>...`.

The name says how far its value is believed: a token must look random; a password may be made of words only
where configuration gives it, and no program (`_form`). A value that is turned down hides nothing: the other
rules read the same text for themselves. A quoted value ends where its string ends, however deep in JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from recollect.redact.plausible import VALUE_CHARS, is_password, is_random, is_worded
from recollect.redact.tokens import Span

ANCHORS = ("pass", "pw", "secret", "token", "key", "credential")


def assigned_spans(text: str, lowered: str, present: tuple[str, ...]) -> Iterator[Span]:
    """Every value that is given to a secret's name; `lowered` is the text in small letters.

    `present` says which of the anchors are in it.
    """
    for match in _SHORT.finditer(lowered) if "_" in lowered else ():
        if span := _value_span(text, match.start()):
            yield span
    for anchor in present:
        if anchor not in ANCHORS:
            continue
        at = lowered.find(anchor)
        while at >= 0:
            span = _value_span(text, at)
            if span:
                yield span
            at = lowered.find(anchor, span[1] if span else at + len(anchor))


def field_kind(name: str, value: str) -> str:
    """The kind of secret that a field of that name holds, "" for none."""
    stem, word = _split(name[-STEM_CHARS:])
    return _kind(stem, word) if word and _is_believed(stem, word, value[:VALUE_CHARS], "key") else ""


# -- names ----------------------------------------------------------------------------------

STEM_CHARS = 40  # how much of a name is read before the word that matters

_WORD = re.compile(
    r"(?:pass(?:w(?:or)?[dt]|phrase|code)?|pwd?|secret|token|key|credentials?|_pat|_auth|_salt|_psk)"
    r"(?:[_-]?(?:key|base|value|val|base64|b64|data|string|str|raw|plain|text|prod(?:uction)?|stag(?:e|ing)|dev|live"
    r"|test|main|old|new|private|[0-9]{1,3})){0,2}(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
# Words that are told from a part of another one by what stands before them.
_SHORT = re.compile(r"_(?:pat|auth|salt|psk)(?![a-z0-9])")
_KEYS = re.compile(
    r"(?:api|app(?:lication)?|access|secret|private|auth|account|encrypt(?:ion)?|sign(?:ing|ature)?|master|service"
    r"|admin|client|deploy|consumer|shared|webhook|subscription|license|insert|ingest"
    r"|instrumentation|validation|decryption|hmac|jwt|ssh|aes)[_.\- ]?$",
    re.IGNORECASE,
)
_NOT_KEYS = re.compile(
    r"(?:public|pub|primary|foreign|partition|sort|cache|group|index|unique|idempotency|hash|row|column|object|bucket"
    r"|map|storage|config|host|known|registry|h|hot|press|site|anon|publishable|query|route|lookup|dedup|message)[_-]$",
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
    ("p", "password"),
    ("_pat", "token"),
    ("_p", "password"),
    ("secret", "secret"),
    ("_salt", "secret"),
    ("token", "token"),
    ("_", "token"),
    ("key", "key"),
    ("cred", "credential"),
)


def _is_believed(stem: str, word: str, value: str, form: str) -> bool:
    """Whether this is a secret's name, and its value can be one in the form that gives it."""
    low = word.lower()
    if value.lower() in (stem + low).lower():
        return False
    if low.startswith("key") and not _is_key_name(stem, value, form):
        return False
    if low.startswith(("token", "_auth")) and _NOT_TOKENS.search(stem):
        return False
    if low.startswith(("p", "_ps")):
        return _is_password_name(stem, word, form) and _is_password_given(stem, low, value, form)
    if low.startswith("secret"):
        worded = form == "env" and is_worded(value) and not value.isalnum()
        return worded or is_random(value) or (form != "code" and _is_made_up(value, form))
    return is_random(value)


def _is_key_name(stem: str, value: str, form: str) -> bool:
    if _KEYS.search(stem):
        return True
    if "." in value:  # the name of a setting
        return False
    telling = (
        form in ("env", "option") or stem[:2] in ("X-", "x-", "--") or (stem[-1:] == "_" and stem.isupper())
    )
    return telling and not _NOT_KEYS.search(stem)


def _is_password_name(stem: str, word: str, form: str) -> bool:
    """Whether `pass` or `pw` is the last word of a name (`smtpPass`) or all of it: no `bypass`."""
    if not _VERDICT.match(word):
        return True
    if stem.lower() == "require":
        return True
    if form == "quoted":  # a call, or a list
        return False
    if stem.strip("-"):
        return stem[-1] in "_-." or (stem[-1].islower() and word[0] == "P")
    return form in ("config", *(("option", "string") if stem else ("key",))) or word.lower() == "pw"


_VERDICT = re.compile(r"pass(?!w|phrase|code)|pw(?!d)", re.IGNORECASE)


def _is_password_given(stem: str, word: str, value: str, form: str) -> bool:
    alone = not stem.strip("-") and word in ("pass", "pwd")
    if is_worded(value) and (not alone or form in ("config", "key")):
        if form in ("env", "option", "config"):
            return True
        if form in ("key", "string") and (
            any(map(str.isdigit, value)) or (len(value) >= 10 and value.islower())
        ):
            return True
        if form == "code" and _NUMBERED.fullmatch(value):
            return True
    return is_password(value) and (form != "code" or is_random(value) or not _IDENTIFIER.fullmatch(value))


_NUMBERED = re.compile(r"[A-Za-z]{4,}[0-9]{2,6}[A-Za-z]?")  # as hardly any name in a program is


def _is_made_up(value: str, form: str) -> bool:
    signs = _DIGIT if form in ("prose", "quoted") else _SIGN
    return len(value) >= 8 and signs.search(value) is not None and is_password(value)


_DIGIT = re.compile(r"[0-9]")
_SIGN = re.compile(r"[0-9!#%^+~?$&=|]")


_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(?:(?:\.|->|::)[A-Za-z_][A-Za-z_0-9]*)*")


# -- how a value is given ---------------------------------------------------------------------

LINE_CHARS = 200  # how much of its line is looked at before a name

_GIVEN = re.compile(
    r"""(?P<quoted>\\{0,15}["'`]|&quot;|%22)? [\])}]? \*{0,2}
    (?: [ \t]{0,20} (?: :[ \t]{0,2}&?(?:'\w{1,20}[ ])?[A-Za-z_][\w\[\]|.?]{0,30}+[ \t]{0,2}=(?!=)
                      | ={1,3}>? | :[-=]? | -> | %3[AaDd] | \\u003[ad]
                      | (?P<else>\|\||\?\?|or[ ]) ) \*{0,2} [ \t]{0,20}
        (?: [&!][\w!]{1,20}[ \t]{1,4} | \\\r?\n[ \t]{0,20}
          | (?P<block>[|>][+-]?[0-9]?[ \t]{0,4}(?:\r?\n|\\n)[ \t]{1,20})
          | \s{1,20}string\([0-9]{1,4}\)[ ] | \(?\s{1,40}+(?=[frbu]?["']) )?
      | \.(?:send_?keys|fill|type|set_?value)\([ \t]{0,4}
      | (?:[ ][\w-]{1,20}="[^"\n]{0,60}"){1,4}[ ]value=
      | ,?(?:\s|\\{1,8}n){0,40}+\\{0,15}["']?value\\{0,15}["']?[ \t]{0,4}[:=][ \t]{0,4}
      | [ ]\{\s{1,20}(?:(?:type|description|sensitive)[^\n]{0,80}\n\s{0,20}){0,3}default[ ]{1,20}=[ ]
      | </key>\s{0,40}<string> | [ ]FOR[ ]\S{1,60}[ ]=[ ]
      | >(?:<!\[CDATA\[)?(?=[^\s<@]) | (?P<comma>,[ \t]{0,4}) | (?P<call>\([ \t]{0,4})
      | [ \t]{1,3}(?:is|was)[ \t]?:?[ \t]{1,3}
      | (?P<blank>[ \t]{1,4}(?P<value>(?<=token[ ])(?=[A-Za-z0-9_!.-]{24}))?) )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_OPEN = re.compile(
    r"[bBrRuUf]{0,2}(?:(?P<slashes>\\{0,15})(?P<quote>\"\"\"|'''|[\"'`])|(?P<entity>&quot;|%22))"
)
# What puts a name and its value side by side, with nothing but a blank between.
_VERB = re.compile(
    r"(?:\b(?:set(?:env|x)?|ENV|ARG|export|config(?:ure)?[ ]set|git[ ]config)"
    r"(?:[ ]-{1,2}\w{1,12}){0,2}[ ]{1,4}"
    r"|\#define[ ]{1,8}|(?:WITH|USING|ENCRYPTED|(?:connect|user|role|login)[ ][^\s,;]{1,64}|-u[ ]?root)[ ]"
    r"|\blogin\s{1,4}\S{1,64}\s{1,8})"
    r"[\"']?(?:[\w./@-]{0,80}[:/])?$",
    re.IGNORECASE,
)
_LINE_START = re.compile(r"(?:\s{0,40}[0-9]{1,6}[\t→:|])?[\s>+#;*-]{0,40}(?:export |set |//)?[\[\"'`]?")
_PAIR_BEFORE = re.compile(r"[\w.\-\] ]{1,40}=[^=\s,(){}]{0,80}[ ;&]{1,2}$|[?&;]$")
_LINE_END = re.compile(r"[\"'`]?(?:[ \t]{0,20}(?:\r?\n|\Z|\\n)|[ \t]{1,20}#)")
_PAIR_END = re.compile(r"[;&\"'`]|[ \t]|\r?\n|\\n|\Z")


def _form(text: str, start: int, span: tuple[int, int], given: str, name: str) -> str:
    """How a bare value is given: as an option, in an environment, by configuration, by code, in prose."""
    end = span[1]
    if name.startswith("-"):
        return "option" if given.strip() else "string"
    if given.startswith(">"):  # an element of XML
        return "string"
    if "=" not in given and ":" not in given:
        return "prose"
    line = text[max(0, start - LINE_CHARS, text.rfind("\n", 0, start) + 1) : start]
    if "=" in given and _PAIR_BEFORE.search(line) and _PAIR_END.match(text, end):
        return "config"
    if given in ("=", ": ", ":", "=\\\n") and name.isupper():
        return "env"
    if _LINE_START.fullmatch(line) and _LINE_END.match(text, end):
        plain = end - span[0] >= 10 and text[span[0] : end].islower()
        if "=" in given or plain or _is_beside(text, start, end):
            return "config"
    return "code" if "=" in given else "prose"


_BESIDE = re.compile(
    r"\n[ \t]{0,20}[- ]{0,2}(?:user(?:name)?|login|host|port|database|email): ?[\w.@-]{1,60}[ \t]{0,20}"
    r"(?=\n|\Z)"
)


def _is_beside(text: str, start: int, end: int) -> bool:
    """Whether the lines around are a login's: then a bare word after a colon is no type, and no label."""
    return bool(_BESIDE.search(text, max(0, start - 160), min(len(text), end + 120)))


# -- values ---------------------------------------------------------------------------------

_BARE = re.compile(
    r"(?![a-z]{1,12}(?:\.|->|::)[A-Za-z_])"  # config.secret
    rf"[^\s\"'`<>\\,;&(){{}}\[\]|]{{1,{VALUE_CHARS}}}+(?![(\[{{])"
)
_BARE_TAIL = re.compile(r"(?:[^\s\"'`<>\\,;&(){}\[\]|]|[,;&|(){}\[\]](?![\s,;)}\]]|$|[\w.-]{1,40}[=:]))*+")
_BLOCK_TAIL = re.compile(
    r"(?:(?:\r?\n|\\n)(?:[ \t]*[A-Za-z0-9+/=_-]{16,}+|[ \t]{1,20}[A-Za-z0-9+/]{1,80}={0,2}(?=\s|\Z)))*+"
)
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
    if stem.startswith("-") and ":" in given[0]:  # a style sheet's variable
        return None
    if not stem and word[0].lower() == "key":
        stem = _stem_apart(before)
    if before.endswith("::" + stem) or (
        given[0] == ":" and before.endswith(":" + stem)
    ):  # AWS::ApiKey, an ARN
        return None
    start = word.start() - (len(stem) if before.endswith(stem) else 0)
    if _is_idle(text, start, given, stem, opening is not None):
        return None
    span = _quoted_span(text, opening) if opening else _bare_span(text, given.end())
    if span is None:
        return None
    if opening:
        sign = given[0].strip("\"'`\\ ")[:1]
        form = "key" if given["quoted"] and sign == ":" else "string" if sign in ("=", ":") else "quoted"
    else:
        form = _form(text, start, span, given[0], stem + word[0])
    if not _is_believed(stem, word[0], text[span[0] : span[1]][:VALUE_CHARS], form):
        return None
    end = span[1] if opening else _BARE_TAIL.match(text, span[1]).end()  # type: ignore[union-attr]
    if given["block"]:
        end = _BLOCK_TAIL.match(text, end).end()  # type: ignore[union-attr]
    return span[0], end, _kind(stem, word[0])


def _stem_apart(before: str) -> str:
    """What a key is for where that is not part of its name: `my api key`, `{"username": ..., "key": ...}`."""
    return "api" if _APART.search(before) else ""


_APART = re.compile(
    r"(?:api|access|secret|private|license|auth|service|encryption)[ ]$"
    r"|user(?:name)?[\"'\\]{1,4}[ ]?:[ ]?[\"'\\]{1,4}[\w.@-]{1,30}[\"'\\]{1,4},\s{0,8}[\"'\\]{1,4}$",
    re.IGNORECASE,
)
_NAME_CHARS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"


def _is_idle(text: str, start: int, given: re.Match[str], stem: str, quoted: bool) -> bool:
    """Whether what stands between gives nothing: a comma or a bracket before code, a blank in a sentence."""
    if given["comma"]:
        return not quoted or given["quoted"] in (None, "`")
    if given["blank"]:
        keyword = quoted and text[start - 1 : start] == ":"  # :password "..."
        known = stem.startswith("-") or keyword or stem.lower() == "require"
        return not (
            known or given["value"] is not None or _VERB.search(text, max(0, start - LINE_CHARS), start)
        )
    return bool((given["call"] or given["else"]) and not quoted)


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
