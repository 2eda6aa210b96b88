"""Secrets that are known by their name: `DB_PASSWORD=...`, `"apiKey": "..."`, `--token ...`, `<secret>...`.

What stands between a name and its value, and around both, says how certain it is that a value is given
(`_form`); `names` says what is believed then. A value that is turned down hides nothing: the other rules read the
same text for themselves. A quoted value ends where its string ends, however deep in JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.redact.listing import LINE_START, is_beside, is_listed
from recollect.redact.names import SHORT, STEM_CHARS, WORD, is_believed, kind_of, split
from recollect.redact.nonvalues import is_reference
from recollect.redact.plausible import VALUE_CHARS
from recollect.redact.tokens import Span

ANCHORS = ("pass", "pw", "secret", "token", "key", "credential")


def assigned_spans(text: str, lowered: str, present: tuple[str, ...]) -> Iterator[Span]:
    """Every value that is given to a secret's name; `lowered` is the text in small letters.

    `present` says which of the anchors are in it.
    """
    for match in SHORT.finditer(lowered) if "_" in lowered else ():
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
    stem, word = split(name[-STEM_CHARS:])
    return kind_of(stem, word) if word and is_believed(stem, word, value[:VALUE_CHARS], "key") else ""


# -- what stands between a name and its value -----------------------------------------------------------

LINE_CHARS = 200  # how much of its line is looked at before a name

_GIVEN = re.compile(
    r"""(?P<quoted>\\{0,15}["'`]|&quot;|%22)? [\])}]? \*{0,2}
    (?P<aside>[ ]\[\w{1,12}\](?=:)|[ ]\([^()\n]{1,24}\)(?=:)|[ ](?:for|für|pour|para|of)[ ][^\n:="']{1,60}(?=:[ ]|[ ](?:is|lautet|ist)[ ])
      |[ ]for[ ]['"][^'"\n]{1,80}['"](?=:))?
    (?: [ \t]{0,20} (?: :[ \t]{0,2}&?(?:'\w{1,20}[ ])?[A-Za-z_][\w\[\]|.?]{0,30}+[ \t]{0,2}=(?!=)
                      | ={1,3}>? | :(?![?+])[-=]? | -> | %3[AaDd] | \\u003[ad]
                      | (?P<else>\|\||\?\?|or[ ]) ) \*{0,2} [ \t]{0,20}
        (?: [&!][\w!]{1,20}[ \t]{1,4} | \\\r?\n[ \t]{0,20}
          | (?P<block>[|>][+-]?[0-9]?[ \t]{0,4}(?:\r?\n|\\n)[ \t]{1,20})
          | \s{1,20}string\([0-9]{1,4}\)[ ] | (?:PASSWORD)?\(?\s{0,40}+(?=[frbuN@]?["']) )?
      | \.(?:send_?keys|fill|type|set_?value)\([ \t]{0,4}
      | (?:[ ][\w-]{1,20}="[^"\n]{0,60}"){1,4}[ ]value=
      | (?P<beside>,?(?:\s|\\{1,8}n){0,40}+\\{0,15}["']?value\\{0,15}["']?[ \t]{0,4}[:=][ \t]{0,4})
      | [ ]\{\s{1,20}(?:(?:type|description|sensitive)[^\n]{0,80}\n\s{0,20}){0,3}default[ ]{1,20}=[ ]
      | </key>\s{0,40}<string> | (?P<set>[ ]FOR[ ]\S{1,60}[ ]=[ ](?:PASSWORD\()?)
      | >(?:<!\[CDATA\[)?(?=[^\s<@]) | (?P<comma>,[ \t]{0,4}) | (?P<call>\([ \t]{0,4})
      | (?P<told>[ \t]{1,3}(?:is|was|lautet|ist|est|es|to)[ \t]?:?[ \t]{1,3}(?:now[ ]|set[ ]to[ ]|still[ ])?)
      | (?P<blank>[ \t]{1,4}(?P<value>(?<=token[ ])(?=[A-Za-z0-9_!.-]{24}))?) )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_OPEN = re.compile(
    r"[bBrRuUfN@]{0,2}(?:(?P<slashes>\\{0,15})(?P<quote>\"\"\"|'''|[\"'`])|(?P<entity>&quot;|%22))"
)
# What puts a name and its value side by side, with nothing but a blank between.
_VERB = re.compile(
    r"(?P<set>\b(?:set(?:env|x)?|ENV|ARG|config(?:ure)?[ ]set|git[ ]config)"
    r"(?:[ ]-{1,2}\w{1,12}){0,2}[ ]{1,4}"
    r"|\#define[ ]{1,8}|\b(?:WITH|ENCRYPTED|LOGIN|SUPERUSER|CREATEDB|wifi[ ][^\n]{1,80})[ ]|(?<![\w:.][ ])(?-i:enable)[ ]"
    r"|\b(?:role|user|username)[ ](?!and|or|with|has)[^\s,;]{1,64}[ ]|\blogin\s{1,4}\S{1,64}\s{1,8})"
    r"(?:[\"']?(?:[\w./@-]{0,80}[:/])?)$"
    r"|(?:(?:USING|(?:connect|login)[ ][^\s,;]{1,64}|-u[ ]?root)[ ]|\bexport[ ])"
    r"[\"']?(?:[\w./@-]{0,80}[:/])?$",
    re.IGNORECASE,
)
_PAIR_BEFORE = re.compile(r"[\w.\-\] ]{1,40}=[^=\s,(){}]{0,80}[ ;&]{1,2}$|[?&;]$")
# Pairs in braces, a string that is one pair, an option that takes one.
_PAIR_OPEN = re.compile(
    r"(?:[{\[][^{}()\[\]\n]{0,120}[\w.-]=[^=,(){}\n]{0,60},[ ]?|[{][ ]?"
    r"|(?:^|[\s\[,(=])[\"'](?:[\w.-]{1,40}[.])?|(?:^|\s)-{1,2}[\w-]{1,30}[ =])$"
)
_ECHO = re.compile(r"(?:echo|printf)[ ](?:-\w[ ])?[\"']$")
_FLOW = re.compile(r"\s{0,40}(?:- )?[\w.-]{1,40}: \{(?:[\w.-]{1,40}: [^,{}()\"'\n]{1,60}, ){1,10}$")
_LINE_END = re.compile(r"[\"'`]?(?:[ \t]{0,20}(?:[│┃║|][ ]{0,4})?(?:\r?\n|\Z|\\n)|[ \t]{1,20}(?:#|-->|\*/))")
_PAIR_END = re.compile(r"[;&\"'`]|[ \t]|\r?\n|\\n|\Z")
_BRACE_END = re.compile(r"[,}\]]")
_HEADER = re.compile(r"(?:^|[\s\"'`])(?:-H[ ]{0,2}[\"']?|--header[ =][\"']?)$")


def _form(text: str, start: int, span: tuple[int, int], given: re.Match[str], name: str) -> str:
    """How a bare value is given; `names` says what each form is worth."""
    end, sign = span[1], given[0]
    if name.startswith("-"):
        return "option" if sign.strip() else "string"
    if sign.startswith(">"):  # an element of XML
        return "string"
    if given["blank"]:
        verb = _VERB.search(text, max(0, start - LINE_CHARS), start)
        return "set" if verb and verb["set"] and _LINE_END.match(text, end) else "prose"
    if given["beside"]:
        return "env" if name.isupper() else "prose"
    if sign == "->":
        return "code"
    if "=" not in sign and ":" not in sign:
        return "prose"
    line = text[max(0, start - LINE_CHARS, text.rfind("\n", 0, start) + 1) : start]
    if form := _pair_form(text, line, end, sign):
        return form
    if sign in ("=", ": ", ":", "=\\\n") and name.isupper():
        return "env"
    if ":" in sign and _HEADER.search(line) and "-" in name:
        return "header"
    if given["aside"] and ":" in sign and _LINE_END.match(text, end):  # a prompt
        return "listed"
    if LINE_START.fullmatch(line) and _LINE_END.match(text, end):
        if is_listed(text, start, end, sign):
            return "listed"
        plain = end - span[0] >= 10 and text[span[0] : end].islower()
        if "=" in sign or plain or is_beside(text, start, end):
            return "config"
    return "code" if "=" in sign else "prose"


def _pair_form(text: str, line: str, end: int, sign: str) -> str:
    """The form of a value that is one of several pairs, or all of a string."""
    if "=" in sign and _PAIR_BEFORE.search(line) and _PAIR_END.match(text, end):
        return "pair"
    if sign == "=" and (opened := _PAIR_OPEN.search(line)):
        first = opened[0].lstrip(" \t,([=")[:1]
        after = text[end : end + 1]
        if first in "\"'" and after == first:
            return "pair"
        if first in "{[" and _BRACE_END.match(text, end):
            return "pair"
        if first == "-" and _PAIR_END.match(text, end):
            return "pair"
    if sign == ": " and _ECHO.search(line) and text[end : end + 1] == line[-1]:
        return "pair"
    if sign == ": " and _FLOW.match(line) and _BRACE_END.match(text, end):
        return "pair"
    return "listed" if ":" in sign and _LOGIN_BEFORE.search(line) else ""


_LOGIN_BEFORE = re.compile(
    r"\b(?:user(?:name)?|login|account|e-?mail)\*{0,2}[:=] ?`?[\w.@-]{1,40}`?[ ,;/|-]{1,4}(?:and )?\*{0,2}$",
    re.IGNORECASE,
)


# -- values ---------------------------------------------------------------------------------

_BARE = re.compile(
    r"(?![a-z]{1,12}(?:\.|->|::)[A-Za-z_])"  # config.secret
    rf"(?:[^\s\"'`<>\\,;&(){{}}\[\]|]|\\[=:#!]){{1,{VALUE_CHARS}}}+(?![(\[{{])"
)
_DOTTED = re.compile(rf"[a-z][\w.-]{{1,{VALUE_CHARS}}}+(?![(\[{{])")
_BARE_TAIL = re.compile(r"(?:[^\s\"'`<>\\,;&(){}\[\]|]|[,;&|(){}\[\]](?![\s,;)}\]]|$|[\w.-]{1,40}[=:]))*+")
_BLOCK_TAIL = re.compile(
    r"(?:(?:\r?\n|\\n)(?:[ \t]*[A-Za-z0-9+/=_-]{16,}+|[ \t]{1,20}[A-Za-z0-9+/]{1,80}={0,2}(?=\s|\Z)))*+"
)
# A word of a shell goes on behind its closing quote: 'it'"'"'s'.
_SHELL_TAIL = re.compile(r"(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[\w.!@%^+=:/-]{1,200}){1,8}")
_CONTINUED = re.compile(r"\\\n\s{0,40}")
_QUOTED_CHARS = 4096
_INNER_QUOTES = 16


def _value_span(text: str, at: int) -> Span | None:
    word = WORD.match(text, at)
    given = _GIVEN.match(text, word.end()) if word else None
    if word is None or given is None:
        return None
    before = text[max(0, at - STEM_CHARS) : at]
    stem = before[len(before.rstrip(_NAME_CHARS)) :]
    opening = _OPEN.match(text, given.end())
    if stem.startswith("-") and _is_removed(text, at - len(stem), given):
        stem = stem[1:]
    if stem.startswith("-") and ":" in given[0]:  # a style sheet's variable
        return None
    if not stem and word[0].lower() == "key":
        stem = _stem_apart(before)
    if before.endswith("::" + stem) or (
        given[0] == ":" and before.endswith(":" + stem)
    ):  # AWS::ApiKey, an ARN
        return None
    if given["blank"] and not stem and word[0] in _IN_SENTENCES and not opening and given["value"] is None:
        return None
    start = word.start() - (len(stem) if before.endswith(stem) else 0)
    if _is_idle(text, start, given, stem, opening is not None):
        return None
    span = _quoted_span(text, opening) if opening else _bare_span(text, given.end(), stem + word[0], given[0])
    if span is None:
        return None
    if opening:
        form = _quoted_form(text, start, span, given, stem + word[0])
    else:
        form = _form(text, start, span, given, stem + word[0])
    end, value = span[1], text[span[0] : span[1]]
    if opening:
        end, value = _joined(text, end, value, form == "env" and "=" in given[0])
        if len(opening["quote"] or "") == 3:
            value = _CONTINUED.sub("", value).strip()
        elif "\n" in value:
            form = "quoted"
    if not is_believed(stem, word[0], value[:VALUE_CHARS], form):
        return None
    if not opening:
        end = _BARE_TAIL.match(text, span[1]).end()  # type: ignore[union-attr]
        if form in ("prose", "told"):
            end = span[0] + len(text[span[0] : end].rstrip(".!?:"))
    if given["block"]:
        end = _BLOCK_TAIL.match(text, end).end()  # type: ignore[union-attr]
    return span[0], end, kind_of(stem, word[0])


# What a blank follows all the time, and hardly ever a value.
_IN_SENTENCES = frozenset({"key", "token", "secret", "credential", "credentials", "pass"})


def _joined(text: str, end: int, value: str, in_shell: bool) -> tuple[int, str]:
    """A string with what is put together with it: where it ends then, and what it is."""
    if in_shell and (tail := _SHELL_TAIL.match(text, end + 1)):
        return tail.end(), value + tail[0].replace('"', "").replace("'", "")
    for _ in range(_JOINTS_MAX):
        joint = _JOINT.match(text, end)
        if joint is None:
            break
        end, value = joint.end("more"), value + joint["more"]
    return end, value


_JOINTS_MAX = 40
# Where two strings are one: side by side, added, over lines.
_JOINT = re.compile(
    r"(?P<quote>[\"'])(?:\s{0,2}[+.&]\s{0,40}|[ \t]{0,4}\\?\r?\n[ \t]{0,40}(?:[+.&][ \t]{0,4})?|[ ]?)"
    r"[fbr]?(?P=quote)(?P<more>[\w/+=.-]{4,400})(?=[\"'])"
)


def _quoted_form(text: str, start: int, span: tuple[int, int], given: re.Match[str], name: str) -> str:
    """How a string is given."""
    sign = given[0].strip("\"'`\\ ])}*")[:1]
    if given["comma"] and name.startswith("-"):  # in a list of a command's words
        return "option"
    if given["beside"]:
        return "env" if name.isupper() else "key"
    if given["set"]:
        return "set"
    if given["told"]:
        return "told"
    if given["blank"]:
        verb = _VERB.search(text, max(0, start - LINE_CHARS), start)
        if verb and verb["set"]:
            return "set"
        return "told" if _TOLD_BEFORE.search(text, max(0, start - 40), start) else "quoted"
    if given["call"] and _SETTER.search(name):
        return "set"
    if given["else"]:
        return "string"
    if given["comma"] and name.isupper() and _ARGUMENT.search(text, max(0, start - 20), start):
        return "quoted" if text[span[0] : span[1]].isupper() else "set"
    if given["quoted"] and sign == ":":
        return "key"
    if sign not in ("=", ":"):
        return "quoted"
    if name.isupper() and given[0] == "=":
        return "env"
    return "listed" if is_beside(text, start, span[1] + 1) else "string"


_SETTER = re.compile(
    r"(?:^|[._])(?:set|with|and)_?pass(?:word|wd|phrase)?$|\.pass(?:word|wd)$|Set\w{0,12}Password$",
    re.IGNORECASE,
)
_ARGUMENT = re.compile(r"\([ ]?[\"']$")
_TOLD_BEFORE = re.compile(r"\b(?:the|with|and|a|using|by|default|initial|root|admin)[ ]$", re.IGNORECASE)


def _is_removed(text: str, start: int, given: re.Match[str]) -> bool:
    """Whether the first sign of a name is that of a line that a diff takes out."""
    return text[start - 1 : start] in ("", "\n") and text[start + 1 : start + 2] != "-" and not given["blank"]


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
    if given["told"] and given["told"].strip().startswith("to"):
        return not _CHANGED.search(text, max(0, start - 60), start)
    if given[0].startswith("):"):  # the head of a function, and what it says of itself
        return True
    if given["comma"]:
        return not quoted or given["quoted"] in (None, "`")
    if given["blank"]:
        if quoted and _TOLD_BEFORE.search(text, max(0, start - 40), start):
            return False
        keyword = quoted and text[start - 1 : start] == ":"  # :password "..."
        known = stem.startswith("-") or keyword or stem.lower() == "require"
        return not (
            known or given["value"] is not None or _VERB.search(text, max(0, start - LINE_CHARS), start)
        )
    return bool((given["call"] or given["else"]) and not quoted)


_CHANGED = re.compile(r"\b(?:set|chang(?:e|ed|ing)|reset|updated?|rotated?)\b[^\n.]{0,40}$", re.IGNORECASE)


def _bare_span(text: str, at: int, name: str, sign: str) -> tuple[int, int] | None:
    match = _BARE.match(text, at)
    if match is None and name.isupper() and sign == "=":  # words joined by dots, where no program stands
        match = _DOTTED.match(text, at)
        return match.span() if match and not is_reference(match[0]) else None
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
    match = _BARE.match(text, at)
    return match.span() if match else None
