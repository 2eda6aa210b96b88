"""Facts of projects: the verbs of the facade; and the one place in which a model is asked.

Nothing is asked unless a person says so: a plan is made first, with what it would cost, and carried out as it
is. After each piece of a session what was found, and how far it was read, are saved together, so that what is
stopped goes on where it was.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from recollect.agents.fields import count_of, text_of
from recollect.agents.memory.records import MARK, delete_record, line_of, mark_record, note_record, session_id
from recollect.memory.saving import UNCHANGED
from recollect.search.saved_sessions import own_sessions
from recollect.values.errors import NotFound, UsageError
from recollect.values.facts import FACTS, PERSON, TAGS, TOLD, Extracted, ExtractionPlan, Fact, Origin
from recollect.values.notes import NAME_CHARS_MAX, Note

if TYPE_CHECKING:
    from recollect.agents.asking import Answered, Asker
    from recollect.agents.contract import Agent
    from recollect.memory import Memory
    from recollect.store.contract import View
    from recollect.values.facts import Chunk, FoundFact
    from recollect.values.reports import Progress
    from recollect.values.stored import Session

ANSWER_SECONDS: Final = 300.0
ANSWER_TOKENS: Final = 800  # that a piece is answered with, as far as a plan can tell
FAILURES_MAX: Final = 3  # in a row, after which it is no use
BUDGET_DOLLARS: Final = 1.0
SESSIONS: Final = 20


class FactsKept:
    """The part of a `Memory` that tells facts, and extracts them."""

    def facts(self, *, project: str = "", tag: str = "") -> list[Fact]:
        """What is known of projects whose name has a part, with what shows it: by rules, notes, a model."""
        from recollect.insight.facts import facts

        if tag and tag not in TAGS:
            raise UsageError(f"there are no facts tagged {tag!r}", hint=f"tags: {', '.join(TAGS)}")
        memory = self._facts_memory
        memory._fold_if_free()
        with memory.indexes.asking(meaning=False) as search:
            found = facts(search, project, memory.config.prices)
        return [each for each in found if not tag or each.tag == tag]

    def fact(self, id_: str) -> Fact:
        """The saved fact of an id, or whose id begins so; NotFound for none and for several."""
        from recollect.insight.facts import saved_facts

        with self._facts_memory.view() as view:
            found = [each for each in saved_facts(view, lambda name: True) if each.id.startswith(id_)]
        exact = [each for each in found if each.id == id_] or found
        if len(exact) != 1 or not id_:
            several = (
                f"{len(exact)} facts have an id that begins with" if exact else "no saved fact has the id"
            )
            raise NotFound(
                f"{several} {id_[:80]!r}", hint="`recollect facts` lists them; what rules found has none"
            )
        return exact[0]

    def edit_fact(self, id_: str, text: str) -> Fact:
        """Say a saved fact in other words; it counts as yours from then on."""
        from recollect.insight.facts import fact_of

        fact = self.fact(id_)
        note = self._facts_memory.update(
            fact.id,
            session=fact.session,
            text=text,
            author=PERSON,
            metadata={"entries": list(fact.entries)} if fact.origin is Origin.MODEL else UNCHANGED,
        )
        changed = fact_of(note, fact.project)
        assert changed is not None
        return changed

    def delete_fact(self, id_: str) -> Fact:
        """Take a saved fact back; an extraction does not bring it again."""
        fact = self.fact(id_)
        self._facts_memory.delete(fact.id, session=fact.session)
        return fact

    # -- extraction ------------------------------------------------------------------------

    def plan_facts(
        self, agent: str = "", *, model: str = "", project: str = "", sessions: int = SESSIONS
    ) -> ExtractionPlan:
        """What of conversations no model has read yet, the newest first, and what reading it would cost.

        `agent`: whose client is asked; the first one that can be, unless it is named.
        """
        from recollect.insight.usage import price_of
        from recollect.recall.facts.asking import ROLE, prompt
        from recollect.recall.facts.reading import chunks_of
        from recollect.values.text import tokens

        agent, memory = agent or next(iter(_askers())), self._facts_memory
        asker = _asker(agent)
        memory._fold_if_free()
        chunks: list[Chunk] = []
        taken = left = 0
        with memory.view() as view:
            for session, read, last in _unread(view, _talks(view, project)):
                if sessions and taken >= sessions:
                    left += 1
                    continue
                found = chunks_of(session, view.entries(session), read, last)
                chunks += found
                taken += bool(found)
        named = model or asker.MODEL
        price = price_of(asker.MODELS.get(named, named), memory.config.prices)
        asked = sum(tokens(ROLE) + tokens(prompt(each, ())) for each in chunks)
        dollars = None
        if "input" in price and "output" in price:
            answered = ANSWER_TOKENS * len(chunks)
            dollars = (asked * price["input"] + answered * price["output"]) / 1e6
        return ExtractionPlan(tuple(chunks), agent, named, asked, dollars, left)

    def extract_facts(
        self,
        plan: ExtractionPlan,
        *,
        budget_dollars: float = BUDGET_DOLLARS,
        seconds: float = ANSWER_SECONDS,
        progress: Progress | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Extracted:
        """Have a person's own client read what was planned, and keep the facts whose citations hold.

        It stops before a piece that the budget may not cover, at a limit of the account, and when nothing
        comes back several times in a row; the rest is for another time.
        """
        done, failures, unread = Extracted(), 0, set[int]()
        given = os.environ if environ is None else environ
        asker, program = _asker(plan.agent), _program(plan.agent, given)
        told = progress or (lambda what, done, total: None)
        for number, chunk in enumerate(plan.chunks):
            told(chunk.session.facts.id, number, len(plan.chunks))
            if id(chunk.session) in unread:  # what comes behind a piece that was not read is read with it
                continue
            left = budget_dollars - done.dollars
            if left <= 0:
                done.stopped = "the budget is spent"
                break
            known = self._known_of(chunk)
            answered = _ask(asker, program, chunk, known, plan.model, left, seconds, given)
            done.dollars += answered.dollars or 0.0
            done.unpriced += answered.dollars is None
            if answered.trouble:
                done.failed[answered.trouble] += 1
                unread.add(id(chunk.session))
                failures += 1
                if answered.is_limit or failures >= FAILURES_MAX:
                    done.stopped = answered.trouble
                    break
                continue
            failures = 0
            self._keep_facts(chunk, known, answered, plan, done)
            done.chunks += 1
        told("", len(plan.chunks), len(plan.chunks))
        return done

    def _known_of(self, chunk: Chunk) -> list[Fact]:
        """The facts of a chunk's project that a model told."""
        session = facts_session(chunk.session.facts.project)
        return [
            fact
            for note in self._facts_memory.notes(session=session)
            if (fact := _fact_of(note, chunk.session.facts.project)) is not None
        ]

    def _keep_facts(
        self, chunk: Chunk, known: list[Fact], answered: Answered, plan: ExtractionPlan, done: Extracted
    ) -> None:
        """Save what holds of an answer, and how far its session is read, with one write."""
        from recollect.recall.facts.checking import checked

        memory, project = self._facts_memory, chunk.session.facts.project
        found, dropped = checked(answered.value, chunk, {each.id for each in known})
        done.dropped.update(dropped)
        session, lines = facts_session(project), []
        ids = [_fact_id(project, each) for each in found]
        before = self._kept_records([*ids, session_id(session)], session)
        now_ms = memory._moment_ms()
        replaced = {each.id: each.text for each in known}
        for id_, fact in zip(ids, found, strict=True):
            if id_ in before:  # known, or taken back by a person
                done.repeated += 1
                continue
            note = _note(id_, fact, chunk, session, answered.model or plan.model or plan.agent, replaced)
            lines.append(line_of(note_record(note, again=False)))
            told = _fact_of(note, project)
            assert told is not None
            done.facts.append(told)
            gone = [each for each in fact.supersedes if each in replaced]
            lines += [line_of(delete_record(each, now_ms, FACTS)) for each in gone]
            done.superseded += len(gone)
            for each in gone:
                del replaced[each]
        if session_id(session) not in before:
            memory.add_session(session, title=f"Facts of {project or 'no project'}", project=_name(project))
        lines.append(line_of(mark_record(mark_id(chunk.session), {"read": chunk.upto, "last": chunk.last})))
        memory._append_lines({session: lines})

    def _kept_records(self, ids: list[str], session: str) -> set[str]:
        """Which of these records a session has, living or not."""
        with self._facts_memory._notes_view() as view:
            sessions = own_sessions(view)
            found = zip(ids, view.record_lines(ids), strict=True)
            return {id_ for id_, lines in found if any(sessions.get(row) == session for _, row in lines)}

    @property
    def _facts_memory(self) -> Memory:
        return cast("Memory", self)


def facts_session(project: str) -> str:
    """The session in which the facts of a project are kept."""
    name = f"{FACTS}/{project}" if project else FACTS
    if len(name) <= NAME_CHARS_MAX and name.isprintable():
        return name
    return f"{FACTS}/{hashlib.blake2b(_bytes(project), digest_size=16).hexdigest()}"


def _ask(
    asker: Asker,
    program: str,
    chunk: Chunk,
    known: list[Fact],
    model: str,
    dollars: float,
    seconds: float,
    environ: Mapping[str, str],
) -> Answered:
    """One question to a client: in an empty folder, out of sight of our hooks."""
    from recollect.agents.asking import Answered
    from recollect.light.processes import environment, run_program
    from recollect.recall.facts.asking import ROLE, SCHEMA, prompt

    asked = asker.question(ROLE, prompt(chunk, known), SCHEMA, model=model, dollars=dollars, environ=environ)
    around = {name: each for name, each in environment(environ).items() if name not in asker.FORGETS}
    with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
        for name, data in asked.files.items():
            with open(os.path.join(folder, name), "xb") as file:
                file.write(data)
        try:
            ended = run_program(
                [program, *asked.words],
                {**around, "RECOLLECT_HOOKS": "off"},
                asked.read,
                folder,
                seconds=seconds,
            )
        except TimeoutError as error:
            return Answered(trouble=str(error))
        except OSError as error:
            return Answered(trouble=f"{program}: {error.strerror}", is_limit=True)
    return asker.answer(*ended)


def _askers() -> dict[str, Agent]:
    """The agents whose clients can be asked, by name."""
    from recollect.agents.registry import agents

    return {each.name: each for each in agents() if each.has("asker")}


def _asker(agent: str) -> Asker:
    can = _askers()
    asker = can[agent].asker() if agent in can else None
    if asker is None:
        raise UsageError(f"{agent!r} cannot be asked", hint=f"one of {', '.join(sorted(can))}")
    return asker


def _program(agent: str, environ: Mapping[str, str]) -> str:
    from recollect.light.processes import program_path

    asker = _asker(agent)
    found = program_path(asker.PROGRAM, environ)
    if found is None:
        raise UsageError(
            f"there is no {asker.PROGRAM} on the PATH", hint="install it, or name the other agent: --agent"
        )
    return found


def _talks(view: View, project: str) -> list[Session]:
    """This person's own conversations of projects whose name has a part, the newest first."""
    from recollect.insight.period import counts_as_work
    from recollect.light.sources import MEMORY
    from recollect.values.records import Relation

    found = [
        each
        for each in view.sessions()
        if counts_as_work(each, project)
        and not each.imported
        and each.facts.agent != MEMORY
        and each.facts.relation is not Relation.SUBAGENT
    ]
    return sorted(found, key=lambda each: (-each.facts.ended_ms, each.facts.id))


def _unread(view: View, talks: list[Session]) -> Iterator[tuple[Session, int, str]]:
    """Sessions that went on since they were read: how many entries were, and the id of the last."""
    from recollect.insight.noted import decoded

    mine = own_sessions(view)
    for session, marks in zip(talks, view.record_lines([mark_id(each) for each in talks]), strict=True):
        lines = [line for line, row in marks if row in mine]
        record = decoded(view.lines_at(lines[-1:])[0].data) if lines else {}
        read, last = count_of(record.get("read")), text_of(record.get("last"))
        if record.get("type") != MARK:
            read, last = 0, ""
        if read < session.entries:
            yield session, read, last


def mark_id(session: Session) -> str:
    """What the mark of a session is known by; of the session itself it says nothing."""
    name = f"{session.facts.agent}\0{session.host}\0{session.facts.id}"
    return f"{MARK}:{FACTS}:{hashlib.blake2b(_bytes(name), digest_size=16).hexdigest()}"


def _fact_id(project: str, fact: FoundFact) -> str:
    """The same for the same words about the same project, so that nothing is told twice."""
    words = " ".join(fact.text.casefold().rstrip(".! ").split())
    return hashlib.blake2b(_bytes(f"{project}\0{words}"), digest_size=8).hexdigest()


def _note(
    id_: str, fact: FoundFact, chunk: Chunk, session: str, model: str, known: Mapping[str, str]
) -> Note:
    time_ms = chunk.session.facts.ended_ms
    gone = {each: known[each] for each in fact.supersedes if each in known}
    metadata: dict[str, Any] = {"entries": list(fact.entries), "tool": TOLD}
    return Note(
        id_,
        session,
        fact.text,
        tags=(fact.tag,),
        channel=FACTS,
        project=_name(chunk.session.facts.project),
        author=model,
        time_ms=time_ms,
        updated_ms=time_ms,
        metadata={**metadata, "supersedes": list(gone)} if gone else metadata,
    )


def _fact_of(note: Note, project: str) -> Fact | None:
    from recollect.insight.facts import fact_of

    return fact_of(note, project)


def _name(project: str) -> str:
    """A project's name where it can be that of a note: a log can claim any."""
    return project if len(project) <= NAME_CHARS_MAX and project.isprintable() else ""


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
