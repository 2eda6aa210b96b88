"""Which of the facts that a model tells hold: those whose every citation is in what it was shown.

A citation holds where the entry was shown, and the quoted words stand in the part of it that was. Whatever
an answer is, what comes out are facts or counted reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

from recollect.agents.fields import dict_of, list_of, text_of
from recollect.agents.tags import safe
from recollect.recall.facts.asking import FACTS_MAX, QUOTE_CHARS
from recollect.recall.facts.reading import window
from recollect.search.snippet import readable
from recollect.values.facts import FACT_CHARS_MAX, TAGS, Chunk, FoundFact

_TEXT_CHARS_MIN = 8
_CITATIONS_MAX = 8


def checked(answer: Any, chunk: Chunk, known: Collection[str]) -> tuple[list[FoundFact], Counter[str]]:
    """The facts of an answer that hold, and why others were dropped; `known`: ids that can be superseded."""
    dropped: Counter[str] = Counter()
    listed = dict_of(answer).get("facts")
    if type(listed) is not list:
        return [], Counter({"no list of facts": 1})
    dropped["more than were asked for"] = max(len(listed) - FACTS_MAX, 0)
    texts = {each.id: _plain(safe(readable(each.entry)[: window(each)[1]])) for each in chunk.entries}
    found: dict[str, FoundFact] = {}
    for each in listed[:FACTS_MAX]:
        fact, reason = _checked_fact(dict_of(each), texts, known)
        if fact is None:
            dropped[reason] += 1
        else:
            found.setdefault(_plain(fact.text), fact)
    return list(found.values()), +dropped


def _checked_fact(
    told: dict[str, Any], texts: dict[str, str], known: Collection[str]
) -> tuple[FoundFact | None, str]:
    text = " ".join(text_of(told.get("text")).split())
    if not _TEXT_CHARS_MIN <= len(text) <= FACT_CHARS_MAX or not text.isprintable():
        return None, "no sentence"
    tag = text_of(told.get("tag"))
    citations = [dict_of(each) for each in list_of(told.get("citations"))[:_CITATIONS_MAX]]
    if not citations:
        return None, "cites nothing"
    for each in citations:
        shown = texts.get(_id(each))
        if shown is None:
            return None, "cites an entry that was not shown"
        quote = _plain(text_of(each.get("quote")))
        if not QUOTE_CHARS[0] <= len(quote) <= QUOTE_CHARS[1] and quote != shown:
            return None, "quotes too little or too much"
        if quote not in shown:
            return None, "quotes words that are not there"
    entries = tuple(dict.fromkeys(map(_id, citations)))
    wanted = map(text_of, list_of(told.get("supersedes")))
    supersedes = tuple(dict.fromkeys(each.strip("[] ") for each in wanted))
    supersedes = tuple(each for each in supersedes if each in known)
    return FoundFact(tag if tag in TAGS else "project", text, entries, supersedes), ""


def _id(citation: dict[str, Any]) -> str:
    return text_of(citation.get("entry")).strip("[] ")


def _plain(text: str) -> str:
    """A text by its words: a model wraps lines and changes quotation marks."""
    return " ".join(text.translate(_QUOTES).casefold().split())


_QUOTES = {ord(each): "'" for each in "’‘`´"} | {ord(each): '"' for each in "“”„"}
