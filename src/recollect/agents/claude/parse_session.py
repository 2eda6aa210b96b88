"""What a Claude Code transcript tells about its session, record by record.

A file may hold records of other sessions. Up to about 2.0.3x a resume opened a new file and
copied the history into it; even now a session started out of another's plan begins with a few
records that bear the old id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from recollect.agents.fields import (
    COPY,
    dict_of,
    facts_restored,
    facts_state,
    has_said,
    note_answers,
    text_of,
    time_of,
)
from recollect.light.project import remote_name
from recollect.light.sources import WRITTEN_BY, WRITTEN_FROM_KEY, WRITTEN_KEY
from recollect.values.records import Entry, Relation, Role, SessionFacts, SourceFile
from recollect.values.titles import TITLE_AGENT, TITLE_PROMPT, TITLE_STRANGER, TITLE_SUMMARY, title_line


class Session:
    """The facts of one source's session, and what is needed to go on gathering them."""

    __slots__ = ("_leading", "_met", "_role", "_started", "_untouched", "facts", "first")

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        self._role = source.role
        self._met = ""  # the last sessionId seen: meeting it again changes nothing
        self._leading: bool = state.get("leading", True)  # no record with our own id yet
        self._started: bool = state.get("started", False)  # a chain record was read
        # It began with what an export of ours wrote, and nobody has said anything since.
        self._untouched: bool = state.get("untouched", False)
        self.first: str = state.get("first", "")  # the id of the first chain record
        self.facts = facts_restored(state["facts"]) if "facts" in state else _first_facts(source)

    def state(self) -> dict[str, Any]:
        return {
            "facts": facts_state(self.facts),
            "leading": self._leading,
            "started": self._started,
            "first": self.first,
            **({"untouched": True} if self._untouched else {}),
        }

    def note(self, record: dict[str, Any]) -> int:
        """Take in a record's envelope; answer with its time."""
        facts = self.facts
        time_ms = time_of(record.get("timestamp"))
        if is_copied(record) and not facts.ended_ms and self._role is Role.MAIN:
            self._untouched, facts.relation = True, Relation.FORK
        if time_ms and not self._untouched:
            facts.saw(time_ms)
        session = record.get("sessionId")
        if session != self._met and type(session) is str:
            self._meet(session)
        uuid = record.get("uuid")
        if type(uuid) is not str:
            return time_ms
        self._started = True
        self.first = self.first or uuid
        # The directory the session began in: it moves with every `cd` the agent does.
        if not facts.cwd:
            facts.cwd = text_of(record.get("cwd"))
        branch = record.get("gitBranch")
        if branch and branch != "HEAD" and type(branch) is str:
            facts.branch = branch
        version = record.get("version")
        if version and type(version) is str:
            facts.version = version
        slug = record.get("slug")
        if slug and type(slug) is str:
            facts.slug = slug
        forked = "forkedFrom" in record or WRITTEN_FROM_KEY in record
        if forked and not (facts.parent and facts.relation is Relation.FORK):
            written_from = text_of(record.get(WRITTEN_FROM_KEY))
            self._note_fork(text_of(dict_of(record.get("forkedFrom")).get("sessionId")), written_from)
        return time_ms

    def go_on(self, entries: Iterable[Entry]) -> None:
        """See whether these are the first that were said in a copy: its time begins with them."""
        if self._untouched and has_said(entries):
            self._untouched = False
            for entry in entries:
                self.facts.saw(entry.time_ms)

    def note_prompt(self, text: str) -> None:
        """The first prompt that says something is the title until a better one comes."""
        self.facts.title_from(text, TITLE_PROMPT)

    def note_answers(self, entries: Iterable[Entry]) -> None:
        note_answers(self.facts, entries)

    def take_title(self, text: str, rank: int) -> int:
        """Take a title; the flags of its entry say whether it was known before."""
        title = title_line(text)
        flags = COPY if title == self.facts.title else 0
        self.facts.titled(title, rank)
        return flags

    def take_summary(self, text: str) -> None:
        """A `summary` before the first chain record mostly speaks of another session."""
        self.take_title(text, TITLE_SUMMARY if self._started else TITLE_STRANGER)

    def take_pull_request(self, repository: str, url: str) -> None:
        """A pull request names the project better than any directory."""
        if repository:
            self.facts.project = f"{remote_name(url).partition('/')[0] or 'github.com'}/{repository}"

    def take_description(self, record: dict[str, Any]) -> None:
        """A subagent's sidecar: what it was asked to do, and by whom."""
        nested = text_of(record.get("parentAgentId"))
        if nested and self.facts.relation is Relation.SUBAGENT:
            self.facts.parent = nested if nested.startswith("agent-") else f"agent-{nested}"
        self.facts.titled(title_line(text_of(record.get("description"))), TITLE_AGENT)

    def _meet(self, session: str) -> None:
        """Another sessionId than on the record before."""
        facts = self.facts
        self._met = session
        if self._role is Role.SUBAGENT:
            if not facts.parent:
                facts.parent = facts.root = session
        elif not facts.id:
            facts.id = facts.root = session
            self._leading = False
        elif session == facts.id:
            self._leading = False
        elif self._leading and facts.relation is not Relation.FORK:
            # Copies of copies keep their ids: the first is the root, the last the parent.
            if facts.relation is not Relation.CONTINUATION:
                facts.root = session
            facts.parent, facts.relation = session, Relation.CONTINUATION

    def _note_fork(self, parent: str, root: str) -> None:
        parent, root = parent or root, root or parent
        if parent and parent != self.facts.id and self._role is Role.MAIN:
            self.facts.parent, self.facts.root = parent, root
            self.facts.relation = Relation.FORK


def is_copied(record: Mapping[str, Any]) -> bool:
    """Whether an export of ours wrote this record; the first ones said so beside what it was forked from."""
    return WRITTEN_BY in (record.get(WRITTEN_KEY), dict_of(record.get("forkedFrom")).get("by"))


def _first_facts(source: SourceFile) -> SessionFacts:
    facts = SessionFacts(agent="claude", id=source.session, parent=source.parent)
    # A spilled result says nothing of where its session began; the transcript does.
    facts.root = source.parent or (source.session if source.role is Role.MAIN else "")
    if source.role in (Role.SUBAGENT, Role.SIDECAR):
        facts.relation = Relation.SUBAGENT
    return facts
