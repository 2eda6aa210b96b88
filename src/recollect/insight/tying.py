"""Makes a session's ties: what could show that another session goes on with its work.

Pure, from a session's entries and facts. A table keeps them (`recollect.search.ties`); a session that goes on
is tied anew, and its last rows count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from recollect.insight.digest.changes import changed_files
from recollect.insight.digest.steps import exchanges
from recollect.insight.plans import begun_plan, heading_of, plan_name, proposed_plan
from recollect.light.sources import is_conversation
from recollect.search.ties import TIES, Tie, current, session_key
from recollect.store.contract import View, Writer
from recollect.store.derived import Column, catch_up, stored_table
from recollect.values.errors import DerivedDamaged
from recollect.values.ids import name_key
from recollect.values.records import Flag, Kind, Relation, SessionFacts
from recollect.values.stop_words import EVERYDAY
from recollect.values.stored import Session, StoredEntry
from recollect.values.titles import EMPTY_WORDS, TITLE_AGENT, telling

Found = list[tuple[Tie, int]]

_STALE_MIN = 4_000  # superseded rows that are not worth clearing out
_PROMPTS_MAX = 32  # from either end
_FILES_MAX = 40
_WORDS_MAX = 24
_NAMED_MAX = 4
_ISSUES_MAX = 2  # a prompt that names more is about none of them
_HEAD_CHARS = 300
_TEXT_CHARS = 2_000
_REQUEST_CHARS = 40  # a shorter one may be said twice by chance


def ties_of(entries: Sequence[StoredEntry], facts: SessionFacts) -> Found:
    """The ties of a session, each once, behind its mark."""
    made = exchanges(entries)
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


def catch_up_ties(writer: Writer) -> int:
    """Tie every session that has news; returns how many rows came new."""
    added = catch_up(writer, TIES, _Maker(writer.view()))
    added += _tie_the_rest(writer)
    view = writer.view()
    stored = stored_table(view, TIES)
    ties = current(view.derived(TIES))
    if stored.rows > 2 * len(ties.key) + _STALE_MIN:
        writer.drop_derived(TIES)
        columns: dict[str, Column] = {"session": ties.session, "kind": ties.kind, "key": ties.key}
        writer.add_derived(TIES, columns, built_to=stored.built_to)
        writer.commit()
    return added


def is_behind(view: View) -> bool:
    """Whether any session has news that it is not tied by; not where the table does not read."""
    info = view.info()
    try:
        return len(_marked(view)) < info.sessions or stored_table(view, TIES).built_to < info.rows_end
    except DerivedDamaged:
        return False


def _marked(view: View) -> set[int]:
    """The sessions that were looked at."""
    columns = view.derived(TIES)
    session, kind = np.asarray(columns["session"]), np.asarray(columns["kind"])
    return set(session[kind == Tie.MARK].tolist())


def _tie_the_rest(writer: Writer) -> int:
    """Tie what shows nothing that another session did not show first: no entry of it is new."""
    view = writer.view()
    known = _marked(view)
    if len(known) >= view.info().sessions:
        return 0
    rest = [(key, each) for each in view.sessions() if (key := session_key(each)) not in known]
    if not rest:
        return 0
    columns = _columns([(key, _made(view, each)) for key, each in rest])
    writer.add_derived(TIES, columns, built_to=stored_table(view, TIES).built_to)
    writer.commit()
    return len(columns["key"])


class _Maker:
    """Makes the rows of some entries: the ties of sessions that have no later ones."""

    def __init__(self, view: View) -> None:
        # Only behind a rewrite is everything looked at again; otherwise what has new entries is new.
        is_carried = stored_table(view, TIES).built_to == 0
        self._known = _by_session(view) if is_carried else {}

    def __call__(self, view: View, start: int, stop: int) -> dict[str, Column]:
        made: list[tuple[int, Found]] = []
        sessions = view.session_rows()
        for row in view.sessions_in(start, stop):
            rows = view.session_columns(row, "row")["row"]
            if not len(rows) or rows[-1] >= stop:
                continue
            key, found = session_key(sessions[row]), _made(view, sessions[row])
            if self._known.get(key) != found:
                made.append((key, found))
        return _columns(made)


def _made(view: View, session: Session) -> Found:
    """A subagent belongs to whoever started it, and what is no conversation to nobody."""
    if session.facts.relation == Relation.SUBAGENT or not is_conversation(session.facts.agent):
        return [(Tie.MARK, 0)]
    return ties_of(list(view.entries(session)), session.facts)


def _by_session(view: View) -> dict[int, Found]:
    ties = current(view.derived(TIES))
    found: dict[int, Found] = {}
    for session, kind, key in zip(ties.session.tolist(), ties.kind.tolist(), ties.key.tolist(), strict=True):
        found.setdefault(session, []).append((Tie(kind), key))
    return found


def _columns(made: Sequence[tuple[int, Found]]) -> dict[str, Column]:
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
