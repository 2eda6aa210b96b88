"""Secrets that are known by their name: `DB_PASSWORD=...`, `"apiKey": "..."`, `--token ...`, `<secret>...`.

What stands between a name and its value, and around both, says how certain it is that a value is given
(`forms`); `names` says what is believed then. A value that is turned down hides nothing: the other rules read
the same text for themselves. A quoted value ends where its string ends, however deep in JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.redact.forms import GIVEN, bare_form, is_idle, quoted_form
from recollect.redact.names import SHORT, STEM_CHARS, WORD, is_believed, kind_of, split
from recollect.redact.nonvalues import is_given, is_phrase, is_reference
from recollect.redact.plausible import VALUE_CHARS, is_random
from recollect.redact.tokens import Span

ANCHORS = ("pass", "pw", "secret", "token", "key", "cred")


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
                yield from _listed_spans(text, at, span)
            at = lowered.find(anchor, span[1] if span else at + len(anchor))


def _listed_spans(text: str, at: int, span: Span) -> Iterator[Span]:
    """What stands beside the first value in a list."""
    first = _LIST.match(text, span[1])
    if first is None or not _LIST_OPEN.search(text, at, span[0]):
        return
    for value in _ITEM.finditer(text, span[1], first.end()):
        if is_given(value["item"]) or is_random(value["item"]):
            yield (*value.span("item"), span[2])


_LIST_OPEN = re.compile(r"\[\s{0,40}\\{0,15}[\"']$|\n[ \t]{0,20}- [\"']?$")
_LIST = re.compile(
    r"(?:\\{0,15}[\"'],\s{0,40}\\{0,15}[\"'][^\"'\\\n]{1,200}){1,50}"
    r"|(?:[\"']?\r?\n[ \t]{0,20}- [\"']?[^\s\"':]{1,200}(?=[\"']?\s|\Z)){1,50}"
)
_ITEM = re.compile(r"(?:,\s{0,40}\\{0,15}[\"']|- [\"']?)(?P<item>[^\"'\\\n]{1,200})")


def field_kind(name: str, value: str) -> str:
    """The kind of secret that a field of that name holds, "" for none."""
    stem, word = split(name[-STEM_CHARS:])
    return kind_of(stem, word) if word and is_believed(stem, word, value[:VALUE_CHARS], "key") else ""


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
_OPEN = re.compile(
    r"[bBrRuUfN@]{0,2}(?:(?P<slashes>\\{0,15})(?P<quote>\"\"\"|'''|[\"'`])|(?P<entity>&quot;|%22))"
)
_QUOTED_CHARS = 4096
_INNER_QUOTES = 16


def _value_span(text: str, at: int) -> Span | None:
    word = WORD.match(text, at)
    given = GIVEN.match(text, word.end()) if word else None
    if word is None or given is None:
        return None
    before = text[max(0, at - STEM_CHARS) : at]
    stem = before[len(before.rstrip(_NAME_CHARS)) :]
    opening = _OPEN.match(text, given.end())
    if stem.startswith("-") and _is_removed(text, at - len(stem), given):
        stem = stem[1:]
    if stem.startswith("-") and ":" in given[0] and not given["argument"]:  # a style sheet's variable
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
    if is_idle(text, start, given, stem, opening is not None):
        return None
    span = _quoted_span(text, opening) if opening else _bare_span(text, given.end(), stem + word[0], given[0])
    if span is None:
        return None
    short = not stem and word[0].lower() in _SHORT
    if short and given[0].rstrip().endswith("["):
        return None
    words = None if opening or short else _worded_span(text, start, given)
    if words and _is_worded(text, words, bare_form(text, start, words, given, stem + word[0])):
        span, form = words, "string"
    elif opening:
        form = quoted_form(text, start, span, given, stem + word[0])
    else:
        form = bare_form(text, start, span, given, stem + word[0])
    end, value = span[1], text[span[0] : span[1]]
    if opening:
        in_shell = form == "env" and "=" in given[0] and not opening["slashes"]
        end, value = _joined(text, end, value, in_shell)
        if len(opening["quote"] or "") == 3:
            value = _CONTINUED.sub("", value).strip()
        elif "\n" in value:
            form = "quoted"
    if not is_believed(stem, word[0], value[:VALUE_CHARS], form):
        return None
    if not opening and span is not words:
        end = _BARE_TAIL.match(text, span[1]).end()  # type: ignore[union-attr]
        if form in ("prose", "told"):
            end = span[0] + len(text[span[0] : end].rstrip(".!?:"))
    if given["block"]:
        end = _BLOCK_TAIL.match(text, end).end()  # type: ignore[union-attr]
    return span[0], end, kind_of(stem, word[0])


_SHORT = frozenset({"pass", "pw", "pwd", "key"})  # by themselves they are too little for a list, or a phrase
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


def _worded_span(text: str, start: int, given: re.Match[str]) -> tuple[int, int] | None:
    """A bare value of several words, where something tells its end: a quote, an element, the line."""
    if given["blank"] or given["told"] or given["argument"]:
        return None
    quote = text[start - 1 : start] if given[0] == "=" else ""
    ends = quote if quote in ("'", '"') else "<" if given["element"] else "\n"
    match = _WORDS[ends or "\n"].match(text, given.end())
    return match.span("words") if match and is_phrase(match["words"]) else None


def _is_worded(text: str, words: tuple[int, int], form: str) -> bool:
    """Whether bare words are a passphrase: a quote ends them, or they are all that is given."""
    return form in ("listed", "element") or (
        form in ("env", "pair") and text[words[1] : words[1] + 1] in _CLOSING
    )


_CLOSING = ("'", '"', "\\")
_WORDS = {
    sign: re.compile(rf"(?P<words>[\w!?*.'#-]{{1,24}}(?: [\w!?*.'#-]{{1,24}}){{1,7}}){end}")
    for sign, end in {
        "'": "(?=')",
        '"': r"(?=\\{0,15}\")",
        "<": r"(?=</|\]\]>)",
        "\n": r"(?=[ \t]{0,20}(?:\r?\n|\Z|\\n))",
    }.items()
}
_NAME_CHARS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"


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
