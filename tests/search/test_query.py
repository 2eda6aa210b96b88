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
        ("last:90min", Between(NOON_MS - 90 * 60_000, TIME_MAX_MS)),
        ("last:12h", Between(NOON_MS - DAY_MS // 2, TIME_MAX_MS)),
        ("last:2w", Between(NOON_MS - 14 * DAY_MS, TIME_MAX_MS)),
        ("last:2m", Between(NOON_MS - 60 * DAY_MS, TIME_MAX_MS)),
        ("last:1y", Between(NOON_MS - 365 * DAY_MS, TIME_MAX_MS)),
        ("on:today", Between(TODAY_MS, TODAY_MS + DAY_MS)),
        ("on:2026-11-15", Between(TODAY_MS, TODAY_MS + DAY_MS)),
        ("on:2026-11-15T12:00:00", Between(NOON_MS, NOON_MS + 1000)),
        ("on:2026-11-15T13:00:00+01:00", Between(NOON_MS, NOON_MS + 1000)),
        ("on:2026-12", Between(1_796_083_200_000, 1_798_761_600_000)),
        ("time:2026-11-15", Between(TODAY_MS, TODAY_MS + DAY_MS)),
        ("time:<2026-11-15", Between(0, TODAY_MS)),
        ("since:yesterday", Between(TODAY_MS - DAY_MS, TIME_MAX_MS)),
        ("on:1960-01-01", Between(0, 0)),
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
        ("*", Word("*")),
        ("i:x", Word("i:x")),
        ("note:x", Word("note:x")),
        ("projects://x", Word("projects://x")),
        ("()", AllOf(())),
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
        ("a OR (OR b)", 7),
        ("(a OR)", 6),
        ("projct:api", 1),
        ("porject:api", 1),
        ("projectt:api", 1),
        ("prohect:api", 1),
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


def test_a_field_with_two_letters_wrong_is_text():
    for typed in ("projcet:api", "rpoject:api"):
        with pytest.raises(QueryError, match="there is no field"):
            read(typed)
    for typed in ("prjoetc:api", "kinnd2:x", "hosts2:x", "tool9x:y"):
        assert read(typed) == Word(typed)


def test_a_mistake_in_a_long_query_is_shown_with_what_stands_around_it():
    query = "word " * 100 + "tool: " + "more " * 100
    with pytest.raises(QueryError) as caught:
        read(query)
    shown, mark = str(caught.value).splitlines()[1:3]
    assert shown[mark.index("^") :].startswith("tool: more")
    assert "word word" in shown[: mark.index("^")]
    assert len(shown) < 100


def test_a_word_stands_for_itself_unless_it_is_said_to_begin_so():
    assert not Word("token").prefix
    assert read("to*") == Word("to", prefix=True)


def test_repeats_of_repeats_are_counted():
    assert read("/(a{50}){50}/") == Regex("(a{50}){50}")
    assert read("/(a{0}){3}/") == Regex("(a{0}){3}")
    one_after_the_other = "/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12} .{1,500}/"
    assert isinstance(read(one_after_the_other), Regex)
    bombs = ["/(a{200}){200}/", "/(a{1,200}){200}/", "/(a{0}b{200}){200}/", "/(a{,200}){200}/"]
    bombs += ["/" + "(?:" * 4 + "a?" * 220 + "){10}" * 4 + "/", "/(?:" + "(?:a?b?)*" * 50 + "){10000}/"]
    for bomb in bombs:
        with pytest.raises(QueryError, match="written out, it has more than"):
            read(bomb)


@pytest.mark.parametrize("unit", ["/{}/", "-/{}/", "@{}"])
def test_regular_expressions_are_short_all_of_them_together(unit: str):
    """What it costs to make one ready grows with the third power of its length, and nothing stops it."""
    assert read(unit.format("a" * 400))
    for long in (unit.format("a" * 501), " ".join([unit.format("a" * 200)] * 3)):
        with pytest.raises(QueryError, match="500 characters together"):
            read(long)


def test_ten_thousand_characters_are_a_query_and_more_are_a_text():
    assert read("x" * 9_000)
    with pytest.raises(QueryError, match="longer than"):
        read("x" * 12_000)


def test_times_fit_what_an_index_can_hold():
    assert NOON_MS < read("after:2026-11-15").to_ms < 1 << 62
