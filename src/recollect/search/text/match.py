"""From a query's tree to what tantivy runs.

A query is asked in two ways. `ranked` gives every entry that satisfies the filters and holds
at least one of the words, scored by the words. `filters` gives every entry that satisfies the
filters, whatever its words: what a search by meaning may choose from.

A regular expression is asked in neither way. It reads the text itself, so it is left out here
and applied afterwards (`patterns`), which is why it may not stand inside OR.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

import tantivy

from recollect.search.mentions import Mentions
from recollect.search.query import AllOf, AnyOf, Between, Is, Node, Not, Phrase, Regex, Word, words_of
from recollect.search.session_filters import SESSION_FIELDS, Sessions
from recollect.search.text.fields import (
    EXPORTED_TERM,
    encodable,
    is_grammar,
    mark_term,
    path_term,
    split_humps,
)
from recollect.search.text.index import TextIndex
from recollect.search.weights import (
    ABOUT_FILE,
    BM25_MAX,
    FILE_WEIGHT,
    PARTS_WEIGHT,
    PHRASE_WEIGHT,
    SENTENCE_TERMS,
    WHOLE_WEIGHT,
)
from recollect.values.errors import UsageError
from recollect.values.lazy import lazy
from recollect.values.records import Kind
from recollect.values.stop_words import STOP_WORDS

TERMS_MAX = 64  # of one query that rank; of more the rarest are taken
SENTENCE_TERMS_MAX = 64
COMPLETE_WORDS_MAX = 64
ROWS_AS_TERMS = 1_000  # up to so many, single terms are several times faster than a set of them
ROW_MAX = 1 << 62
VALUE_CHARS_MAX = 100  # of a value that is looked for inside others

ROLES = {
    "user": (Kind.PROMPT,),
    "assistant": (Kind.ANSWER, Kind.THOUGHT, Kind.CALL),
    "note": (Kind.NOTE,),
    "tool": (Kind.RESULT,),
    "system": (Kind.IMAGE, Kind.SUMMARY, Kind.CONTEXT, Kind.EVENT, Kind.UNKNOWN),
}

Query = tantivy.Query
Clauses = list[tuple[tantivy.Occur, Query]]


class Matcher:
    """Builds queries for one text index and one state of the store's sessions."""

    def __init__(self, index: TextIndex, sessions: Sessions, mentions: Mentions) -> None:
        self._index = index
        self._sessions, self._mentions = sessions, mentions
        self._ranked: dict[Node, Query] = {}
        self._filters: dict[Node, Query | None] = {}
        self._told: dict[tuple[str, str], list[str]] = {}

    def ranked(self, node: Node) -> Query:
        """What satisfies the filters and holds at least one of the words."""
        if node not in self._ranked:
            self._ranked[node] = self._without_copies(self._build(node, self.words) or Query.all_query())
        return self._ranked[node]

    def filters(self, node: Node) -> Query | None:
        """What satisfies the filters; None when there are none."""
        if node not in self._filters:
            found = self._build(node, lambda words: None)
            if found is None and self._late_copies is not None:
                found = _unscored(Query.all_query())
            self._filters[node] = found if found is None else self._without_copies(found)
        return self._filters[node]

    def _without_copies(self, query: Query) -> Query:
        late = self._late_copies
        return query if late is None else Query.boolean_query([(_MUST, query), (_MUST_NOT, late)])

    @lazy
    def _late_copies(self) -> Query | None:
        """What is in the index because it was no copy yet when it came; None for nothing."""
        count = self._index.frequency("flag", EXPORTED_TERM)  # most stores have none, and every search asks
        exported = self._index.newest(self._term("flag", EXPORTED_TERM), count).rows.tolist()
        copies = self._sessions.copies_among(exported) if exported else []
        return self._numbered("row", copies) if copies else None

    def words(self, words: Sequence[Word]) -> Query:
        """What holds at least one of these words, scored by all of them."""
        clauses: Clauses = [(_SHOULD, each) for each in self._terms(words)]
        return Query.boolean_query(clauses) if clauses else Query.empty_query()

    def scored_rows(self, node: Node, rows: Sequence[int]) -> Query:
        """Those of these entries that pass the filters, with words or without, scored by the words."""
        return self._scored(node, self._numbered("row", rows))

    def scored_turns(self, node: Node, turns: Sequence[int]) -> Query:
        """The same of these turns."""
        return self._scored(node, self._numbered("turn", turns))

    def exact(self, node: Node) -> Query | None:
        """What holds the question itself, a name, a piece of code or a sentence, or is about its file.

        None for mere words.
        """
        text = " ".join(words_of(node))
        names, terms = self._index.analyze("whole", text), self._index.analyze("body", text)
        is_code = bool(names) or split_humps(text) != text
        if self._index.analyze("cjk", text):
            query = self.phrase(text)
        elif (
            len(text.split()) > 1
            and (files := self._files(text))
            and len(self._telling_words(text)) <= ABOUT_FILE
        ):
            query = self._done_to(files, text)
        elif len(names) == 1 and len(text.split()) == 1:
            query = self._term("whole", names[0])
            if "/" in names[0]:  # the end of a path is one too
                ends = [(_SHOULD, self._term("file", path_term(text))), (_SHOULD, self._sequence(terms))]
                query = Query.boolean_query([(_SHOULD, query), *ends])
        elif terms and (is_code or len(terms) >= SENTENCE_TERMS):
            query = self._sequence(terms[:SENTENCE_TERMS_MAX])
        else:
            return None
        filters = self.filters(node)
        return Query.boolean_query([(_MUST, query), *([(_MUST, filters)] if filters else [])])

    def complete(self, node: Node) -> Query | None:
        """What holds every word of the question that says something; None where that is less than two.

        A long text asks for no such thing: it stands somewhere as it is, or nowhere.
        """
        asked = " ".join(words_of(node)).split()
        words = [self._anywhere(word) for word in asked] if len(asked) <= COMPLETE_WORDS_MAX else []
        every: Clauses = [(_MUST, each) for each in words if each is not None]
        if len(every) < 2:
            return None
        filters = self.filters(node)
        return Query.boolean_query([*every, *([(_MUST, filters)] if filters else [])])

    def _anywhere(self, word: str) -> Query | None:
        """What holds a word, or all of its parts; None for one that says nothing."""
        terms = {field: self._index.analyze(field, word) for field in ("body", "cjk")}
        telling = {
            field: [term for term in found if term not in self._stop_terms and not is_grammar(term)]
            for field, found in terms.items()
        }
        every: Clauses = [(_MUST, self._term(field, term)) for field in telling for term in telling[field]]
        return Query.boolean_query(every) if every else None

    def ceiling(self, node: Node) -> float:
        """About what an entry scores that holds every word: the scale of text scores."""
        text = " ".join(words_of(node))
        return BM25_MAX * sum(
            self._index.rarity(field, term) for field in _SCALED for term in self._telling(field, text)
        )

    def both(self, query: Query, rows: Sequence[int]) -> Query:
        """Those of these entries that a query finds."""
        return Query.boolean_query([(_MUST, self._numbered("row", rows)), (_MUST, query)])

    def _scored(self, node: Node, among: Query) -> Query:
        clauses: Clauses = [(_MUST, among), (_SHOULD, self.ranked(node))]
        filters = self.filters(node)
        return Query.boolean_query([*clauses, *([(_MUST, _unscored(filters))] if filters else [])])

    def _numbered(self, field: str, numbers: Sequence[int]) -> Query:
        if len(numbers) > ROWS_AS_TERMS:
            return _unscored(Query.term_set_query(self._index.schema, field, list(numbers)))
        return _unscored(Query.boolean_query([(_SHOULD, self._term(field, each)) for each in numbers]))

    # -- the tree ----------------------------------------------------------------------------

    def _build(self, node: Node, words: Callable[[Sequence[Word]], Query | None]) -> Query | None:
        """A query for a node, or None where anything will do."""
        if isinstance(node, Word):
            return words([node])
        if isinstance(node, AllOf):
            return self._all(node, words)
        if isinstance(node, AnyOf):
            if any(_has_pattern(each) for each in node.nodes):
                raise UsageError("/regex/ cannot stand inside OR", hint="/a|b/ can")
            found = [self._build(each, words) for each in node.nodes]
            if any(each is None for each in found):
                return None
            return Query.boolean_query([(_SHOULD, each) for each in found if each is not None])
        if isinstance(node, Not):
            return self._not(node)
        if isinstance(node, Phrase):
            return self.phrase(node.text) if node.text.strip() else None
        return None if isinstance(node, Regex) else _unscored(self._filter(node))

    def _all(self, node: AllOf, words: Callable[[Sequence[Word]], Query | None]) -> Query | None:
        ranking = [each for each in node.nodes if isinstance(each, Word)]
        found = [self._build(each, words) for each in node.nodes if not isinstance(each, Word)]
        if ranking:
            found.append(words(ranking))
        clauses: Clauses = [(_MUST, each) for each in found if each is not None]
        return Query.boolean_query(clauses) if clauses else None

    def _not(self, node: Not) -> Query | None:
        if _has_pattern(node.node):
            if isinstance(node.node, Regex):
                return None
            raise UsageError("/regex/ cannot stand inside -( )", hint="write -/pattern/ alone")
        inner = self._build(node.node, self.words)
        if inner is None:
            return Query.empty_query()
        return Query.boolean_query([(_MUST, _unscored(Query.all_query())), (_MUST_NOT, inner)])

    # -- words -------------------------------------------------------------------------------

    def phrase(self, text: str) -> Query:
        """What holds these words next to each other; of Chinese and Japanese, these characters."""
        clauses: Clauses = [(_MUST, self._term("cjk", each)) for each in self._index.analyze("cjk", text)]
        if not clauses:
            terms = self._index.analyze("body", text)
            clauses = [(_MUST, self._sequence(terms))] if terms else []
        if whole := _identifier(self._index.analyze("whole", text)):
            clauses.append((_SHOULD, Query.boost_query(self._term("whole", whole), WHOLE_WEIGHT)))
        return Query.boolean_query(clauses) if clauses else Query.empty_query()

    def _terms(self, words: Sequence[Word]) -> Iterator[Query]:
        text = " ".join(word.text for word in words if not word.prefix)
        for field, weight in _FIELDS.items():
            for term in self._telling(field, text):
                if field == "body":
                    yield self._term(field, term)
                elif self._index.frequency(field, term):
                    yield Query.boost_query(self._term(field, term), weight)
        for path in self._files(text):
            yield Query.boost_query(self._term("file", path), FILE_WEIGHT)
        sequence = self._index.analyze("body", text)
        if 1 < len(sequence) < SENTENCE_TERMS:
            yield Query.boost_query(self._sequence(sequence), PHRASE_WEIGHT)
        for word in words:
            if word.prefix:
                yield self._prefix(word.text)

    def _telling(self, field: str, text: str) -> list[str]:
        """The terms that say something, the rarest of them if there are too many."""
        if (field, text) not in self._told:
            self._told[field, text] = self._told_by(field, text)
        return self._told[field, text]

    def _told_by(self, field: str, text: str) -> list[str]:
        every = sorted(set(self._index.analyze(field, text)))
        terms = [term for term in every if term not in self._stop_terms and not is_grammar(term)] or every
        if len(terms) <= TERMS_MAX:
            return terms
        return sorted(terms, key=lambda term: (self._index.frequency(field, term), term))[:TERMS_MAX]

    @lazy
    def _stop_terms(self) -> frozenset[str]:
        return frozenset(self._index.analyze("body", " ".join(STOP_WORDS)))

    def _files(self, text: str) -> list[str]:
        """The words of a question that calls name as their file."""
        return [path for path in _paths(text) if self._index.frequency("file", path)]

    def _done_to(self, files: list[str], text: str) -> Query:
        """The calls that are about files; only those of a tool that a word names, where there are any."""
        about: Clauses = [(_MUST, self._term("file", path)) for path in files]
        named: Clauses = [(_SHOULD, self._term("tool", word)) for word in text.lower().split()]
        with_tool = Query.boolean_query([*about, (_MUST, Query.boolean_query(named))])
        return with_tool if self._index.count(with_tool) else Query.boolean_query(about)

    def _telling_words(self, text: str) -> list[str]:
        return [word for word in text.split() if self._anywhere(word) is not None]

    def _prefix(self, text: str) -> Query:
        """Words that begin so, or whose stem this is; of several words the last may go on."""
        terms = [each.lower() for each in re.findall(r"\w+", _unaccented(encodable(text)))]
        if not terms or len(terms[-1]) > VALUE_CHARS_MAX:
            return Query.empty_query()
        if len(terms) > 1:
            stems = [*self._index.analyze("body", " ".join(terms[:-1])), terms[-1]]
            return Query.phrase_prefix_query(self._index.schema, "body", stems)
        begun = Query.regex_query(self._index.schema, "body", _literal(terms[0]) + ".*")
        stems = self._index.analyze("body", terms[0])
        return Query.boolean_query([(_SHOULD, begun), *((_SHOULD, self._term("body", s)) for s in stems)])

    def _sequence(self, terms: list[str]) -> Query:
        if len(terms) == 1:
            return self._term("body", terms[0])
        return Query.phrase_query(self._index.schema, "body", list(terms))

    def _term(self, field: str, value: str | int) -> Query:
        return Query.term_query(self._index.schema, field, value, "freq")

    # -- filters -----------------------------------------------------------------------------

    def _filter(self, node: Is | Between) -> Query:
        if isinstance(node, Between):
            # 0 is a time that nobody knows: no filter on time lets it through.
            return Query.range_query(
                self._index.schema,
                "time",
                tantivy.FieldType.Integer,
                max(node.from_ms, 1),
                node.to_ms,
                include_upper=False,
            )
        if node.field in SESSION_FIELDS:
            rows = self._sessions.where(node.field, node.value)
            return Query.term_set_query(self._index.schema, "session", rows)
        return _EVALUATORS[node.field](self, node)

    def _flag(self, node: Is) -> Query:
        if node.value.lower() == "imported":
            return Query.term_set_query(self._index.schema, "session", self._sessions.imported())
        return self._term("flag", node.value)

    def _kind(self, node: Is) -> Query:
        return self._one_of(node, {kind.name.lower(): (kind,) for kind in Kind})

    def _role(self, node: Is) -> Query:
        return self._one_of(node, ROLES)

    def _one_of(self, node: Is, named: dict[str, tuple[Kind, ...]]) -> Query:
        kinds = named.get(node.value.lower())
        if kinds is None:
            raise UsageError(
                f"{node.field}:{node.value} means nothing", hint=f"{node.field}: takes {', '.join(named)}"
            )
        return Query.term_set_query(self._index.schema, "kind", [int(kind) for kind in kinds])

    def _tool(self, node: Is) -> Query:
        value = encodable(node.value.lower())
        return self._like("tool", value[:-1], "", ".*") if value.endswith("*") else self._term("tool", value)

    def _model(self, node: Is) -> Query:
        return self._like("model", encodable(node.value.lower()), ".*", ".*")

    def _path(self, node: Is) -> Query:
        return self._term(node.field, path_term(encodable(node.value)))

    def _like(self, field: str, value: str, before: str, behind: str) -> Query:
        """Terms with this in them; tantivy takes no long patterns, and no term is that long."""
        if len(value) > VALUE_CHARS_MAX:
            return Query.empty_query()
        return Query.regex_query(self._index.schema, field, before + _literal(value) + behind)

    def _entity(self, node: Is) -> Query:
        """What mentions a thing; of what nobody looked at yet, what holds its name."""
        mentioned = self._index.made_of(self._mentions.rows(node.value))
        first = self._mentions.read_to
        if not self._mentions.unread:
            return mentioned
        unread = Query.range_query(
            self._index.schema, "row", tantivy.FieldType.Unsigned, first, ROW_MAX, include_upper=False
        )
        named = Query.boolean_query([(_MUST, unread), (_MUST, self.phrase(node.value))])
        return Query.boolean_query([(_SHOULD, mentioned), (_SHOULD, named)])

    def _tag(self, node: Is) -> Query:
        """What was saved with a tag; `raw:TYPE` is what an agent calls the type of a record."""
        dimension, _, value = node.value.lower().partition(":")
        if dimension == "raw" and value:
            return self._like("type", encodable(value), "", "(/.*)?")
        return self._term("tag", mark_term(node.value))

    def _channel(self, node: Is) -> Query:
        return self._term("channel", mark_term(node.value))


_MUST, _SHOULD, _MUST_NOT = tantivy.Occur.Must, tantivy.Occur.Should, tantivy.Occur.MustNot
_SCALED = ("body", "cjk")  # a word that is in no identifier would be taken for the rarest of all
_FIELDS = {"body": 1.0, "parts": PARTS_WEIGHT, "whole": WHOLE_WEIGHT, "cjk": 1.0}
_EVALUATORS: dict[str, Callable[[Matcher, Is], Query]] = {
    "channel": Matcher._channel,
    "dir": Matcher._path,
    "entity": Matcher._entity,
    "file": Matcher._path,
    "has": Matcher._flag,
    "is": Matcher._flag,
    "kind": Matcher._kind,
    "model": Matcher._model,
    "role": Matcher._role,
    "tag": Matcher._tag,
    "tool": Matcher._tool,
}


def patterns(node: Node) -> list[tuple[str, bool]]:
    """The regular expressions an entry's text must match, or with False must not."""
    nodes = node.nodes if isinstance(node, AllOf) else (node,)
    found: list[tuple[str, bool]] = []
    for each in nodes:
        wanted = not isinstance(each, Not)
        inner = each.node if isinstance(each, Not) else each
        if isinstance(inner, Regex):
            found.append((inner.pattern, wanted))
        elif isinstance(inner, AllOf):
            found += patterns(inner)
    return found


def _has_pattern(node: Node) -> bool:
    if isinstance(node, AllOf | AnyOf):
        return any(_has_pattern(each) for each in node.nodes)
    return isinstance(node, Regex) or (isinstance(node, Not) and _has_pattern(node.node))


def _paths(text: str) -> list[str]:
    """The words of a question that may be files, as the index has those."""
    words = (word.strip("?!,;:'\"()`") for word in text.split())
    return [path_term(word) for word in words if "." in word[1:-1] or "/" in word or "\\" in word]


def _identifier(terms: list[str]) -> str:
    return terms[0] if len(terms) == 1 else ""


def _unaccented(text: str) -> str:
    """As the index has it: letters without what stands above and below them."""
    apart = unicodedata.normalize("NFKD", text)
    return "".join(each for each in apart if not unicodedata.combining(each))


def _unscored(query: Query) -> Query:
    return Query.const_score_query(query, 0.0)


def _literal(text: str) -> str:
    """Text as a pattern that means just it."""
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text)
