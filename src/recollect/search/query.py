"""The query language: one parser for the command line, Python and the agent.

    oauth refresh token expiry                        ranked by how much of it an entry holds
    "clock skew" -test token_store.py*                a phrase, an exclusion, a prefix
    project:api tool:Edit (is:error OR kind:prompt)   filters; alternatives
    last:30d  before:2026-03-01  on:yesterday         time
    /EADDR\\w+/                                        what an analyzer cannot see

Words rank; everything else filters. A mistake is a `QueryError` that points at its column.
"""

from __future__ import annotations

import datetime
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from recollect.agents.registry import names
from recollect.values.errors import UsageError
from recollect.values.vocabulary import FLAG_FIELDS, QUERY_FIELDS, TIME_FIELDS

QUERY_CHARS_MAX = 10_000
DEPTH_MAX = 50
PATTERN_STEPS_MAX = 20_000  # of a regular expression with its counted repeats written out: some megabytes
# Of all regular expressions of a query. What it takes to make one ready grows with its length, for a plain
# string with the third power of it (12 s for 3,000 characters), and no time-out is looked at meanwhile.
PATTERN_CHARS_MAX = 500


ALIASES = {"path": "file", "proj": "project", "repo": "project", "since": "after", "until": "before"}


class QueryError(UsageError):
    """A query that cannot be read. `column` counts from 1."""

    def __init__(self, query: str, column: int, message: str, hint: str = "") -> None:
        self.column = column
        shown = query[max(column - 41, 0) : column + 39]
        mark = " " * min(column - 1, 40) + "^"
        super().__init__(f"column {column}: {message}\n  {shown}\n  {mark}", hint=hint)


@dataclass(frozen=True, slots=True)
class Word:
    """A word that ranks; with `prefix`, any word that starts so."""

    text: str
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that must stand next to each other."""

    text: str


@dataclass(frozen=True, slots=True)
class Regex:
    """A regular expression over the text itself."""

    pattern: str


@dataclass(frozen=True, slots=True)
class Is:
    """A field with a value: `tool:Edit`, `is:error`."""

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class Between:
    """A time in [from_ms, to_ms)."""

    from_ms: int
    to_ms: int


@dataclass(frozen=True, slots=True)
class Not:
    """Everything that does not match."""

    node: Node


@dataclass(frozen=True, slots=True)
class AllOf:
    """Everything that matches each filter, ranked by the words among them."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Everything that matches at least one."""

    nodes: tuple[Node, ...]


Node = Word | Phrase | Regex | Is | Between | Not | AllOf | AnyOf

TIME_MAX_MS = 1 << 53


def parse(query: str, now: datetime.datetime) -> Node:
    """Read a query; `now` is what relative times mean, and its zone what dates do: none is the system's."""
    if len(query) > QUERY_CHARS_MAX:
        raise QueryError(query, QUERY_CHARS_MAX, f"longer than {QUERY_CHARS_MAX:,} characters")
    return _Reader(query, now).read()


def words_of(node: Node) -> Iterator[str]:
    """The words and phrases that a hit should show, not those it must not have."""
    if isinstance(node, Word | Phrase):
        yield node.text
    elif isinstance(node, AllOf | AnyOf):
        for each in node.nodes:
            yield from words_of(each)


# Tokens, in order of precedence. A regular expression ends at a slash that is not escaped.
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    | (?P<open>\() | (?P<close>\))
    | (?P<or>OR(?=[\s()]|$))
    | (?P<not>-(?=["'/(\w@]))
    | (?P<phrase>"(?P<inside>[^"]*)(?P<ended>"?))
    | (?P<regex>/(?P<pattern>(?:[^/\\\n]|\\.)+)/(?=[\s)]|$))
    | (?P<name>@(?P<entity>[^\s()"]+))
    | (?P<field>[A-Za-z]+):(?P<op>[<>]?)(?:"(?P<quoted>[^"]*)"|(?P<value>[^\s()"]*))
    | (?P<word>[^\s()"]+)
    """,
    re.VERBOSE,
)


# `regex`, which runs patterns because it can be stopped, takes {e} for "with errors"; `re` takes it as it is.
_BRACE = re.compile(r"\\N\{[^}]*\}|\\.|\{(?!\d+(?:,\d*)?\}|,\d+\})", re.DOTALL)
_STEP = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d*)(?:,(\d*))?\}|.", re.DOTALL)


class _Reader:
    """Recursive descent over the tokens."""

    def __init__(self, query: str, now: datetime.datetime) -> None:
        self._query, self._now = query, now
        self._tokens = [m for m in _TOKEN.finditer(query) if m.lastgroup != "space" and not m["space"]]
        self._at = 0
        self._pattern_chars = 0

    def read(self) -> Node:
        node = self._any(0)
        if self._at < len(self._tokens):
            self._fail("this closing parenthesis has no opening one", "remove it, or quote it")
        return node

    def _any(self, depth: int) -> Node:
        if depth > DEPTH_MAX:
            self._fail("nested too deeply")
        nodes = [self._all(depth)]
        while self._peek("or"):
            self._at += 1
            if self._at >= len(self._tokens) or self._peek("close") or self._peek("or"):
                self._fail("OR needs something on both sides", 'quote it to search for the word: "OR"')
            nodes.append(self._all(depth))
        return nodes[0] if len(nodes) == 1 else AnyOf(tuple(nodes))

    def _all(self, depth: int) -> Node:
        nodes: list[Node] = []
        while self._at < len(self._tokens) and not self._peek("close"):
            if self._peek("or"):
                if not nodes:
                    self._fail("OR needs something on both sides", 'quote it to search for the word: "OR"')
                break
            nodes.append(self._one(depth))
        return nodes[0] if len(nodes) == 1 else AllOf(tuple(nodes))

    def _one(self, depth: int) -> Node:
        token = self._tokens[self._at]
        if token["not"]:
            self._at += 1
            if self._at >= len(self._tokens):
                self._fail("nothing follows the minus")
            if name := self._tokens[self._at]["entity"]:
                # Without words of its stem either: what is left out need not be read.
                self._at += 1
                return Not(Phrase(name))
            return Not(self._one(depth))
        if token["open"]:
            start = self._at
            self._at += 1
            node = self._any(depth + 1)
            if not self._peek("close"):
                self._at = start
                self._fail("this parenthesis is never closed", "close it, or quote it")
            self._at += 1
            return node
        node = self._leaf(token)
        self._at += 1
        return node

    def _leaf(self, token: re.Match[str]) -> Node:
        if token["phrase"] is not None:
            if not token["ended"]:
                self._fail("this quotation is never closed", "close it with another quotation mark")
            return Phrase(token["inside"])
        if token["regex"]:
            return self._regex(token["pattern"])
        if token["name"]:
            name = token["entity"]
            pattern = self._counted(rf"(?i)(?<![\w]){re.escape(name)}(?![\w])")
            return AllOf((Phrase(name), Regex(pattern)))
        named = (token["field"] or "").lower()
        if (field := ALIASES.get(named, named)) in QUERY_FIELDS:
            return self._field(field, token["op"], token["quoted"] or token["value"] or "")
        text = token[0]
        if token["field"] and self._looks_like_field(token):
            self._fail(f"there is no field {token['field']!r}", "fields: " + ", ".join(sorted(QUERY_FIELDS)))
        return Word(text[:-1], prefix=True) if text.endswith("*") and len(text) > 1 else Word(text)

    def _looks_like_field(self, token: re.Match[str]) -> bool:
        """`projct:api` is a slip; `error:` and `http://x` are text."""
        near = any(_near(token["field"], field) for field in QUERY_FIELDS)
        return near and not (token["value"] or "").startswith("//")

    def _counted(self, pattern: str) -> str:
        self._pattern_chars += len(pattern)
        if self._pattern_chars > PATTERN_CHARS_MAX:
            self._fail(f"regular expressions and @names of more than {PATTERN_CHARS_MAX} characters together")
        return pattern

    def _regex(self, pattern: str) -> Regex:
        self._counted(pattern)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", FutureWarning)
                re.compile(pattern)
            if _steps(pattern) > PATTERN_STEPS_MAX:
                self._fail(f"written out, it has more than {PATTERN_STEPS_MAX:,} steps", "repeat less of it")
        except (re.error, ValueError, RecursionError, OverflowError, FutureWarning) as error:
            self._fail(f"not a regular expression: {error}")
        return Regex(_BRACE.sub(lambda found: found[0] if found[0] != "{" else r"\{", pattern))

    def _field(self, field: str, op: str, value: str) -> Node:
        if not value:
            self._fail(f"{field}: needs a value", f"for example {_EXAMPLES[field]}")
        if op and field != "time":
            self._fail(f"{field}: cannot be compared", "only time: takes < and >, as in time:>2026-03-01")
        if field in FLAG_FIELDS:
            known = FLAG_FIELDS[field]
            if value not in known:
                self._fail(f"{field}:{value} means nothing", f"{field}: takes {', '.join(known)}")
            return Is(field, value)
        if field in TIME_FIELDS:
            return self._time(field, op, value)
        return Is(field, value)

    def _time(self, field: str, op: str, value: str) -> Between:
        now_ms = int(self._now.timestamp() * 1000)
        if field == "last":
            match = re.fullmatch(r"(\d{1,5})(min|[hdwmy])", value)
            if match is None:
                self._fail(f"last:{value} is no span of time", "last: takes 90min, 12h, 30d, 8w, 6m, 1y")
            return Between(now_ms - int(match[1]) * _SPAN_MS[match[2]], TIME_MAX_MS)
        start, end = self._moment(field, value)
        if field == "on" or (field == "time" and not op):
            return Between(start, end)
        if field == "before" or op == "<":
            return Between(0, start)
        return Between(end if op == ">" else start, TIME_MAX_MS)

    def _moment(self, field: str, value: str) -> tuple[int, int]:
        """The first millisecond of what a word or date names, and the first one after it."""
        today = self._now.replace(hour=0, minute=0, second=0, microsecond=0)
        day = datetime.timedelta(days=1)
        if value in ("today", "yesterday"):
            start = today if value == "today" else today - day
            return _ms(start), _ms(start + day)
        try:
            if re.fullmatch(r"\d{4}-\d{2}", value):
                start = datetime.datetime.fromisoformat(value + "-01").replace(tzinfo=self._now.tzinfo)
                return _ms(start), _ms((start + 31 * day).replace(day=1))
            start = datetime.datetime.fromisoformat(value)
            start = start if start.tzinfo else start.replace(tzinfo=self._now.tzinfo)
            length = day if re.fullmatch(r"[\d-]+", value) else datetime.timedelta(seconds=1)
            return _ms(start), _ms(start + length)
        except (ValueError, OverflowError):
            hint = f"{field}: takes 2026-03-01, 2026-03, 2026-03-01T14:30, yesterday"
            self._fail(f"{field}:{value} is no date", hint)

    def _peek(self, kind: str) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at][kind] is not None

    def _fail(self, message: str, hint: str = "") -> NoReturn:
        ended = self._at >= len(self._tokens)
        column = len(self._query) if ended else self._tokens[self._at].start() + 1
        raise QueryError(self._query, max(column, 1), message, hint)


def _steps(pattern: str) -> int:
    """How long a regular expression is with every counted repeat written out, as `regex` does."""
    sizes, last = [0], 0  # of the groups that are open, and of what a repeat would repeat
    for step in _STEP.finditer(pattern):
        if step[0] == "(":
            sizes.append(0)
        elif step[0] == ")" and len(sizes) > 1:
            last = sizes.pop() + 1
            sizes[-1] += last
        elif step[1] or step[2]:
            times = max(int(step[2] or step[1] or 1), 1)
            sizes[-1] += last * (times - 1)
            last *= times
        else:
            sizes[-1] += 1
            last = 1
    return sum(sizes)


def _near(word: str, field: str) -> bool:
    """Whether a word is a field's name with one letter wrong, missing, added or swapped."""
    if abs(len(word) - len(field)) > 1 or len(word) < 4:
        return False
    if len(word) == len(field):
        wrong = [n for n in range(len(word)) if word[n] != field[n]]
        return len(wrong) == 1 or (
            len(wrong) == 2 and sorted(word) == sorted(field) and wrong[1] == wrong[0] + 1
        )
    longer, shorter = (word, field) if len(word) > len(field) else (field, word)
    return any(longer[:n] + longer[n + 1 :] == shorter for n in range(len(longer)))


def _ms(moment: datetime.datetime) -> int:
    return max(int(moment.timestamp() * 1000), 0)


_DAY_MS = 86_400_000
_SPAN_MS = {
    "min": 60_000,
    "h": 3_600_000,
    "d": _DAY_MS,
    "w": 7 * _DAY_MS,
    "m": 30 * _DAY_MS,
    "y": 365 * _DAY_MS,
}

_EXAMPLES = {
    "after": "after:2026-03-01", "agent": f"agent:{names()[0]}", "before": "before:2026-03-01",
    "branch": "branch:main", "dir": "dir:src/auth", "file": "file:token_store.py", "has": "has:image",
    "host": "host:laptop",
    "is": "is:error", "kind": "kind:prompt", "last": "last:30d", "model": "model:opus", "on": "on:yesterday",
    "project": "project:api", "role": "role:user", "session": "session:3f2a", "tag": "tag:release",
    "thread": "thread:3f2a", "time": "time:>2026-03-01", "tool": "tool:Edit",
}  # fmt: skip
