"""A short title for a session: what was asked for, and the words that the whole session was about.

Candidates are the title that the agent or a person gave it, headings of plans, what was asked, and subjects
of commits. Each is cut to a clause and weighed by its words: one that stands in many places is what the
session was about. Such words that the chosen clause lacks stand behind it, so that "continue" says of what.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from recollect.agents.registry import all_tools
from recollect.insight.digest.steps import Exchange
from recollect.values.digests import Changed, Commit
from recollect.values.records import SessionFacts
from recollect.values.titles import EMPTY_WORDS, TITLE_AGENT, TITLE_CUSTOM, bare_title, telling

WORDS_MAX = 10
CHARS_MAX = 80
TOPICS_MAX = 4
LINE_CHARS_MAX = 112
EMPTY = "Empty session"

_PROMPTS_MAX = 40
_HEAD_CHARS = 700
_ANSWER_CHARS = 1_500
_SHARED_MAX = 8  # in how many places a word counts
_OWN_WORTH = 3.0


@dataclass(frozen=True, slots=True)
class _Candidate:
    text: str
    worth: float


def title_of(
    facts: SessionFacts, made: Sequence[Exchange], commits: Sequence[Commit], files: Sequence[Changed]
) -> str:
    """What the session is called; `EMPTY` for one in which nothing was said."""
    candidates = [each for each in _candidates(facts, made, commits) if telling(each.text)]
    counts = Counter[str]()
    for place, worth in _places(made, commits, files):
        counts.update(dict.fromkeys(_content(place), worth))

    def weight(each: _Candidate) -> float:
        words = set(_content(each.text))
        return each.worth * sum(min(counts[word], _SHARED_MAX) for word in words) / math.sqrt(len(words) or 1)

    best = max(candidates, key=weight, default=_Candidate(short(facts.headline), 0.0))
    if facts.title_rank >= TITLE_CUSTOM and facts.headline:
        best = _Candidate(short(facts.headline), _OWN_WORTH)  # a person's own word
    is_enough = best.worth == _OWN_WORTH and telling(best.text) > 1
    topics = [] if is_enough else _topics(counts, best.text)
    if not topics:
        return best.text or EMPTY
    while topics and len(best.text) + sum(len(topic) + 2 for topic in topics) > LINE_CHARS_MAX:
        topics.pop()
    return f"{best.text} ({', '.join(topics)})" if topics and best.text else best.text or ", ".join(topics)


def short(text: str) -> str:
    """A line cut to a clause, or between words where no clause ends in time."""
    line = " ".join(_LINKED.sub(r"\1", text).split())
    if len(line) <= CHARS_MAX and line.count(" ") < WORDS_MAX:
        return line.rstrip(" .,;:")
    head = " ".join(line[: CHARS_MAX + 1].split(" ")[:WORDS_MAX])
    if len(head) > CHARS_MAX:
        head = head[:CHARS_MAX].rpartition(" ")[0] or head[: CHARS_MAX // 2]
    ends = [found.start() for found in _CLAUSE.finditer(head)]
    kept = head[: ends[-1]] if ends and ends[-1] >= len(head) // 3 else head
    return kept.rstrip(" ,;:-–—(") + "…"


def _candidates(
    facts: SessionFacts, made: Sequence[Exchange], commits: Sequence[Commit]
) -> Iterator[_Candidate]:
    if facts.title_rank >= TITLE_AGENT and (own := short(facts.headline)):
        yield _Candidate(own, _OWN_WORTH)
    worth = 2.5
    for each in _asked(made):
        for sentence in _sentences(bare_title(each.asked[:_HEAD_CHARS]))[:3]:
            if not _NO_TITLE.match(sentence):
                yield _Candidate(sentence, worth)
                worth = max(worth * 0.85, 0.8) if telling(sentence) else worth
    yield from (_Candidate(short(heading), 1.6) for heading in _headings(made))
    worth = 1.6 if len(commits) == 1 else 1.2
    yield from (_Candidate(short(_TYPED.sub("", commit.subject)), worth) for commit in commits)


def _places(
    made: Sequence[Exchange], commits: Sequence[Commit], files: Sequence[Changed]
) -> Iterator[tuple[str, int]]:
    """All texts in which a word of the subject would stand, and how much that says."""
    yield from ((each.asked[:_HEAD_CHARS], 2) for each in _asked(made))
    yield from ((each.said[-1].entry.text[:_ANSWER_CHARS], 1) for each in made if each.said)
    yield from ((heading, 2) for heading in _headings(made))
    yield from ((commit.subject, 2) for commit in commits)
    yield from ((each.path.rpartition("/")[2], 1) for each in files[:20])


def _asked(made: Sequence[Exchange]) -> list[Exchange]:
    return [each for each in made if each.prompt is not None and not each.is_command][:_PROMPTS_MAX]


def _headings(made: Sequence[Exchange]) -> Iterator[str]:
    for step in (step for each in made for step in each.steps if step.tool in all_tools().propose):
        if found := _HEADING.search(step.call.entry.text[: _HEAD_CHARS * 3]):
            yield found[1]


def _topics(counts: Counter[str], title: str) -> list[str]:
    """The words of most places that a title lacks."""
    has = set(_content(title))
    least = 3 if telling(title) > 1 else 2
    ranked = sorted(counts.items(), key=lambda each: -each[1])  # of equals those that were said first
    found = (
        word
        for word, count in ranked
        if count >= least and not any(word in each or each in word for each in has)
    )
    return _apart(found)[:TOPICS_MAX]


def _apart(words: Iterable[str]) -> list[str]:
    """Words of which none is part of another."""
    kept: list[str] = []
    for word in words:
        if len(kept) == TOPICS_MAX:
            break
        if not any(word in other or other in word for other in kept):
            kept.append(word)
    return kept


def _sentences(text: str) -> list[str]:
    found = [each.strip(" \t*#>-\"'") for each in _ENDS.split(text)]
    return [short(each) for each in found if len(each) > 3]


def _content(text: str) -> Iterator[str]:
    """The words of a text that say something; names made of several words stay whole."""
    for word in _WORDS.findall(text.lower()):
        word = word.strip("._-")
        if not word.isascii() or (
            3 <= len(word) <= 30 and word not in EMPTY_WORDS and word not in _COMMON and not word[0].isdigit()
        ):
            yield word


_HEADING = re.compile(r"#\s{1,3}(?:Plan: ?)?([^\n\\\"]{3,160})")
_TYPED = re.compile(r"^\w{2,10}(?:\([\w./-]{1,40}\))?!?: ")
_LINKED = re.compile(r"\[([^\]\n]{1,120})\]\([^)\n]{0,300}\)")
_CLAUSE = re.compile(r"[,;:、。]|\s(?:[-–—]|so|because|since|which|but)\s")
_ENDS = re.compile(r"(?<=[^\d\s][.!?])\s+|[。！？\n]")
_NO_TITLE = re.compile(r"\W*(?:https?:|/\w|[A-Z]:[/\\]|[➜$%]|@|yes\b|ok\b|no\b|sure\b|\W*$)", re.IGNORECASE)
_WORDS = re.compile(
    "[a-z0-9][a-z0-9_.-]+|[a-z\u00c0-\u024f]{3,}|[\u0370-\u1fff]{3,}|[\u4e00-\u9fff\u3005]{2,8}"
    "|[\u30a1-\u30fc]{3,16}|[\uac00-\ud7af]{2,12}"
)
# Words of every session, besides those that say nothing anywhere.
_COMMON = frozenset(
    """
    able actually add added already also always another appear because been being below both build call
    calls change changed changes check chore clean clear click com command commands committed complete
    correct create created currently default different directory docs doesn done each either error
    errors every example existing false feat fields fix format found full function general github.com
    given go handle home html http https implement implementation implemented include input instead into
    item items js json key keys know left let level line lines list local main may md missing name needs
    none note number option org output part pass passed path plan point possible pre present py python
    refactor remove removed replace result return root rs rust script section set sh short side since
    single size specific src state status step still string summary support system test tests text the
    through toml true ts tsx txt type under used user users using usr value values version via view want
    when without works write written www yaml yml
    """.split()  # noqa: SIM905
)
