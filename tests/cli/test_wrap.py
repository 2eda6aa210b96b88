"""Running text breaks between words."""

from __future__ import annotations

import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.cli.screen import Screen, Styled
from recollect.cli.wrap import wrap
from recollect.values.text import cells


def wrapped(text: str, width: int, hang: int | None = None) -> str:
    for start, stop, instead in reversed(list(wrap(text, width, hang))):
        text = text[:start] + instead + text[stop:]
    return text


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("mend the quay", 13, "mend the quay"),
        ("mend the quay", 12, "mend the\nquay"),
        ("  mend the quay", 8, "  mend\n  the\n  quay"),
        ("mend   the quay", 8, "mend\nthe quay"),
        ("see /srv/harbor/quay.py now", 10, "see\n/srv/harbor/quay.py\nnow"),
        ("one\ntwo three", 5, "one\ntwo\nthree"),
        ("桟橋を直す", 6, "桟橋を\n直す"),
        ("桟橋を。直す", 6, "桟橋\nを。直\nす"),
        ("- mend the quay", 8, "- mend\n  the\n  quay"),
        ("  12. mend it", 12, "  12. mend\n      it"),
        ("", 5, ""),
    ],
)
def test_a_line_breaks_between_words_and_goes_on_below_its_start(text: str, width: int, shown: str) -> None:
    assert wrapped(text, width) == shown


def test_a_value_goes_on_below_its_beginning() -> None:
    assert wrapped("  folder  mend the quay", 22, 10) == "  folder  mend the\n          quay"


@given(st.text("ab /\t\n橋", max_size=60), st.integers(4, 20))
def test_no_word_is_broken_and_none_is_lost(text: str, width: int) -> None:
    shown = wrapped(text, width)
    assert "".join(shown.split()) == "".join(text.split())
    for line in shown.split("\n"):
        line = line.rstrip()
        wide = cells(line) + 7 * line.count("\t")
        assert wide <= width or len(line.split()) == 1 or line[:1] in " \t"


def test_styles_stay_with_their_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A break may lie in any part of a line, or between two."""
    stream = io.StringIO()
    stream.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", "12")
    monkeypatch.setenv("TERM", "xterm-256color")
    screen = Screen(json=False, color=True, quiet=False)
    screen.line("  mend ", Styled("the leaking", "bold"), " quay ", Styled(" tomorrow", "red"))
    shown = stream.getvalue()
    assert shown == "  mend \x1b[1mthe\x1b[0m\n\x1b[1m  leaking\x1b[0m\n  quay\n  \x1b[31mtomorrow\x1b[0m\n"


def test_a_head_goes_on_where_what_it_heads_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    stream.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("TERM", "xterm-256color")
    screen = Screen(json=False, color=False, quiet=False)
    screen.line(Styled("b9ce875c6a31", "cyan"), "  harbor  3 mo")
    screen.line("mend the leaking quay")
    assert stream.getvalue() == "b9ce875c6a31  harbor\n    3 mo\nmend the leaking\nquay\n"
