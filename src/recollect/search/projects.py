"""One repository, one project: what the project of a session is called.

A log tells a folder, and some logs a remote. What is learnt of a folder from one session holds for all:

    worktrees        X/.worktrees/1 and X/.claude/worktrees/a are X
    the folder       has a remote in some session: it is that remote's in all
    a folder above   has one, and nothing nearer
    its name         is that of one known remote alone, and git was there: a clone that is gone

Then comes what the person decided: joined, split, renamed, labelled. Nothing of it is written into
sessions; `NamedView` applies it as they are read, and everything above sees no other names. An imported
log can claim any folder and any remote, so own sessions learn nothing from imported ones.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from recollect.agents.decisions import PROJECTS, decision_of, record_of
from recollect.agents.decode import BadLine, decode
from recollect.agents.saved import decisions_file, is_conversation
from recollect.intake.notes import note
from recollect.light.project import repository_folder
from recollect.values.close import did_you_mean, near_names
from recollect.values.errors import NotFound, UsageError
from recollect.values.lazy import lazy
from recollect.values.names import checked_name
from recollect.values.projects import JOIN, LABEL, RENAME, SPLIT, Decision, Project, checked_label

if TYPE_CHECKING:
    from recollect.store.contract import SessionRows, UsageColumns, View, Writer
    from recollect.values.stored import Session


_KNOWN_MAX = 1 << 14
_folder = functools.lru_cache(_KNOWN_MAX)(repository_folder)


class ProjectNames:
    """The projects of some sessions, by all that these and a person say of them."""

    def __init__(self, sessions: Iterable[Session], decisions: Iterable[Decision] = ()) -> None:
        self._sessions = [
            each
            for each in sessions
            if is_conversation(each.facts.agent) and not each.facts.is_untouched_copy
        ]
        self._own = _Learnt(each for each in self._sessions if not each.imported)
        self._all = _Learnt(self._sessions)
        self._decided = _Decided(decisions)
        self._spelt: dict[str, str] = {}
        self._known: dict[_Clue, str] = {}
        # The newest last: it says how a name is spelt.
        for session in sorted(self._sessions, key=lambda each: (not each.imported, each.facts.ended_ms)):
            self._spelt[_own_name(session).casefold()] = _own_name(session)

    def of(self, session: Session) -> Session:
        """The same session, its project as it is called."""
        if not is_conversation(session.facts.agent):
            return session
        key = self._key(session)
        name, labels = self._name(key), self._decided.labels_of(key)
        names = self._aliases if session.imported else self._own_aliases
        aliases = tuple(each for each in names.get(key, ()) if each != name)
        if name == session.facts.project and not aliases and not labels:
            return session
        return replace(session, facts=replace(session.facts, project=name), aliases=aliases, labels=labels)

    def projects(self) -> list[Project]:
        """All of them, the most recently active first."""
        groups: dict[str, list[Session]] = {}
        for session in self._sessions:
            if key := self._key(session):
                groups.setdefault(key, []).append(session)
        found = [self._project(key, group) for key, group in groups.items()]
        return sorted(found, key=lambda each: (-each.ended_ms, each.name))

    def _project(self, key: str, group: Sequence[Session]) -> Project:
        facts = [each.facts for each in sorted(group, key=lambda each: -each.facts.ended_ms)]
        return Project(
            name=self._name(key),
            aliases=tuple(each for each in self._aliases[key] if each != self._name(key)),
            labels=self._decided.labels_of(key),
            folders=tuple(dict.fromkeys(each.cwd for each in facts if each.cwd)),
            agents=tuple(sorted({each.agent for each in facts})),
            sessions=len(group),
            entries=sum(each.entries for each in group),
            started_ms=min((each.started_ms for each in facts if each.started_ms), default=0),
            ended_ms=facts[0].ended_ms,
            imported=all(each.imported for each in group),
        )

    def name_at(self, own_name: str, folder: str, host: str) -> str:
        """What the project of a folder on this machine is called, which on its own has this name."""
        return self._name(self._found(_Clue(own_name, host, folder, in_git=True, imported=False)))

    def find(self, part: str) -> str:
        """The name of the one project that is called so, or is the only one with this in a name of it."""
        return self._name(self._find(part))

    def project_of(self, decision: Decision) -> Project:
        """The project that a decision was about, as it is now."""
        name = self._name(self._decided.joined(decision.project.casefold()))
        return next(each for each in self.projects() if each.name == name)

    def _find(self, part: str) -> str:
        shown = {key: {self._name(key)} for key in self._aliases}
        named = {key: shown[key].union(names) for key, names in self._aliases.items()}
        wanted = part.casefold()
        fitting: list[str] = []
        for known, fits in (
            (shown, str.__eq__),
            (named, str.__eq__),
            (named, _is_end),
            (named, str.__contains__),
        ):
            fitting = [key for key, names in known.items() if any(fits(n.casefold(), wanted) for n in names)]
            if len(fitting) == 1:
                return fitting[0]
        if fitting:
            names = sorted(map(self._name, fitting))
            raise NotFound(f"several projects have {part!r} in their name", hint=", ".join(names[:5]))
        asked = did_you_mean(near_names(part, sorted({name for names in named.values() for name in names})))
        hint = " ".join(filter(None, (asked, "`recollect projects` lists them")))
        raise NotFound(f"no project's name has {part!r} in it", hint=hint)

    # -- decisions: each checks what is asked, and answers with what is to be noted

    def join(self, into: str, other: str) -> Decision:
        """`other` is from now on part of `into`, whose name stays."""
        one, two = self._find(into), self._find(other)
        if one == two:
            raise UsageError(f"{into!r} and {other!r} are one project already")
        return Decision(JOIN, self._spelling(one), self._spelling(two))

    def split(self, alias: str) -> Decision:
        """What goes by this other name of a project is one of its own again: a join is undone, else what was
        found to be one is parted.
        """
        wanted = self._decided.key_named(alias.casefold())
        if not self._decided.is_joined(wanted):
            owners = [
                k for k, names in self._aliases.items() if wanted in map(str.casefold, names) and k != wanted
            ]
            if not owners:
                others = [each for each in self._aliases.get(wanted, ()) if each.casefold() != wanted]
                hint = (
                    f"its other names: {', '.join(others[:5])}"
                    if others
                    else "`recollect projects` lists them"
                )
                raise NotFound(f"{alias!r} is not another name of a project", hint=hint)
        return Decision(SPLIT, self._spelling(wanted))

    def rename(self, project: str, name: str) -> Decision:
        """It is called so from now on, wherever a project's name is shown or asked for."""
        key, name = self._find(project), checked_name(name)
        for other, names in self._aliases.items():
            if other != key and name.casefold() in {self._name(other).casefold(), *map(str.casefold, names)}:
                raise UsageError(
                    f"there is a project {name!r} already", hint="`recollect projects join` makes two one"
                )
        return Decision(RENAME, self._spelling(key), name)

    def label(self, project: str, label: str) -> Decision:
        """`key=value` says something of it; `key=` takes that away."""
        key, value = checked_label(label)
        return Decision(LABEL, self._spelling(self._find(project)), value, key)

    # -- keys: a project's name before a person gave it another, in lower case

    @lazy
    def _aliases(self) -> dict[str, list[str]]:
        """For each project the names that its sessions have on their own."""
        return self._names_of(self._sessions)

    @lazy
    def _own_aliases(self) -> dict[str, list[str]]:
        return self._names_of(each for each in self._sessions if not each.imported)

    def _names_of(self, sessions: Iterable[Session]) -> dict[str, list[str]]:
        found: dict[str, set[str]] = {}
        for session in sessions:
            if key := self._key(session):
                own = _own_name(session).casefold()
                given = (self._decided.names[each] for each in (key, own) if each in self._decided.names)
                found.setdefault(key, set()).update((self._spelling(key), self._spelling(own), *given))
        return {key: sorted(names) for key, names in found.items()}

    def _key(self, session: Session) -> str:
        facts = session.facts
        return self._found(
            _Clue(
                facts.project, session.host, facts.cwd, in_git=bool(facts.branch), imported=session.imported
            )
        )

    def _found(self, clue: _Clue) -> str:
        known = self._known.get(clue)
        if known is None:
            own = _name_alone(clue.project, clue.folder).casefold()
            learnt = self._all if clue.imported else self._own
            found = own if self._decided.is_apart(own) else learnt.name_of(own, clue)
            known = self._known[clue] = self._decided.joined(found)
        return known

    def _name(self, key: str) -> str:
        return self._decided.names.get(key) or self._spelling(key)

    def _spelling(self, key: str) -> str:
        return self._spelt.get(key, key)


class NamedView:
    """A view whose sessions are of the projects that people know. Everything else is the view's own."""

    def __init__(self, view: View) -> None:
        self._view = view

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)

    @lazy
    def names(self) -> ProjectNames:
        return ProjectNames(self._view.sessions(), decisions(self._view))

    def sessions(self) -> list[Session]:
        return list(map(self.names.of, self._view.sessions()))

    def find_session(self, prefix: str) -> Session:
        return self.names.of(self._view.find_session(prefix))

    def session_rows(self) -> SessionRows:
        return _NamedRows(self)

    def usage(self) -> UsageColumns:
        return replace(self._view.usage(), sessions=_NamedRows(self))

    @property
    def unnamed(self) -> View:
        return self._view


class _NamedRows:
    """Sessions by row, each named when it is asked for."""

    def __init__(self, named: NamedView) -> None:
        self._named, self._rows = named, named.unnamed.session_rows()

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, row: int, /) -> Session:
        return self._named.names.of(self._rows[row])

    def items(self) -> Iterator[tuple[int, Session]]:
        return ((row, self._named.names.of(session)) for row, session in self._rows.items())


def named(view: View) -> View:
    """The same view, its sessions named as people know their projects."""
    return view if isinstance(view, NamedView) else cast("View", NamedView(view))


def names_in(view: View) -> ProjectNames:
    """The projects of a view."""
    return cast("NamedView", named(view)).names


def decisions(view: View) -> list[Decision]:
    """What was decided about projects, in order; imported lines decide nothing."""
    found: list[Decision] = []
    for session in view.sessions():
        if session.facts.id == PROJECTS and not is_conversation(session.facts.agent) and not session.imported:
            for source in view.sources(session):
                lines = () if source.superseded or source.imported else view.lines(source)
                found += filter(None, (_decision(line.data) for line in lines))
    return sorted(found, key=lambda each: each.time_ms)


def decide(writer: Writer, host: str, decision: Decision, *, now_ms: int) -> None:
    """Note a decision; the caller commits."""
    note(writer, decisions_file(), host, record_of(replace(decision, time_ms=now_ms)))


# -- what sessions say ------------------------------------------------------------------------


class _Clue(NamedTuple):
    """What a session says of its project."""

    project: str
    host: str
    folder: str
    in_git: bool
    imported: bool


class _Learnt:
    """Which remotes folders and names have, as far as these sessions tell."""

    def __init__(self, sessions: Iterable[Session]) -> None:
        self._of_folder: dict[tuple[str, str], set[str]] = {}
        self._of_name: dict[str, set[str]] = {}
        for session in sessions:
            name = _own_name(session).casefold()
            if "/" in name:
                self._of_name.setdefault(name.rpartition("/")[2], set()).add(name)
                if session.facts.cwd:
                    at = session.host, _folder(session.facts.cwd)
                    self._of_folder.setdefault(at, set()).add(name)

    def name_of(self, own: str, clue: _Clue) -> str:
        """What a clue comes to, whose name is `own` as long as nothing else is known."""
        if "/" in own:
            return own
        for folder in _folders(_folder(clue.folder)):
            remotes = self._of_folder.get((clue.host, folder))
            if remotes:
                # Of several nobody knows which was there then: a folder that many repositories were put into.
                return next(iter(remotes)) if len(remotes) == 1 else own
        remotes = self._of_name.get(own, set()) if clue.in_git else set()
        return next(iter(remotes)) if len(remotes) == 1 else own


def _is_end(name: str, part: str) -> bool:
    return f"/{name}".endswith(f"/{part}")


def _folders(folder: str) -> Iterator[str]:
    """A folder and those above it, without the root."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]


def _own_name(session: Session) -> str:
    return _name_alone(session.facts.project, session.facts.cwd)


@functools.lru_cache(_KNOWN_MAX)
def _name_alone(project: str, folder: str) -> str:
    """What a session's project is called by that session alone."""
    if "/" in project and project.rpartition("/")[2].strip("."):
        return project
    base = _folder(folder)
    is_folders = "/" in project or project == folder.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return base.rpartition("/")[2] if base and is_folders else project


# -- what a person says -----------------------------------------------------------------------


class _Decided:
    """What decisions come to, one after the other. One that cannot be done changes nothing."""

    def __init__(self, decisions: Iterable[Decision]) -> None:
        self._into: dict[str, str] = {}
        self._apart: set[str] = set()
        self._labels: dict[str, dict[str, str]] = {}
        self.names: dict[str, str] = {}
        for decision in decisions:
            key = decision.project.casefold()
            if decision.op == SPLIT and key in self._into:
                del self._into[key]
            elif decision.op == SPLIT:
                self._apart.add(key)
            elif decision.op == JOIN:
                self._join(self.joined(key), decision.name.casefold())
            elif decision.op == RENAME:
                self.names[key] = decision.name
            elif decision.op == LABEL:
                self._labels.setdefault(key, {})[decision.key] = decision.name

    def _join(self, into: str, other: str) -> None:
        """Two hosts may have joined the same two the other way round: what is one stays so."""
        if self.joined(other) != into:
            self._into[self.joined(other)] = into

    def joined(self, key: str) -> str:
        while key in self._into:
            key = self._into[key]
        return key

    def is_joined(self, key: str) -> bool:
        return key in self._into

    def key_named(self, name: str) -> str:
        """The key of what a person gave this name, else the name."""
        return next((key for key, given in self.names.items() if given.casefold() == name), name)

    def is_apart(self, key: str) -> bool:
        return key in self._apart

    def labels_of(self, key: str) -> tuple[str, ...]:
        """A project's labels, with those of what was joined into it; its own come first."""
        found = dict(self._labels.get(key, {}))
        for other in self._labels:
            if other != key and self.joined(other) == key:
                found = {**self._labels[other], **found}
        return tuple(sorted(f"{name}={value}" for name, value in found.items() if value))


def _decision(line: bytes) -> Decision | None:
    with contextlib.suppress(BadLine):
        return decision_of(decode(line)[0])
    return None
