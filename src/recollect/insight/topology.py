"""How the sessions of a thread hang together, and what happened to each one's context.

Which call started a subagent and what came back; where one session was forked or continued, in which agent;
what was summed up; what was taken back and said otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from recollect.agents.contract import TellsBranches
from recollect.agents.registry import agent_of, all_tools
from recollect.agents.sessions import StoredFile
from recollect.insight.digest.changes import changed_files
from recollect.insight.digest.steps import Step, exchanges
from recollect.store.contract import UsageColumns, View
from recollect.values.digests import Statement
from recollect.values.errors import NotFound
from recollect.values.history import How, Link
from recollect.values.ids import entry_id
from recollect.values.records import Flag, Kind, Relation
from recollect.values.stored import Session, StoredEntry
from recollect.values.text import many, one_line

_HOW = {Relation.SUBAGENT: How.SUBAGENT, Relation.FORK: How.FORK, Relation.CONTINUATION: How.CONTINUATION}
_TASK_CHARS = 200  # by which what a subagent was told is known again
_QUOTE_CHARS = 60  # of a prompt, by which it is known again in a summary
_LEFT_CELLS = 60
_PROMPT_CELLS = 120  # of a prompt that a summary has or has not
_SUMMARY_WITHIN = 6  # entries behind a boundary


class Sessions:
    """The sessions of one thread, by row, their entries read once."""

    def __init__(
        self, view: View, sessions: Mapping[int, Session], usage: Callable[[], UsageColumns]
    ) -> None:
        self._view, self.sessions, self._usage = view, sessions, usage
        self._entries: dict[int, list[StoredEntry]] = {}

    def entries(self, row: int) -> list[StoredEntry]:
        if row not in self._entries:
            self._entries[row] = list(self._view.entries(self.sessions[row]))
        return self._entries[row]

    def steps(self, row: int) -> list[Step]:
        return [step for each in exchanges(self.entries(row)) for step in each.steps]

    def links(self) -> Iterator[Link]:
        """What the sessions say of each other themselves, and what became of the context of each."""
        rows = {session.facts.id: row for row, session in self.sessions.items()}
        children: dict[int, list[int]] = {}
        for row, session in self.sessions.items():
            facts = session.facts
            how, parent = _HOW.get(facts.relation), rows.get(facts.parent)
            if parent is None or parent == row or how is None:
                continue
            if how == How.SUBAGENT:
                children.setdefault(parent, []).append(row)
            else:
                other = self.sessions[parent].facts.agent != facts.agent
                yield Link(
                    facts.parent, facts.id, how, 1.0, f"in {facts.agent}" if other else "says so itself"
                )
        for parent, started in children.items():
            yield from self._subagents(parent, started)
        for row, session in self.sessions.items():
            if session.facts.relation != Relation.SUBAGENT:
                yield from self._compactions(row)

    def _subagents(self, parent: int, started: Sequence[int]) -> Iterator[Link]:
        calls = [step for step in self.steps(parent) if step.tool in all_tools().delegate]
        for row in started:
            session = self.sessions[row]
            step = next((each for each in calls if self._is_started_by(row, each)), None)
            if step is not None:
                calls.remove(step)
            yield Link(
                self.sessions[parent].facts.id,
                session.facts.id,
                How.SUBAGENT,
                1.0,
                one_line(session.facts.headline, _LEFT_CELLS),
                step.call.id if step else "",
                step.results[-1].id if step and step.results else "",
            )

    def _is_started_by(self, row: int, step: Step) -> bool:
        """Whether a call started a subagent: by its own note, by what it was told, by its id in a result."""
        entries, id_ = self.entries(row), self.sessions[row].facts.id
        if any(each.entry.kind == Kind.EVENT and each.entry.call == step.call.entry.call for each in entries):
            return bool(step.call.entry.call)
        told = next((e.entry.text for e in entries if e.entry.kind in (Kind.PROMPT, Kind.CONTEXT)), "")
        task = " ".join(told[: 2 * _TASK_CHARS].split())[:_TASK_CHARS]
        given = " ".join(step.call.entry.text.replace("\\n", " ").replace('\\"', '"').split())
        if len(task) > _QUOTE_CHARS and task in given:
            return True
        short = id_.partition("-")[2]
        return any(id_ in each.entry.text or (short and short in each.entry.text) for each in step.results)

    def _compactions(self, row: int) -> Iterator[Link]:
        flags = self._view.session_columns(row, "flags")["flags"]
        if not (flags & int(Flag.BOUNDARY)).any():
            return
        entries, id_ = self.entries(row), self.sessions[row].facts.id
        before = 0
        for at, boundary in enumerate(entries):
            if not boundary.entry.flags & Flag.BOUNDARY:
                continue
            near = entries[at : at + _SUMMARY_WITHIN]
            summary = next((each for each in near if each.entry.kind == Kind.SUMMARY), None)
            text = summary.entry.text if summary else ""
            prompts, files = self._before(row, entries[before:at]) if text else ([], [])
            named = _Summary(text)
            kept = [*filter(named.quotes, prompts), *filter(named.names, files)]
            dropped = [each for each in (*prompts, *files) if each not in kept]
            tokens = self._tokens_before(row, boundary.entry.time_ms)
            counts = [
                f"{sum(each in kept for each in every)} of {many(len(every), what)}"
                for every, what in ((prompts, "prompt"), (files, "file"))
                if every
            ]
            told = [
                f"{tokens:,} tokens before" if tokens else "",
                f"the summary has {', '.join(counts)}" if counts else "",
                "the summary cannot be read" if summary and not text else "",
            ]
            why = "; ".join(filter(None, told)) or "context summed up"
            answer = summary.id if summary else ""
            yield Link(
                id_, id_, How.COMPACTION, 1.0, why, boundary.id, answer, tokens, tuple(kept), tuple(dropped)
            )
            before = at

    def _before(self, row: int, entries: Sequence[StoredEntry]) -> tuple[list[Statement], list[Statement]]:
        """What was said and which files were changed before a compaction, each once."""
        said = {one_line(e.entry.text, _PROMPT_CELLS): e.id for e in entries if e.entry.is_said}
        steps = [step for each in exchanges(entries) for step in each.steps]
        files = changed_files(steps, self.sessions[row].facts.cwd)
        return (
            [Statement(text, entry) for text, entry in said.items()],
            [Statement(each.path, each.entry) for each in files],
        )

    def _tokens_before(self, row: int, time_ms: int) -> int:
        usage = self._usage()
        at = np.flatnonzero((usage.session == row) & (usage.time <= time_ms) & (usage.time > 0))
        if not len(at):
            return 0
        last = at[np.argmax(usage.time[at])]
        kinds = (usage.input, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h)
        return sum(int(each[last]) for each in kinds)


class _Summary:
    """What a summary names of what was before it."""

    def __init__(self, text: str) -> None:
        self._plain = " ".join(text.split())

    def quotes(self, prompt: Statement) -> bool:
        """Whether it has how a prompt begins, word for word."""
        return prompt.text.rstrip("…")[:_QUOTE_CHARS].rstrip() in self._plain

    def names(self, file: Statement) -> bool:
        return file.text.rpartition("/")[2] in self._plain


def rewinds(view: View, sessions: Iterable[Session]) -> Iterator[Link]:
    """What a person said, took back and said otherwise, where an agent's logs keep that."""
    for session in sessions:
        reader = agent_of(session.facts.agent).reader()
        if not isinstance(reader, TellsBranches):
            continue

        def files_of(id_: str, own: Session = session) -> list[StoredFile]:
            wanted = own if id_ == own.facts.id else view.find_session(id_)
            return [StoredFile(each, partial(view.lines, each)) for each in view.sources(wanted)]

        for line, messages in reader.left_branches(session, files_of):
            try:
                entry = view.find_entry(entry_id(line, 0))
            except NotFound:
                continue
            if entry.entry.is_said:
                told = f"{many(messages, 'message')} left: {one_line(entry.entry.text, _LEFT_CELLS)}"
                yield Link(session.facts.id, session.facts.id, How.REWIND, 1.0, told, entry.id)
