"""The query language: what it means, and that whatever is typed gets an answer or a pointed error."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.search.query import (
    TIME_MAX_MS,
    AllOf,
    AnyOf,
    Between,
    Is,
    Not,
    Phrase,
    QueryError,
    Regex,
    Word,
    parse,
    words_of,
)
from recollect.values.vocabulary import QUERY_FIELDS

NOW = datetime.datetime(2026, 11, 15, 12, 0, tzinfo=datetime.UTC)
DAY_MS = 86_400_000
NOON_MS = int(NOW.timestamp() * 1000)
TODAY_MS = NOON_MS - DAY_MS // 2


def read(query):
    return parse(query, NOW)


@pytest.mark.parametrize(
    ("query", "meaning"),
    [
        ("token", Word("token")),
        ("token_sto*", Word("token_sto", prefix=True)),
        ("refresh token", AllOf((Word("refresh"), Word("token")))),
        ('"clock skew"', Phrase("clock skew")),
        ("-test", Not(Word("test"))),
        ("a OR b", AnyOf((Word("a"), Word("b")))),
        ("a b OR c", AnyOf((AllOf((Word("a"), Word("b"))), Word("c")))),
        ("(a OR b) c", AllOf((AnyOf((Word("a"), Word("b"))), Word("c")))),
        ("-(a b)", Not(AllOf((Word("a"), Word("b"))))),
        ("tool:Edit", Is("tool", "Edit")),
        ('project:"my app"', Is("project", "my app")),
        ("is:error has:image", AllOf((Is("is", "error"), Is("has", "image")))),
        (r"/E[A-Z]+\/x/", Regex(r"E[A-Z]+\/x")),
        ("@harbor", AllOf((Phrase("harbor"), Regex(r"(?i)(?<![\w])harbor(?![\w])")))),
        ("-@harbor", Not(Phrase("harbor"))),
        ("-(@harbor)", Not(AllOf((Phrase("harbor"), Regex(r"(?i)(?<![\w])harbor(?![\w])"))))),
        ("Kind:prompt", Is("kind", "prompt")),
        ("repo:api", Is("project", "api")),
        ("/item{i}/", Regex(r"item\{i}")),
        (r"/a{2,3}\{x/", Regex(r"a{2,3}\{x")),
        ("last:30d", Between(NOON_MS - 30 * DAY_MS, TIME_MAX_MS)),
        ("on:yesterday", Between(TODAY_MS - DAY_MS, TODAY_MS)),
        ("before:2026-11-15", Between(0, TODAY_MS)),
        ("after:2026-11-15", Between(TODAY_MS, TIME_MAX_MS)),
        ("time:>2026-11-14", Between(TODAY_MS, TIME_MAX_MS)),
        ("on:2026-02", Between(1_769_904_000_000, 1_772_323_200_000)),
        ("", AllOf(())),
        # Text that only looks like syntax is text.
        ("http://localhost:8080/x", Word("http://localhost:8080/x")),
        ("error: file", AllOf((Word("error:"), Word("file")))),
        ("src/auth/token.py", Word("src/auth/token.py")),
        ("--no-verify", Word("--no-verify")),
        ("a - b", AllOf((Word("a"), Word("-"), Word("b")))),
        ("ORDER", Word("ORDER")),
        ("时钟 偏差", AllOf((Word("时钟"), Word("偏差")))),
    ],
)
def test_a_query_means_what_it_says(query, meaning):
    assert read(query) == meaning


@pytest.mark.parametrize(
    ("query", "column"),
    [
        ("a (b", 3),
        ('x "never closed', 3),
        ("a)", 2),
        ("OR b", 1),
        ("a OR", 4),
        ("a OR OR b", 6),
        ("projct:api", 1),
        ("x tool:", 3),
        ("is:red", 1),
        ("last:soon", 1),
        ("on:never", 1),
        ("kind:>3", 1),
        ("/[/", 1),
        ("(" * 60 + "a" + ")" * 60, 52),
    ],
)
def test_a_mistake_is_pointed_at(query, column):
    with pytest.raises(QueryError) as caught:
        read(query)
    assert caught.value.column == column
    assert f"column {column}" in str(caught.value)
    assert str(caught.value).splitlines()[2].endswith("^")


def test_every_field_has_an_example_that_reads():
    from recollect.search.query import _EXAMPLES

    assert set(_EXAMPLES) == set(QUERY_FIELDS)
    for example in _EXAMPLES.values():
        assert not isinstance(read(example), Word)


@given(st.one_of(st.text(), st.text(alphabet='ab ()"-/\\:*@<>ORlastison\n\x00\ud800', max_size=60)))
def test_whatever_is_typed_is_read_or_refused(query):
    refused: QueryError | None = None
    try:
        assert all(isinstance(word, str) for word in words_of(read(query)))
    except QueryError as error:
        refused = error
    assert refused is None or 1 <= refused.column <= max(len(query), 1)


def test_a_megabyte_is_refused_at_once():
    with pytest.raises(QueryError, match="longer than"):
        read("x" * 1_000_000)


def test_words_to_show_leave_out_what_is_excluded():
    assert list(words_of(read('a "b c" -d (e OR -f)'))) == ["a", "b c", "e"]
