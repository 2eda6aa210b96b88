"""A page that nothing in the session can break out of."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from tests.support.pages import PAYLOADS, briefing

from recollect.export.pages import briefing as briefings
from recollect.export.pages.markdown import fenced, markdown, plain, quoted
from recollect.values.records import Entry, Flag, Kind, SessionFacts
from recollect.values.stored import Session, StoredEntry


def page(*entries: Entry, title: str = "A title") -> str:
    session = Session(SessionFacts("claude", "s", title=title), "host", len(entries))
    stored = [StoredEntry(str(n), "s", "t", each) for n, each in enumerate(entries)]
    return b"".join(markdown(session, stored)).decode("utf-8")


@given(st.text("`~x\n", max_size=40))
def test_a_fence_is_closed_by_nothing_inside(text: str) -> None:
    first, *body, last = fenced(text).rstrip("\n").split("\n")
    assert set(first) == set(last) == {"`"}
    assert len(first) == len(last)
    assert all(len(run) < len(first) for line in body for run in re.findall("`+", line))


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_becomes_a_page(text: str) -> None:
    told = page(*(Entry(kind, text) for kind in Kind), title=text)
    headings = [line for line in told.split("\n") if line.startswith("# ")]
    assert len(headings) <= 1 or "```" in told


def test_headings_inside_what_was_said_stay_quoted() -> None:
    told = page(Entry(Kind.ANSWER, "# Mine\n```\ncode\n```"))
    assert "\n> # Mine\n> ```\n" in told
    assert told.count("\n# ") == 0


def test_titles_and_tools_are_plain() -> None:
    assert plain("a*b_[c](d)`<e>") == "a\\*b\\_\\[c\\](d)\\`\\<e\\>"
    assert "# \\[x\\](javascript:1)\n" in page(title="[x](javascript:1)")


def test_bookkeeping_copies_and_empty_thoughts_are_left_out() -> None:
    told = page(
        Entry(Kind.EVENT, "event"),
        Entry(Kind.ANSWER, "twice", flags=Flag.COPY),
        Entry(Kind.THOUGHT),
        Entry(Kind.IMAGE),
    )
    assert told.count("## ") == 1
    assert "## Image" in told


# -- what somebody wrote as Markdown, read by a reader that lets HTML through ---------------------

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
FORBIDDEN = {"html_block", "html_inline", "link_open", "image"}
TRICKS = (
    "<b>", "<img src=x onerror=1>", "</blockquote>", "<!--", "<?", "<http://a.b>", "[x](y)", "![x](y)",
    "[x]: y", "[x]", "```", "````", "~~~", "`", "``", "`<b>`", "|", "| - | - |", "|-|", "- ", "1. ",
    "> ", "# ", "    ", "\t", "\n", "\n\n", "\\", "\\\\", "\\`", "\\<b>", "&lt;", "&#60;b>", "<", ">",
    "=", "---", "===", "\r\n", "\r", "\x0b", "\u2028", "\xa0", "a", "$", "<b\n>", "`\n", "*", "_",
    "<a href='x'>", "js", ":::",
)  # fmt: skip
TRICKY = st.one_of(st.lists(st.sampled_from(TRICKS), max_size=30).map("".join), st.text(max_size=60))


def tokens(text: str) -> list[Token]:
    return [each for token in READER.parse(text) for each in (token, *(token.children or ()))]


def own_headings(text: str) -> list[str]:
    """The headings that are in no quotation."""
    return [token.tag for token in tokens(text) if token.type == "heading_open" and token.level == 0]


@given(TRICKY)
@example("a ` b\n`<img src=x onerror=1>`")
@example("| `a | <b>x</b> ` |\n|-|-|\n| `b | [x](y) ` |")
@example("    ```\n<b>x</b>\n    ```")
@example("- ```\n  <b>x</b>\n  ```\n<b>y</b>")
@example("\\\\`<b>`")
@example("\\``<b>``")
@example("``` `\n<b>")
@example("```a``` <b>")
@example("<b\n>")
def test_a_quotation_holds_neither_html_nor_links_and_does_not_end_early(text: str) -> None:
    told = f"{quoted(text)}\n## Ours\n"
    assert not FORBIDDEN & {token.type for token in tokens(told)}
    assert own_headings(told) == ["h2"]


@given(TRICKY)
def test_no_text_changes_the_headings_of_a_briefing(text: str) -> None:
    told = briefings.markdown(briefing(f"x{text}"))
    assert own_headings(told) == ["h1", "h2", "h2", "h2", "h2"]
    assert not FORBIDDEN & {token.type for token in tokens(told)}


@pytest.mark.parametrize("evil", PAYLOADS)
def test_a_payload_in_every_field_is_neither_html_nor_a_link_nor_an_escape(evil: str) -> None:
    told = briefings.markdown(briefing(evil))
    assert not FORBIDDEN & {token.type for token in tokens(told)}
    assert not {unicodedata.category(each) for each in set(told) - {"\n", "\t"}} & {
        "Cc",
        "Cf",
        "Cs",
        "Zl",
        "Zp",
    }


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Use `Vec<T>` and **bold**, if a < b.", "> Use `Vec<T>` and **bold**, if a < b.\n"),
        ("```rust\nlet x: Vec<u8>;\n```", "> ```rust\n> let x: Vec<u8>;\n> ```\n"),
        ("~~~\na\n```\n~~~", "> ````\n> a\n> ```\n> ````\n"),
        ("1. one\n   ```sh extra\n   ls\n   ```\n2. two", "> 1. one\n> ```sh\n>    ls\n> ```\n> 2. two\n"),
        ("```\nnever closed <b>", "> ```\n> never closed <b>\n> ```\n"),
        ("[docs](http://a.b) <b>x</b>", "> \\[docs](http://a.b) &lt;b>x&lt;/b>\n"),
        ("> ```\n> <b>\n> ```\nso", "> >\n> ```\n> > <b>\n> ```\n> so\n"),
    ],
)
def test_what_was_written_stays_readable(said: str, kept: str) -> None:
    assert quoted(said) == kept
