"""Whether a line is one of a list of settings: then what it gives is a value, and no type, name or label.

Told by its neighbours, behind whatever a listing puts before each line: numbers, the signs of a diff, the
file and line of a search, a time, the edge of a box.
"""

from __future__ import annotations

import re

# What may stand before the first name of a line.
LINE_START = re.compile(
    r"(?:\s{0,40}[0-9]{1,6}[\t→:|-]|[\w./\\-]{1,160}[:-][0-9]{1,6}[:-]"
    r"|[0-9]{4}-[0-9:TZ.,+ -]{6,34}[ ]|[\w-]{1,40}[ ]{1,8}\|[ ])?"
    r"[\s<>+#;*│┃║|$?-]{0,40}"
    r"(?:(?:export|declare[ ]-\w{1,3}|set|SET|REM|<!--|/\*)[ ]|//[ ]?"
    r"|PS[ ][^\n>]{0,80}>[ ]?|[A-Z]:[^\n>]{0,80}>)?"
    r"(?:set[ ])?[\[\"'`]?\*{0,2}"
    r"(?:(?i:mot de|enter|new|retype|"
    r"confirm|current|old|repeat|your|my|the|root|admin|db|database|wifi|initial)"
    r"[ ]){0,3}"
)
_NEIGHBOUR = re.compile(
    r"[\"'`*]{0,3}(?P<name>[A-Za-z_][\w.\-/ ]{0,60}?)[\"'`*]{0,3}[ \t]{0,8}(?P<sign>[=:])[ \t]{0,8}"
    r"[\"'*]{0,2}(?P<value>[^\n]{0,200}?)[\"'`]?[ \t]{0,8}[│┃║|]?[ \t]{0,4}\r?"
)
_SECTION = re.compile(r"\[[\w.\- \"/]{1,60}\]\r?")
_CODE = re.compile(
    r"[(){}\[\];]|,$|\s=\s|\?$"
    r"|^(?:str|string|int|integer|number|bool|boolean|float|any|bytes|Optional|String|Int)\b"
)
_STATEMENT = re.compile(
    r"(?:class|def|if|elif|else|try|except|finally|for|while|with|return|case|default|switch|do|import|from"
    r"|fn|func|let|const|var)\b"
)
_PLAIN = re.compile(r"[A-Za-z_]\w{0,80}(?:\.[A-Za-z_]\w{0,80}){0,8}")
_LINE_CHARS = 300

_BESIDE = re.compile(
    r"\n[ \t]{0,20}(?:[0-9]{1,6}[\t→:|])?[-+*> ]{0,6}\*{0,2}"
    r"(?:user(?:name)?|uid|login|host(?:name)?|port|database|db|dsn|driver|e-?mail|server|url)"
    r"\*{0,2}[\"']?[ ]?[:=] ?"
    r"\*{0,2}[\"']?(?!(?:str|string|int|number|any)\b)[\w.@:/-]{1,60}[\"']?[ \t]{0,20}\r?(?=\n|\Z)",
    re.IGNORECASE,
)


# A section, and nothing but settings down to here.
_IN_SECTION = re.compile(
    r"(?:^|\n)\[[\w.\- \"/:]{1,60}\]\r?\n"
    r"(?:[ \t]{0,20}(?:[#;][^\n]{0,200}|[\w.\-/ ]{1,60}[=:][^\n(){}]{0,200})?\r?\n){0,12}[ \t]{0,20}$"
)
_SECTION_CHARS = 800


def is_beside(text: str, start: int, end: int) -> bool:
    """Whether the lines around are a login's: then a bare word after a colon is no type, and no label."""
    return bool(_BESIDE.search("\n" + text[max(0, start - 160) : min(len(text), end + 120)]))


def is_listed(text: str, start: int, end: int, sign: str) -> bool:
    """Whether a line before or after is a setting that is written alike, and neither is code.

    A line that stands alone is one as well: there is nothing that it could be a part of.
    """
    first = text.rfind("\n", max(0, start - _LINE_CHARS), start)
    last = text.find("\n", end, end + _LINE_CHARS)
    before = text[text.rfind("\n", max(0, first - _LINE_CHARS), first) + 1 : first] if first >= 0 else ""
    after = ""
    if last >= 0:
        stop = text.find("\n", last + 1, last + _LINE_CHARS)
        after = text[last + 1 : stop if stop >= 0 else last + _LINE_CHARS]
        after = after.rstrip("\"'}]")  # the end of the string that holds the lines
    if not before.strip() and not after.strip():
        return ":" in sign
    if _IN_SECTION.search(text, max(0, start - _SECTION_CHARS), start):
        return True
    kinds = {_kind(_without_start(line), sign) for line in (before, after)}
    return "setting" in kinds and "code" not in kinds


def _without_start(line: str) -> str:
    start = LINE_START.match(line)
    return line[start.end() :] if start and not _SECTION.fullmatch(line.lstrip(" +-")) else line.lstrip(" +-")


def _kind(line: str, sign: str) -> str:
    """What a neighbouring line is: a setting written with that sign, code, or neither."""
    if _SECTION.fullmatch(line):
        return "setting" if "=" in sign else ""
    match = _NEIGHBOUR.fullmatch(line)
    if match is None or match["sign"] not in sign or _STATEMENT.match(match["name"]):
        return "code" if line.rstrip().endswith((",", ";", "{", "(", ")", "=>")) else ""
    value = match["value"]
    if _CODE.search(value):
        return "code"
    if not value:
        return "setting" if ":" in sign else ""
    spaced = "=" in sign and sign != "="
    return "" if spaced and _PLAIN.fullmatch(value) else "setting"
