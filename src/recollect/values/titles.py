"""What a conversation is called: the one rule, wherever a title is kept or shown.

The agent's or the person's own title, if it says something; else the first prompt that does; else
what was answered. "hi", "y", "continue", "Reacquaint with codebase" say nothing of what it was about, and
an agent's slug is three words out of a hat: neither is ever shown.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from recollect.values.stop_words import STOP_WORDS

# Where a title came from, kept in stores; see `SessionFacts.titled`. A leading `summary` record mostly speaks
# of another session and the last prompt of the end alone: kept only while nothing else is known.
TITLE_STRANGER: Final = 0
TITLE_PROMPT: Final = 1
TITLE_SUMMARY: Final = 2
TITLE_AGENT: Final = 4
TITLE_CUSTOM: Final = 5

UNTITLED: Final = "(untitled)"

TITLE_CHARS_MAX: Final = 200
_ENOUGH: Final = 2  # words that say something: more need not be counted

# What stands in front of what was said, or around it.
_WRAPPING: Final = re.compile(
    r"""\s*(?: \[(?:Image|Pasted\ text)[^\]]{0,40}\] | [#>*`\-]+(?=\s) | ``` \w{0,12}
        | Implement\ the\ following\ plan: | Plan: | User\ Input(?=\s)
        | </?[a-z][\w:-]{0,40}(?:\ [^<>]{0,200})?>
    )\s*""",
    re.VERBOSE,
)
_ISSUE: Final = re.compile(
    r"https?://[^\s/]+/(?:[^\s/]+/)*?([^\s/]+)/(?:-/)?(?:issues|pulls?|merge_requests)/(\d+)\S*"
)
_ADDRESS: Final = re.compile(r"^https?://(?:www\.)?(?=\S)")
# What a client writes in a person's place, and what is said of nothing in particular.
_HARNESS: Final = re.compile(
    r"(?:Unknown (?:skill|slash command|command)\b|Caveat: |This session is being continued from"
    r"|\[Request interrupted|\[(?:Image|Pasted text)[^\]]*\]$|API Error\b|Warmup$"
    r"|/(?:clear|compact|resume|model|login|init|help|exit|status)\b)",
    re.IGNORECASE,
)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s|(?<=[。！？])")
_WORDS: Final = re.compile(r"[^\W_]+")
_EMPTY_WORDS: Final = STOP_WORDS | frozenset(
    """
    ahead also anything back begin carry chat check checks code codebase coding commit context
    continue conversation cool current day done dont especially everything exactly familiarise
    familiarize file files finally fine first fix fixed fixes follow following get getting go going
    gonna good got great greeting greetings hello help hey hi hmm im info init issue keep kick know
    last lets like little look looking make maybe md mind minute morning much n need new next nice
    nope nothing oh ok okay one perfect please pls prepare proceed project prompt push put question
    quick reacquaint reacquainting read ready really reaquaint repo repository resume right run see
    session show simple something sorry start started starting still stop stuff sure take task tell
    test testing tests thank thanks thats thing things think thx time today try trying two update us
    use user wait want way welcome well whats work working world y yeah yep yes yet yo
    """.split()  # noqa: SIM905 - a list of these would fill the page
)


def bare_title(text: str) -> str:
    """A title as one would say it: on one line, without what is wrapped around it; a plan by its own name."""
    line = " ".join(text[: TITLE_CHARS_MAX * 4].split())
    while (found := _WRAPPING.match(line)) and found.end() < len(line):
        line = line[found.end() :]
    return _ADDRESS.sub("", _ISSUE.sub(r"\1#\2", line)).partition(" ## ")[0].strip()


def title_line(text: str) -> str:
    """A title to keep: one line of at most 200 characters."""
    line = " ".join(text[: TITLE_CHARS_MAX * 4].split())
    return line if len(line) <= TITLE_CHARS_MAX else line[: TITLE_CHARS_MAX - 1] + "…"


def first_sentence(text: str) -> str:
    """How an answer begins."""
    line, _, _ = text[: TITLE_CHARS_MAX * 4].lstrip().partition("\n")
    return _SENTENCE_END.split(line, maxsplit=1)[0].rstrip(":")


@lru_cache(maxsize=64)
def telling(text: str) -> int:
    """How much a title says, from 0 for nothing to 2 for enough: by words that few say."""
    line = bare_title(text)
    if _HARNESS.match(line):
        return 0
    said = wide = 0
    for word in _WORDS.findall(line.casefold()):
        if word.isascii():
            said += word not in _EMPTY_WORDS and not word.isdigit() and len(word) > 1
        else:
            letters = sum(map(_is_wide, word))
            wide += letters
            said += not letters and not any(map(_is_kana, word)) and len(word) > 1
        if said + wide // 2 >= _ENOUGH:
            return _ENOUGH
    return said + wide // 2


def worth(title: str, rank: int) -> tuple[int, int]:
    """Which of two titles counts: the larger. One made as a title needs but a word, a person's own none."""
    says = telling(title)
    return (_ENOUGH if rank >= TITLE_CUSTOM or (says and rank > TITLE_PROMPT) else says), rank


def _is_wide(character: str) -> bool:
    """Whether it is a letter that carries a meaning of its own: Chinese, Korean, kanji, katakana."""
    return (
        character > "\u2e80" and unicodedata.east_asian_width(character) in "WF" and not _is_kana(character)
    )


def _is_kana(character: str) -> bool:
    return "\u3041" <= character <= "\u309f"
