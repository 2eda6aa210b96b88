"""An excerpt says what it is, shows what was looked for, and keeps every line behind its margin."""

from __future__ import annotations

import re

import pytest

from recollect.recall.excerpt import excerpt, has_text, name_of, origin, session_line, window_around
from recollect.search.snippet import Highlighter
from recollect.values.records import Entry, Flag, Kind, SessionFacts
from recollect.values.stored import Session, StoredEntry


def stored(entry: Entry) -> StoredEntry:
    return StoredEntry("3f2a90c1d2e4", "s", "user", entry)


def window(text: str, word: str, chars: int) -> str:
    entry = Entry(Kind.ANSWER, text)
    start, stop = window_around(entry, chars, Highlighter([word], lambda each: [each.lower()]))
    return text[start:stop]


def test_a_label_says_what_an_entry_is() -> None:
    entry = Entry(Kind.RESULT, "refused", Flag.ERROR, 1_772_460_300_000, "Bash")
    assert excerpt(stored(entry)) == "[3f2a90c1d2e4 tool result Bash (error), 2026-03-02 14:05]\n  refused"
    assert excerpt(stored(Entry(Kind.PROMPT, "hello"))) == "[3f2a90c1d2e4 user]\n  hello"


def test_a_part_says_which_part_it_is_and_the_whole_does_not() -> None:
    entry = stored(Entry(Kind.ANSWER, "0123456789"))
    assert "characters 2-5 of 10]\n  234" in excerpt(entry, (2, 5))
    assert "characters 0-5 of 10" in excerpt(entry, (0, 5))
    assert "characters 5-10 of 10" in excerpt(entry, (5, 10))
    assert "characters" not in excerpt(entry, (0, 10)) + excerpt(entry)


@pytest.mark.parametrize(
    ("tool", "is_web"), [("WebFetch", True), ("mcp__browser", True), ("Bash", False), ("Read", False)]
)
def test_what_comes_from_the_web_is_told_from_what_a_tool_says(tool: str, is_web: bool) -> None:
    assert origin(Entry(Kind.RESULT, "x", tool=tool)) == ("web result" if is_web else "tool result")
    assert origin(Entry(Kind.CALL, "x", tool=tool)) == "tool call"


def test_names_from_logs_are_short_and_on_one_line() -> None:
    label = excerpt(stored(Entry(Kind.CALL, "x", tool="Tool[\n" + "x" * 300))).splitlines()[0]
    assert 50 <= len(label) <= 80
    assert "[" not in label[1:]
    assert 50 <= len(name_of("harbour wall " * 50)) <= 70
    assert "\n" not in name_of("a\nb")


def test_a_session_is_named_by_enough_of_its_id_and_by_what_is_known() -> None:
    def line(**facts: str) -> str:
        id_ = "1a2b3c4d-5e6f-4000-8000-000000000000"
        return session_line(Session(SessionFacts("claude", id_, **facts), "here", 1))

    assert line(project="harbor", title="Mend it") == "# session 1a2b3c4d-5e6f, harbor, claude: Mend it"
    assert line(slug="calm-blue-whale", title="hi") == "# session 1a2b3c4d-5e6f, claude"
    assert line(project="harbor") == "# session 1a2b3c4d-5e6f, harbor, claude"


def test_every_line_is_behind_a_margin_and_runs_of_empty_ones_are_one() -> None:
    shown = excerpt(stored(Entry(Kind.ANSWER, "\none  \n\n\n\n# session x\n"))).splitlines()[1:]
    assert shown == ["  one", "", "  # session x"]


def test_a_text_that_is_hardly_longer_than_the_window_is_shown_whole() -> None:
    text = "hay " * 40 + "needle"
    assert window(text, "hay", 100) == text
    assert window(text + " hay" * 40, "hay", 100) != text + " hay" * 40


def test_a_window_is_around_what_was_looked_for_and_cuts_no_word() -> None:
    lines = [f"line {n:04d} of the log" for n in range(400)]
    lines[200] += " needle"
    text = "\n".join(lines)
    shown = window(text, "needle", 300)
    assert "needle" in shown
    assert 220 <= len(shown) <= 380
    assert re.match(r"line \d{4} of the log", shown)
    assert text[text.index(shown) + len(shown)] in " \n"


def test_a_window_without_line_ends_nearby_is_no_shorter_for_it() -> None:
    text = "x" * 2_000 + " needle " + "y" * 2_000
    shown = window(text, "needle", 300)
    assert "needle" in shown
    assert len(shown) >= 220


def test_what_begins_with_blanks_is_shown_from_its_beginning() -> None:
    text = "\n\n   needle " + "hay " * 300
    assert window(text, "needle", 200).startswith("\n\n")


@pytest.mark.parametrize(("text", "has"), [("x", True), ("", False), (" \n\t", False)])
def test_whether_there_is_anything_to_show(text: str, has: bool) -> None:
    assert has_text(stored(Entry(Kind.THOUGHT, text))) == has
