"""Tags that a harness or a model heeds, and text in which none is left.

A tag is known by how it reads, not by how it is written: in any letter case and any script that looks the
same, with marks on its letters, blanks inside, and characters between them that nobody sees. Of what is
found only the bracket that opens it is changed; nothing else of the text is.

Work is bounded: what follows a bracket is read once, up to the next one.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from recollect.agents.registry import agents
from recollect.values.lookalikes import CLOSING, OPENING, reading
from recollect.values.text import printable, visible

NEUTRAL = "&lt;"  # in the bracket's place; itself read as text by every model, so it is left as it is


def safe(text: str) -> str:
    """Text that neither opens nor closes a fence, nor passes for the words of a harness; twice is as once.

    What cannot be seen is shown as an escape. Tags of harnesses and of tool calls lose their bracket, and so
    does whatever else has the shape of such a tag (`<two-words>`). Code stays as it is: `a < b`,
    `Vec<my_type>`, `#include <my_file.h>`, `<div>`.
    """
    text = printable(text)
    if text.isascii():
        return _ASCII.sub(_neutral, text) if "<" in text else text
    return _ANY.sub(_neutral, _HIDDEN.sub(lambda found: visible(found[0]), text))


# -- what cannot be seen -----------------------------------------------------------------------

# What takes no room on a screen and is neither a control nor a format character: joiners, fillers, and the
# selectors that hide bytes behind a letter. One of those that choose between text and emoji is ordinary.
_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\ufe00-\ufe0d\U000e0000-\U000e0fff]"
    "|(?<=[\ufe00-\ufe0f])[\ufe0e\ufe0f]"
)

# How `printable` shows what cannot be seen (behind an escape character, what it would have done), and marks
# that stand on other characters. In runs, because a hostile text has a million of them.
_UNSEEN = re.compile(
    r"(?:\\(?:r|x1b(?:\[[0-?]{0,30}+[ -/]{0,9}+[@-~])?+|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})"
    "|[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f])++"
)

_SHOWN = re.compile(r"\\(?:r|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})\Z")

# -- tags --------------------------------------------------------------------------------------

_NAME_CHARS = 64
_LEAD_CHARS = 8
_SQUEEZED_CHARS = 200
_ATTRIBUTES_CHARS = 500
# A bracket, what a tag could begin with, and the name where it is a plain one: most are passed over by that.
_PLAIN = r"(?=(?:/?+([A-Za-z0-9]{1,64}+)(?:(>)|[\s/.,;()\"'=]))?+)"
_ASCII = re.compile(rf"<(?=[\s/\\|!?\w:\"'*#.-]){_PLAIN}")
_ANY = re.compile(rf"[{OPENING}](?![{OPENING}{CLOSING}=]){_PLAIN}")
_TAIL = re.compile(rf"[^{CLOSING}\n]{{0,{_ATTRIBUTES_CHARS}}}+[{CLOSING}]")
_TAIL_ASCII = re.compile(rf"[^>\n]{{0,{_ATTRIBUTES_CHARS}}}+>")
_ATTRIBUTES = re.compile(
    r"(?:\s{1,200}+[\w:.-]{1,64}+\s{0,200}+=\s{0,200}+"
    rf"(?:\"[^\"]{{0,500}}+\"|'[^']{{0,500}}+'|[^\s\"'{CLOSING}]{{1,200}}+)){{1,20}}+\s{{0,200}}+/?[{CLOSING}]"
)

# Names that no other text needs, whichever agent it is; each has some of its own.
_HARNESS = (
    "recollect-memory", "system-prompt", "system-message", "system-reminder", "function-call",
    "function-result", "tool-use", "tool-call", "tool-result", "tool-response", "antml",
)  # fmt: skip

# Names that are also ordinary words: a tag only where the bracket closes.
_WORDS = (
    "assistant", "developer", "human", "image", "instructions", "invoke", "parameter", "permissions",
    "reminder", "result", "skill", "sys", "system", "thinking", "tool", "user",
)  # fmt: skip


class _Name(NamedTuple):
    """What stands behind a bracket, as it is read: what leads to a name, the name, and where that ends.

    `spaced`: there are blanks inside of it.
    """

    lead: str
    name: str
    end: int
    spaced: bool

    @property
    def bare(self) -> str:
        """Without what joins its words, because agents differ in that."""
        return self.name.replace("-", "")


def read_as(text: str) -> str:
    """A text as it is read, character by character."""
    return "".join(map(reading, text))


@functools.cache
def _harness() -> tuple[str, ...]:
    names = (*_HARNESS, *(tag for agent in agents() for tag in agent.tags))
    return tuple("".join(filter(str.isalnum, read_as(name))) for name in names)


@functools.cache
def _words() -> frozenset[str]:
    return frozenset(map(read_as, _WORDS))


@functools.cache
def _beginnings() -> frozenset[str]:
    return frozenset(name[:length] for name in _harness() for length in range(len(name) + 1))


@functools.lru_cache(4096)
def _is_harmless(word: str, closed: bool) -> bool:
    """Whether no tag begins with this word, or is all of it."""
    read = read_as(word)
    begins = not closed and read in _beginnings()
    return not begins and read not in _words() and not read.startswith(_harness())


def _neutral(found: re.Match[str]) -> str:
    if found[1] and _is_harmless(found[1], found[2] is not None):
        return found[0]
    return NEUTRAL if _is_tag(found.string, found.start()) else found[0]


def _is_tag(text: str, at: int) -> bool:
    seen = _name(text, at + 1)
    if seen.bare.startswith(_harness()) or _is_squeezed(text, at + 1):
        return True
    if not seen.name:
        return _is_token(text, at + 1)
    before = _before(text, at)
    if (before.isalnum() or before == "_") and not seen.lead:  # Vec<my_type>
        return False
    joined = len(seen.bare) < len(seen.name) and not seen.spaced
    joined = joined and bool(seen.bare) and before != "<" and not seen.lead.strip("/")  # no << my_var
    return (joined or seen.bare in _words()) and _closes(text, seen.end)


def _before(text: str, at: int) -> str:
    """The character that is seen before a place, "" for none or for the escape of one that is not."""
    return "" if _SHOWN.search(text[max(at - 10, 0) : at]) else text[max(at - 1, 0) : at]


def _readings(text: str, start: int) -> Iterator[tuple[str, int]]:
    """What is read from a place on, each with where it ends, up to the next bracket that opens."""
    at = start
    while at < len(text):
        unseen = _UNSEEN.match(text, at)
        read = "" if unseen else reading(text[at])
        if read == "<":
            return
        at = unseen.end() if unseen else at + 1
        yield read, at


def _name(text: str, start: int) -> _Name:
    """Letters, digits and what joins them; blanks only beside a joint."""
    lead, name, end = "", "", start
    gap = spaced = False
    for read, at in _readings(text, start):
        if not name and read in (" ", "/"):
            lead = (lead + read)[:_LEAD_CHARS]
        elif read == " ":
            gap = True
        elif read == "-" or (read.isalnum() and (not gap or name.endswith("-"))):
            name, end, gap, spaced = name + read, at, False, spaced or gap
        elif not read:
            end = at if name and not gap else end
        else:
            break
        if len(name) >= _NAME_CHARS:
            break
    return _Name(lead, name, end, spaced)


def _is_squeezed(text: str, start: int) -> bool:
    """Whether the letters up to the bracket that closes are a harness's, whatever stands between them."""
    kept, seen, found = "", 0, False
    for read, _ in _readings(text, start):
        seen += bool(read)
        if read == ">" or seen > _SQUEEZED_CHARS:
            return found and read == ">"
        if not found:
            kept += "".join(filter(str.isalnum, read))
            found = kept.startswith(_harness())
            if not found and kept not in _beginnings():
                return False
    return False


def _is_token(text: str, start: int) -> bool:
    """Whether it is a special token of a model: `<|im_start|>`."""
    bars = name = 0
    for read, _ in _readings(text, start):
        if read == "|":
            bars += 1
            if bars == 2:
                return name > 0
        elif bars and (read.isalnum() or read == "-"):
            name += 1
        elif read.strip() or name > _NAME_CHARS:
            return False
    return False


def _closes(text: str, end: int) -> bool:
    """Whether a tag ends after its name and what may follow it."""
    behind = reading(text[end]) if end < len(text) else ""
    if behind in (" ", "/"):
        tail = _TAIL_ASCII if text.isascii() else _TAIL
        return bool(tail.match(text, end + 1) or _ATTRIBUTES.match(text, end))
    return behind == ">"
