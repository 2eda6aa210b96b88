"""Makes a session's ties: what could show that another session goes on with its work.

Pure, from a session's entries and facts. A table keeps them (`recollect.search.ties`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from recollect.insight.digest.changes import changed_files
from recollect.insight.digest.steps import Exchange, exchanges
from recollect.insight.plans import begun_plan, heading_of, plan_name, proposed_plan
from recollect.light.sources import is_conversation
from recollect.search.ties import Tie
from recollect.store.derived import Column
from recollect.values.ids import name_key
from recollect.values.records import Flag, Kind, Relation, SessionFacts
from recollect.values.stop_words import EVERYDAY
from recollect.values.stored import StoredEntry
from recollect.values.titles import EMPTY_WORDS, TITLE_AGENT, telling

Found = list[tuple[Tie, int]]

_PROMPTS_MAX = 32  # from either end
_FILES_MAX = 40
_WORDS_MAX = 24
_NAMED_MAX = 4
_ISSUES_MAX = 2  # a prompt that names more is about none of them
_HEAD_CHARS = 300
_TEXT_CHARS = 2_000
_REQUEST_CHARS = 40  # a shorter one may be said twice by chance


def ties_of(
    entries: Sequence[StoredEntry], facts: SessionFacts, made: Sequence[Exchange] | None = None
) -> Found:
    """The ties of a session, each once, behind its mark; `made` are its exchanges, where they are known.

    A subagent belongs to whoever started it, and what is no conversation to nobody.
    """
    if facts.relation == Relation.SUBAGENT or not is_conversation(facts.agent):
        return [(Tie.MARK, 0)]
    made = exchanges(entries) if made is None else made
    prompts = [each.prompt for each in made if each.prompt is not None and not each.is_command]
    prompts = [each for each in prompts if each.entry.is_said and not each.entry.flags & Flag.EXPORTED]
    first = _first(prompts)
    steps = [step for each in made for step in each.steps]
    found: Found = [(Tie.MARK, next((each.entry.time_ms for each in prompts if each.entry.time_ms > 0), 0))]
    found += [(Tie.SAID, key) for key in _said(prompts)]
    found += [(Tie.NAMED, name_key(id_)) for id_ in _named(first, entries, facts.id)]
    found += [(Tie.PROPOSED, _plan_key(text)) for step in steps if (text := proposed_plan(step))]
    found += [(Tie.BEGUN, _plan_key(text)) for text in [begun_plan(first)] if text]
    found += [(Tie.ASKED, key) for key in _asked(first)]
    found += [(Tie.ISSUE, name_key("issue", number)) for number in _issues(first)]
    paths = [each.path for each in changed_files(steps, facts.cwd) if not _LOCK.search(each.path)]
    found += [(Tie.DOCUMENT, name_key("file", path)) for path in paths if _DOCUMENT.search(path)]
    found += [(Tie.FILE, name_key("file", path)) for path in paths[:_FILES_MAX]]
    found += [(Tie.WORD, name_key("word", word)) for word in _words(first, facts)]
    return list(dict.fromkeys(found))


def tie_columns(made: Sequence[tuple[int, Found]]) -> dict[str, Column]:
    """Ties as rows of the table."""
    rows = [(key, *tie) for key, found in made for tie in found]
    return {
        "session": np.array([row[0] for row in rows], "<u8"),
        "kind": np.array([row[1] for row in rows], "<u1"),
        "key": np.array([row[2] for row in rows], "<u8"),
    }


# -- what is read ------------------------------------------------------------------------------------


def _first(prompts: Sequence[StoredEntry]) -> str:
    """What was asked for first, or "" where nothing was said."""
    texts = [each.entry.text for each in prompts[:4]]
    return next((text for text in texts if telling(text) > 1), texts[0] if texts else "")


def _said(prompts: Sequence[StoredEntry]) -> list[int]:
    """Prompts by their moment: a copy keeps both, and nobody says the same twice in a millisecond."""
    both = [*prompts[:_PROMPTS_MAX], *prompts[_PROMPTS_MAX:][-_PROMPTS_MAX:]]
    return [
        name_key("said", str(each.entry.time_ms), each.entry.text[:_TEXT_CHARS])
        for each in both
        if each.entry.time_ms
    ]


def _named(first: str, entries: Iterable[StoredEntry], own: str) -> list[str]:
    """The sessions that the first prompt, or a summary before it, says it goes on from."""
    texts = [first]
    for each in entries:
        if each.entry.kind == Kind.ANSWER:
            break
        if each.entry.kind == Kind.SUMMARY:
            texts.append(each.entry.text)
    found = [next(filter(None, each)) for text in texts for each in _TRANSCRIPT.findall(text)]
    return [id_ for id_ in dict.fromkeys(found) if id_ != own][:_NAMED_MAX]


def _plan_key(text: str) -> int:
    """A plan by its heading, which stays as it is worked on; where that says little, by its beginning."""
    name = plan_name(text)
    return name_key(
        "plan", name.casefold() if telling(name) > 1 else " ".join(text[:_HEAD_CHARS].casefold().split())
    )


def _asked(first: str) -> list[int]:
    plain = " ".join(first[:_TEXT_CHARS].casefold().split())
    return [name_key("asked", plain)] if len(plain) >= _REQUEST_CHARS else []


def _issues(first: str) -> list[str]:
    found = [next(filter(None, each)) for each in _ISSUE.findall(first[:_TEXT_CHARS])]
    numbers = list(dict.fromkeys(found))
    return numbers if len(numbers) <= _ISSUES_MAX else []


def _words(first: str, facts: SessionFacts) -> list[str]:
    """The words of what a session is about: of a plan's heading or how the request begins, and its title."""
    told = heading_of(first) or first[:_HEAD_CHARS]
    title = facts.title if facts.title_rank >= TITLE_AGENT else ""
    text = _ASIDE.sub(" ", f"{told} {title}").casefold()
    words = (word.removesuffix("s") if len(word) > 4 else word for word in _WORD.findall(text))
    return list(dict.fromkeys(word for word in words if word not in _COMMON))[:_WORDS_MAX]


_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_TRANSCRIPT = re.compile(rf"({_UUID})\.jsonl\b|\bresume\s{{1,3}}({_UUID})")
_ISSUE = re.compile(
    r"/(?:issues|pull|pulls|merge_requests)/(\d{1,7})\b|(?:\bissue|\bPR|\bpull request)\s{0,2}#?(\d{1,7})\b"
    r"|(?<![\w#&/])#(\d{2,7})\b",
    re.IGNORECASE,
)
_LOCK = re.compile(r"(?:^|/)(?:[\w-]{1,40}\.lock|[\w-]{1,40}-lock\.\w{1,5}|go\.sum)$", re.IGNORECASE)
_DOCUMENT = re.compile(
    r"(?:^|/)(?:plans?|specs?|tasks?|prd|rfc|design|requirements|proposal)(?:[-_][\w-]{1,60})?\.(?:md|mdx|txt|org)$"
    r"|(?:^|/)(?:plans|specs|rfcs|proposals|prds)/.{1,200}\.md$",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"https?://\S+|\S*[/\\]\S*|\S+\.\w{1,5}\b")
_WORD = re.compile(
    r"[a-z_][a-z0-9_-]{2,40}|[\u30a1-\u30fa\u30fc]{3,20}|[\u4e00-\u9fff]{2,12}|[\uac00-\ud7af]{2,12}"
)
_COMMON = EVERYDAY | EMPTY_WORDS
