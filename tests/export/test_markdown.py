"""A page that nothing in the session can break out of."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from recollect.export.markdown import fenced, markdown, plain
from recollect.records import Entry, Flag, Kind, SessionFacts
from recollect.store.base import Session, StoredEntry


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
