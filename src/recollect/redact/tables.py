"""Secrets in tables: the column that is headed by `password`, and the row that begins with it.

In Markdown, in boxes, as a database prints it, separated by commas or tabs, set in columns by blanks, or as
the rows that SQL inserts. A password may be any word where users stand beside it; what else is headed as a
secret must look drawn by lot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from recollect.redact.nonvalues import is_given
from recollect.redact.plausible import is_password, is_random
from recollect.redact.tokens import Span

GATES = ("pass", "secret", "token", "key")


def table_spans(text: str, lowered: str, present: tuple[str, ...]) -> Iterator[Span]:
    """What stands under a heading that says so, or beside it; `lowered` is the text in small letters.

    `present` says which of the gates are in it.
    """
    is_table = "\n" in text or "|" in text or "│" in text
    for word in GATES:
        if is_table and word in present and (word != "key" or "api" in lowered):
            for heading in _HEADINGS[word].finditer(lowered):
                yield from _headed_spans(text, heading)
    if "pass" in present and "insert into " in lowered:
        for match in _INSERT.finditer(text):
            yield from _inserted_spans(match)


# -- under a heading ------------------------------------------------------------------------------------

_BARS = "|│┃║"
_HEADINGS = {
    word: re.compile(
        rf"{word}{rest}[*`\"]{{0,3}}[ ]{{0,40}}(?:(?P<by>[{_BARS},;\t])|(?<=[ ]{{2}})(?=\S)|\r?\n)"
    )
    for word, rest in {
        "pass": "(?:word|wd|phrase)?",
        "secret": "(?:[_ ](?:access[_ ])?key)?",
        "token": "",
        "key": "",
    }.items()
}
_API = re.compile(r"api[_ -]?$", re.IGNORECASE)
_RULER = re.compile(r"[ ]{0,8}[|+├╞┣╠-][ :|+=─━═┼╪╋╬┿╂┤├╡┫╣-]{3,300}(?=\r?\n)")
_NAMES = re.compile(r"[\w \"-]{1,40}(?:[,;\t][\w \"-]{1,40}){1,20}")
_COLUMNS = re.compile(r"[A-Z_]{2,24}(?: {2,40}[A-Z_]{2,24}){1,12} {0,40}")
_TITLES = re.compile(r"\w{2,24}(?: {2,40}\w{2,24}){1,12} {0,40}\n-{3,40}(?: {1,40}-{3,40}){1,12} {0,40}\r?\n")
_CELL = re.compile(r"[^\s\"]{1,200}(?: [^\s\"]{1,200}){0,8}")
_USERS = r"(?:user(?:[ _]?name)?|name|login|e-?mail|account|host(?:name)?|role|endpoint|url|port|database)"
_LOGINS = re.compile(
    rf"(?:^|[{_BARS},;\t]|  )[*`\" ]{{0,8}}{_USERS}[*`\" ]{{0,8}}(?=[{_BARS},;\t]|  |$)", re.IGNORECASE
)
_HEAD_CHARS = 400
_ROWS_MAX = 50
_ROW_CHARS = 1000


@dataclass(frozen=True, slots=True)
class _Column:
    """What is under a heading, or beside it."""

    of_passwords: bool
    of_logins: bool  # users stand beside it

    @property
    def kind(self) -> str:
        return "password" if self.of_passwords else "secret"

    def holds(self, value: str) -> bool:
        if not self.of_passwords:
            return is_random(value)
        if value.endswith(")"):  # a type: varchar(255)
            return False
        return is_password(value) or (self.of_logins and is_given(value))


def _headed_spans(text: str, heading: re.Match[str]) -> Iterator[Span]:
    start = _head_start(text, heading.start())
    if start < 0:
        return
    end = text.find("\n", start, start + _ROW_CHARS)
    head = text[start : end if end >= 0 else start + _ROW_CHARS].rstrip("\r")
    at = heading.start() - start
    if heading[0].startswith("key") and not _API.search(head[:at]):
        return
    column = _Column(heading[0].startswith("pass"), bool(_LOGINS.search(head)))
    by = _BARS if any(bar in head for bar in _BARS) else heading["by"] or _first_of(",;\t", head)
    if row := _row_span(text, start, head, at, column):
        yield row
    elif end < 0:
        return
    elif by == _BARS:
        ruler = _RULER.match(text, end + 1)
        below = text.find("\n", ruler.end()) if ruler else -1
        yield from _column_spans(text, below, by, head, at, column) if below >= 0 else ()
    elif by:
        yield from _column_spans(text, end, by, head, at, column) if _NAMES.fullmatch(head) else ()
    elif _COLUMNS.fullmatch(head):
        yield from _set_spans(text, end + 1, at, column)
    elif titles := _TITLES.match(text, start):
        yield from _set_spans(text, titles.end(), at, column)


def _head_start(text: str, at: int) -> int:
    """Where the line of a heading begins, or the string that holds it; -1 if that is far off."""
    first = max(0, at - _HEAD_CHARS)
    line = text.rfind("\n", first, at)
    if line < 0 and first:
        return -1
    string = max(text.rfind(':"', line + 1, at), text.rfind(': "', line + 1, at) + 1)
    return string + 2 if string > 0 else line + 1


def _first_of(signs: str, text: str) -> str:
    return next((each for each in signs if each in text), "")


def _column_spans(text: str, end: int, by: str, head: str, at: int, column: _Column) -> Iterator[Span]:
    """What stands in the column of a heading, in the rows below where a line ends."""
    number = sum(map(head[:at].count, by))
    for row_at, row in _rows(text, end + 1):
        cuts = [-1, *(place for place, each in enumerate(row) if each in by), len(row)]
        if len(cuts) - 2 < max(number, 1) or (by == _BARS and len(cuts) - 2 != sum(map(head.count, by))):
            return
        cell = row[cuts[number] + 1 : cuts[number + 1]]
        value = cell.strip(' `*"\r').partition('"')[0]  # behind a quote, the string ends that holds the table
        if column.holds(value):
            begin = row_at + cuts[number] + 1 + cell.find(value)
            yield begin, begin + len(value), column.kind


def _set_spans(text: str, at: int, offset: int, column: _Column) -> Iterator[Span]:
    """The words of a column that begins where its heading does."""
    for row_at, row in _rows(text, at):
        cell = _CELL.match(row, offset)
        if cell is None or row[offset - 2 : offset].strip():
            return
        if column.holds(cell[0]):
            yield row_at + offset, row_at + cell.end(), column.kind


def _rows(text: str, at: int) -> Iterator[tuple[int, str]]:
    for _ in range(_ROWS_MAX):
        end = text.find("\n", at, at + _ROW_CHARS)
        yield at, text[at : end if end >= 0 else at + _ROW_CHARS]
        if end < 0:
            return
        at = end + 1


# -- in a row of a name and a value -------------------------------------------------------------------------

_ROW = re.compile(
    rf"[ ]{{0,20}}[{_BARS}]?[*`\" ]{{0,20}}(?P<name>[\w -]{{2,40}}?)[*`\" ]{{0,40}}[{_BARS}][*`\" ]{{0,20}}"
    rf"(?P<value>[^\s{_BARS}`\"](?:[^{_BARS}\"\n]{{0,200}}[^\s{_BARS}`\"])?)"
    rf"[*`\" ]{{0,300}}[{_BARS}]?[ ]{{0,20}}(?:\"[^\n]{{0,200}})?"
    r"|[ ]{0,20}(?P<first>[\w-]{2,40}) {2,40}(?P<second>[^\s\"]{4,400})[ ]{0,20}(?:\"[^\n]{0,200})?"
)
_LOGIN_ROW = re.compile(
    rf"\n[ ]{{0,20}}[{_BARS}]?[*`\" ]{{0,20}}(?:{_USERS}|key(?= {{2,40}}value))[*`\"]{{0,3}}"
    rf"(?:[ ]{{0,40}}[{_BARS}]|[ ]{{2,40}})",
    re.IGNORECASE,
)
_NEAR_CHARS = 200


def _row_span(text: str, start: int, head: str, at: int, column: _Column) -> Span | None:
    """The value of a row that has nothing but a name and a value; a row of a user must be near."""
    match = _ROW.fullmatch(head)
    name, value = ("name", "value") if match and match["name"] else ("first", "second")
    if match is None or not match.start(name) <= at < match.end(name):
        return None
    near = "\n" + text[max(0, start - _NEAR_CHARS) : start + len(head) + _NEAR_CHARS]
    of_logins = _LOGIN_ROW.search(near) is not None or (match[name].isupper() and "_" in match[name])
    if not _Column(column.of_passwords, of_logins).holds(match[value]):
        return None
    return start + match.start(value), start + match.end(value), column.kind


# -- what SQL inserts -------------------------------------------------------------------------------------

_INSERT = re.compile(
    r"insert into [^()\n]{1,80}\((?P<names>[^()]{1,400})\)\s{0,8}values\s{0,8}"
    r"(?P<rows>\([^()]{1,800}\)(?:,\s{0,8}\([^()]{1,400}\)){0,20})",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?:^|[\W_])(?:password|passwd|pass|pwd)\W{0,3}$", re.IGNORECASE)
_VALUE = re.compile(r"\s{0,8}(?:N?'(?P<text>[^'\n]{0,200})'|[^,'\n()]{1,200})(?:,|\s{0,8}(?=\)))")


def _inserted_spans(insert: re.Match[str]) -> Iterator[Span]:
    names, text, end = insert["names"].split(","), insert.string, insert.end("rows")
    at = insert.start("rows")
    while at >= 0:
        at += 1
        for name in names:
            value = _VALUE.match(text, at, end)
            if value is None:
                break
            if (
                value["text"]
                and _NAME.search(name)
                and (is_password(value["text"]) or is_given(value["text"]))
            ):
                yield (*value.span("text"), "password")
            at = value.end()
        at = text.find("(", at, end)
