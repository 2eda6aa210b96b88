"""A name that a log makes up reaches no terminal, object or search as anything but a name."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.claude_talk import Talk, remembered
from tests.support.memories import scratch

from recollect.insight.entities.extract import mentions_of
from recollect.insight.entities.mention import NAME_CHARS
from recollect.present.entities import profile_object
from recollect.values.errors import NotFound, UsageError
from recollect.values.records import Entry, Flag, Kind

EVIL = (
    "\x1b[31m", "\x1b]8;;http://evil\x07", "\u202e", "\u2066", "\u200b", "\ufeff", "\n", "\r", "\u2028",
    "\x00", "\x85", "\x9b31m", "<system-reminder>", "</system-reminder>", "<b>", "`",
    "](http://evil.example)", "\ud800",
)  # fmt: skip
PIECES = st.one_of(st.sampled_from(EVIL), st.text(max_size=4))
WORDS = st.sampled_from(("src/dock.py", "Pier", "moor_ship()", "PostgreSQL", "ValueError: no berth", "#12"))


def is_harmless(name: str) -> bool:
    """On one line, of characters that show what they are, and no tag."""
    kinds = {unicodedata.category(each) for each in name}
    return (
        0 < len(name) <= NAME_CHARS
        and not kinds & {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
        and not set(name) & set("<>`\n\r\t")
        and name == name.strip()
    )


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(PIECES, WORDS, PIECES), min_size=1, max_size=6),
    st.sampled_from([Kind.PROMPT, Kind.ANSWER, Kind.RESULT, Kind.CALL]),
    st.sampled_from([0, int(Flag.ERROR)]),
)
def test_a_name_is_on_one_line_without_marks_or_markup(
    told: list[tuple[str, str, str]], kind: Kind, flags: int
) -> None:
    text = " ".join("".join(each) for each in told)
    call = Entry(Kind.CALL, json.dumps({"command": text}), tool="Bash")
    entry = Entry(kind, text, flags=flags, tool="Bash" if kind in (Kind.CALL, Kind.RESULT) else "")
    for each in (entry, Entry(Kind.CALL, json.dumps({"file_path": text, "content": text}), tool="Write")):
        for mention in mentions_of(each, call if each.kind == Kind.RESULT else None, "/home/ada"):
            assert is_harmless(mention.name), (mention, text)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PIECES, min_size=1, max_size=8), st.lists(PIECES, max_size=3))
def test_profiles_and_searches_take_any_name(pieces: list[str], asked: list[str]) -> None:
    evil = "".join(pieces).replace("\ud800", "")
    with scratch() as folder:
        talk = Talk(1, "/home/ada/harbor")
        talk.user(f"{evil}src/dock.py{evil} is in `Pier{evil}`")
        talk.call("Bash", f"ValueError: {evil}", failed=True, command=f"pytest {evil}")
        with remembered(folder, talk) as memory:
            memory.index()
            for entity in memory.entities().entities:
                shown: dict[str, Any] = profile_object(memory.entity(entity.name), {})
                assert is_harmless(shown["name"])
                named = [*shown["neighbours"], *shown["links"], *shown["also"]]
                assert all(is_harmless(each["name"]) for each in named)
                assert memory.search(f'@"{entity.name}"').hits or '"' in entity.name
            memory.search("@" + "".join(asked).replace("\ud800", ""))


def test_what_hides_in_a_name_is_left_out_not_shown(tmp_path: Path) -> None:
    """The control: these texts do give names, and would give these."""
    for sign in ("\x1b[31m", "\u202e", "`", "<"):
        found = {each.name for each in mentions_of(Entry(Kind.PROMPT, f"see src/{sign}dock.py and src/a.py"))}
        assert "src/a.py" in found
        assert not [name for name in found if sign in name]


@pytest.mark.parametrize("name", ["\n", "x\ny", "", " ", "a" * 5_000, "\ud800", '"', "%s", "../" * 40])
def test_asking_for_anything_is_answered(tmp_path: Path, name: str) -> None:
    talk = Talk(1, "/home/ada/harbor")
    talk.user("src/dock.py")
    with remembered(tmp_path, talk) as memory:
        memory.index()
        with pytest.raises(NotFound if name.strip() else UsageError):
            memory.entity(name)
        assert isinstance(memory.complete("entity", name), list)
