"""The query language: one parser for the command line, Python and the agent.

    oauth refresh token expiry                        ranked by how much of it an entry holds
    "clock skew" -test token_store.py*                a phrase, an exclusion, a prefix
    project:api tool:Edit (is:error OR kind:prompt)   filters; alternatives
    last:30d  before:2026-03-01  on:yesterday         time
    @src/auth/token.py -@tantivy                      what is mentioned, by its name
    /EADDR\\w+/                                        what an analyzer cannot see

Words rank; everything else filters. Whatever is pasted is read: what cannot be meant as the language has it
is taken as words, and a note says so; for a slip (`projct:api`) it says what was probably meant.
"""

from __future__ import annotations

import datetime
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from recollect.agents.registry import names
from recollect.values.text import hyphenated, one_line
from recollect.values.vocabulary import DIGEST_FIELDS, FLAG_FIELDS, KINDS, QUERY_FIELDS, TIME_FIELDS

QUERY_CHARS_MAX = 10_000
DEPTH_MAX = 50
NOTES_MAX = 3  # of how a query was read
SHOWN_CELLS = 40  # of a piece of a query that a note names
PATTERN_STEPS_MAX = 20_000  # of a regular expression with its counted repeats written out: some megabytes
# Of all regular expressions of a query. What it takes to make one ready grows with its length, for a plain
# string with the third power of it (12 s for 3,000 characters), and no time-out is looked at meanwhile.
PATTERN_CHARS_MAX = 500


ALIASES = {"path": "file", "proj": "project", "repo": "project", "since": "after", "until": "before"}


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


@dataclass(frozen=True, slots=True)
class Reading:
    """What a query means, and notes on what of it was not taken as the language would have it."""

    node: Node
    notes: tuple[str, ...] = ()


def parse(query: str, now: datetime.datetime) -> Node:
    """What a query means; `now` is what relative times mean, and its zone what dates do: none is ours."""
    return read(query, now).node


def read(query: str, now: datetime.datetime) -> Reading:
    """Read a query, whatever it is; of a very long one the beginning."""
    reader = _Reader(query[:QUERY_CHARS_MAX], now)
    if len(query) > QUERY_CHARS_MAX:
        reader.note(f"longer than {QUERY_CHARS_MAX:,} characters: only its beginning is searched for")
    node = reader.read()
    more = len(reader.notes) - NOTES_MAX
    told = reader.notes[:NOTES_MAX] + ([f"{more} more of it taken as words"] if more > 0 else [])
    return Reading(node, tuple(told))


def plain_words(query: str) -> AllOf:
    """A query as words and nothing else."""
    return AllOf(tuple(map(Word, query.split())))


def names_of(node: Node) -> Iterator[str]:
    """The names of things that a hit mentions, not of those it must not."""
    if isinstance(node, Is) and node.field == "entity":
        yield node.value
    elif isinstance(node, AllOf | AnyOf):
        for each in node.nodes:
            yield from names_of(each)


def is_of_names(node: Node) -> bool:
    """Whether what is mentioned decides on anything."""
    if isinstance(node, AllOf | AnyOf):
        return any(map(is_of_names, node.nodes))
    if isinstance(node, Not):
        return is_of_names(node.node)
    return isinstance(node, Is) and node.field == "entity"


def words_of(node: Node) -> Iterator[str]:
    """The words and phrases that a hit should show, not those it must not have."""
    if isinstance(node, Word | Phrase):
        yield node.text
    elif isinstance(node, AllOf | AnyOf):
        for each in node.nodes:
            yield from words_of(each)


def asks_digests(node: Node) -> bool:
    """Whether a query has a filter that only digests can answer."""
    if isinstance(node, Not):
        return asks_digests(node.node)
    if isinstance(node, AllOf | AnyOf):
        return any(map(asks_digests, node.nodes))
    return isinstance(node, Is) and node.field in DIGEST_FIELDS


# Tokens, in order of precedence. A regular expression ends at a slash that is not escaped.
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    | (?P<open>\() | (?P<close>\))
    | (?P<or>OR(?=[\s()]|$))
    | (?P<not>-(?=["'/(\w@]))
    | (?P<phrase>"(?P<inside>[^"]*)") | (?P<quote>")
    | (?P<regex>/(?P<pattern>(?:[^/\\\n]|\\.)+)/(?=[\s)]|$))
    | (?P<name>@(?:"(?P<entity_quoted>[^"]*)"|(?P<entity>[^\s()"]+)))
    | (?P<field>[A-Za-z]+):(?P<op>[<>]?)(?:"(?P<quoted>[^"]*)"|(?P<value>[^\s()"]*))
    | (?P<word>[^\s()"]+)
    """,
    re.VERBOSE,
)


# `regex`, which runs patterns because it can be stopped, takes {e} for "with errors"; `re` takes it as it is.
_BRACE = re.compile(r"\\N\{[^}]*\}|\\.|\{(?!\d+(?:,\d*)?\}|,\d+\})", re.DOTALL)
_STEP = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d*)(?:,(\d*))?\}|.", re.DOTALL)


_PLAIN = re.compile(r"(?!.*--)[\w./@-]*\w\*?")  # a word that somebody may want to leave out


class _TooDeep(Exception):
    """More parentheses inside of each other than anybody means."""


class _Reader:
    """Recursive descent over the tokens, which goes on behind whatever it cannot read."""

    def __init__(self, query: str, now: datetime.datetime) -> None:
        self._query, self._now = query, now
        self.notes: list[str] = []
        self._tokens = list(self._meant(m for m in _TOKEN.finditer(query) if not m["space"]))
        self._at = 0
        self._pattern_chars = 0

    def read(self) -> Node:
        try:
            node = self._any(0)
        except _TooDeep:
            self.note("nested too deeply: taken as words")
            return plain_words(self._query)
        return node if node != AllOf(()) else _only(plain_words(self._query).nodes)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _meant(self, tokens: Iterable[re.Match[str]]) -> Iterator[re.Match[str]]:
        """The tokens without quotation marks that have no partner, and minus signs before those."""
        every = list(tokens)
        for n, token in enumerate(every):
            follows = every[n + 1] if n + 1 < len(every) else None
            if token["quote"]:
                self.note("a quotation mark without a partner is taken as text")
            elif not (token["not"] and (follows is None or follows["quote"])):
                yield token

    # -- groups ----------------------------------------------------------------------------------

    def _any(self, depth: int) -> Node:
        if depth > DEPTH_MAX:
            raise _TooDeep
        nodes = [self._all(depth)]
        while self._peek("or"):
            token = self._tokens[self._at]
            self._at += 1
            if self._at >= len(self._tokens) or self._peek("close") or self._peek("or"):
                nodes[-1] = _only((*_parts(nodes[-1]), self._lone_or(token)))
            else:
                nodes.append(self._all(depth))
        nodes = [node for node in nodes if node != AllOf(())] or nodes[:1]
        return nodes[0] if len(nodes) == 1 else AnyOf(tuple(nodes))

    def _all(self, depth: int) -> Node:
        nodes: list[Node] = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if self._peek("close"):
                if depth:
                    break
                self.note("a closing parenthesis without an opening one is taken as text")
                self._at += 1
            elif self._peek("or"):
                if nodes:
                    break
                self._at += 1
                nodes.append(self._lone_or(token))
            else:
                nodes += _parts(self._one(depth))
        return _only(nodes)

    def _one(self, depth: int) -> Node:
        token = self._tokens[self._at]
        self._at += 1
        if token["not"]:
            return self._without(depth)
        if token["open"]:
            node = self._any(depth + 1)
            if self._peek("close"):
                self._at += 1
            else:
                self.note("an opening parenthesis without a closing one is taken as text")
            return node
        return self._leaf(token)

    def _without(self, depth: int) -> Node:
        """What follows a minus, left out; what a pasted line begins with (`-rw-r--r--`) is none."""
        if self._at >= len(self._tokens):
            return AllOf(())
        token = self._tokens[self._at]
        if self._at == 1 and (token["word"] or (token["field"] and _field_of(token) not in QUERY_FIELDS)):
            shown = one_line(token[0], SHOWN_CELLS)
            if not _PLAIN.fullmatch(token[0]):
                self.note(f"the minus before {shown} is taken as text")
                self._at += 1
                return Word(f"-{token[0]}")
            self.note(f"entries with {shown} are left out, as a minus stands before it")
        node = self._one(depth)
        return Not(node) if node != AllOf(()) else node

    def _lone_or(self, token: re.Match[str]) -> Word:
        self.note("OR with nothing on one side is taken as a word")
        return Word(token[0])

    # -- leaves ----------------------------------------------------------------------------------

    def _leaf(self, token: re.Match[str]) -> Node:
        if token["phrase"] is not None:
            return Phrase(token["inside"])
        if token["regex"]:
            return self._regex(token)
        if token["name"]:
            name = (token["entity_quoted"] or (token["entity"] or "").rstrip(",;:?!")).strip()
            return Is("entity", name) if name else Word(token[0])
        field = _field_of(token)
        value = token["quoted"] or token["value"] or ""
        if field in QUERY_FIELDS and not value.startswith("//"):
            return self._field(token, field, token["op"], value)
        text = token[0]
        if field and not value.startswith("//"):
            meant = next((each for each in QUERY_FIELDS if _near(token["field"], each)), "")
            if meant:
                return self._as_text(token, f"there is no field {token['field']}", f"{meant}:{value}")
        return Word(text[:-1], prefix=True) if text.endswith("*") and len(text) > 1 else Word(text)

    def _as_text(self, token: re.Match[str], why: str, meant: str = "") -> Word:
        """A piece of a query as a word, and a note that says why, and what was probably meant."""
        shown = one_line(token[0], SHOWN_CELLS)
        asked = f"; did you mean {one_line(meant, SHOWN_CELLS)}?" if meant else ""
        self.note(f"{shown} is taken as text: {why}{asked}")
        return Word(token[0])

    def _fits(self, pattern: str) -> bool:
        self._pattern_chars += len(pattern)
        return self._pattern_chars <= PATTERN_CHARS_MAX

    def _too_long(self, token: re.Match[str]) -> Word:
        return self._as_text(
            token, f"regular expressions have {PATTERN_CHARS_MAX} characters together at most"
        )

    def _regex(self, token: re.Match[str]) -> Node:
        pattern = token["pattern"]
        if not self._fits(pattern):
            return self._too_long(token)
        ready, trouble = ready_pattern(pattern)
        return self._as_text(token, trouble) if trouble else Regex(ready)

    def _field(self, token: re.Match[str], field: str, op: str, value: str) -> Node:
        if not value:
            return self._as_text(token, f"{field}: has no value, as in {_EXAMPLES[field]}")
        if op and field != "time":
            return self._as_text(token, "only time: takes < and >, as in time:>2026-03-01")
        if field in TIME_FIELDS:
            return self._time(token, field, op, value)
        if field in DIGEST_FIELDS:
            value = hyphenated(value)
        known = _values_of(field)
        if known and value.lower() not in known:
            meant = next(iter(get_close_matches(value.lower(), known, 1)), "")
            return self._as_text(token, f"{field}: takes {', '.join(known)}", meant and f"{field}:{meant}")
        return Is(field, value.lower() if field in FLAG_FIELDS else value)

    def _time(self, token: re.Match[str], field: str, op: str, value: str) -> Node:
        if field == "last":
            match = re.fullmatch(r"(\d{1,5})(min|[hdwmy])", value)
            if match is None:
                return self._as_text(token, "last: takes 90min, 12h, 30d, 8w, 6m, 1y")
            now_ms = int(self._now.timestamp() * 1000)
            return Between(now_ms - int(match[1]) * _SPAN_MS[match[2]], TIME_MAX_MS)
        moment = self._moment(value)
        if moment is None:
            meant = next(iter(get_close_matches(value.lower(), ("today", "yesterday"), 1)), "")
            why = f"{field}: takes 2026-03-01, 2026-03, 2026-03-01T14:30, today, yesterday"
            return self._as_text(token, why, meant and f"{field}:{op}{meant}")
        start, end = moment
        if field == "on" or (field == "time" and not op):
            return Between(start, end)
        if field == "before" or op == "<":
            return Between(0, start)
        return Between(end if op == ">" else start, TIME_MAX_MS)

    def _moment(self, value: str) -> tuple[int, int] | None:
        """The first millisecond of what a word or date names, and the first one after it, if any."""
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
            return None

    def _peek(self, kind: str) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at][kind] is not None


def _parts(node: Node) -> tuple[Node, ...]:
    """What stands beside each other in a group of which nothing is left; anything else is itself."""
    return () if node == AllOf(()) else (node,)


def _only(nodes: Sequence[Node]) -> Node:
    return nodes[0] if len(nodes) == 1 else AllOf(tuple(nodes))


def _field_of(token: re.Match[str]) -> str:
    named = (token["field"] or "").lower()
    return ALIASES.get(named, named)


def _values_of(field: str) -> Sequence[str]:
    """All values that a field can have; none where anything may be one."""
    if field == "kind":
        return KINDS
    if field == "role":
        from recollect.search.text.match import ROLES  # which imports what is above

        return tuple(ROLES)
    return FLAG_FIELDS.get(field, ()) or DIGEST_FIELDS.get(field, ())


def ready_pattern(pattern: str) -> tuple[str, str]:
    """A regular expression as `regex` takes it; or "", and why it is none that can be run."""
    if len(pattern) > PATTERN_CHARS_MAX:
        return "", f"it has more than {PATTERN_CHARS_MAX} characters"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            re.compile(pattern)
    except (re.error, ValueError, RecursionError, OverflowError, FutureWarning) as error:
        return "", f"it is no regular expression ({one_line(str(error), 80)})"
    if _steps(pattern) > PATTERN_STEPS_MAX:
        return "", f"written out, it has more than {PATTERN_STEPS_MAX:,} steps"
    return _BRACE.sub(lambda found: found[0] if found[0] != "{" else r"\{", pattern), ""


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
    "branch": "branch:main", "channel": "channel:slack", "dir": "dir:src/auth", "entity": "entity:tantivy",
    "file": "file:token_store.py", "has": "has:image", "host": "host:laptop",
    "is": "is:error", "kind": "kind:prompt", "label": "label:domain=payments", "last": "last:30d",
    "model": "model:opus", "on": "on:yesterday", "outcome": "outcome:failed",
    "pattern": "pattern:error-recovery",
    "project": "project:api", "role": "role:user", "session": "session:3f2a", "tag": "tag:preference",
    "thread": "thread:3f2a", "time": "time:>2026-03-01", "tool": "tool:Edit",
}  # fmt: skip
