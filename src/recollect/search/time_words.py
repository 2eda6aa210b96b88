"""The time a question speaks of ("two weeks ago", "in May 2023", "last Friday"), by rules.

Rules and not a model: they never invent a time, and they cost microseconds. What people say about
time is loose, so a window is wider than the words ("two weeks ago" is ten to eighteen days), and it
only ever lifts hits (`rank`): a wrong guess costs a place or two, never a hit.

A month or day without a year is the last one that has begun, and what lies wholly ahead ("this
weekend") is no window: a memory is asked about the past.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import MAXYEAR, MINYEAR, datetime, timedelta

QUESTION_CHARS_MAX = 2_000  # a longer query is a text, not a question


def window(text: str, now: datetime) -> tuple[int, int] | None:
    """From and to (not included) in milliseconds, around all times the question names; None without any."""
    found = [span for span in _spans(text[:QUESTION_CHARS_MAX], now) if span[0] < now]
    if not found:
        return None
    return _ms(min(start for start, _ in found)), _ms(max(end for _, end in found))


def is_of_present(text: str) -> bool:
    """Whether a question asks what counts now, which the latest word on it says."""
    return _PRESENT.search(text[:QUESTION_CHARS_MAX]) is not None


Span = tuple[datetime, datetime]
Rule = Callable[[re.Match[str], datetime], Span | None]

_UNITS = {"hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.44, "year": 365.25}  # in days
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "couple": 2, "few": 3, "several": 4,
}  # fmt: skip
_MONTH_NAMES = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MONTHS = {short: n for n, name in enumerate(_MONTH_NAMES, 1) for short in (name, name[:3])} | {"sept": 9}
_WEEKDAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAYS = {name: n for n, name in enumerate(_WEEKDAY_NAMES)}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # their first month, in the north

_LOOSE = 0.3  # of the distance: what "three weeks ago" may be off by
_VAGUE = 0.6  # and what "a few weeks ago" may
_VAGUELY = ("couple", "few", "several")

_COUNT = rf"(\d{{1,4}}|(?:a )?(?:{'|'.join(sorted(_NUMBERS, key=len, reverse=True))}))(?: of)?"
_UNIT = rf"({'|'.join(_UNITS)})s?"
_MONTH = rf"({'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
_WEEKDAY = rf"({'|'.join(_WEEKDAYS)})"
_SEASON = rf"({'|'.join(_SEASONS)})"
_YEAR = r"((?:19|20)\d\d)"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"


def _spans(text: str, now: datetime) -> Iterator[Span]:
    """What each rule makes of the text. What one rule took, no later one sees."""
    for pattern, rule in _RULES:
        taken = []
        for match in pattern.finditer(text):
            if span := _guarded(rule, match, now):
                taken.append(match.span())
                yield span
        for start, end in taken:
            text = text[:start] + "\x00" * (end - start) + text[end:]


def _guarded(rule: Rule, match: re.Match[str], now: datetime) -> Span | None:
    try:
        return rule(match, now)
    except (ValueError, OverflowError):  # 31 April, a year before the first
        return None


def _ago(match: re.Match[str], now: datetime) -> Span:
    unit = _UNITS[match[2].lower()]
    days = _count(match[1]) * unit
    slack = max(unit / 2, days * (_VAGUE if _word(match[1]) in _VAGUELY else _LOOSE))
    return now - timedelta(days=days + slack), min(now, now - timedelta(days=days - slack))


def _past(match: re.Match[str], now: datetime) -> Span:
    return now - timedelta(days=_count(match[1] or "one") * _UNITS[match[2].lower()] * (1 + _LOOSE)), now


def _near_day(match: re.Match[str], now: datetime) -> Span:
    back = {"today": 0, "this": 0, "yesterday": 1, "last": 1, "the": 2}[match[1].split()[0].lower()]
    start = _midnight(now) - timedelta(days=back)
    return start, start + timedelta(days=1)


def _calendar(match: re.Match[str], now: datetime) -> Span:
    """This or last week, weekend, month, year, to now: many mean the seven days before now by last week."""
    last, unit, today = match[1].lower() != "this", match[2].lower(), _midnight(now)
    if unit == "year":
        return _year(now.year - last, now)
    if unit == "month":
        first = today.replace(day=1)
        return ((first - timedelta(days=1)).replace(day=1) if last else first), now
    monday = today - timedelta(days=today.weekday() + 7 * last)
    return monday + timedelta(days=4 if unit == "weekend" else 0), now


def _weekday(match: re.Match[str], now: datetime) -> Span:
    """The last such day before today; said loosely "last Friday" may be the one before."""
    back = (now.weekday() - _WEEKDAYS[match[2].lower()] - 1) % 7 + 1
    start = _midnight(now) - timedelta(days=back)
    early = start - timedelta(days=7) if match[1].lower().startswith("last") else start
    return early, start + timedelta(days=1)


def _iso_day(match: re.Match[str], now: datetime) -> Span:
    start = _midnight(now).replace(year=int(match[1]), month=int(match[2]), day=int(match[3]))
    return start, start + timedelta(days=1)


def _month_day(match: re.Match[str], now: datetime) -> Span:
    return _day_of(match[1], match[2], match[3], now)


def _day_month(match: re.Match[str], now: datetime) -> Span:
    return _day_of(match[2], match[1], match[3], now)


def _day_of(month: str, day: str, year: str | None, now: datetime) -> Span:
    start = _midnight(now).replace(year=int(year or now.year), month=_MONTHS[month.lower()], day=int(day))
    if not year and start > now:
        start = start.replace(year=now.year - 1)
    return start - timedelta(days=1), start + timedelta(days=2)


def _month_year(match: re.Match[str], now: datetime) -> Span:
    return _month_of(_MONTHS[match[1].lower()], int(match[2]), now)


def _month(match: re.Match[str], now: datetime) -> Span | None:
    """A month alone: "may" and "march" are also other words, so only where written as a name."""
    if not match[2][0].isupper():
        return None
    number = _MONTHS[match[2].lower()]
    start, end = _month_of(number, now.year - (number > now.month), now)
    return (start, now) if match[1].lower() == "since" else (start, end)


def _season(match: re.Match[str], now: datetime) -> Span:
    number = _SEASONS[match[2].lower()]
    year = int(match[3]) if match[3] else now.year - (number > now.month)
    start, _ = _month_of(number, year, now)
    return start, start + timedelta(days=92)


def _whole_year(match: re.Match[str], now: datetime) -> Span:
    start, end = _year(int(match[2]), now)
    return (start, now) if match[1].lower() == "since" else (start, end)


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(r"\b" + pattern.replace(" ", r"\s+") + r"\b", re.IGNORECASE)


_WITHIN = r"(in|during|since|of|from|to|through|until|till|and|between|last|this|by|around|early|late|mid)"
_RULES: tuple[tuple[re.Pattern[str], Rule], ...] = (
    (_rule(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})"), _iso_day),
    (_rule(rf"{_COUNT} {_UNIT} (?:ago|back|earlier)"), _ago),
    (_rule(rf"(?:last|past|previous) (?:{_COUNT} )?(hour|day|week|month|year)s"), _past),
    (_rule(rf"past (?:{_COUNT} )?(hour|day|week|month|year)"), _past),
    (_rule(r"(the day before yesterday|yesterday|today|last night|this morning)"), _near_day),
    (_rule(r"(last|previous) (weekend)"), _calendar),  # this weekend is mostly yet to come
    (_rule(r"(last|this|previous) (week|month|year)"), _calendar),
    (_rule(rf"(last|this past|on|this|past) {_WEEKDAY}"), _weekday),
    (_rule(rf"{_MONTH} {_DAY}(?:,? {_YEAR})?"), _month_day),
    (_rule(rf"{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?"), _day_month),
    (_rule(rf"{_MONTH},?(?: of)? {_YEAR}"), _month_year),
    (_rule(rf"{_WITHIN} {_MONTH}"), _month),
    (_rule(rf"(in|during|of|since|last|this)(?: the)? {_SEASON}(?:(?: of)? {_YEAR})?"), _season),
    (_rule(rf"{_WITHIN} {_YEAR}"), _whole_year),
)


_PRESENT = re.compile(
    r"(?<![\w./:-])(?:now|currently|latest|newest|most\s+recent|nowadays|these\s+days|at\s+the\s+moment|at\s+present"
    r"|(?:^|(?<=the\s)|(?<=our\s)|(?<=its\s)|(?<=my\s))current(?=\s\w))(?![\w/-]|[.:]\w)",
    re.IGNORECASE,
)


def _count(text: str) -> int:
    word = _word(text)
    return int(word) if word.isdecimal() else _NUMBERS[word]


def _word(text: str) -> str:
    """The number alone: "couple" of "a couple"."""
    return text.lower().split()[-1]


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _month_of(number: int, year: int, now: datetime) -> Span:
    start = _midnight(now).replace(year=year, month=number, day=1)
    return start, _month_end(start)


def _month_end(first: datetime) -> datetime:
    return (first + timedelta(days=32)).replace(day=1)


def _year(year: int, now: datetime) -> Span:
    if not MINYEAR <= year < MAXYEAR:
        raise ValueError(year)
    start = _midnight(now).replace(year=year, month=1, day=1)
    return start, start.replace(year=year + 1)


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
