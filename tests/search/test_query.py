"""The query language: what it means, and that whatever is typed is read, with a note where it is off."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.search import query as language
from recollect.search.query import (
    NOTES_MAX,
    QUERY_CHARS_MAX,
    TIME_MAX_MS,
    AllOf,
    AnyOf,
    Between,
    Is,
    Not,
    Phrase,
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


def notes(query):
    return language.read(query, NOW).notes


@pytest.mark.parametrize(
    ("query", "meaning"),
    [
        ("token", Word("token")),
        ("token_sto*", Word("token_sto", prefix=True)),
        ("refresh token", AllOf((Word("refresh"), Word("token")))),
        ('"clock skew"', Phrase("clock skew")),
        ("a -test", AllOf((Word("a"), Not(Word("test"))))),
        ("-tool:Bash", Not(Is("tool", "Bash"))),
        ('-"dry run"', Not(Phrase("dry run"))),
        ("-(a OR b)", Not(AnyOf((Word("a"), Word("b"))))),
        ("a OR b", AnyOf((Word("a"), Word("b")))),
        ("a b OR c", AnyOf((AllOf((Word("a"), Word("b"))), Word("c")))),
        ("(a OR b) c", AllOf((AnyOf((Word("a"), Word("b"))), Word("c")))),
        ("-(a b)", Not(AllOf((Word("a"), Word("b"))))),
        ("tool:Edit", Is("tool", "Edit")),
        ('project:"my app"', Is("project", "my app")),
        ("is:error has:image", AllOf((Is("is", "error"), Is("has", "image")))),
        (r"/E[A-Z]+\/x/", Regex(r"E[A-Z]+\/x")),
        ("@harbor", Is("entity", "harbor")),
        ('@"cargo test"', Is("entity", "cargo test")),
        ("entity:src/dock.py", Is("entity", "src/dock.py")),
        ("@dock.py, it", AllOf((Is("entity", "dock.py"), Word("it")))),
        ("@? @", AllOf((Word("@?"), Word("@")))),
        ("-@harbor", Not(Is("entity", "harbor"))),
        ('-@"cargo test"', Not(Is("entity", "cargo test"))),
        ("-(@harbor)", Not(Is("entity", "harbor"))),
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
        ("f() failed", AllOf((Word("f"), Word("failed")))),
        ("a -() b", AllOf((Word("a"), Word("b")))),
        ("file:///etc/hosts", Word("file:///etc/hosts")),
        ("IS:Error", Is("is", "error")),
        ("时钟 偏差", AllOf((Word("时钟"), Word("偏差")))),
    ],
)
def test_a_query_means_what_it_says(query, meaning):
    assert read(query) == meaning
    assert notes(query) == ()


def both(*texts):
    return AllOf(tuple(map(Word, texts)))


@pytest.mark.parametrize(
    ("query", "meaning", "note"),
    [
        ("a (b", both("a", "b"), "opening parenthesis"),
        ("a)", Word("a"), "closing parenthesis"),
        ("a) b OR c", AnyOf((both("a", "b"), Word("c"))), "closing parenthesis"),
        ('x "never closed', both("x", "never", "closed"), "quotation mark"),
        ('"a b" "c', AllOf((Phrase("a b"), Word("c"))), "quotation mark"),
        ('a -"b', both("a", "b"), "quotation mark"),
        ("OR b", both("OR", "b"), "OR with nothing"),
        ("a OR", both("a", "OR"), "OR with nothing"),
        ("a OR OR b", AnyOf((both("a", "OR"), Word("b"))), "OR with nothing"),
        ("(a OR)", both("a", "OR"), "OR with nothing"),
        ("-Wall gcc", AllOf((Not(Word("Wall")), Word("gcc"))), "entries with Wall are left out"),
        ("-token_sto*", Not(Word("token_sto", prefix=True)), "entries with token_sto* are left out"),
        ("-rw-r--r-- 1 ada", both("-rw-r--r--", "1", "ada"), "minus before rw-r--r-- is taken as text"),
        ("-Xmx:2g run", both("-Xmx:2g", "run"), "minus before Xmx:2g"),
        ("x tool:", both("x", "tool:"), "tool: has no value"),
        ("is:red", Word("is:red"), "is: takes error"),
        ("kind:question", Word("kind:question"), "kind: takes prompt"),
        ("role:god", Word("role:god"), "role: takes user"),
        ("last:soon", Word("last:soon"), "last: takes 90min"),
        ("on:never", Word("on:never"), "on: takes 2026-03-01"),
        ("kind:>3", Word("kind:>3"), "only time: takes < and >"),
        ("/[/", Word("/[/"), "no regular expression"),
        ("()", Word("()"), ""),
        ("(" * 60 + "a b" + ")" * 60, both("(" * 60 + "a", "b" + ")" * 60), "nested too deeply"),
    ],
)
def test_what_can_hardly_be_meant_so_is_taken_as_words_and_a_note_says_why(query, meaning, note):
    assert read(query) == meaning
    assert note in " ".join(notes(query))


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("projct:api", "project:api"),
        ("porject:api", "project:api"),
        ("projectt:api", "project:api"),
        ("agnt:claude", "agent:claude"),
        ("after:yesterdayy", "after:yesterday"),
        ("time:>yestrday", "time:>yesterday"),
        ("is:eror", "is:error"),
        ("kind:promt", "kind:prompt"),
        ("role:assistent", "role:assistant"),
    ],
)
def test_of_a_slip_it_is_said_what_was_probably_meant(query, meant):
    assert read(f"deploy {query}") == both("deploy", query)
    (note,) = notes(f"deploy {query}")
    assert f"did you mean {meant}?" in note


def test_many_notes_are_counted_instead_of_told():
    found = notes(" ".join(f"tool{n % 2}:x is:red{n}" for n in range(20)))
    assert len(found) == NOTES_MAX + 1
    assert found[-1] == f"{20 - NOTES_MAX} more of it taken as words"


def test_every_field_has_an_example_that_reads():
    from recollect.search.query import _EXAMPLES

    assert set(_EXAMPLES) == set(QUERY_FIELDS)
    for example in _EXAMPLES.values():
        assert not isinstance(read(example), Word)


@given(
    st.one_of(
        st.text(),
        st.text(alphabet='ab ()"-/\\:*@<>ORlastison\n\x00\ud800', max_size=60),
        st.lists(
            st.sampled_from([*'()"-/@:', "OR", "AND", "is:", "last:", "file:", "/[/", "a", " ", "kind:x"])
        ).map("".join),
    )
)
def test_whatever_is_typed_is_read(query):
    found = language.read(query, NOW)
    assert all(isinstance(word, str) for word in words_of(found.node))
    assert (found.node == AllOf(())) == (not query.strip())
    assert len(found.notes) <= NOTES_MAX + 1
    assert all(len(note) < 400 for note in found.notes)


def test_of_a_megabyte_the_beginning_is_read():
    assert read("x" * 1_000_000) == Word("x" * QUERY_CHARS_MAX)
    (note,) = notes("x " * 100_000)
    assert "only its beginning" in note
    assert notes("x" * QUERY_CHARS_MAX) == ()


def test_words_to_show_leave_out_what_is_excluded():
    assert list(words_of(read('a "b c" -d (e OR -f)'))) == ["a", "b c", "e"]


def test_a_field_with_two_letters_wrong_is_text():
    for typed in ("projcet:api", "rpoject:api"):
        assert "there is no field" in notes(typed)[0]
    for typed in ("prjoetc:api", "kinnd2:x", "hosts2:x", "tool9x:y"):
        assert read(typed) == Word(typed)
        assert notes(typed) == ()


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
        assert read(bomb) == Word(bomb)
        assert "written out, it has more than" in notes(bomb)[0]


@pytest.mark.parametrize("unit", ["/{}/", "-/{}/"])
def test_regular_expressions_are_short_all_of_them_together(unit: str):
    """What it costs to make one ready grows with the third power of its length, and nothing stops it."""
    assert read(unit.format("a" * 400))
    for long in (unit.format("a" * 501), " ".join([unit.format("a" * 200)] * 3)):
        assert "500 characters together" in notes(long)[0]


def test_times_fit_what_an_index_can_hold():
    assert NOON_MS < read("after:2026-11-15").to_ms < 1 << 62
