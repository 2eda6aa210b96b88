"""Secrets in tables: the column that is headed by `password`.

In Markdown, as a database prints it, separated by commas or tabs, set in columns by blanks, or as the rows
that SQL inserts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.redact.nonvalues import is_given
from recollect.redact.plausible import is_password
from recollect.redact.tokens import Span


def table_spans(text: str, lowered: str) -> Iterator[Span]:
    """What stands under a heading that says so; `lowered` is the text in small letters."""
    if "\n" in text:
        for heading in _HEADING.finditer(lowered):
            yield from _headed_spans(text, heading)
    if "insert into " in lowered:
        for match in _INSERT.finditer(text):
            yield from _inserted_spans(match)


# -- under a heading ------------------------------------------------------------------------------------

_HEADING = re.compile(r"pass(?:word|wd)?[*`\" ]{0,20}(?:(?P<by>[|,;\t])|\r?\n)")
_RULER = re.compile(r"[ ]{0,8}[|+-][ :|+=-]{3,300}(?=\r?\n)")
_NAMES = re.compile(r"[\w \"-]{1,40}(?:[,;\t][\w \"-]{1,40}){1,20}")
_COLUMNS = re.compile(r"[A-Z_]{2,24}(?: {2,40}[A-Z_]{2,24}){1,12} {0,40}")
_CELL = re.compile(r"\S{1,200}(?: \S{1,200}){0,8}")
_LOGINS = re.compile(
    r"(?:^|[|,;\t]|  )[*`\" ]{0,8}(?:user(?:name)?|name|login|e-?mail|account|host|role)[*`\" ]{0,8}"
    r"(?=[|,;\t]|  |$)",
    re.IGNORECASE,
)
_ROWS_MAX = 50
_ROW_CHARS = 1000


def _headed_spans(text: str, heading: re.Match[str]) -> Iterator[Span]:
    start = text.rfind("\n", max(0, heading.start() - _ROW_CHARS), heading.start()) + 1
    end = text.find("\n", start, start + _ROW_CHARS)
    if end < 0:
        return
    head = text[start:end].rstrip("\r")
    of_logins = bool(_LOGINS.search(head))
    if "|" in head:
        by, ruler = "|", _RULER.match(text, end + 1)
        end = text.find("\n", ruler.end()) if ruler else -1
    else:
        by = heading["by"] or next((each for each in ",;\t" if each in head), "")
        if not by and of_logins and _COLUMNS.fullmatch(head):
            yield from _set_spans(text, end + 1, heading.start() - start)
        end = end if by and _NAMES.fullmatch(head) else -1
    if end >= 0:
        column = head[: heading.start() - start].count(by)
        yield from _column_spans(text, end + 1, by, column, of_logins, head.count(by))


def _column_spans(text: str, at: int, by: str, column: int, of_logins: bool, count: int) -> Iterator[Span]:
    for row_at, row in _rows(text, at):
        cells = row.split(by)
        if len(cells) <= max(column, 1) or (by == "|" and len(cells) != count + 1):
            return
        value = cells[column].strip(' `*"\r')
        if is_password(value) or (of_logins and is_given(value)):
            begin = row_at + len(by.join(cells[:column])) + len(by) * (column > 0) + cells[column].find(value)
            yield begin, begin + len(value), "password"


def _set_spans(text: str, at: int, offset: int) -> Iterator[Span]:
    """The words of a column that begins where its heading does."""
    for row_at, row in _rows(text, at):
        cell = _CELL.match(row, offset)
        if cell is None or row[offset - 2 : offset].strip():
            return
        if is_password(cell[0]) or is_given(cell[0]):
            yield row_at + offset, row_at + cell.end(), "password"


def _rows(text: str, at: int) -> Iterator[tuple[int, str]]:
    for _ in range(_ROWS_MAX):
        end = text.find("\n", at, at + _ROW_CHARS)
        yield at, text[at : end if end >= 0 else at + _ROW_CHARS]
        if end < 0:
            return
        at = end + 1


# -- what SQL inserts -------------------------------------------------------------------------------------

_INSERT = re.compile(
    r"insert into [^()\n]{1,80}\((?P<names>[^()]{1,400})\)\s{0,8}values\s{0,8}\((?P<values>[^()]{1,800})\)",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?:^|[\W_])(?:password|passwd|pass|pwd)\W{0,3}$", re.IGNORECASE)
_VALUE = re.compile(r"\s{0,8}(?:N?'(?P<text>[^'\n]{0,200})'|[^,'\n]{1,200})(?:,|\s{0,8}\Z)")


def _inserted_spans(insert: re.Match[str]) -> Iterator[Span]:
    names, at = insert["names"].split(","), insert.start("values")
    for name in names:
        value = _VALUE.match(insert.string, at, insert.end("values"))
        if value is None:
            return
        if value["text"] and _NAME.search(name) and (is_password(value["text"]) or is_given(value["text"])):
            yield (*value.span("text"), "password")
        at = value.end()
