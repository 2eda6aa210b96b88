"""What in a text is worth telling the next conversation: rules made by hand, precise rather than complete.

    remarks     what a person wants from now on: "never push", "I prefer tabs", "don't add comments";
                and what they settle: "let's use httpx"
    agreed      what an answer says was settled: "as we decided", "per your no-push rule"
    left_open   what an answer says is still to do, or asks: "Next steps: ...", "Not pushed.", "Shall I ...?"
    open_tasks  what a session's own task list has not ticked off

A rule looks at one sentence. Of a long prompt only the beginning is read, because the rest is pasted, and a
pasted document says "always" and "never" about something else. The rules know English.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from recollect.agents.registry import all_tools
from recollect.agents.tools import Tasks
from recollect.values.records import Entry

PASTED_CHARS = 1500  # a prompt longer than this holds a document
SAID_CHARS = 400  # of such a one that a person may have typed
ANSWER_CHARS = 10_000  # of an answer, that are looked at
SENTENCE_CHARS = (8, 240)
ALONE_CHARS = 40  # a shorter sentence speaks of the one before it


def bare(text: str) -> str:
    """A text without the targets of its links and the marks of emphasis."""
    linked = _LINK.sub(r"\1", text) if "](" in text else text
    return _EMPHASIS.sub("", linked) if any(map(linked.__contains__, ("**", "__", "``"))) else linked


def spoken(text: str) -> str:
    """What a person typed of a prompt, without code and what was pasted behind it."""
    head = text[: PASTED_CHARS + 1]
    if len(head) > PASTED_CHARS:
        head = head[:SAID_CHARS]
    return _CODE.sub("\n", head)


def remarks(text: str) -> tuple[list[str], list[str]]:
    """What a person says in a prompt about how things are to be done, and what they settle."""
    if not _HINT.search(head := spoken(text)):
        return [], []
    said = [each for each in sentences(head) if not _ONCE.search(each)]
    return _ruled(said, _STANDING), _ruled(said, _DECIDED)


def agreed(answer: str) -> list[str]:
    """Sentences of an answer that speak of what both sides settled, or of a rule the person has."""
    if not _AGREED.search(head := answer[:ANSWER_CHARS]):
        return []
    return _ruled(sentences(_CODE.sub("\n", head)), _AGREED)


def left_open(answer: str) -> str:
    """The first thing an answer leaves to do, else what it asks at its end; "" for nothing."""
    said = list(_sentences(_CODE.sub("\n", answer[-ANSWER_CHARS:])))
    for n, each in enumerate(said):
        if _NEXT_HEADING.fullmatch(each):
            return said[n + 1] if n + 1 < len(said) else ""
        if _UNDONE.search(each) and not each.endswith("?"):
            return _with_context(said, n)
    return _with_context(said, len(said) - 1) if said and _ASKED.search(said[-1]) else ""


def gist(answer: str, chars_min: int) -> str:
    """How an answer begins: its first sentences, until they say something; headings say nothing."""
    kept, length = list[str](), 0
    for each in _sentences(_CODE.sub("\n", answer[:ANSWER_CHARS])):
        if not each.endswith(":"):
            kept.append(each)
            length += len(each) + 1
        if length >= chars_min:
            break
    return " ".join(kept)


def open_tasks(calls: Iterable[Entry], *, all_calls: bool) -> list[str]:
    """The items of a session's task list that are not done, from its calls in order.

    `all_calls`: the first of them are there; without those some lists cannot be put together.
    """
    listed: Tasks = {}
    for call in calls:
        planner = all_tools().plan.get(call.tool.lower())
        if planner is not None and isinstance(given := _decoded(call.text), dict):
            listed = planner(listed, given, all_calls)
    return [what for what, state in listed.values() if what and state in ("pending", "in_progress")]


def sentences(text: str) -> list[str]:
    """Sentences of a length that can be a remark; questions and headings are none."""
    low, high = SENTENCE_CHARS
    return [each for each in _sentences(text) if low <= len(each) <= high and not each.endswith(("?", ":"))]


def _ruled(said: Iterable[str], rule: re.Pattern[str]) -> list[str]:
    return [_TIE.sub("", each) for each in said if rule.search(each)]


def _sentences(text: str) -> Iterator[str]:
    """Sentences and lines, without the marks of lists, headings and emphasis."""
    for line in _WRAP.sub(" ", text).splitlines():
        if line.lstrip().startswith("|"):  # a table
            continue
        for each in _END.split(_MARK.sub("", bare(line))):
            if kept := each.strip(" \t*"):
                yield kept


def _with_context(said: list[str], n: int) -> str:
    """A sentence, with the one before it where it is too short to stand alone."""
    return " ".join(said[max(n - 1, 0) : n + 1]) if len(said[n]) < ALONE_CHARS else said[n]


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _rule(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_LINK = re.compile(r"\[([^\]\n]{1,200})\]\([^)\n]{0,400}\)")
_EMPHASIS = re.compile(r"\*\*|__(?=\W|$)|(?<!\w)__|`(?=`)")
_WRAP = re.compile(r"(?<=[a-z,])\n(?=[a-z])")  # an editor's line break inside a sentence
_MARK = re.compile(r"^(?:\s|[#>•*-]|\d{1,3}[.)](?=\s))+")  # of a list, a heading, a quotation
_END = re.compile(r"(?<=[^\d\s][.!?])\s+(?=[A-Z0-9`\"'(])|(?<=[a-z]{3}[.!?])\s+")

_TIES = r"(?:(?:and|but|also|so|ok|okay|please|no|yes|yeah|now|just|again)[,:]? )*"
_TIE = re.compile("^" + _TIES, re.IGNORECASE)
_OPENING = "^" + _TIES
_STANDING = _rule(
    _OPENING + r"(?:always|never) (?!mind)\w",
    _OPENING + r"(?:don['’]?t|do not|stop|avoid) (?!worry|know|think|see|forget|you\b|we\b|i\b)\w",
    _OPENING + r"use\b.{2,80}\binstead\b",
    _OPENING + r"remember (?:to|that)\b",
    r"^(?:in (?:the )?future|from now on|going forward)\b|\b(?:from now on|going forward)\W*$",
    _OPENING + r"(?:i|we)(?:['’]d| would| really| strongly| usually)* "
    r"(?:prefer|dislike|hate|(?:don['’]?t|do not|never) (?:want|like|need|use))\b",
    r"^(?:i think )?(?:we|it|this|you|they|there) (?:should|must) (?:always|never|only)\b",
)
_DECIDED = _rule(
    r"(?:^|[,;:] |\b(?:but|so|and|ok|okay|yes) )let['’]?s (?:not |just )?"
    r"(?:use|go with (?!option|your|that|it\b)|stick (?:with|to)|keep|switch to|drop|call|rename)\b",
    r"\b(?:i|we)(?:['’]ve| have| just| already)* (?:decided|agreed|settled on)\b",
    r"^decision\b\W",
)
_AGREED = _rule(
    r"\bwe(?:['’]ve| have)* (?:decided|agreed|settled on)\b",
    r"\b(?:per|following) your (?:[\w`\"-]+ ){1,4}(?:rule|default|preference|policy|convention)s?\b",
)
_HINT = _rule(  # most prompts hold no remark; this says so sooner
    "always|never|don|do not|stop|avoid|instead|remember|future|forward|from now|prefer|hate|dislike|only",
    "let['’]?s |decided|decision|agreed|settled",
)
_ONCE = _rule(r"\b(?:yet|for now|right now|this time|at the moment|if we don['’]?t)\b")
_UNDONE = _rule(
    r"^(?:next steps?|remaining|still open|to ?do|not done|follow-?ups?)\b\W+\w",
    r"\b(?:still (?:need|has|have|needs) to|remains? to be|left to do)\b",
    r"\bnot (?:yet )?(?:pushed|committed|implemented|tested|deployed|merged|verified|fixed)\b",
    r"^ready to (?:commit|push|merge|deploy|release|continue)\b",
)
_NEXT_HEADING = _rule(
    r"(?:suggested |recommended |natural )?(?:next steps?|remaining(?: work| steps)?|to ?do)\W*"
)
_ASKED = _rule(
    r"^(?:so |and )?(?:want me to|should (?:i|we)|shall i|do you want|would you like|which|how do you want)\b"
    r".*\?\W*$"
)
