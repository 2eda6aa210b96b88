"""Facts of projects: what rules find in digests, prompts and lessons, what was saved, what a model extracted.

    decision    digests tell it; or a note tagged so
    preference  what a person says in a prompt about how to work
    gotcha      errors that keep coming back
    project     what the last conversations left open

Saved are notes with one of these tags, whoever saved them; those of the channel `facts` a model told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from recollect.insight.digest.kept import Digests
from recollect.insight.habits import Prices
from recollect.insight.lessons import ERROR, lessons
from recollect.insight.noted import read_notes
from recollect.insight.period import counts_as_work
from recollect.insight.preferences import remarks
from recollect.insight.project_past import project_past
from recollect.light.sources import MEMORY
from recollect.search.projects import worked_out
from recollect.search.run import Search
from recollect.search.saved_sessions import own_sessions
from recollect.store.contract import View
from recollect.values.facts import FACTS, PERSON, TAGS, Fact, Origin
from recollect.values.notes import Note
from recollect.values.stored import Session

NOTES_READ: Final = 1000  # of a session of notes, the last
SESSIONS_READ: Final = 300  # whose decisions are told, the last
OPEN_READ: Final = 5  # of a project: what older ones left open was done since, or given up
PROJECTS_READ: Final = 20  # whose prompts are read, the last
LESSONS: Final = 15
LESSON_SESSIONS: Final = 3


def facts(search: Search, project: str, prices: Prices) -> list[Fact]:
    """All that is known of projects whose name has a part, by tag, the newest first, each once."""
    view = search.view
    wanted = [each for each in view.sessions() if counts_as_work(each, project)]
    talks = sorted((each for each in wanted if each.facts.agent != MEMORY), key=lambda s: -s.facts.ended_ms)
    found = [
        *saved_facts(view, lambda name: project.casefold() in name.casefold()),
        *_decisions(view, talks[:SESSIONS_READ]),
        *_preferences(view, talks),
        *_gotchas(search, project, prices),
        *_open(view, talks),
    ]
    ordered = sorted(found, key=lambda each: (TAGS.index(each.tag), -each.time_ms, each.text))
    once: dict[tuple[str, str, str], Fact] = {}
    for each in ordered:
        once.setdefault((each.project, each.tag, _alike(each.text)), each)
    return list(once.values())


def saved_facts(view: View, is_wanted: Callable[[str], bool], last: int = NOTES_READ) -> Iterator[Fact]:
    """The saved facts of the projects that are wanted, by the names that the notes have for them."""
    rows = view.session_rows()
    for row, name in own_sessions(view).items():
        session = rows[row]
        if is_wanted(session.facts.project):
            for note in read_notes(view, name, view.entries(session, last=last)):
                fact = fact_of(note, session.facts.project)
                if fact is not None:
                    yield fact


def fact_of(note: Note, project: str = "") -> Fact | None:
    """The fact that a note is, by the first of its tags that is one of a fact's; None where it is none."""
    tag = next((each for each in map(str.casefold, note.tags) if each in TAGS), "")
    if not tag or not note.text.strip():
        return None
    is_told = note.channel == FACTS
    cited = note.metadata.get("entries") if is_told else None
    entries = tuple(each for each in cited if isinstance(each, str)) if isinstance(cited, list) else ()
    return Fact(
        tag,
        note.text,
        note.project or project,
        entries or (note.entry,),
        note.time_ms,
        Origin.MODEL if is_told and note.author != PERSON else Origin.NOTE,
        note.id,
        note.session,
        note.author,
    )


def is_named(name: str, project: str) -> bool:
    """Whether a project is meant by the name that a note has for it: all of it, or its last part."""
    name, project = name.casefold(), project.casefold()
    return bool(name) and (name == project or project.endswith(f"/{name}"))


def _decisions(view: View, talks: Iterable[Session]) -> Iterator[Fact]:
    for session, digest in worked_out(view, Digests).telling("decisions", talks):
        for each in digest.decisions:
            yield _fact("decision", each.text, session, (each.entry,))


def _preferences(view: View, talks: Iterable[Session]) -> Iterator[Fact]:
    names = list(dict.fromkeys(each.facts.project for each in talks if each.facts.project))
    for name in names[:PROJECTS_READ]:
        for talk in project_past(view, name).talks:
            for prompt in talk.prompts:
                for text in remarks(prompt.entry.text)[0]:
                    yield Fact("preference", text, name, (prompt.id,), prompt.entry.time_ms, Origin.RULE)


def _gotchas(search: Search, project: str, prices: Prices) -> Iterator[Fact]:
    for each in lessons(search, project, LESSON_SESSIONS, LESSONS, prices):
        if each.kind == ERROR:
            name, newest = next(iter(each.projects), ""), each.sessions[0].facts.ended_ms
            yield Fact("gotcha", each.line, name, each.entries, newest, Origin.RULE, imported=each.imported)


def _open(view: View, talks: Iterable[Session]) -> Iterator[Fact]:
    read: dict[str, list[Session]] = {}
    for session in talks:
        read.setdefault(session.facts.project, []).append(session)
    last = [each for sessions in read.values() for each in sessions[:OPEN_READ]]
    for session, digest in worked_out(view, Digests).telling("open", last):
        for each in digest.open:
            yield _fact("project", f"Open: {each.text}", session, (each.entry,))


def _fact(tag: str, text: str, session: Session, entries: tuple[str, ...]) -> Fact:
    return Fact(
        tag,
        text,
        session.facts.project,
        tuple(filter(None, entries)),
        session.facts.ended_ms,
        Origin.RULE,
        imported=session.imported,
    )


def _alike(text: str) -> str:
    return " ".join(text.casefold().rstrip(".! ").split())
